//! Request dumps: HTTP posts of agents as JSON lines, bodies in base64 (SPEC.md §5); symbol tables in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use traceloom_model::{Flow, Limit, Limits, Note};

use crate::{Chunk, Field, Opaque, Reader, Record, RecordSink, Step, damage, info};

/// One post of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// Offset of the line.
    pub offset: u64,
    /// The line with its end.
    pub line: &'a [u8],
    /// Sequence number, where the recorder counts.
    pub sequence: Option<u64>,
    /// Path of the request.
    pub uri: String,
    /// Status of the reply, where the recorder saw it.
    pub reply: Option<u64>,
    /// Names and values in their order.
    pub headers: Vec<(String, String)>,
    /// Decoded body.
    pub body: Vec<u8>,
}

impl<'a> Request<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(offset: u64, line: &'a [u8]) -> Result<Self, &'static str> {
        let json: Json = serde_json::from_slice(line).map_err(|_| "a line that is no JSON")?;
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let uri = text("uri").or_else(|| text("path"));
        let uri = uri.ok_or("a request without a path")?.to_owned();
        let body = text("body").unwrap_or("");
        let body = STANDARD
            .decode(body)
            .map_err(|_| "a body that is no base64")?;
        Ok(Self {
            offset,
            line,
            sequence: json.get("seq").and_then(Json::as_u64),
            uri,
            reply: json.get("reply").and_then(Json::as_u64),
            headers: headers(json.get("headers")),
            body: posted_body(body),
        })
    }

    /// Returns the first header of one of these names, whatever its case.
    #[must_use]
    pub fn header(&self, names: &[&str]) -> Option<&str> {
        let named = |known: &String| names.iter().any(|name| known.eq_ignore_ascii_case(name));
        let found = self.headers.iter().find(|(name, _)| named(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the session the symbols of this post belong to, whatever its era calls it.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.header(&[
            "X-Zorka-Session-ID",
            "X-Zorka-Session-UUID",
            "X-ZICO-Session-UUID",
        ])
    }

    /// Returns true if the session starts from nothing.
    #[must_use]
    pub fn resets(&self) -> bool {
        self.header(&["X-Zorka-Session-Reset"])
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns the trace id: 16 or 32 hex digits, or a UUID.
    #[must_use]
    pub fn trace_id(&self) -> Option<u128> {
        let value = self.header(&[
            "X-Zorka-Trace-ID",
            "X-Zorka-Trace-UUID",
            "X-ZICO-Trace-UUID",
        ])?;
        let digits: String = value.chars().filter(|&c| c != '-').collect();
        u128::from_str_radix(&digits, 16).ok()
    }

    /// Returns true if the collector took the post; unknown counts as taken.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.reply.is_none_or(|status| status < 300)
    }
}

/// Headers come as an object of lists or as a list of pairs.
fn headers(json: Option<&Json>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: &Json| {
        if let Some(value) = value.as_str() {
            all.push((name.to_owned(), value.to_owned()));
        }
    };
    match json {
        Some(Json::Object(map)) => {
            for (name, values) in map {
                match values {
                    Json::Array(values) => values.iter().for_each(|value| add(name, value)),
                    value => add(name, value),
                }
            }
        }
        Some(Json::Array(pairs)) => {
            for pair in pairs {
                if let (Some(name), Some(value)) = (pair.get(0).and_then(Json::as_str), pair.get(1))
                {
                    add(name, value);
                }
            }
        }
        _ => {}
    }
    all
}

/// Returns the body of a post: until 2018 it was base64 on the wire already.
#[must_use]
pub fn posted_body(body: Vec<u8>) -> Vec<u8> {
    let printable = body.len() >= 4 && body.iter().all(u8::is_ascii_graphic);
    match printable.then(|| STANDARD.decode(&body)) {
        Some(Ok(inner)) => inner,
        _ => body,
    }
}

impl Record for Request<'_> {
    fn kind(&self) -> &str {
        "request"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.line.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        if let Some(sequence) = self.sequence {
            show("seq", Field::U64(sequence));
        }
        show("uri", Field::Str(&self.uri));
        if let Some(reply) = self.reply {
            show("reply", Field::U64(reply));
        }
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (Field::Str(name), Field::Str(value)))
            .collect();
        show("headers", Field::Map(&headers));
        show("body", Field::Bytes(&self.body));
    }

    // The line is the record: spacing, order of members and escapes belong to its writer.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.line);
    }
}

/// Reads request dumps line by line.
#[derive(Clone)]
pub(crate) struct RequestLines {
    record: usize,
}

impl RequestLines {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            record: limits.size(Limit::Record),
        }
    }

    fn line(&self, offset: u64, line: &[u8], out: &mut impl Requests) -> Flow {
        if line.trim_ascii().is_empty() {
            return out.other(&Opaque {
                kind: "blank",
                offset,
                bytes: line,
            });
        }
        let parsed = if line.len() > self.record {
            Err("a line above the limit")
        } else {
            Request::parse(offset, line)
        };
        match parsed {
            Ok(request) => out.request(&request),
            Err(text) => {
                out.other(&Opaque::damage(offset, line))?;
                out.note(damage("bad_request", offset, text))
            }
        }
    }

    /// Reads every whole line of `chunk`.
    pub(crate) fn each(&self, chunk: Chunk<'_>, out: &mut impl Requests) -> Step {
        let mut at = 0;
        while let Some(rest) = chunk.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let len = match rest.iter().position(|&byte| byte == b'\n') {
                Some(end) => end + 1,
                None if chunk.eof => rest.len(),
                None => {
                    let need = rest.len().saturating_mul(2).max(4096);
                    return Step::More { consumed: at, need };
                }
            };
            let line = rest.get(..len).unwrap_or(rest);
            if self.line(chunk.offset + at as u64, line, out).is_break() {
                return Step::Stop;
            }
            at += len;
        }
        Step::More {
            consumed: at,
            need: 1,
        }
    }
}

/// Takes the lines of a request dump.
pub(crate) trait Requests {
    /// Takes a request.
    fn request(&mut self, request: &Request<'_>) -> Flow;

    /// Takes a line that is none.
    fn other(&mut self, line: &Opaque<'_>) -> Flow;

    /// Takes a note.
    fn note(&mut self, note: Note) -> Flow;
}

/// Requests as native records.
struct RequestRecord<'o>(&'o mut dyn RecordSink);

impl Requests for RequestRecord<'_> {
    fn request(&mut self, request: &Request<'_>) -> Flow {
        self.0.record(request)
    }

    fn other(&mut self, line: &Opaque<'_>) -> Flow {
        self.0.record(line)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.note(note)
    }
}

impl Reader for RequestLines {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        self.each(chunk, &mut RequestRecord(out))
    }
}

/// A table of symbols in JSON: one object, ids to texts.
struct SymbolObject<'a> {
    offset: u64,
    bytes: &'a [u8],
    symbols: Vec<(u64, String)>,
}

/// Reads a table of symbols: `{"1":"HTTP",…}`; none when it is something else.
pub(crate) fn symbols(bytes: &[u8]) -> Option<Vec<(u64, String)>> {
    let json: Json = serde_json::from_slice(bytes).ok()?;
    let pair = |(id, text): (&String, &Json)| Some((id.parse().ok()?, text.as_str()?.to_owned()));
    json.as_object()?.iter().map(pair).collect()
}

impl Record for SymbolObject<'_> {
    fn kind(&self) -> &str {
        "symbols"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let rows: Vec<_> = self
            .symbols
            .iter()
            .map(|(id, text)| (Field::U64(*id), Field::Str(text)))
            .collect();
        show("symbols", Field::Map(&rows));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }
}

/// Reads definitions: items, or a table in JSON.
#[derive(Clone)]
pub(crate) struct DefinitionReader {
    items: super::Reader,
    json: Option<bool>,
    record: usize,
}

impl DefinitionReader {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            items: super::Reader::new(limits, super::TwoItems::Guess),
            json: None,
            record: limits.size(Limit::Record),
        }
    }
}

impl Reader for DefinitionReader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let Some(first) = chunk.bytes.first() else {
            return Step::More {
                consumed: 0,
                need: 1,
            };
        };
        if !*self.json.get_or_insert(*first == b'{') {
            return Reader::read(&mut self.items, chunk, out);
        }
        if !chunk.eof && chunk.bytes.len() <= self.record {
            let need = chunk.bytes.len().saturating_mul(2).max(4096);
            return Step::More { consumed: 0, need };
        }
        let whole = chunk.offset == 0 && chunk.bytes.len() <= self.record;
        let (bytes, offset) = (chunk.bytes, chunk.offset);
        let flow = match whole.then(|| symbols(bytes)).flatten() {
            Some(symbols) => out.record(&SymbolObject {
                offset,
                bytes,
                symbols,
            }),
            None => out
                .record(&Opaque::damage(offset, bytes))
                .is_continue()
                .then_some(())
                .map_or(Flow::Break(()), |()| {
                    out.note(info(
                        "no_symbols",
                        offset,
                        "JSON that is no table of symbols",
                    ))
                }),
        };
        if flow.is_break() {
            return Step::Stop;
        }
        Step::More {
            consumed: bytes.len(),
            need: 1,
        }
    }
}
