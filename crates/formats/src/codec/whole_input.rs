//! Inputs of which nothing can be said before their end: documents, recorded requests.

use traceloom_model::{Limit, Limits};

use crate::{Chunk, Error, Opaque, Pull, RecordSink, Step, damage};

/// Waits for the end of an input, up to [`Limit::Record`] bytes.
#[derive(Clone, Debug)]
pub struct WholeInput {
    limit: usize,
    skipping: bool,
}

/// Bytes of one record of an input above the limit.
const PIECE: usize = 1 << 20;

impl WholeInput {
    /// Waits under these limits.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.size(Limit::Record),
            skipping: false,
        }
    }

    /// Returns the whole input once it is there.
    ///
    /// # Errors
    /// What the reader has to answer otherwise: more is needed, the input is above the limit (its bytes
    /// went out as damage), or the sink broke.
    pub fn read<'c>(
        &mut self,
        chunk: Chunk<'c>,
        out: &mut dyn RecordSink,
    ) -> Result<Chunk<'c>, Step> {
        if !self.skipping && chunk.bytes.len() > self.limit {
            self.skipping = true;
            let text = format!("the document is larger than {} bytes", self.limit);
            if out
                .note(damage("limit_record", chunk.offset, text))
                .is_break()
            {
                return Err(Step::Stop);
            }
        }
        if self.skipping {
            let consumed = skip(chunk, out)?;
            return Err(Step::More {
                consumed,
                need: PIECE,
            });
        }
        if chunk.eof {
            return Ok(chunk);
        }
        let need = chunk.bytes.len().saturating_mul(2).max(64 << 10);
        Err(Step::More {
            consumed: 0,
            need: need.min(self.limit.saturating_add(1)),
        })
    }
}

/// Shows bytes in pieces whose cuts do not depend on the windows.
fn skip(chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Result<usize, Step> {
    let mut consumed = 0;
    while let Some(rest) = chunk.bytes.get(consumed..).filter(|rest| !rest.is_empty()) {
        let piece = match rest.get(..PIECE) {
            Some(whole) => whole,
            None if chunk.eof => rest,
            None => break,
        };
        let opaque = Opaque::damage(chunk.offset + consumed as u64, piece);
        if out.record(&opaque).is_break() {
            return Err(Step::Stop);
        }
        consumed += piece.len();
    }
    Ok(consumed)
}

/// Pulls everything a part holds, in one window.
///
/// # Errors
/// What the pull fails with, and [`crate::ErrorKind::Limit`] for a part above [`Limit::Record`].
pub fn whole<'p>(pull: &'p mut dyn Pull, limits: &Limits) -> Result<Chunk<'p>, Error> {
    let limit = limits.size(Limit::Record);
    let mut need = 64 << 10;
    loop {
        let chunk = pull.pull(0, need)?;
        if chunk.bytes.len() > limit {
            let text = format!("the document is larger than {limit} bytes");
            return Err(Error::limit(chunk.offset, text));
        }
        if chunk.eof {
            break;
        }
        need = chunk.bytes.len().saturating_mul(2).max(need);
    }
    // Nothing more is read.
    pull.pull(0, need)
}
