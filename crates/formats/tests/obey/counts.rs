//! Records that a reader sums up are those that it shows one by one.

use std::collections::BTreeMap;

use traceloom_formats::{Format, Record, RecordSink, RecordSums, read_chunked};
use traceloom_model::{Flow, Limits, Note};

/// What is counted of records, and their notes.
#[derive(Default, PartialEq, Debug)]
struct Counted {
    kinds: BTreeMap<String, u64>,
    end: u64,
    time: Option<(i64, i64)>,
    notes: Vec<Note>,
}

impl Counted {
    fn add(&mut self, kind: &str, n: u64) {
        *self.kinds.entry(kind.to_owned()).or_default() += n;
    }

    fn cover(&mut self, end: u64, time: Option<(i64, i64)>) {
        self.end = self.end.max(end);
        if let Some((start, end)) = time {
            let (first, last) = self.time.unwrap_or((start, end));
            self.time = Some((first.min(start), last.max(end)));
        }
    }
}

/// Counts records, and takes sums of them or does not.
struct Counter {
    takes_sums: bool,
    counted: Counted,
}

impl RecordSink for Counter {
    fn record(&mut self, record: &dyn Record) -> Flow {
        self.counted.add(record.kind(), 1);
        let end = record.offset() + record.len();
        self.counted.cover(end, record.time());
        Flow::Continue(())
    }

    fn only_sums(&self) -> bool {
        self.takes_sums
    }

    fn sums(&mut self, sums: &RecordSums<'_>) -> Flow {
        for &(kind, n) in sums.kinds.iter().filter(|&&(_, n)| n > 0) {
            self.counted.add(kind, n);
        }
        self.counted.cover(sums.end, sums.time);
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.counted.notes.push(note);
        Flow::Continue(())
    }
}

/// Counts the records of the input, in the pieces that `cuts` make, with sums and without.
///
/// # Errors
/// Where they differ.
#[allow(
    dead_code,
    reason = "not every user of the laws needs all of them at once"
)]
pub fn counts(format: &Format, input: &[u8], cuts: &[usize]) -> Result<(), String> {
    let Some(reader) = format.reader else {
        return Ok(());
    };
    let count = |takes_sums| {
        let mut counter = Counter {
            takes_sums,
            counted: Counted::default(),
        };
        let mut reader = reader(&Limits::default());
        read_chunked(reader.as_mut(), input, cuts.iter().copied(), &mut counter);
        counter.counted
    };
    let (shown, summed) = (count(false), count(true));
    match shown == summed {
        true => Ok(()),
        false => Err(format!(
            "one by one the records are {shown:?}, in sums {summed:?}"
        )),
    }
}
