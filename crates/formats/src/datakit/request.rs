//! A recorded request as native records.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limits};

use super::http::{self, HttpMessage};
use crate::codec::WholeInput;
use crate::{Chunk, Field, Opaque, Reader, Record, RecordSink, Step, damage};

/// Reads recordings of requests and bare multipart bodies.
#[derive(Clone, Debug)]
pub(super) struct RequestReader {
    gather: WholeInput,
}

impl RequestReader {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            gather: WholeInput::new(limits),
        }
    }
}

impl Reader for RequestReader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let whole = match self.gather.read(chunk, out) {
            Ok(whole) => whole,
            Err(step) => return step,
        };
        if recording(whole, out).is_break() {
            return Step::Stop;
        }
        Step::More {
            consumed: chunk.bytes.len(),
            need: 0,
        }
    }
}

fn recording(chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Flow {
    let mut at = 0;
    for message in http::messages(chunk.bytes) {
        records(chunk, &message, out)?;
        at = message.end;
    }
    let rest = subslice(chunk.bytes, at..);
    if rest.is_empty() {
        return Flow::Continue(());
    }
    let offset = chunk.offset + at as u64;
    let note = damage(
        "not_a_request",
        offset,
        "expected a request or a multipart body",
    );
    out.note(note.counting(rest.len() as u64))?;
    out.record(&Opaque::damage(offset, rest))
}

fn records(chunk: Chunk<'_>, message: &HttpMessage<'_>, out: &mut dyn RecordSink) -> Flow {
    let piece = |kind, start: usize, end: usize| RequestPiece {
        kind,
        offset: chunk.offset + start as u64,
        bytes: subslice(chunk.bytes, start..end),
        fields: Vec::new(),
    };
    if !message.head.is_empty() {
        let mut head = piece("request", message.head.start, message.head.end);
        head.fields.push(("method".into(), message.method.into()));
        head.fields.push(("target".into(), message.target.into()));
        for (key, value) in &message.headers {
            head.fields
                .push((key.replace('-', "_"), (*value).to_owned()));
        }
        out.record(&head)?;
    }
    let start = message.head.end;
    let plain = matches!(message.pieces.as_slice(), [only] if only.end == message.end);
    if !message.parts.is_empty() && !message.closed {
        let offset = chunk.offset + message.end as u64;
        out.note(damage(
            "truncated_body",
            offset,
            "the multipart body has no end",
        ))?;
    }
    let encoded = message.header("content-encoding").is_some();
    let empty = message.parts.is_empty() && !message.body.is_empty();
    if empty && message.is_multipart() && !encoded {
        let text = "the multipart body has no part";
        out.note(damage("no_parts", chunk.offset + start as u64, text))?;
    }
    if !plain || message.parts.is_empty() {
        let mut at = start;
        for body in &message.pieces {
            out.record(&piece(if plain { "body" } else { "chunk" }, at, body.end))?;
            at = body.end;
        }
        if at < message.end {
            out.record(&piece("chunk", at, message.end))?;
        }
        return Flow::Continue(());
    }
    let first = message.parts.first().map_or(0, |part| part.whole.start);
    if first > 0 {
        out.record(&piece("preamble", start, start + first))?;
    }
    for part in &message.parts {
        let mut record = piece("part", start + part.whole.start, start + part.whole.end);
        record
            .fields
            .push(("name".into(), part.name.clone().into_owned()));
        if let Some(file) = &part.file {
            record
                .fields
                .push(("filename".into(), file.clone().into_owned()));
        }
        if !part.content_type.is_empty() {
            record.fields.push((
                "content_type".into(),
                part.content_type.clone().into_owned(),
            ));
        }
        out.record(&record)?;
    }
    if start + message.closing < message.end {
        out.record(&piece("closing", start + message.closing, message.end))?;
    }
    Flow::Continue(())
}

/// A stretch of the recording. Heads, boundaries and contents are as the sender spelled them; the bytes
/// are the record.
struct RequestPiece<'a> {
    kind: &'static str,
    offset: u64,
    bytes: &'a [u8],
    fields: Vec<(String, String)>,
}

impl Record for RequestPiece<'_> {
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
        for (key, value) in &self.fields {
            show(key, Field::Str(value));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }
}
