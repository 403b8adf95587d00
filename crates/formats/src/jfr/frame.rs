//! Cutting the input into chunks: by their headers where those are right, by what follows where not.

use std::ops::ControlFlow;

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::header::{HEADER, Header, MAGIC, begins_chunk, find_magic, is_cut_magic};
use super::walk::lands_on;
use crate::{Chunk, Step, damage, warn};

/// Bytes that belong to no chunk are handed on in pieces of this size.
const PIECE: usize = 64 << 10;

/// How a chunk's extent was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExtentSource {
    /// As its header says.
    Declared,
    /// Its writer never finished it.
    Unfinished,
    /// The input ends before the chunk does.
    Cut { missing: u64 },
    /// The header's size is wrong.
    Searched { declared: u64 },
    /// It is larger than the limit on records.
    Limited { declared: u64 },
}

/// Takes what the input is cut into.
pub(super) trait PieceSink {
    /// Takes a chunk.
    fn chunk(&mut self, bytes: &[u8], offset: u64, header: &Header, end: ExtentSource) -> Flow;

    /// Takes bytes that belong to no chunk.
    fn stray(&mut self, bytes: &[u8], offset: u64) -> Flow;

    /// Takes a note.
    fn note(&mut self, note: Note) -> Flow;
}

/// Where cutting stands between windows.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkCutter {
    /// Bytes of the window in which no chunk begins.
    searched: usize,
    stray: Option<Stray>,
}

/// Bytes of no chunk so far.
#[derive(Clone, Debug)]
struct Stray {
    offset: u64,
    count: u64,
    /// Another version of the format that begins there.
    version: Option<(u16, u16)>,
}

enum FrameStepResult {
    Need(usize),
    Stray(usize),
    Chunk(usize, Header, ExtentSource),
}

impl ChunkCutter {
    /// Hands on every whole piece of `window`.
    pub(super) fn feed(
        &mut self,
        window: Chunk<'_>,
        limits: &Limits,
        pieces: &mut dyn PieceSink,
    ) -> Step {
        let mut at = 0;
        loop {
            let rest = subslice(window.bytes, at..);
            let offset = window.offset + at as u64;
            if rest.is_empty() && window.eof {
                return match self.end_stray(pieces) {
                    ControlFlow::Break(()) => Step::Stop,
                    ControlFlow::Continue(()) => Step::More {
                        consumed: at,
                        need: 1,
                    },
                };
            }
            let flow = match self.next(rest, window.eof, limits) {
                FrameStepResult::Need(need) => return Step::More { consumed: at, need },
                FrameStepResult::Stray(len) => {
                    let bytes = rest.get(..len).unwrap_or(rest);
                    at += bytes.len();
                    let version = other_version(bytes);
                    let stray = self.stray.get_or_insert(Stray {
                        offset,
                        count: 0,
                        version,
                    });
                    stray.count += bytes.len() as u64;
                    pieces.stray(bytes, offset)
                }
                FrameStepResult::Chunk(len, header, end) => {
                    self.searched = 0;
                    let bytes = rest.get(..len).unwrap_or(rest);
                    at += bytes.len();
                    if self.end_stray(pieces).is_break() || note_end(offset, end, pieces).is_break()
                    {
                        return Step::Stop;
                    }
                    pieces.chunk(bytes, offset, &header, end)
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
        }
    }

    /// Returns true if all that was fed is handed on, so that something else may take chunks before the next window.
    pub(super) fn is_between_chunks(&self) -> bool {
        self.stray.is_none() && self.searched == 0
    }

    fn end_stray(&mut self, pieces: &mut dyn PieceSink) -> Flow {
        let Some(stray) = self.stray.take() else {
            return ControlFlow::Continue(());
        };
        let Stray {
            offset,
            count,
            version,
        } = stray;
        pieces.note(match version {
            Some((major, minor)) => {
                damage("unsupported_version", offset, unsupported(major, minor)).counting(count)
            }
            None => damage(
                "stray_bytes",
                offset,
                format!("{count} bytes belong to no chunk"),
            )
            .counting(count),
        })
    }

    fn next(&mut self, rest: &[u8], eof: bool, limits: &Limits) -> FrameStepResult {
        if !eof && rest.len() < HEADER + 8 {
            return FrameStepResult::Need(HEADER + 8);
        }
        let header = Header::read(rest).filter(Header::is_supported);
        let Some(header) = header.filter(|_| begins_chunk(rest)) else {
            return match find_magic(rest, 1) {
                Some(at) => FrameStepResult::Stray(at.min(PIECE)),
                None if eof || rest.len() >= PIECE + 8 => {
                    FrameStepResult::Stray(PIECE.min(rest.len()))
                }
                None => FrameStepResult::Need(PIECE + 8),
            };
        };
        let limit = limits.size(Limit::Record).max(HEADER);
        let declared = header.chunk_size;
        let Some(size) = usize::try_from(declared).ok().filter(|&size| size <= limit) else {
            return self.search(rest, eof, limit, header, ExtentSource::Limited { declared });
        };
        if !header.finished() {
            return self.search(rest, eof, limit, header, ExtentSource::Unfinished);
        }
        if !eof && rest.len() < size + 8 {
            return FrameStepResult::Need(size + 8);
        }
        let Some((chunk, after)) = rest.split_at_checked(size) else {
            let missing = (size - rest.len()) as u64;
            return match find_magic(rest, HEADER) {
                Some(at) => FrameStepResult::Chunk(at, header, ExtentSource::Searched { declared }),
                None => FrameStepResult::Chunk(rest.len(), header, ExtentSource::Cut { missing }),
            };
        };
        if after.is_empty() || begins_chunk(after) || (eof && is_cut_magic(after)) {
            return FrameStepResult::Chunk(size, header, ExtentSource::Declared);
        }
        // Something follows that is no chunk: either the size is wrong, or that is stray.
        if let Some(at) = find_magic(chunk, HEADER) {
            return FrameStepResult::Chunk(at, header, ExtentSource::Searched { declared });
        }
        if lands_on(chunk, &header) {
            return FrameStepResult::Chunk(size, header, ExtentSource::Declared);
        }
        self.search(
            rest,
            eof,
            limit,
            header,
            ExtentSource::Searched { declared },
        )
    }

    /// Looks for the end of a chunk whose size nobody knows: the next chunk, or the end of the input.
    fn search(
        &mut self,
        rest: &[u8],
        eof: bool,
        limit: usize,
        header: Header,
        end: ExtentSource,
    ) -> FrameStepResult {
        let declared = header.chunk_size;
        match find_magic(rest, HEADER.max(self.searched)) {
            Some(at) if at <= limit => return FrameStepResult::Chunk(at, header, end),
            _ if rest.len() >= limit + 8 || (eof && rest.len() > limit) => {
                return FrameStepResult::Chunk(limit, header, ExtentSource::Limited { declared });
            }
            _ if eof => {
                let end = match end {
                    ExtentSource::Limited { .. } => ExtentSource::Cut {
                        missing: declared.saturating_sub(rest.len() as u64),
                    },
                    other => other,
                };
                return FrameStepResult::Chunk(rest.len(), header, end);
            }
            _ => {}
        }
        self.searched = rest.len().saturating_sub(8);
        FrameStepResult::Need((rest.len() * 2).min(limit + 8))
    }
}

/// Returns the version in a header of the format that [`begins_chunk`] does not accept.
fn other_version(bytes: &[u8]) -> Option<(u16, u16)> {
    match *bytes {
        [b'F', b'L', b'R', 0, a, b, c, d, ..] if !begins_chunk(bytes) => {
            Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
        }
        _ => None,
    }
}

/// Returns the version when `bytes` begin a recording of one that is not read.
pub(super) fn unsupported_version(bytes: &[u8]) -> Option<(u16, u16)> {
    bytes
        .starts_with(MAGIC)
        .then(|| other_version(bytes))
        .flatten()
}

/// Says that a version is not read.
pub(super) fn unsupported(major: u16, minor: u16) -> String {
    let by = match major {
        0 => " (Oracle JDK 7 and 8)",
        _ => "",
    };
    format!("unsupported version {major}.{minor}{by}; versions 1.x and 2.x are read")
}

fn note_end(offset: u64, end: ExtentSource, pieces: &mut dyn PieceSink) -> Flow {
    pieces.note(match end {
        ExtentSource::Declared => return ControlFlow::Continue(()),
        ExtentSource::Unfinished => warn(
            "unfinished_chunk",
            offset,
            "the chunk was not finished; what is there of it is read",
        ),
        ExtentSource::Cut { missing } => damage(
            "cut_chunk",
            offset,
            format!("the input ends {missing} bytes before the chunk does"),
        )
        .counting(missing),
        ExtentSource::Searched { declared } => warn(
            "chunk_size",
            offset,
            format!(
                "no chunk ends after {declared} bytes; the next one or the end of the input counts"
            ),
        ),
        ExtentSource::Limited { declared } => damage(
            "limit_record",
            offset,
            format!("the chunk of {declared} bytes is above the limit `record`"),
        ),
    })
}
