//! Recorded requests: HTTP heads, bodies in pieces, multipart bodies in parts.
//!
//! Heads are taken apart here, line by line: parts of a body have headers without a request line, and of a
//! damaged head every line counts that can be read.
//!
//! Everything is a range of the recording. A body sent in chunks is put together only to find its parts;
//! what is handed on are the pieces of the recording that hold it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use traceloom_model::bounds::{saturated_u32, subslice};

/// One request or response of a recording, or a multipart body recorded without its head.
#[derive(Debug, Default)]
pub(super) struct HttpMessage<'a> {
    /// Request line and headers with the blank line; empty for a bare body.
    pub(super) head: Range<usize>,
    /// Method, empty for a bare body; `HTTP/1.1` for a response.
    pub(super) method: &'a str,
    /// Request target.
    pub(super) target: &'a str,
    /// Headers, names in lower case.
    pub(super) headers: Vec<(String, &'a str)>,
    /// Where the body's bytes are.
    pub(super) pieces: Vec<Range<usize>>,
    /// The body in one piece.
    pub(super) body: Cow<'a, [u8]>,
    /// Parts of a multipart body, as ranges of the body.
    pub(super) parts: Vec<BodyPart<'a>>,
    /// The multipart body has its end.
    pub(super) closed: bool,
    /// Offset in the body of the closing boundary, or of its end.
    pub(super) closing: usize,
    /// Offset after the message.
    pub(super) end: usize,
}

/// A part of a multipart body.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyPart<'a> {
    /// From its boundary to the next.
    pub(super) whole: Range<usize>,
    /// Its content.
    pub(super) content: Range<usize>,
    /// Field name.
    pub(super) name: Cow<'a, str>,
    /// File name, none for a form value.
    pub(super) file: Option<Cow<'a, str>>,
    /// Content type.
    pub(super) content_type: Cow<'a, str>,
}

impl BodyPart<'_> {
    /// Returns the name to know it by: of the file, else of the field.
    pub(super) fn file_name(&self) -> &str {
        let file = self.file.as_deref().filter(|file| !file.is_empty());
        file.unwrap_or(&self.name)
    }
}

impl HttpMessage<'_> {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| *value)
    }

    /// Returns true if its head says that the body has parts.
    pub(super) fn is_multipart(&self) -> bool {
        let kind = self.header("content-type");
        kind.and_then(boundary_of).is_some()
    }

    /// Returns the bytes of a range of the body.
    pub(super) fn slice(&self, range: &Range<usize>) -> &[u8] {
        subslice(&self.body, range.clone())
    }

    /// Returns the pieces of the recording that hold a range of the body: offsets and lengths.
    pub(super) fn place(&self, range: &Range<usize>) -> Vec<(u64, u32)> {
        let mut places = Vec::new();
        let mut before = 0;
        for piece in &self.pieces {
            let inside = |at: usize| (piece.start + at.saturating_sub(before)).min(piece.end);
            let (mut start, end) = (inside(range.start), inside(range.end));
            before += piece.len();
            while start < end {
                let length = saturated_u32(end - start);
                places.push((start as u64, length));
                start += length as usize;
            }
        }
        places
    }
}

const METHODS: [&[u8]; 4] = [b"POST ", b"PUT ", b"GET ", b"HTTP/1."];

/// Returns true if bytes begin a message with a head.
pub(super) fn begins_message(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| bytes.starts_with(method))
}

/// Returns the boundary of a multipart body that begins here.
pub(super) fn bare_boundary(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(b"--")?;
    let line = rest.get(..memchr::memchr(b'\n', rest.get(..100).unwrap_or(rest))?)?;
    let boundary = line.strip_suffix(b"\r").unwrap_or(line);
    let legal = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let headers = subslice(rest, line.len() + 1..);
    let named = headers
        .get(..20)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"content-disposition:"))
        || headers
            .get(..13)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"content-type:"));
    (!boundary.is_empty() && boundary.iter().all(legal) && named).then_some(boundary)
}

/// Reads every message of a recording; what cannot be read ends it.
pub(super) fn messages(bytes: &[u8]) -> Vec<HttpMessage<'_>> {
    let mut messages = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let message = if begins_message(rest) {
            message(bytes, at)
        } else if at == 0 && bare_boundary(rest).is_some() {
            bare(bytes)
        } else {
            break;
        };
        at = message.end.max(at + 1);
        messages.push(message);
    }
    messages
}

fn bare(bytes: &[u8]) -> HttpMessage<'_> {
    let mut message = HttpMessage {
        pieces: std::iter::once(0..bytes.len()).collect(),
        body: Cow::Borrowed(bytes),
        end: bytes.len(),
        ..HttpMessage::default()
    };
    if let Some(boundary) = bare_boundary(bytes) {
        split(&mut message, boundary);
    }
    message
}

/// Reads a multipart body by the boundary that its Content-Type names.
pub(super) fn multipart<'a>(content_type: &str, body: &'a [u8]) -> Option<HttpMessage<'a>> {
    let boundary = boundary_of(content_type).filter(|boundary| !boundary.is_empty())?;
    let mut message = HttpMessage {
        pieces: std::iter::once(0..body.len()).collect(),
        body: Cow::Borrowed(body),
        end: body.len(),
        ..HttpMessage::default()
    };
    split(&mut message, boundary.as_bytes());
    Some(message)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("")
}

/// The end of a block of headers: after its blank line.
fn headers_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let strict = memmem::find(bytes, b"\r\n\r\n").map(|at| (at, at + 4));
    let lax = memmem::find(bytes, b"\n\n").map(|at| (at, at + 2));
    match (strict, lax) {
        (Some(strict), Some(lax)) => Some(strict.min(lax)),
        (strict, lax) => strict.or(lax),
    }
}

fn headers(block: &[u8]) -> Vec<(String, &str)> {
    let lines = block.split(|byte| *byte == b'\n');
    let header = |line: &'_ [u8]| -> Option<(String, Range<usize>)> {
        let colon = memchr::memchr(b':', line)?;
        let key = text(line.get(..colon)?).trim().to_ascii_lowercase();
        Some((key, colon + 1..line.len()))
    };
    lines
        .filter_map(|line| {
            let (key, value) = header(line)?;
            Some((key, text(line.get(value)?).trim()))
        })
        .collect()
}

fn message(bytes: &[u8], start: usize) -> HttpMessage<'_> {
    let rest = subslice(bytes, start..);
    let (block, length) = headers_end(rest).unwrap_or((rest.len(), rest.len()));
    let head = rest.get(..block).unwrap_or(rest);
    let line_end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    let mut words = text(head.get(..line_end).unwrap_or(head)).split_whitespace();
    let mut message = HttpMessage {
        head: start..start + length,
        method: words.next().unwrap_or(""),
        target: words.next().unwrap_or(""),
        headers: headers(subslice(head, line_end..)),
        ..HttpMessage::default()
    };
    body(bytes, start + length, &mut message);
    let boundary = message.header("content-type").and_then(boundary_of);
    let boundary = boundary.map(|boundary| boundary.into_owned().into_bytes());
    if let Some(boundary) = boundary {
        split(&mut message, &boundary);
    }
    message
}

fn boundary_of(content_type: &str) -> Option<Cow<'_, str>> {
    let kind = content_type.split(';').next()?.trim();
    let multipart = kind
        .get(..10)
        .is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/"));
    multipart.then(|| parameter(content_type, "boundary"))?
}

/// Finds where the body is: in chunks, by its length, or everything up to the next message.
fn body<'a>(bytes: &'a [u8], start: usize, message: &mut HttpMessage<'a>) {
    let chunked = message
        .header("transfer-encoding")
        .is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    if chunked {
        return chunks(bytes, start, message);
    }
    let left = bytes.len().saturating_sub(start);
    let length = match message
        .header("content-length")
        .and_then(|length| length.parse().ok())
    {
        Some(length) => left.min(length),
        None if message.method == "GET" => 0,
        None => left,
    };
    message.end = start + length;
    message.pieces = std::iter::once(start..message.end).collect();
    message.body = Cow::Borrowed(subslice(bytes, start..message.end));
}

fn chunks(bytes: &[u8], start: usize, message: &mut HttpMessage<'_>) {
    let mut at = start;
    let mut body = Vec::new();
    while let Some(line_end) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)) {
        let line = text(subslice(bytes, at..at + line_end)).trim();
        let digits = line.split(';').next().unwrap_or("").trim();
        let Ok(length) = usize::from_str_radix(digits, 16) else {
            break;
        };
        at += line_end + 1;
        let end = at.saturating_add(length).min(bytes.len());
        let content = subslice(bytes, at..end);
        body.extend_from_slice(content);
        if !content.is_empty() {
            message.pieces.push(at..end);
        }
        at = end;
        let rest = subslice(bytes, at..);
        at += if rest.starts_with(b"\r\n") {
            2
        } else {
            usize::from(rest.starts_with(b"\n"))
        };
        if length == 0 {
            break;
        }
    }
    message.end = at;
    message.body = Cow::Owned(body);
}

/// Splits a body at its boundaries.
fn split(message: &mut HttpMessage<'_>, boundary: &[u8]) {
    let mut mark = b"--".to_vec();
    mark.extend_from_slice(boundary);
    let body = &message.body;
    // A boundary stands at the beginning of a line.
    let starts: Vec<usize> = memmem::find_iter(body, &mark)
        .filter(|&at| at == 0 || body.get(at - 1) == Some(&b'\n'))
        .collect();
    let mut parts = Vec::new();
    message.closing = body.len();
    for (index, &start) in starts.iter().enumerate() {
        let after = start + mark.len();
        if body
            .get(after..)
            .is_some_and(|rest| rest.starts_with(b"--"))
        {
            message.closed = true;
            message.closing = start;
            break;
        }
        let end = starts.get(index + 1).copied().unwrap_or(body.len());
        let last = index + 1 == starts.len();
        parts.push(part(body, start, after, end, last));
    }
    message.parts = parts;
}

fn part<'a>(body: &[u8], start: usize, after: usize, end: usize, last: bool) -> BodyPart<'a> {
    let rest = subslice(body, after..end);
    let (block, length) = headers_end(rest).unwrap_or((rest.len(), rest.len()));
    let headers = headers(rest.get(..block).unwrap_or(rest));
    let header = |name: &str| {
        let found = headers.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| *value)
    };
    let disposition = header("content-disposition");
    let owned = |value: Cow<'_, str>| Cow::Owned(value.into_owned());
    let mut content = after + length..end;
    if !last {
        let bytes = subslice(body, content.clone());
        let trimmed = bytes
            .strip_suffix(b"\r\n")
            .or_else(|| bytes.strip_suffix(b"\n"));
        content.end = content.start + trimmed.unwrap_or(bytes).len();
    }
    BodyPart {
        whole: start..end,
        content,
        name: parameter(disposition, "name")
            .map(owned)
            .unwrap_or_default(),
        file: parameter(disposition, "filename").map(owned),
        content_type: Cow::Owned(header("content-type").to_owned()),
    }
}

/// Reads `name=value` or `name="value"` of a header.
fn parameter<'h>(header: &'h str, name: &str) -> Option<Cow<'h, str>> {
    let mut rest = header;
    while let Some((_, after)) = rest.split_once(';') {
        let after = after.trim_start();
        let (key, value) = after.split_once('=')?;
        let quoted = value.strip_prefix('"');
        let found = match quoted {
            Some(quoted) => {
                let end = closing_quote(quoted);
                rest = quoted.get(end..).unwrap_or("");
                let inside = quoted.get(..end).unwrap_or(quoted);
                if inside.contains('\\') {
                    Cow::Owned(inside.replace("\\\"", "\"").replace("\\\\", "\\"))
                } else {
                    Cow::Borrowed(inside)
                }
            }
            None => {
                rest = value;
                Cow::Borrowed(value.split(';').next().unwrap_or("").trim())
            }
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(found);
        }
    }
    None
}

fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    let end = text.find(|character| {
        let closes = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        closes
    });
    end.unwrap_or(text.len())
}

/// Splits the query of a target into decoded keys and values.
pub(super) fn query(target: &str) -> Vec<(String, String)> {
    let Some((_, query)) = target.split_once('?') else {
        return Vec::new();
    };
    let query = query.split('#').next().unwrap_or(query);
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(key), percent_decode(value))
        })
        .collect()
}

fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let code = tail.get(..2).filter(|_| first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        match (first, code) {
            (_, Some(byte)) => {
                out.push(byte);
                rest = subslice(tail, 2..);
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
