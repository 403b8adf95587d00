//! Enter and exit steps: nested spans without building spans.

use crate::bounds::row_number;
use crate::{FunctionId, Timestamp, TrackId};

/// A run of enters and exits, for sinks that fold nested spans as they pass.
///
/// Sixteen bytes a step against about a hundred a span: a call tree over a trace of two gigabytes is
/// bound by these. Steps of one track are in time order and properly nested; `tracks` says where the
/// track changes. The objection is a second path to the same totals; the test that `top` from steps
/// equals `top` from spans for every file answers it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepBatch {
    /// Times, in nanoseconds.
    pub time: Vec<Timestamp>,
    /// The function entered, or none for an exit.
    pub function: Vec<Option<FunctionId>>,
    /// Step numbers from which on a track holds, ascending; the first is 0.
    pub tracks: Vec<(u32, TrackId)>,
    /// Step numbers of exits that end a call, with the row of the call in the span batch that comes
    /// right after this batch.
    pub calls: Vec<(u32, u32)>,
    /// Tracks whose call is open when recording ends, with the row of that call in the span batch that comes right
    /// after this batch.
    pub open: Vec<(TrackId, u32)>,
    /// Rows of the span batch that comes right after this batch, ascending: spans inside the calls of its steps. There are
    /// some only where [`crate::Wants::SpansAndSteps`] was asked for.
    pub inner: Vec<u32>,
}

impl StepBatch {
    /// Says that the steps from here on belong to `track`.
    pub fn track(&mut self, track: TrackId) {
        if self.tracks.last().is_some_and(|&(_, last)| last == track) {
            return;
        }
        self.tracks.push((row_number(self.time.len()), track));
    }

    /// Adds an enter.
    pub fn enter(&mut self, time: Timestamp, function: FunctionId) {
        self.time.push(time);
        self.function.push(Some(function));
    }

    /// Adds an exit.
    pub fn exit(&mut self, time: Timestamp) {
        self.time.push(time);
        self.function.push(None);
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns `true` if the batch has neither steps nor open calls, nor rows inside those.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time.is_empty() && self.open.is_empty() && self.inner.is_empty()
    }

    /// Returns the earliest and the latest time of its steps; none where it has no steps.
    ///
    /// ```
    /// use traceloom_model::StepBatch;
    ///
    /// let mut batch = StepBatch::default();
    /// assert_eq!(batch.time_range(), None);
    /// batch.time = vec![20, 50, 10, 30];
    /// assert_eq!(batch.time_range(), Some((10, 50)));
    /// ```
    #[must_use]
    pub fn time_range(&self) -> Option<(Timestamp, Timestamp)> {
        let (&first, rest) = self.time.split_first()?;
        let see = |(first, last): (Timestamp, Timestamp), &time: &Timestamp| {
            (first.min(time), last.max(time))
        };
        Some(rest.iter().fold((first, first), see))
    }

    /// Returns how many rows of the span batch right after this one its steps tell as well.
    #[must_use]
    pub fn n_rows_in_steps(&self) -> usize {
        self.calls.len() + self.open.len() + self.inner.len()
    }

    /// Puts the rows of the span batch right after this one that its steps tell as well into `rows`, ascending: who takes
    /// the steps passes over them.
    pub fn rows_in_steps(&self, rows: &mut Vec<u32>) {
        rows.clear();
        rows.extend_from_slice(&self.inner);
        rows.extend(self.calls.iter().map(|&(_, row)| row));
        rows.extend(self.open.iter().map(|&(_, row)| row));
        // Each of the three is in order already, which this sort makes use of.
        rows.sort();
    }

    /// Iterates over the runs of one track each: the track and the range of its steps.
    pub fn runs(&self) -> impl Iterator<Item = (TrackId, std::ops::Range<usize>)> {
        self.tracks.iter().enumerate().map(|(at, &(start, track))| {
            let end = self
                .tracks
                .get(at + 1)
                .map_or(self.len(), |&(next, _)| next as usize);
            (track, start as usize..end)
        })
    }
}
