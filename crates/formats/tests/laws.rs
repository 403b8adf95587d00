//! What every format promises, checked over the registry, the corpus and `testdata`.
//!
//! Whatever the input: the records tile it, writing them gives it back, cutting it into chunks anywhere
//! changes neither records nor notes, and nothing panics. Inputs up to 4 KiB are cut and flipped at
//! every byte; larger ones at up to 500 seeded places and around as many record boundaries. `TRACELOOM_LAWS=all`
//! lifts the sampling.

mod corpus;
mod obey;

use std::io::Read as _;
use std::path::Path;

use obey::{cut, lowers, obeys, whole};
use proptest::prelude::*;
use traceloom_formats::{FORMATS, Format, Probe};

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
        if let (Some(sample), Some(_)) = (format.sample, format.reader) {
            let mut input = Vec::new();
            sample(5, 600, &mut |piece| input.extend_from_slice(piece));
            input.truncate(keep);
            input.extend(noise);
            prop_assert_eq!(obeys(format, &input, &[at]), Ok(()));
        }
    }
}
