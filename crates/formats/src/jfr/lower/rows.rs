//! An event taken apart by the plan of its type.

use traceloom_model::{Attribute, ObjectId, Series, StackId, StringId, TrackId, Value};

use super::super::schema::{FieldSchema, NumberMeaning};
use super::super::value::DecodedValue;
use super::Lowering;
use super::constants::Constants;
use super::plan::{CounterField, FieldRole, Plan};

/// What one event says, taken apart.
#[derive(Default)]
pub(super) struct EventRowParts {
    pub(super) time: i64,
    pub(super) length: Option<i64>,
    pub(super) track: Option<TrackId>,
    pub(super) owner: Option<TrackId>,
    pub(super) stack: Option<StackId>,
    pub(super) object: Option<ObjectId>,
    /// The text of the field with the thread's state.
    pub(super) state: Option<StringId>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) labels: Vec<Attribute>,
}

impl Lowering<'_> {
    /// Takes an event apart by its plan.
    #[inline]
    pub(super) fn row(
        &mut self,
        plan: &Plan,
        fields: &[FieldSchema],
        cells: &[DecodedValue<'_>],
        constants: &mut Constants<'_>,
        row: &mut EventRowParts,
    ) {
        let with_attributes = self.is_event(plan);
        row.length = None;
        row.track = None;
        row.owner = None;
        row.stack = None;
        row.object = None;
        row.state = None;
        row.attributes.clear();
        row.labels.clear();
        let fields = plan.roles.iter().zip(fields).zip(cells);
        for (at, ((role, field), cell)) in fields.enumerate() {
            match (role, cell) {
                (FieldRole::Start, &DecodedValue::Int(ticks)) => {
                    row.time = constants
                        .nanoseconds(start_meaning(field), ticks)
                        .unwrap_or(0);
                }
                (&FieldRole::Duration(meaning), &DecodedValue::Int(length)) => {
                    row.length = constants.nanoseconds(meaning, length).map(|ns| ns.max(0));
                }
                (&FieldRole::Thread(index), &DecodedValue::Ref(key)) => {
                    row.track = constants.thread(index, key, &mut self.into());
                }
                (&FieldRole::Owner(index, name), &DecodedValue::Ref(key)) => {
                    row.owner = constants.thread(index, key, &mut self.into());
                    let value = constants.value(field, cell, &mut self.tables);
                    row.attributes.push(Attribute::new(name, value));
                }
                (&FieldRole::Stack(index), &DecodedValue::Ref(key)) => {
                    row.stack = constants.stack(index, key, &mut self.tables);
                }
                (
                    &FieldRole::Attribute {
                        key,
                        label,
                        counter,
                    },
                    cell,
                ) => {
                    let value = constants.value(field, cell, &mut self.tables);
                    if let Some(counter) = counter.filter(|_| !self.notes_only) {
                        self.count(plan, counter, row, &value);
                    }
                    if let (Value::U64(address @ 1..), "address") = (&value, field.name.as_str()) {
                        row.object = Some(ObjectId(*address));
                    }
                    if plan.amounts.state == Some(at)
                        && let Value::Text(state) = value
                    {
                        row.state = Some(state);
                    }
                    let label = label.filter(|_| says_something(&value));
                    match label {
                        Some(label) if with_attributes => {
                            row.labels.push(Attribute::new(label, value.clone()));
                            row.attributes.push(Attribute::new(key, value));
                        }
                        Some(label) => row.labels.push(Attribute::new(label, value)),
                        None if with_attributes => {
                            row.attributes.push(Attribute::new(key, value));
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns true if what the plan is for is wanted as an event, whether it is a sample or not.
    pub(super) fn is_event(&self, plan: &Plan) -> bool {
        let is_more = plan.rule.is_none_or(|rule| !rule.is_whole());
        self.wants_events && (self.sampled_events || is_more)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counters of the model are floats"
    )]
    fn count(&mut self, plan: &Plan, counter: CounterField, row: &EventRowParts, value: &Value) {
        let number = match *value {
            Value::I64(number) => number as f64,
            Value::U64(number) => number as f64,
            Value::F64(number) => number,
            _ => return,
        };
        let series = match counter {
            CounterField::Process(series) => series,
            CounterField::Thread(at) => match plan.series.get(at) {
                Some(&(name, unit)) => self.tables.series(Series {
                    name,
                    unit,
                    track: row.track,
                }),
                None => return,
            },
        };
        self.counters.push(series, row.time, number);
    }
}

fn start_meaning(field: &FieldSchema) -> NumberMeaning {
    match field.meaning {
        NumberMeaning::Plain => NumberMeaning::TicksTime,
        known => known,
    }
}

/// Returns true if a label is worth keeping: null, 0 and empty texts stand for none.
fn says_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::U64(0) | Value::I64(0))
}
