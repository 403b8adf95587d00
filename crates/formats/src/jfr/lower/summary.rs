//! The totals of a recording in one pass over its windows, as long as nothing is out of order.
//!
//! Memory is a window, the largest event, and those constants of a chunk that its settings and states refer to. Stacks
//! and their names are stepped over. What deserves a note ends it: then the recording is read and lowered as for
//! every other command, which tells the same with notes.

use std::collections::BTreeMap;

use traceloom_model::{EventType, Limits, Profile, ResourceId, Tables, Value, ValueType};

use super::super::header::HEADER;
use super::super::scan::Scan;
use super::super::split::PartView;
use super::super::value::DecodedValue;
use super::amounts::is_on_cpu;
use super::chunk_summary::{ChunkSummary, GroupKey, SampleGroup};
use super::constants::Constants;
use super::context::ChunkLookahead;
use super::profiles::{AllocSource, Subject};
use super::sound::{sound_header, sound_schema};
use super::survey::Coverage;
use crate::{ColumnTotal, Error, RecordingSummary, Source};

/// Kinds of records that are no events of a described type.
const FRAMES: [&str; 3] = ["chunk", "jdk.Metadata", "jdk.CheckPoint"];

/// Sums up a recording of one part; none where something is out of order.
///
/// # Errors
/// What the source fails with.
pub(in crate::jfr) fn summarise(
    source: &dyn Source,
    limits: &Limits,
) -> Result<Option<RecordingSummary>, Error> {
    if source.parts().len() != 1 {
        return Ok(None);
    }
    let mut sums = RecordingSums::default();
    let mut pull = source.open(0, 0)?;
    let mut view = PartView::new(source, 0);
    let (mut consumed, mut known) = (0, None);
    loop {
        let window = pull.pull(consumed, HEADER)?;
        if window.bytes.is_empty() {
            return Ok((sums.bytes > 0).then(|| sums.finish()));
        }
        let Some(header) = sound_header(window.bytes, limits) else {
            return Ok(None);
        };
        let (pull, offset) = (pull.as_mut(), sums.bytes);
        let schema = sound_schema(pull, &mut view, offset, &header, limits, &mut known)?;
        let Some(schema) = schema else {
            return Ok(None);
        };
        let mut chunk = ChunkSummary::new(&header, schema, limits);
        let read = chunk.read(pull)?;
        match read.filter(|_| sums.add(chunk).is_some()) {
            Some(taken) => consumed = taken,
            None => return Ok(None),
        }
    }
}

/// The samples of one subject.
#[derive(Clone, Copy)]
struct SubjectTotal {
    /// Offset of the first.
    first: u64,
    samples: u64,
    totals: [i128; 2],
}

/// What chunks add up to.
#[derive(Default)]
struct RecordingSums {
    bytes: u64,
    records: BTreeMap<String, u64>,
    time: Option<(i64, i64)>,
    tables: Tables,
    context: ChunkLookahead,
    resource: Option<ResourceId>,
    subjects: BTreeMap<Subject, SubjectTotal>,
    coverage: Coverage,
    events: bool,
}

impl RecordingSums {
    /// Adds a chunk up; none when a sum is out of the ordinary.
    fn add(&mut self, chunk: ChunkSummary<'_>) -> Option<()> {
        let ChunkSummary {
            header,
            rules,
            mut kept,
            types,
            ..
        } = chunk;
        let frames = [1, chunk.n_metadata, chunk.n_checkpoints];
        for (kind, n_records) in FRAMES.into_iter().zip(frames) {
            self.count(kind, n_records);
        }
        let start = header.start_time_ns;
        self.cover(start, start.saturating_add(header.duration_ns.max(0)));
        let clock = header.clock();
        if let Some((start, end)) = chunk.ticks {
            self.cover(clock.time(start), clock.time(end));
        }
        let compressed = header.compressed();
        let pools = std::mem::take(&mut kept.pools);
        let mut constants = Constants::new(rules, clock, &kept.bytes, compressed, pools);
        self.look_at(kept.events(compressed), &mut constants);
        let mut seen = Vec::new();
        for (found, of) in rules.schema.types.iter().zip(&types) {
            if of.n_events == 0 {
                continue;
            }
            self.count(&found.name, of.n_events);
            match &of.sampled {
                Some((rule, _)) => {
                    self.events |= !rule.is_whole();
                    seen.extend(rule.alloc_source());
                }
                None => self.events = true,
            }
            for group in &of.groups {
                let is_native = of.sampled.as_ref().is_some_and(|(_, of)| of.native);
                let state = of.sampled.as_ref().and_then(|(_, of)| of.state);
                let field = state.and_then(|at| found.fields.get(at));
                let (subject, totals) = match group.key {
                    GroupKey::Known(subject) => (subject, group.totals),
                    GroupKey::Intervals(subject) => {
                        let interval = self.context.interval(subject);
                        group.heaviest.checked_mul(interval)?;
                        let [weight, _] = group.totals;
                        (subject, [weight, weight * i128::from(interval)])
                    }
                    GroupKey::State(key) => {
                        let on_cpu = key.zip(field).and_then(|(key, field)| {
                            let state = DecodedValue::Ref(key);
                            match constants.value(field, &state, &mut self.tables) {
                                Value::Text(state) => is_on_cpu(self.tables.string_bytes(state)),
                                _ => None,
                            }
                        });
                        let (subject, interval) = self.context.execution(is_native, on_cpu);
                        let [samples, _] = group.totals;
                        (subject, [samples, samples * i128::from(interval)])
                    }
                };
                self.sum(subject, group, totals);
            }
        }
        self.coverage.add(&seen);
        self.bytes += header.chunk_size;
        Some(())
    }

    fn count(&mut self, kind: &str, n_records: u64) {
        if let Some(known) = self.records.get_mut(kind) {
            *known += n_records;
        } else if n_records > 0 {
            self.records.insert(kind.to_owned(), n_records);
        }
    }

    fn cover(&mut self, start: i64, end: i64) {
        let (first, last) = self.time.unwrap_or((start, end));
        self.time = Some((first.min(start), last.max(end)));
    }

    fn sum(&mut self, subject: Subject, group: &SampleGroup, totals: [i128; 2]) {
        let known = self.subjects.entry(subject).or_insert(SubjectTotal {
            first: group.first,
            samples: 0,
            totals: [0; 2],
        });
        known.first = known.first.min(group.first);
        known.samples += group.samples;
        for (total, more) in known.totals.iter_mut().zip(totals) {
            *total += more;
        }
    }

    /// Looks at the events that say how to take the others.
    fn look_at<'c>(
        &mut self,
        events: impl Iterator<Item = (usize, Scan<'c>)>,
        constants: &mut Constants<'c>,
    ) {
        self.context.next_chunk(events, constants, &mut self.tables);
        // Whose allocations count is decided when all chunks were seen.
        self.context
            .settle(AllocSource::default(), &mut self.tables);
        if self.resource.is_none()
            && let Some(resource) = self.context.process()
        {
            self.resource = Some(self.tables.resource(resource));
        }
    }

    fn finish(mut self) -> RecordingSummary {
        let alloc = self.coverage.source();
        let is_other = |subject: &Subject| match subject {
            Subject::Alloc(source) => *source != alloc,
            _ => false,
        };
        let all = self.subjects.len();
        self.subjects.retain(|subject, _| !is_other(subject));
        let events = self.events || self.subjects.len() < all;
        let mut subjects: Vec<_> = self.subjects.into_iter().collect();
        subjects.sort_by_key(|(_, total)| total.first);
        let mut values = Vec::new();
        for (subject, sum) in subjects {
            let columns = subject.columns(&mut self.tables);
            let columns = columns.map(|(name, unit)| {
                let column = ValueType::sum(name, unit);
                self.tables.value_type(column)
            });
            let profile = self.tables.profile(Profile {
                value_types: columns.to_vec(),
                ..Profile::default()
            });
            let totals = sum.totals.into_iter().enumerate();
            values.extend(totals.map(|(column, total)| ColumnTotal {
                profile,
                column,
                samples: sum.samples,
                total,
            }));
        }
        let is_event = |kind: &&String| !FRAMES.contains(&kind.as_str());
        for kind in self.records.keys().filter(is_event) {
            let name = self.tables.string(kind);
            self.tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            });
        }
        RecordingSummary {
            records: self.records,
            bytes: self.bytes,
            time: self.time,
            definitions: self.tables.take_definitions(),
            values,
            events,
            ..RecordingSummary::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::FORMAT;
    use super::super::narrow::Narrow;
    use super::*;
    use crate::{LowerOptions, Record, RecordSink, SliceSource, read_slice};
    use traceloom_model::bounds::subslice;
    use traceloom_model::{
        Asks, Definitions, EventBatch, Flow, Note, Recording, SampleBatch, Sink,
    };
    use traceloom_samples::jfr::sample;

    /// Totals by the names of columns.
    type Values = Vec<(String, u64, i128)>;

    /// What reading and lowering say.
    #[derive(Default)]
    struct Read {
        records: BTreeMap<String, u64>,
        bytes: u64,
        time: Option<(i64, i64)>,
        n_notes: usize,
        rows: Recording,
        sums: Vec<ColumnTotal>,
        events: bool,
    }

    impl RecordSink for Read {
        fn record(&mut self, record: &dyn Record) -> Flow {
            *self.records.entry(record.kind().to_owned()).or_default() += 1;
            self.bytes = self.bytes.max(record.offset() + record.len());
            if let Some((start, end)) = record.time() {
                let (first, last) = self.time.unwrap_or((start, end));
                self.time = Some((first.min(start), last.max(end)));
            }
            Flow::Continue(())
        }

        fn note(&mut self, _note: Note) -> Flow {
            self.n_notes += 1;
            Flow::Continue(())
        }
    }

    /// Takes the lowering, whose notes are those of the reading and some about constants.
    struct Lowered<'r>(&'r mut Read);

    impl Sink for Lowered<'_> {
        fn asks(&self) -> Asks {
            Asks {
                sampled_events: false,
                amounts_only: true,
                ..Asks::default()
            }
        }

        fn define(&mut self, new: Definitions) -> Flow {
            self.0.rows.define(new)
        }

        fn events(&mut self, _batch: EventBatch) -> Flow {
            self.0.events = true;
            Flow::Continue(())
        }

        fn samples(&mut self, batch: SampleBatch) -> Flow {
            for row in 0..batch.len() {
                for (column, &value) in batch.values(row).iter().enumerate() {
                    let profile = batch.profile;
                    let sums = &mut self.0.sums;
                    let is_it = |sum: &ColumnTotal| sum.profile == profile && sum.column == column;
                    let at = sums.iter().position(is_it).unwrap_or(sums.len());
                    if at == sums.len() {
                        sums.push(ColumnTotal {
                            profile,
                            column,
                            samples: 0,
                            total: 0,
                        });
                    }
                    let sum = sums.get_mut(at).unwrap();
                    sum.samples += 1;
                    sum.total += i128::from(value);
                }
            }
            Flow::Continue(())
        }

        fn note(&mut self, _note: Note) -> Flow {
            Flow::Continue(())
        }
    }

    fn values(rows: &Recording, sums: &[ColumnTotal]) -> Values {
        let mut sums = sums.to_vec();
        sums.sort_by_key(|sum| (sum.profile, sum.column));
        let name = |sum: &ColumnTotal| {
            let types = &rows.profile(sum.profile).unwrap().value_types;
            let row = rows.value_type(*types.get(sum.column).unwrap()).unwrap();
            rows.text(row.name).into_owned()
        };
        let value = |sum: &ColumnTotal| (name(sum), sum.samples, sum.total);
        sums.iter().map(value).collect()
    }

    fn read(bytes: &[u8]) -> Read {
        let mut read = Read::default();
        let limits = Limits::default();
        read_slice(FORMAT.reader(&limits).as_mut(), bytes, &mut read);
        let source = SliceSource::default().with("a.jfr", &FORMAT, bytes);
        let lower = FORMAT.lower.unwrap();
        lower(&source, &LowerOptions::default(), &mut Lowered(&mut read)).unwrap();
        read
    }

    fn summary(bytes: &[u8], spare: usize) -> Option<RecordingSummary> {
        let source = Narrow::new(bytes, spare);
        summarise(&source, &Limits::default()).unwrap()
    }

    fn assert_equal(bytes: &[u8], summary: RecordingSummary, about: &str) {
        let read = read(bytes);
        assert_eq!(read.n_notes, 0, "{about}: nothing is out of order");
        assert_eq!(summary.records, read.records, "{about}");
        assert_eq!(summary.bytes, read.bytes, "{about}");
        assert_eq!(summary.time, read.time, "{about}");
        assert_eq!(summary.events, read.events, "{about}");
        let mut rows = Recording::default();
        let _ = rows.define(summary.definitions);
        let found = values(&rows, &summary.values);
        assert_eq!(found, values(&read.rows, &read.sums), "{about}");
    }

    fn made(seed: u64, bytes: u64) -> Vec<u8> {
        let mut made = Vec::new();
        sample(seed, bytes, &mut |piece| made.extend_from_slice(piece));
        made
    }

    #[test]
    fn totals_are_those_of_reading_and_lowering() {
        for seed in 0..4 {
            let bytes = made(seed, 1_200_000);
            for spare in [0, 1_000] {
                let summary = summary(&bytes, spare).unwrap();
                assert!(summary.values.len() >= 6, "several subjects");
                assert_equal(&bytes, summary, &format!("seed {seed}"));
            }
        }
    }

    #[test]
    fn damage_is_left_to_the_reader() {
        for seed in 0..3 {
            let whole = made(seed, 4_000);
            let (mut sound, mut left) = (0, 0);
            for at in (0..whole.len()).step_by(5) {
                let mut bytes = whole.clone();
                *bytes.get_mut(at).unwrap() ^= 0x80 >> (at % 8);
                match summary(&bytes, at % 300) {
                    Some(summary) => {
                        sound += 1;
                        assert_equal(&bytes, summary, &format!("seed {seed}, a bit of {at:#x}"));
                    }
                    None => left += 1,
                }
                assert_eq!(summary(subslice(&whole, ..at), 9), None, "cut at {at:#x}");
            }
            assert!(sound > 0 && left > 0, "both happen");
        }
    }
}
