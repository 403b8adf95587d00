//! What an event that is a sample stands for, from its fields alone.

use traceloom_model::bounds::saturated_i32;

use super::super::schema::{FieldEncoding, FieldSchema, NumberMeaning};
use super::super::value::DecodedValue;
use super::profiles::{Rule, Subject};

/// Where a type of events has the amounts of its samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct AmountFields {
    /// Samples of threads in native code.
    pub(super) native: bool,
    /// Index of the field with the thread's state.
    pub(super) state: Option<usize>,
    /// Index of the field with what a sample stands for: its weight, its amount, its length.
    pub(super) amount: Option<usize>,
    /// The amount is a length of time, which the field says in this way if it has one.
    is_length: bool,
    length: Option<NumberMeaning>,
    /// Index of the field with the size of one thing.
    pub(super) size: Option<usize>,
}

/// How much a sample is.
pub(super) enum SampleAmount {
    /// One interval of the clock that the thread's state tells.
    Interval,
    /// So many intervals of a clock.
    Intervals(Subject, i64),
    /// So many things, and their amount.
    Known(Subject, [i64; 2]),
}

impl SampleAmount {
    /// Returns the number of things and their amount, where an interval stands for so many nanoseconds.
    #[inline]
    pub(super) fn values(&self, interval: i64) -> [i64; 2] {
        match *self {
            Self::Interval => [1, interval],
            Self::Intervals(_, weight) => [weight, weight.saturating_mul(interval)],
            Self::Known(_, values) => values,
        }
    }
}

impl AmountFields {
    pub(super) fn new(name: &str, rule: Option<Rule>, fields: &[FieldSchema]) -> Self {
        let of = |name: &str| fields.iter().position(|field| field.name == name);
        let plain = name.strip_prefix("com.oracle.").unwrap_or(name);
        let amount = rule.and_then(Rule::amount);
        let is_length = amount == Some("duration");
        let amount = amount.and_then(of);
        let field = amount.and_then(|at| fields.get(at));
        let field = field.filter(|field| !is_length || field.kind == FieldEncoding::Long);
        Self {
            native: plain == "jdk.NativeMethodSample",
            state: of("state"),
            amount,
            is_length,
            length: field.map(|field| field.meaning),
            size: of("size"),
        }
    }

    /// Returns true if a sample of a rule counts once and is what its amount says.
    pub(super) fn is_as_said(&self, rule: Rule) -> bool {
        let is_amount = matches!(rule, Rule::Amount(subject, _) if subject != Subject::Exceptions);
        is_amount && !self.is_length
    }

    /// Returns how much an event is by its decoded fields.
    pub(super) fn of(
        &self,
        rule: Rule,
        cells: &[DecodedValue<'_>],
        nanoseconds: impl Fn(NumberMeaning, i64) -> Option<i64>,
    ) -> SampleAmount {
        let cell = |at: Option<usize>| cells.get(at?).copied();
        let size = integer(cell(self.size));
        self.of_values(rule, cell(self.amount), size, nanoseconds)
    }

    /// Returns how much an event is by the two fields that say it: its amount, and the size of one thing.
    #[inline]
    pub(super) fn of_values(
        &self,
        rule: Rule,
        amount: Option<DecodedValue<'_>>,
        size: Option<i64>,
        nanoseconds: impl Fn(NumberMeaning, i64) -> Option<i64>,
    ) -> SampleAmount {
        let length = |value| nanoseconds(self.length?, value?);
        match rule {
            Rule::Execution => SampleAmount::Interval,
            Rule::Weighted(subject) => {
                SampleAmount::Intervals(subject, integer(amount).unwrap_or(1))
            }
            Rule::WallRun => SampleAmount::Intervals(Subject::Wall, integer(amount).unwrap_or(1)),
            Rule::CpuTime => match length(integer(amount)) {
                Some(period) => SampleAmount::Known(Subject::Cpu, [1, period]),
                None => SampleAmount::Intervals(Subject::Cpu, 1),
            },
            Rule::Amount(subject, _) if self.is_length => {
                let length = length(integer(amount));
                SampleAmount::Known(subject, [1, length.unwrap_or(0).max(0)])
            }
            Rule::Amount(subject @ Subject::Exceptions, _) => SampleAmount::Known(subject, [1, 1]),
            Rule::Amount(subject, _) => {
                let amount = integer(amount).unwrap_or(0).max(0);
                SampleAmount::Known(subject, [1, amount])
            }
            Rule::Scaled(subject) => {
                let weight = match amount {
                    Some(DecodedValue::Float(weight)) => f64::from(weight),
                    Some(DecodedValue::Double(weight)) => weight,
                    Some(DecodedValue::Int(weight)) => f64::from(saturated_i32(weight)),
                    _ => 1.0,
                };
                let size = size.unwrap_or(0);
                SampleAmount::Known(subject, scaled(size, weight))
            }
        }
    }
}

fn integer(cell: Option<DecodedValue<'_>>) -> Option<i64> {
    match cell {
        Some(DecodedValue::Int(value)) => Some(value),
        _ => None,
    }
}

/// Returns whether threads of a state are on a processor, where the state says so.
pub(super) fn is_on_cpu(state: &[u8]) -> Option<bool> {
    match state {
        b"STATE_DEFAULT" => Some(true),
        b"STATE_SLEEPING" => Some(false),
        _ => None,
    }
}

/// Returns how many things a weighted sample stands for and their bytes, to the nearest whole.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "weights are floats; float to integer saturates"
)]
fn scaled(size: i64, weight: f64) -> [i64; 2] {
    let weight = if weight.is_finite() {
        weight.max(0.0)
    } else {
        1.0
    };
    [weight.round() as i64, (size as f64 * weight).round() as i64]
}
