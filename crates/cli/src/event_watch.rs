//! What a capture comes to: counts and times of its records and calls, as they pass.

use std::collections::HashMap;

use traceloom_input::captures::CaptureFacts;
use traceloom_model::{Clock, SpanBatch, SpanStatus, Timestamp};

use crate::info::PartSummary;

/// A first and a last time.
type TimeRange = Option<(Timestamp, Timestamp)>;

/// Counts what passes, in memory that does not grow with it.
#[derive(Default)]
pub(crate) struct EventWatch {
    facts: CaptureFacts,
    /// Times of the records of parts.
    of_parts: HashMap<usize, (Timestamp, Timestamp)>,
    /// Those of recordings that have dates.
    of_records: TimeRange,
    /// The recording that is being lowered has dates.
    is_dated: bool,
}

fn widen(range: &mut TimeRange, first: Timestamp, last: Timestamp) {
    let (known_first, known_last) = range.unwrap_or((first, last));
    *range = Some((known_first.min(first), known_last.max(last)));
}

impl EventWatch {
    /// Takes what reading the records of a part showed.
    pub(crate) fn read(&mut self, part: usize, summary: &PartSummary) {
        self.facts.n_records += summary.records.total();
        if let Some(time) = summary.time {
            self.of_parts.insert(part, time);
        }
    }

    /// Learns the clock of the recording whose rows follow.
    pub(crate) fn begin(&mut self, clock: Clock) {
        self.is_dated = clock == Clock::Unix;
    }

    /// Takes times of the recording.
    pub(crate) fn times<'t>(&mut self, times: impl Iterator<Item = &'t Timestamp>) {
        if self.is_dated {
            for &time in times {
                widen(&mut self.facts.times, time, time);
            }
        }
    }

    /// Counts the calls among spans.
    pub(crate) fn spans(&mut self, batch: &SpanBatch) {
        for row in batch.iter() {
            widen(&mut self.facts.span_times, row.start, row.end);
            if self.is_dated {
                widen(&mut self.facts.times, row.start, row.end);
            }
            if !row.entry && row.parent.is_some() {
                continue;
            }
            let failed = row.status == SpanStatus::Error || row.exception.is_some();
            self.facts.n_calls += 1;
            self.facts.n_errors += u64::from(failed);
            self.facts.longest_ns = self.facts.longest_ns.max(row.duration());
            self.facts.last_start_ns = self.facts.last_start_ns.max(Some(row.start));
        }
    }

    /// Ends a recording of some parts.
    pub(crate) fn end(&mut self, parts: &[usize]) {
        let times = parts.iter().filter_map(|part| self.of_parts.get(part));
        for &(first, last) in times.filter(|_| self.is_dated) {
            widen(&mut self.of_records, first, last);
        }
        self.is_dated = false;
    }

    /// Returns what was counted. Where nothing that was lowered has a time, the records tell it.
    pub(crate) fn finish(self) -> CaptureFacts {
        let times = self.facts.times.or(self.of_records);
        CaptureFacts {
            times,
            ..self.facts
        }
    }
}
