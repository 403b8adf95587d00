//! What if: the tree with methods faster, slower or gone.

use std::fmt;
use std::str::FromStr;

use traceloom_model::bounds::saturated_u64;

use crate::calltree::{Arena, add, flatten, settle};
use crate::names::{FunctionMatch, FunctionPattern, PatternError};
use crate::{CallTree, Node, Symbol};

/// A change of the methods that match: `com.acme.Foo.bar*0.5`, or `com.acme.Foo.bar=0` for none of it.
///
/// The text before the last `*` or `=` names functions as elsewhere, see [`FunctionPattern`].
///
/// ```
/// use traceloom_analysis::Adjustment;
/// assert!("com.acme.Foo.bar*0.5".parse::<Adjustment>().is_ok());
/// assert!("Foo.*=0".parse::<Adjustment>().is_ok());
/// assert!("Foo=7".parse::<Adjustment>().is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Adjustment {
    method: FunctionPattern,
    change: NameEdit,
    text: String,
}

/// A change of functions that were found, see [`Adjustment::find`].
#[derive(Clone, Debug)]
pub struct FoundAdjustment {
    functions: FunctionMatch,
    change: NameEdit,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameEdit {
    /// Own time times this many thousand-millionths.
    Times(u64),
    /// The method and all it called are gone.
    Remove,
}

/// One.
const WHOLE: u64 = 1_000_000_000;

/// What is wrong with an adjustment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjustError {
    /// Column of the character at fault, from 1.
    pub column: usize,
    /// What was expected.
    pub message: String,
    text: String,
}

impl fmt::Display for AdjustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (column {})", self.message, self.column)?;
        writeln!(f, "  {}", self.text)?;
        // A width in braces is at most 65,535.
        write!(f, "  {}^", " ".repeat(self.column.saturating_sub(1)))
    }
}

impl std::error::Error for AdjustError {}

impl FromStr for Adjustment {
    type Err = AdjustError;

    fn from_str(text: &str) -> Result<Self, AdjustError> {
        let error = |at: usize, message: &str| AdjustError {
            column: text.get(..at).unwrap_or(text).chars().count() + 1,
            message: message.to_owned(),
            text: text.to_owned(),
        };
        let at = text.rfind(['*', '=']);
        let at = at.ok_or_else(|| error(text.len(), "expected METHOD*FACTOR or METHOD=0"))?;
        let (method, sign) = text.split_at(at);
        let (sign, number) = sign.split_at(1);
        let method = method.trim();
        if method.is_empty() {
            return Err(error(0, "expected the method before the sign"));
        }
        let change = match (sign, number.trim()) {
            ("=", "0") => NameEdit::Remove,
            ("=", _) => {
                return Err(error(
                    at + 1,
                    "expected 0: `=0` removes, `*` and a factor multiply",
                ));
            }
            (_, number) => {
                let factor = factor(number);
                let expected = "expected a factor, such as 0.5 or 2, with up to nine decimals";
                NameEdit::Times(factor.ok_or_else(|| error(at + 1, expected))?)
            }
        };
        let Ok(method) = method.parse();
        Ok(Self {
            method,
            change,
            text: text.trim().to_owned(),
        })
    }
}

/// Reads a decimal number exactly, up to a million.
fn factor(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|&whole| whole <= 1_000_000)?;
    let part: u64 = format!("{decimals:0<9}").parse().ok()?;
    Some(whole * WHOLE + part)
}

impl Adjustment {
    /// Finds the functions that are meant in one of two recordings that are compared, or among all that are shown.
    ///
    /// # Errors
    /// When the method is the short or cut name of several functions, or no function's and no regular expression.
    pub fn find<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str> + Clone,
        compared: bool,
    ) -> Result<FoundAdjustment, PatternError> {
        let functions = match compared {
            true => self.method.find_alike(names)?,
            false => self.method.find(names)?,
        };
        Ok(FoundAdjustment {
            functions,
            change: self.change,
            text: self.text.clone(),
        })
    }
}

impl fmt::Display for FoundAdjustment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FoundAdjustment {
    /// Returns true if the adjustment is about a function.
    #[must_use]
    pub fn is_about(&self, symbol: &Symbol) -> bool {
        !symbol.group && self.functions.is_match(symbol)
    }
}

/// Returns the tree as if methods had taken other times.
///
/// The own time of a method that matches is multiplied, once for each adjustment, and the totals of its callers
/// follow; a method that is removed goes with everything it called. Counts of calls stay what they were, and how long
/// single calls took is not known then. The measure says what was adjusted.
#[must_use]
pub fn adjust(tree: &CallTree, adjustments: &[FoundAdjustment]) -> CallTree {
    if adjustments.is_empty() {
        return tree.clone();
    }
    let changes: Vec<Option<u64>> = tree
        .symbols
        .iter()
        .map(|symbol| change_of(symbol, adjustments))
        .collect();
    let change = |node: &Node| {
        changes
            .get(node.symbol.index())
            .copied()
            .unwrap_or(Some(WHOLE))
    };
    let own = |node: &Node| change(node).map_or(0, |factor| times(node.own, factor));
    // Whether a node stays, and by how much its total changes.
    let mut gone: Vec<bool> = Vec::with_capacity(tree.nodes.len());
    let mut more: Vec<i64> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let caller = node.parent.and_then(|parent| gone.get(parent as usize));
        let inside = caller.copied().unwrap_or(false);
        let goes = change(node).is_none();
        gone.push(inside || goes);
        more.push(match (inside, goes) {
            (true, _) => 0,
            (false, true) => node.total.saturating_neg(),
            (false, false) => own(node).saturating_sub(node.own),
        });
    }
    for (number, node) in tree.nodes.iter().enumerate().rev() {
        let below = more.get(number).copied().unwrap_or(0);
        if let Some(caller) = node.parent.and_then(|parent| more.get_mut(parent as usize)) {
            *caller = caller.saturating_add(below);
        }
    }
    let mut arena = Arena::new();
    arena.base = tree.base;
    let mut at: Vec<u32> = Vec::with_capacity(tree.nodes.len());
    for ((node, &goes), &more) in tree.nodes.iter().zip(&gone).zip(&more) {
        let above = node.parent.and_then(|parent| at.get(parent as usize));
        let above = above.copied().unwrap_or(0);
        if goes {
            at.push(above);
            continue;
        }
        let own = own(node);
        let here = arena.child(above, node.symbol.0);
        let values = Node {
            own,
            // Callees that overlap may have taken more of the total than there is.
            total: node.total.saturating_add(more).max(own.min(node.total)),
            ..*node
        };
        add(&mut arena, here, &values, tree.measure.merge);
        at.push(here);
    }
    let total = if tree.measure.settles() {
        settle(&mut arena, &tree.measure)
    } else {
        arena.roots_total()
    };
    let mut measure = tree.measure.clone();
    let rules: Vec<&str> = adjustments.iter().map(|one| one.text.as_str()).collect();
    measure.adjusted = Some(rules.join(", "));
    flatten(arena, measure, tree.symbols.clone(), total, |symbol| symbol)
}

/// What a function's own time is multiplied by; none for one that goes.
fn change_of(symbol: &Symbol, adjustments: &[FoundAdjustment]) -> Option<u64> {
    let about = adjustments.iter().filter(|one| one.is_about(symbol));
    about
        .map(|one| one.change)
        .try_fold(WHOLE, |factor, change| match change {
            NameEdit::Remove => None,
            NameEdit::Times(more) => {
                let both = u128::from(factor) * u128::from(more) / u128::from(WHOLE);
                Some(saturated_u64(both))
            }
        })
}

fn times(value: i64, factor: u64) -> i64 {
    if factor == WHOLE {
        return value;
    }
    let product = i128::from(value) * i128::from(factor) / i128::from(WHOLE);
    i64::try_from(product).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TreeBuilder, TreeOptions};
    use traceloom_model::{
        Frame, Function, Profile, SampleBatch, SampleRow, Sink, Stack, StepBatch, Tables, Track,
        Unit, ValueType,
    };

    /// `web(price(tax) tax)`: own times 40, 30, 20 and 10.
    fn calls() -> CallTree {
        let mut tables = Tables::new();
        let thread = tables.string("main");
        let mut steps = StepBatch::default();
        steps.track(tables.track(Track::thread(thread)));
        let [web, price, tax] = ["web", "price", "tax"].map(|name| {
            let name = tables.string(name);
            tables.function(Function::named(name))
        });
        for (time, function) in [
            (0, Some(web)),
            (40, Some(price)),
            (70, Some(tax)),
            (90, None),
            (90, None),
            (90, Some(tax)),
            (100, None),
            (100, None),
        ] {
            match function {
                Some(function) => steps.enter(time, function),
                None => steps.exit(time),
            }
        }
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.steps(steps);
        builder.finish().spans.unwrap()
    }

    /// The same program, sampled.
    fn samples() -> CallTree {
        let mut tables = Tables::new();
        let cpu = tables.string("cpu");
        let cpu = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
        let profile = tables.profile(Profile {
            value_types: vec![cpu],
            ..Profile::default()
        });
        let mut stack = |name: &str, parent| {
            let name = tables.string(name);
            let function = tables.function(Function::named(name));
            let frame = tables.frame(Frame::of(function));
            tables.stack(Stack::under(parent, frame))
        };
        let web = stack("web", None);
        let price = stack("price", Some(web));
        let stacks = [
            web,
            price,
            stack("tax", Some(price)),
            stack("tax", Some(web)),
        ];
        let mut batch = SampleBatch::new(profile, 1);
        for (stack, value) in stacks.into_iter().zip([40, 30, 20, 10]) {
            batch.push(&SampleRow::at(stack, &[value]));
        }
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.samples(batch);
        builder.finish().samples.remove(0)
    }

    fn found(tree: &CallTree, rule: &str) -> FoundAdjustment {
        let rule: Adjustment = rule.parse().unwrap();
        let names: Vec<&str> = tree.function_names().collect();
        rule.find(names.iter().copied(), false).unwrap()
    }

    fn adjusted(tree: &CallTree, rules: &[&str]) -> Vec<(String, i64, i64)> {
        let rules: Vec<_> = rules.iter().map(|rule| found(tree, rule)).collect();
        let tree = adjust(tree, &rules);
        let mut path: Vec<&str> = Vec::new();
        let lines = tree.nodes.iter().map(|node| {
            path.truncate(node.depth as usize);
            path.push(&tree.symbol(node.symbol).name);
            (path.join(";"), node.total, node.own)
        });
        let lines = lines.collect();
        assert_eq!(tree.total, tree.nodes.first().map_or(0, |root| root.total));
        lines
    }

    fn line(path: &str, total: i64, own: i64) -> (String, i64, i64) {
        (path.to_owned(), total, own)
    }

    #[test]
    fn callers_follow_what_their_callees_take() {
        for tree in [calls(), samples()] {
            assert_eq!(
                adjusted(&tree, &["^tax$*0.5"]),
                [
                    line("web", 85, 40),
                    line("web;price", 40, 30),
                    line("web;price;tax", 10, 10),
                    line("web;tax", 5, 5),
                ]
            );
            assert_eq!(
                adjusted(&tree, &["price=0"]),
                [line("web", 50, 40), line("web;tax", 10, 10)]
            );
            assert_eq!(
                adjusted(&tree, &["price*0"]),
                [
                    line("web", 70, 40),
                    line("web;price", 20, 0),
                    line("web;price;tax", 20, 20),
                    line("web;tax", 10, 10),
                ]
            );
            assert_eq!(
                adjusted(&tree, &["tax*3", "price=0", "t.x*0.5"]),
                [line("web", 55, 40), line("web;tax", 15, 15)]
            );
            assert!(adjusted(&tree, &[".=0"]).is_empty());
            assert_eq!(adjust(&tree, &[]), tree);
        }
    }

    #[test]
    fn the_measure_tells() {
        let tree = calls();
        let tree = adjust(&tree, &[found(&tree, " tax * 0.5 ")]);
        assert_eq!(tree.measure.title(), "wall, adjusted by tax * 0.5,");
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let column = |text: &str| text.parse::<Adjustment>().unwrap_err().column;
        assert_eq!(column("Foo.bar"), 8);
        assert_eq!(column("Foo.bar=1"), 9);
        assert_eq!(column("Foo.bar*-1"), 9);
        assert_eq!(column("Foo.bar*1.0000000001"), 9);
        assert_eq!(column("*2"), 1);
        let rule: Adjustment = "(Foo*2".parse().unwrap();
        assert!(rule.find(["Foo"], false).is_err());
        let error = "Foo*x".parse::<Adjustment>().unwrap_err().to_string();
        assert!(error.ends_with("  Foo*x\n      ^"), "{error}");
        assert_eq!(factor("1.5"), Some(1_500_000_000));
        assert_eq!(factor("1000001"), None);
    }
}
