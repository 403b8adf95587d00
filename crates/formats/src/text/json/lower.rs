//! Documents to the model: what every JSON format does around its own rules.

use traceloom_model::{Clock, Flow, Note, Order, PartId, Sink, Tables};

use super::reader::{bytes_behind, end_of};
use super::{Document, Value};
use crate::codec::whole;
use crate::{Error, LowerOptions, Source, damage};

/// Where a document is lowered to.
pub struct Lowered<'s> {
    /// Tables of all documents of the source.
    pub tables: &'s mut Tables,
    /// The document's part.
    pub part: PartId,
    /// Takes batches; definitions are told it with [`Lowered::define`].
    pub sink: &'s mut dyn Sink,
}

impl Lowered<'_> {
    /// Tells the sink what is new in the tables.
    pub fn define(&mut self) -> Flow {
        let new = self.tables.take_definitions();
        if new.is_empty() {
            Flow::Continue(())
        } else {
            self.sink.define(new)
        }
    }

    /// Tells the sink a note about the document.
    pub fn note(&mut self, note: Note) -> Flow {
        let part = self.part;
        self.sink.note(Note { part, ..note })
    }
}

/// Lowers the document of each part.
///
/// # Errors
/// What a part fails with.
pub fn lower_documents(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
    order: Order,
    clock: impl FnOnce(&mut Tables) -> Clock,
    lower: impl Fn(Value<'_>, &mut Lowered<'_>) -> Flow,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    sink.begin(order, clock(&mut tables));
    for part in 0..source.parts().len() {
        let mut pull = source.open(part, 0)?;
        let bytes = whole(pull.as_mut(), &options.limits)?.bytes;
        let document = Document::parse(bytes, &options.limits);
        let mut lowered = Lowered {
            tables: &mut tables,
            part: PartId::nth(part),
            sink,
        };
        let mut step = Flow::Continue(());
        for defect in document.defects() {
            let note = damage(defect.kind, defect.offset as u64, defect.text);
            step = lowered.note(note.counting((defect.skipped as u64).max(1)));
            if step.is_break() {
                break;
            }
        }
        if let (Some(root), Flow::Continue(())) = (document.root(), step) {
            step = lower(root, &mut lowered);
        }
        let end = end_of(&document, bytes);
        if let (Some(note), Flow::Continue(())) = (bytes_behind(bytes, end, 0), step) {
            step = lowered.note(note);
        }
        if step.is_break() || lowered.define().is_break() {
            break;
        }
    }
    Ok(())
}
