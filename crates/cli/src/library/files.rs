//! Paths and the recordings behind them.

use std::path::Path;

use traceloom_formats::Error;
use traceloom_input::{Input, OpenOptions};

use super::TraceSource;

/// Opens a file, a folder, a zip or tar archive, a pipe, or standard input for `-`. Compression is opened on the way.
///
/// # Errors
/// When the path cannot be read. Bytes that no format knows are not an error: [`TraceInput::left_out`] lists them.
///
/// ```
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
/// let input = traceloom::open(folder)?;
/// let formats: Vec<&str> = input.traces().map(|trace| trace.format().name).collect();
/// assert_eq!(formats, ["cdt-dump"]);
/// # Ok::<(), traceloom::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<TraceInput, Error> {
    open_with(path, &OpenOptions::default())
}

/// Opens a path as [`open`] does, with limits of its own or a format that is not asked for.
///
/// # Errors
/// When the path cannot be read.
///
/// ```
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
/// use traceloom::input::OpenOptions;
/// use traceloom::model::Limits;
///
/// let mut limits = Limits::default();
/// limits.set("depth", 10_000).expect("a limit of this name");
/// let input = traceloom::open_with(folder, &OpenOptions { limits, ..OpenOptions::default() })?;
/// assert_eq!(input.traces().count(), 1);
/// # Ok::<(), traceloom::Error>(())
/// ```
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<TraceInput, Error> {
    Ok(TraceInput {
        limits: options.limits,
        input: Input::open(path, options)?,
    })
}

/// An open path.
#[derive(Debug)]
pub struct TraceInput {
    input: Input,
    limits: traceloom_model::Limits,
}

impl TraceInput {
    /// Iterates over the recordings that can be lowered to the model: the streams of one process first, then files that
    /// stand alone, each in the order of their names.
    pub fn traces(&self) -> impl Iterator<Item = TraceSource<'_>> {
        let documents = self.input.documents();
        documents.filter_map(|document| TraceSource::of_document(document, self.limits))
    }

    /// Iterates over the files that are in no recording, with their names and the reason: no format knows them, or theirs
    /// means nothing by itself, such as a dictionary without its trace.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, String)> {
        let documents = self.input.documents();
        let without = documents.filter(|document| {
            let lower = document.format().and_then(|format| format.lower);
            lower.is_none()
        });
        let numbers = without.flat_map(|document| {
            let members = document.members().map(|(number, _)| number);
            members.collect::<Vec<_>>()
        });
        numbers.filter_map(|number| {
            let part = self.input.parts().get(number)?;
            let reason = match (&part.unknown, part.part.format) {
                (Some(unknown), _) => unknown.sentence(),
                (None, Some(format)) => format!("{}, no recording by itself", format.title),
                (None, None) => return None,
            };
            Some((part.part.name.as_str(), reason))
        })
    }

    /// Returns the parts, their formats and bytes, and what the system refused to open.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }
}
