//! Stacks as lists of frame numbers.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{FrameId, Recording, StackId};

use crate::chrome::json;

/// Bytes of lists remembered: the samples of a profile repeat their stacks.
const REMEMBERED: usize = 32 << 20;

/// Writes stacks, remembering the text of each.
#[derive(Default)]
pub(super) struct Stacks {
    text: Vec<u8>,
    places: HashMap<StackId, (usize, usize), RandomState>,
}

impl Stacks {
    /// Appends the frames of a stack, outermost first, without brackets.
    pub fn put(
        &mut self,
        stack: Option<StackId>,
        tables: &Recording,
        number: &mut dyn FnMut(FrameId) -> u32,
        out: &mut Vec<u8>,
    ) {
        let Some(stack) = stack else { return };
        if let Some(&(from, to)) = self.places.get(&stack) {
            out.extend_from_slice(self.text.get(from..to).unwrap_or(&[]));
            return;
        }
        let begin = out.len();
        for (at, frame) in path(tables, stack).into_iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            json::digits(u64::from(number(frame)), out);
        }
        if self.text.len() > REMEMBERED {
            self.text.clear();
            self.places.clear();
        }
        let from = self.text.len();
        self.text.extend_from_slice(out.get(begin..).unwrap_or(&[]));
        self.places.insert(stack, (from, self.text.len()));
    }
}

/// Returns the frames of a stack, outermost first. Callers have smaller ids, so that a loop ends.
fn path(tables: &Recording, stack: StackId) -> Vec<FrameId> {
    let mut frames = Vec::new();
    let mut next = Some(stack);
    while let Some(id) = next {
        let Some(row) = tables.stack(id) else { break };
        frames.push(row.frame);
        next = row.parent.filter(|&parent| parent < id);
    }
    frames.reverse();
    frames
}
