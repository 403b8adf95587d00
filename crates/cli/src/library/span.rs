//! A span together with the tables that its ids refer to.

use std::borrow::Cow;

use traceloom_analysis::text::{track_name, value_text};
use traceloom_model::{Recording, SpanRow, SpanStatus};

/// A span whose names and values can be printed.
///
/// A name that its producer defines behind the span prints as `#id` where spans are read one by one; in a
/// [`TraceSource::recording`](crate::TraceSource::recording) every name is known.
///
/// ```
/// use traceloom::NamedSpan;
///
/// # let bytes = b"[{\"ph\":\"X\",\"name\":\"load\",\"ts\":5,\"dur\":2,\"pid\":1,\"tid\":1,\"args\":{\"rows\":7}}]";
/// let recording = traceloom::from_bytes("trace.json", bytes).unwrap().recording()?;
/// let span = NamedSpan::all(&recording).next().unwrap();
/// assert_eq!((span.name().as_ref(), span.duration()), ("load", 2_000));
/// let attributes: Vec<_> = span.attributes().collect();
/// assert_eq!(attributes, [("rows".into(), "7".into())]);
/// # Ok::<(), traceloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NamedSpan<'r> {
    /// The tables.
    pub tables: &'r Recording,
    /// The ids and numbers.
    pub row: SpanRow<'r>,
}

impl<'r> NamedSpan<'r> {
    /// Iterates over the spans of a recording, in the order in which they were read.
    pub fn all(recording: &'r Recording) -> impl Iterator<Item = Self> {
        recording.spans.iter().map(move |row| Self {
            tables: recording,
            row,
        })
    }

    /// Returns the name of the function, or where there is none the kind of span.
    #[must_use]
    pub fn name(&self) -> Cow<'r, str> {
        match (self.row.function, self.row.kind) {
            (Some(function), _) => self.tables.function_name(function),
            (None, Some(kind)) => self.tables.text(kind),
            (None, None) => "".into(),
        }
    }

    /// Returns the name of the thread or of the other line that it ran on.
    #[must_use]
    pub fn track(&self) -> Cow<'r, str> {
        track_name(self.tables, self.row.track)
    }

    /// Returns the first nanosecond, by the clock of the recording.
    #[must_use]
    pub fn start(&self) -> i64 {
        self.row.start
    }

    /// Returns the duration in nanoseconds.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.row.duration()
    }

    /// Returns the number of spans around it on its track.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.row.depth
    }

    /// Returns how it ended, and whether all of it was recorded.
    #[must_use]
    pub fn status(&self) -> SpanStatus {
        self.row.status
    }

    /// Iterates over the names of its attributes and what their values say, in the order of the producer.
    pub fn attributes(&self) -> impl Iterator<Item = (Cow<'r, str>, Cow<'r, str>)> {
        let tables = self.tables;
        self.row.attributes.iter().map(move |attribute| {
            let name = match tables.attribute_key(attribute.key) {
                Some(key) => tables.text(key.name),
                None => format!("#{}", attribute.key.raw()).into(),
            };
            (name, value_text(tables, &attribute.value))
        })
    }
}
