//! Made-up traces of any size: threads that call, allocate, wait and collect.

use traceloom_formats::tptp::binary::{Shape, Writer};
use traceloom_formats::tptp::xml::{Instruction, write_message};
use traceloom_formats::tptp::{Draft, MESSAGES, Schema, by_element};

use crate::random::Random;

const EPOCH: u64 = 1_204_279_200_000_000_000;
/// Times are nanoseconds.
const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// Bytes gathered before they are handed on.
const FLUSH: usize = 64 << 10;
const N_THREADS: u64 = 4;
const N_CLASSES: u64 = 40;
const N_METHODS: u64 = 400;

/// Makes a binary trace of about `bytes` bytes.
pub(crate) fn binary(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    generate(seed, bytes, false, out);
}

/// Makes an XML trace of about `bytes` bytes.
pub(crate) fn xml(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    generate(seed, bytes, true, out);
}

#[derive(Default)]
struct SampleThread {
    stack: Vec<(u64, u64)>,
    ticket: u64,
}

struct Generator {
    /// Writes the binary form; none for XML.
    binary: Option<Writer>,
    out: Vec<u8>,
    random: Random,
    now: u64,
    written: u64,
    next_object: u64,
}

/// The row of a message this generator uses.
fn schema(element: &str) -> &'static Schema {
    static NODE: &Schema = match MESSAGES {
        [node, ..] => node,
        [] => panic!("the table has rows"),
    };
    by_element(element.as_bytes()).unwrap_or(NODE)
}

fn class_of(method: u64) -> u64 {
    method % N_CLASSES + 1
}

fn generate(seed: u64, bytes: u64, xml: bool, out: &mut dyn FnMut(&[u8])) {
    let mut begun = Vec::with_capacity(FLUSH + FLUSH / 4);
    let binary = if xml {
        begun.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        Instruction::default().write(&mut begun);
        begun.extend_from_slice(b"\n<TRACE>\n");
        None
    } else {
        let mut writer = Writer::new(Shape::default(), true);
        writer.descriptor(0, 1, &mut begun);
        writer.encoding("UTF-8", &mut begun);
        writer.frequency(TICKS_PER_SECOND, &mut begun);
        Some(writer)
    };
    let mut generator = Generator {
        binary,
        out: begun,
        random: Random::new(seed),
        now: EPOCH,
        written: 0,
        next_object: 1000,
    };
    let mut threads: Vec<SampleThread> = (0..N_THREADS).map(|_| SampleThread::default()).collect();
    generator.open();
    while generator.written + generator.out.len() as u64 <= bytes {
        let at = generator.random.number(N_THREADS);
        let slice = 1 + generator.random.number(30);
        if let Some(thread) = threads.get_mut(usize::try_from(at).unwrap_or(0)) {
            for _ in 0..slice {
                generator.step(at + 1, thread);
            }
        }
        generator.flush(out);
    }
    for (id, thread) in (1..).zip(&mut threads) {
        while !thread.stack.is_empty() {
            generator.exit(id, thread);
        }
        let time = generator.tick(100);
        let draft = Draft::new(schema("threadEnd")).number("threadIdRef", id);
        generator.put(&draft.number("time", time));
    }
    if xml {
        generator.out.extend_from_slice(b"</TRACE>\n");
    }
    out(&generator.out);
}

impl Generator {
    fn put(&mut self, draft: &Draft<'_>) {
        let message = draft.message();
        if let Some(writer) = &mut self.binary {
            writer.message(&message, &mut self.out);
        } else {
            write_message(&message, TICKS_PER_SECOND, &mut self.out);
            self.out.push(b'\n');
        }
    }

    fn flush(&mut self, out: &mut dyn FnMut(&[u8])) {
        if self.out.len() >= FLUSH {
            out(&self.out);
            self.written += self.out.len() as u64;
            self.out.clear();
        }
    }

    fn tick(&mut self, most: u64) -> u64 {
        self.now += 1 + self.random.number(most);
        self.now
    }

    fn open(&mut self) {
        let time = self.now;
        let node = Draft::new(schema("node"))
            .text("nodeId", "n-1")
            .text("hostname", "bench.example.org");
        self.put(&node.text("ipaddress", "192.0.2.1").number("time", time));
        let process = Draft::new(schema("processCreate"))
            .text("processId", "p-1")
            .number("pid", 4711);
        self.put(&process.text("nodeIdRef", "n-1").number("time", time));
        let agent = Draft::new(schema("agentCreate"))
            .text("agentId", "a-1")
            .text("processIdRef", "p-1");
        let agent = agent
            .text("agentName", "org.eclipse.tptp.jvmti")
            .text("agentType", "Profiler");
        self.put(&agent.text("version", "2.000").number("time", time));
        let trace = Draft::new(schema("traceStart"))
            .text("traceId", "t-1")
            .text("agentIdRef", "a-1");
        self.put(&trace.number("time", time));
        for id in 1..=N_THREADS {
            let name = format!("worker-{id}");
            let time = self.tick(100);
            let thread = Draft::new(schema("threadStart"))
                .number("threadId", id)
                .number("objIdRef", id);
            let thread = thread.text("groupName", "main").text("threadName", &name);
            self.put(&thread.number("time", time));
        }
        for id in 1..=N_CLASSES {
            let name = format!("org/example/shop/Class{id}");
            let file = format!("Class{id}.java");
            let time = self.tick(100);
            let class = Draft::new(schema("classDef"))
                .text("name", &name)
                .text("sourceName", &file);
            self.put(&class.number("classId", id).number("time", time));
        }
        for id in 1..=N_METHODS {
            let name = if id % 9 == 0 {
                "-init-".to_owned()
            } else {
                format!("step{id}")
            };
            let line = self.random.number(900) + 1;
            let method = Draft::new(schema("methodDef"))
                .text("name", &name)
                .text("signature", "(I)V");
            let method = method
                .number("startLineNumber", line)
                .number("endLineNumber", line + 20);
            self.put(
                &method
                    .number("methodId", id)
                    .number("classIdRef", class_of(id)),
            );
        }
    }

    fn step(&mut self, id: u64, thread: &mut SampleThread) {
        match self.random.number(1000) {
            0 => self.collect(),
            1 => self.contend(id, thread),
            2..80 => self.allocate(id, thread),
            80..560 if thread.stack.len() < 40 => self.enter(id, thread),
            _ if thread.stack.is_empty() => self.enter(id, thread),
            _ => self.exit(id, thread),
        }
    }

    fn enter(&mut self, id: u64, thread: &mut SampleThread) {
        let method = match thread.stack.last() {
            Some(&(method, _)) => (method * 7 + self.random.number(5)) % N_METHODS + 1,
            None => self.random.number(8) + 1,
        };
        thread.ticket += 1;
        thread.stack.push((method, thread.ticket));
        let entry = Draft::new(schema("methodEntry"))
            .number("threadIdRef", id)
            .number("time", self.tick(500));
        let entry = entry
            .number("methodIdRef", method)
            .number("ticket", thread.ticket);
        let entry = entry.number("classIdRef", class_of(method));
        self.put(&entry.number("stackDepth", thread.stack.len() as u64));
    }

    fn exit(&mut self, id: u64, thread: &mut SampleThread) {
        let Some((method, ticket)) = thread.stack.pop() else {
            return;
        };
        let exit = Draft::new(schema("methodExit"))
            .number("threadIdRef", id)
            .number("time", self.tick(2000));
        let exit = exit.number("ticket", ticket).number("methodIdRef", method);
        let cpu = self.now - EPOCH;
        self.put(
            &exit
                .number("classIdRef", class_of(method))
                .number("threadCpuTime", cpu),
        );
    }

    fn allocate(&mut self, id: u64, thread: &SampleThread) {
        self.next_object += 1;
        let method = thread.stack.last().map_or(0, |top| top.0);
        let size = 16 + 8 * self.random.number(40);
        let class = self.random.number(N_CLASSES) + 1;
        let object = Draft::new(schema("objAlloc"))
            .number("threadIdRef", id)
            .number("time", self.tick(50));
        let object = object
            .number("objId", self.next_object)
            .number("size", size);
        self.put(
            &object
                .number("methodIdRef", method)
                .number("classIdRef", class),
        );
    }

    fn collect(&mut self) {
        let start = Draft::new(schema("gcStart")).number("time", self.tick(10));
        self.put(&start);
        for _ in 0..self.random.number(6) {
            let object = 1000 + self.random.number(self.next_object - 999);
            let free = Draft::new(schema("objFree"))
                .number("time", self.tick(10))
                .number("objIdRef", object);
            self.put(&free.number("objAge", self.now % 3));
        }
        let finish = Draft::new(schema("gcFinish")).number("time", self.tick(90_000));
        self.put(&finish.number("usedObjSpace", self.next_object * 40));
    }

    fn contend(&mut self, id: u64, thread: &SampleThread) {
        let names: Vec<String> = thread
            .stack
            .iter()
            .rev()
            .take(8)
            .map(|(method, _)| format!("org/example/shop/Class{}.step{method}", class_of(*method)))
            .collect();
        let frames: Vec<(&[u8], u64)> = names.iter().map(|name| (name.as_bytes(), 30)).collect();
        let object = 1 + self.random.number(8);
        let owner = id % N_THREADS + 1;
        let enter = Draft::new(schema("monContendedEnter"))
            .number("threadIdRef", id)
            .number("objIdRef", object);
        let enter = enter
            .number("time", self.tick(10))
            .number("threadOwner", owner);
        self.put(&enter.stack(&frames));
        let entered = Draft::new(schema("monContendedEntered"))
            .number("threadIdRef", id)
            .number("objIdRef", object);
        let entered = entered.number("time", self.tick(20_000));
        self.put(&entered.stack(&frames));
    }
}
