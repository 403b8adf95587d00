//! Finding the next packet after damage (SPEC.md §6.7).

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Limit, Limits};

use super::parse::{self, find_magic};
use super::read::{Reader, followed};
use super::record::{EVENT, Visit};
use crate::{Chunk, Opaque};

/// Damage is shown in pieces of this many bytes, so that a file of noise needs no window of its size.
const PIECE: u64 = 64 << 10;

/// Bytes of failed candidates that a search may parse, besides [`WORK_PER_BYTE`].
const WORK: u64 = 16 << 20;
/// The same for each byte searched. Noise hardly ever looks like a packet, but an input can be made of
/// nested heads each of which parses far; this keeps the search linear.
const WORK_PER_BYTE: u64 = 16;
/// Candidates up to this size are tried even when the work is used up.
const SMALL: usize = 512;

/// A search under way.
#[derive(Clone, Debug)]
pub(super) struct ResyncScan {
    /// Where the damage begins.
    pub start: u64,
    /// What was found there.
    pub why: &'static str,
    from: u64,
    work: u64,
}

pub(super) enum Scanned {
    /// The damage ends `emitted` bytes into the window.
    Over {
        emitted: usize,
    },
    Wait {
        emitted: usize,
        need: usize,
    },
    Stop,
}

pub(super) enum ResyncState {
    Found(usize),
    Nothing,
    Wait(usize),
}

enum CandidateVerdict {
    Packet,
    No { size: usize },
    Wait(usize),
}

impl ResyncScan {
    pub fn new(start: u64, from: usize, why: &'static str) -> Self {
        Self {
            start,
            why,
            from: start + from as u64,
            work: 0,
        }
    }

    /// Searches the window, which begins where nothing is emitted yet, and emits what is damage.
    pub fn run<V: Visit>(
        &mut self,
        decoder: &Reader,
        limits: &Limits,
        window: Chunk<'_>,
        out: &mut V,
    ) -> Scanned {
        let Chunk { bytes, offset, eof } = window;
        let mut at = in_memory(self.from.saturating_sub(offset));
        let (end, need) = loop {
            let Some(found) = find_magic(bytes, at) else {
                if eof {
                    break (bytes.len(), None);
                }
                let seen = bytes.len().saturating_sub(3).max(at);
                break (seen.min(bytes.len()), Some(bytes.len() + 1));
            };
            let allowed = WORK + WORK_PER_BYTE * (offset + found as u64 - self.start);
            match verify(decoder, limits, window, found, allowed > self.work) {
                CandidateVerdict::Packet => break (found, None),
                CandidateVerdict::No { size } => {
                    self.work += size as u64;
                    at = found + 1;
                }
                CandidateVerdict::Wait(need) => break (found, Some(need)),
            }
        };
        self.from = self.from.max(offset + end as u64);
        let whole = need.is_some();
        match emit(self.start, window, end, whole, out) {
            None => Scanned::Stop,
            Some(emitted) => match need {
                None => Scanned::Over { emitted },
                Some(need) => Scanned::Wait {
                    emitted,
                    need: need
                        .saturating_sub(emitted)
                        .max(bytes.len().saturating_mul(2).min(1 << 20)),
                },
            },
        }
    }
}

/// Emits the damage before `end` of the window in pieces counted from `start`; only whole pieces when
/// `whole` is asked for. Returns how many bytes went out, none when the visitor broke.
fn emit<V: Visit>(
    start: u64,
    window: Chunk<'_>,
    end: usize,
    whole: bool,
    out: &mut V,
) -> Option<usize> {
    let mut emitted = 0;
    while emitted < end {
        let into = (window.offset + emitted as u64 - start) % PIECE;
        let length = in_memory(PIECE - into);
        let stop = end.min(emitted.saturating_add(length));
        if whole && stop - emitted < length {
            break;
        }
        let piece = window.bytes.get(emitted..stop)?;
        let opaque = Opaque::damage(window.offset + emitted as u64, piece);
        if out.opaque(&opaque).is_break() {
            return None;
        }
        emitted = stop;
    }
    Some(emitted)
}

/// Looks for a packet that begins inside the first `size` bytes of the window, after its head.
pub(super) fn inside(
    decoder: &Reader,
    limits: &Limits,
    window: Chunk<'_>,
    size: usize,
) -> ResyncState {
    let mut at = 4;
    let mut work = 0;
    while let Some(found) = find_magic(window.bytes, at).filter(|&found| found < size) {
        let allowed = WORK + WORK_PER_BYTE * found as u64;
        match verify(decoder, limits, window, found, allowed > work) {
            CandidateVerdict::Packet => return ResyncState::Found(found),
            CandidateVerdict::No { size } => work += size as u64,
            CandidateVerdict::Wait(need) => return ResyncState::Wait(need),
        }
        at = found + 1;
    }
    ResyncState::Nothing
}

/// Judges whether a packet begins at `at`: its size is in range, all of it parses, and either its text is
/// UTF-8, which no packet's first bytes are, or a packet or the end follows.
fn verify(
    decoder: &Reader,
    limits: &Limits,
    window: Chunk<'_>,
    at: usize,
    large: bool,
) -> CandidateVerdict {
    let none = CandidateVerdict::No { size: 0 };
    let bytes = subslice(window.bytes, at..);
    let Some(&[a, b, c, d, size @ ..]) = bytes.first_chunk::<8>() else {
        return if window.eof {
            none
        } else {
            CandidateVerdict::Wait(at + 8)
        };
    };
    let size = u64::from(u32::from_be_bytes(size));
    if size < 10 || size > limits.of(Limit::Record) {
        return none;
    }
    let size = in_memory(size);
    if size > SMALL && !large {
        return none;
    }
    let Some((packet, after)) = bytes.split_at_checked(size) else {
        return if window.eof {
            none
        } else {
            CandidateVerdict::Wait(at.saturating_add(size))
        };
    };
    let fits = if [a, b, c, d] == EVENT {
        let event = decoder.event(packet, 0).filter(|event| event.complete);
        event.map(|event| event.valid_text)
    } else {
        let metadata = parse::metadata(packet, 0);
        metadata
            .map(|metadata| !metadata.name.is_empty() && std::str::from_utf8(metadata.name).is_ok())
    };
    match (fits, followed(after, window.eof)) {
        (None, _) | (Some(false), Some(false)) => CandidateVerdict::No { size },
        (Some(true), _) | (_, Some(true)) => CandidateVerdict::Packet,
        (Some(false), None) => CandidateVerdict::Wait(at.saturating_add(size) + 4),
    }
}
