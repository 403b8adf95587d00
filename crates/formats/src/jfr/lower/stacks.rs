//! Stack traces as rows of the model: each frame under those that called it.

use traceloom_model::{FrameId, Stack, StackId, Tables};

use super::super::scan::Scan;
use super::super::schema::{FieldEncoding, FieldSchema};
use super::super::value::DecodedValue;
use super::constants::Constants;

/// A stack, the outermost frame first, each with the row that ends there.
#[derive(Default)]
pub(super) struct StackPath {
    rows: Vec<(FrameId, StackId)>,
    truncated: bool,
}

impl StackPath {
    /// Goes over to the stack of these frames, the innermost first; what it shares with the one before is known. Returns its
    /// row.
    fn of(&mut self, frames: &[FrameId], truncated: bool, tables: &mut Tables) -> Option<StackId> {
        let is_alike = self.truncated == truncated;
        let shared = self.rows.iter().zip(frames.iter().rev());
        let shared = shared.take_while(|((known, _), frame)| is_alike && known == *frame);
        self.rows.truncate(shared.count());
        self.truncated = truncated;
        let mut parent = self.rows.last().map(|&(_, row)| row);
        for &frame in frames.iter().rev().skip(self.rows.len()) {
            let row = tables.stack(Stack {
                parent,
                frame,
                truncated,
            });
            self.rows.push((frame, row));
            parent = Some(row);
        }
        parent
    }
}

impl<'c> Constants<'c> {
    /// Returns a stack.
    #[inline]
    pub(super) fn stack(
        &mut self,
        type_index: usize,
        key: u64,
        tables: &mut Tables,
    ) -> Option<StackId> {
        if let Some(known) = self.stacks.get(type_index, key) {
            return known;
        }
        let stack = self.build_stack(type_index, key, tables);
        self.stacks.insert(type_index, key, stack);
        stack
    }

    fn build_stack(&mut self, type_index: usize, key: u64, tables: &mut Tables) -> Option<StackId> {
        let (truncated, field, elements) = self.stack_fields(type_index, key)?;
        let frames = self.frames(field, elements, tables);
        self.last_path.of(&frames, truncated, tables)
    }

    /// Returns whether a stack trace is cut off, and its frames.
    fn stack_fields(
        &mut self,
        type_index: usize,
        key: u64,
    ) -> Option<(bool, &'c FieldSchema, Scan<'c>)> {
        // As all writers have them, so that the frames are not stepped over first.
        if let [truncated, frames] = self.schema().fields(type_index)
            && truncated.name == "truncated"
            && (truncated.kind, truncated.array) == (FieldEncoding::Bool, false)
            && (frames.name.as_str(), frames.array) == ("frames", true)
        {
            let mut scan = self.find(type_index, key)?;
            let is_truncated = scan.u8().ok()? > 0;
            return Some((is_truncated, frames, scan));
        }
        let constant = self.constant(type_index, key)?;
        let truncated = constant.get("truncated");
        let is_truncated = matches!(truncated, Some((_, DecodedValue::Bool(1..))));
        match constant.get("frames")? {
            (field, DecodedValue::Array(elements)) => Some((is_truncated, field, elements)),
            _ => None,
        }
    }
}
