//! Steps, spans and samples into a call tree: millions a CPU-second.
//!
//! `cargo bench -p traceloom-analysis --bench calltree`. Time is the process's CPU time, the best of
//! five runs, next to a pass that only sums the columns in memory.

#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a bench fails by panicking and prints rounded figures"
)]

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use traceloom_analysis::filter::Selection;
use traceloom_analysis::{TreeBuilder, TreeOptions};
use traceloom_model::{
    BATCH_ROWS, Clock, Definitions, Frame, Function, FunctionId, Order, Profile, SampleBatch,
    SampleRow, Sink, SpanBatch, SpanRow, Stack, StepBatch, Tables, Track, TrackId, Unit, ValueType,
};

/// Nodes of the tree built last.
static NODES: AtomicUsize = AtomicUsize::new(0);

/// A small generator: the bench needs variety, not quality.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

struct Program {
    tables: Tables,
    functions: Vec<FunctionId>,
    tracks: Vec<TrackId>,
}

impl Program {
    fn new() -> Self {
        let mut tables = Tables::new();
        let functions = (0..2_000)
            .map(|number| {
                let name = tables.string(&format!("com.acme.p{}.C{number}.run", number % 40));
                tables.function(Function::named(name))
            })
            .collect();
        let tracks = (0..16)
            .map(|number| {
                let name = tables.string(&format!("exec-{number}"));
                tables.track(Track::thread(name))
            })
            .collect();
        Self {
            tables,
            functions,
            tracks,
        }
    }

    /// Calls of a service. Each function has a body: up to four places that call something, each in a
    /// loop of up to five turns, one in ten turns left out. They begin in `entries`
    /// functions.
    fn steps(&self, count: usize, entries: u64) -> Vec<StepBatch> {
        let mut random = Random(7);
        let mut time = 1_600_000_000_000_000_000;
        let mut batches = vec![StepBatch::default()];
        // Function, layer, place in its body, turns left there.
        let mut open: Vec<(u64, u64, u64, u64)> = Vec::new();
        let mut track = self.tracks[0];
        let mut made = 0;
        while made < count {
            let batch = batches.last_mut().unwrap();
            if batch.len() >= BATCH_ROWS {
                batches.push(StepBatch::default());
                continue;
            }
            batch.track(track);
            time += i64::try_from(random.below(2_000)).unwrap();
            let Some((function, layer, place, turns)) = open.last_mut() else {
                track = self.tracks[usize::try_from(random.below(16)).unwrap()];
                batch.track(track);
                let entry = random.below(entries);
                open.push((entry, 0, 0, 1));
                batch.enter(time, self.functions[usize::try_from(entry).unwrap()]);
                made += 1;
                continue;
            };
            let mix = (*function * 2_654_435_761 + *place * 40_503) >> 4;
            let places = if *layer >= 14 {
                0
            } else {
                [1, 1, 2, 0, 3, 1, 4, 1][(mix % 8) as usize]
            };
            if *turns == 0 {
                *place += 1;
                *turns = 1 + mix / 8 % 5;
                continue;
            }
            if *place >= places {
                open.pop();
                batch.exit(time);
                made += 1;
                if open.is_empty() {
                    let row = u32::try_from(batch.calls.len()).unwrap();
                    batch
                        .calls
                        .push((u32::try_from(batch.len() - 1).unwrap(), row));
                }
                continue;
            }
            *turns -= 1;
            if random.below(10) == 0 {
                continue;
            }
            let callee = 20 + mix / 64 % 1_980;
            let layer = *layer + 1;
            open.push((callee, layer, 0, 1));
            batch.enter(time, self.functions[usize::try_from(callee).unwrap()]);
            made += 1;
        }
        batches
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's account of CPU time is a file"
)]
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    let ns: u64 = stat.split(' ').next().unwrap().parse().unwrap();
    ns as f64 / 1e9
}

fn best(rows: usize, what: &str, mut run: impl FnMut()) -> f64 {
    let seconds = (0..5)
        .map(|_| {
            let before = cpu_seconds();
            run();
            cpu_seconds() - before
        })
        .fold(f64::INFINITY, f64::min);
    let rate = rows as f64 / seconds / 1e6;
    println!(
        "{what:<34} {rate:>8.1} M/s {:>9} nodes",
        NODES.load(Relaxed)
    );
    rate
}

fn build(definitions: &Definitions, options: TreeOptions, push: impl FnOnce(&mut TreeBuilder)) {
    let mut builder = TreeBuilder::new(options);
    builder.begin(Order::Nested, Clock::Unix);
    let _ = builder.define(definitions.clone());
    push(&mut builder);
    let trees = black_box(builder.finish());
    NODES.store(trees.iter().map(|tree| tree.nodes.len()).sum(), Relaxed);
}

fn main() {
    let mut program = Program::new();
    let rows = 8_000_000;
    let batches = program.steps(rows, 20);
    let definitions = program.tables.take_definitions();

    let sum = best(rows, "columns summed", || {
        let mut sum = 0_i64;
        for batch in &batches {
            for (time, function) in batch.time.iter().zip(&batch.function) {
                sum = sum.wrapping_add(time ^ i64::from(function.map_or(0, FunctionId::raw)));
            }
        }
        black_box(sum);
    });
    // Batches are given away, so each run gets copies made before.
    let mut copies: Vec<Vec<StepBatch>> = vec![batches.clone(); 5];
    let plain = best(rows, "steps to tree", || {
        let batches = copies.pop().unwrap();
        build(&definitions, TreeOptions::default(), |builder| {
            for batch in batches {
                let _ = builder.steps(batch);
            }
        });
    });
    println!("{:<34} {:>8.2}", "  share of the sum", plain / sum);
    let mut copies: Vec<Vec<StepBatch>> = vec![program.steps(rows, 2_000); 5];
    best(rows, "steps to a wide tree", || {
        let batches = copies.pop().unwrap();
        build(&definitions, TreeOptions::default(), |builder| {
            for batch in batches {
                let _ = builder.steps(batch);
            }
        });
    });
    let mut copies: Vec<Vec<StepBatch>> = vec![batches.clone(); 5];
    best(rows, "steps to tree, calls of > 100 us", || {
        let batches = copies.pop().unwrap();
        let calls = Selection {
            min_duration: 100_000,
            ..Selection::default()
        };
        let options = TreeOptions {
            calls: Some(calls),
            ..TreeOptions::default()
        };
        build(&definitions, options, |builder| {
            for batch in batches {
                let _ = builder.steps(batch);
            }
        });
    });

    spans(&program, &batches, &definitions);
    samples(&mut program);
}

fn spans(program: &Program, batches: &[StepBatch], definitions: &Definitions) {
    let mut open = vec![Vec::new(); program.tracks.len()];
    let mut made = vec![SpanBatch::default()];
    let mut next = 0;
    for batch in batches.iter().take(16) {
        for (track, range) in batch.runs() {
            let open: &mut Vec<_> = &mut open[track.index()];
            for step in range {
                if let Some(function) = batch.function[step] {
                    open.push((traceloom_model::SpanId(next), function, batch.time[step]));
                    next += 1;
                } else if let Some((id, function, start)) = open.pop() {
                    let parent = open.last().map(|&(id, ..)| id);
                    let row = SpanRow {
                        parent,
                        ..SpanRow::call(id, track, function, start, batch.time[step])
                    };
                    if made.last().unwrap().len() >= BATCH_ROWS {
                        made.push(SpanBatch::default());
                    }
                    made.last_mut().unwrap().push(&row);
                }
            }
        }
    }
    let rows = made.iter().map(SpanBatch::len).sum();
    let mut copies = vec![made; 5];
    best(rows, "spans to tree", || {
        let made = copies.pop().unwrap();
        build(definitions, TreeOptions::default(), |builder| {
            for batch in made {
                let _ = builder.spans(batch);
            }
        });
    });
}

fn samples(program: &mut Program) {
    let tables = &mut program.tables;
    let mut random = Random(11);
    let mut stacks = Vec::new();
    for number in 0..50_000 {
        let function = program.functions[usize::try_from(random.below(2_000)).unwrap()];
        let frame = tables.frame(Frame::of(function));
        let parent = (number > 0).then(|| stacks[number / 2]);
        stacks.push(tables.stack(Stack::under(parent, frame)));
    }
    let cpu = tables.string("cpu");
    let cpu = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
    let profile = tables.profile(Profile {
        value_types: vec![cpu],
        ..Profile::default()
    });
    let mut batches = vec![SampleBatch::new(profile, 1)];
    let rows = 4_000_000;
    for _ in 0..rows {
        if batches.last().unwrap().len() >= BATCH_ROWS {
            batches.push(SampleBatch::new(profile, 1));
        }
        batches.last_mut().unwrap().push(&SampleRow {
            stack: Some(stacks[usize::try_from(random.below(50_000)).unwrap()]),
            values: &[10_000_000],
            time: None,
            track: None,
            span: None,
            labels: &[],
        });
    }
    let definitions = program.tables.take_definitions();
    let mut copies = vec![batches; 5];
    best(rows, "samples to tree", || {
        let batches = copies.pop().unwrap();
        build(&definitions, TreeOptions::default(), |builder| {
            for batch in batches {
                let _ = builder.samples(batch);
            }
        });
    });
}
