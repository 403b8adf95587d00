//! What became slower between two recordings, and what faster.
//!
//! Functions are the same when [`crate::names::alike`] names them alike, so that two builds, two runs and two tools can
//! be compared.

mod budget;
mod shared_symbols;
mod significance;

pub use budget::{Budget, BudgetError, Verdict};

use std::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::Merge;
use traceloom_model::bounds::row_number;

use self::shared_symbols::{RenamedTree, SharedSymbols};
use crate::calltree::inclusive_counts;
use crate::{CallTree, Functions, Measure, MeasureUnit, Symbol, SymbolId, TreeSource, amount, top};

/// What values are divided by before they are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// By nothing: sums as they were recorded.
    #[default]
    Recording,
    /// By the seconds that the recording lasted.
    Second,
    /// By its calls or samples.
    Call,
    /// By its total: shares of the whole.
    Total,
}

/// A tree and what is known of its recording.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'t> {
    /// What ran; of functions alone a tree without nodes.
    pub tree: &'t CallTree,
    /// The functions, where there is no tree: those named alike are one ([`crate::TreeOptions::alike`]).
    pub functions: Option<&'t Functions>,
    /// Seconds it lasted, where that is known.
    pub seconds: Option<f64>,
    /// The value between two samples, where the producer says.
    pub period: Option<i64>,
}

impl<'t> Recorded<'t> {
    /// A tree of which nothing else is known.
    #[must_use]
    pub const fn tree(tree: &'t CallTree) -> Self {
        Self {
            tree,
            functions: None,
            seconds: None,
            period: None,
        }
    }

    /// Tells how many calls or samples a node or function stands for.
    ///
    /// Producers write equal samples as one: where values are counts, or come in steps of a period, they say how
    /// many it were.
    fn recount(&self, amounts: &mut Amounts) {
        amounts.count = self.count(amounts.own, amounts.count);
        amounts.inclusive_count = self.count(amounts.total, amounts.inclusive_count);
    }

    fn count(&self, own: i64, rows: u64) -> u64 {
        let measure = &self.tree.measure;
        let sampled = measure.source == TreeSource::Samples && measure.merge == Merge::Sum;
        let step = match (&measure.unit, self.period) {
            (MeasureUnit::Count, _) => Some(1),
            (_, period) => period.filter(|&period| period > 0),
        };
        match step.filter(|_| sampled) {
            Some(step) => rows.max(own.unsigned_abs() / step.unsigned_abs()),
            None => rows,
        }
    }
}

/// One recording of the two.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its tree, functions named as [`Diff::symbols`] has them; without nodes where only functions were compared.
    pub tree: CallTree,
    /// Root calls, or samples.
    pub calls: u64,
    /// Seconds it lasted, where that is known.
    pub seconds: Option<f64>,
    /// What its values are multiplied by.
    factor: f64,
}

/// What a function came to on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amounts {
    /// The function alone.
    pub own: i64,
    /// With what it called.
    pub total: i64,
    /// Calls, or samples whose innermost frame it is.
    pub count: u64,
    /// Calls or samples in it and in what it called.
    pub inclusive_count: u64,
}

/// A function on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffRow {
    /// The function.
    pub symbol: SymbolId,
    /// In the first recording.
    pub before: Amounts,
    /// In the second one.
    pub after: Amounts,
    /// How likely a difference of own values this large is when nothing changed; for samples only.
    pub own_chance: Option<f64>,
    /// The same for totals.
    pub total_chance: Option<f64>,
}

/// Two recordings side by side.
#[derive(Clone, Debug)]
pub struct Diff {
    /// What the values are.
    pub measure: Measure,
    /// What they are divided by.
    pub per: Per,
    /// The first recording.
    pub before: Side,
    /// The second one.
    pub after: Side,
    /// Functions, named as the second recording names them where it has them.
    pub symbols: Vec<Symbol>,
    /// A row for each function, the largest change of own values first.
    pub rows: Vec<DiffRow>,
}

/// Why two recordings cannot be compared as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffError {
    /// Nothing says how long one of them lasted.
    NoDuration,
    /// One of them has no call, no sample or no value to divide by.
    Empty,
}

impl std::fmt::Display for DiffError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoDuration => "nothing says how long one of the recordings lasted",
            Self::Empty => "one of the recordings has nothing in it to divide by",
        })
    }
}

impl std::error::Error for DiffError {}

/// What a node of a tree came to in another recording, in the scale of this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// With what it called.
    pub total: i64,
    /// By itself.
    pub own: i64,
}

impl Diff {
    /// Compares two trees of one measure.
    ///
    /// # Errors
    /// [`DiffError`] when there is nothing to divide by.
    pub fn new(before: Recorded<'_>, after: Recorded<'_>, per: Per) -> Result<Self, DiffError> {
        let mut names = SharedSymbols::default();
        // The second recording first: its names are the ones people look at now.
        let after_named = names.named(&after);
        names.done = row_number(names.symbols.len());
        let before_named = names.named(&before);
        let symbols = names.symbols;
        let side = |named: RenamedTree, seconds: Option<f64>| {
            let RenamedTree {
                mut tree,
                mut amounts,
                calls,
            } = named;
            tree.symbols.clone_from(&symbols);
            amounts.resize(symbols.len(), Amounts::default());
            let divisor = match per {
                Per::Recording => 1.0,
                Per::Second => seconds.ok_or(DiffError::NoDuration)?,
                Per::Call => float(calls),
                Per::Total => signed(tree.total) / 100.0,
            };
            if divisor <= 0.0 {
                return Err(DiffError::Empty);
            }
            let side = Side {
                tree,
                calls,
                seconds,
                factor: 1.0 / divisor,
            };
            Ok((side, amounts))
        };
        let (before, of_before) = side(before_named, before.seconds)?;
        let (after, of_after) = side(after_named, after.seconds)?;
        let mut diff = Self {
            measure: after.tree.measure.clone(),
            per,
            before,
            after,
            symbols,
            rows: Vec::new(),
        };
        diff.rows = diff.joined(of_before, of_after);
        Ok(diff)
    }

    fn joined(&self, before: Vec<Amounts>, after: Vec<Amounts>) -> Vec<DiffRow> {
        let sampled = self.measure.source == TreeSource::Samples;
        let weight = |side: &Side| match self.per {
            Per::Recording => 1.0,
            Per::Second => side.seconds.unwrap_or(1.0),
            Per::Call | Per::Total => float(side.calls),
        };
        let weights = (weight(&self.before), weight(&self.after));
        let chance = |before: u64, after: u64| {
            sampled.then(|| significance::chance((before, after), weights))
        };
        let mut rows: Vec<DiffRow> = (0_u32..)
            .zip(before.into_iter().zip(after))
            .filter(|(_, (before, after))| {
                *before != Amounts::default() || *after != Amounts::default()
            })
            .map(|(at, (before, after))| DiffRow {
                symbol: SymbolId(at),
                before,
                after,
                own_chance: chance(before.count, after.count),
                total_chance: chance(before.inclusive_count, after.inclusive_count),
            })
            .collect();
        rows.sort_by(|a, b| self.order(a, b, |amounts| amounts.own));
        rows
    }

    /// Compares rows by falling change of a value, then by name.
    #[must_use]
    pub fn order(&self, a: &DiffRow, b: &DiffRow, value: impl Fn(&Amounts) -> i64) -> Ordering {
        let change = |row: &DiffRow| self.change(value(&row.before), value(&row.after)).abs();
        let name = |row: &DiffRow| self.symbol(row.symbol).map_or("", |symbol| &symbol.name);
        change(b)
            .total_cmp(&change(a))
            .then_with(|| name(a).cmp(name(b)))
            .then(a.symbol.cmp(&b.symbol))
    }

    /// Returns the function of a row.
    #[must_use]
    pub fn symbol(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbols.get(id.index())
    }

    /// Returns a value of the first recording, divided as asked.
    #[must_use]
    pub fn of_before(&self, value: i64) -> f64 {
        signed(value) * self.before.factor
    }

    /// Returns a value of the second recording, divided as asked.
    #[must_use]
    pub fn of_after(&self, value: i64) -> f64 {
        signed(value) * self.after.factor
    }

    /// Returns by how much a value grew.
    #[must_use]
    pub fn change(&self, before: i64, after: i64) -> f64 {
        self.of_after(after) - self.of_before(before)
    }

    /// Returns by how many percent a value grew; none where there was nothing.
    #[must_use]
    pub fn percent(&self, before: i64, after: i64) -> Option<f64> {
        let was = self.of_before(before);
        (was != 0.0).then(|| self.change(before, after) * 100.0 / was.abs())
    }

    /// Returns for each node of the second tree what the same path came to in the first one: total and own.
    /// With `mirrored` the other way around.
    #[must_use]
    pub fn counterparts(&self, mirrored: bool) -> Vec<Option<(i64, i64)>> {
        let (of, other) = match mirrored {
            false => (&self.after.tree, &self.before.tree),
            true => (&self.before.tree, &self.after.tree),
        };
        let mut known: HashMap<(Option<u32>, SymbolId), u32, RandomState> = HashMap::default();
        for (at, node) in (0_u32..).zip(&other.nodes) {
            known.insert((node.parent, node.symbol), at);
        }
        let mut found: Vec<Option<u32>> = Vec::with_capacity(of.nodes.len());
        for node in &of.nodes {
            let parent = match node.parent {
                None => Some(None),
                Some(parent) => found.get(parent as usize).copied().flatten().map(Some),
            };
            found.push(parent.and_then(|parent| known.get(&(parent, node.symbol)).copied()));
        }
        let nodes = found.into_iter().map(|at| other.nodes.get(at? as usize));
        nodes
            .map(|node| node.map(|node| (node.total, node.own)))
            .collect()
    }
}

impl Diff {
    /// Returns what each node of the second tree came to in the first recording, for a picture; values are those
    /// of as many seconds, calls or totals as the second has. With `mirrored` the other way around.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a value scaled for a picture; the cast saturates"
    )]
    pub fn changes(&self, mirrored: bool) -> Vec<Change> {
        let scale = match mirrored {
            false => self.before.factor / self.after.factor,
            true => self.after.factor / self.before.factor,
        };
        let scaled = |value: i64| (signed(value) * scale).round() as i64;
        self.counterparts(mirrored)
            .into_iter()
            .map(|other| other.unwrap_or_default())
            .map(|(total, own)| Change {
                total: scaled(total),
                own: scaled(own),
            })
            .collect()
    }

    /// Returns the whole of the first recording in the scale of [`Diff::changes`].
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a value scaled for a picture; the cast saturates"
    )]
    pub fn whole_before(&self, mirrored: bool) -> i64 {
        let total = self.before.tree.total;
        match mirrored {
            true => total,
            false => (signed(total) * self.before.factor / self.after.factor).round() as i64,
        }
    }

    /// Returns what the values of both recordings are multiplied by: the first one's, the second one's.
    #[must_use]
    pub const fn factors(&self) -> (f64, f64) {
        (self.before.factor, self.after.factor)
    }

    /// Says in one sentence what became of the whole; nothing where too little was seen to say it.
    ///
    /// Of samples, Poisson's law tells how far two numbers of them are apart by chance.
    #[must_use]
    pub fn finding(&self) -> Option<String> {
        const LEAST_SAMPLES: u64 = 100;
        const LEAST_CALLS: u64 = 20;
        let sampled = self.measure.source == TreeSource::Samples;
        let least = if sampled { LEAST_SAMPLES } else { LEAST_CALLS };
        let (before, after) = (self.before.tree.total, self.after.tree.total);
        let seen = self.before.calls.min(self.after.calls);
        if seen < least || before <= 0 || after < 0 || self.per == Per::Total {
            return None;
        }
        let percent = self.percent(before, after)?;
        let shown = |value| shown(&self.measure.unit, self.per, value);
        let change = match percent {
            200.0.. => format!("{:.1} times as much", 1.0 + percent / 100.0),
            0.05.. => format!("{percent:.1} % more"),
            ..=-0.05 => format!("{:.1} % less", -percent),
            _ => "the same".to_owned(),
        };
        let error = 1.96 * (1.0 / float(self.before.calls) + 1.0 / float(self.after.calls)).sqrt();
        let is_chance = sampled && (1.0 + percent / 100.0).ln().abs() < error;
        // How it was adjusted stands in the heading: it can be longer than all a sentence says.
        let plain = Measure {
            adjusted: None,
            ..self.measure.clone()
        };
        Some(format!(
            "{}: {} instead of {}, {change}{}",
            plain.title(),
            shown(self.of_after(after)),
            shown(self.of_before(before)),
            if is_chance { ": may be chance" } else { "" }
        ))
    }
}

/// Writes a value that was divided by `per` for people.
#[must_use]
pub fn shown(unit: &MeasureUnit, per: Per, value: f64) -> String {
    let suffix = match per {
        Per::Recording => "",
        Per::Second => "/s",
        Per::Call => " each",
        Per::Total => return format!("{value:.2} %"),
    };
    let small = value != 0.0 && value.abs() < 10.0 && value.fract() != 0.0;
    let text = match unit {
        _ if !small => whole(unit, value),
        MeasureUnit::Nanoseconds => format!("{value:.2} ns"),
        MeasureUnit::Bytes => format!("{value:.2} B"),
        _ => format!("{value:.2}"),
    };
    text + suffix
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a value for people; the cast saturates"
)]
fn whole(unit: &MeasureUnit, value: f64) -> String {
    amount(unit, value.round() as i64)
}

fn amounts(tree: &CallTree, symbols: usize) -> Vec<Amounts> {
    let mut all = vec![Amounts::default(); symbols];
    for row in top(tree) {
        if let Some(amounts) = all.get_mut(row.symbol.index()) {
            (amounts.own, amounts.total, amounts.count) = (row.own, row.total, row.count);
        }
    }
    for (amounts, count) in all.iter_mut().zip(inclusive_counts(tree)) {
        amounts.inclusive_count = count;
    }
    all
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate for people, not an exact count"
)]
fn float(value: u64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate for people, not an exact sum"
)]
fn signed(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
