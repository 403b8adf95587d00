//! A picture that any browser or image viewer opens; in a browser it zooms and searches.

use std::collections::HashMap;
use std::fmt::Write as _;

use foldhash::fast::RandomState;
use traceloom_model::Merge;

use super::{Layout, NodeBox, Picture, SAME, change, step};
use crate::colour::{SHADES, colour};
use crate::hotspots::{Categories, NodeKinds, WorkKind};
use crate::names::{fit, levels};
use crate::page::{escape, escaped};
use crate::{CallTree, Node, TreeSource, amount, grouped};

/// Pixels. Text is set in a fixed pitch, so that it can be cut to its frame without measuring.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
/// The number of no node.
const NONE: u32 = u32::MAX;
const ROW: u32 = 17;
const TOP: u32 = 56;
/// Height of a row of the legend, and what a character of it takes, about.
const LEGEND_ROW: u32 = 18;
const LEGEND_PITCH: f64 = 6.2;
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
    let layout = Layout::widest(tree, LEAST / inner, MOST);
    let narrow = NarrowFrames::all(tree, &layout);
    let deepest = narrow.iter().map(|frames| frames.depth + 1).max();
    let depth = layout.depth.max(deepest.unwrap_or(0));
    let rows = depth.min(ROWS);
    let defaults = picture.categories.is_none().then(Categories::default);
    let categories = picture.categories.or(defaults.as_ref());
    let categories = categories.filter(|_| picture.changes.is_none());
    let kinds = categories.map_or_else(NodeKinds::default, |categories| {
        NodeKinds::of(tree, categories)
    });
    let legend = entries(&kinds, tree);
    let top = TOP + legend.iter().map(|entry| entry.row + 1).max().unwrap_or(0) * LEGEND_ROW;
    let height = top + (rows + 1) * ROW + 30;
    let mut out = String::with_capacity(layout.places.len() * 220 + 16_384);
    head(&mut out, tree, picture, height, depth > rows);
    kinds_legend(&mut out, &kinds.kinds, &legend);

    let frames = FrameDrawing {
        tree,
        picture,
        kinds: &kinds,
        labels: labels(tree, picture),
        rows,
        top,
    };
    frames.draw_whole(&mut out);
    for place in &layout.places {
        frames.draw(&mut out, place);
    }
    for narrow in narrow.iter().filter(|narrow| narrow.depth < rows) {
        narrow.draw(&mut out, tree, frames.y(narrow.depth + 1));
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// What drawing one frame after the other takes.
struct FrameDrawing<'s> {
    tree: &'s CallTree,
    picture: &'s Picture<'s>,
    kinds: &'s NodeKinds<'s>,
    /// By symbol.
    labels: Vec<FrameLabel>,
    rows: u32,
    /// Where the first row begins.
    top: u32,
}

impl FrameDrawing<'_> {
    fn y(&self, depth: u32) -> u32 {
        let row = match self.picture.upwards {
            true => self.rows - depth,
            false => depth,
        };
        self.top + row * ROW
    }

    /// Draws the frame that all others lie on.
    fn draw_whole(&self, out: &mut String) {
        let y = self.y(0);
        let _ = writeln!(
            out,
            "<g id=\"frames\"><g data-n=\"3\"><title>all: {}</title><rect class=\"all\" x=\"{MARGIN}\" y=\"{y}\" \
             width=\"{}\" height=\"16\" rx=\"2\"/><text x=\"{}\" y=\"{}\">all</text></g>",
            escaped(&value_text(self.tree, self.tree.total)),
            WIDTH - 2.0 * MARGIN,
            MARGIN + 3.0,
            y + 12,
        );
    }

    fn draw(&self, out: &mut String, place: &NodeBox) {
        let Some(node) = self.tree.nodes.get(place.node as usize) else {
            return;
        };
        let Some(label) = self.labels.get(node.symbol.index()) else {
            return;
        };
        if node.depth + 1 > self.rows {
            return;
        }
        let inner = WIDTH - 2.0 * MARGIN;
        let (x, width) = (MARGIN + place.x * inner, place.width * inner);
        let y = self.y(node.depth + 1);
        // Names may hold whatever stands behind them: the script is told how long they are.
        let _ = write!(out, "<g data-n=\"{}\"", label.units);
        if let Some(number) = self.kinds.of_node(place.node) {
            let _ = write!(out, " data-k=\"{number}\"");
        }
        out.push_str("><title>");
        out.push_str(&label.full);
        out.push_str(": ");
        describe(out, self.tree, node);
        out.push_str("; ");
        let class = self.describe_colour(out, place.node, node, label.shade);
        let _ = write!(out, "</title><rect class=\"{class}\" x=\"");
        fixed(out, x);
        let _ = write!(out, "\" y=\"{y}\" width=\"");
        fixed(out, width);
        out.push_str("\" height=\"16\" rx=\"2\"/>");
        if room(width) >= 3 {
            out.push_str("<text x=\"");
            fixed(out, x + 3.0);
            let _ = write!(out, "\" y=\"{}\">", y + 12);
            escape(out, &fit(&label.forms, room(width)));
            out.push_str("</text>");
        }
        out.push_str("</g>\n");
    }

    /// Writes what the colour of a node stands for, and returns the class of that colour.
    fn describe_colour(&self, out: &mut String, number: u32, node: &Node, shade: u32) -> String {
        if let Some(compared) = self.picture.changes {
            let at = number as usize;
            let other = compared.changes.get(at).copied().unwrap_or_default();
            let unit = &self.tree.measure.unit;
            escape(out, &compared.describe(node.own, other, unit));
            return format!("d{}", step(compared.grew(node.own, other.own).1));
        }
        let kind = self.kinds.of_node(number);
        let kind = kind.and_then(|kind| self.kinds.kinds.get(kind));
        let (token, name) = kind.copied().unwrap_or(("k-none", ""));
        escape(out, name);
        match (token, shade) {
            ("k-own", shade @ 1..) => format!("k-own-{}", shade + 1),
            (token, _) => token.to_owned(),
        }
    }
}

fn labels(tree: &CallTree, picture: &Picture<'_>) -> Vec<FrameLabel> {
    let labels = tree.symbols.iter().map(|symbol| FrameLabel {
        full: escaped(&symbol.name),
        units: symbol.name.encode_utf16().count(),
        forms: forms(&symbol.name, picture),
        shade: colour(symbol) % SHADES,
    });
    labels.collect()
}

/// The forms that a name is drawn in.
fn forms(name: &str, picture: &Picture<'_>) -> Vec<String> {
    let mut forms = levels(name);
    if !picture.short_names && forms.first().is_some_and(|first| first != name) {
        forms.insert(0, name.to_owned());
    }
    forms
}

/// The callees of one caller that are too narrow to be drawn, right of the others.
struct NarrowFrames {
    depth: u32,
    x: f64,
    width: f64,
    /// How many there are; `more` where a thinned tree lacks some.
    count: u64,
    more: bool,
    total: i64,
}

impl NarrowFrames {
    /// Finds those that are wide enough together, by their callers.
    fn all(tree: &CallTree, layout: &Layout) -> Vec<Self> {
        let whole = NodeBox {
            node: NONE,
            x: 0.0,
            width: 1.0,
        };
        let drawn: HashMap<u32, f64, RandomState> = layout
            .places
            .iter()
            .map(|place| (place.node, place.x + place.width))
            .collect();
        let callers = std::iter::once(&whole).chain(&layout.places);
        let found = callers.map(|caller| Self::of_caller(tree, caller, &drawn));
        found.filter(|found| found.width >= 1.0).collect()
    }

    /// Adds up the callees of one node, or the roots, that have no place; `ends` says where those that have one end.
    fn of_caller(tree: &CallTree, caller: &NodeBox, ends: &HashMap<u32, f64, RandomState>) -> Self {
        let node = tree.nodes.get(caller.node as usize);
        let mut x = caller.x;
        let (mut count, mut total) = (0, 0_i64);
        let mut take = |callee: u32| {
            if let Some(&end) = ends.get(&callee) {
                x = x.max(end);
                return;
            }
            let callee = tree.nodes.get(callee as usize);
            let came_to = callee.map_or(0, |callee| callee.total);
            if came_to > 0 {
                count += 1;
                total = total.saturating_add(came_to);
            }
        };
        match node {
            Some(_) => tree.children(caller.node).for_each(&mut take),
            None => tree.roots().for_each(&mut take),
        }
        // Of a thinned tree: what the caller came to in nodes that are not there.
        let missing = match tree.rest.is_empty() {
            true => None,
            false => missing_of(tree, caller.node).filter(|&missing| missing > 0),
        };
        total = total.saturating_add(missing.unwrap_or(0));
        let whole = node.map_or(tree.total, |node| node.total);
        let inner = WIDTH - 2.0 * MARGIN;
        #[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
        let width = total as f64 / whole.max(1) as f64 * caller.width * inner;
        Self {
            depth: node.map_or(0, |node| node.depth + 1),
            x: MARGIN + x * inner,
            width,
            count,
            more: missing.is_some(),
            total,
        }
    }

    fn draw(&self, out: &mut String, tree: &CallTree, y: u32) {
        let frames = if self.count == 1 { "frame" } else { "frames" };
        let told = match (self.count, self.more) {
            (0, _) => String::new(),
            (_, true) => format!("more than {} ", grouped(self.count)),
            (_, false) => format!("{} ", grouped(self.count)),
        };
        let text = format!(
            "{told}narrower {frames}, {}",
            amount(&tree.measure.unit, self.total)
        );
        let _ = write!(
            out,
            "<g class=\"rest\" data-n=\"0\"><title>{text}</title><rect class=\"all\" x=\""
        );
        fixed(out, self.x);
        let _ = write!(out, "\" y=\"{y}\" width=\"");
        fixed(out, self.width);
        out.push_str("\" height=\"16\" rx=\"2\"/>");
        if room(self.width) >= text.chars().count() {
            out.push_str("<text x=\"");
            fixed(out, self.x + 3.0);
            let _ = write!(out, "\" y=\"{}\">{text}</text>", y + 12);
        }
        out.push_str("</g>\n");
    }
}

/// Returns what a node came to besides its own value and the nodes below it.
fn missing_of(tree: &CallTree, number: u32) -> Option<i64> {
    let node = tree.nodes.get(number as usize)?;
    let below = tree.children(number);
    let below = below.filter_map(|child| Some(tree.nodes.get(child as usize)?.total));
    let known = below.fold(node.own, i64::saturating_add);
    Some(node.total.saturating_sub(known))
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

struct FrameLabel {
    full: String,
    /// Length of the name, as scripts count it.
    units: usize,
    /// Its forms, the longest first.
    forms: Vec<String>,
    /// Tells classes of the program's own code apart.
    shade: u32,
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
    if picture.changes.is_some() {
        for (dark, colours) in change::COLOURS.iter().enumerate() {
            if dark == 1 {
                out.push_str("@media screen and (prefers-color-scheme: dark) {\n");
            }
            for (step, colour) in colours.iter().enumerate() {
                let _ = write!(out, ".d{step}{{fill:{colour}}}");
            }
            out.push_str(if dark == 1 { "\n}\n" } else { "\n" });
        }
    }
    out.push_str(STYLE);
    out.push_str("</style>\n<script><![CDATA[");
    out.push_str(SCRIPT);
    out.push_str("]]></script>\n<rect id=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    let count = tree.n_counted();
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

/// A kind of work in the legend, or what is in no frame.
struct LegendEntry {
    kind: Option<usize>,
    name: String,
    /// Its own values together, with their share.
    text: String,
    x: f64,
    row: u32,
}

/// Lays out the kinds that took something by themselves, the largest first.
fn entries(kinds: &NodeKinds<'_>, tree: &CallTree) -> Vec<LegendEntry> {
    let mut own: Vec<(usize, i64)> = (0..).zip(kinds.own_values(tree)).collect();
    own.retain(|&(_, own)| own > 0);
    own.sort_by_key(|&(kind, own)| (std::cmp::Reverse(own), kind));
    let names = own.into_iter().filter_map(|(kind, own)| {
        let (_, name) = kinds.kinds.get(kind)?;
        Some((Some(kind), (*name).to_owned(), own))
    });
    // Kinds of work go by callers, which are not known of what has no frame.
    let rest = tree.rest.iter().map(|row| row.own);
    let rest = Some(rest.fold(0, i64::saturating_add));
    let rest = rest.filter(|&own| own > 0 && !kinds.kinds.is_empty());
    let names = names.chain(rest.map(|own| (None, "in no frame".to_owned(), own)));
    let (mut x, mut row) = (MARGIN, 0);
    let entries = names.map(|(kind, name, own)| {
        let text = value_text(tree, own).replacen(", ", " · ", 1);
        let letters = name.chars().count() + text.chars().count();
        #[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
        let width = letters as f64 * LEGEND_PITCH + 40.0;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, row) = (MARGIN, row + 1);
        }
        let at = x;
        x += width;
        LegendEntry {
            kind,
            name,
            text,
            x: at,
            row,
        }
    });
    entries.collect()
}

/// Draws the kinds of work: the script makes a pressed one stand out.
fn kinds_legend(out: &mut String, kinds: &[WorkKind<'_>], legend: &[LegendEntry]) {
    if legend.is_empty() {
        return;
    }
    out.push_str("<g id=\"kinds\">\n");
    for entry in legend {
        let kind = entry.kind.and_then(|kind| Some((kind, kinds.get(kind)?)));
        let y = TOP + 10 + entry.row * LEGEND_ROW;
        let place = format!("transform=\"translate({:.0} {y})\"", entry.x);
        let _ = match kind {
            Some((kind, (token, _))) => write!(
                out,
                "<g data-k=\"{kind}\" {place}><rect class=\"{token}\" y=\"-10\" width=\"11\" height=\"11\"/><text x=\"17\">"
            ),
            None => write!(out, "<g class=\"rest\" {place}><text>"),
        };
        let (name, text) = (escaped(&entry.name), escaped(&entry.text));
        let _ = writeln!(out, "{name} <tspan>{text}</tspan></text></g>");
    }
    out.push_str("</g>\n");
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

fn describe(out: &mut String, tree: &CallTree, node: &Node) {
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
