//! The totals of a trace in one pass.
//!
//! Damage ends it: then the trace is read and lowered as for every other command.

use std::collections::BTreeMap;

use traceloom_model::{Flow, Limits, Note, ProfileId, Tables};

use super::event::{EventKey, TraceEvent};
use super::points::{is_event, is_piece, piece_of, sampled};
use super::scout::EventsAhead;
use super::survey::TraceSurvey;
use super::walk::{TracePart, each};
use crate::profile::v8::{COLUMNS, V8Profiles, V8Sample};
use crate::text::json::JsonTexts;
use crate::{ColumnTotal, Error, RecordingSummary, Source};

/// Sums up a trace of one part; none where more than one pass is needed.
///
/// # Errors
/// What the source fails with.
pub(super) fn summarise(
    source: &dyn Source,
    limits: &Limits,
) -> Result<Option<RecordingSummary>, Error> {
    if source.parts().len() != 1 {
        return Ok(None);
    }
    let mut sums = TraceSums::default();
    let mut pull = source.open(0, 0)?;
    let whole = each(pull.as_mut(), limits, &mut EventsAhead::nothing(), |part| {
        sums.add(&part, limits)
    })?;
    Ok((whole && sums.is_sound()).then(|| sums.finish()))
}

#[derive(Default)]
struct TraceSums {
    n_texts: u64,
    n_events: u64,
    n_members: u64,
    bytes: u64,
    time: Option<(i64, i64)>,
    /// Takes the members beside the events.
    survey: TraceSurvey,
    spans: bool,
    /// Some span ends.
    ends: bool,
    events: bool,
    notes: Vec<Note>,
    tables: Tables,
    texts: JsonTexts,
    /// The profile of samples that are told one by one, and how many there are.
    sampled: Option<(ProfileId, u64)>,
    v8: V8Profiles,
    v8_samples: u64,
    v8_sums: [i128; COLUMNS],
}

impl TraceSums {
    fn add(&mut self, part: &TracePart<'_>, limits: &Limits) -> Flow {
        match part {
            TracePart::Text { bytes, .. } => {
                self.n_texts += 1;
                self.bytes += bytes.len() as u64;
            }
            TracePart::Event {
                bytes,
                event,
                defects: [],
                ..
            } => {
                self.n_events += 1;
                self.bytes += bytes.len() as u64;
                self.event(*event, limits);
            }
            TracePart::Member {
                bytes, key, value, ..
            } if value.defects().is_empty() => {
                self.n_members += 1;
                self.bytes += bytes.len() as u64;
                self.survey.member(key, value, limits);
            }
            TracePart::Unterminated { .. } => {
                return part.each_note(&mut |note| {
                    self.notes.push(note);
                    Flow::Continue(())
                });
            }
            TracePart::Event { .. } | TracePart::Member { .. } | TracePart::Damage { .. } => {
                return Flow::Break(());
            }
        }
        Flow::Continue(())
    }

    fn event(&mut self, event: TraceEvent<'_>, limits: &Limits) {
        let Some((start, end)) = event.covered() else {
            return;
        };
        let (first, last) = self.time.unwrap_or((start, end));
        self.time = Some((first.min(start), last.max(end)));
        match event.phase() {
            b'X' | b'B' | b'S' => self.spans = true,
            b'b' if is_event(event) => self.events = true,
            b'b' => self.spans = true,
            b'E' | b'e' | b'F' => self.ends = true,
            b'n' | b'T' | b'p' | b'i' | b'I' | b'R' | b'O' | b'D' => self.events = true,
            b'P' if is_piece(event) => self.v8_piece(event, start, limits),
            b'P' => {
                let tables = &mut self.tables;
                let profile = self.sampled.get_or_insert_with(|| (sampled(tables), 0));
                profile.1 += 1;
            }
            _ => {}
        }
    }

    fn v8_piece(&mut self, event: TraceEvent<'_>, time: i64, limits: &Limits) {
        let Some(args) = event.get(EventKey::Arguments) else {
            return;
        };
        let piece = piece_of(event, time, limits);
        let (profiles, tables) = (&mut self.v8, &mut self.tables);
        let read = self.texts.parse(args.raw(), limits, |args| {
            let data = args.root()?.get("data")?;
            Some(profiles.take(piece, data, (None, 0), tables, limits))
        });
        self.add_v8(&read.unwrap_or_default().samples);
    }

    fn add_v8(&mut self, samples: &[V8Sample]) {
        for sample in samples {
            // The tables have the profile where the lowering's have it.
            self.v8.id(&mut self.tables);
            self.v8_samples += 1;
            for (sum, value) in self.v8_sums.iter_mut().zip(sample.row().values) {
                *sum += i128::from(*value);
            }
        }
    }

    /// Returns the totals of samples, by profile.
    fn values(&mut self) -> Vec<ColumnTotal> {
        let last = self.v8.finish();
        self.add_v8(&last);
        let mut values = Vec::new();
        if let Some((profile, count)) = self.sampled {
            values.push(ColumnTotal {
                profile,
                column: 0,
                samples: count,
                total: i128::from(count),
            });
        }
        if self.v8_samples > 0 {
            let profile = self.v8.id(&mut self.tables);
            let columns = self.v8_sums.iter().enumerate();
            values.extend(columns.map(|(column, &total)| ColumnTotal {
                profile,
                column,
                samples: self.v8_samples,
                total,
            }));
        }
        values.sort_by_key(|value| (value.profile, value.column));
        values
    }

    /// Returns true if lowering is not needed to tell whether there are spans.
    fn is_sound(&self) -> bool {
        self.spans || !self.ends
    }

    fn finish(mut self) -> RecordingSummary {
        let clock = self.survey.clock(&mut self.tables);
        let values = self.values();
        let counts = [
            ("event", self.n_events),
            ("member", self.n_members),
            ("text", self.n_texts),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        RecordingSummary {
            records: counts
                .map(|(kind, count)| (kind.to_owned(), count))
                .collect::<BTreeMap<_, _>>(),
            bytes: self.bytes,
            time: self.time,
            clock,
            definitions: self.tables.take_definitions(),
            values,
            spans: self.spans,
            events: self.events,
            notes: self.notes,
        }
    }
}
