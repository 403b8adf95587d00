//! Where the bytes of a part are, and readers of them.

mod window;

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use traceloom_formats::protocol::Identity;
use traceloom_formats::{Format, Pull, SlicePull, damage, info};
use traceloom_model::Note;
use traceloom_model::bounds::subslice;

use crate::captures::profile_index::SealedAt;
use crate::intake::Intake;
use crate::layers::{Ending, Wrapper};
use crate::progress::ProgressMark;
use crate::spool::{Spool, SpoolReader};
use crate::{Error, Progress};
use window::GrowingWindow;

/// The stored bytes of a part.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// A file on disk, opened when read.
    File(PathBuf),
    /// Bytes already taken in: standard input, a member of an archive.
    Spooled(Spool),
    /// Pieces of another part's decoded bytes; `starts` are their offsets in this part.
    Pieces {
        whole: Arc<StoredBytes>,
        pieces: Vec<(u64, u32)>,
        starts: Vec<u64>,
    },
}

/// Stored bytes, the wrappers around the decoded ones, and a decoded copy once one was needed.
#[derive(Debug)]
pub(crate) struct StoredBytes {
    pub(crate) path: String,
    pub(crate) store: Store,
    pub(crate) wrappers: Vec<Wrapper>,
    pub(crate) size: u64,
    pub(crate) mark: ProgressMark,
    /// What was wrong with the archive or the member that the bytes come from.
    pub(crate) opening: Vec<Note>,
    /// Who sent it, where a collector received it.
    pub(crate) sender: Option<Arc<Identity>>,
    /// The sealed capture that it is of.
    pub(crate) sealed: Option<Arc<SealedAt>>,
    /// What it was recognised as when it was opened before.
    pub(crate) format: Option<&'static Format>,
    /// What all parts of the input may take together.
    pub(crate) intake: Arc<Intake>,
    reached: ProgressMark,
    decoded: OnceLock<Spool>,
    /// Where the decoded bytes end too early, once a reader came there.
    ending: OnceLock<(u64, Ending)>,
}

impl StoredBytes {
    pub(crate) fn new(path: String, store: Store, size: u64) -> Self {
        Self {
            path,
            store,
            wrappers: Vec::new(),
            size,
            mark: ProgressMark::default(),
            opening: Vec::new(),
            sender: None,
            sealed: None,
            format: None,
            intake: Arc::default(),
            reached: ProgressMark::default(),
            decoded: OnceLock::new(),
            ending: OnceLock::new(),
        }
    }

    /// Counts what it decodes to with the rest of an input.
    pub(crate) fn of(self, intake: &Arc<Intake>) -> Self {
        let intake = intake.clone();
        Self { intake, ..self }
    }

    /// Remembers that decoding ended at `at` with an error, or says that it was the system's own.
    pub(crate) fn ended(&self, at: u64, error: io::Error) -> Result<(), Error> {
        let ending = Ending::of(error, &self.path)?;
        let _ = self.ending.set((at, ending));
        Ok(())
    }

    /// Returns what is wrong with the bytes themselves, as far as they were read.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let mut notes = self.opening.clone();
        match self.ending.get() {
            None => {}
            Some(&(at, Ending::NoTrailer)) => notes.push(info(
                "compressed_without_end",
                at,
                "the compressed stream stops before its end",
            )),
            Some((at, Ending::Corrupt(why))) => {
                notes.push(damage("compressed_corrupt", *at, why.as_str()));
            }
            Some((at, Ending::Unreadable(why))) => {
                let text = format!("the file cannot be read from here on: {why}");
                notes.push(damage("unreadable", *at, text));
            }
            Some((at, Ending::Limit(kind, text))) => notes.push(damage(kind, *at, text.as_str())),
        }
        notes
    }

    /// Finds and notes the wrappers, at most four deep.
    pub(crate) fn unwrap_layers(mut self) -> Result<Self, Error> {
        const DEEPEST: usize = 4;
        while self.wrappers.len() < DEEPEST {
            let head = self.head(512)?;
            let Some(wrapper) = Wrapper::detect(&head) else {
                break;
            };
            self.wrappers.push(wrapper);
        }
        Ok(self)
    }

    /// Returns up to `len` decoded bytes from the beginning, fewer only where there are fewer.
    pub(crate) fn head(&self, len: usize) -> Result<Vec<u8>, Error> {
        let mut head = Vec::new();
        let mut reader = self.decoder(&Progress::default())?;
        let mut buffer = [0; 8 << 10];
        while head.len() < len {
            let want = (len - head.len()).min(buffer.len());
            let Some(window) = buffer.get_mut(..want) else {
                break;
            };
            match reader.read(window) {
                Ok(0) => break,
                Ok(got) => head.extend_from_slice(subslice(window, ..got)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A file of which nothing can be read is no input.
                Err(error) if head.is_empty() && error.raw_os_error().is_some() => {
                    return Err(Error::io(&self.path, error));
                }
                Err(error) => {
                    Ending::of(error, &self.path)?;
                    break;
                }
            }
        }
        Ok(head)
    }

    /// Returns the length of the decoded bytes where it is known without decoding.
    pub(crate) fn decoded_size(&self) -> Option<u64> {
        let wrapped = self.wrappers.iter().any(|wrapper| !wrapper.is_archive());
        let spooled = self.decoded.get().map(Spool::size);
        if wrapped { spooled } else { Some(self.size) }
    }

    /// Reads the decoded bytes from `offset` on.
    ///
    /// A compressed part read from the middle is decoded once to a spool.
    pub(crate) fn reader(
        &self,
        offset: u64,
        progress: &Progress,
    ) -> Result<Box<dyn Read + '_>, Error> {
        if self
            .decoded_size()
            .is_some_and(|_| self.decoded.get().is_none())
        {
            return self.stored_reader(offset, progress);
        }
        if let Some(spool) = self.decoded.get() {
            return Ok(Box::new(SpoolReader::new(spool.clone(), offset)));
        }
        let reader = self.decoder(progress)?;
        if offset == 0 {
            return Ok(self.keeping(reader, progress));
        }
        let spool = self.decoded_to_end(reader)?;
        Ok(Box::new(SpoolReader::new(spool, offset)))
    }

    /// Pulls the decoded bytes from `offset` on: those in memory as they are, others in windows.
    pub(crate) fn pull(
        &self,
        offset: u64,
        progress: &Progress,
    ) -> Result<Box<dyn Pull + '_>, Error> {
        let reader = self.reader(offset, progress)?;
        Ok(match self.decoded.get() {
            Some(Spool::Memory(bytes)) => Box::new(SlicePull::new(bytes, offset)),
            _ => Box::new(GrowingWindow::new(reader, self, offset)),
        })
    }

    /// Decodes everything to a spool.
    fn decoded_to_end(&self, reader: impl Read) -> Result<Spool, Error> {
        let (spool, error) =
            Spool::fill(reader, &self.intake).map_err(|error| Error::io(&self.path, error))?;
        if let Some(error) = error {
            self.ended(spool.size(), error)?;
        }
        Ok(self.decoded.get_or_init(|| spool).clone())
    }

    /// Reads the bytes inside the wrappers from their beginning, however often it is asked to.
    fn decoder(&self, progress: &Progress) -> Result<Box<dyn Read + '_>, Error> {
        let mut reader = self.stored_reader(0, progress)?;
        for &wrapper in &self.wrappers {
            let opened = wrapper.open(reader);
            reader = opened.map_err(|error| Error::io(&self.path, error))?;
        }
        if self.wrappers.iter().any(|wrapper| !wrapper.is_archive()) {
            reader = Box::new(self.intake.limited(reader, self.size, &self.reached));
        }
        Ok(reader)
    }

    /// Keeps what a short reader decodes, because lowering passes over most parts twice.
    fn keeping<'r>(
        &'r self,
        mut reader: Box<dyn Read + 'r>,
        progress: &Progress,
    ) -> Box<dyn Read + 'r> {
        // What is not filled of the room is not touched, and growing step by step would copy everything twice.
        let room = self.size.saturating_mul(4).min(SHORT);
        let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or(0));
        let end = reader.by_ref().take(SHORT).read_to_end(&mut bytes);
        let whole = end.is_ok() && (bytes.len() as u64) < SHORT;
        if whole && progress.keep(bytes.len()) {
            let spool = self.decoded.get_or_init(|| Spool::Memory(bytes.into()));
            return Box::new(SpoolReader::new(spool.clone(), 0));
        }
        let rest: Box<dyn Read> = match end {
            Ok(_) => reader,
            Err(error) => Box::new(FailingRest(Some(error))),
        };
        Box::new(io::Cursor::new(bytes).chain(rest))
    }

    fn stored_reader(&self, offset: u64, progress: &Progress) -> Result<Box<dyn Read + '_>, Error> {
        match &self.store {
            Store::File(path) => {
                let file = File::open(path).map_err(|error| Error::io(path, error))?;
                let spool = Spool::file(file).map_err(|error| Error::io(path, error))?;
                Ok(Box::new(self.counted(
                    SpoolReader::new(spool, offset),
                    offset,
                    progress,
                )))
            }
            Store::Spooled(spool) => Ok(Box::new(self.counted(
                SpoolReader::new(spool.clone(), offset),
                offset,
                progress,
            ))),
            Store::Pieces {
                whole,
                pieces,
                starts,
            } => {
                let piece = starts
                    .partition_point(|&start| start <= offset)
                    .saturating_sub(1);
                let into = starts.get(piece).map_or(0, |start| offset - start);
                // What is spooled of the enclosing part is read again here, and counts here.
                let spool = whole.spool(&Progress::default())?;
                let reader = PieceReader {
                    spool,
                    pieces,
                    piece,
                    into,
                };
                Ok(Box::new(self.counted(reader, offset, progress)))
            }
        }
    }

    fn counted<R: Read>(&self, inner: R, at: u64, progress: &Progress) -> CountedReader<'_, R> {
        CountedReader {
            inner,
            at,
            mark: &self.mark,
            progress: progress.clone(),
        }
    }

    /// Returns the decoded bytes as a spool: the stored ones where nothing wraps them.
    pub(crate) fn spool(&self, progress: &Progress) -> Result<Spool, Error> {
        let io = |error| Error::io(&self.path, error);
        if let Some(spool) = self.decoded.get() {
            return Ok(spool.clone());
        }
        match &self.store {
            Store::Spooled(spool) if self.wrappers.iter().all(|w| w.is_archive()) => {
                Ok(spool.clone())
            }
            Store::File(path) if self.wrappers.is_empty() => {
                Spool::file(File::open(path).map_err(io)?).map_err(io)
            }
            _ => self.decoded_to_end(self.reader(0, progress)?),
        }
    }
}

/// Offsets at which pieces begin in their concatenation, and its length.
pub(crate) fn piece_starts(pieces: &[(u64, u32)]) -> (Vec<u64>, u64) {
    let mut end = 0;
    let starts = pieces
        .iter()
        .map(|&(_, len)| {
            let start = end;
            end += u64::from(len);
            start
        })
        .collect();
    (starts, end)
}

/// Decoded bytes up to which a part is kept.
const SHORT: u64 = 8 << 20;

/// What follows the bytes before an error: the error, then nothing.
struct FailingRest(Option<io::Error>);

impl Read for FailingRest {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

struct CountedReader<'s, R> {
    inner: R,
    at: u64,
    mark: &'s ProgressMark,
    progress: Progress,
}

impl<R: Read> Read for CountedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.at += len as u64;
        self.mark.reach(self.at, len as u64, &self.progress);
        Ok(len)
    }
}

struct PieceReader<'a> {
    spool: Spool,
    pieces: &'a [(u64, u32)],
    piece: usize,
    into: u64,
}

impl Read for PieceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let Some(&(offset, len)) = self.pieces.get(self.piece) else {
                break;
            };
            let left = usize::try_from(u64::from(len).saturating_sub(self.into)).unwrap_or(0);
            if left == 0 {
                self.piece += 1;
                self.into = 0;
                continue;
            }
            let end = buffer.len().min(filled + left);
            let Some(window) = buffer.get_mut(filled..end) else {
                break;
            };
            let got = self.spool.read_at(window, offset + self.into)?;
            if got == 0 {
                break;
            }
            self.into += got as u64;
            filled += got;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_decoded_in_memory_is_lent_and_not_copied() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(&bytes).unwrap();
        let packed = encoder.finish().unwrap();
        let size = packed.len() as u64;
        let store = Store::Spooled(Spool::Memory(packed.into()));
        let stored = StoredBytes::new("t".to_owned(), store, size);
        let stored = stored.unwrap_layers().unwrap();
        let progress = Progress::default();
        let mut first = stored.pull(0, &progress).unwrap();
        let mut second = stored.pull(7, &progress).unwrap();
        let whole = first.pull(0, 1).unwrap();
        assert_eq!((whole.bytes, whole.eof), (bytes.as_slice(), true));
        let later = second.pull(3, 1).unwrap();
        assert_eq!((later.offset, later.eof), (10, true));
        assert!(std::ptr::eq(&whole.bytes[10..], later.bytes));
    }
}
