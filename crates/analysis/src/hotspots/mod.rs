//! Where time goes by the kind of work: databases, logging, reflection and so on.

mod kind;
mod own;

pub(crate) use kind::{NodeKinds, WorkKind, title, token, unnamed, where_to};
pub(crate) use own::OwnCode;

use std::collections::HashMap;
use std::fmt;

use crate::names::alike;
use crate::{CallTree, Symbol, SymbolId};

/// Categories of functions, by how their names begin.
///
/// Text form: a category and a prefix a line, `#` for comments. The longest prefix that fits decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    names: Vec<String>,
    /// Prefixes with the number of their category, by prefix.
    rules: Vec<(String, usize)>,
}

/// What is wrong with a file of categories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl fmt::Display for CategoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, text } = self;
        write!(f, "line {line}: `{text}`: expected a category and a prefix")
    }
}

impl std::error::Error for CategoryError {}

impl Default for Categories {
    /// The rules that come with the program.
    fn default() -> Self {
        let rules = Self::DEFAULT.parse();
        debug_assert!(rules.is_ok(), "{rules:?}");
        rules.unwrap_or(Self {
            names: Vec::new(),
            rules: Vec::new(),
        })
    }
}

impl std::str::FromStr for Categories {
    type Err = CategoryError;

    fn from_str(text: &str) -> Result<Self, CategoryError> {
        let mut all = Self {
            names: Vec::new(),
            rules: Vec::new(),
        };
        for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let mut words = text.split_whitespace();
            let (Some(category), Some(prefix), None) = (words.next(), words.next(), words.next())
            else {
                let text = text.to_owned();
                return Err(CategoryError { line, text });
            };
            let known = all.names.iter().position(|name| name == category);
            let number = known.unwrap_or_else(|| {
                all.names.push(category.to_owned());
                all.names.len() - 1
            });
            // Slashed and dotted packages are one.
            all.rules.push((prefix.replace('/', "."), number));
        }
        all.rules.sort();
        all.rules.dedup_by(|a, b| a.0 == b.0);
        Ok(all)
    }
}

impl Categories {
    /// The rules that come with the program, as text: a start for one's own.
    pub const DEFAULT: &'static str = include_str!("categories.txt");

    /// Returns the names of the categories.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the kind of work of each of some spans, given depth first as depth, function and duration.
    ///
    /// As in [`hotspots`], a span without category is of the kind of the span around it, unless it is the program's own.
    #[must_use]
    pub fn of_spans(&self, spans: &[(usize, &str, u64)]) -> Vec<SpanWork<'_>> {
        let mut symbols: Vec<(&str, Symbol, u64)> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for &(_, function, duration) in spans {
            let number = *numbers.entry(function).or_insert_with(|| {
                symbols.push((function, Symbol::named(function), 0));
                symbols.len() - 1
            });
            if let Some((.., weight)) = symbols.get_mut(number) {
                *weight = weight.saturating_add(duration);
            }
        }
        let of_names: Vec<Option<usize>> = symbols.iter().map(|(name, ..)| self.of(name)).collect();
        let weights = symbols.iter().zip(&of_names);
        let own_code = OwnCode::find(
            weights.map(|((_, symbol, weight), &category)| (symbol, *weight, category)),
        );
        let kinds: HashMap<&str, (Option<usize>, bool)> = symbols
            .iter()
            .zip(of_names)
            .map(|((name, symbol, _), category)| (*name, (category, own_code.has(symbol))))
            .collect();
        let mut around: Vec<Option<usize>> = Vec::new();
        let work = spans.iter().map(|&(depth, function, _)| {
            let (category, own) = kinds.get(function).copied().unwrap_or_default();
            around.truncate(depth);
            let caller = around.last().copied().flatten();
            let category = category.or(caller.filter(|_| !own));
            around.resize(depth, None);
            around.push(category);
            match category.and_then(|number| self.names.get(number)) {
                Some(name) => SpanWork::Category(name),
                None if own => SpanWork::Own,
                None => SpanWork::Other,
            }
        });
        work.collect()
    }

    /// Returns the number of a function's category, by its name.
    pub(crate) fn of(&self, name: &str) -> Option<usize> {
        let name = alike(name).replace('/', ".");
        let mut end = name.len();
        loop {
            let at = self
                .rules
                .partition_point(|(prefix, _)| prefix.as_str() <= name.get(..end).unwrap_or(""));
            let (prefix, number) = self.rules.get(at.checked_sub(1)?)?;
            let common = prefix
                .bytes()
                .zip(name.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            if common == prefix.len() {
                return Some(*number);
            }
            // Whatever is a prefix of the name is no longer than what they share.
            end = common;
            while !name.is_char_boundary(end) {
                end -= 1;
            }
        }
    }
}

/// The kind of work of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanWork<'c> {
    /// A category of the rules.
    Category(&'c str),
    /// The program's own code.
    Own,
    /// What no rule is about.
    Other,
}

/// What functions of one category came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hotspot {
    /// The category; none for functions that neither have one nor run below one that has.
    pub category: Option<String>,
    /// Own values together.
    pub own: i64,
    /// Calls or samples together.
    pub count: u64,
    /// Its functions by falling own value, with what they came to in this category.
    pub functions: Vec<(SymbolId, i64, u64)>,
}

/// What kinds of work the functions of a tree are.
pub(crate) struct TreeWork {
    /// Packages that are the program's own.
    pub(crate) own: OwnCode,
    /// The number of the category of each symbol.
    pub(crate) of_symbols: Vec<Option<usize>>,
}

impl TreeWork {
    pub(crate) fn of(tree: &CallTree, categories: &Categories) -> Self {
        let mut weights = vec![0_u64; tree.symbols.len()];
        for node in &tree.nodes {
            if let Some(weight) = weights.get_mut(node.symbol.index()) {
                *weight = weight.saturating_add(node.total.unsigned_abs());
            }
        }
        for row in &tree.rest {
            if let Some(weight) = weights.get_mut(row.symbol.index()) {
                *weight = weight.saturating_add(row.total.unsigned_abs());
            }
        }
        let symbols = tree.symbols.iter();
        let of_symbols: Vec<_> = symbols
            .map(|symbol| categories.of(symbol.function()))
            .collect();
        let functions = tree.symbols.iter().zip(weights).zip(&of_symbols);
        Self {
            own: OwnCode::find(
                functions.map(|((symbol, weight), &category)| (symbol, weight, category)),
            ),
            of_symbols,
        }
    }

    /// Iterates over the numbers of the nodes' categories: that of the function, else of the caller unless it is own code.
    pub(crate) fn of_nodes<'t>(
        &'t self,
        tree: &'t CallTree,
    ) -> impl Iterator<Item = Option<usize>> + 't {
        let symbols = tree.symbols.iter();
        let is_own: Vec<bool> = symbols.map(|symbol| self.own.has(symbol)).collect();
        // Of the node at hand and its callers.
        let mut path: Vec<Option<usize>> = Vec::new();
        tree.nodes.iter().map(move |node| {
            let at = node.symbol.index();
            path.truncate(node.depth as usize);
            let category = self.of_symbols.get(at).copied().flatten();
            let caller = path.last().copied().flatten();
            let is_own = is_own.get(at).copied().unwrap_or_default();
            let category = category.or(caller.filter(|_| !is_own));
            path.push(category);
            category
        })
    }
}

/// Adds up own values by category, the largest first.
///
/// A function without category counts with the nearest of its callers that has one: what a database driver does in
/// its sockets is time of the database. The program's own code has none: a web framework that calls it does not do its
/// work.
#[must_use]
pub fn hotspots(tree: &CallTree, categories: &Categories) -> Vec<Hotspot> {
    let none = categories.names.len();
    let work = TreeWork::of(tree, categories);
    let mut sums: std::collections::BTreeMap<(usize, SymbolId), (i64, u64)> = Default::default();
    for (node, category) in tree.nodes.iter().zip(work.of_nodes(tree)) {
        let sum = sums.entry((category.unwrap_or(none), node.symbol));
        let sum = sum.or_default();
        sum.0 = sum.0.saturating_add(node.own);
        sum.1 = sum.1.saturating_add(node.count);
    }
    // Who called what is not in the tree is not known.
    for row in &tree.rest {
        let category = work.of_symbols.get(row.symbol.index()).copied().flatten();
        let sum = sums.entry((category.unwrap_or(none), row.symbol));
        let sum = sum.or_default();
        sum.0 = sum.0.saturating_add(row.own);
        sum.1 = sum.1.saturating_add(row.count);
    }
    let mut all: Vec<Hotspot> = Vec::new();
    let mut last = None;
    for ((category, symbol), (own, count)) in sums {
        if last != Some(category) {
            last = Some(category);
            all.push(Hotspot {
                category: categories.names.get(category).cloned(),
                own: 0,
                count: 0,
                functions: Vec::new(),
            });
        }
        if let Some(hotspot) = all.last_mut() {
            hotspot.own = hotspot.own.saturating_add(own);
            hotspot.count = hotspot.count.saturating_add(count);
            hotspot.functions.push((symbol, own, count));
        }
    }
    for hotspot in &mut all {
        let name = |symbol: SymbolId| &tree.symbol(symbol).name;
        hotspot
            .functions
            .sort_by(|a, b| b.1.cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0))));
    }
    all.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.category.cmp(&b.category)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TreeBuilder, TreeOptions};
    use traceloom_model::{Function, Sink, StepBatch, Tables, Track};

    fn tree(names: &[&str]) -> CallTree {
        let mut tables = Tables::new();
        let thread = tables.string("main");
        let mut steps = StepBatch::default();
        steps.track(tables.track(Track::thread(thread)));
        let mut now = 0;
        for name in names {
            let name = tables.string(name);
            steps.enter(now, tables.function(Function::named(name)));
            now += 10;
        }
        for _ in names {
            now += 1;
            steps.exit(now);
        }
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.steps(steps);
        builder.finish().spans.unwrap()
    }

    #[test]
    fn the_longest_prefix_decides() {
        let categories: Categories =
            "a com.\nb com.acme.\nc com.acme.shop.Or\nd com.acme.shop.Orders.x"
                .parse()
                .unwrap();
        let of = |name: &str| categories.of(name).map(|at| categories.names[at].as_str());
        assert_eq!(of("com.acme.shop.Order.buy"), Some("c"));
        assert_eq!(of("com.acme.shop.Orders.buy"), Some("c"));
        assert_eq!(of("void com/acme/shop/Orders.x(int)"), Some("d"));
        assert_eq!(of("com.acme.till.Till.buy"), Some("b"));
        assert_eq!(of("com.b"), Some("a"));
        assert_eq!(of("org.b"), None);
        assert_eq!(of("com"), None);
        let error = "db a\nlogging".parse::<Categories>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: `logging`: expected a category and a prefix"
        );
    }

    #[test]
    fn what_a_category_calls_is_its_own_but_own_code() {
        let categories: Categories = Categories::DEFAULT.parse().unwrap();
        let tree = tree(&[
            "com.acme.Shop.buy",
            "com.acme.Order.load",
            "org.hibernate.Session.get",
            "org.postgresql.Driver.query",
            "biz.codec.Codec.read",
            "com.acme.Order.loaded",
            "org.slf4j.Logger.info",
        ]);
        let found = hotspots(&tree, &categories);
        let told: Vec<_> = found
            .iter()
            .map(|hotspot| {
                (
                    hotspot.category.as_deref(),
                    hotspot.own,
                    hotspot.functions.len(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (None, 33, 3),
                (Some("db"), 22, 2),
                (Some("logging"), 11, 1),
                (Some("orm"), 11, 1)
            ]
        );
        assert_eq!(
            found.iter().map(|hotspot| hotspot.own).sum::<i64>(),
            tree.total
        );
    }
}
