//! One recording that can be read.

use std::fmt;

use traceloom_analysis::loss::{Loss, Losses};
use traceloom_analysis::stage::WithheldSpans;
use traceloom_analysis::{TreeBuilder, TreeOptions, Trees};
use traceloom_formats::{
    Error, Format, LowerOptions, Output, RaiseOptions, SliceSource, Source, Unknown, detect_bytes,
};
#[cfg(feature = "files")]
use traceloom_input::Document;
use traceloom_model::{
    Definitions, Flow, Limits, Note, Notes, Recording, Sink, SpanBatch, StringId,
};

use super::NamedSpan;

/// Takes a file in memory; `name` is the name of the file, which decides between formats that look alike.
///
/// Nothing here opens compression: that is the crate `input` behind the feature `files`.
///
/// # Errors
/// Says what the bytes nearly are, where no format knows them.
///
/// ```
/// let trace = traceloom::from_bytes("cpu.folded", b"main;handle;read 7\nmain;idle 3\n").unwrap();
/// let trees = trace.trees(Default::default())?;
/// let tree = &trees.samples[0];
/// let top = traceloom::analysis::top(tree);
/// assert_eq!((tree.symbol(top[0].symbol).name.as_str(), top[0].own, tree.total), ("read", 7, 10));
/// # Ok::<(), traceloom::Error>(())
/// ```
pub fn from_bytes<'b>(name: &str, bytes: &'b [u8]) -> Result<TraceSource<'b>, Unknown> {
    let format = detect_bytes(name, bytes)?;
    Ok(TraceSource {
        format,
        name: name.to_owned(),
        limits: Limits::default(),
        place: TracePlace::Bytes(SliceSource::default().with(name, format, bytes)),
    })
}

/// A recording, which is read anew by each method: a file, or the streams of one process.
pub struct TraceSource<'t> {
    format: &'static Format,
    name: String,
    limits: Limits,
    place: TracePlace<'t>,
}

enum TracePlace<'t> {
    Bytes(SliceSource<'t>),
    #[cfg(feature = "files")]
    Document(Document<'t>),
}

impl fmt::Debug for TraceSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as {}", self.name, self.format.name)
    }
}

impl<'t> TraceSource<'t> {
    /// Takes a document, none for one whose format is unknown or not lowered to the model.
    #[cfg(feature = "files")]
    pub(crate) fn of_document(document: Document<'t>, limits: Limits) -> Option<Self> {
        let format = document.format().filter(|format| format.lower.is_some())?;
        let name = document.parts().first()?.name.clone();
        let place = TracePlace::Document(document);
        Some(Self {
            format,
            name,
            limits,
            place,
        })
    }

    /// Returns its format: that of the set, where it is several files.
    #[must_use]
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns the name of its file within the input, or of the first of several.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its parts and their bytes.
    #[must_use]
    pub fn source(&self) -> &dyn Source {
        match &self.place {
            TracePlace::Bytes(source) => source,
            #[cfg(feature = "files")]
            TracePlace::Document(document) => document,
        }
    }

    /// Pushes the recording into a sink, batch by batch, on several threads where files can be cut. Damage becomes notes.
    ///
    /// # Errors
    /// When the bytes cannot be read, or the format is not lowered to the model.
    pub fn lower(&self, sink: &mut dyn Sink) -> Result<(), Error> {
        let options = LowerOptions {
            limits: self.limits,
            ..LowerOptions::default()
        };
        match &self.place {
            #[cfg(feature = "files")]
            TracePlace::Document(document) => traceloom_input::lower(document, &options, sink),
            TracePlace::Bytes(source) => match self.format.lower {
                Some(lower) => lower(source, &options, sink),
                None => Err(Error::usage(format!(
                    "{} is not lowered to the model",
                    self.format.title
                ))),
            },
        }
    }

    /// Reads the recording into memory, with every table, row and note.
    ///
    /// # Errors
    /// As [`Self::lower`].
    ///
    /// ```
    /// let bytes = b"main;handle;read 7\nmain;idle 3\n";
    /// let recording = traceloom::from_bytes("cpu.folded", bytes).unwrap().recording()?;
    /// let names: Vec<_> = recording.function_names().collect();
    /// assert_eq!(names, ["main", "handle", "read", "idle"]);
    /// # Ok::<(), traceloom::Error>(())
    /// ```
    pub fn recording(&self) -> Result<Recording, Error> {
        let mut recording = Recording::default();
        self.lower(&mut recording)?;
        Ok(recording)
    }

    /// Shows every span as it is read, and returns the notes. Memory is that of the tables, whatever the number of spans.
    ///
    /// The order is what the format has: within a track spans come by their ends, children before their parent
    /// ([`Order::Nested`](traceloom_model::Order)), as the producer finished them, or in no order at all; `tables.order`
    /// of a span says which. Tracks are interleaved.
    ///
    /// # Errors
    /// As [`Self::lower`].
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// let bytes = br#"[
    ///     {"ph":"B","name":"request","ts":0,"pid":1,"tid":1},
    ///     {"ph":"X","name":"query","ts":2,"dur":3,"pid":1,"tid":1},
    ///     {"ph":"E","ts":9,"pid":1,"tid":1}
    /// ]"#;
    /// let mut spans = Vec::new();
    /// traceloom::from_bytes("trace.json", bytes).unwrap().each_span(|span| {
    ///     spans.push((span.name().into_owned(), span.depth(), span.duration()));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(spans, [("query".into(), 1, 3_000), ("request".into(), 0, 9_000)]);
    /// # Ok::<(), traceloom::Error>(())
    /// ```
    pub fn each_span(&self, show: impl FnMut(NamedSpan<'_>) -> Flow) -> Result<Notes, Error> {
        let mut visitor = SpanVisitor {
            tables: Recording::default(),
            show,
        };
        self.lower(&mut visitor)?;
        Ok(visitor.tables.notes)
    }

    /// Reads the recording into call trees: wall time of spans, and one tree for each value of samples.
    ///
    /// # Errors
    /// As [`Self::lower`].
    ///
    /// ```
    /// let trace = traceloom::from_bytes("cpu.folded", b"main;read 7\nmain 3\n").unwrap();
    /// let trees = trace.trees(Default::default())?;
    /// assert_eq!(trees.iter().map(|tree| tree.total).collect::<Vec<_>>(), [10]);
    /// # Ok::<(), traceloom::Error>(())
    /// ```
    pub fn trees(&self, options: TreeOptions) -> Result<Trees, Error> {
        let mut builder = TreeBuilder::new(options);
        self.lower(&mut builder)?;
        let passed_over = builder.passed_over();
        let mut trees = builder.finish();
        trees.choose_tracks(passed_over);
        Ok(trees)
    }

    /// Writes the recording in another format, through the model, and returns what that format cannot hold.
    ///
    /// # Errors
    /// As [`Self::lower`], when the format is not written, and when `output` fails.
    ///
    /// ```
    /// use traceloom::formats::by_name;
    ///
    /// let trace = traceloom::from_bytes("cpu.folded", b"main;read 7\nmain 3\n").unwrap();
    /// let mut json = Vec::new();
    /// let losses = trace.write(by_name("speedscope").unwrap(), &mut json)?;
    /// assert_eq!(losses.lost, []);
    /// assert_eq!(traceloom::from_bytes("x.json", &json).unwrap().format().name, "speedscope");
    /// # Ok::<(), traceloom::Error>(())
    /// ```
    pub fn write(&self, to: &'static Format, output: &mut dyn Output) -> Result<Losses, Error> {
        let raise = to
            .raise
            .ok_or_else(|| Error::usage(format!("{} is not written", to.title)))?;
        let options = RaiseOptions {
            variant: None,
            sources: vec![self.format.name],
        };
        let holds = to.holds.of_variant(None);
        let counted = match to == self.format {
            true => holds.of_the_same_format(),
            false => holds,
        };
        let mut target = raise(&options, output)?;
        let mut withheld = WithheldSpans::new(target.as_mut(), counted);
        let mut loss = Loss::new(&mut withheld, counted);
        self.lower(&mut loss)?;
        let mut losses = loss.finish();
        target.finish()?;
        for (feature, names) in target.left_out() {
            let names = names.into_iter().map(|row| (row.name, row.count));
            losses.take_left_out(holds, feature, names);
        }
        Ok(losses)
    }
}

/// Shows spans as they come and keeps the tables alone.
struct SpanVisitor<F> {
    tables: Recording,
    show: F,
}

impl<F: FnMut(NamedSpan<'_>) -> Flow> Sink for SpanVisitor<F> {
    fn begin(&mut self, order: traceloom_model::Order, clock: traceloom_model::Clock) {
        self.tables.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        let tables = &self.tables;
        let mut rows = batch.iter();
        rows.try_for_each(|row| (self.show)(NamedSpan { tables, row }))
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, note: Note) -> Flow {
        self.tables.note(note)
    }
}
