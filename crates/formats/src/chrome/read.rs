//! Text to native records: events, members, and what lies between them.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limits};

use super::event::TraceEvent;
use super::split::{TracePiece, TraceSplitter};
use crate::text::json::{Document, Kind, Value};
use crate::{Chunk, Field, Opaque, Reader as Native, Record, RecordSink, Step, damage, info};

/// Reads a trace.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    splitter: TraceSplitter,
    limits: Limits,
    told: bool,
}

impl Reader {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            splitter: TraceSplitter::new(limits),
            limits: *limits,
            told: false,
        }
    }

    fn value(
        &mut self,
        kind: &'static str,
        (offset, bytes, from): (u64, &[u8], usize),
        out: &mut dyn RecordSink,
    ) -> Flow {
        let limits = &self.limits;
        let text = subslice(bytes, from..);
        self.splitter.parsed(text, |document| {
            for defect in document.defects() {
                let at = offset + (from + defect.offset) as u64;
                let note = damage(defect.kind, at, defect.text);
                out.note(note.counting((defect.skipped as u64).max(1)))?;
            }
            let key = (from > 0).then(|| Document::parse(subslice(bytes, ..from), limits));
            out.record(&Parsed {
                kind,
                offset,
                bytes,
                key: key.as_ref().and_then(Document::root),
                value: document.root(),
            })
        })
    }
}

/// A record and its parsed value.
struct Parsed<'a> {
    kind: &'static str,
    offset: u64,
    bytes: &'a [u8],
    key: Option<Value<'a>>,
    value: Option<Value<'a>>,
}

impl Record for Parsed<'_> {
    fn kind(&self) -> &str {
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
        if let Some(key) = self.key.and_then(Value::text) {
            show("key", Field::Str(&key));
            return with_field(value, &mut |field| show("value", field));
        }
        for member in value.items() {
            let key = member.key().unwrap_or_default();
            with_field(member, &mut |field| {
                show(&String::from_utf8_lossy(&key), field);
            });
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }

    fn time(&self) -> Option<(i64, i64)> {
        let event = self
            .value
            .filter(|_| self.kind == "event")
            .map(TraceEvent::read)?;
        let start = event.ts?;
        // Metadata has no time of its own.
        (event.phase() != b'M').then(|| (start, start.saturating_add(event.dur.unwrap_or(0))))
    }
}

/// Shows a scalar as itself, an object or array of scalars too, anything else by its size.
fn with_field(value: Value<'_>, show: &mut dyn FnMut(Field<'_>)) {
    const SHOWN: usize = 64;
    match value.kind() {
        Kind::Array | Kind::Object => {
            let items: Vec<Value<'_>> = value.items().take(SHOWN + 1).collect();
            let flat = |item: &Value<'_>| !matches!(item.kind(), Kind::Array | Kind::Object);
            if items.len() > SHOWN || !items.iter().all(flat) {
                let count = Field::U64(value.items().count() as u64);
                return show(Field::Map(&[(Field::Str("items"), count)]));
            }
            let texts: Vec<_> = items.iter().map(|item| item.bytes()).collect();
            let keys: Vec<_> = items.iter().map(|item| item.key()).collect();
            let fields = items.iter().zip(&texts);
            let fields = fields.map(|(item, text)| scalar(*item, text.as_deref()));
            if value.kind() == Kind::Array {
                let list: Vec<Field<'_>> = fields.collect();
                return show(Field::List(&list));
            }
            let named = keys
                .iter()
                .map(|key| Field::Text(key.as_deref().unwrap_or(&[])));
            let pairs: Vec<_> = named.zip(fields).collect();
            show(Field::Map(&pairs));
        }
        _ => show(scalar(value, value.bytes().as_deref())),
    }
}

fn scalar<'f>(value: Value<'f>, text: Option<&'f [u8]>) -> Field<'f> {
    match value.kind() {
        Kind::True => Field::Bool(true),
        Kind::False => Field::Bool(false),
        Kind::Number => match (value.u64(), value.i64()) {
            (Some(unsigned), _) => Field::U64(unsigned),
            (None, Some(signed)) => Field::I64(signed),
            (None, None) => Field::F64(value.f64().unwrap_or(0.0)),
        },
        Kind::String => Field::Text(text.unwrap_or_default()),
        _ => Field::Null,
    }
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut at = 0;
        loop {
            let window = subslice(chunk.bytes, at..);
            let offset = chunk.offset + at as u64;
            let of = |len: usize| window.get(..len).unwrap_or(window);
            let (len, flow) = match self.splitter.next(window, chunk.eof) {
                TracePiece::Need(need) => return Step::More { consumed: at, need },
                TracePiece::End => {
                    if self.splitter.unterminated && !std::mem::replace(&mut self.told, true) {
                        let text = "the trace ends without closing its brackets, as it may";
                        if out.note(info("unterminated", offset, text)).is_break() {
                            return Step::Stop;
                        }
                    }
                    return Step::More {
                        consumed: at,
                        need: 1,
                    };
                }
                TracePiece::Text(len) => {
                    let text = Opaque {
                        kind: "text",
                        offset,
                        bytes: of(len),
                    };
                    (len, out.record(&text))
                }
                TracePiece::Event(from, end) => {
                    (end, self.value("event", (offset, of(end), from), out))
                }
                TracePiece::Member(_, from, end) => {
                    (end, self.value("member", (offset, of(end), from), out))
                }
                TracePiece::Damage(len, kind) => {
                    let text = "bytes that are no event and no member";
                    let note = damage(kind, offset, text).counting(len as u64);
                    let flow = out.record(&Opaque::damage(offset, of(len)));
                    (
                        len,
                        if flow.is_break() {
                            flow
                        } else {
                            out.note(note)
                        },
                    )
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
            at += len;
        }
    }
}
