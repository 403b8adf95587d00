//! Parts that belong together, as the source a lowering reads.

use traceloom_formats::{Error as FormatError, Format, Part, Pull, Source};
use traceloom_model::{Note, PartId};

use super::{Input, InputPart};
use crate::captures::profile_index::SealedAt;

/// The parts of one recording: a file, or the streams of one process.
#[derive(Debug)]
pub struct Document<'i> {
    input: &'i Input,
    format: Option<&'static Format>,
    members: Vec<usize>,
    parts: Vec<Part>,
}

impl<'i> Document<'i> {
    pub(crate) fn new(
        input: &'i Input,
        format: Option<&'static Format>,
        members: Vec<usize>,
    ) -> Self {
        let all = input.parts();
        let parts = members
            .iter()
            .filter_map(|&at| Some(all.get(at)?.part.clone()))
            .collect();
        Self {
            input,
            format,
            members,
            parts,
        }
    }

    /// Returns the format that lowers it: of the set, or of its only part.
    #[must_use]
    pub fn format(&self) -> Option<&'static Format> {
        self.format
    }

    /// Iterates over its parts as the input numbers them.
    pub fn members(&self) -> impl Iterator<Item = (usize, &'i InputPart)> {
        self.members
            .iter()
            .filter_map(|&at| Some((at, self.input.parts().get(at)?)))
    }

    /// Returns the length of its only part's bytes when they can be read from anywhere: not for several
    /// parts, and not behind compression, which has to be opened from its beginning.
    #[must_use]
    pub fn seekable_size(&self) -> Option<u64> {
        match self.parts.as_slice() {
            [only] => only.size,
            _ => None,
        }
    }

    /// Returns what is wrong with the bytes of its parts, as far as they were read; see [`Input::notes`].
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let parts = (0..).map(PartId).zip(&self.members);
        let notes = |(part, &at)| {
            let notes = self.input.notes(at).into_iter();
            notes.map(move |note| Note { part, ..note })
        };
        parts.flat_map(notes).collect()
    }

    /// Returns the sealed capture that it is of; nothing where that is chosen in part, or still in the log.
    #[must_use]
    pub fn sealed_at(&self) -> Option<&'i SealedAt> {
        let parts = self.input.parts();
        let mut part = parts.get(*self.members.first()?)?;
        while let Some(around) = part.inside.and_then(|at| parts.get(at)) {
            part = around;
        }
        part.stored.sealed.as_deref()
    }

    /// Returns the input's number of the part that a note or an origin of this document names.
    #[must_use]
    pub fn input_part(&self, part: PartId) -> Option<usize> {
        self.members.get(part.0 as usize).copied()
    }
}

impl Source for Document<'_> {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn location(&self) -> &str {
        self.input.location()
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, FormatError> {
        let number = self.members.get(part).copied();
        let number =
            number.ok_or_else(|| FormatError::usage(format!("there is no part {part}")))?;
        Ok(self.input.pull(number, offset)?)
    }
}
