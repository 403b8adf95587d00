//! A flame graph to a flame graph: the document as it is, where it is one.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limits, Note};

use super::{FORMAT, lower, raise};
use crate::codec::whole;
use crate::text::json::Document;
use crate::{Change, Error, LowerOptions, Output, Pull, RaiseOptions, SliceSource, damage};

/// Writes the document of a part: unchanged when it is whole and in the object form, otherwise what can be
/// read of it.
///
/// # Errors
/// What the input or the output fails with.
pub(crate) fn rewrite(
    pull: &mut dyn Pull,
    limits: &Limits,
    output: &mut dyn Output,
    notes: &mut dyn FnMut(Note) -> Flow,
) -> Result<Vec<Change>, Error> {
    let bytes = whole(pull, limits)?.bytes;
    let document = Document::parse(bytes, limits);
    let after = subslice(bytes, document.end()..);
    let whole = document.defects().is_empty() && after.trim_ascii().is_empty();
    let root = document.root().and_then(|root| root.get("root_frame"));
    if whole && root.is_some_and(|root| root.get("value").or(root.items().next()).is_some()) {
        output.write("", bytes)?;
        return Ok(Vec::new());
    }
    for defect in document.defects() {
        let note = damage(defect.kind, defect.offset as u64, defect.text);
        if notes(note.counting((defect.skipped as u64).max(1))).is_break() {
            return Ok(Vec::new());
        }
    }
    let options = LowerOptions {
        limits: *limits,
        ..LowerOptions::default()
    };
    let source = SliceSource::default().with("", &FORMAT, bytes);
    let mut target = raise::raise(&RaiseOptions::default(), output)?;
    lower::lower(&source, &options, target.as_mut())?;
    target.finish()?;
    Ok(Vec::new())
}
