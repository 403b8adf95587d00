//! A recording summed up in one pass is what reading and lowering it add up to.

use std::collections::BTreeMap;

use traceloom_formats::{
    Format, LowerOptions, Record, RecordSink, RecordingSummary, SliceSource, read_slice,
};
use traceloom_model::{
    Asks, Clock, Definitions, EventBatch, Flow, Limits, Note, Order, Recording, SampleBatch, Sink,
    SpanBatch, Wants,
};

use super::NoteList;

/// Samples and total of a column, by its name.
type Columns = BTreeMap<String, (u64, i128)>;

/// What a summary tells.
#[derive(PartialEq, Debug, Default)]
struct Told {
    records: BTreeMap<String, u64>,
    bytes: u64,
    time: Option<(i64, i64)>,
    clock: String,
    columns: Columns,
    spans: bool,
    events: bool,
}

/// What reading and lowering add up to.
#[derive(Default)]
struct AddedUp {
    told: Told,
    notes: NoteList,
    rows: Recording,
}

/// Returns samples and total of a column.
fn column<'t>(
    columns: &'t mut Columns,
    rows: &Recording,
    (profile, column): (traceloom_model::ProfileId, usize),
) -> &'t mut (u64, i128) {
    let types = rows.profile(profile).map(|profile| &profile.value_types);
    let row = types.and_then(|types| rows.value_type(*types.get(column)?));
    let name = row.map(|row| rows.text(row.name).into_owned());
    columns.entry(name.unwrap_or_default()).or_default()
}

fn clock(rows: &Recording) -> String {
    match rows.clock {
        Clock::Unix => "unix".to_owned(),
        Clock::Unknown(name) => format!("unknown {:?}", name.map(|name| rows.text(name))),
    }
}

impl RecordSink for AddedUp {
    fn record(&mut self, record: &dyn Record) -> Flow {
        *self
            .told
            .records
            .entry(record.kind().to_owned())
            .or_default() += 1;
        self.told.bytes = record.offset() + record.len();
        if let Some((start, end)) = record.time() {
            let (first, last) = self.told.time.unwrap_or((start, end));
            self.told.time = Some((first.min(start), last.max(end)));
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.add(note)
    }
}

impl Sink for AddedUp {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Calls,
            sampled_events: false,
            amounts_only: true,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.rows.begin(order, clock);
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.rows.define(new)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.told.events |= !batch.is_empty();
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.told.spans |= !batch.is_empty();
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for row in 0..batch.len() {
            for (at, &value) in batch.values(row).iter().enumerate() {
                let key = (batch.profile, at);
                let sum = column(&mut self.told.columns, &self.rows, key);
                sum.0 += 1;
                sum.1 += i128::from(value);
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn told(summary: RecordingSummary) -> Told {
    let mut rows = Recording {
        clock: summary.clock,
        ..Recording::default()
    };
    let _ = rows.define(summary.definitions);
    let mut columns = Columns::new();
    for total in &summary.values {
        let sum = column(&mut columns, &rows, (total.profile, total.column));
        sum.0 += total.samples;
        sum.1 += total.total;
    }
    Told {
        records: summary.records,
        bytes: summary.bytes,
        time: summary.time,
        clock: clock(&rows),
        columns,
        spans: summary.spans,
        events: summary.events,
    }
}

/// Compares what a format sums up in one pass with what reading and lowering add up to; returns whether it summed the input up.
///
/// # Errors
/// What differs.
pub fn sums_up(format: &'static Format, input: &[u8]) -> Result<bool, String> {
    let (Some(summarise), Some(lower)) = (format.summarise, format.lower) else {
        return Ok(false);
    };
    let source = SliceSource::default().with("part", format, input);
    let summary = summarise(&source, &Limits::default()).map_err(|error| error.to_string())?;
    let Some(mut summary) = summary else {
        return Ok(false);
    };
    let mut all = AddedUp::default();
    read_slice(format.reader(&Limits::default()).as_mut(), input, &mut all);
    lower(&source, &LowerOptions::default(), &mut all).map_err(|error| error.to_string())?;
    all.told.clock = clock(&all.rows);
    let mut notes = NoteList::default();
    for note in std::mem::take(&mut summary.notes) {
        let _ = notes.add(note);
    }
    let told = told(summary);
    if told != all.told {
        return Err(format!(
            "summed up are {told:?}, read and lowered {:?}",
            all.told
        ));
    }
    if notes.notes != all.notes.notes {
        let (some, others) = (notes.notes, all.notes.notes);
        return Err(format!("summed up it notes {some:?}, read {others:?}"));
    }
    Ok(true)
}
