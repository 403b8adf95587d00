//! What an event that is a sample stands for, from its fields alone.

use traceloom_model::bounds::saturated_i32;

use super::super::schema::{FieldEncoding, FieldSchema, NumberMeaning};
use super::super::value::DecodedValue;
use super::profiles::{Rule, Subject};

/// Where a type of events has the amounts of its samples.
pub(super) struct AmountFields {
    /// Samples of threads in native code.
    pub(super) native: bool,
    /// Index of the field with the thread's state.
    pub(super) state: Option<usize>,
    /// Index of the field with what a sample stands for: its weight, its amount, its length.
    amount: Option<usize>,
    /// Index of the field with the size of one thing.
    size: Option<usize>,
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

impl AmountFields {
    pub(super) fn new(name: &str, rule: Option<Rule>, fields: &[FieldSchema]) -> Self {
        let of = |name: &str| fields.iter().position(|field| field.name == name);
        let plain = name.strip_prefix("com.oracle.").unwrap_or(name);
        Self {
            native: plain == "jdk.NativeMethodSample",
            state: of("state"),
            amount: rule.and_then(Rule::amount).and_then(of),
            size: of("size"),
        }
    }

    /// Returns how much an event is by its decoded fields.
    pub(super) fn of(
        &self,
        rule: Rule,
        fields: &[FieldSchema],
        cells: &[DecodedValue<'_>],
        nanoseconds: &dyn Fn(NumberMeaning, i64) -> Option<i64>,
    ) -> SampleAmount {
        let cell = |at: Option<usize>| cells.get(at?).copied();
        let integer = |at: Option<usize>| match cell(at) {
            Some(DecodedValue::Int(value)) => Some(value),
            _ => None,
        };
        let field = self.amount.and_then(|at| fields.get(at));
        let length = |value| nanoseconds(field?.meaning, value?);
        match rule {
            Rule::Execution => SampleAmount::Interval,
            Rule::Weighted(subject) => {
                SampleAmount::Intervals(subject, integer(self.amount).unwrap_or(1))
            }
            Rule::WallRun => {
                SampleAmount::Intervals(Subject::Wall, integer(self.amount).unwrap_or(1))
            }
            Rule::CpuTime => match length(integer(self.amount)) {
                Some(period) => SampleAmount::Known(Subject::Cpu, [1, period]),
                None => SampleAmount::Intervals(Subject::Cpu, 1),
            },
            Rule::Amount(subject, "duration") => {
                let is_long = field.is_some_and(|field| field.kind == FieldEncoding::Long);
                let length = length(integer(self.amount).filter(|_| is_long));
                SampleAmount::Known(subject, [1, length.unwrap_or(0).max(0)])
            }
            Rule::Amount(subject @ Subject::Exceptions, _) => SampleAmount::Known(subject, [1, 1]),
            Rule::Amount(subject, _) => {
                let amount = integer(self.amount).unwrap_or(0).max(0);
                SampleAmount::Known(subject, [1, amount])
            }
            Rule::Scaled(subject) => {
                let weight = match cell(self.amount) {
                    Some(DecodedValue::Float(weight)) => f64::from(weight),
                    Some(DecodedValue::Double(weight)) => weight,
                    Some(DecodedValue::Int(weight)) => f64::from(saturated_i32(weight)),
                    _ => 1.0,
                };
                let size = integer(self.size).unwrap_or(0);
                SampleAmount::Known(subject, scaled(size, weight))
            }
        }
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
