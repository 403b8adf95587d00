//! A page that holds the whole tree and draws it on a canvas, without network.

use super::Picture;
use super::data::{counted, data, is_cut};
use crate::page::{Heading, Part, escape, fill, page};
use crate::{CallTree, amount, grouped};

const MARKUP: &str = include_str!("assets/flame.html");
const STYLE: &str = include_str!("assets/flame.css");
const SCRIPT: &str = concat!(
    include_str!("assets/tree.js"),
    include_str!("assets/table.js"),
    include_str!("assets/flame.js"),
);

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
        if is_cut(tree) {
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
