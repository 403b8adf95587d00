//! The totals of a trace in one pass.
//!
//! Damage ends it, and so do samples, whose totals need the tables: then the trace is read and lowered as for every
//! other command.

use std::collections::BTreeMap;

use traceloom_model::{Flow, Limits, Note, Tables};

use super::event::TraceEvent;
use super::points::is_event;
use super::scout::EventsAhead;
use super::survey::TraceSurvey;
use super::walk::{TracePart, each};
use crate::{Error, RecordingSummary, Source};

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
    let whole = each(pull.as_mut(), limits, EventsAhead::nothing(), |part| {
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
                return self.event(*event);
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

    fn event(&mut self, event: TraceEvent<'_>) -> Flow {
        let Some((start, end)) = event.covered() else {
            return Flow::Continue(());
        };
        let (first, last) = self.time.unwrap_or((start, end));
        self.time = Some((first.min(start), last.max(end)));
        match event.phase() {
            b'X' | b'B' | b'S' => self.spans = true,
            b'b' if is_event(event) => self.events = true,
            b'b' => self.spans = true,
            b'E' | b'e' | b'F' => self.ends = true,
            b'n' | b'T' | b'p' | b'i' | b'I' | b'R' | b'O' | b'D' => self.events = true,
            b'P' => return Flow::Break(()),
            _ => {}
        }
        Flow::Continue(())
    }

    /// Returns true if lowering is not needed to tell whether there are spans.
    fn is_sound(&self) -> bool {
        self.spans || !self.ends
    }

    fn finish(self) -> RecordingSummary {
        let mut tables = Tables::new();
        let clock = self.survey.clock(&mut tables);
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
            definitions: tables.take_definitions(),
            spans: self.spans,
            events: self.events,
            notes: self.notes,
            ..RecordingSummary::default()
        }
    }
}
