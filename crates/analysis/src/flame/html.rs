//! A page that holds the whole tree and draws it on a canvas, without network.

use super::Picture;
use super::data::{counted, data, is_cut};
use crate::page::{FLAME, Heading, escape, fill, list, page};
use crate::{CallTree, amount, grouped};

const MARKUP: &str = include_str!("../../assets/flame.html");

/// Writes the page of trees, one for each value; it shows the first that is not zero.
///
/// The page holds every function and node, so that its table says what [`crate::top`] says: about 16
/// bytes a node and the names. Of trees of more than a million nodes the smallest stay out, and the page
/// says so.
#[must_use]
pub fn html(trees: &[CallTree], picture: &Picture<'_>) -> String {
    let shown = trees.iter().find(|tree| tree.total != 0);
    let mut about = shown
        .or(trees.first())
        .map_or_else(String::new, |tree| about(tree, picture));
    if !picture.doubt.is_empty() {
        about.push_str(" · ");
        about.push_str(picture.doubt);
    }
    let heading = Heading {
        title: picture.title,
        about: &about,
        class: "whole",
    };
    page(heading, FLAME, &[part(trees, picture, None)])
}

/// One line about what is shown first.
fn about(tree: &CallTree, picture: &Picture<'_>) -> String {
    let functions = grouped(tree.symbols.len() as u64);
    if let Some(compared) = picture.changes {
        let diff = compared.diff;
        return format!(
            "{} · {} {counted} before, {} after · {functions} functions",
            tree.measure.title(),
            grouped(diff.before.calls),
            grouped(diff.after.calls),
            counted = counted(tree),
        );
    }
    let count: u64 = tree.nodes.iter().map(|node| node.count).sum();
    format!(
        "{} {} · {} {} · {functions} functions{}",
        tree.measure.title(),
        amount(&tree.measure.unit, tree.total),
        grouped(count),
        counted(tree),
        if is_cut(tree) {
            " · smallest frames left out"
        } else {
            ""
        },
    )
}

/// The graph as a part of a page; `id` tells it from others there.
pub(crate) fn part(trees: &[CallTree], picture: &Picture<'_>, id: Option<&str>) -> String {
    let size = |tree: &CallTree| tree.nodes.len() * 16 + tree.symbols.len() * 64;
    let mut markup = String::with_capacity(trees.iter().map(size).sum());
    fill(&mut markup, MARKUP, |out, name| match (name, id) {
        ("data", _) => list(out, trees.iter(), |out, tree| data(out, tree, picture)),
        ("id", Some(id)) => {
            out.push_str(" id=\"");
            escape(out, id);
            out.push('"');
        }
        _ => {}
    });
    markup
}
