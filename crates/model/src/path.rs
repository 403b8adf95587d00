//! Samples with their stacks written out.

use crate::{FrameId, ProfileId};

/// Samples of one profile, the frames of each in a row instead of in the stack table.
///
/// Who only adds up functions has no use for the table of all stacks, which in a profile of a large program
/// has nearly as many rows as its samples have frames, and costs more than everything else.
#[derive(Clone, Debug, PartialEq)]
pub struct PathBatch {
    /// The profile all rows belong to; the values of its columns add up, each its innermost frame's.
    pub profile: ProfileId,
    /// Frames of all samples, the innermost of each first.
    frames: Vec<FrameId>,
    ends: Vec<usize>,
    width: usize,
    values: Vec<i64>,
}

impl PathBatch {
    /// An empty batch for a profile of `width` value columns.
    #[must_use]
    pub fn new(profile: ProfileId, width: usize) -> Self {
        Self {
            profile,
            frames: Vec::new(),
            ends: Vec::new(),
            width,
            values: Vec::new(),
        }
    }

    /// Adds a frame of the next sample, a callee before its caller.
    #[inline]
    pub fn push_frame(&mut self, frame: FrameId) {
        self.frames.push(frame);
    }

    /// Ends a sample; missing values count as 0, surplus ones are left out.
    pub fn push(&mut self, values: &[i64]) {
        self.ends.push(self.frames.len());
        let end = self.values.len() + self.width;
        self.values.extend(values.iter().take(self.width));
        self.values.resize(end, 0);
    }

    pub(crate) fn frames_mut(&mut self) -> &mut [FrameId] {
        &mut self.frames
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Tells whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Iterates over the frames, the innermost first, and the values of each sample.
    pub fn iter(&self) -> impl Iterator<Item = (&[FrameId], &[i64])> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let rows = begins.zip(&self.ends).enumerate();
        rows.map(|(row, (begin, &end))| {
            let frames = self.frames.get(begin..end).unwrap_or(&[]);
            let values = row * self.width..(row + 1) * self.width;
            (frames, self.values.get(values).unwrap_or(&[]))
        })
    }
}
