//! Conversations with one byte added, removed or changed: what is whole of the streams is read, and the damage is told.

mod corpus;

use std::collections::BTreeMap;

use traceloom_formats::{Record, RecordSink, SlicePull, cdt, read_slice};
use traceloom_model::{Flow, Level, Limits, Note};

/// A stream's own bytes, and what is noted about them.
type Streams = BTreeMap<String, (Vec<u8>, usize)>;

fn streams(bytes: &[u8]) -> Streams {
    let members = cdt::TCP.members.expect("members");
    let members = members(&mut SlicePull::new(bytes, 0), &Limits::default()).expect("members");
    let stream = |member: traceloom_formats::Member| {
        let mut joined = Vec::new();
        for (offset, length) in member.pieces {
            let start = usize::try_from(offset).expect("in memory");
            let end = (start + length as usize).min(bytes.len());
            joined.extend_from_slice(&bytes[start..end]);
        }
        // The pod's name may be what is damaged.
        let name = member.name.split_once('/').expect("a folder").1.to_owned();
        (name, (joined, member.notes.len()))
    };
    members.into_iter().map(stream).collect()
}

struct Worst(Option<Level>);

impl RecordSink for Worst {
    fn record(&mut self, _: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0 = self.0.max(Some(note.level));
        Flow::Continue(())
    }
}

/// Returns the gravest note of the reader of commands.
fn worst(bytes: &[u8]) -> Option<Level> {
    let mut worst = Worst(None);
    let open = cdt::TCP.reader.expect("a reader");
    read_slice(open(&Limits::default()).as_mut(), bytes, &mut worst);
    worst.0
}

/// A stream may lose this much around one damaged byte: a command's data and the one it ran into.
const LOST: usize = 2 * 1024;

/// Returns whether every stream is there in its length, but for one byte, and differs in one place only.
fn keeps(whole: &Streams, damaged: &Streams) -> bool {
    whole.iter().all(|(name, (bytes, _))| {
        let Some((found, _)) = damaged.get(name) else {
            return false;
        };
        if found.len().abs_diff(bytes.len()) > 1 {
            return false;
        }
        let pairs = bytes.iter().zip(found);
        let front = pairs.take_while(|(a, b)| a == b).count();
        let pairs = bytes.iter().rev().zip(found.iter().rev());
        let back = pairs.take_while(|(a, b)| a == b).count();
        front + back + LOST >= bytes.len()
    })
}

fn mutations(name: &str, input: &[u8], places: usize) {
    let whole = streams(input);
    assert_eq!(worst(input), None, "{name}");
    assert!(whole.values().all(|(_, notes)| *notes == 0), "{name}");
    let mut state = 11_u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let (mut tried, mut kept) = (0, 0);
    let mut lost = Vec::new();
    for place in 0..places {
        // A third of the places are in heads, of which there are few bytes.
        let at = match place % 3 {
            0 => {
                let marks: Vec<usize> = (0..input.len() - 21)
                    .filter(|&at| input[at] == 2 && input[at + 17..at + 19] == [0, 0])
                    .collect();
                marks[random(marks.len())] + random(21)
            }
            _ => random(input.len()),
        };
        for kind in ["added", "removed", "changed"] {
            let mut bytes = input.to_vec();
            match kind {
                "added" => bytes.insert(at, u8::try_from(random(256)).expect("a byte")),
                "removed" => drop(bytes.remove(at)),
                _ => bytes[at] ^= 1 << random(8),
            }
            let found = streams(&bytes);
            tried += 1;
            if keeps(&whole, &found) {
                kept += 1;
            } else {
                let around = &bytes[at - 26..(at + 30).min(bytes.len())];
                lost.push(format!("{kind} at {at}: {around:02x?}"));
            }
            let shorter = whole.iter().any(|(name, (bytes, _))| {
                found
                    .get(name)
                    .is_none_or(|(found, _)| found.len() != bytes.len())
            });
            // A byte that was changed inside of data is for the stream's own reader to see.
            if kind != "changed" || shorter {
                let told = worst(&bytes) >= Some(Level::Warn);
                let noted = found.values().any(|(_, notes)| *notes > 0);
                assert!(
                    told || noted,
                    "{name} of {}: silent, a byte {kind} at {at}: {:02x?}",
                    bytes.len(),
                    &bytes[at - 30..(at + 30).min(bytes.len())]
                );
            }
        }
    }
    println!("{name}: {kept} of {tried} keep their streams; not {lost:?}");
    assert!(
        kept * 100 >= tried * 97,
        "{name}: {kept} of {tried}, not {lost:?}"
    );
}

#[test]
fn one_byte_costs_what_is_around_it() {
    let mut sample = Vec::new();
    let make = traceloom_samples::by_name(cdt::TCP.name).expect("a sample");
    make(3, 20_000, &mut |piece| sample.extend_from_slice(piece));
    mutations("sample", &sample, 80);
    if let Some(bytes) = corpus::file("cdt/tcp/test-service.tcpdump") {
        mutations("capture", &bytes, 40);
    }
}

/// The handshake is 96 bytes and opens nothing: without it the streams are there all the same.
#[test]
fn a_damaged_handshake_is_no_unknown_file() {
    let mut sample = Vec::new();
    let make = traceloom_samples::by_name(cdt::TCP.name).expect("a sample");
    make(3, 20_000, &mut |piece| sample.extend_from_slice(piece));
    let whole = streams(&sample);
    for at in [0, 3, 9, 20, 40] {
        let mut bytes = sample.clone();
        bytes.insert(at, 0x7f);
        assert!(keeps(&whole, &streams(&bytes)), "added at {at}");
        assert!(worst(&bytes) >= Some(Level::Warn), "added at {at}");
    }
}
