//! The records of a trace that are open, and what its finished ones leave until it ends.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use traceloom_model::{
    Attribute, ExceptionId, FunctionId, Origin, PartId, SpanBatch, SpanContext, SpanId, SpanStatus,
    StringId, TrackId,
};

use super::steps::CallSteps;

/// A record that has begun.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    pub(crate) id: SpanId,
    pub(crate) method: Option<FunctionId>,
    /// Ticks or nanoseconds, as its generation counts.
    pub(crate) raw: i64,
    pub(crate) stop: Option<i64>,
    pub(crate) calls: Option<u64>,
    /// Nanoseconds that the records inside it took.
    pub(crate) inside: u64,
    pub(crate) flags: Option<i64>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) exception: Option<ExceptionId>,
    pub(crate) origin: Origin,
    /// The number of its step, where it is one.
    pub(crate) step: u32,
    /// What makes it a trace: few records are.
    pub(crate) mark: Option<Box<BeginFacts>>,
    pub(crate) ticks: bool,
    /// Its times are relative to its trace: the local tracer of B.
    pub(crate) relative: bool,
    pub(crate) timed: bool,
    pub(crate) failed: bool,
    /// The flags are C's.
    pub(crate) nanos: bool,
    pub(crate) orphan: bool,
    /// It, or a record around it, is what was asked for.
    pub(crate) selected: bool,
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
    pub(crate) exceptions: HashMap<i64, ExceptionId>,
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
    /// Emptied lists of attributes, to be filled again.
    pub(super) spare: Vec<Vec<Attribute>>,
}

impl OpenTrace {
    /// Returns an empty list of attributes.
    #[inline]
    pub(crate) fn list(&mut self) -> Vec<Attribute> {
        self.spare.pop().unwrap_or_default()
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

impl OpenRecord {
    /// Returns how long it lasted, and whether it ends before it begins.
    pub(super) fn duration(&self) -> (u64, bool) {
        let Some(stop) = self.stop else {
            return (0, false);
        };
        if stop >= self.raw {
            let ticks = stop.abs_diff(self.raw);
            let unit = if self.ticks { 65_536 } else { 1 };
            return (ticks.saturating_mul(unit), false);
        }
        // A tick counter of 40 bits goes round; what is then still small did so.
        let wrapped = super::stream::ticks_between(self.raw, stop);
        if self.ticks && (0..1 << 32).contains(&wrapped) {
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
    pub(super) fn fingerprint(&self, mark: &BeginFacts, duration: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        let start = if self.relative { 0 } else { self.raw };
        (self.method, mark.clock_ms, start, duration, self.calls).hash(&mut hasher);
        mark.print.hash(&mut hasher);
        hasher.finish() | 1
    }
}

/// Where a record's bytes begin.
pub(crate) fn origin(part: usize, offset: u64, index: u32) -> Origin {
    Origin {
        part: PartId::nth(part),
        offset,
        index,
    }
}
