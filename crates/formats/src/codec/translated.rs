//! Parts that are lowered as another encoding of the same content.

use traceloom_model::bounds::in_memory;
use traceloom_model::{Asks, Batch, Flow, Limits, Note, PartId, Sink, Stage};

use super::{Error, Lower, LowerOptions, Part, Pull, SlicePull, Source, whole};

/// A part in the other encoding.
#[derive(Debug, Default)]
pub(crate) struct TranslatedPart {
    pub(crate) bytes: Vec<u8>,
    /// Offsets in `bytes` with those in the original that they stand for, ascending.
    pub(crate) offsets: Vec<(usize, usize)>,
    /// What was wrong with the original, with its offsets.
    pub(crate) notes: Vec<Note>,
}

impl TranslatedPart {
    /// Returns the offset in the original of what is at an offset of the translation.
    fn original(&self, offset: u64) -> u64 {
        let offset = in_memory(offset);
        let before = self.offsets.partition_point(|&(own, _)| own <= offset);
        let found = before.checked_sub(1).and_then(|at| self.offsets.get(at));
        found.map_or(0, |&(_, original)| original as u64)
    }
}

/// Lowers each part as what `translate` makes of it; notes have offsets of the original.
///
/// # Errors
/// What the source or `lower` fails with.
pub(crate) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
    translate: &dyn Fn(&[u8], &Limits) -> TranslatedPart,
    lower: Lower,
) -> Result<(), Error> {
    let mut parts = Vec::new();
    for part in 0..source.parts().len() {
        let mut pull = source.open(part, 0)?;
        let text = whole(pull.as_mut(), &options.limits)?;
        parts.push(translate(text.bytes, &options.limits));
    }
    let translated = TranslatedSource { source, parts };
    let mut offsets = OriginalOffsets {
        parts: &translated.parts,
        to: sink,
    };
    lower(&translated, options, &mut offsets)?;
    for (part, translated) in translated.parts.iter().enumerate() {
        let part = PartId::nth(part);
        for note in &translated.notes {
            let note = Note {
                part,
                ..note.clone()
            };
            if sink.note(note).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

struct TranslatedSource<'s> {
    source: &'s dyn Source,
    parts: Vec<TranslatedPart>,
}

impl Source for TranslatedSource<'_> {
    fn parts(&self) -> &[Part] {
        self.source.parts()
    }

    fn location(&self) -> &str {
        self.source.location()
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let part = self.parts.get(part);
        let part = part.ok_or_else(|| Error::usage(format!("no part {offset}")))?;
        Ok(Box::new(SlicePull::new(&part.bytes, offset)))
    }
}

/// Gives notes the offsets of the original.
struct OriginalOffsets<'s> {
    parts: &'s [TranslatedPart],
    to: &'s mut dyn Sink,
}

impl Stage for OriginalOffsets<'_> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Note(note) => {
                let part = self.parts.get(note.part.0 as usize);
                let offset = part.map_or(0, |part| part.original(note.offset));
                self.to.note(Note { offset, ..note })
            }
            other => other.push(self.to),
        }
    }
}
