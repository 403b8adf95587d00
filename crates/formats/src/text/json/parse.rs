//! Bytes to a table of values, in one pass.

use traceloom_model::bounds::{length_u32, subslice};
use traceloom_model::{Limit, Limits};

use super::plain::{plain_number, plain_scalar, quoted};
use super::value::{Kind, Value};

/// A place where the text is not JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defect {
    /// Offset in the text.
    pub offset: usize,
    /// Stable identifier for a note.
    pub kind: &'static str,
    /// What was expected.
    pub text: &'static str,
    /// Bytes stepped over.
    pub skipped: usize,
}

/// One value: where it is, under which key, and where the next value that is not inside it has its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonNode {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Bytes between the quotes of the key; empty range at 0 for elements of arrays and the root.
    pub(super) key: (u32, u32),
    pub(super) keyed: bool,
    /// The key has a backslash, and the string has one.
    pub(super) is_key_escaped: bool,
    pub(super) is_escaped: bool,
    pub(super) next: u32,
}

/// A parsed text.
#[derive(Debug)]
pub struct Document<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) nodes: Vec<JsonNode>,
    defects: Vec<Defect>,
    end: usize,
}

/// Defects kept; a text with more of them is no JSON.
const DEFECTS: usize = 1 << 16;

/// Bytes of a text that is worth looking over for the size of its table.
const LARGE: usize = 1 << 20;

/// Returns how many values a text has at most, if it is JSON: each but the first follows a comma or an opened bracket.
fn most_values(text: &[u8]) -> usize {
    let follows = |byte: &u8| u8::from(matches!(byte, b',' | b'[' | b'{'));
    // As many as a byte can count.
    let counts = text
        .chunks(255)
        .map(|chunk| chunk.iter().map(follows).sum::<u8>());
    1 + counts.map(usize::from).sum::<usize>()
}

impl<'a> Document<'a> {
    /// Parses the first value of `bytes`, whatever they are.
    ///
    /// Texts above 4 GiB are cut there. Linear in time; memory is about 28 bytes a value.
    #[must_use]
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Self {
        Self::parse_into(&mut Vec::new(), Vec::new(), bytes, limits, DEFECTS)
    }

    /// Parses into the memory of another document's values, up to as many defects.
    fn parse_into(
        open: &mut Vec<OpenContainer>,
        mut nodes: Vec<JsonNode>,
        bytes: &'a [u8],
        limits: &Limits,
        most_defects: usize,
    ) -> Self {
        nodes.clear();
        open.clear();
        let cut = bytes.get(..u32::MAX as usize).unwrap_or(bytes);
        if cut.len() >= LARGE {
            // A table that grows is there twice while it is copied. Where there is no room for so much, it grows all the same.
            let _ = nodes.try_reserve_exact(most_values(cut));
        }
        let mut parser = JsonParser {
            bytes: cut,
            at: 0,
            nodes,
            open,
            in_object: false,
            open_objects: 0,
            defects: Vec::new(),
            most_defects,
            key: None,
            depth: limits.size(Limit::Depth),
        };
        parser.run();
        Self {
            bytes: cut,
            end: parser.at,
            nodes: parser.nodes,
            defects: parser.defects,
        }
    }

    /// Returns the outermost value, none when there is no value at all.
    #[must_use]
    pub fn root(&self) -> Option<Value<'_>> {
        self.value(0)
    }

    /// Returns the places that are not JSON, ascending.
    #[must_use]
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }

    /// Returns the offset after the outermost value.
    #[must_use]
    pub fn end(&self) -> usize {
        self.end
    }

    pub(super) fn value(&self, row: usize) -> Option<Value<'_>> {
        Some(Value::new(self, row, self.nodes.get(row)?))
    }
}

/// Parses one text after the other in the same memory.
#[derive(Clone, Debug, Default)]
pub struct JsonTexts {
    nodes: Vec<JsonNode>,
    /// Kept for its memory.
    open: Vec<OpenContainer>,
    /// Where the value ends that `nodes` hold for the next text.
    held: Option<usize>,
}

impl JsonTexts {
    /// Parses the first value of `bytes` and returns where it ends, if nothing is wrong with it: the next text, which is the
    /// value, is not parsed again. Reads on behind nothing that is wrong.
    pub(crate) fn hold(&mut self, bytes: &[u8], limits: &Limits) -> Option<usize> {
        let nodes = std::mem::take(&mut self.nodes);
        let document = Document::parse_into(&mut self.open, nodes, bytes, limits, 1);
        let is_whole = document.defects.is_empty() && !document.nodes.is_empty();
        self.held = is_whole.then_some(document.end);
        self.nodes = document.nodes;
        self.held
    }

    /// Parses the first value of `bytes`, as [`Document::parse`] does, and shows it to `see`.
    pub fn parse<T>(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
        see: impl FnOnce(&Document<'_>) -> T,
    ) -> T {
        let nodes = std::mem::take(&mut self.nodes);
        let document = match self.held.take() {
            Some(end) if end == bytes.len() => Document {
                bytes,
                nodes,
                defects: Vec::new(),
                end,
            },
            _ => Document::parse_into(&mut self.open, nodes, bytes, limits, DEFECTS),
        };
        let seen = see(&document);
        self.nodes = document.nodes;
        seen
    }
}

/// A container that is not closed yet.
#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    row: usize,
    kind: Kind,
}

/// Bytes between the quotes of a key.
#[derive(Clone, Copy, Debug)]
struct JsonKey {
    range: (u32, u32),
    is_escaped: bool,
}

struct JsonParser<'a, 'o> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<JsonNode>,
    open: &'o mut Vec<OpenContainer>,
    /// The innermost one is an object.
    in_object: bool,
    open_objects: usize,
    defects: Vec<Defect>,
    most_defects: usize,
    key: Option<JsonKey>,
    depth: usize,
}

fn short(at: usize) -> u32 {
    length_u32(at)
}

impl JsonParser<'_, '_> {
    fn run(&mut self) {
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
        }
        loop {
            self.skip_space();
            if self.in_object && self.key.is_none() {
                self.plain_members();
                self.skip_space();
            }
            let Some(&byte) = self.bytes.get(self.at) else {
                return self.cut();
            };
            match byte {
                b',' if !self.open.is_empty() => {
                    self.key = None;
                    self.at += 1;
                }
                b':' if !self.open.is_empty() => self.at += 1,
                b'}' | b']' if !self.open.is_empty() => self.close(byte),
                b'"' if self.in_object && self.key.is_none() => self.read_key(),
                b'"' => self.string(),
                b'{' | b'[' => self.begin(byte),
                b'-' | b'0'..=b'9' => self.number(),
                b't' | b'f' | b'n' => self.word(),
                _ => self.skip("unexpected_bytes", "expected a JSON value"),
            }
            if self.open.is_empty() && !self.nodes.is_empty() {
                return;
            }
            if self.defects.len() >= self.most_defects {
                return self.cut();
            }
        }
    }

    /// Reads members that are strings and plain numbers with nothing unusual around them, as nearly all are, up to one that is
    /// not or to the end of the object.
    fn plain_members(&mut self) {
        while self.bytes.get(self.at) == Some(&b'"') {
            let Some((key_end, is_key_escaped)) = quoted(self.bytes, self.at) else {
                return;
            };
            let colon = key_end + 1;
            if self.bytes.get(colon) != Some(&b':') {
                return;
            }
            let start = colon + 1 + usize::from(self.bytes.get(colon + 1) == Some(&b' '));
            let Some((kind, end, is_escaped)) = plain_scalar(self.bytes, start) else {
                return;
            };
            let after = match self.bytes.get(end) {
                Some(b',') => end + 1 + usize::from(self.bytes.get(end + 1) == Some(&b' ')),
                Some(b'}') => end,
                _ => return,
            };
            let next = short(self.nodes.len() + 1);
            self.nodes.push(JsonNode {
                kind,
                start: short(start),
                end: short(end),
                key: (short(self.at + 1), short(key_end)),
                keyed: true,
                is_key_escaped,
                is_escaped,
                next,
            });
            self.at = after;
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn defect(&mut self, offset: usize, kind: &'static str, text: &'static str, skipped: usize) {
        self.defects.push(Defect {
            offset,
            kind,
            text,
            skipped,
        });
    }

    /// Steps over bytes that begin no token, up to one that does.
    fn skip(&mut self, kind: &'static str, text: &'static str) {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            if matches!(byte, b',' | b'"' | b'{' | b'}' | b'[' | b']') {
                break;
            }
            self.at += 1;
        }
        self.defect(start, kind, text, self.at - start);
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let key = self.key.take();
        if self.in_object && key.is_none() {
            self.defect(
                start,
                "json_value_without_key",
                "expected a key",
                end - start,
            );
            return;
        }
        let next = short(self.nodes.len() + 1);
        self.nodes.push(JsonNode {
            kind,
            start: short(start),
            end: short(end),
            key: key.map_or((0, 0), |key| key.range),
            keyed: key.is_some(),
            is_key_escaped: key.is_some_and(|key| key.is_escaped),
            is_escaped: false,
            next,
        });
    }

    fn begin(&mut self, byte: u8) {
        if self.open.len() >= self.depth {
            return self.skip("limit_depth", "nested deeper than the limit");
        }
        // A container without key inside an object is damage; it is kept under an empty key, so that
        // what it holds is not lost.
        if self.in_object && self.key.is_none() {
            self.defect(self.at, "json_value_without_key", "expected a key", 0);
            self.key = Some(JsonKey {
                range: (0, 0),
                is_escaped: false,
            });
        }
        let kind = if byte == b'{' {
            Kind::Object
        } else {
            Kind::Array
        };
        let row = self.nodes.len();
        self.push(kind, self.at, self.at + 1);
        self.open.push(OpenContainer { row, kind });
        self.in_object = kind == Kind::Object;
        self.open_objects += usize::from(kind == Kind::Object);
        self.at += 1;
    }

    /// Closes the innermost container of this bracket, and those left open inside it.
    fn close(&mut self, byte: u8) {
        self.key = None;
        let wanted = if byte == b'}' {
            Kind::Object
        } else {
            Kind::Array
        };
        let of_kind = if wanted == Kind::Object {
            self.open_objects
        } else {
            self.open.len() - self.open_objects
        };
        if of_kind == 0 {
            self.defect(
                self.at,
                "json_stray_bracket",
                "a bracket that was not opened",
                1,
            );
            self.at += 1;
            return;
        }
        while let Some(open) = self.open.pop() {
            self.end_container(open, self.at + 1);
            if open.kind == wanted {
                break;
            }
            self.defect(self.at, "json_unclosed", "expected another bracket", 0);
        }
        self.at += 1;
    }

    fn end_container(&mut self, open: OpenContainer, end: usize) {
        let next = short(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(open.row) {
            node.end = short(end);
            node.next = next;
        }
        self.open_objects -= usize::from(open.kind == Kind::Object);
        let innermost = self.open.last();
        self.in_object = innermost.is_some_and(|open| open.kind == Kind::Object);
    }

    /// The text ends inside a value: what is open ends here.
    fn cut(&mut self) {
        if !self.open.is_empty() {
            let need = self.open.len();
            self.defect(
                self.at,
                "truncated_json",
                "the text ends inside a value",
                need,
            );
        }
        while let Some(open) = self.open.pop() {
            self.end_container(open, self.at);
        }
    }

    fn unterminated(&mut self) {
        let (start, end) = (self.at, self.bytes.len());
        self.at = end;
        self.defect(
            start,
            "truncated_json_string",
            "the text ends inside a string",
            end - start,
        );
    }

    fn read_key(&mut self) {
        let Some((end, is_escaped)) = quoted(self.bytes, self.at) else {
            return self.unterminated();
        };
        self.key = Some(JsonKey {
            range: (short(self.at + 1), short(end)),
            is_escaped,
        });
        self.at = end + 1;
        self.skip_space();
        match self.bytes.get(self.at) {
            Some(b':') => self.at += 1,
            Some(_) => {
                self.key = None;
                self.defect(self.at, "json_key_without_value", "expected a colon", 0);
            }
            None => {}
        }
    }

    fn string(&mut self) {
        let Some((end, is_escaped)) = quoted(self.bytes, self.at) else {
            return self.unterminated();
        };
        let rows = self.nodes.len();
        self.push(Kind::String, self.at, end + 1);
        if let Some(node) = self.nodes.get_mut(rows) {
            node.is_escaped = is_escaped;
        }
        self.at = end + 1;
    }

    fn token_end(&self) -> usize {
        let rest = subslice(self.bytes, self.at..);
        let is_token =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        self.at + rest.iter().take_while(|byte| is_token(byte)).count()
    }

    fn number(&mut self) {
        if let Some(length) = plain_number(subslice(self.bytes, self.at..)) {
            self.push(Kind::Number, self.at, self.at + length);
            self.at += length;
            return;
        }
        let end = self.token_end();
        let token = subslice(self.bytes, self.at..end);
        if !is_number(token) {
            return self.skip("bad_number", "expected a number");
        }
        self.push(Kind::Number, self.at, end);
        self.at = end;
    }

    fn word(&mut self) {
        let end = self.token_end();
        let kind = match subslice(self.bytes, self.at..end) {
            b"true" => Kind::True,
            b"false" => Kind::False,
            b"null" => Kind::Null,
            _ => return self.skip("unexpected_bytes", "expected a JSON value"),
        };
        self.push(kind, self.at, end);
        self.at = end;
    }
}

/// Returns true if a token is a number as JSON spells them (leading zeros are let through).
fn is_number(token: &[u8]) -> bool {
    fn digits(token: &mut &[u8]) -> bool {
        let n = token
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        *token = subslice(token, n..);
        n > 0
    }
    let mut rest = token.strip_prefix(b"-").unwrap_or(token);
    if !digits(&mut rest) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = fraction;
        if !digits(&mut rest) {
            return false;
        }
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        rest = match exponent {
            [b'+' | b'-', signed @ ..] => signed,
            plain => plain,
        };
        if !digits(&mut rest) {
            return false;
        }
    }
    rest.is_empty()
}
