//! Damage in a calls stream costs the rows around it: those behind it are found again, by `dump` and by lowering.

use traceloom_formats::{Record, RecordSink};

use super::*;

/// Rows of a calls stream: where each lies, counted from the end of the stream, and what it says.
#[derive(Default)]
struct Rows {
    rows: Vec<(u64, String)>,
    notes: Vec<Note>,
    bytes: u64,
}

impl RecordSink for Rows {
    fn record(&mut self, record: &dyn Record) -> Flow {
        self.bytes += record.len();
        if record.kind() == "call" {
            let mut says = String::new();
            record.fields(&mut |name, field| {
                // Deltas of lost rows are missing in the time, and names of lost rows are lost.
                if !matches!(name, "time" | "thread_name") {
                    says += &format!("{name}={field:?} ");
                }
            });
            self.rows.push((record.offset(), says));
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn rows(bytes: &[u8]) -> Rows {
    let mut rows = Rows::default();
    let mut reader = cdt::CALLS.reader(&Limits::default());
    read_slice(reader.as_mut(), bytes, &mut rows);
    assert_eq!(rows.bytes, bytes.len() as u64, "records tile the input");
    let end = bytes.len() as u64;
    for (at, _) in &mut rows.rows {
        *at = end - *at;
    }
    rows
}

/// Rows that one damaged byte may cost: its own, those read from its middle, and one whose thread lost its name.
const LOST: usize = 6;

fn costs_little(name: &str, stream: &[u8], tries: usize) {
    let whole = rows(stream);
    assert!(whole.notes.is_empty(), "{name}: {:?}", whole.notes);
    let all = whole.rows.len();
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let (mut silent, mut dear, mut tried) = (0, Vec::new(), 0);
    for _ in 0..tries {
        let at = 16 + random(stream.len() - 16);
        for kind in ["added", "removed", "changed"] {
            let mut bytes = stream.to_vec();
            match kind {
                "added" => bytes.insert(at, u8::try_from(random(256)).expect("a byte")),
                "removed" => drop(bytes.remove(at)),
                _ => bytes[at] ^= 0x80,
            }
            let found = rows(&bytes);
            tried += 1;
            let mut left: Vec<&str> = whole.rows.iter().map(|(_, says)| &**says).collect();
            for (_, says) in &found.rows {
                if let Some(at) = left.iter().position(|other| other == says) {
                    left.remove(at);
                }
            }
            let same = all - left.len();
            // One byte may change two rows without a trace: their border moves.
            silent += usize::from(found.notes.is_empty() && same + 2 < all);
            if same + LOST < all {
                dear.push(format!("{kind} at {at}: {same} of {all}"));
            }
        }
    }
    println!("{name}: {tried} tried, {silent} silent, dear {dear:?}");
    assert_eq!(silent, 0, "{name}");
    assert!(
        dear.len() * 50 <= tried,
        "{name}: {} of {tried}: {dear:?}",
        dear.len()
    );
}

fn sample_of(version: u8) -> Vec<u8> {
    let whole = sample(3, 400_000);
    let at = whole
        .parts
        .iter()
        .position(|part| part.format == Some(&cdt::CALLS));
    let bytes = &whole.bytes[at.expect("calls")];
    assert_eq!(bytes[7], version, "the format of the sample's rows");
    bytes.clone()
}

#[test]
fn one_byte_costs_the_rows_around_it() {
    let bytes = sample_of(4);
    // Up to a row's beginning.
    let cut = &bytes[..bytes.len().min(20_000)];
    let last = rows(cut).rows.last().map(|&(at, _)| usize::try_from(at));
    let last = last.expect("rows").expect("in memory");
    costs_little("sample", &cut[..cut.len() - last], 100);
    if let Some(bytes) = corpus::file("cdt/test-service/calls.bin") {
        costs_little("capture", &bytes, 60);
    }
}
