//! A page that holds the whole tree and draws it on a canvas, without network.

use std::borrow::Cow;

use super::data::{counted, data, is_cut};
use super::{Compared, Picture};
use crate::page::{FLAME, Heading, escape, fill, list, page};
use crate::{CallTree, Dimension, amount, grouped};

/// Nodes of a tree above which a page has it by functions alone.
const MOST_OF_ONE: usize = 50_000;

const MARKUP: &str = include_str!("../../assets/flame.html");

/// Writes the page of trees, one for each value; it shows the first that is not zero.
///
/// The page holds every function and node, so that its table says what [`crate::top`] says: about 16
/// bytes a node and the names. Of trees of more than 250,000 nodes it has the widest, and says so.
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
    let own = trees
        .iter()
        .map(|tree| (Dimension::Method, Cow::Borrowed(tree)));
    let is_small = |tree: &CallTree| tree.nodes.len() <= MOST_OF_ONE && tree.rest.is_empty();
    let others = trees.iter().filter(|tree| is_small(tree)).flat_map(|tree| {
        let has_library = tree.symbols.iter().any(|symbol| symbol.library.is_some());
        let wanted = move |one: &Dimension| match one {
            Dimension::Method | Dimension::Line => false,
            Dimension::Library => has_library,
            Dimension::Class | Dimension::Package => true,
        };
        let all = Dimension::ALL.into_iter().filter(wanted);
        all.map(|one| (one, Cow::Owned(tree.by(one))))
    });
    let lines = picture.lines.iter();
    let lines = lines.filter(|tree| tree.has_lines() && is_small(tree));
    let lines = lines.map(|tree| (Dimension::Line, Cow::Borrowed(tree)));
    // A difference is of functions, and what its frames changed by is known of those.
    let mut all: Vec<_> = match picture.changes {
        Some(_) => own.collect(),
        None => own.chain(lines).chain(others).collect(),
    };
    all.sort_by_key(|(one, _)| *one != picture.dimension);
    let all = all
        .iter()
        .map(|(one, tree)| (*one, tree.as_ref(), picture.changes));
    let other = picture.other.iter();
    let other = other.map(|&(tree, changes)| (Dimension::Method, tree, Some(changes)));
    let all: Vec<_> = all.chain(other).collect();
    page(heading, FLAME, &[parts(&all, picture, None)])
}

/// One line about what is shown first.
fn about(tree: &CallTree, picture: &Picture<'_>) -> String {
    let functions = grouped(tree.symbols.len() as u64);
    if let Some(compared) = picture.changes {
        let diff = compared.diff;
        return format!(
            "{} · {} {counted} before, {} after · {functions} functions",
            tree.measure.title().trim_end_matches(','),
            grouped(diff.before.calls),
            grouped(diff.after.calls),
            counted = counted(tree),
        );
    }
    let count = tree.n_counted();
    format!(
        "{} {} · {} {} · {functions} functions{}",
        tree.measure.title(),
        amount(&tree.measure.unit, tree.total),
        grouped(count),
        counted(tree),
        match (left_out(tree), is_cut(tree)) {
            (Some(said), _) => format!(" · {said}"),
            (None, true) => " · the narrowest frames are left out".to_owned(),
            (None, false) => String::new(),
        },
    )
}

/// Says what is in no frame of a tree's picture, where there is anything.
#[must_use]
pub fn left_out(tree: &CallTree) -> Option<String> {
    if tree.rest.is_empty() {
        return None;
    }
    let own = tree.rest.iter().map(|row| row.own);
    let count = tree.rest.iter().map(|row| row.count);
    Some(format!(
        "{} {} in the narrowest frames, {} by themselves, have no frame of their own: their callers are as wide as they were, \
         and tables of functions count them",
        grouped(count.fold(0, u64::saturating_add)),
        counted(tree),
        amount(&tree.measure.unit, own.fold(0, i64::saturating_add)),
    ))
}

/// The graph as a part of a page; `id` tells it from others there.
pub(crate) fn part(trees: &[CallTree], picture: &Picture<'_>, id: Option<&str>) -> String {
    let own = trees.iter();
    let own = own.map(|tree| (Dimension::Method, tree, picture.changes));
    parts(&own.collect::<Vec<_>>(), picture, id)
}

/// A tree of a page: what its frames stand for, and what it is compared with.
type Shown<'s> = (Dimension, &'s CallTree, Option<&'s Compared<'s>>);

fn parts(trees: &[Shown<'_>], picture: &Picture<'_>, id: Option<&str>) -> String {
    let size = |tree: &CallTree| tree.nodes.len() * 16 + tree.symbols.len() * 64;
    let mut markup = String::with_capacity(trees.iter().map(|(_, tree, _)| size(tree)).sum());
    fill(&mut markup, MARKUP, |out, name| match (name, id) {
        ("data", _) => list(out, trees.iter(), |out, &(dimension, tree, changes)| {
            let is_of =
                |one: &&Shown<'_>| one.0 == Dimension::Method && one.1.measure == tree.measure;
            let methods = trees.iter().find(is_of).map(|&(_, methods, _)| methods);
            let methods = methods.filter(|_| dimension != Dimension::Method);
            let picture = Picture {
                dimension,
                changes,
                ..*picture
            };
            data(out, tree, methods, &picture);
        }),
        ("id", Some(id)) => {
            out.push_str(" id=\"");
            escape(out, id);
            out.push('"');
        }
        _ => {}
    });
    markup
}
