//! A picture that any browser or image viewer opens; in a browser it zooms and searches.

use std::fmt::Write as _;

use traceloom_model::Merge;

use super::colour::{COLOURS, colour, hsl};
use super::{Layout, Picture, change};
use crate::page::{escape, escaped};
use crate::{CallTree, TreeSource, amount, grouped};

/// Pixels. Text is set in a fixed pitch, so that it can be cut to its frame without measuring.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: u32 = 17;
const TOP: u32 = 56;
const PITCH: f64 = 6.63;
/// Narrower frames are not written.
const LEAST: f64 = 0.1;
/// Rows of a picture; deeper trees are cut, which the picture says.
const ROWS: u32 = 2_000;

const STYLE: &str = include_str!("assets/svg.css");
const SCRIPT: &str = include_str!("assets/svg.js");

/// Draws `tree`.
#[must_use]
pub fn svg(tree: &CallTree, picture: &Picture<'_>) -> String {
    let inner = WIDTH - 2.0 * MARGIN;
    let layout = Layout::of(tree, LEAST / inner);
    let rows = layout.depth.min(ROWS);
    let height = TOP + (rows + 1) * ROW + 30;
    let mut out = String::with_capacity(layout.places.len() * 220 + 16_384);
    head(&mut out, tree, picture, height, layout.depth > rows);

    let labels: Vec<Label> = tree
        .symbols
        .iter()
        .map(|symbol| Label {
            full: escaped(&symbol.name),
            shown: if picture.short_names {
                symbol.short_name().into_owned()
            } else {
                symbol.name.clone()
            },
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
        "<g id=\"frames\"><g><title>all: {}</title><rect class=\"all\" x=\"{MARGIN}\" y=\"{}\" \
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
        out.push_str("<g><title>");
        out.push_str(&label.full);
        out.push_str(": ");
        describe(&mut out, tree, node);
        let change = picture
            .changes
            .and_then(|(word, changes)| Some((word, changes.get(place.node as usize)?)));
        let class = match change {
            Some((word, change)) => {
                let amount = |value| amount(&tree.measure.unit, value);
                out.push_str("; ");
                escape(&mut out, &change.describe(node.total, word, amount));
                format!("d{}", change.step)
            }
            None => format!("c{}", label.colour),
        };
        let _ = write!(out, "</title><rect class=\"{class}\" x=\"");
        fixed(&mut out, x);
        let _ = write!(out, "\" y=\"{y}\" width=\"");
        fixed(&mut out, width);
        out.push_str("\" height=\"16\" rx=\"2\"/>");
        if width >= 3.0 * PITCH + 6.0 {
            out.push_str("<text x=\"");
            fixed(&mut out, x + 3.0);
            let _ = write!(out, "\" y=\"{}\">", y + 12);
            escape(&mut out, &cut(&label.shown, width));
            out.push_str("</text>");
        }
        out.push_str("</g>\n");
    }
    out.push_str("</g>\n</svg>\n");
    out
}

struct Label {
    full: String,
    shown: String,
    colour: u32,
}

fn head(out: &mut String, tree: &CallTree, picture: &Picture<'_>, height: u32, cut: bool) {
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
         width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         data-short=\"{}\">\n<style>\n",
        u8::from(picture.short_names)
    );
    for dark in [false, true] {
        if dark {
            out.push_str("@media (prefers-color-scheme: dark) {\n");
        }
        let mut rule = |name: &str, number: u32, (hue, saturation, lightness)| {
            let colour = rgb(hue, saturation, lightness);
            let _ = write!(out, ".{name}{number}{{fill:{colour}}}");
        };
        if picture.changes.is_some() {
            (0..change::STEPS).for_each(|step| rule("d", step.into(), change::hsl(step, dark)));
        } else {
            (0..COLOURS).for_each(|number| rule("c", number, hsl(number, dark)));
        }
        out.push_str(if dark { "\n}\n" } else { "\n" });
    }
    out.push_str(STYLE);
    out.push_str("</style>\n<script><![CDATA[\n");
    out.push_str(SCRIPT);
    out.push_str("]]></script>\n<rect id=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    let count: u64 = tree.nodes.iter().map(|node| node.count).sum();
    let counted = match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    };
    let cut = if cut { " · deepest rows left out" } else { "" };
    let _ = writeln!(
        out,
        "<text id=\"title\" x=\"{MARGIN}\" y=\"24\">{}</text>\n\
         <text id=\"about\" x=\"{MARGIN}\" y=\"44\">{} {} · {} {counted} · {} functions{cut}</text>\n\
         <text id=\"reset\" class=\"button\" x=\"1090\" y=\"24\" visibility=\"hidden\">reset zoom</text>\n\
         <text id=\"search\" class=\"button\" x=\"1190\" y=\"24\">search</text>\n\
         <text id=\"matched\" x=\"1190\" y=\"44\"></text>\n\
         <text id=\"details\" x=\"{MARGIN}\" y=\"{}\"></text>",
        escaped(picture.title),
        escaped(&tree.measure.title()),
        escaped(&amount(&tree.measure.unit, tree.total)),
        grouped(count),
        grouped(tree.symbols.len() as u64),
        height - 12,
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

/// Cuts text to a width: class and method matter more than how a name begins, so Java loses its start.
fn cut(text: &str, width: f64) -> std::borrow::Cow<'_, str> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of characters: the width is positive and at most 1,200"
    )]
    let room = ((width - 6.0) / PITCH) as usize;
    if text.len() <= room || text.chars().count() <= room {
        return text.into();
    }
    let keep = room.saturating_sub(1);
    let end = text
        .char_indices()
        .nth(keep)
        .map_or(text.len(), |(at, _)| at);
    format!("{}…", text.get(..end).unwrap_or("")).into()
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
