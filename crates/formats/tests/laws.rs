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

use obey::{Place, along, cut, lowers, obeys, whole};
use proptest::prelude::*;
use traceloom_formats::{FORMATS, Format, Probe};

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
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 0x55;
            law(
                &format!("lowered, changed at {at}"),
                lowers(format, &changed),
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
        if let Some(byte) = flipped.get_mut(at) {
            *byte ^= 1 << random.below(8);
            let cuts = [random.below(input.len()), at, at + 1];
            law("flipped at", at, obeys(format, &flipped, &cuts));
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
        if let (Some(sample), Some(_)) = (format.sample, format.reader) {
            let mut input = Vec::new();
            sample(5, 600, &mut |piece| input.extend_from_slice(piece));
            input.truncate(keep);
            input.extend(noise);
            prop_assert_eq!(obeys(format, &input, &[at]), Ok(()));
        }
    }
}
