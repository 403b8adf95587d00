//! Items to the model: symbols resolved, clocks attached, upward attributes where they belong.

use std::hash::{DefaultHasher, Hash, Hasher};

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Attribute, Exception as ModelException, ExceptionId, Flow, FunctionId, Note, Origin, ResourceId,
};

use super::cbor::CborValue;
use super::meaning::LoweringLookup;
use super::open_trace::{BeginFacts, Ending, OpenRecord, OpenTrace};
use super::record::{Attributes, Begin, End, Exception, Item, Order, Record, Start, StartForm};
use super::session::{Base, Session, SessionSymbols};
use super::source_range::SourceRange;
use super::source_state::SourceState;
use super::stream::TICK_NS;
use super::{TwoItems, Visit};
use crate::{damage, info, warn};

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
    pub(crate) count: u64,
}

impl Visit for Lowering<'_, '_> {
    // Beside the decoder, which knows what kind of item it hands on where it matters.
    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) -> Flow {
        match record.item {
            Item::Start(start) => self.start(start, record.offset),
            Item::Prolog(start) => self.prolog(start),
            Item::End(end) => self.end(end, record.offset),
            Item::Break => self.close_open(),
            Item::Begin(begin) => self.begin(begin),
            Item::Attributes(attributes) => self.attributes(attributes, record.offset),
            Item::Exception(exception) => self.exception(exception, record.offset),
            Item::ExceptionRef { id, .. } => self.exception_ref(*id, record.offset),
            Item::Flags(flags) => {
                if let Some(top) = self.trace.details() {
                    top.ending.flags = Some(flags.cast_signed());
                }
            }
            Item::Info { key, value } => self.fact(*key, *value),
            Item::Symbol(_) | Item::Method(_) => self.define(record),
            Item::Chunk(values) => self.chunk(values, record),
            Item::Unknown | Item::Damage => {}
        }
        self.count += 1;
        self.shared.flow()
    }

    #[inline(always)]
    fn leaf(&mut self, start: &Start, end: &End) -> bool {
        let trace = &*self.trace;
        let open = trace.open.len();
        let is_inner = open > 0 && open < self.shared.most_open && trace.deeper == 0;
        if !is_inner || end.time < start.time {
            return false;
        }
        if !self.shared.notes_only {
            if !trace.steps.takes_leaf() || trace.track.is_none() {
                return false;
            }
            let Some(function) = self.function(start.method) else {
                return false;
            };
            let began = self.wall(start.time, false);
            let ended = began.saturating_add(saturated_i64(end.time.abs_diff(start.time)));
            self.trace.steps.leaf([began, ended], function);
        }
        self.shared.tables.reserve_span();
        self.seen(start.time);
        self.trace.last = end.time;
        self.count += 2;
        true
    }

    fn note(&mut self, note: Note) -> Flow {
        let Origin { part, offset, .. } = self.place.origin(note.offset, 0);
        self.shared.note(Note {
            part,
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
        wants_exceptions: shared.wants_exceptions(),
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
        self.failed(id);
    }

    /// The innermost record ended with an exception.
    fn failed(&mut self, exception: Option<ExceptionId>) {
        let Some(top) = self.trace.open.last_mut() else {
            return;
        };
        top.failed = true;
        if (exception.is_some() || top.details.is_some())
            && let Some(details) = self.trace.details()
        {
            details.exception = exception;
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

    #[inline(always)]
    fn start(&mut self, start: &Start, offset: u64) {
        let open = self.trace.open.len();
        let is_inner = open > 0 && open < self.shared.most_open;
        if !is_inner || start.form == StartForm::Bare {
            return self.start_root(start, offset);
        }
        let method = self.function(start.method);
        self.seen(start.time);
        self.open(start, method, offset);
    }

    /// A record begins that may be the first of a trace, or one too many.
    #[inline(never)]
    fn start_root(&mut self, start: &Start, offset: u64) {
        let mut method = None;
        if start.form != StartForm::Bare {
            method = self.function(start.method);
            self.seen(start.time);
        }
        match self.shared.has_room(self.trace) {
            true => self.open(start, method, offset),
            false => self.too_many_open(offset),
        }
    }

    #[inline(always)]
    fn open(&mut self, start: &Start, method: Option<FunctionId>, offset: u64) {
        let nanos = matches!(start.form, StartForm::Nanos | StartForm::Stream);
        let origin = self.place.origin(offset, self.count);
        let is_asked = self.shared.only.is_none_or(|only| only == origin);
        let is_inside = |parent: &OpenRecord| parent.selected;
        let selected = is_asked || self.trace.open.last().is_some_and(is_inside);
        let step = self.trace.steps.enter();
        // Made where it stays.
        self.trace.open.push(OpenRecord {
            id: self.shared.tables.reserve_span(),
            method,
            raw: start.time,
            inside: 0,
            origin,
            step,
            nanos,
            relative: !nanos && start.order == Order::Big,
            timed: start.form != StartForm::Bare,
            failed: false,
            orphan: false,
            selected,
            details: None,
        });
    }

    #[cold]
    fn too_many_open(&mut self, offset: u64) {
        if self.trace.deeper == 1 {
            let limit = self.trace.open.len();
            let text = format!("more than {limit} records are open: deeper ones are left out");
            self.say(damage("limit_open_spans", offset, text));
        }
    }

    #[inline]
    pub(super) fn function(&mut self, method: i64) -> Option<FunctionId> {
        if self.shared.notes_only {
            return None;
        }
        self.session
            .function(self.union, method, &mut self.shared.tables)
    }

    #[inline]
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
        let no_symbols = self.session.own.is_empty() && self.union.is_empty();
        match self.trace.open.last() {
            Some(top) if top.mark().is_none() => {}
            _ => return,
        }
        let typed = begin.ttype.and_then(|id| u64::try_from(id).ok());
        let is_known = || typed.is_some_and(|id| self.session.text(self.union, id).is_some());
        if !begin.nanos && !no_symbols && !seed && !is_known() {
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
            if seed && strange && id != 0 && !is_known() {
                // The seed calls it a trace id (SPEC.md §8).
                mark.trace = u128::from(id.cast_unsigned());
            } else if !self.shared.notes_only {
                let tables = &mut self.shared.tables;
                let kind = self.session.string(self.union, id.cast_unsigned(), tables);
                mark.kind = (id != 0).then_some(kind);
            }
        }
        if let Some(details) = self.trace.details() {
            details.mark = Some(mark);
        }
        if self.trace.open.last().is_some_and(|top| top.timed) {
            self.rebase();
        }
    }

    /// Ties the clock to the begin of the innermost record, unless the trace is tied already.
    pub(super) fn rebase(&mut self) {
        let Some((top, mark)) = self
            .trace
            .open
            .last()
            .and_then(|top| Some((top, top.mark()?)))
        else {
            return;
        };
        let ms = mark.clock_ms;
        // A writer whose nanosecond clock counts from 1970 says more than its milliseconds.
        let clock_ns = if top.nanos && top.raw.div_euclid(1_000_000) == ms {
            top.raw
        } else {
            ms.saturating_mul(1_000_000)
        };
        let base = Base {
            clock_ns,
            raw: top.raw,
            ticks: !top.nanos,
        };
        self.trace.base.get_or_insert(base);
        self.session.base = Some(base);
    }

    #[inline(always)]
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
        if !self.wants(attributes) {
            if let Some(ttype) = attributes.upward {
                self.upward(ttype, offset);
            }
            return;
        }
        let innermost = self.trace.open.last();
        let is_begun = innermost.is_some_and(|top| top.mark().is_some());
        let mut lowered = std::mem::take(&mut self.trace.lowered);
        let mut words = words(self.shared, self.session, self.union);
        words.begun = is_begun && attributes.upward.is_none();
        words.attributes(attributes, &mut lowered);
        let (deep, trace_id) = (words.too_deep, words.trace_id);
        self.too_deep(deep, offset);
        let mut at = self.trace.open.len().saturating_sub(1);
        if let Some(ttype) = attributes.upward {
            let from = self.trace.open.last().map(|top| top.id);
            lowered.iter_mut().for_each(|one| one.from = from);
            at = self.upward(ttype, offset).unwrap_or(at);
        } else if trace_id.is_some() {
            self.trace.said_id = trace_id;
            let details = self.trace.details();
            let mark = details.and_then(|details| details.mark.as_mut());
            if let Some((mark, id)) = mark.zip(trace_id) {
                mark.trace = id;
            }
        }
        if self.shared.repeats && attributes.upward.is_none() {
            self.print(attributes, &lowered);
        }
        if !lowered.is_empty() {
            match self.trace.details_at(at) {
                Some(details) => details.attributes.append(&mut lowered),
                None => self.trace.orphaned.append(&mut lowered),
            }
        }
        self.trace.lowered = lowered;
    }

    /// Returns false of attributes of which nothing is wanted, and of which there is nothing to note.
    #[inline]
    fn wants(&mut self, attributes: &Attributes<'_>) -> bool {
        let mut pairs = attributes.keys();
        if self.shared.notes_only {
            // What is not a container cannot be too deep.
            while pairs.next_key().is_some() {
                if pairs.is_container() {
                    return true;
                }
            }
            return false;
        }
        let only_key = pairs.next_key().filter(|_| attributes.count == 1);
        let Some(symbol) = only_key.and_then(CborValue::symbol) else {
            return true;
        };
        if !self.shared.threads_only() {
            return true;
        }
        let tables = &mut self.shared.tables;
        let key = self.session.key(self.union, symbol, tables);
        if key == self.shared.of_trace() {
            return true;
        }
        let [name, id] = self.shared.of_threads();
        (key == name || key == id) && self.trace.asks_thread(attributes.upward.is_some())
    }

    /// Finds the record around the innermost one that attributes are for.
    fn upward(&mut self, ttype: i64, offset: u64) -> Option<usize> {
        let target = target(&self.trace.open, ttype);
        if target.is_none() {
            let text = format!("no enclosing trace of type #{ttype} for an upward attribute");
            self.say(warn("upward_target", offset, text));
        }
        target
    }

    /// Remembers the attributes of a trace by their content, by which it is known when posted again.
    fn print(&mut self, attributes: &Attributes<'_>, lowered: &[Attribute]) {
        let details = self.trace.open.last_mut();
        let details = details.and_then(|top| top.details.as_deref_mut());
        let Some(mark) = details.and_then(|details| details.mark.as_mut()) else {
            return;
        };
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
            if !self.shared.wants_exceptions() {
                return None;
            }
            let message = self.shared.tables.string(&format!("#{id}"));
            Some(self.shared.tables.exception(ModelException {
                class: None,
                message: Some(message),
                stack: None,
                cause: None,
            }))
        });
        if known.is_none() {
            self.trace.exceptions.insert(id, exception);
            let text = format!("exception #{id} is not in this trace");
            self.say(info("unknown_exception", offset, text));
        }
        self.failed(exception);
    }

    #[inline(always)]
    fn end(&mut self, end: &End, offset: u64) {
        self.trace.first.get_or_insert(end.time);
        if self.trace.deeper > 0 || self.trace.open.is_empty() || !end.closed {
            return self.end_apart(end, offset);
        }
        self.trace.last = end.time;
        self.close(&ending(end));
    }

    /// A record ends that is none of those held, whose beginning is not here, or that goes on.
    #[inline(never)]
    fn end_apart(&mut self, end: &End, offset: u64) {
        if self.trace.deeper > 0 {
            self.trace.deeper -= u64::from(end.closed);
            return;
        }
        if self.trace.open.is_empty() {
            self.orphan(end, offset);
        }
        self.trace.last = end.time;
        if let Some(details) = self.trace.details() {
            let flags = end.flags.or(details.ending.flags);
            details.ending = Ending {
                flags,
                ..ending(end)
            };
        }
        if end.closed {
            self.close_open();
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
            top.nanos = nanos;
            top.orphan = true;
        }
        if !attributes.is_empty()
            && let Some(details) = self.trace.details()
        {
            details.attributes = attributes;
        }
    }

    /// Closes the innermost record with what is known of its end.
    #[inline(never)]
    fn close_open(&mut self) {
        if self.trace.deeper > 0 {
            self.trace.deeper -= 1;
            return;
        }
        let top = self.trace.open.last();
        let details = top.and_then(|top| top.details.as_deref());
        let ending = details.map_or_else(Ending::default, |details| details.ending);
        self.close(&ending);
    }

    #[inline(always)]
    fn close(&mut self, ending: &Ending) {
        let Some(top) = self.trace.open.last() else {
            return;
        };
        let stop = ending.stop.unwrap_or(self.trace.last.max(top.raw));
        if self.shared.notes_only {
            return self.shared.close_unseen(self.trace, stop);
        }
        let start = self.wall(top.raw, !top.nanos);
        self.shared
            .close(self.trace, (start, stop), self.resource, ending);
    }

    /// Ends what is still open: the stream is over.
    pub(crate) fn finish(&mut self) {
        self.trace.deeper = 0;
        while !self.trace.open.is_empty() && !self.shared.stopped {
            self.close_open();
        }
    }
}

/// Returns what an item says of the end of its record.
#[inline]
fn ending(end: &End) -> Ending {
    Ending {
        stop: Some(end.time),
        calls: Some(end.calls),
        flags: end.flags,
    }
}

/// Finds the record an upward attribute is for: the nearest trace of its type, 0 for any (SPEC.md §1.2).
fn target(open: &[OpenRecord], ttype: i64) -> Option<usize> {
    let typed = |frame: &OpenRecord, ttype: Option<i64>| {
        let mark = frame.mark();
        mark.is_some_and(|mark| mark.ttype == ttype)
    };
    if ttype == 0 {
        return open.iter().rposition(|frame| frame.mark().is_some());
    }
    let found = open.iter().rposition(|frame| typed(frame, Some(ttype)));
    // B2's streaming tracer leaves the type out of its begins: the nearest trace without one.
    found.or_else(|| open.iter().rposition(|frame| typed(frame, None)))
}
