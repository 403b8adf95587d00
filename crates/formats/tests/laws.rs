//! What every format promises, checked over the registry, the corpus and `testdata`.
//!
//! Whatever the input: the records tile it, writing them gives it back, cutting it into chunks anywhere
//! changes neither records nor notes, and nothing panics. Inputs up to 4 KiB are cut and flipped at
//! every byte; larger ones around record boundaries and at 500 seeded places. `TRACELOOM_LAWS=all`
//! lifts the sampling.

mod corpus;

use std::hash::{Hash, Hasher};
use std::io::Read as _;
use std::path::Path;

use traceloom_formats::{
    ErrorKind, FORMATS, Field, Format, LowerOptions, Probe, Record, RecordSink, SliceSource,
    read_chunked, read_slice,
};
use traceloom_model::{Flow, Limits, Note, Recording};

/// Inputs up to this size are treated exhaustively.
const SMALL: usize = 4096;
/// Places tried on larger inputs, of each kind.
const PLACES: usize = 500;
/// Inputs above this size are left to `TRACELOOM_LAWS=all`.
const LARGE: usize = 512 << 10;

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

/// A digest that costs less than reading: equal runs give equal digests, different ones hardly ever.
struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
            self.0 = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Checks records against the input as they come, and folds all they show into a digest.
struct Check<'a> {
    input: &'a [u8],
    at: usize,
    fault: Option<String>,
    digest: Digest,
    boundaries: Vec<usize>,
    written: Vec<u8>,
}

impl<'a> Check<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            at: 0,
            fault: None,
            digest: Digest(0),
            boundaries: Vec::new(),
            written: Vec::new(),
        }
    }

    fn fault(&mut self, text: String) {
        self.fault.get_or_insert(text);
    }

    /// Returns the digest and the record boundaries, or what is wrong.
    fn verdict(mut self) -> Result<(u64, Vec<usize>), String> {
        if self.at != self.input.len() {
            let text = format!("records end at {:#x} of {:#x}", self.at, self.input.len());
            self.fault(text);
        }
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok((self.digest.finish(), self.boundaries)),
        }
    }
}

fn digest(field: &Field<'_>, into: &mut Digest) {
    std::mem::discriminant(field).hash(into);
    match field {
        Field::Null => {}
        Field::Bool(value) => value.hash(into),
        Field::U64(value) => value.hash(into),
        Field::I64(value) => value.hash(into),
        Field::F64(value) => value.to_bits().hash(into),
        Field::Str(value) => value.hash(into),
        Field::Text(value) | Field::Utf16(value) | Field::Bytes(value) => value.hash(into),
        Field::Id(table, value) => (table, value).hash(into),
        Field::List(values) => {
            values.len().hash(into);
            values.iter().for_each(|value| digest(value, into));
        }
        Field::Map(rows) => {
            rows.len().hash(into);
            for (key, value) in *rows {
                digest(key, into);
                digest(value, into);
            }
        }
    }
}

impl RecordSink for Check<'_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let kind = record.kind();
        if record.offset() != self.at as u64 {
            let text = format!("{kind} at {:#x}, not {:#x}", record.offset(), self.at);
            self.fault(text);
        }
        self.written.clear();
        record.write(&mut self.written);
        if record.len() != self.written.len() as u64 {
            let text = format!("{kind} at {:#x} writes another length", self.at);
            self.fault(text);
        }
        let end = self.at + self.written.len();
        if self.input.get(self.at..end) != Some(&self.written) {
            let text = format!("{kind} at {:#x} writes other bytes", self.at);
            self.fault(text);
        }
        self.boundaries.push(self.at);
        self.at = end;
        (kind, record.offset(), record.len(), record.time()).hash(&mut self.digest);
        record.fields(&mut |name, field| {
            name.hash(&mut self.digest);
            digest(&field, &mut self.digest);
        });
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        let Note {
            kind,
            level,
            offset,
            count,
            text,
            ..
        } = note;
        (kind, level, offset, count, text).hash(&mut self.digest);
        Flow::Continue(())
    }
}

/// Reads the input at once; returns digest and boundaries.
fn whole(format: &Format, input: &[u8]) -> Result<(u64, Vec<usize>), String> {
    let mut check = Check::new(input);
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        input,
        &mut check,
    );
    check.verdict()
}

/// Reads the input in pieces and compares with reading it at once.
fn cut(format: &Format, input: &[u8], cuts: &[usize], expected: u64) -> Result<(), String> {
    let mut check = Check::new(input);
    let mut reader = format.reader(&Limits::default());
    read_chunked(reader.as_mut(), input, cuts.iter().copied(), &mut check);
    let (found, _) = check.verdict().map_err(|fault| format!("cut: {fault}"))?;
    if found == expected {
        Ok(())
    } else {
        Err("cutting changes records or notes".to_owned())
    }
}

/// Lowers the input alone; the result only must not panic or fail.
fn lowers(format: &'static Format, input: &[u8]) -> Result<(), String> {
    let Some(lower) = format.lower else {
        return Ok(());
    };
    let source = SliceSource::default().with("part", format, input);
    let mut recording = Recording::default();
    match lower(&source, &LowerOptions::default(), &mut recording) {
        // A version that is not read is said so, not lowered to nothing.
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        result => result.map_err(|error| error.to_string()),
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
    let mut random = Random(input.len() as u64);

    let small = input.len() <= SMALL;
    if small {
        let every: Vec<usize> = (1..input.len()).collect();
        law("cut everywhere", cut(format, input, &every, expected));
        for &at in &every {
            law(&format!("cut at {at}"), cut(format, input, &[at], expected));
        }
    }
    for round in 0..8_u64 {
        let step = [3, 17, 100, 1000, 4096, 5000, 20_000, 70_000][round as usize];
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
    }

    for at in places(input, &boundaries, &mut random) {
        let shorter = &input[..at];
        let law = |result| law(&format!("truncated at {at}"), result);
        match whole(format, shorter) {
            Ok((digest, _)) => {
                let middle = random.below(at);
                law(cut(
                    format,
                    shorter,
                    &[middle, at.saturating_sub(1)],
                    digest,
                ));
            }
            Err(fault) => law(Err(fault)),
        }
        if small {
            law(lowers(format, shorter));
        }
    }
    let mut flipped = input.to_vec();
    for at in places(input, &boundaries, &mut random) {
        if at == input.len() {
            continue;
        }
        let bit = 1_u8 << random.below(8);
        flipped[at] ^= bit;
        let law = |result| law(&format!("flipped {bit:#04x} at {at}"), result);
        match whole(format, &flipped) {
            Ok((digest, _)) if small || random.below(4) == 0 => {
                let middle = random.below(input.len());
                law(cut(format, &flipped, &[middle, at, at + 1], digest));
            }
            Ok(_) => {}
            Err(fault) => law(Err(fault)),
        }
        if small {
            law(lowers(format, &flipped));
        }
        flipped[at] ^= bit;
    }
    if !small {
        for _ in 0..20 {
            let at = random.below(input.len());
            law(
                &format!("lowered, truncated at {at}"),
                lowers(format, &input[..at]),
            );
            flipped[at] ^= 0x55;
            law(
                &format!("lowered, changed at {at}"),
                lowers(format, &flipped),
            );
            flipped[at] ^= 0x55;
        }
    }
}

/// Chooses where to truncate or flip.
fn places(input: &[u8], boundaries: &[usize], random: &mut Random) -> Vec<usize> {
    if input.len() <= SMALL || all() {
        return (0..=input.len()).collect();
    }
    // What an input costs grows with its square; the budget keeps a run in seconds.
    let most = (PLACES * (64 << 10) / input.len()).clamp(50, PLACES);
    let mut places: Vec<usize> = (0..most).map(|_| random.below(input.len())).collect();
    for _ in 0..most {
        let at = boundaries[random.below(boundaries.len())];
        places.extend([at.saturating_sub(1), at, (at + 1).min(input.len())]);
    }
    places.sort_unstable();
    places.dedup();
    places
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
        if let (Some(sample), Some(_)) = (format.sample, format.reader) {
            for (seed, size) in [(1, 1000), (2, 3000), (3, 20_000)] {
                let mut bytes = Vec::new();
                sample(seed, size, &mut |piece| bytes.extend_from_slice(piece));
                laws(format, &format!("sample {seed}"), &bytes);
            }
        }
    }
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
        if bytes.len() > LARGE && !all() {
            continue;
        }
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
