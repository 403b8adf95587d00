//! Lowering the pieces of a part on several threads.

use std::num::NonZero;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use traceloom_formats::{Error, Lower, LowerOptions, Piece, Pieces, Source};
use traceloom_model::{Asks, Batch, Flow, Join, Sink, Stage, Timestamp};

use crate::Document;
use crate::ahead::lower_scouted;
use crate::pipe::Sender;

/// Pieces smaller than this are lowered together, and documents without a scout: threads, and tables told again, have a price.
const LEAST: u64 = 2 << 20;

/// Batches of each thread that may wait for their turn.
const AHEAD: usize = 64;

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are batches, and channels hold few"
)]
/// What a thread says: a batch of the piece it is at, or that the piece is over.
enum ThreadMessage {
    Passed(Batch),
    Over(Result<(), Error>),
}

impl From<Batch> for ThreadMessage {
    fn from(batch: Batch) -> Self {
        Self::Passed(batch)
    }
}

/// Lowers a document into `sink`: in pieces on all processors where its format can cut it and its bytes
/// can be read from anywhere, else as a whole. What the sink gets is the same.
///
/// Memory is, for each thread, what lowering a piece holds, at most all of it, with its tables and 64 batches. What is wrong with the
/// bytes before any format looks at them comes as notes at the end.
///
/// # Errors
/// What the format's lowering fails with. A document without format, or of one that is not lowered, is
/// empty.
pub fn lower(
    document: &Document<'_>,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    // How many processors there are is read from several files: what is too small to be cut needs no answer.
    let threads = match size_of_parts(document) < LEAST {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let mut unbroken = Unbroken {
        to: sink,
        broken: false,
    };
    lower_on(threads, LEAST, document, options, &mut unbroken)?;
    for note in document.notes() {
        if unbroken.broken || unbroken.note(note).is_break() {
            break;
        }
    }
    Ok(())
}

/// Remembers that the sink behind it wants no more.
struct Unbroken<'s> {
    to: &'s mut dyn Sink,
    broken: bool,
}

impl Stage for Unbroken<'_> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn wants_details(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        self.to.wants_details(start, end)
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let flow = batch.push(self.to);
        self.broken |= flow.is_break();
        flow
    }
}

/// Lowers on up to `threads` threads, in pieces of at least `least` bytes.
fn lower_on(
    threads: usize,
    least: u64,
    document: &Document<'_>,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let Some((format, lower)) = document
        .format()
        .and_then(|format| Some((format, format.lower?)))
    else {
        return Ok(());
    };
    let size = document.seekable_size().unwrap_or(0);
    if let Some(split) = format.split
        && threads > 1
        && size >= least.saturating_mul(2)
        && let Some(pieces) = split(document, 0, &options.limits)?
    {
        let ranges = gather(pieces.ranges.clone(), least);
        if ranges.len() > 1 {
            let pieces = Pieces { ranges, ..pieces };
            return lower_pieces(threads, document, lower, &pieces, options, sink);
        }
    }
    if let Some(scout) = format.scout
        && threads > 1
        && size_of_parts(document) >= least
        && options.only.is_none()
    {
        return lower_scouted(document, (scout, lower), options, sink);
    }
    lower(document, options, sink)
}

/// Returns the bytes of all parts whose sizes are known.
fn size_of_parts(document: &Document<'_>) -> u64 {
    let sizes = document.parts().iter().filter_map(|part| part.size);
    sizes.fold(0, u64::saturating_add)
}

/// Puts neighbours together until each piece has `least` bytes.
fn gather(ranges: Vec<Range<u64>>, least: u64) -> Vec<Range<u64>> {
    let mut gathered: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match gathered.last_mut() {
            Some(last) if last.end - last.start < least => last.end = range.end,
            _ => gathered.push(range),
        }
    }
    gathered
}

/// Thread `t` of `n` takes the pieces `t`, `t + n`, …; this one takes what they say in the order of the
/// pieces.
fn lower_pieces(
    threads: usize,
    document: &Document<'_>,
    lower: Lower,
    pieces: &Pieces,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let threads = threads.min(pieces.ranges.len());
    let options = &LowerOptions {
        whole: Some(pieces.whole),
        surveyed: pieces.surveyed.clone(),
        ..options.clone()
    };
    let asks = sink.asks();
    std::thread::scope(|scope| {
        let mut heard: Vec<Receiver<ThreadMessage>> = Vec::new();
        for thread in 0..threads {
            let (say, hear) = sync_channel(AHEAD);
            heard.push(hear);
            let mut sender = Sender {
                asks,
                sender: say.clone(),
            };
            scope.spawn(move || {
                for range in pieces.ranges.iter().skip(thread).step_by(threads) {
                    let piece = Piece::new(document, 0, range.clone());
                    let done = lower(&piece, options, &mut sender);
                    if over(&say, done).is_break() {
                        break;
                    }
                }
            });
        }
        let mut join = Join::new(sink);
        for thread in (0..threads).cycle().take(pieces.ranges.len()) {
            let Some(hear) = heard.get(thread) else { break };
            loop {
                match hear.recv() {
                    Ok(ThreadMessage::Passed(batch)) => {
                        if batch.push(&mut join).is_break() {
                            return Ok(());
                        }
                    }
                    Ok(ThreadMessage::Over(done)) => break done?,
                    // The thread panicked; the scope passes that on.
                    Err(_) => return Ok(()),
                }
            }
            join.next_piece();
        }
        Ok(())
    })
}

fn over(say: &SyncSender<ThreadMessage>, done: Result<(), Error>) -> Flow {
    match say.send(ThreadMessage::Over(done)) {
        Ok(()) => Flow::Continue(()),
        Err(_) => Flow::Break(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::Recording;

    use crate::{Input, OpenOptions};

    fn lowered(input: &Input, threads: usize) -> Vec<Recording> {
        let lower = |document: Document<'_>| {
            let mut recording = Recording::default();
            let options = LowerOptions::default();
            lower_on(threads, 1 << 10, &document, &options, &mut recording).unwrap();
            recording
        };
        input.documents().map(lower).collect()
    }

    #[test]
    fn several_threads_lower_what_one_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jfr");
        let mut bytes = Vec::new();
        let sample = traceloom_samples::by_name("jfr").unwrap();
        for seed in 0..5 {
            sample(seed, 64 << 10, &mut |piece| bytes.extend_from_slice(piece));
        }
        std::fs::write(&path, &bytes).unwrap();
        let input = Input::open(path.to_str().unwrap(), &OpenOptions::default()).unwrap();
        let document = input.documents().next().unwrap();
        let split = document.format().unwrap().split.unwrap();
        let pieces = split(&document, 0, &LowerOptions::default().limits).unwrap();
        assert!(pieces.unwrap().ranges.len() > 4);
        let serial = format!("{:?}", lowered(&input, 1)[0].events);
        for threads in [2, 3, 16] {
            let parallel = format!("{:?}", lowered(&input, threads)[0].events);
            assert!(serial == parallel, "{threads} threads");
        }
    }

    #[test]
    fn a_sink_that_breaks_ends_every_thread() {
        struct Once(u32);
        impl Sink for Once {
            fn define(&mut self, _new: traceloom_model::Definitions) -> Flow {
                self.0 += 1;
                Flow::Break(())
            }
            fn note(&mut self, _note: traceloom_model::Note) -> Flow {
                Flow::Continue(())
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jfr");
        let mut bytes = Vec::new();
        let sample = traceloom_samples::by_name("jfr").unwrap();
        sample(7, 1 << 20, &mut |piece| bytes.extend_from_slice(piece));
        std::fs::write(&path, &bytes).unwrap();
        let input = Input::open(path.to_str().unwrap(), &OpenOptions::default()).unwrap();
        let document = input.documents().next().unwrap();
        let mut once = Once(0);
        lower_on(4, 1 << 10, &document, &LowerOptions::default(), &mut once).unwrap();
        assert_eq!(once.0, 1);
    }
}
