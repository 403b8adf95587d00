//! Line protocol, parse and write: 50,000 points of five tags and eight fields against the crate
//! `influxdb-line-protocol`, in CPU time of the same run.
//!
//! `cargo bench -p traceloom-formats --bench line_protocol`
#![allow(missing_docs, reason = "a bench")]

use std::hint::black_box;

use influxdb_line_protocol::builder::{AfterMeasurement, AfterTimestamp, BeforeMeasurement};
use influxdb_line_protocol::{FieldValue as Theirs, LineProtocolBuilder, ParsedLine, parse_lines};
use traceloom_formats::lineproto::{Dialect, Line, Lines, OwnedPoint, Point, Writer};
use traceloom_formats::{Chunk, by_name};

mod cpu;

const ROUNDS: usize = 7;
const POINTS: usize = 50_000;

fn generate() -> Vec<u8> {
    let format = by_name("line-protocol").expect("line protocol is registered");
    let mut text = Vec::new();
    let sample = traceloom_samples::by_name(format.name).expect("a generator");
    sample(42, POINTS as u64 * 300, &mut |line| {
        text.extend_from_slice(line)
    });
    let end = memchr::memchr_iter(b'\n', &text).nth(POINTS - 1);
    text.truncate(end.expect("enough points") + 1);
    text
}

fn each(text: &[u8], mut take: impl FnMut(&Point<'_>)) {
    let chunk = Chunk {
        bytes: text,
        offset: 0,
        eof: true,
    };
    let mut lines = Lines::new(chunk, usize::MAX);
    while let Some(line) = lines.next() {
        match line {
            Line::Point(point) => take(point),
            other => panic!("every line is a point: {other:?}"),
        }
    }
}

type Builder<S> = LineProtocolBuilder<Vec<u8>, S>;

fn write_theirs(
    line: &ParsedLine<'_>,
    out: Builder<BeforeMeasurement>,
) -> Builder<BeforeMeasurement> {
    let mut series: Builder<AfterMeasurement> = out.measurement(line.series.measurement.as_str());
    for (key, value) in line.series.tag_set.iter().flatten() {
        series = series.tag(key.as_str(), value.as_str());
    }
    let mut fields = line.field_set.iter();
    macro_rules! add {
        ($builder:expr, $key:expr, $value:expr) => {
            match $value {
                Theirs::I64(value) => $builder.field($key, *value),
                Theirs::U64(value) => $builder.field($key, *value),
                Theirs::F64(value) => $builder.field($key, *value),
                Theirs::Boolean(value) => $builder.field($key, *value),
                Theirs::String(value) => $builder.field($key, value.as_str()),
            }
        };
    }
    let (key, value) = fields.next().expect("a field");
    let mut fielded = add!(series, key.as_str(), value);
    for (key, value) in fields {
        fielded = add!(fielded, key.as_str(), value);
    }
    let timed: Builder<AfterTimestamp> = fielded.timestamp(line.timestamp.unwrap_or(0));
    timed.close_line()
}

fn main() {
    let text = generate();
    let utf8 = std::str::from_utf8(&text).expect("generated text is UTF-8");
    let megabytes = text.len() as f64 / 1e6;
    println!("{megabytes:.1} MB, {POINTS} points, best of {ROUNDS} rounds, CPU time");

    let parse = cpu::best(ROUNDS, || {
        let mut n_values = 0;
        each(&text, |point| {
            n_values += point.tags.len() + point.fields.len()
        });
        assert_eq!(black_box(n_values), POINTS * 13);
    });
    let parse_theirs = cpu::best(ROUNDS, || {
        let mut n_values = 0;
        for line in parse_lines(utf8) {
            let line = line.expect("a line");
            n_values += line.series.tag_set.iter().flatten().count() + line.field_set.len();
        }
        assert_eq!(black_box(n_values), POINTS * 13);
    });
    report("parse", megabytes, parse, parse_theirs);

    // Writing alone: owned points, every text escaped again, every number printed.
    let mut points = Vec::new();
    each(&text, |point| points.push(OwnedPoint::from(point)));
    let mut out = Vec::with_capacity(text.len());
    let write = cpu::best(ROUNDS, || {
        out.clear();
        let mut writer = Writer::new(&mut out, Dialect::Influx);
        points.iter().for_each(|point| writer.point(point));
    });
    assert_eq!(out, text, "what was read is written");
    let lines: Vec<_> = parse_lines(utf8)
        .map(|line| line.expect("a line"))
        .collect();
    let write_theirs_alone = cpu::best(ROUNDS, || {
        let out = lines.iter().fold(LineProtocolBuilder::new(), |out, line| {
            write_theirs(line, out)
        });
        black_box(out.build());
    });
    report("write", megabytes, write, write_theirs_alone);

    let both = cpu::best(ROUNDS, || {
        out.clear();
        let mut writer = Writer::new(&mut out, Dialect::Influx);
        each(&text, |point| writer.borrowed(point));
    });
    assert_eq!(out, text, "what was read is written");
    let both_theirs = cpu::best(ROUNDS, || {
        let out = parse_lines(utf8).fold(LineProtocolBuilder::new(), |out, line| {
            write_theirs(&line.expect("a line"), out)
        });
        black_box(out.build());
    });
    report("parse and write", megabytes, both, both_theirs);
}

fn report(what: &str, megabytes: f64, ours: f64, theirs: f64) {
    println!(
        "{what}: {:.0} MB/s, the crate {:.0} MB/s: {:.1} times",
        megabytes / ours,
        megabytes / theirs,
        theirs / ours
    );
}
