//! A page that holds the whole tree and draws it on a canvas, without network.

use std::fmt::Write as _;

use super::colour::{COLOURS, colour, hsl};
use super::{Change, Layout, Picture, change};
use crate::{CallTree, MeasureUnit, TreeSource};
use traceloom_model::Merge;

const PAGE: &str = include_str!("assets/flame.html");
const STYLE: &str = include_str!("assets/flame.css");
const SCRIPT: &str = include_str!("assets/flame.js");

/// Nodes that a page holds; of larger trees it leaves out what no screen could show.
const MOST: usize = 1_000_000;

/// What is left out of those: nodes narrower than this share of the whole.
const LEAST: f64 = 1e-6;

/// Writes the page of `tree`.
///
/// The page holds every function and node, so that its table says what [`crate::top`] says: about 16
/// bytes a node and the names. Of trees of more than a million nodes the smallest stay out, and the page
/// says so.
#[must_use]
pub fn html(tree: &CallTree, picture: &Picture<'_>) -> String {
    let data = data(tree, picture);
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        match name {
            "title" => escape_html(&mut out, picture.title),
            "style" => out.push_str(STYLE),
            "script" => out.push_str(SCRIPT),
            "data" => out.push_str(&data),
            _ => {}
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The tree as JSON: columns, because a page of 100,000 objects parses ten times slower.
fn data(tree: &CallTree, picture: &Picture<'_>) -> String {
    let places = (tree.nodes.len() > MOST).then(|| Layout::of(tree, LEAST).places);
    let wide = places.as_ref().map(|places| {
        let wide = places
            .iter()
            .filter_map(|place| tree.nodes.get(place.node as usize));
        wide.copied().collect::<Vec<_>>()
    });
    let nodes = wide.as_deref().unwrap_or(&tree.nodes);
    let changes = picture.changes.map(|(word, changes)| {
        let of = |node: usize| changes.get(node).copied().unwrap_or_default();
        let changes: Vec<Change> = match &places {
            Some(places) => places.iter().map(|place| of(place.node as usize)).collect(),
            None => changes.to_vec(),
        };
        (word, changes)
    });
    let mut out = String::with_capacity(nodes.len() * 16 + tree.symbols.len() * 64);
    out.push_str("{\"title\":");
    string(&mut out, picture.title);
    out.push_str(",\"value\":");
    string(&mut out, &tree.measure.title());
    let (unit, unit_name) = match &tree.measure.unit {
        MeasureUnit::Nanoseconds => ("ns", ""),
        MeasureUnit::Bytes => ("bytes", ""),
        MeasureUnit::Count => ("count", ""),
        MeasureUnit::Chars => ("count", "chars"),
        MeasureUnit::Percent => ("count", "%"),
        MeasureUnit::Other(name) => ("count", name.as_str()),
    };
    let _ = write!(out, ",\"unit\":\"{unit}\",\"unit_name\":");
    string(&mut out, unit_name);
    let source = match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    };
    let shares = tree.measure.merge == Merge::Sum;
    let _ = write!(
        out,
        ",\"source\":\"{source}\",\"shares\":{shares},\"upwards\":{},\"cut\":{},\"total\":{},\"names\":[",
        picture.upwards,
        wide.is_some(),
        tree.total
    );
    list(&mut out, tree.symbols.iter(), |out, symbol| {
        string(out, &symbol.name);
    });
    out.push_str("],\"labels\":[");
    list(&mut out, tree.symbols.iter(), |out, symbol| {
        let short = if picture.short_names {
            symbol.short_name()
        } else {
            symbol.name.as_str().into()
        };
        // 0 says that the label is the name.
        if short == symbol.name {
            out.push('0');
        } else {
            string(out, &short);
        }
    });
    out.push_str("],\"places\":[");
    list(&mut out, tree.symbols.iter(), |out, symbol| {
        let place = match (&symbol.file, &symbol.library) {
            (Some(file), _) if symbol.line > 0 => format!("{file}:{}", symbol.line),
            (Some(place), _) | (None, Some(place)) => place.clone(),
            (None, None) => String::new(),
        };
        string(out, &place);
    });
    out.push_str("],\"colours\":[");
    list(&mut out, tree.symbols.iter(), |out, symbol| {
        let _ = write!(out, "{}", colour(symbol));
    });
    for dark in [false, true] {
        out.push_str(if dark {
            "],\"dark\":["
        } else {
            "],\"light\":["
        });
        list(&mut out, 0..COLOURS, |out, number| {
            let (hue, saturation, lightness) = hsl(number, dark);
            let _ = write!(out, "\"hsl({hue} {saturation}% {lightness}%)\"");
        });
    }
    if let Some((word, changes)) = &changes {
        out.push_str("],\"word\":");
        string(&mut out, word);
        for dark in [false, true] {
            out.push_str(match dark {
                false => ",\"steps\":{\"light\":[",
                true => "],\"dark\":[",
            });
            list(&mut out, 0..change::STEPS, |out, step| {
                let (hue, saturation, lightness) = change::hsl(step, dark);
                let _ = write!(out, "\"hsl({hue} {saturation}% {lightness}%)\"");
            });
        }
        out.push_str("]},\"step\":[");
        list(&mut out, changes.iter(), |out, change| {
            let _ = write!(out, "{}", change.step);
        });
        out.push_str("],\"was\":[");
        list(&mut out, changes.iter(), |out, change| {
            let _ = write!(out, "{}", change.total);
        });
        out.push_str("],\"was_own\":[");
        list(&mut out, changes.iter(), |out, change| {
            let _ = write!(out, "{}", change.own);
        });
    }
    out.push_str("],\"symbol\":[");
    list(&mut out, nodes.iter(), |out, node| {
        let _ = write!(out, "{}", node.symbol.index());
    });
    out.push_str("],\"depth\":[");
    list(&mut out, nodes.iter(), |out, node| {
        let _ = write!(out, "{}", node.depth);
    });
    out.push_str("],\"sum\":[");
    list(&mut out, nodes.iter(), |out, node| {
        let _ = write!(out, "{}", node.total);
    });
    out.push_str("],\"own\":[");
    list(&mut out, nodes.iter(), |out, node| {
        let _ = write!(out, "{}", node.own);
    });
    out.push_str("],\"count\":[");
    list(&mut out, nodes.iter(), |out, node| {
        let _ = write!(out, "{}", node.count);
    });
    out.push_str("]}");
    out
}

fn list<T>(
    out: &mut String,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
}

/// Writes a JSON string that can stand inside a script element: `<` is always escaped.
fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' => out.push_str("\\u003c"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn escape_html(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
}
