//! The law that steps which come beside spans tell what the spans do that they name.

use std::collections::{BTreeMap, HashMap};

use traceloom_formats::{ErrorKind, Format, LowerOptions, SliceSource};
use traceloom_model::{
    Asks, Definitions, Flow, FunctionId, Note, Recording, Sink, SpanBatch, SpanRow, StepBatch,
    Timestamp, TrackId, Value, Wants,
};

/// Asks for spans alone, and for steps beside them: the spans are the same, and the steps tell those that they name.
///
/// # Errors
/// What differs.
#[allow(
    dead_code,
    reason = "not every user of the laws needs all of them at once"
)]
pub fn tells_beside(format: &'static Format, input: &[u8]) -> Result<(), String> {
    let Some(lower) = format.lower else {
        return Ok(());
    };
    let source = SliceSource::default().with("part", format, input);
    let mut both = Beside::default();
    match lower(&source, &LowerOptions::default(), &mut both) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        result => result.map_err(|error| error.to_string())?,
    }
    if !both.has_steps {
        return Ok(());
    }
    let mut alone = Recording::default();
    let lowered = lower(&source, &LowerOptions::default(), &mut alone);
    lowered.map_err(|error| error.to_string())?;
    if alone.notes.kept() != both.recording.notes.kept() {
        return Err("with steps beside spans, notes are others".to_owned());
    }
    if !shown(&alone).eq(shown(&both.recording)) {
        return Err("with steps beside them, spans are others".to_owned());
    }
    both.verdict()
}

/// Shows spans without the numbers of names, which are given as they are met.
fn shown(recording: &Recording) -> impl Iterator<Item = String> {
    recording.spans.iter().map(|row| shown_row(recording, &row))
}

fn shown_row(recording: &Recording, row: &SpanRow<'_>) -> String {
    let name = row.function.map(|id| recording.function_name(id));
    let attributes: Vec<String> = row
        .attributes
        .iter()
        .map(|one| {
            let key = recording.attribute_key(one.key);
            let key = key.map(|key| recording.text(key.name).into_owned());
            format!(
                "{key:?} {} {:?} {:?}",
                value(recording, &one.value),
                one.at,
                one.from
            )
        })
        .collect();
    let exception = row.exception.and_then(|id| recording.exception(id));
    let message = exception.and_then(|row| Some(recording.text(row.message?).into_owned()));
    let plain = SpanRow {
        function: None,
        kind: None,
        attributes: &[],
        exception: None,
        ..*row
    };
    format!("{plain:?} {name:?} {attributes:?} {message:?}")
}

fn value(recording: &Recording, of: &Value) -> String {
    match of {
        Value::Text(id) => recording.text(*id).into_owned(),
        Value::List(_, items) => {
            let items: Vec<String> = items.iter().map(|item| value(recording, item)).collect();
            items.join(",")
        }
        other => format!("{other:?}"),
    }
}

/// A span or what an enter and an exit make of one.
type Told = (TrackId, FunctionId, Timestamp, Timestamp);

/// Takes spans and the steps beside them.
#[derive(Default)]
struct Beside {
    recording: Recording,
    has_steps: bool,
    /// Rows of the next batch that the last steps named.
    named: Vec<u32>,
    open: HashMap<TrackId, Vec<(FunctionId, Timestamp)>>,
    /// How many more times spans told something than steps did.
    told: BTreeMap<Told, i64>,
    fault: Option<String>,
}

impl Beside {
    fn verdict(self) -> Result<(), String> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if let Some((told, _)) = self.told.iter().find(|&(_, &more)| more < 0) {
            return Err(format!("steps tell {told:?}, which no span does"));
        }
        let left: i64 = self.told.values().sum();
        let open: usize = self.open.values().map(Vec::len).sum();
        match usize::try_from(left) == Ok(open) {
            true => Ok(()),
            false => Err(format!(
                "{left} spans in steps have no exit, and {open} steps are open"
            )),
        }
    }
}

impl Sink for Beside {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::SpansAndSteps,
            ..Asks::default()
        }
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.recording.define(new)
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.has_steps = true;
        if !self.named.is_empty() {
            self.fault = Some("steps name spans that do not come behind them".to_owned());
        }
        batch.rows_in_steps(&mut self.named);
        for (track, range) in batch.runs() {
            let open = self.open.entry(track).or_default();
            for (&time, &function) in batch.time[range.clone()].iter().zip(&batch.function[range]) {
                match function {
                    Some(function) => open.push((function, time)),
                    None => match open.pop() {
                        Some((function, start)) => {
                            *self.told.entry((track, function, start, time)).or_default() -= 1;
                        }
                        None => self.fault = Some("an exit without an enter".to_owned()),
                    },
                }
            }
        }
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        if self.named.windows(2).any(|pair| pair[0] >= pair[1]) {
            self.fault = Some("steps name a span twice".to_owned());
        }
        for row in std::mem::take(&mut self.named) {
            let Some(row) = batch.row(row as usize) else {
                self.fault = Some(format!("steps name row {row} of {}", batch.len()));
                break;
            };
            match row.function {
                Some(function) => {
                    let told = (row.track, function, row.start, row.end);
                    *self.told.entry(told).or_default() += 1;
                }
                None => self.fault = Some("steps name a span without a function".to_owned()),
            }
        }
        self.recording.spans(batch)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.recording.note(note)
    }
}
