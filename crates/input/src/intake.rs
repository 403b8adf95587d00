//! How much may be taken in: bytes that come out of compression and archives are checked while they come.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use traceloom_log::disk::PlacedFile as _;
use traceloom_model::bounds::in_memory;
use traceloom_model::{Limit, Limits};

use crate::Progress;
use crate::progress::ProgressMark;

/// Decoded bytes of members and streams that an input keeps in memory; what is above is in one temporary file.
const IN_MEMORY: u64 = 64 << 20;

/// Decoded bytes that are never too many for what they were compressed to.
const ANY_RATIO: u64 = 256 << 20;

/// Buffers of windows that are longer are given back to the system.
const MOST_SPARE: usize = 32 << 20;

/// What the parts of an input may take together, and what they took.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    limits: Limits,
    pub(crate) opening: Progress,
    /// Stored bytes of the files that were named, and what came out of them.
    stored: AtomicU64,
    decoded: AtomicU64,
    kept: AtomicU64,
    spilled: Mutex<Option<(Arc<File>, u64)>>,
    spare: Buffers,
}

/// Buffers of windows that are closed, for the next ones.
///
/// Pieces, parts and inputs that are read one after another would each have the system clear as much memory as they are
/// long. Who opens many inputs shares this among them; otherwise each keeps buffers of its own for as long as it is open.
#[derive(Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}

impl Buffers {
    /// Takes the buffer of a window that is closed; an empty one where there is none.
    pub(crate) fn take(&self) -> Vec<u8> {
        let spare = self.0.lock().ok();
        spare
            .and_then(|mut buffers| buffers.pop())
            .unwrap_or_default()
    }

    /// Returns how many buffers there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.lock().map_or(0, |buffers| buffers.len())
    }

    /// Keeps the buffer of a window for the next one. There are never more than there were windows at once.
    pub(crate) fn keep(&self, buffer: Vec<u8>) {
        if (1..=MOST_SPARE).contains(&buffer.len())
            && let Ok(mut buffers) = self.0.lock()
        {
            buffers.push(buffer);
        }
    }
}

/// A limit that was hit; the error of a reader.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) kind: &'static str,
    text: String,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Hit {}

impl Hit {
    /// Returns the limit that an error is about.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl Intake {
    pub(crate) fn new(limits: Limits, opening: Progress, spare: Buffers) -> Self {
        Self {
            limits,
            opening,
            spare,
            ..Self::default()
        }
    }

    /// Returns the buffers of windows that are closed.
    pub(crate) fn spare(&self) -> &Buffers {
        &self.spare
    }

    /// Counts the stored bytes of a file.
    pub(crate) fn add_stored(&self, bytes: u64) {
        self.stored.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns a reader that ends with a [`Hit`] where `from`, which decodes `stored` bytes, gives too many. What was
    /// read before up to `mark` is not counted again.
    pub(crate) fn limited<'r, R: Read>(
        &'r self,
        from: R,
        stored: u64,
        mark: &'r ProgressMark,
    ) -> Limited<'r, R> {
        Limited {
            from,
            at: 0,
            stored,
            mark,
            intake: self,
            hit: None,
        }
    }

    fn check(&self, at: u64, stored: u64, new: u64) -> Result<(), Hit> {
        let hit = |limit: Limit, kind, what: String| Hit {
            kind,
            text: format!("{what}; --limit {} sets another limit", limit.name()),
        };
        let ratio = self.limits.of(Limit::Ratio);
        let over =
            |decoded: u64, stored: u64| decoded > ANY_RATIO.max(stored.saturating_mul(ratio));
        let total = self
            .decoded
            .fetch_add(new, Ordering::Relaxed)
            .saturating_add(new);
        let (part, all) = (
            self.limits.of(Limit::PartBytes),
            self.limits.of(Limit::TotalBytes),
        );
        if at > part {
            let text = format!("more than {part} bytes come out of this part");
            return Err(hit(Limit::PartBytes, "limit_part_bytes", text));
        }
        if total > all {
            let text = format!("more than {all} bytes come out of the input");
            return Err(hit(Limit::TotalBytes, "limit_total_bytes", text));
        }
        let files = self.stored.load(Ordering::Relaxed);
        if over(at, stored) || files > 0 && over(total, files) {
            let text =
                format!("more than {ratio} times the bytes that are stored come out of them");
            return Err(hit(Limit::Ratio, "limit_ratio", text));
        }
        Ok(())
    }

    /// Returns `true` if so many bytes may be kept in memory, and counts them if so.
    pub(crate) fn keep(&self, bytes: usize) -> bool {
        let before = self.kept.fetch_add(bytes as u64, Ordering::Relaxed);
        before.saturating_add(bytes as u64) <= IN_MEMORY
    }

    /// Appends bytes to the temporary file; returns it and where they are.
    pub(crate) fn spill(&self, bytes: &[u8]) -> io::Result<(Arc<File>, u64)> {
        let mut spilled = self.spilled.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, end) = match &mut *spilled {
            Some(spilled) => spilled,
            none => none.insert((Arc::new(tempfile::tempfile()?), 0)),
        };
        let at = *end;
        file.write_all_at(bytes, at)?;
        *end += bytes.len() as u64;
        Ok((file.clone(), at))
    }
}

/// A reader of decoded bytes, up to the limits: what was read comes first, and the [`Hit`] with the next call.
pub(crate) struct Limited<'r, R> {
    from: R,
    at: u64,
    stored: u64,
    mark: &'r ProgressMark,
    intake: &'r Intake,
    hit: Option<Hit>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(hit) = self.hit.take() {
            return Err(io::Error::other(hit));
        }
        let len = self.from.read(buffer)?;
        self.at += len as u64;
        let new = self.mark.advance(self.at);
        self.hit = self.intake.check(self.at, self.stored, new).err();
        let above = self
            .at
            .saturating_sub(self.intake.limits.of(Limit::PartBytes));
        let above = in_memory(above);
        match len.saturating_sub(above) {
            0 => self
                .hit
                .take()
                .map_or(Ok(len), |hit| Err(io::Error::other(hit))),
            kept => Ok(kept),
        }
    }
}
