//! Binary to XML and back through the records and the table, never through the model (SPEC.md §7).

mod to_binary;
mod to_xml;

use std::collections::BTreeMap;

use traceloom_model::{Flow, Note};

use crate::Change;
use crate::{Error, Output};

pub use to_binary::to_binary;
pub use to_xml::to_xml;

/// Bytes gathered before they are handed to the output.
const FLUSH: usize = 64 << 10;

type Notes<'n> = &'n mut dyn FnMut(Note) -> Flow;

/// Where both directions write, and what they tell.
struct ConversionOutput<'o> {
    out: Vec<u8>,
    output: &'o mut dyn Output,
    notes: Notes<'o>,
    changes: BTreeMap<(bool, &'static str, &'static str), (u64, u64)>,
    error: Option<Error>,
}

impl<'o> ConversionOutput<'o> {
    fn new(output: &'o mut dyn Output, notes: Notes<'o>) -> Self {
        Self {
            out: Vec::with_capacity(FLUSH + FLUSH / 4),
            output,
            notes,
            changes: BTreeMap::new(),
            error: None,
        }
    }

    fn lost(&mut self, kind: &'static str, field: &'static str, count: u64, offset: u64) {
        self.tell(true, kind, field, count, offset);
    }

    fn changed(&mut self, kind: &'static str, field: &'static str, count: u64, offset: u64) {
        self.tell(false, kind, field, count, offset);
    }

    #[inline]
    fn tell(
        &mut self,
        lost: bool,
        kind: &'static str,
        field: &'static str,
        count: u64,
        offset: u64,
    ) {
        if count > 0 {
            let entry = self
                .changes
                .entry((!lost, kind, field))
                .or_insert((0, offset));
            entry.0 += count;
        }
    }

    #[inline]
    fn flush(&mut self) -> Flow {
        if self.out.len() < FLUSH {
            Flow::Continue(())
        } else {
            self.flush_all()
        }
    }

    #[cold]
    fn flush_all(&mut self) -> Flow {
        let written = self.output.write("", &self.out);
        self.out.clear();
        match written {
            Ok(()) => Flow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                Flow::Break(())
            }
        }
    }

    fn finish(mut self) -> Result<Vec<Change>, Error> {
        if self.error.is_none() {
            let _ = self.flush_all();
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let rows = self.changes.into_iter();
        Ok(rows
            .map(|((kept, kind, field), (count, offset))| Change {
                lost: !kept,
                kind,
                field,
                count,
                offset,
            })
            .collect())
    }
}
