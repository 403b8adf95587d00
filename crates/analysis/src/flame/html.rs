//! A page that holds the whole tree and draws it on a canvas, without network.

use super::colour::COLOURS;
use super::{Layout, Picture, change, colour};
use crate::hotspots::Categories;
use crate::names::shorten;
use crate::page::{Heading, Object, Part, escape, fill, list, page, string};
use crate::{CallTree, MeasureUnit, Symbol, TreeSource, amount, grouped};
use traceloom_model::Merge;

const MARKUP: &str = include_str!("assets/flame.html");
const STYLE: &str = include_str!("assets/flame.css");
const SCRIPT: &str = concat!(
    include_str!("assets/tree.js"),
    include_str!("assets/table.js"),
    include_str!("assets/flame.js"),
);

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
    let count: u64 = tree.nodes.iter().map(|node| node.count).sum();
    let about = format!(
        "{} {} · {} {} · {} functions{}",
        tree.measure.title(),
        amount(&tree.measure.unit, tree.total),
        grouped(count),
        counted(tree),
        grouped(tree.symbols.len() as u64),
        if tree.nodes.len() > MOST {
            " · smallest frames left out"
        } else {
            ""
        },
    );
    let heading = Heading {
        title: picture.title,
        about: &about,
        class: "whole",
    };
    page(heading, &[part(tree, picture, None)])
}

/// What counts are of.
fn counted(tree: &CallTree) -> &'static str {
    match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    }
}

/// The graph as a part of a page; `id` tells it from others there.
pub(crate) fn part(tree: &CallTree, picture: &Picture<'_>, id: Option<&str>) -> Part {
    let mut markup = String::with_capacity(tree.nodes.len() * 16 + tree.symbols.len() * 64);
    fill(&mut markup, MARKUP, |out, name| match (name, id) {
        ("data", _) => data(out, tree, picture),
        ("id", Some(id)) => {
            out.push_str(" id=\"");
            escape(out, id);
            out.push('"');
        }
        _ => {}
    });
    Part {
        markup,
        style: STYLE,
        script: SCRIPT,
    }
}

/// Writes the tree as JSON.
fn data(out: &mut String, tree: &CallTree, picture: &Picture<'_>) {
    let places = (tree.nodes.len() > MOST).then(|| Layout::of(tree, LEAST).places);
    let shown: Vec<usize> = match places {
        Some(places) => places.iter().map(|place| place.node as usize).collect(),
        None => (0..tree.nodes.len()).collect(),
    };
    let nodes = || shown.iter().filter_map(|&number| tree.nodes.get(number));
    let (unit, unit_name) = match &tree.measure.unit {
        MeasureUnit::Nanoseconds => ("ns", ""),
        MeasureUnit::Bytes => ("bytes", ""),
        MeasureUnit::Count => ("count", ""),
        MeasureUnit::Chars => ("count", "chars"),
        MeasureUnit::Percent => ("count", "%"),
        MeasureUnit::Other(name) => ("count", name.as_str()),
    };
    Object::write(out, |data| {
        data.text("title", picture.title);
        data.text("value", &tree.measure.title());
        data.text("unit", unit);
        data.text("unit_name", unit_name);
        data.text("source", counted(tree));
        let merge = match tree.measure.merge {
            Merge::Sum => "sum",
            Merge::Min => "min",
            Merge::Max => "max",
        };
        data.text("merge", merge);
        data.value("upwards", picture.upwards);
        data.value("total", tree.total);
        names(data, tree, picture);
        let hsl = |(hue, saturation, lightness)| format!("hsl({hue} {saturation}% {lightness}%)");
        for (key, dark) in [("light", false), ("dark", true)] {
            data.texts(
                key,
                (0..COLOURS).map(|number| hsl(colour::hsl(number, dark))),
            );
        }
        if let Some((word, changes)) = picture.changes {
            data.text("word", word);
            for (key, dark) in [("light_steps", false), ("dark_steps", true)] {
                data.texts(
                    key,
                    (0..change::STEPS).map(|step| hsl(change::hsl(step, dark))),
                );
            }
            let of = |&number: &usize| changes.get(number).copied().unwrap_or_default();
            let changes = || shown.iter().map(of);
            data.values("step", changes().map(|change| change.step));
            data.values("was", changes().map(|change| change.total));
            data.values("was_own", changes().map(|change| change.own));
        }
        data.values("symbol", nodes().map(|node| node.symbol.index()));
        data.values("depth", nodes().map(|node| node.depth));
        data.values("sum", nodes().map(|node| node.total));
        data.values("own", nodes().map(|node| node.own));
        data.values("count", nodes().map(|node| node.count));
    });
}

/// Writes what is said of functions, in the order of [`CallTree::symbols`].
fn names(data: &mut Object<'_>, tree: &CallTree, picture: &Picture<'_>) {
    let symbols = || tree.symbols.iter();
    data.texts("names", symbols().map(|symbol| &symbol.name));
    list(data.key("labels"), symbols(), |out, symbol| {
        let short = picture.short_names.then(|| shorten(&symbol.name));
        match short.filter(|short| *short != symbol.name) {
            Some(short) => string(out, &short),
            // The label is the name.
            None => out.push('0'),
        }
    });
    let place = |symbol: &Symbol| match (&symbol.file, &symbol.library) {
        (Some(file), _) if symbol.line > 0 => format!("{file}:{}", symbol.line),
        (Some(place), _) | (None, Some(place)) => place.clone(),
        (None, None) => String::new(),
    };
    data.texts("places", symbols().map(place));
    data.values("colours", symbols().map(colour::colour));
    data.values("group", symbols().map(|_| 0));
    let own = picture.categories.is_none().then(Categories::default);
    if let Some(categories) = picture.categories.or(own.as_ref()) {
        data.texts("categories", categories.names().iter());
        list(
            data.key("kinds"),
            symbols(),
            |out, symbol| match categories.of(&symbol.name) {
                Some(number) => out.push_str(&number.to_string()),
                None => out.push_str("-1"),
            },
        );
    }
}
