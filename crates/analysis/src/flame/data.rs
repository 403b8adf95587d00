//! What a page holds of a tree.

use super::{Compared, Layout, Picture};
use crate::calltree::{places_by, rest_of};
use crate::colour::{self, COLOURS};
use crate::diff::{Amounts, DiffRow, Per};
use crate::hotspots::{Categories, TreeWork};
use crate::page::{Object, glued};
use crate::{CallTree, Node, NodeStretch, OverTime, Symbol, TopRow, TreeSource, finding};
use traceloom_model::Merge;
use traceloom_model::bounds::saturated_i64;

/// Nodes that a page holds; of more, the widest.
const MOST: usize = 250_000;

/// Kinds of work of functions that no rule matches: of the callers', or the program's own.
const OTHER: i64 = -1;
const OWN: i64 = -2;

/// Returns true if the page leaves out the smallest nodes.
pub(super) fn is_cut(tree: &CallTree) -> bool {
    tree.nodes.len() > MOST
}

/// Returns the noun that counts are of.
pub(super) fn counted(tree: &CallTree) -> &'static str {
    match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    }
}

/// Writes the tree as JSON; where its frames are no functions, `methods` is the tree of these.
pub(super) fn data(
    out: &mut String,
    tree: &CallTree,
    methods: Option<&CallTree>,
    picture: &Picture<'_>,
) {
    let wide = is_cut(tree).then(|| Layout::widest(tree, 0.0, MOST).places);
    let wide = wide.map(|places| places.iter().map(|place| place.node).collect());
    let shown = ShownNodes { tree, wide };
    let merge = match tree.measure.merge {
        Merge::Sum => "sum",
        Merge::Min => "min",
        Merge::Max => "max",
    };
    Object::write(out, |data| {
        data.text("title", picture.title);
        // Both recordings of a difference have one value, also where one of them was adjusted.
        let of = picture.changes.map(|compared| &compared.diff.measure);
        data.text("value", &of.unwrap_or(&tree.measure).title());
        data.text("dimension", picture.dimension.word());
        data.unit(&tree.measure.unit);
        data.text("source", counted(tree));
        data.text("merge", merge);
        data.value("upwards", picture.upwards);
        data.value("total", tree.total);
        let defaults = picture.categories.is_none().then(Categories::default);
        if let Some(categories) = picture.categories.or(defaults.as_ref())
            && picture.changes.is_none()
        {
            let said = finding(tree, categories).unwrap_or_default();
            data.text("finding", &glued(&said));
        }
        functions(data, tree, picture);
        let hsl = |(hue, saturation, lightness)| format!("hsl({hue} {saturation}% {lightness}%)");
        for (key, dark) in [("light", false), ("dark", true)] {
            data.texts(
                key,
                (0..COLOURS).map(|number| hsl(colour::hsl(number, dark))),
            );
        }
        if let Some(compared) = picture.changes {
            let of = |at| compared.changes.get(at).copied().unwrap_or_default();
            let changes = || (0..shown.len()).filter_map(|at| shown.number(at)).map(of);
            data.column("was", changes().map(|change| change.total));
            data.column("was_own", changes().map(|change| change.own));
            Object::write(data.key("compared"), |data| comparison(data, compared));
        }
        let over_time = picture.over_time.iter().find(|one| one.is_of(tree));
        let is_own = methods.is_none() || tree.has_lines();
        if let Some(over_time) = over_time.filter(|_| is_own && !is_cut(tree))
            && let Some(values) = over_time.of(tree)
        {
            Object::write(data.key("over_time"), |data| {
                course(data, over_time, &values);
            });
        }
        if let Some(methods) = methods.filter(|_| over_time.is_some() && !is_own)
            && let Some(places) = places_by(methods, picture.dimension, tree)
        {
            data.column("of_methods", places.into_iter().map(i64::from));
        }
        columns(data, &shown);
        let rest = shown.rest();
        if !rest.is_empty() {
            Object::write(data.key("rest"), |data| rest_columns(data, &rest));
        }
    });
}

/// Writes what functions came to in nodes that the page has not.
fn rest_columns(data: &mut Object<'_>, rest: &[TopRow]) {
    let rows = || rest.iter();
    data.column(
        "symbol",
        rows().map(|row| saturated_i64(row.symbol.index())),
    );
    data.column("own", rows().map(|row| row.own));
    data.column("total", rows().map(|row| row.total));
    data.column("count", rows().map(|row| saturated_i64(row.count)));
}

/// The nodes that a page holds.
struct ShownNodes<'t> {
    tree: &'t CallTree,
    /// Those that are wide enough, where not all are shown.
    wide: Option<Vec<u32>>,
}

impl ShownNodes<'_> {
    fn len(&self) -> usize {
        let wide = self.wide.as_ref();
        wide.map_or(self.tree.nodes.len(), Vec::len)
    }

    /// The number in the tree of what is shown at a place.
    fn number(&self, at: usize) -> Option<usize> {
        match &self.wide {
            Some(wide) => wide.get(at).map(|&number| number as usize),
            None => Some(at),
        }
    }

    /// What functions came to in nodes that are not shown.
    fn rest(&self) -> Vec<TopRow> {
        let Some(wide) = &self.wide else {
            return self.tree.rest.clone();
        };
        let mut is_shown = vec![false; self.tree.nodes.len()];
        for &number in wide {
            if let Some(shown) = is_shown.get_mut(number as usize) {
                *shown = true;
            }
        }
        rest_of(self.tree, &is_shown)
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &Node> {
        let numbers = (0..self.len()).filter_map(|at| self.number(at));
        numbers.filter_map(|number| self.tree.nodes.get(number))
    }
}

/// Writes the values of nodes in stretches of time; a stretch and a node are the difference to the one before.
fn course(data: &mut Object<'_>, over_time: &OverTime, values: &[NodeStretch]) {
    let first = values.first().map_or(0, |one| one.stretch);
    data.value("unix", over_time.unix);
    data.value("step", over_time.step());
    data.text("first", &first.to_string());
    data.texts("threads", over_time.threads.iter());
    let steps = |mut before: i64, of: fn(&NodeStretch) -> i64| {
        values.iter().map(move |one| {
            let now = of(one);
            now - std::mem::replace(&mut before, now)
        })
    };
    data.column("stretch", steps(first, |one| one.stretch));
    data.column("thread", values.iter().map(|one| one.thread.into()));
    data.column("node", steps(0, |one| one.node.into()));
    data.column("own", values.iter().map(|one| one.own));
    let count = |one: &NodeStretch| saturated_i64(one.count);
    data.column("count", values.iter().map(count));
}

/// Writes the nodes: symbol, callers that end before each, own value and count.
///
/// A total is the own value and the totals below it. Where callees overlapped it is more, and the difference is written.
fn columns(data: &mut Object<'_>, nodes: &ShownNodes<'_>) {
    let mut depth = 0;
    let left = nodes.iter().map(|node| {
        let left = depth - i64::from(node.depth);
        depth = i64::from(node.depth) + 1;
        left
    });
    data.column("left", left);
    data.column(
        "symbol",
        nodes.iter().map(|node| saturated_i64(node.symbol.index())),
    );
    data.column("own", nodes.iter().map(|node| node.own));
    let count = |node: &Node| saturated_i64(node.count);
    data.column("count", nodes.iter().map(count));
    // By depth; from the last node on, all below a node is known when it comes.
    let mut totals = Vec::new();
    let mut more = Vec::with_capacity(nodes.len());
    for node in nodes.iter().rev() {
        let depth = node.depth as usize;
        totals.resize(totals.len().max(depth + 2), 0_i64);
        let below = totals.get_mut(depth + 1).map_or(0, std::mem::take);
        more.push(node.total.saturating_sub(node.own.saturating_add(below)));
        if let Some(sum) = totals.get_mut(depth) {
            *sum = sum.saturating_add(node.total);
        }
    }
    if more.iter().any(|&more| more != 0) {
        data.column("more", more.into_iter().rev());
    }
}

/// Writes names, places and colours of functions, in the order of [`CallTree::symbols`].
fn functions(data: &mut Object<'_>, tree: &CallTree, picture: &Picture<'_>) {
    let symbols = || tree.symbols.iter();
    data.texts("names", symbols().map(|symbol| &symbol.name));
    data.value("wide", !picture.short_names);
    let place = |symbol: &Symbol| match (&symbol.file, &symbol.library) {
        (Some(file), _) if symbol.line > 0 => format!("{file}:{}", symbol.line),
        (Some(place), _) | (None, Some(place)) => place.clone(),
        (None, None) => String::new(),
    };
    data.texts("places", symbols().map(place));
    let colour = |symbol| colour::colour(symbol).into();
    data.column("colours", symbols().map(colour));
    data.values("group", symbols().map(|symbol| u8::from(symbol.group)));
    let own = picture.categories.is_none().then(Categories::default);
    if let Some(categories) = picture.categories.or(own.as_ref()) {
        data.texts("categories", categories.names().iter());
        let work = TreeWork::of(tree, categories);
        data.texts("own_packages", work.own.packages().iter());
        let kind = |(symbol, &category): (&Symbol, &Option<usize>)| match category {
            _ if symbol.group => OTHER,
            Some(category) => saturated_i64(category),
            None if work.own.has(symbol) => OWN,
            None => OTHER,
        };
        data.column("kinds", symbols().zip(&work.of_symbols).map(kind));
    }
}

/// Writes both recordings, function by function, as the table of `diff` has them.
fn comparison(data: &mut Object<'_>, compared: &Compared<'_>) {
    let diff = compared.diff;
    let (before, after) = diff.factors();
    data.text("word", compared.word());
    data.value("whole", compared.whole());
    data.text(
        "per",
        match diff.per {
            Per::Recording => "recording",
            Per::Second => "second",
            Per::Call => "call",
            Per::Total => "total",
        },
    );
    // All digits, so that a script multiplies as the program does.
    data.values("factors", [before, after].iter());
    data.values("calls", [diff.before.calls, diff.after.calls].iter());
    data.values(
        "totals",
        [diff.before.tree.total, diff.after.tree.total].iter(),
    );
    data.text("finding", &glued(&diff.finding().unwrap_or_default()));
    let rows = || diff.rows.iter();
    data.column(
        "symbols",
        rows().map(|row| saturated_i64(row.symbol.index())),
    );
    for (key, side) in [
        (
            "before",
            &(|row: &DiffRow| row.before) as &dyn Fn(&DiffRow) -> Amounts,
        ),
        ("after", &|row: &DiffRow| row.after),
    ] {
        Object::write(data.key(key), |data| {
            data.column("own", rows().map(|row| side(row).own));
            data.column("total", rows().map(|row| side(row).total));
            data.column("count", rows().map(|row| saturated_i64(side(row).count)));
        });
    }
    let chance = |chance: Option<f64>| chance.map_or_else(|| "null".to_owned(), |c| c.to_string());
    data.values("own_chance", rows().map(|row| chance(row.own_chance)));
    data.values("total_chance", rows().map(|row| chance(row.total_chance)));
}
