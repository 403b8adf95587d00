//! What every format promises, checked over the registry, the corpus and `testdata`.
//!
//! Whatever the input: the records tile it, writing them gives it back, cutting it into chunks anywhere
//! changes neither records nor notes, and nothing panics. Inputs up to 4 KiB are cut, truncated and flipped at every
//! byte, read and lowered from the start each time; larger ones around every record and at 500 seeded places, where
//! a copy of the reader reads on. Where a record can only be read with all that is before it (a JFR chunk, a JSON
//! document), the places further into it than 32 KiB are sampled, and how many were left out is printed.
//! `TRACELOOM_LAWS=all` takes every byte of every input.

mod corpus;
mod obey;

use std::io::Read as _;
use std::path::Path;

use obey::{
    Place, adds_up, along, counts, cut, lowers, lowers_notes, lowers_stacks, obeys, sums_up,
    tells_beside, whole,
};
use proptest::prelude::*;
use traceloom_formats::{FORMATS, Format, Probe, Record, RecordSink, by_name, read_slice};
use traceloom_model::{Flow, Level, Limits, Note};

/// Inputs up to this size are treated exhaustively.
const SMALL: usize = 4096;
/// Places tried on larger inputs, of each kind.
const PLACES: usize = 500;
/// How far back a reader may want to begin at a place beside a record.
const REACH: usize = 32 << 10;
/// Bytes that places chosen at random may cost in all where a reader wants the whole document each time.
const WHOLE: usize = 32 << 20;
/// Bytes shown after a damage.
const AFTER: usize = 1024;
/// Notes of a lowering are compared at one of so many bytes of a small input.
const NOTED: usize = 32;
/// Times an input is lowered truncated and changed.
const LOWERED: usize = 20;

fn all() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the library reads no settings, its tests do"
    )]
    std::env::var_os("TRACELOOM_LAWS").is_some_and(|value| value == "all")
}

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("below a usize")
    }
}

/// Runs every law over one input.
fn laws(format: &'static Format, name: &str, input: &[u8]) {
    let law = |place: &str, result: Result<(), String>| {
        if let Err(fault) = result {
            panic!("{} {name} {place}: {fault}", format.name);
        }
    };
    let (expected, boundaries) = match whole(format, input) {
        Ok(found) => found,
        Err(fault) => panic!("{} {name}: {fault}", format.name),
    };
    law("lowered", lowers(format, input));
    law("noted", lowers_notes(format, input));
    law("stacks alone", lowers_stacks(format, input));
    law("steps", tells_beside(format, input));
    law("sums", adds_up(format, input));
    law("summed up", sums_up(format, input).map(drop));
    let mut random = Random(input.len() as u64);

    if input.len() <= SMALL {
        everywhere(format, name, input, expected, &mut random);
    }
    for step in [3, 17, 100, 1000, 4096, 5000, 20_000, 70_000] {
        let mut cuts = Vec::new();
        let mut at = 0;
        while at < input.len() {
            at += 1 + random.below(step * 2);
            cuts.push(at);
        }
        law(
            &format!("cut by {step}"),
            cut(format, input, &cuts, expected),
        );
        law(
            &format!("counted, cut by {step}"),
            counts(format, input, &cuts),
        );
    }
    let places = places(input, &boundaries, &mut random);
    let cuts: Vec<usize> = places.iter().map(|place| place.at).collect();
    law("cut around records", cut(format, input, &cuts, expected));
    match along(format, input, &places) {
        Ok(0) => {}
        Ok(left_out) => println!(
            "{} {name}: {left_out} of {} places are too far into a record",
            format.name,
            places.len()
        ),
        Err(fault) => panic!("{} {name} {fault}", format.name),
    }
    let mut changed = input.to_vec();
    for _ in 0..LOWERED {
        let at = random.below(input.len());
        law(
            &format!("lowered, truncated at {at}"),
            lowers(format, &input[..at]),
        );
        law(
            &format!("noted, truncated at {at}"),
            lowers_notes(format, &input[..at]),
        );
        law(
            &format!("counted, truncated at {at}"),
            counts(format, &input[..at], &[at / 2]),
        );
        law(
            &format!("stacks alone, truncated at {at}"),
            lowers_stacks(format, &input[..at]),
        );
        law(
            &format!("summed up, truncated at {at}"),
            sums_up(format, &input[..at]).map(drop),
        );
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 0x55;
            law(
                &format!("lowered, changed at {at}"),
                lowers(format, &changed),
            );
            law(
                &format!("steps, changed at {at}"),
                tells_beside(format, &changed),
            );
            law(&format!("sums, changed at {at}"), adds_up(format, &changed));
            law(
                &format!("counted, changed at {at}"),
                counts(format, &changed, &[at]),
            );
            law(
                &format!("noted, changed at {at}"),
                lowers_notes(format, &changed),
            );
            law(
                &format!("summed up, changed at {at}"),
                sums_up(format, &changed).map(drop),
            );
            changed[at] ^= 0x55;
        }
    }
}

/// Cuts, truncates and flips at every byte, reading and lowering from the start each time.
fn everywhere(
    format: &'static Format,
    name: &str,
    input: &[u8],
    expected: u64,
    random: &mut Random,
) {
    let law = |place: &str, at: usize, result: Result<(), String>| {
        if let Err(fault) = result {
            panic!("{} {name} {place} {at}: {fault}", format.name);
        }
    };
    let every: Vec<usize> = (1..input.len()).collect();
    law("cut everywhere", 0, cut(format, input, &every, expected));
    let mut flipped = input.to_vec();
    for at in 0..=input.len() {
        let shorter = &input[..at];
        law("cut at", at, cut(format, input, &[at], expected));
        let cuts = [random.below(at), at.saturating_sub(1)];
        law("truncated at", at, obeys(format, shorter, &cuts));
        // It lowers twice more.
        let is_noted = at % NOTED == 0;
        if is_noted {
            law("noted, truncated at", at, lowers_notes(format, shorter));
            law(
                "summed up, truncated at",
                at,
                sums_up(format, shorter).map(drop),
            );
        }
        if let Some(byte) = flipped.get_mut(at) {
            *byte ^= 1 << random.below(8);
            let cuts = [random.below(input.len()), at, at + 1];
            law("flipped at", at, obeys(format, &flipped, &cuts));
            law("counted, flipped at", at, counts(format, &flipped, &cuts));
            if is_noted {
                law("noted, flipped at", at, lowers_notes(format, &flipped));
                law(
                    "summed up, flipped at",
                    at,
                    sums_up(format, &flipped).map(drop),
                );
            }
            flipped[at] = input[at];
        }
    }
}

/// Chooses where to truncate and flip: around every record, and at [`PLACES`] more.
fn places(input: &[u8], boundaries: &[usize], random: &mut Random) -> Vec<Place> {
    // A reader that wants a whole document is shown all of it for each place.
    let whole = if all() {
        PLACES
    } else {
        WHOLE / input.len().max(1)
    };
    let mut places = Vec::new();
    for round in 0..PLACES {
        let reach = if round < whole { input.len() } else { REACH };
        places.push((random.below(input.len() + 1), reach));
    }
    if all() {
        places.extend((0..=input.len()).map(|at| (at, REACH)));
    }
    for &boundary in boundaries {
        let around = [boundary.saturating_sub(1), boundary, boundary + 1];
        places.extend(around.map(|at| (at.min(input.len()), REACH)));
    }
    // The longer reach first, which is the one that stays.
    places.sort_unstable_by_key(|&(at, reach)| (at, std::cmp::Reverse(reach)));
    places.dedup_by_key(|place| place.0);
    let place = |(at, reach): (usize, usize)| Place {
        at,
        seed: random.next().to_le_bytes()[0],
        after: reach.min(AFTER),
        reach,
    };
    places.into_iter().map(place).collect()
}

/// Finds the format with native records that claims a part most surely.
fn claimed(name: &str, bytes: &[u8]) -> Option<&'static Format> {
    let head = &bytes[..bytes.len().min(64 << 10)];
    let probe = Probe {
        head,
        whole: head.len() == bytes.len(),
        name,
        siblings: &[],
    };
    let claim = |format: &&'static Format| Some(((format.probe)(&probe)?, *format));
    let best = FORMATS.iter().filter_map(claim).max_by_key(|claim| claim.0);
    best.map(|(_, format)| format)
        .filter(|format| format.reader.is_some())
}

/// Unpacks gzip, with or without its trailer.
fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut out = Vec::new();
    // The error of a missing trailer comes after all the data.
    let _ = flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut out);
    out
}

#[test]
fn samples_obey() {
    for format in FORMATS {
        if let (Some(sample), Some(_)) = (traceloom_samples::by_name(format.name), format.reader) {
            for (seed, size) in [(1, 1000), (2, 3000), (3, 20_000)] {
                let mut bytes = Vec::new();
                sample(seed, size, &mut |piece| bytes.extend_from_slice(piece));
                laws(format, &format!("sample {seed}"), &bytes);
            }
        }
    }
}

#[test]
fn samples_are_summed_up() {
    for format in FORMATS.iter().filter(|format| format.summarise.is_some()) {
        let sample = traceloom_samples::by_name(format.name).expect("each has a sample");
        let mut bytes = Vec::new();
        sample(1, 20_000, &mut |piece| bytes.extend_from_slice(piece));
        assert_eq!(sums_up(format, &bytes), Ok(true), "{}", format.name);
    }
}

/// Slices, then flows that belong to earlier ones, and pieces of a profile of V8 among them, as Chromium writes them.
fn recorded_by_chromium() -> String {
    let mut events = Vec::new();
    for nth in 0..40_u64 {
        let at = format!(r#""pid":7,"tid":{},"ts":{}.5"#, nth % 3, nth * 10);
        events.push(format!(r#"{{"ph":"X",{at},"name":"price","dur":7}}"#));
        let of = format!(r#""ph":"P",{at},"id":"0x{}""#, nth % 2);
        let data = match nth % 8 {
            0 | 1 => format!(r#""startTime":{nth}"#),
            at => format!(
                r#""cpuProfile":{{"nodes":[{{"id":{at},"parent":{},"callFrame":{{"functionName":"f{at}",
                "url":"shop.js","lineNumber":{at}}}}}],"samples":[{at},{},9]}},"timeDeltas":[100,250,-5]"#,
                at - 1,
                at - 2
            ),
        };
        let name = if nth % 8 < 2 {
            "Profile"
        } else {
            "ProfileChunk"
        };
        events.push(format!(
            r#"{{{of},"name":"{name}","args":{{"data":{{{data}}}}}}}"#
        ));
    }
    for nth in 0..20_u64 {
        let phase = if nth % 2 == 0 { 'f' } else { 's' };
        let (thread, ts, id) = (nth % 3, nth * 19 % 380, nth / 2);
        events.push(format!(
            r#"{{"ph":"{phase}","bp":"e","pid":7,"tid":{thread},"ts":{ts},"id":{id},"name":"go"}}"#
        ));
    }
    format!("{{\"traceEvents\":[\n{}\n]}}", events.join(",\n"))
}

#[test]
fn what_chromium_records_obeys() {
    let chrome = by_name("chrome").expect("a format");
    let text = recorded_by_chromium();
    laws(chrome, "recorded by Chromium", text.as_bytes());
    assert_eq!(sums_up(chrome, text.as_bytes()), Ok(true));
}

/// Where records are, and the gravest note.
#[derive(Default)]
struct Ends {
    records: Vec<(usize, usize)>,
    worst: Option<Level>,
}

impl RecordSink for Ends {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let start = usize::try_from(record.offset()).expect("in memory");
        let length = usize::try_from(record.len()).expect("in memory");
        self.records.push((start, start + length));
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.worst = self.worst.max(Some(note.level));
        Flow::Continue(())
    }
}

fn ends(format: &Format, input: &[u8]) -> Ends {
    let mut ends = Ends::default();
    read_slice(format.reader(&Limits::default()).as_mut(), input, &mut ends);
    ends
}

/// Formats with records that say nothing when they are cut: lines of text are lines wherever they end, numbers in
/// JSON numbers, and slots of a table of counts are rows that were not written.
const OPEN_ENDED: &[&str] = &[
    "cdt-gc",
    "pyroscope-ingest",
    "pyroscope-config",
    "go-metrics",
    "gperf-cpu",
    "gperf-heap",
    "gperf-contention",
    "go-count",
    "go-goroutines",
    "java-threads",
    "top-text",
    "gc-log",
    "perf-script",
];

/// Formats of which a part is no whole wherever it ends: documents, chunks that state their length. Four bytes of
/// suspend may be a phrase or half a time, and a root that does not end is one of two in XML.
const DOCUMENTS: &[&str] = &[
    "cdt-suspend",
    "tptp-xml",
    "datakit-request",
    "pyroscope-config",
    "go-metrics",
    "jfr",
    "otlp-profiles",
    "otlp-profiles-json",
    "otlp-traces",
    "otlp-traces-json",
    "zipkin",
    "speedscope",
    "cpuprofile",
    "heapprofile",
    "stackprof",
];

/// Formats with records inside of what has an end of its own: blocks, phrases that state their length, calls. A part that
/// ends between two records may end inside of these.
const ENCLOSED: &[&str] = &[
    "cdt-trace",
    "cdt-dictionary",
    "cdt-params",
    "zorka-s0",
    "zorka-s0b",
    "zorka-b1",
    "zorka-b2",
    "zorka-c",
];

/// A record that began and does not end is a note that `check` fails for; an input that ends where a record does
/// is a stream that goes on, and no reason for one.
#[test]
fn a_cut_record_is_told() {
    let (mut silent, mut loud) = (Vec::new(), Vec::new());
    for format in FORMATS {
        let (Some(sample), Some(_)) = (traceloom_samples::by_name(format.name), format.reader)
        else {
            continue;
        };
        let mut bytes = Vec::new();
        sample(1, 1000, &mut |piece| bytes.extend_from_slice(piece));
        let all = ends(format, &bytes);
        assert!(all.worst < Some(Level::Warn), "{}", format.name);
        let step = all.records.len().div_ceil(60).max(1);
        let (mut untold, mut told) = (0, 0);
        for &(start, end) in all.records.iter().step_by(step) {
            let middle = start + (end - start) / 2;
            if middle > start && ends(format, &bytes[..middle]).worst < Some(Level::Warn) {
                untold += 1;
            }
            if ends(format, &bytes[..end]).worst >= Some(Level::Warn) {
                told += 1;
            }
        }
        if untold > 0 {
            silent.push((format.name, untold));
        }
        if told > 0 {
            loud.push((format.name, told));
        }
    }
    let names = |found: &[(&'static str, i32)]| -> Vec<&str> {
        found.iter().map(|found| found.0).collect()
    };
    assert_eq!(
        names(&silent),
        OPEN_ENDED,
        "silent inside of records: {silent:?}, loud at borders: {loud:?}"
    );
    let (enclosed, others): (Vec<_>, Vec<_>) =
        loud.iter().partition(|(name, _)| ENCLOSED.contains(name));
    assert_eq!(names(&enclosed), ENCLOSED, "loud at borders: {loud:?}");
    assert_eq!(names(&others), DOCUMENTS, "loud at borders: {loud:?}");
}

#[test]
fn noise_obeys() {
    for format in FORMATS.iter().filter(|format| format.reader.is_some()) {
        for seed in 0..8 {
            let mut random = Random(seed);
            let size = random.below(2000);
            let bytes: Vec<u8> = (0..size).map(|_| random.next().to_le_bytes()[0]).collect();
            laws(format, &format!("noise {seed}"), &bytes);
        }
        laws(format, "nothing", &[]);
        laws(format, "zeros", &[0; 300]);
        laws(format, "ones", &[0xff; 300]);
    }
}

fn obey(folder: &str, files: Vec<(String, Vec<u8>)>) {
    let mut inputs = 0;
    for (name, bytes) in files {
        let bytes = unpacked(bytes);
        let stem = name.trim_end_matches(".gz");
        if let Some(format) = claimed(stem, &bytes) {
            laws(format, &name, &bytes);
            inputs += 1;
        }
    }
    println!("{folder}: {inputs} inputs");
}

fn corpus_obeys(folder: &str) {
    let Some(files) = corpus::files(folder) else {
        return;
    };
    let inputs = files.into_iter().filter(|name| !name.contains("expected"));
    let read = |name: String| {
        let bytes = corpus::file(&name).expect("a file of the corpus");
        (name, bytes)
    };
    obey(folder, inputs.map(read).collect());
}

#[test]
fn corpus_cdt_obeys() {
    corpus_obeys("cdt");
}

#[test]
fn corpus_tptp_obeys() {
    corpus_obeys("tptp");
}

#[test]
fn corpus_datakit_obeys() {
    corpus_obeys("datakit");
}

/// Recordings behind each other are a recording: of several producers, versions and clocks.
#[test]
fn recordings_behind_each_other_lower_in_pieces() {
    let names = [
        "jfrp_example.jfr.gz",
        "jfrp_nativemem.jfr.gz",
        "jfrp_dump2.jfr.gz",
        "jfrp_nativemem.jfr.gz",
        // From here on endpoints of spans may hold for what follows: one piece.
        "jfrp_dd-trace-java.jfr.gz",
        "jfrp_object-allocation-sample.jfr.gz",
    ];
    let mut all = Vec::new();
    for name in names {
        let Some(bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        all.extend(unpacked(bytes));
    }
    let format = traceloom_formats::by_name("jfr").expect("the format");
    let source = traceloom_formats::SliceSource::default().with("all", format, &all);
    let split = format.split.expect("pieces");
    let pieces = split(&source, 0, &traceloom_model::Limits::default()).expect("it opens");
    assert!(pieces.is_some_and(|pieces| pieces.ranges.len() > names.len() - 2));
    assert_eq!(lowers(format, &all), Ok(()));
    // A cut last chunk is the last piece's, damage to a header is not cut around.
    for cut in [all.len() - 5_000, all.len() - 1, all.len() / 2] {
        assert_eq!(lowers(format, &all[..cut]), Ok(()), "cut at {cut}");
    }
}

#[test]
fn corpus_heph_obeys() {
    corpus_obeys("heph");
}

#[test]
fn corpus_zorka_obeys() {
    corpus_obeys("zorka");
}

#[test]
fn testdata_obeys() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let files = corpus::files_below(&root);
    obey("testdata", files);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes that nobody chose, behind the beginning of real ones: the body of the fuzz target.
    #[test]
    fn spliced_inputs_obey(
        row in 0..FORMATS.len(),
        keep in 0_usize..600,
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..800,
    ) {
        let format = FORMATS[row];
        if let (Some(sample), Some(_)) = (traceloom_samples::by_name(format.name), format.reader) {
            let mut input = Vec::new();
            sample(5, 600, &mut |piece| input.extend_from_slice(piece));
            input.truncate(keep);
            input.extend(noise);
            prop_assert_eq!(obeys(format, &input, &[at]), Ok(()));
        }
    }
}
