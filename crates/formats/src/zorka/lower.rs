//! Items to the model: symbols resolved, clocks attached, upward attributes where they belong.

use std::hash::{DefaultHasher, Hash, Hasher};

use traceloom_model::bounds::subslice;
use traceloom_model::{Attribute, Exception as ModelException, Flow, Note, PartId, ResourceId};

use super::cbor::CborValue;
use super::meaning::LoweringLookup;
use super::open_trace::{BeginFacts, OpenRecord, OpenTrace, origin};
use super::record::{Attributes, Begin, End, Exception, Item, Order, Record, Start, StartForm};
use super::session::{Base, Session, SessionSymbols};
use super::source_state::SourceState;
use super::stream::TICK_NS;
use super::{TwoItems, Visit};
use crate::{damage, info, warn};

/// Where the bytes of a stream lie in the source.
pub(crate) enum SourceRange {
    /// Parts that are one stream: offset in the stream and part, ascending.
    Parts(Vec<(u64, usize)>),
    /// A body inside a line or block: its items are counted.
    Inside {
        /// The part.
        part: usize,
        /// Offset of the line or block.
        offset: u64,
    },
}

impl SourceRange {
    #[inline]
    pub(crate) fn at(&self, offset: u64) -> (usize, u64) {
        match self {
            // Nearly every stream is one part.
            Self::Parts(parts) if parts.len() == 1 => {
                let &(start, part) = parts.first().unwrap_or(&(0, 0));
                (part, offset - start)
            }
            Self::Parts(parts) => {
                let after = parts.partition_point(|&(start, _)| start <= offset);
                let found = after.checked_sub(1).and_then(|at| parts.get(at));
                found.map_or((0, offset), |&(start, part)| (part, offset - start))
            }
            Self::Inside { part, offset } => (*part, *offset),
        }
    }
}

/// Lowers the items of one stream.
pub(crate) struct Lowering<'l, 's> {
    pub(crate) shared: &'l mut SourceState<'s>,
    pub(crate) session: &'l mut Session,
    /// Definitions of the whole folder, for what the session does not define itself.
    pub(crate) union: &'l SessionSymbols,
    pub(crate) trace: &'l mut OpenTrace,
    pub(crate) place: SourceRange,
    pub(crate) begin: TwoItems,
    pub(crate) resource: Option<ResourceId>,
    pub(crate) count: u32,
}

impl Visit for Lowering<'_, '_> {
    // Beside the decoder, which knows what kind of item it hands on where it matters.
    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) -> Flow {
        match record.item {
            Item::Start(start) => self.start(start, record.offset),
            Item::Prolog(start) => self.prolog(start),
            Item::End(end) => self.end(end, record.offset),
            Item::Break => self.close(),
            Item::Begin(begin) => self.begin(begin),
            Item::Attributes(attributes) => self.attributes(attributes, record.offset),
            Item::Exception(exception) => self.exception(exception, record.offset),
            Item::ExceptionRef { id, .. } => self.exception_ref(*id, record.offset),
            Item::Flags(flags) => {
                if let Some(top) = self.trace.open.last_mut() {
                    top.flags = Some(flags.cast_signed());
                }
            }
            Item::Info { key, value } => self.fact(*key, *value),
            Item::Symbol(_) | Item::Method(_) => self.define(record),
            Item::Chunk(values) => self.chunk(values, record),
            Item::Unknown | Item::Damage => {}
        }
        self.count = self.count.saturating_add(1);
        self.shared.flow()
    }

    fn note(&mut self, note: Note) -> Flow {
        let (part, offset) = self.place.at(note.offset);
        self.shared.note(Note {
            part: PartId::nth(part),
            offset,
            ..note
        });
        self.shared.flow()
    }
}

fn words<'w>(
    shared: &'w mut SourceState<'_>,
    session: &'w mut Session,
    union: &'w SessionSymbols,
) -> LoweringLookup<'w> {
    LoweringLookup {
        session,
        union,
        of_threads: shared.of_threads(),
        of_trace: shared.of_trace(),
        begun: false,
        trace_id: None,
        threads_only: shared.threads_only(),
        notes_only: shared.notes_only,
        limits: &shared.limits,
        tables: &mut shared.tables,
        messages: &mut shared.messages,
        too_deep: false,
    }
}

impl Lowering<'_, '_> {
    fn say(&mut self, note: Note) {
        // A sink that breaks is seen by the next record.
        let _ = self.note(note);
    }

    fn too_deep(&mut self, deep: bool, offset: u64) {
        if deep {
            let text =
                "a value or chain of causes is deeper than the model holds: kept as bytes or cut";
            self.say(warn("deep_value", offset, text));
        }
    }

    #[inline(never)]
    fn define(&mut self, record: &Record<'_>) {
        let limits = self.shared.limits;
        let defined = match record.item {
            Item::Symbol(symbol) => self.session.own.define(symbol, &limits),
            Item::Method(method) => self.session.own.define_method(method, &limits),
            _ => return,
        };
        self.defined(defined, record.offset);
    }

    #[inline(never)]
    fn exception(&mut self, exception: &Exception<'_>, offset: u64) {
        let mut words = words(self.shared, self.session, self.union);
        let id = words.exception(exception, &mut self.trace.exceptions);
        let deep = words.too_deep;
        self.too_deep(deep, offset);
        if let Some(top) = self.trace.open.last_mut() {
            top.exception = id;
            top.failed = true;
        }
    }

    fn defined(&mut self, defined: Result<bool, ()>, offset: u64) {
        match defined {
            Ok(false) => {}
            Ok(true) => self.session.forget(),
            Err(()) => {
                let text = "more definitions than the limit: the rest prints as numbers";
                self.say(damage("limit_table", offset, text));
            }
        }
    }

    #[inline(never)]
    fn start(&mut self, start: &Start, offset: u64) {
        let (part, offset) = self.place.at(offset);
        let index = match self.place {
            SourceRange::Parts(_) => 0,
            SourceRange::Inside { .. } => self.count,
        };
        let bare = start.form == StartForm::Bare;
        let nanos = matches!(start.form, StartForm::Nanos | StartForm::Stream);
        let id = self.shared.tables.reserve_span();
        let mut method = None;
        if !bare {
            method = self.function(start.method);
            self.seen(start.time);
        }
        let origin = origin(part, offset, index);
        let Some(selected) = self.shared.open(self.trace, origin) else {
            if self.trace.deeper == 1 {
                let limit = self.trace.open.len();
                let text = format!("more than {limit} records are open: deeper ones are left out");
                self.say(damage("limit_open_spans", offset, text));
            }
            return;
        };
        // Made where it stays.
        let attributes = self.trace.list();
        let step = self.trace.steps.enter();
        self.trace.open.push(OpenRecord {
            id,
            method,
            raw: start.time,
            stop: None,
            calls: None,
            inside: 0,
            flags: None,
            attributes,
            exception: None,
            origin,
            step,
            mark: None,
            ticks: !nanos,
            relative: !nanos && start.order == Order::Big,
            timed: !bare,
            failed: false,
            nanos,
            orphan: false,
            selected,
        });
    }

    #[inline]
    pub(super) fn function(&mut self, method: i64) -> Option<traceloom_model::FunctionId> {
        if self.shared.notes_only {
            return None;
        }
        self.session
            .function(self.union, method, &mut self.shared.tables)
    }

    pub(super) fn seen(&mut self, raw: i64) {
        self.trace.first.get_or_insert(raw);
        self.trace.last = raw;
    }

    fn prolog(&mut self, start: &Start) {
        let function = self.function(start.method);
        self.seen(start.time);
        if let Some(top) = self.trace.open.last_mut() {
            top.method = function;
            top.raw = start.time;
            top.relative = start.order == Order::Big;
            top.timed = true;
        }
    }

    fn begin(&mut self, begin: &Begin) {
        let mut begin = *begin;
        let seed = self.begin == TwoItems::Type;
        let typed = begin.ttype.and_then(|id| u64::try_from(id).ok());
        let known = typed.is_some_and(|id| self.session.text(self.union, id).is_some());
        let no_symbols = self.session.own.is_empty() && self.union.is_empty();
        let Some(top) = self.trace.open.last_mut() else {
            return;
        };
        if top.mark.is_some() {
            return;
        }
        if !begin.nanos && !known && !no_symbols && !seed {
            // Two items whose second is no symbol: a span, however small (SPEC.md §1.1).
            begin.span_id = begin.span_id.or(begin.ttype);
            begin.ttype = None;
        }
        let mut mark = BeginFacts {
            clock_ms: begin.clock_ms,
            ttype: begin.ttype,
            trace: self.trace.said_id.unwrap_or(self.trace.id),
            span: begin.span_id.unwrap_or(0).cast_unsigned(),
            parent: begin.parent_id.unwrap_or(0).cast_unsigned(),
            ..BeginFacts::default()
        };
        if let Some(id) = begin.ttype {
            let strange = !(0..65_536).contains(&id) || !no_symbols;
            if seed && !known && strange && id != 0 {
                // The seed calls it a trace id (SPEC.md §8).
                mark.trace = u128::from(id.cast_unsigned());
            } else {
                let tables = &mut self.shared.tables;
                let kind = self.session.string(self.union, id.cast_unsigned(), tables);
                mark.kind = (id != 0).then_some(kind);
            }
        }
        top.mark = Some(Box::new(mark));
        if top.timed {
            self.rebase();
        }
    }

    /// Ties the clock to the begin of the innermost record, unless the trace is tied already.
    pub(super) fn rebase(&mut self) {
        let Some((top, mark)) = self
            .trace
            .open
            .last()
            .and_then(|top| Some((top, top.mark.as_deref()?)))
        else {
            return;
        };
        let ms = mark.clock_ms;
        // A writer whose nanosecond clock counts from 1970 says more than its milliseconds.
        let clock_ns = if !top.ticks && top.raw.div_euclid(1_000_000) == ms {
            top.raw
        } else {
            ms.saturating_mul(1_000_000)
        };
        let base = Base {
            clock_ns,
            raw: top.raw,
            ticks: top.ticks,
        };
        self.trace.base.get_or_insert(base);
        self.session.base = Some(base);
    }

    fn wall(&self, raw: i64, ticks: bool) -> i64 {
        let base = self.trace.base.as_ref().or(self.session.base.as_ref());
        match base {
            Some(base) if base.ticks == ticks => base.wall(raw),
            _ if ticks => raw.saturating_mul(TICK_NS),
            _ => raw,
        }
    }

    #[inline(never)]
    fn attributes(&mut self, attributes: &Attributes<'_>, offset: u64) {
        if let Some(ttype) = attributes.upward {
            return self.upward(attributes, ttype, offset);
        }
        let (own, mark) = match self.trace.open.last_mut() {
            Some(top) => (&mut top.attributes, top.mark.as_deref_mut()),
            None => (&mut self.trace.orphaned, None),
        };
        let before = own.len();
        let mut words = words(self.shared, self.session, self.union);
        words.begun = mark.is_some();
        words.attributes(attributes, own);
        let deep = words.too_deep;
        if let Some((mark, id)) = mark.zip(words.trace_id) {
            mark.trace = id;
            self.trace.said_id = Some(id);
        }
        if self.shared.repeats {
            self.print(attributes, before);
        }
        self.too_deep(deep, offset);
    }

    /// Takes attributes of a record that encloses the innermost one.
    fn upward(&mut self, attributes: &Attributes<'_>, ttype: i64, offset: u64) {
        let mut own = Vec::new();
        let mut words = words(self.shared, self.session, self.union);
        words.attributes(attributes, &mut own);
        let deep = words.too_deep;
        self.too_deep(deep, offset);
        let from = self.trace.open.last().map(|top| top.id);
        let target = target(&self.trace.open, ttype);
        if target.is_none() {
            let text = format!("no enclosing trace of type #{ttype} for an upward attribute");
            self.say(warn("upward_target", offset, text));
        }
        let given = own
            .into_iter()
            .map(|attribute| Attribute { from, ..attribute });
        let at = target.unwrap_or(self.trace.open.len().saturating_sub(1));
        match self.trace.open.get_mut(at) {
            Some(frame) => frame.attributes.extend(given),
            None => self.trace.orphaned.extend(given),
        }
    }

    /// Remembers the attributes of a trace by their content, by which it is known when posted again.
    ///
    /// They are those of the innermost record behind the first `before` ones.
    fn print(&mut self, attributes: &Attributes<'_>, before: usize) {
        let Some(OpenRecord {
            mark: Some(mark),
            attributes: lowered,
            ..
        }) = self.trace.open.last_mut()
        else {
            return;
        };
        let lowered = subslice(lowered, before..);
        let mut raw = Vec::new();
        for ((_, value), lowered) in attributes.pairs().zip(lowered) {
            let text = match value {
                CborValue::Text(text) => text,
                // Another session may number its symbols otherwise.
                CborValue::Ref(id) => self.session.text(self.union, id).unwrap_or(&[]),
                other => {
                    raw.clear();
                    super::write::value(&mut raw, other);
                    &raw
                }
            };
            let mut hasher = DefaultHasher::new();
            (mark.print, lowered.key, text).hash(&mut hasher);
            mark.print = hasher.finish();
        }
    }

    fn exception_ref(&mut self, id: u64, offset: u64) {
        let id = id.cast_signed();
        let known = self.trace.exceptions.get(&id).copied();
        let exception = known.unwrap_or_else(|| {
            let message = self.shared.tables.string(&format!("#{id}"));
            self.shared.tables.exception(ModelException {
                class: None,
                message: Some(message),
                stack: None,
                cause: None,
            })
        });
        if known.is_none() {
            self.trace.exceptions.insert(id, exception);
            let text = format!("exception #{id} is not in this trace");
            self.say(info("unknown_exception", offset, text));
        }
        if let Some(top) = self.trace.open.last_mut() {
            top.exception = Some(exception);
            top.failed = true;
        }
    }

    #[inline(never)]
    fn end(&mut self, end: &End, offset: u64) {
        self.trace.first.get_or_insert(end.time);
        if self.trace.deeper > 0 {
            self.trace.deeper -= u64::from(end.closed);
            return;
        }
        if self.trace.open.is_empty() {
            self.orphan(end, offset);
        }
        self.trace.last = end.time;
        if let Some(top) = self.trace.open.last_mut() {
            top.stop = Some(end.time);
            top.calls = Some(end.calls);
            top.flags = end.flags.or(top.flags);
        }
        if end.closed {
            self.close();
        }
    }

    /// A record ends whose beginning is not here: it began before the first time that is.
    fn orphan(&mut self, end: &End, offset: u64) {
        let nanos = end.form == super::EndForm::Nanos;
        let start = Start {
            form: StartForm::Bare,
            order: end.order,
            time: 0,
            method: 0,
        };
        self.start(&start, offset);
        let first = self.trace.first;
        let attributes = std::mem::take(&mut self.trace.orphaned);
        if let Some(top) = self.trace.open.last_mut() {
            top.raw = first.unwrap_or(end.time);
            top.ticks = !nanos;
            top.nanos = nanos;
            top.orphan = true;
            top.attributes = attributes;
        }
    }

    #[inline(never)]
    fn close(&mut self) {
        if self.trace.deeper > 0 {
            self.trace.deeper -= 1;
            return;
        }
        let Some(top) = self.trace.open.last() else {
            return;
        };
        let (ended, raw, ticks) = (top.stop.is_some(), top.raw, top.ticks);
        let start = self.wall(raw, ticks);
        if !ended {
            let last = self.trace.last;
            if let Some(top) = self.trace.open.last_mut() {
                top.stop = Some(last.max(raw));
            }
        }
        self.shared.close(self.trace, start, self.resource, ended);
    }

    /// Ends what is still open: the stream is over.
    pub(crate) fn finish(&mut self) {
        self.trace.deeper = 0;
        while !self.trace.open.is_empty() && !self.shared.stopped {
            self.close();
        }
    }
}

/// Finds the record an upward attribute is for: the nearest trace of its type, 0 for any (SPEC.md §1.2).
fn target(open: &[OpenRecord], ttype: i64) -> Option<usize> {
    let typed = |frame: &OpenRecord, ttype: Option<i64>| {
        let mark = frame.mark.as_deref();
        mark.is_some_and(|mark| mark.ttype == ttype)
    };
    if ttype == 0 {
        return open.iter().rposition(|frame| frame.mark.is_some());
    }
    let found = open.iter().rposition(|frame| typed(frame, Some(ttype)));
    // B2's streaming tracer leaves the type out of its begins: the nearest trace without one.
    found.or_else(|| open.iter().rposition(|frame| typed(frame, None)))
}
