//! A picture that any browser or image viewer opens; in a browser it zooms and searches.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use traceloom_model::Merge;

use super::{Layout, Picture, SAME, change, step};
use crate::colour::{COLOURS, colour, hsl};
use crate::names::{fit, levels};
use crate::page::{escape, escaped};
use crate::{CallTree, TreeSource, amount, grouped};

/// Pixels. Text is set in a fixed pitch, so that it can be cut to its frame without measuring.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: u32 = 17;
const TOP: u32 = 56;
const PITCH: f64 = 6.63;
/// Narrower frames are not written; what is left of their caller says how many they are.
const LEAST: f64 = 0.1;
/// Most frames of a picture, so that every browser zooms it at once; the widest are drawn.
const MOST: usize = 3_000;
/// Rows of a picture; deeper trees are cut, which the picture says.
const ROWS: u32 = 2_000;

const STYLE: &str = include_str!("../../assets/svg.css");
const SCRIPT: &str = include_str!("../../assets/svg.js");

/// Draws `tree`.
#[must_use]
pub fn svg(tree: &CallTree, picture: &Picture<'_>) -> String {
    let inner = WIDTH - 2.0 * MARGIN;
    let layout = widest(tree, LEAST / inner);
    let rows = layout.depth.min(ROWS);
    let height = TOP + (rows + 1) * ROW + 30;
    let mut out = String::with_capacity(layout.places.len() * 220 + 16_384);
    head(&mut out, tree, picture, height, layout.depth > rows);

    let labels: Vec<Label> = tree
        .symbols
        .iter()
        .map(|symbol| Label {
            full: escaped(&symbol.name),
            units: symbol.name.encode_utf16().count(),
            forms: forms(&symbol.name, picture),
            colour: colour(symbol),
        })
        .collect();
    let y = |depth: u32| {
        if picture.upwards {
            TOP + (rows - depth) * ROW
        } else {
            TOP + depth * ROW
        }
    };
    let _ = writeln!(
        out,
        "<g id=\"frames\"><g data-n=\"3\"><title>all: {}</title><rect class=\"all\" x=\"{MARGIN}\" y=\"{}\" \
         width=\"{inner}\" height=\"16\" rx=\"2\"/><text x=\"{}\" y=\"{}\">all</text></g>",
        escaped(&value_text(tree, tree.total)),
        y(0),
        MARGIN + 3.0,
        y(0) + 12,
    );
    for place in &layout.places {
        let Some(node) = tree.nodes.get(place.node as usize) else {
            continue;
        };
        let Some(label) = labels.get(node.symbol.index()) else {
            continue;
        };
        if node.depth + 1 > rows {
            continue;
        }
        let y = y(node.depth + 1);
        let (x, width) = (MARGIN + place.x * inner, place.width * inner);
        // Names may hold whatever stands behind them: the script is told how long they are.
        let _ = write!(out, "<g data-n=\"{}\"><title>", label.units);
        out.push_str(&label.full);
        out.push_str(": ");
        describe(&mut out, tree, node);
        let class = match picture.changes {
            Some(compared) => {
                let at = place.node as usize;
                let other = compared.changes.get(at).copied().unwrap_or_default();
                out.push_str("; ");
                escape(
                    &mut out,
                    &compared.describe(node.own, other, &tree.measure.unit),
                );
                format!("d{}", step(compared.grew(node.own, other.own).1))
            }
            None => format!("c{}", label.colour),
        };
        let _ = write!(out, "</title><rect class=\"{class}\" x=\"");
        fixed(&mut out, x);
        let _ = write!(out, "\" y=\"{y}\" width=\"");
        fixed(&mut out, width);
        out.push_str("\" height=\"16\" rx=\"2\"/>");
        if room(width) >= 3 {
            out.push_str("<text x=\"");
            fixed(&mut out, x + 3.0);
            let _ = write!(out, "\" y=\"{}\">", y + 12);
            escape(&mut out, &fit(&label.forms, room(width)));
            out.push_str("</text>");
        }
        out.push_str("</g>\n");
    }
    narrower(&mut out, tree, &layout, rows, y);
    out.push_str("</g>\n</svg>\n");
    out
}

/// The forms that a name is drawn in.
fn forms(name: &str, picture: &Picture<'_>) -> Vec<String> {
    let mut forms = levels(name);
    if !picture.short_names && forms.first().is_some_and(|first| first != name) {
        forms.insert(0, name.to_owned());
    }
    forms
}

/// Lays out at most [`MOST`] frames, the widest ones.
fn widest(tree: &CallTree, least: f64) -> Layout {
    let layout = Layout::of(tree, least);
    if layout.places.len() <= MOST {
        return layout;
    }
    let mut widths: Vec<f64> = layout.places.iter().map(|place| place.width).collect();
    widths.sort_by(|a, b| b.total_cmp(a));
    // Frames as wide as the first that has no place have none either.
    let least = widths.get(MOST).copied().unwrap_or(least);
    Layout::of(tree, least.next_up())
}

/// Draws, right of the callees that are wide enough, one box for the others of each caller.
fn narrower(out: &mut String, tree: &CallTree, layout: &Layout, rows: u32, y: impl Fn(u32) -> u32) {
    let inner = WIDTH - 2.0 * MARGIN;
    // Of each drawn caller, and of all: where the next callee begins, callees that have no place, and their total.
    let mut rest: HashMap<Option<u32>, (f64, u64, i64)> = HashMap::new();
    rest.insert(None, (0.0, 0, 0));
    let drawn: HashSet<u32> = layout.places.iter().map(|place| place.node).collect();
    for place in &layout.places {
        rest.insert(Some(place.node), (place.x, 0, 0));
    }
    for place in &layout.places {
        let parent = tree
            .nodes
            .get(place.node as usize)
            .and_then(|node| node.parent);
        if let Some(end) = rest.get_mut(&parent) {
            end.0 = end.0.max(place.x + place.width);
        }
    }
    for (number, node) in (0_u32..).zip(&tree.nodes) {
        if node.total > 0
            && !drawn.contains(&number)
            && let Some(left) = rest.get_mut(&node.parent)
        {
            left.1 += 1;
            left.2 = left.2.saturating_add(node.total);
        }
    }
    let widths: HashMap<u32, f64> = layout
        .places
        .iter()
        .map(|place| (place.node, place.width))
        .collect();
    let mut boxes: Vec<_> = rest
        .into_iter()
        .filter(|(_, (_, count, _))| *count > 0)
        .collect();
    boxes.sort_by_key(|&(parent, _)| parent);
    for (parent, (x, count, total)) in boxes {
        let caller = parent.and_then(|parent| tree.nodes.get(parent as usize));
        let depth = caller.map_or(0, |node| node.depth + 1);
        let whole = caller.map_or(tree.total, |node| node.total);
        let room_of = parent
            .and_then(|parent| widths.get(&parent))
            .copied()
            .unwrap_or(1.0);
        #[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
        let width = total as f64 / whole.max(1) as f64 * room_of * inner;
        if depth + 1 > rows || width < 1.0 {
            continue;
        }
        let frames = if count == 1 { "frame" } else { "frames" };
        let text = format!(
            "{} narrower {frames}, {}",
            grouped(count),
            amount(&tree.measure.unit, total)
        );
        let y = y(depth + 1);
        let x = MARGIN + x * inner;
        let _ = write!(
            out,
            "<g class=\"rest\" data-n=\"0\"><title>{text}</title><rect class=\"all\" x=\""
        );
        fixed(out, x);
        let _ = write!(out, "\" y=\"{y}\" width=\"");
        fixed(out, width);
        out.push_str("\" height=\"16\" rx=\"2\"/>");
        if room(width) >= text.chars().count() {
            out.push_str("<text x=\"");
            fixed(out, x + 3.0);
            let _ = write!(out, "\" y=\"{}\">{text}</text>", y + 12);
        }
        out.push_str("</g>\n");
    }
}

/// Characters that a frame has room for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of characters: the width is at most 1,200, and a cast saturates"
)]
fn room(width: f64) -> usize {
    ((width - 6.0) / PITCH) as usize
}

struct Label {
    full: String,
    /// Length of the name, as scripts count it.
    units: usize,
    /// Its forms, the longest first.
    forms: Vec<String>,
    colour: u32,
}

fn head(out: &mut String, tree: &CallTree, picture: &Picture<'_>, height: u32, cut: bool) {
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
         width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         data-wide=\"{}\" role=\"img\" aria-labelledby=\"title about\">\n<title>{}</title>\n<style>\n",
        u8::from(!picture.short_names),
        escaped(picture.title),
    );
    for dark in [false, true] {
        if dark {
            out.push_str("@media screen and (prefers-color-scheme: dark) {\n");
        }
        let mut rule = |name: &str, number: u32, colour: &str| {
            let _ = write!(out, ".{name}{number}{{fill:{colour}}}");
        };
        if picture.changes.is_some() {
            let [light, dark_ones] = change::COLOURS;
            let colours = if dark { dark_ones } else { light };
            (0..)
                .zip(colours)
                .for_each(|(step, colour)| rule("d", step, colour));
        } else {
            (0..COLOURS).for_each(|number| {
                let (hue, saturation, lightness) = hsl(number, dark);
                rule("c", number, &rgb(hue, saturation, lightness));
            });
        }
        out.push_str(if dark { "\n}\n" } else { "\n" });
    }
    out.push_str(STYLE);
    out.push_str("</style>\n<script><![CDATA[");
    out.push_str(SCRIPT);
    out.push_str("]]></script>\n<rect id=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    let count: u64 = tree.nodes.iter().map(|node| node.count).sum();
    let counted = match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    };
    let cut = if cut { " · deepest rows left out" } else { "" };
    let doubt = match picture.doubt {
        "" => String::new(),
        doubt => format!(" · {}", escaped(doubt)),
    };
    if picture.changes.is_some() {
        legend(out);
    }
    let counted = match picture.changes {
        Some(compared) => format!(
            "{} {counted} before, {} after",
            grouped(compared.diff.before.calls),
            grouped(compared.diff.after.calls)
        ),
        None => format!("{} {counted}", grouped(count)),
    };
    let _ = writeln!(
        out,
        "<text id=\"title\" x=\"{MARGIN}\" y=\"24\">{}</text>\n\
         <text id=\"about\" x=\"{MARGIN}\" y=\"44\">{} {} · {counted} · {} functions{cut}{doubt}</text>\n\
         <text id=\"reset\" class=\"button\" x=\"1090\" y=\"24\" visibility=\"hidden\">reset zoom</text>\n\
         <text id=\"search\" class=\"button\" x=\"1190\" y=\"24\">search</text>\n\
         <text id=\"matched\" x=\"1190\" y=\"44\"></text>\n\
         <text id=\"details\" x=\"{MARGIN}\" y=\"{}\"></text>",
        escaped(picture.title),
        escaped(&tree.measure.title()),
        escaped(&amount(&tree.measure.unit, tree.total)),
        grouped(tree.symbols.len() as u64),
        height - 12,
    );
}

/// Draws what the colours of a difference mean.
fn legend(out: &mut String) {
    out.push_str("<g id=\"legend\"><text x=\"760\" y=\"24\">faster</text>");
    for step in 0..=2 * SAME {
        let _ = write!(
            out,
            "<rect class=\"d{step}\" x=\"{}\" y=\"14\" width=\"20\" height=\"12\"/>",
            806 + 21 * u32::from(step)
        );
    }
    out.push_str(
        "<text x=\"958\" y=\"24\">slower: self, by 0.1, 0.5, 2 % of all before</text></g>\n",
    );
}

fn value_text(tree: &CallTree, value: i64) -> String {
    let mut text = amount(&tree.measure.unit, value);
    if let Some(percent) = tree.percent(value) {
        let _ = write!(text, ", {percent:.2} %");
    }
    text
}

fn describe(out: &mut String, tree: &CallTree, node: &crate::Node) {
    escape(out, &amount(&tree.measure.unit, node.total));
    if tree.measure.merge == Merge::Sum {
        if let Some(percent) = tree.percent(node.total) {
            out.push_str(", ");
            fixed(out, percent);
            out.push_str(" %");
        }
        if node.own != node.total {
            out.push_str(", self ");
            escape(out, &amount(&tree.measure.unit, node.own));
        }
    }
    let counted = match tree.measure.source {
        TreeSource::Spans => "call",
        TreeSource::Samples => "sample",
    };
    if node.count > 0 {
        let plural = if node.count == 1 { "" } else { "s" };
        let _ = write!(out, ", {} {counted}{plural}", grouped(node.count));
    }
    if node.partial > 0 {
        let _ = write!(out, ", {} partial", grouped(node.partial));
    }
}

/// Writes a positive number with two digits after the point, faster than `{:.2}` does.
fn fixed(out: &mut String, number: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "pixels and percentages; a cast saturates"
    )]
    let hundredths = (number * 100.0 + 0.5) as u64;
    let _ = write!(out, "{}", hundredths / 100);
    let rest = hundredths % 100;
    if rest > 0 {
        let _ = write!(out, ".{rest:02}");
    }
}

/// Image viewers know fewer colour notations than browsers.
fn rgb(hue: u16, saturation: u8, lightness: u8) -> String {
    let (s, l) = (f64::from(saturation) / 100.0, f64::from(lightness) / 100.0);
    let a = s * l.min(1.0 - l);
    let channel = |n: f64| {
        let k = (n + f64::from(hue) / 30.0) % 12.0;
        let value = l - a * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a colour channel between 0 and 255"
        )]
        let byte = (value * 255.0 + 0.5) as u8;
        byte
    };
    format!(
        "#{:02x}{:02x}{:02x}",
        channel(0.0),
        channel(8.0),
        channel(4.0)
    )
}
