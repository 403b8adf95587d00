//! Recordings made from a seed, for laws, fuzzing and benches.

mod build;

pub use build::{Bytes, ChunkBuilder, Described, How, Member};

use crate::random::Random;

const TICKS: Option<(u64, &str)> = Some((40, "TICKS"));
const SPAN: Option<(u64, &str)> = Some((41, "TICKS"));
const BYTES: Option<(u64, &str)> = Some((42, "BYTES"));
const SHARE: Option<(u64, &str)> = Some((43, ""));
const UNSIGNED: Option<(u64, &str)> = Some((44, ""));

/// Types that every sample has.
pub const TYPES: &[Described] = &[
    Described(4, "boolean", &[]),
    Described(5, "char", &[]),
    Described(6, "float", &[]),
    Described(7, "double", &[]),
    Described(8, "byte", &[]),
    Described(9, "short", &[]),
    Described(10, "int", &[]),
    Described(11, "long", &[]),
    Described(20, "java.lang.String", &[]),
    Described(
        21,
        "java.lang.Class",
        &[
            Member("name", 30, How::Pool, None),
            Member("modifiers", 10, How::Here, None),
        ],
    ),
    Described(
        22,
        "java.lang.Thread",
        &[
            Member("osName", 20, How::Here, None),
            Member("osThreadId", 11, How::Here, None),
            Member("javaName", 20, How::Here, None),
            Member("javaThreadId", 11, How::Here, None),
        ],
    ),
    Described(
        24,
        "jdk.types.FrameType",
        &[Member("description", 20, How::Here, None)],
    ),
    Described(
        25,
        "jdk.types.ThreadState",
        &[Member("name", 20, How::Here, None)],
    ),
    Described(
        26,
        "jdk.types.StackTrace",
        &[
            Member("truncated", 4, How::Here, None),
            Member("frames", 31, How::Array, None),
        ],
    ),
    Described(
        28,
        "jdk.types.Method",
        &[
            Member("type", 21, How::Pool, None),
            Member("name", 30, How::Pool, None),
            Member("descriptor", 30, How::Pool, None),
            Member("modifiers", 10, How::Here, None),
        ],
    ),
    Described(
        30,
        "jdk.types.Symbol",
        &[Member("string", 20, How::Here, None)],
    ),
    Described(
        31,
        "jdk.types.StackFrame",
        &[
            Member("method", 28, How::Pool, None),
            Member("lineNumber", 10, How::Here, None),
            Member("bytecodeIndex", 10, How::Here, None),
            Member("type", 24, How::Pool, None),
        ],
    ),
    Described(
        32,
        "com.acme.Range",
        &[
            Member("from", 11, How::Here, UNSIGNED),
            Member("to", 11, How::Here, UNSIGNED),
        ],
    ),
    Described(40, "jdk.jfr.Timestamp", &[]),
    Described(41, "jdk.jfr.Timespan", &[]),
    Described(42, "jdk.jfr.DataAmount", &[]),
    Described(43, "jdk.jfr.Percentage", &[]),
    Described(44, "jdk.jfr.Unsigned", &[]),
    Described(
        101,
        "jdk.ExecutionSample",
        &[
            Member("startTime", 11, How::Here, TICKS),
            Member("sampledThread", 22, How::Pool, None),
            Member("stackTrace", 26, How::Pool, None),
            Member("state", 25, How::Pool, None),
        ],
    ),
    Described(
        102,
        "jdk.JavaMonitorEnter",
        &[
            Member("startTime", 11, How::Here, TICKS),
            Member("duration", 11, How::Here, SPAN),
            Member("eventThread", 22, How::Pool, None),
            Member("stackTrace", 26, How::Pool, None),
            Member("monitorClass", 21, How::Pool, None),
            Member("previousOwner", 22, How::Pool, None),
            Member("address", 11, How::Here, UNSIGNED),
        ],
    ),
    Described(
        103,
        "jdk.ObjectAllocationSample",
        &[
            Member("startTime", 11, How::Here, TICKS),
            Member("eventThread", 22, How::Pool, None),
            Member("stackTrace", 26, How::Pool, None),
            Member("objectClass", 21, How::Pool, None),
            Member("weight", 11, How::Here, BYTES),
        ],
    ),
    Described(
        104,
        "jdk.CPULoad",
        &[
            Member("startTime", 11, How::Here, TICKS),
            Member("jvmUser", 6, How::Here, SHARE),
        ],
    ),
    Described(
        105,
        "com.acme.Everything",
        &[
            Member("startTime", 11, How::Here, TICKS),
            Member("flag", 4, How::Here, None),
            Member("letter", 5, How::Here, None),
            Member("share", 7, How::Here, None),
            Member("tiny", 8, How::Here, None),
            Member("small", 9, How::Here, None),
            Member("number", 10, How::Here, None),
            Member("texts", 20, How::Array, None),
            Member("range", 32, How::Here, None),
            Member("ranges", 32, How::Array, None),
        ],
    ),
];

const THREADS: u64 = 8;

/// How many constants a chunk has: small chunks have few, so that events are most of them.
#[derive(Clone, Copy)]
struct Scale {
    methods: u64,
    stacks: u64,
}

impl Scale {
    fn of(size: u64) -> Self {
        Self {
            methods: (size / 500).clamp(4, 64),
            stacks: (size / 500).clamp(4, 200),
        }
    }
}

/// Makes about `bytes` bytes: chunks of a quarter megabyte, every fourth without compressed integers
/// and of version 1.
pub fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut made = 0;
    let mut number = 0;
    while made < bytes {
        let size = (bytes - made).min(256 << 10);
        let chunk = chunk(&mut random, number, size);
        made += chunk.len() as u64;
        number += 1;
        out(&chunk);
    }
}

fn chunk(random: &mut Random, number: i64, size: u64) -> Vec<u8> {
    let plain = number % 4 == 3;
    let scale = Scale::of(size);
    let start = 1_700_000_000_000_000_000 + number * 1_000_000_000;
    let rate = if plain { 1_000_000_000 } else { 1_800_000_000 };
    let mut chunk = ChunkBuilder::new(if plain { 1 } else { 2 }, !plain, start, rate);
    // Metadata first, as async-profiler writes it, or last, as the JDK does.
    if number % 2 == 1 {
        chunk.metadata(&[TYPES]);
    }
    let mut ticks = 1_000;
    while (chunk.out.len() as u64) < size {
        ticks += random.number(100_000);
        let (type_id, body) = event(random, scale, chunk.bytes().long(ticks));
        chunk.event(type_id, &body);
    }
    let empty = chunk.bytes();
    chunk.checkpoint(&symbols(scale, &empty));
    chunk.checkpoint(&stacks(random, scale, &empty));
    if number % 2 == 0 {
        chunk.metadata(&[TYPES]);
    }
    chunk.finish()
}

fn event(random: &mut Random, scale: Scale, body: Bytes) -> (u64, Bytes) {
    let thread = random.number(THREADS) + 1;
    let stack = random.number(scale.stacks) + 1;
    match random.number(40) {
        0 => {
            let share = f32::from(u8::try_from(random.number(100)).unwrap_or(0)) / 100.0;
            (104, body.raw(&share.to_be_bytes()))
        }
        1 => (105, everything(random, body)),
        2..6 => {
            let body = body.long(random.number(1 << 20)).long(thread).long(stack);
            let body = body.long(random.number(scale.methods) + 1).long(0);
            (102, body.long(0x7f00_0000_0000 + random.number(1 << 30)))
        }
        6..12 => {
            let body = body
                .long(thread)
                .long(stack)
                .long(random.number(scale.methods) + 1);
            (103, body.long(random.number(1 << 20)))
        }
        _ => (101, body.long(thread).long(stack).long(1)),
    }
}

fn everything(random: &mut Random, body: Bytes) -> Bytes {
    let body = body
        .raw(&[1])
        .short(0xe9)
        .raw(&f64::MIN_POSITIVE.to_be_bytes())
        .raw(&[0xff]);
    let body = body.short(0xffff).int(random.below(u32::MAX));
    // One string of every encoding.
    let body = body
        .int(6)
        .raw(&[0])
        .raw(&[1])
        .raw(&[2])
        .long(1)
        .text("caf\u{e9}");
    let body = body.raw(&[4]).int(2).short(0x61).short(0x20ac);
    let body = body.raw(&[5]).int(2).raw(&[0x61, 0xe9]);
    let body = body.long(1).long(u64::MAX).int(2);
    body.long(random.number(9)).long(1 << 62).long(3).long(4)
}

fn symbols(scale: Scale, empty: &Bytes) -> Vec<(u64, Vec<(u64, Bytes)>)> {
    let value = || empty.clone();
    let name = |at: u64| format!("com/acme/shop/Part{at}");
    let symbols = (1..=scale.methods)
        .map(|at| (at, value().text(&name(at))))
        .chain(
            (1..=scale.methods).map(|at| (scale.methods + at, value().text(&format!("step{at}")))),
        )
        .chain([(1_000, value().text("()V"))]);
    let threads = (1..=THREADS).map(|at| {
        let text = format!("worker-{at}");
        (
            at,
            value().text(&text).long(4_000 + at).text(&text).long(at),
        )
    });
    vec![
        (20, vec![(1, value().text("from the pool"))]),
        (22, threads.collect()),
        (
            24,
            vec![
                (1, value().text("JIT compiled")),
                (2, value().text("Inlined")),
            ],
        ),
        (25, vec![(1, value().text("STATE_RUNNABLE"))]),
        (30, symbols.collect()),
    ]
}

fn stacks(random: &mut Random, scale: Scale, empty: &Bytes) -> Vec<(u64, Vec<(u64, Bytes)>)> {
    let value = || empty.clone();
    let classes = (1..=scale.methods).map(|at| (at, value().long(at).int(1)));
    let methods = (1..=scale.methods).map(|at| {
        (
            at,
            value().long(at).long(scale.methods + at).long(1_000).int(1),
        )
    });
    let mut traces = Vec::new();
    for at in 1..=scale.stacks {
        let depth = random.below(30) + 1;
        let mut trace = value().raw(&[u8::from(depth == 30)]).int(depth);
        for _ in 0..depth {
            let method = random.number(scale.methods) + 1;
            trace = trace
                .long(method)
                .int(random.below(300))
                .int(7)
                .long(random.number(2) + 1);
        }
        traces.push((at, trace));
    }
    vec![
        (26, traces),
        (28, methods.collect()),
        (21, classes.collect()),
    ]
}
