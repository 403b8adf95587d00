//! Trees of classes, packages or libraries instead of functions.

use super::arena::{Arena, ROOT};
use super::{CallTree, flatten};
use crate::measure::TreeSource;
use crate::names;
use crate::symbol::{Symbol, SymbolInterner};
use traceloom_model::Merge;

/// What the frames of a tree stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Functions.
    #[default]
    Method,
    /// Lines of functions, where the producer wrote them: trees of these are made of samples alone
    /// ([`crate::TreeOptions::lines`]).
    Line,
    /// Classes, modules or types: what functions are named after.
    Class,
    /// Packages, crates or modules.
    Package,
    /// Jars, crates or binaries, where the producer says.
    Library,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Method,
        Self::Line,
        Self::Class,
        Self::Package,
        Self::Library,
    ];

    /// Returns the word that people use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Line => "line",
            Self::Class => "class",
            Self::Package => "package",
            Self::Library => "library",
        }
    }

    /// Returns the dimension of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }

    /// Returns the name of what a function belongs to.
    pub(super) fn name(self, symbol: &Symbol) -> String {
        let name = symbol.name.split_once('(').map_or(&*symbol.name, |it| it.0);
        let name = if name.is_empty() { &symbol.name } else { name };
        let owner = match self {
            Self::Method | Self::Line => Some(symbol.name.as_str()),
            Self::Class => owner(name),
            Self::Package => names::package(name)
                .or(symbol.package.as_deref())
                .or_else(|| name.split_once("::").map(|(first, _)| first))
                .or_else(|| module(name)),
            Self::Library => None,
        };
        let owner = owner.or(symbol.library.as_deref());
        owner.map_or_else(|| format!("(no {})", self.word()), str::to_owned)
    }
}

/// Returns what stands before the last part of a name: `com.acme.Order` of `com.acme.Order.save`.
fn owner(name: &str) -> Option<&str> {
    let at = name.rfind(['.', ':'])?;
    let owner = name.get(..at)?.trim_end_matches(':');
    (!owner.is_empty()).then_some(owner)
}

/// Returns the module of a Go or Python name: `github.com/o/r/pkg` of `github.com/o/r/pkg.(*T).M`.
fn module(name: &str) -> Option<&str> {
    let from = name.rfind('/').map_or(0, |at| at + 1);
    let dot = name.get(from..)?.find('.')?;
    name.get(..from + dot).filter(|module| !module.is_empty())
}

impl CallTree {
    /// Returns the tree of what its functions belong to.
    ///
    /// Functions of one class that call each other are one frame, counted by the calls that entered the class. Own
    /// values stay where they were measured; of samples the innermost frame keeps its count. Values that do not add
    /// up keep their functions, and a tree of lines is one already.
    #[must_use]
    pub fn by(&self, dimension: Dimension) -> Self {
        if matches!(dimension, Dimension::Method | Dimension::Line)
            || self.measure.merge != Merge::Sum
        {
            return self.clone();
        }
        let mut symbols = SymbolInterner::default();
        let keys: Vec<u32> = self
            .symbols
            .iter()
            .map(|symbol| {
                symbols.intern(match symbol.group {
                    true => symbol.clone(),
                    false => Symbol {
                        name: dimension.name(symbol),
                        library: symbol.library.clone(),
                        kind: symbol.kind,
                        ..Symbol::default()
                    },
                })
            })
            .collect();
        let mut arena = Arena::of_at_most(self.nodes.len());
        arena.base = self.base;
        // Where each node went, and its key there.
        let mut places: Vec<(u32, Option<u32>)> = Vec::with_capacity(self.nodes.len());
        let is_sampled = self.measure.source == TreeSource::Samples;
        for (number, node) in self.nodes.iter().enumerate() {
            let caller = node.parent.and_then(|parent| places.get(parent as usize));
            let (above, of) = caller.copied().unwrap_or((ROOT, None));
            let key = keys.get(node.symbol.index()).copied().unwrap_or(0);
            if of == Some(key) && above != ROOT {
                places.push((above, of));
                let count = if is_sampled { node.count } else { 0 };
                arena.combine(above, node.own, count, Merge::Sum);
                continue;
            }
            let at = arena.child(above, key);
            flatten::add(&mut arena, at, node, Merge::Sum);
            if let Some(durations) = self.durations.get(number) {
                arena.take_durations(at, durations);
            }
            places.push((at, Some(key)));
        }
        let (measure, rows) = (self.measure.clone(), symbols.into_rows());
        let tree = flatten::flatten(arena, measure, rows, self.total, |key| key);
        Self {
            whole: self.whole,
            ..tree
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TreeBuilder, TreeOptions, top};
    use traceloom_model::{Function, Sink, StepBatch, Tables, Track};

    #[test]
    fn functions_of_one_class_are_one_frame() {
        let mut tables = Tables::new();
        let thread = tables.string("main");
        let mut steps = StepBatch::default();
        steps.track(tables.track(Track::thread(thread)));
        let names = [
            "com.a.Web.get",
            "com.a.Web.find",
            "org.b.Db.read",
            "com.a.Web.map",
        ];
        for (now, name) in (0..).step_by(10).zip(names) {
            let name = tables.string(name);
            steps.enter(now, tables.function(Function::named(name)));
        }
        for now in [41, 42, 43, 44] {
            steps.exit(now);
        }
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.steps(steps);
        let tree = builder.finish().spans.unwrap();
        let rows = |dimension| {
            let tree = tree.by(dimension);
            assert_eq!(tree.total, 44);
            let name = |row: &crate::TopRow| tree.symbol(row.symbol).name.clone();
            let rows = top(&tree);
            let told = rows
                .iter()
                .map(|row| (name(row), row.own, row.total, row.count));
            told.collect::<Vec<_>>()
        };
        let row = |name: &str, own, total, count| (name.to_owned(), own, total, count);
        assert_eq!(
            rows(Dimension::Class),
            [row("com.a.Web", 33, 44, 2), row("org.b.Db", 11, 22, 1)]
        );
        assert_eq!(
            rows(Dimension::Package),
            [row("com.a", 33, 44, 2), row("org.b", 11, 22, 1)]
        );
        assert_eq!(rows(Dimension::Library), [row("(no library)", 44, 44, 1)]);
    }

    #[test]
    fn names_of_every_language_have_an_owner() {
        let of = |dimension: Dimension, name: &str| dimension.name(&Symbol::named(name));
        for (name, class, package) in [
            ("com.acme.Order.save(long)", "com.acme.Order", "com.acme"),
            ("core::fmt::write", "core::fmt", "core"),
            (
                "github.com/o/r/pkg.(*T).M",
                "github.com/o/r/pkg",
                "github.com/o/r/pkg",
            ),
            ("memcpy", "(no class)", "(no package)"),
        ] {
            assert_eq!(of(Dimension::Class, name), class, "{name}");
            assert_eq!(of(Dimension::Package, name), package, "{name}");
        }
    }
}
