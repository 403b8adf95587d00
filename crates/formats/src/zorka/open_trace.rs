//! The records of a trace that are open, and what its finished ones leave until it ends.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, ExceptionId, FunctionId, Origin, SpanBatch, SpanContext, SpanId, SpanStatus,
    StringId, TrackId,
};

use super::steps::CallSteps;

/// A record that has begun: what every record has, and a box for what few have.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    pub(crate) id: SpanId,
    pub(crate) method: Option<FunctionId>,
    /// Ticks or nanoseconds, as its generation counts.
    pub(crate) raw: i64,
    /// Nanoseconds that the records inside it took.
    pub(crate) inside: u64,
    pub(crate) origin: Origin,
    /// The number of its step, where it is one.
    pub(crate) step: u32,
    /// Its times and flags are C's.
    pub(crate) nanos: bool,
    /// Its times are relative to its trace: the local tracer of B.
    pub(crate) relative: bool,
    pub(crate) timed: bool,
    pub(crate) failed: bool,
    pub(crate) orphan: bool,
    /// It, or a record around it, is what was asked for.
    pub(crate) selected: bool,
    pub(crate) details: Option<Box<RecordDetails>>,
}

/// What few records have.
#[derive(Debug, Default)]
pub(crate) struct RecordDetails {
    pub(crate) ending: Ending,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) exception: Option<ExceptionId>,
    /// What makes it a trace.
    pub(crate) mark: Option<BeginFacts>,
}

/// What ends a record, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) stop: Option<i64>,
    pub(crate) calls: Option<u64>,
    pub(crate) flags: Option<i64>,
}

/// What a begin says of its record.
#[derive(Debug, Default)]
pub(crate) struct BeginFacts {
    pub(crate) clock_ms: i64,
    pub(crate) ttype: Option<i64>,
    pub(crate) kind: Option<StringId>,
    pub(crate) trace: u128,
    pub(crate) span: u64,
    pub(crate) parent: u64,
    /// The record's own attributes by content, where posts may repeat them.
    pub(crate) print: u64,
}

impl BeginFacts {
    /// Returns its place in a trace across processes; none where no id is set.
    #[inline(always)]
    pub(super) fn context(&self) -> Option<SpanContext> {
        (self.trace != 0 || self.span != 0).then_some(SpanContext {
            trace: self.trace,
            span: self.span,
            parent: self.parent,
        })
    }
}

/// A finished record, before it is known whether its trace counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinishedRecord {
    pub(super) function: Option<FunctionId>,
    pub(super) duration: u64,
    pub(super) own: u64,
    pub(super) failed: bool,
}

/// The open records of one trace, and the finished ones below its root.
#[derive(Debug, Default)]
pub(crate) struct OpenTrace {
    pub(crate) open: Vec<OpenRecord>,
    /// Open records above the limit.
    pub(crate) deeper: u64,
    pub(crate) exceptions: KnownExceptions,
    pub(crate) base: Option<super::session::Base>,
    pub(crate) id: u128,
    /// It is a post without a trace id. Agents name what they post, and what they post again.
    pub(crate) unnamed_post: bool,
    /// The id that an attribute of the root, or of a record inside it, said (SPEC.md §8).
    pub(crate) said_id: Option<u128>,
    /// First and last raw times seen.
    pub(crate) first: Option<i64>,
    pub(crate) last: i64,
    /// What came before any record: of one that began in an earlier chunk.
    pub(crate) orphaned: Vec<Attribute>,
    pub(super) track: Option<TrackId>,
    pub(super) named: bool,
    pub(super) steps: CallSteps,
    pub(super) rows: SpanBatch,
    pub(super) counted: Vec<FinishedRecord>,
    pub(super) direct: bool,
    /// Attributes of the item at hand.
    pub(super) lowered: Vec<Attribute>,
    /// Emptied details, to be filled again.
    #[expect(clippy::vec_box, reason = "a record takes the box")]
    spare: Vec<Box<RecordDetails>>,
}

/// The exceptions of a trace by their numbers; none where exceptions are not wanted.
pub(crate) type KnownExceptions = HashMap<i64, Option<ExceptionId>, RandomState>;

impl OpenTrace {
    /// Returns the details of the innermost record, to be filled.
    #[inline]
    pub(crate) fn details(&mut self) -> Option<&mut RecordDetails> {
        self.details_at(self.open.len().checked_sub(1)?)
    }

    /// Returns the details of an open record, to be filled.
    pub(crate) fn details_at(&mut self, at: usize) -> Option<&mut RecordDetails> {
        let record = self.open.get_mut(at)?;
        let spare = &mut self.spare;
        let details = record
            .details
            .get_or_insert_with(|| spare.pop().unwrap_or_default());
        Some(details)
    }

    /// Returns true if an attribute of the innermost record, or of one around it, may name the thread: that is asked when
    /// the first record of a trace ends, and unless it was named then, when its root does.
    pub(super) fn asks_thread(&self, upward: bool) -> bool {
        match self.open.len() {
            0 => true,
            1 => !self.named,
            _ => !self.named && (self.track.is_none() || upward),
        }
    }

    /// Takes the innermost record away.
    #[inline(always)]
    pub(super) fn drop_innermost(&mut self) {
        if let Some(details) = self.open.pop().and_then(|top| top.details) {
            self.put_aside(details);
        }
    }

    /// Keeps details to be filled again.
    #[inline(never)]
    fn put_aside(&mut self, mut details: Box<RecordDetails>) {
        details.clear();
        self.spare.push(details);
    }

    /// A posted trace with this id across processes, 0 for one without.
    pub(crate) fn posted(id: u128) -> Self {
        Self {
            id,
            unnamed_post: id == 0,
            ..Self::default()
        }
    }
}

impl RecordDetails {
    fn clear(&mut self) {
        self.attributes.clear();
        *self = Self {
            attributes: std::mem::take(&mut self.attributes),
            ..Self::default()
        };
    }
}

impl OpenRecord {
    /// Returns what makes it a trace.
    #[inline]
    pub(crate) fn mark(&self) -> Option<&BeginFacts> {
        self.details.as_ref()?.mark.as_ref()
    }

    /// Returns how long it lasted until `stop`, and whether it ends before it begins.
    #[inline(always)]
    pub(super) fn duration(&self, stop: i64) -> (u64, bool) {
        if stop >= self.raw {
            let ticks = stop.abs_diff(self.raw);
            let duration = match self.nanos {
                true => ticks,
                false => ticks.saturating_mul(65_536),
            };
            return (duration, false);
        }
        // A tick counter of 40 bits goes round; what is then still small did so.
        let wrapped = super::stream::ticks_between(self.raw, stop);
        if !self.nanos && (0..1 << 32).contains(&wrapped) {
            return (wrapped.unsigned_abs() * 65_536, false);
        }
        (0, true)
    }

    /// Returns the status of its span.
    #[inline(always)]
    pub(super) fn status(&self, ended: bool, failed: bool) -> SpanStatus {
        match (self.orphan, ended, failed) {
            (true, ..) => SpanStatus::PartialStart,
            (_, false, _) => SpanStatus::PartialEnd,
            (.., true) => SpanStatus::Error,
            _ => SpanStatus::Complete,
        }
    }

    #[inline(always)]
    pub(super) fn finished(&self, duration: u64, failed: bool) -> FinishedRecord {
        FinishedRecord {
            function: self.method,
            duration,
            own: duration.saturating_sub(self.inside),
            failed,
        }
    }

    /// Identifies a marked record wherever it is posted: the copies differ in their span ids only.
    pub(super) fn fingerprint(&self, mark: &BeginFacts, calls: Option<u64>, duration: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        let start = if self.relative { 0 } else { self.raw };
        (self.method, mark.clock_ms, start, duration, calls).hash(&mut hasher);
        mark.print.hash(&mut hasher);
        hasher.finish() | 1
    }
}
