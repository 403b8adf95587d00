//! A document as native records: the elements a layout names, and the text between them.

use std::ops::ControlFlow;

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limits, Note};

use super::{Document, Kind, Value};
use crate::codec::WholeInput;
use crate::{Chunk, Field, Opaque, Reader, Record, RecordSink, Step, damage, warn};

/// Which values of a format are records of their own.
#[derive(Debug)]
pub struct JsonLayout {
    /// Kind of the text around those records.
    pub document: &'static str,
    /// Paths from the root and the kind of what they lead to; `*` is any element or member. No path leads
    /// into another.
    pub elements: &'static [(&'static [&'static str], &'static str)],
    /// Times the whole document covers, in nanoseconds, for `info`.
    pub time: fn(Value<'_>) -> Option<(i64, i64)>,
}

/// Reads a JSON format.
///
/// Nothing can be said of a document before its end, so the whole text is one window; the record limit
/// bounds it.
#[derive(Clone, Debug)]
pub struct JsonReader {
    layout: &'static JsonLayout,
    limits: Limits,
    gather: WholeInput,
    /// Documents may follow the first one.
    several: bool,
}

impl JsonReader {
    /// A reader of documents laid out like `layout`.
    #[must_use]
    pub fn new(layout: &'static JsonLayout, limits: &Limits) -> Self {
        Self {
            layout,
            limits: *limits,
            gather: WholeInput::new(limits),
            several: false,
        }
    }

    /// A reader of documents laid out like `layout` that may follow one another, as in JSON lines.
    #[must_use]
    pub fn of_several(layout: &'static JsonLayout, limits: &Limits) -> Self {
        Self {
            several: true,
            ..Self::new(layout, limits)
        }
    }

    fn documents(&self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Flow {
        let mut at = 0;
        loop {
            let rest = Chunk {
                bytes: subslice(chunk.bytes, at..),
                offset: chunk.offset + at as u64,
                eof: chunk.eof,
            };
            match self.document(rest, out)? {
                0 => return Flow::Continue(()),
                end => at += end,
            }
        }
    }

    /// Shows the first document; returns where the next one begins, 0 where none does.
    fn document(&self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> ControlFlow<(), usize> {
        let document = Document::parse(chunk.bytes, &self.limits);
        for defect in document.defects() {
            let offset = chunk.offset + defect.offset as u64;
            let note = damage(defect.kind, offset, defect.text);
            out.note(note.counting((defect.skipped as u64).max(1)))?;
        }
        let end = end_of(&document, chunk.bytes);
        if let Some(root) = document.root() {
            self.records(chunk, root, end, out)?;
        }
        let Some(note) = bytes_behind(chunk.bytes, end, chunk.offset) else {
            return ControlFlow::Continue(0);
        };
        if self.several && end > 0 {
            return ControlFlow::Continue(end);
        }
        let offset = note.offset;
        out.note(note)?;
        out.record(&Opaque::damage(offset, subslice(chunk.bytes, end..)))?;
        ControlFlow::Continue(0)
    }

    fn records(
        &self,
        chunk: Chunk<'_>,
        root: Value<'_>,
        end: usize,
        out: &mut dyn RecordSink,
    ) -> Flow {
        let time = (self.layout.time)(root);
        let mut marks = Vec::new();
        for (path, kind) in self.layout.elements {
            follow(root, path, kind, &mut marks);
        }
        marks.sort_unstable_by_key(|(value, _)| value.row());
        let mut at = 0;
        let text = |from: usize, to: usize, first: bool| TextStretch {
            kind: self.layout.document,
            offset: chunk.offset + from as u64,
            bytes: subslice(chunk.bytes, from..to),
            value: first.then_some(root),
            time: time.filter(|_| first),
        };
        for (value, kind) in marks {
            if value.start() < at {
                continue;
            }
            if value.start() > at {
                out.record(&text(at, value.start(), at == 0))?;
            }
            out.record(&TextStretch {
                kind,
                offset: chunk.offset + value.start() as u64,
                bytes: subslice(chunk.bytes, value.start()..value.end()),
                value: Some(value),
                time: None,
            })?;
            at = value.end();
        }
        if end > at {
            out.record(&text(at, end, at == 0))?;
        }
        Flow::Continue(())
    }
}

impl Reader for JsonReader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let whole = match self.gather.read(chunk, out) {
            Ok(whole) => whole,
            Err(step) => return step,
        };
        if !whole.bytes.is_empty() && self.documents(whole, out).is_break() {
            return Step::Stop;
        }
        Step::More {
            consumed: chunk.bytes.len(),
            need: 0,
        }
    }
}

/// Returns where a document ends, with the space behind it; 0 where there is none.
pub(super) fn end_of(document: &Document<'_>, bytes: &[u8]) -> usize {
    if document.root().is_none() {
        return 0;
    }
    let rest = subslice(bytes, document.end()..).iter();
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    document.end() + rest.take_while(is_space).count()
}

/// Returns the note about bytes behind a document that ends there, where there are any.
pub(super) fn bytes_behind(bytes: &[u8], end: usize, offset: u64) -> Option<Note> {
    let count = bytes.len().saturating_sub(end) as u64;
    let offset = offset + end as u64;
    let note = warn("bytes_after_document", offset, "bytes follow the document");
    (count > 0).then(|| note.counting(count))
}

fn follow<'d>(
    value: Value<'d>,
    path: &[&str],
    kind: &'static str,
    out: &mut Vec<(Value<'d>, &'static str)>,
) {
    match path.split_first() {
        None => out.push((value, kind)),
        Some((&"*", rest)) => value.items().for_each(|item| follow(item, rest, kind, out)),
        Some((key, rest)) => {
            if let Some(item) = value.get(key) {
                follow(item, rest, kind, out);
            }
        }
    }
}

/// A stretch of the text: an element, or what lies between elements.
struct TextStretch<'a> {
    kind: &'static str,
    offset: u64,
    bytes: &'a [u8],
    value: Option<Value<'a>>,
    time: Option<(i64, i64)>,
}

impl Record for TextStretch<'_> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let Some(value) = self.value else { return };
        if value.kind() != Kind::Object {
            return with_field(value, &mut |field| show("value", field));
        }
        for item in value.items() {
            let key = item.key().unwrap_or_default();
            with_field(item, &mut |field| {
                show(&String::from_utf8_lossy(&key), field)
            });
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.time
    }
}

/// Elements of an array that are shown as a list; longer ones are shown by their count.
const SHOWN: usize = 64;

/// Shows a scalar as itself, a short array of scalars as a list, anything else by its size.
fn with_field(value: Value<'_>, show: &mut dyn FnMut(Field<'_>)) {
    match value.kind() {
        Kind::Array => {
            let items: Vec<Value<'_>> = value.items().take(SHOWN + 1).collect();
            let flat = |item: &Value<'_>| !matches!(item.kind(), Kind::Array | Kind::Object);
            if items.len() > SHOWN || !items.iter().all(flat) {
                return show(Field::Map(&[(
                    Field::Str("items"),
                    Field::U64(value.items().count() as u64),
                )]));
            }
            let texts: Vec<_> = items.iter().map(|item| item.bytes()).collect();
            let fields: Vec<Field<'_>> = items
                .iter()
                .zip(&texts)
                .map(|(item, text)| scalar(*item, text.as_deref()))
                .collect();
            show(Field::List(&fields));
        }
        Kind::Object => show(Field::Map(&[(
            Field::Str("members"),
            Field::U64(value.items().count() as u64),
        )])),
        _ => show(scalar(value, value.bytes().as_deref())),
    }
}

fn scalar<'f>(value: Value<'f>, text: Option<&'f [u8]>) -> Field<'f> {
    match value.kind() {
        Kind::True => Field::Bool(true),
        Kind::False => Field::Bool(false),
        Kind::Number => number(value),
        Kind::String => Field::Text(text.unwrap_or_default()),
        _ => Field::Null,
    }
}

fn number(value: Value<'_>) -> Field<'static> {
    let text = value.number().unwrap_or_default();
    if let Ok(unsigned) = text.parse() {
        return Field::U64(unsigned);
    }
    match text.parse() {
        Ok(signed) => Field::I64(signed),
        Err(_) => Field::F64(value.f64().unwrap_or(0.0)),
    }
}
