//! Stacks as lists of frame numbers.

use traceloom_model::bounds::subslice;
use traceloom_model::{FrameId, Recording, StackId};

use crate::text::scalars;

/// Bytes of lists remembered: the samples of a profile repeat their stacks.
const REMEMBERED: usize = 32 << 20;

/// Writes stacks, remembering the text of each.
///
/// The text of a caller is how that of a stack begins, so that one text serves all stacks on the way to it.
#[derive(Default)]
pub(super) struct StackWriter {
    text: Vec<u8>,
    /// By stack, where its text begins and ends; nowhere for what is not remembered.
    places: Vec<(u32, u32)>,
    missing: Vec<(StackId, FrameId)>,
}

impl StackWriter {
    /// Appends the frames of a stack, outermost first, without brackets.
    pub fn put(
        &mut self,
        stack: Option<StackId>,
        tables: &Recording,
        number: &mut impl FnMut(FrameId) -> u32,
        out: &mut Vec<u8>,
    ) {
        let Some(stack) = stack else { return };
        if self.text.len() > REMEMBERED {
            self.text.clear();
            self.places.clear();
        }
        let mut found = self.place(stack);
        if found.is_none() {
            found = self.remember(stack, tables, number);
        }
        let Some((from, to)) = found else { return };
        out.extend_from_slice(subslice(&self.text, from as usize..to as usize));
    }

    #[inline]
    fn place(&self, stack: StackId) -> Option<(u32, u32)> {
        let place = self.places.get(stack.index()).copied();
        place.filter(|(from, to)| from < to)
    }

    /// Makes the text of a stack. Callers have smaller ids, so that a loop ends.
    fn remember(
        &mut self,
        stack: StackId,
        tables: &Recording,
        number: &mut impl FnMut(FrameId) -> u32,
    ) -> Option<(u32, u32)> {
        if self.places.len() <= stack.index() {
            self.places.resize(stack.index() + 1, (0, 0));
        }
        let begin = self.text.len();
        let mut next = Some(stack);
        while let Some(id) = next {
            if let Some((from, to)) = self.place(id) {
                self.text.extend_from_within(from as usize..to as usize);
                break;
            }
            let Some(row) = tables.stack(id) else { break };
            self.missing.push((id, row.frame));
            next = row.parent.filter(|&parent| parent < id);
        }
        let narrow = |place: usize| u32::try_from(place).unwrap_or(0);
        while let Some((id, frame)) = self.missing.pop() {
            if self.text.len() > begin {
                self.text.push(b',');
            }
            scalars::digits(u64::from(number(frame)), &mut self.text);
            if let Some(place) = self.places.get_mut(id.index()) {
                *place = (narrow(begin), narrow(self.text.len()));
            }
        }
        self.place(stack)
    }
}
