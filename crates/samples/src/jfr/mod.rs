//! Recordings made from a seed, for laws, fuzzing and benches.

mod build;

pub use build::{Bytes, ChunkBuilder, DescribedField, DescribedType, How};

use crate::random::Random;

const TICKS: Option<(u64, &str)> = Some((40, "TICKS"));
const SPAN: Option<(u64, &str)> = Some((41, "TICKS"));
const BYTES: Option<(u64, &str)> = Some((42, "BYTES"));
const SHARE: Option<(u64, &str)> = Some((43, ""));
const UNSIGNED: Option<(u64, &str)> = Some((44, ""));

/// Types that every sample has.
pub const TYPES: &[DescribedType] = &[
    DescribedType(4, "boolean", &[]),
    DescribedType(5, "char", &[]),
    DescribedType(6, "float", &[]),
    DescribedType(7, "double", &[]),
    DescribedType(8, "byte", &[]),
    DescribedType(9, "short", &[]),
    DescribedType(10, "int", &[]),
    DescribedType(11, "long", &[]),
    DescribedType(20, "java.lang.String", &[]),
    DescribedType(
        21,
        "java.lang.Class",
        &[
            DescribedField("name", 30, How::Pool, None),
            DescribedField("modifiers", 10, How::Here, None),
        ],
    ),
    DescribedType(
        22,
        "java.lang.Thread",
        &[
            DescribedField("osName", 20, How::Here, None),
            DescribedField("osThreadId", 11, How::Here, None),
            DescribedField("javaName", 20, How::Here, None),
            DescribedField("javaThreadId", 11, How::Here, None),
        ],
    ),
    DescribedType(
        24,
        "jdk.types.FrameType",
        &[DescribedField("description", 20, How::Here, None)],
    ),
    DescribedType(
        25,
        "jdk.types.ThreadState",
        &[DescribedField("name", 20, How::Here, None)],
    ),
    DescribedType(
        26,
        "jdk.types.StackTrace",
        &[
            DescribedField("truncated", 4, How::Here, None),
            DescribedField("frames", 31, How::Array, None),
        ],
    ),
    DescribedType(
        28,
        "jdk.types.Method",
        &[
            DescribedField("type", 21, How::Pool, None),
            DescribedField("name", 30, How::Pool, None),
            DescribedField("descriptor", 30, How::Pool, None),
            DescribedField("modifiers", 10, How::Here, None),
        ],
    ),
    DescribedType(
        30,
        "jdk.types.Symbol",
        &[DescribedField("string", 20, How::Here, None)],
    ),
    DescribedType(
        31,
        "jdk.types.StackFrame",
        &[
            DescribedField("method", 28, How::Pool, None),
            DescribedField("lineNumber", 10, How::Here, None),
            DescribedField("bytecodeIndex", 10, How::Here, None),
            DescribedField("type", 24, How::Pool, None),
        ],
    ),
    DescribedType(
        32,
        "com.acme.Range",
        &[
            DescribedField("from", 11, How::Here, UNSIGNED),
            DescribedField("to", 11, How::Here, UNSIGNED),
        ],
    ),
    DescribedType(40, "jdk.jfr.Timestamp", &[]),
    DescribedType(41, "jdk.jfr.Timespan", &[]),
    DescribedType(42, "jdk.jfr.DataAmount", &[]),
    DescribedType(43, "jdk.jfr.Percentage", &[]),
    DescribedType(44, "jdk.jfr.Unsigned", &[]),
    DescribedType(
        101,
        "jdk.ExecutionSample",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("sampledThread", 22, How::Pool, None),
            DescribedField("stackTrace", 26, How::Pool, None),
            DescribedField("state", 25, How::Pool, None),
        ],
    ),
    DescribedType(
        102,
        "jdk.JavaMonitorEnter",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("duration", 11, How::Here, SPAN),
            DescribedField("eventThread", 22, How::Pool, None),
            DescribedField("stackTrace", 26, How::Pool, None),
            DescribedField("monitorClass", 21, How::Pool, None),
            DescribedField("previousOwner", 22, How::Pool, None),
            DescribedField("address", 11, How::Here, UNSIGNED),
        ],
    ),
    DescribedType(
        103,
        "jdk.ObjectAllocationSample",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("eventThread", 22, How::Pool, None),
            DescribedField("stackTrace", 26, How::Pool, None),
            DescribedField("objectClass", 21, How::Pool, None),
            DescribedField("weight", 11, How::Here, BYTES),
        ],
    ),
    DescribedType(
        104,
        "jdk.CPULoad",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("jvmUser", 6, How::Here, SHARE),
        ],
    ),
    DescribedType(
        105,
        "com.acme.Everything",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("flag", 4, How::Here, None),
            DescribedField("letter", 5, How::Here, None),
            DescribedField("share", 7, How::Here, None),
            DescribedField("tiny", 8, How::Here, None),
            DescribedField("small", 9, How::Here, None),
            DescribedField("number", 10, How::Here, None),
            DescribedField("texts", 20, How::Array, None),
            DescribedField("range", 32, How::Here, None),
            DescribedField("ranges", 32, How::Array, None),
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
