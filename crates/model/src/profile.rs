//! Sampled profiles and aggregated statistics.

use crate::bounds::subslice;
use crate::{
    Attribute, Attributes, ProfileId, ResourceId, SpanId, StackId, StringId, Timestamp, TrackId,
    Unit, ValueTypeId,
};

/// How values of one column combine when samples are merged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum Merge {
    /// They add up.
    #[default]
    Sum,
    /// The smallest stays.
    Min,
    /// The largest stays.
    Max,
}

/// What a value covers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum Scope {
    /// The innermost frame of its stack.
    #[default]
    Own,
    /// The innermost frame and everything it called: aggregated trees and per-method statistics.
    Inclusive,
}

/// A value column: of a profile's samples, or of a span's counters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueType {
    /// Name, such as `cpu` or `alloc_space`.
    pub name: StringId,
    /// Unit.
    pub unit: Unit,
    /// How values combine.
    pub merge: Merge,
    /// What a value covers.
    pub scope: Scope,
}

impl ValueType {
    /// A column whose values add up and belong to the innermost frame.
    #[must_use]
    pub const fn sum(name: StringId, unit: Unit) -> Self {
        Self {
            name,
            unit,
            merge: Merge::Sum,
            scope: Scope::Own,
        }
    }
}

/// A set of samples with one vector of value columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The columns, in the order of every sample's values.
    pub value_types: Vec<ValueTypeId>,
    /// The column to show when nobody asks for one.
    pub default: Option<ValueTypeId>,
    /// What one sample stands for: column and amount.
    pub period: Option<(ValueTypeId, i64)>,
    /// When collection began.
    pub time: Option<Timestamp>,
    /// How long it took, in nanoseconds.
    pub duration: Option<i64>,
    /// Free text of the producer.
    pub comments: Vec<StringId>,
    /// Frames to drop when reporting, a regular expression (pprof).
    pub drop_frames: Option<StringId>,
    /// Frames to keep although `drop_frames` matches.
    pub keep_frames: Option<StringId>,
    /// Link to documentation of the profile.
    pub doc_url: Option<StringId>,
    /// Settings of the profiler.
    pub settings: Vec<Attribute>,
    /// Whom it is of, where the producer says.
    pub resource: Option<ResourceId>,
}

/// One sample, as a row that a lowering fills and a writer reads.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow<'a> {
    /// Where; none for samples without frames.
    pub stack: Option<StackId>,
    /// One value for each column of the profile.
    pub values: &'a [i64],
    /// When, where the producer says.
    pub time: Option<Timestamp>,
    /// On which thread.
    pub track: Option<TrackId>,
    /// During which span.
    pub span: Option<SpanId>,
    /// Named values.
    pub labels: &'a [Attribute],
}

impl<'a> SampleRow<'a> {
    /// A sample of which only its stack and its values are known.
    #[must_use]
    pub const fn at(stack: StackId, values: &'a [i64]) -> Self {
        Self {
            stack: Some(stack),
            values,
            time: None,
            track: None,
            span: None,
            labels: &[],
        }
    }
}

/// Samples of one profile, in columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleBatch {
    /// The profile all rows belong to.
    pub profile: ProfileId,
    /// Stacks.
    pub stack: Vec<Option<StackId>>,
    /// Times.
    pub time: Vec<Option<Timestamp>>,
    /// Threads.
    pub track: Vec<Option<TrackId>>,
    /// Spans.
    pub span: Vec<Option<SpanId>>,
    /// Labels.
    pub labels: Attributes,
    /// Of rows that stand for several samples each: what stands in place of their times.
    pub added_up: Option<AddedUp>,
    width: usize,
    values: Vec<i64>,
}

/// What is left of samples that are equal but for their times and values, and were added up ([`crate::Asks::sums`]).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddedUp {
    /// How many samples each row stands for; one where there is no number.
    pub counts: Vec<u64>,
    /// When the first and the last of them all were taken.
    pub extent: Option<(Timestamp, Timestamp)>,
}

impl SampleBatch {
    /// An empty batch for a profile of `width` value columns.
    #[must_use]
    pub fn new(profile: ProfileId, width: usize) -> Self {
        Self {
            profile,
            stack: Vec::new(),
            time: Vec::new(),
            track: Vec::new(),
            span: Vec::new(),
            labels: Attributes::default(),
            added_up: None,
            width,
            values: Vec::new(),
        }
    }

    /// Returns the batch and leaves an empty one with room for as much: batches of a recording are alike,
    /// and columns that grow step by step are copied at every step.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let rows = self.len();
        let next = Self {
            profile: self.profile,
            stack: Vec::with_capacity(rows),
            time: Vec::with_capacity(rows),
            track: Vec::with_capacity(rows),
            span: Vec::with_capacity(rows),
            labels: self.labels.with_room_of(),
            added_up: None,
            width: self.width,
            values: Vec::with_capacity(self.values.len()),
        };
        std::mem::replace(self, next)
    }

    /// Adds a sample; missing values count as 0, surplus ones are left out.
    pub fn push(&mut self, row: &SampleRow<'_>) {
        self.labels.push_row(row.labels.iter().cloned());
        self.push_columns(row);
    }

    /// Adds a sample with `labels` in place of its own, and leaves them empty: moved, not copied.
    #[inline]
    pub fn push_with(&mut self, row: &SampleRow<'_>, labels: &mut Vec<Attribute>) {
        self.labels.append_row(labels);
        self.push_columns(row);
    }

    #[inline]
    fn push_columns(&mut self, row: &SampleRow<'_>) {
        self.stack.push(row.stack);
        self.time.push(row.time);
        self.track.push(row.track);
        self.span.push(row.span);
        match row.values.get(..self.width) {
            Some(values) => self.values.extend_from_slice(values),
            None => {
                let end = self.values.len() + self.width;
                self.values.extend_from_slice(row.values);
                self.values.resize(end, 0);
            }
        }
    }

    /// Adds so many samples, and what they come to, to those that the row at `row` stands for; `times` are those of the
    /// first and the last.
    pub fn add_up(
        &mut self,
        row: usize,
        values: &[i64],
        n_samples: u64,
        times: (Timestamp, Timestamp),
    ) {
        let from = row * self.width;
        let sums = self.values.get_mut(from..from + self.width);
        for (sum, &value) in sums.into_iter().flatten().zip(values) {
            *sum = sum.saturating_add(value);
        }
        let added_up = self.added_up.get_or_insert_default();
        if added_up.counts.len() <= row {
            added_up.counts.resize(self.stack.len(), 1);
        }
        if let Some(count) = added_up.counts.get_mut(row) {
            *count += n_samples;
        }
        let (first, last) = added_up.extent.unwrap_or(times);
        added_up.extent = Some((first.min(times.0), last.max(times.1)));
    }

    /// Returns how many samples the row at `row` stands for.
    #[must_use]
    #[inline]
    pub fn count(&self, row: usize) -> u64 {
        let added_up = self.added_up.as_ref();
        added_up.map_or(1, |sums| sums.counts.get(row).copied().unwrap_or(1))
    }

    /// Returns the times of samples: those of the first and the last where they are added up.
    pub fn times(&self) -> impl Iterator<Item = Timestamp> {
        let extent = self.added_up.as_ref().and_then(|sums| sums.extent);
        let ends = extent.map(|(first, last)| [first, last]);
        let rows = self.time.iter().flatten().copied();
        rows.chain(ends.into_iter().flatten())
    }

    /// Returns the number of rows, which are samples unless they are added up.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// Returns true if there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Returns the number of value columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the values of sample `row`, empty for a row that does not exist.
    #[must_use]
    pub fn values(&self, row: usize) -> &[i64] {
        subslice(&self.values, row * self.width..(row + 1) * self.width)
    }

    /// Keeps one value column; one that does not exist is 0 in every sample.
    pub fn narrow(&mut self, column: usize) {
        let values = (0..self.len()).map(|row| self.values(row).get(column).copied().unwrap_or(0));
        self.values = values.collect();
        self.width = 1;
    }

    /// Returns the sample at `row`.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<SampleRow<'_>> {
        Some(SampleRow {
            stack: *self.stack.get(row)?,
            values: self.values(row),
            time: *self.time.get(row)?,
            track: *self.track.get(row)?,
            span: *self.span.get(row)?,
            labels: self.labels.row(row),
        })
    }

    /// Iterates over the samples in their order.
    pub fn iter(&self) -> impl Iterator<Item = SampleRow<'_>> {
        (0..self.len()).filter_map(|row| self.row(row))
    }
}
