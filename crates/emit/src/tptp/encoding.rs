//! Calls as messages of a profiler.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::message::MessageField::{self, Byte, Int, Long, PrintedText, Text, Time};
use super::message::{TraceForm, changes, put_foot, put_head, put_message};
use crate::bounds::saturated_usize;
use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::CallEncoding;
use crate::calls::event::CallEvent;
use crate::calls::method::MethodWord;
use crate::calls::names::NameTable;
use crate::clock::since_1970;

/// The form that a trace has from its next beginning on.
#[derive(Clone, Debug, Default)]
pub struct ChosenForm(Arc<AtomicBool>);

impl ChosenForm {
    pub fn new(form: TraceForm) -> Self {
        let chosen = Self::default();
        chosen.set(form);
        chosen
    }

    pub fn set(&self, form: TraceForm) {
        self.0.store(form == TraceForm::Binary, Ordering::Relaxed);
    }

    pub fn get(&self) -> TraceForm {
        match self.0.load(Ordering::Relaxed) {
            true => TraceForm::Binary,
            false => TraceForm::Xml,
        }
    }
}

/// Encodes calls as messages.
pub struct TptpEncoding {
    chosen: ChosenForm,
    /// The form of the trace that is being written.
    form: TraceForm,
    /// Nanoseconds from 1970 to the trace's time 0.
    epoch: u64,
    program: String,
    /// Ids of this trace's node, process, agent and trace.
    ids: [String; 4],
    /// Nanoseconds from 1970 to the beginning of the trace.
    since: u64,
    names: NameTable,
    /// Ids of classes, from 1, and the class of each method.
    classes: HashMap<String, u64>,
    methods: Vec<u64>,
    /// Classes that the trace has no definition of are behind these.
    n_defined: u64,
    threads: HashMap<u32, OpenTickets>,
}

/// Open calls of a thread.
#[derive(Default)]
struct OpenTickets {
    /// Name and ticket of each, the outermost first.
    open: Vec<(u32, u32)>,
    n_tickets: u32,
    last: u64,
    is_cut: bool,
}

impl TptpEncoding {
    pub fn new(chosen: ChosenForm, epoch: u64, program: &str) -> Self {
        Self {
            form: chosen.get(),
            chosen,
            epoch,
            program: program.to_owned(),
            ids: <[String; 4]>::default(),
            since: epoch,
            names: NameTable::new(&[]),
            classes: HashMap::new(),
            methods: Vec::new(),
            n_defined: 0,
            threads: HashMap::new(),
        }
    }

    fn put(&self, message: (u16, &str), fields: &[(&str, MessageField<'_>)], out: &mut Vec<u8>) {
        put_message(self.form, message, fields, out);
    }

    fn time(&self, time: u64) -> u64 {
        self.epoch.saturating_add(time)
    }

    /// Defines the methods that the trace does not know, and their classes.
    fn define(&mut self, out: &mut Vec<u8>) {
        let form = self.form;
        for name in self.names.untold().1 {
            let word = MethodWord::parse(name, &self.program);
            let next = self.classes.len() as u64 + 1;
            let class = match self.classes.get(word.class) {
                Some(&class) => class,
                None => {
                    self.classes.insert(word.class.to_owned(), next);
                    next
                }
            };
            if class > self.n_defined {
                self.n_defined = class;
                let fields = class_fields(class, &word);
                put_message(form, (1011, "classDef"), &fields, out);
            }
            self.methods.push(class);
            let method = self.methods.len() as u64;
            let fields = method_fields(class, method, &word);
            put_message(form, (1012, "methodDef"), &fields, out);
        }
    }

    fn enter(&mut self, thread: u32, number: u32, time: u64, out: &mut Vec<u8>) {
        let state = self.threads.entry(thread).or_default();
        state.n_tickets = state.n_tickets.wrapping_add(1);
        let ticket = state.n_tickets;
        state.open.push((number, ticket));
        let depth = state.open.len() as u64;
        let (class, method) = self.method(number);
        let fields = [
            ("transientThreadIdRef", Long(0)),
            ("threadIdRef", Long(thread.into())),
            ("time", Time(self.time(time))),
            ("methodIdRef", Long(method)),
            ("ticket", Int(ticket)),
            ("transientObjIdRef", Long(0)),
            ("classIdRef", Long(class)),
            ("threadCpuTime", Long(0)),
            ("sequenceCounter", Long(0)),
            ("stackDepth", Long(depth)),
            ("collationValue", Text("")),
            ("traceIdRef", Text("")),
        ];
        self.put((1015, "methodEntry"), &fields, out);
    }

    fn exit(&mut self, thread: u32, time: u64, out: &mut Vec<u8>) -> bool {
        let state = self.threads.entry(thread).or_default();
        let is_cut = std::mem::take(&mut state.is_cut);
        let Some((number, ticket)) = state.open.pop() else {
            return is_cut;
        };
        let (class, method) = self.method(number);
        let fields = [
            ("transientThreadIdRef", Long(0)),
            ("threadIdRef", Long(thread.into())),
            ("time", Time(self.time(time))),
            ("ticket", Int(ticket)),
            ("threadCpuTime", Long(0)),
            ("methodIdRef", Long(method)),
            ("transientObjIdRef", Long(0)),
            ("objIdRef", Long(0)),
            ("transientClassIdRef", Long(0)),
            ("classIdRef", Long(class)),
            ("sequenceCounter", Text("")),
            ("collationValue", Text("")),
            ("traceIdRef", Text("")),
        ];
        self.put((1016, "methodExit"), &fields, out);
        is_cut
    }

    /// Returns the ids of a name's class and method.
    fn method(&self, number: u32) -> (u64, u64) {
        let at = saturated_usize(number.into());
        let class = self.methods.get(at).copied().unwrap_or_default();
        (class, u64::from(number) + 1)
    }

    fn put_beginning(&self, out: &mut Vec<u8>) {
        let [node, process, agent, trace] = &self.ids;
        let time = ("time", Time(self.since));
        self.put(
            (1001, "node"),
            &[
                ("nodeId", Text(node)),
                ("hostname", Text("localhost")),
                ("ipaddress", Text("")),
                ("timezone", Int(0)),
                time,
            ],
            out,
        );
        self.put(
            (1002, "processCreate"),
            &[
                ("processId", Text(process)),
                ("name", Text(&self.program)),
                ("pid", Int(std::process::id())),
                ("nodeIdRef", Text(node)),
                time,
                ("application_executable", Text("")),
            ],
            out,
        );
        self.put(
            (1003, "agentCreate"),
            &[
                ("agentId", Text(agent)),
                ("processIdRef", Text(process)),
                ("agentName", Text("traceloom-emit")),
                ("agentType", Text("Profiler")),
                time,
                ("agentParameters", Text("")),
                ("version", Text(env!("CARGO_PKG_VERSION"))),
            ],
            out,
        );
        self.put(
            (1005, "traceStart"),
            &[
                ("traceId", Text(trace)),
                ("agentIdRef", Text(agent)),
                time,
                ("collationValue", Text("")),
            ],
            out,
        );
    }
}

fn class_fields<'m>(class: u64, word: &MethodWord<'m>) -> [(&'static str, MessageField<'m>); 19] {
    [
        ("transientThreadIdRef", Long(0)),
        ("threadIdRef", Long(0)),
        ("time", Time(0)),
        ("numInterfaces", Int(0)),
        ("interfaceNames", Text("")),
        ("transientClassId", Long(0)),
        ("classId", Long(class)),
        ("sourceName", Text(word.file)),
        ("classLoader", Text("")),
        ("superclass", Text("")),
        ("transientObjIdRef", Long(0)),
        ("objIdRef", Long(0)),
        ("name", Text(word.class)),
        ("access", Text("")),
        ("numStaticFields", Int(0)),
        ("numMethods", Int(0)),
        ("numInstanceFields", Int(0)),
        ("collationValue", Text("")),
        ("traceIdRef", Text("")),
    ]
}

fn method_fields<'m>(
    class: u64,
    method: u64,
    word: &MethodWord<'m>,
) -> [(&'static str, MessageField<'m>); 15] {
    [
        ("name", Text(word.method)),
        ("signature", Text(word.signature)),
        ("isNative", Byte(0)),
        ("isAbstract", Byte(0)),
        ("isStatic", Byte(0)),
        ("isSynchronized", Byte(0)),
        ("exceptions", Text("")),
        ("startLineNumber", Long(word.line)),
        ("endLineNumber", Long(0)),
        ("signatureNotation", Text("")),
        ("transientClassIdRef", Long(0)),
        ("classIdRef", Long(class)),
        ("methodId", Long(method)),
        ("collationValue", Text("")),
        ("traceIdRef", Text("")),
    ]
}

impl CallEncoding for TptpEncoding {
    fn begin(&mut self, now: u64, out: &mut Vec<u8>) {
        self.form = self.chosen.get();
        self.since = self.time(now);
        let process = u64::from(std::process::id()) << 32 | since_1970() & 0xffff_ffff;
        let kinds = ["node", "process", "agent", "trace"];
        self.ids = kinds.map(|kind| format!("{kind}-{process:016x}-{:016x}", self.since));
        self.names.tell_again();
        self.methods.clear();
        self.n_defined = 0;
        put_head(self.form, out);
        self.put_beginning(out);
    }

    fn thread(&mut self, thread: &CallBuffer, out: &mut Vec<u8>) {
        let since = self.time(thread.since).max(self.since);
        let fields = [
            ("transientThreadId", Long(0)),
            ("threadId", Long(thread.id.into())),
            ("time", Time(since)),
            ("groupName", Text("main")),
            ("parentName", PrintedText("")),
            ("transientObjIdRef", Long(0)),
            ("objIdRef", Long(0)),
            ("threadName", Text(&thread.name)),
            ("collationValue", Text("")),
            ("traceIdRef", Text("")),
        ];
        self.put((1009, "threadStart"), &fields, out);
        self.define(out);
        // Another trace had the beginnings of these.
        let state = self.threads.entry(thread.id).or_default();
        let (open, last) = (std::mem::take(&mut state.open), state.last);
        for (number, _) in open {
            self.enter(thread.id, number, last, out);
        }
    }

    fn event(&mut self, thread: &CallBuffer, event: &CallEvent<'_>, out: &mut Vec<u8>) -> bool {
        let state = self.threads.entry(thread.id).or_default();
        match *event {
            CallEvent::Enter { time, name } => {
                state.last = state.last.max(time);
                let last = state.last;
                let (number, is_shared) = self.names.number(name);
                state.is_cut |= is_shared | changes(self.form, name);
                self.define(out);
                self.enter(thread.id, number, last, out);
                false
            }
            // No message has attributes.
            CallEvent::Attribute { .. } => {
                state.is_cut = true;
                false
            }
            CallEvent::Exit { time } => {
                state.last = state.last.max(time);
                let last = state.last;
                self.exit(thread.id, last, out)
            }
            CallEvent::Lost { .. } => false,
        }
    }

    fn thread_ended(&mut self, thread: &CallBuffer, now: u64, out: &mut Vec<u8>) {
        let fields = [
            ("transientThreadIdRef", Long(0)),
            ("threadIdRef", Long(thread.id.into())),
            ("time", Time(self.time(now))),
            ("collationValue", Text("")),
            ("traceIdRef", Text("")),
        ];
        self.put((1010, "threadEnd"), &fields, out);
        self.threads.remove(&thread.id);
    }

    fn end(&mut self, now: u64, out: &mut Vec<u8>) {
        let [_, _, agent, trace] = &self.ids;
        let time = ("time", Time(self.time(now)));
        let fields = [
            ("traceIdRef", Text(trace)),
            time,
            ("collationValue", Text("")),
        ];
        self.put((1006, "traceEnd"), &fields, out);
        self.put(
            (1004, "agentDestroy"),
            &[("agentIdRef", Text(agent)), time],
            out,
        );
        put_foot(self.form, out);
    }
}
