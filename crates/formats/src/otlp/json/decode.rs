//! JSON to protobuf, by the tables of the messages.

use base64::Engine as _;
use traceloom_model::{Level, Limits, Sink};

use super::BASE64;
use crate::codec::CountedNotes;
use crate::codec::translated::{self, TranslatedPart};
use crate::protobuf::{FieldSpec, FieldType, Wire, put_tag};
use crate::text::json::{Document, Kind, Value};
use crate::wire::put_leb128;
use crate::{Error, Lower, LowerOptions, Source, damage, warn};

/// Messages inside messages; deeper ones are left out.
const DEEPEST: usize = 200;

/// Lowers documents as the messages that they encode.
pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
    root: &'static [FieldSpec],
    lower: Lower,
) -> Result<(), Error> {
    let decode = |text: &[u8], limits: &Limits| decoded(text, root, limits);
    translated::lower(source, options, sink, &decode, lower)
}

/// Decodes documents that stand end to end.
fn decoded(text: &[u8], root: &'static [FieldSpec], limits: &Limits) -> TranslatedPart {
    let mut part = TranslatedPart::default();
    let mut tally = CountedNotes::default();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.trim_ascii().is_empty()) {
        let document = Document::parse(rest, limits);
        for defect in document.defects() {
            let note = damage(defect.kind, (at + defect.offset) as u64, defect.text);
            part.notes
                .push(note.counting((defect.skipped as u64).max(1)));
        }
        let mut decoder = Decoder {
            part: &mut part,
            tally: &mut tally,
            base: at,
        };
        match document.root() {
            Some(value) if value.kind() == Kind::Object => decoder.members(value, root, 0),
            Some(value) => decoder.tell("json_type", value, "a document that is no object"),
            None => {}
        }
        if document.end() == 0 || document.root().is_none() {
            let note = warn(
                "bytes_after_document",
                at as u64,
                "bytes follow the document",
            );
            part.notes.push(note.counting(rest.len() as u64));
            break;
        }
        at += document.end();
    }
    part.notes.extend(tally.into_notes());
    part
}

struct Decoder<'p> {
    part: &'p mut TranslatedPart,
    tally: &'p mut CountedNotes,
    /// Where the document begins in the text.
    base: usize,
}

impl Decoder<'_> {
    fn tell(&mut self, kind: &'static str, value: Value<'_>, text: &str) {
        let level = match kind {
            "unknown_member" => Level::Info,
            _ => Level::Damage,
        };
        let offset = (self.base + value.start()) as u64;
        self.tally.add(level, kind, offset, || text.to_owned());
    }

    /// Puts the members of an object as fields.
    fn members(&mut self, object: Value<'_>, message: &'static [FieldSpec], depth: usize) {
        if depth > DEEPEST {
            return self.tell(
                "limit_depth",
                object,
                "values are nested deeper than is read",
            );
        }
        for member in object.items() {
            let key = member.key().unwrap_or_default();
            let Some(spec) = named(message, &key) else {
                let key = String::from_utf8_lossy(&key).into_owned();
                self.tell(
                    "unknown_member",
                    member,
                    &format!("`{key}` is not a known member"),
                );
                continue;
            };
            match member.kind() {
                Kind::Null => {}
                Kind::Array if spec.repeated && spec.wire() != Wire::Len => {
                    self.numbers(member, spec);
                }
                Kind::Array if spec.repeated => {
                    member
                        .items()
                        .for_each(|item| self.field(item, spec, depth));
                }
                _ => self.field(member, spec, depth),
            }
        }
    }

    fn field(&mut self, value: Value<'_>, spec: &'static FieldSpec, depth: usize) {
        let put = match &spec.kind {
            FieldType::Message(inner) | FieldType::Container(inner) => {
                // A null element of a list is an empty message.
                if !matches!(value.kind(), Kind::Object | Kind::Null) {
                    return self.tell_type(value, spec);
                }
                return self.message(value, spec.number, inner, depth);
            }
            FieldType::Text => value.bytes().map(|text| self.bytes(spec.number, &text)),
            FieldType::Bytes => {
                let text = value.bytes();
                let bytes = text.and_then(|text| id_or_bytes(spec.name, &text));
                bytes.map(|bytes| self.bytes(spec.number, &bytes))
            }
            FieldType::Flag => {
                let flag = match value.kind() {
                    Kind::True => Some(1),
                    Kind::False => Some(0),
                    _ => None,
                };
                flag.map(|flag| self.number(spec, flag))
            }
            FieldType::Double => double(value).map(|float| self.number(spec, float.to_bits())),
            FieldType::Unsigned
            | FieldType::Signed
            | FieldType::Fixed64
            | FieldType::Fixed32
            | FieldType::Id(_) => whole_number(value).map(|whole| self.number(spec, whole)),
        };
        if put.is_none() {
            self.tell_type(value, spec);
        }
    }

    fn tell_type(&mut self, value: Value<'_>, spec: &FieldSpec) {
        let text = format!("a value of `{}` is of another type and not used", spec.name);
        self.tell("json_type", value, &text);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        crate::protobuf::put_bytes(&mut self.part.bytes, number, bytes);
    }

    fn number(&mut self, spec: &FieldSpec, number: u64) {
        let out = &mut self.part.bytes;
        put_tag(out, spec.number, spec.wire());
        match spec.wire() {
            Wire::Fixed64 => out.extend(number.to_le_bytes()),
            Wire::Fixed32 => out.extend(number.to_le_bytes().iter().take(4)),
            _ => put_leb128(out, number),
        }
    }

    /// Puts numbers in the packed form, by which versions of profiles are told apart.
    fn numbers(&mut self, list: Value<'_>, spec: &'static FieldSpec) {
        let mut packed = Vec::new();
        for item in list.items() {
            match (whole_number(item), spec.wire()) {
                (Some(number), Wire::Fixed64) => packed.extend(number.to_le_bytes()),
                (Some(number), _) => put_leb128(&mut packed, number),
                (None, _) => self.tell_type(item, spec),
            }
        }
        if !packed.is_empty() {
            self.bytes(spec.number, &packed);
        }
    }

    fn message(
        &mut self,
        value: Value<'_>,
        number: u32,
        inner: &'static [FieldSpec],
        depth: usize,
    ) {
        let from = self.part.bytes.len();
        self.part.offsets.push((from, self.base + value.start()));
        let inside = self.part.offsets.len();
        self.members(value, inner, depth + 1);
        let mut head = Vec::with_capacity(12);
        put_tag(&mut head, number, Wire::Len);
        put_leb128(&mut head, (self.part.bytes.len() - from) as u64);
        // Its length is known only now: what is in it moves up.
        for (offset, _) in self.part.offsets.get_mut(inside..).into_iter().flatten() {
            *offset += head.len();
        }
        self.part.bytes.splice(from..from, head);
    }
}

/// Finds a field by its name in JSON.
///
/// Tables of the dictionary and lists have names in the singular here, as their records are called.
fn named(message: &'static [FieldSpec], key: &[u8]) -> Option<&'static FieldSpec> {
    let mut snake = String::with_capacity(key.len() + 4);
    for &byte in key {
        if byte.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(char::from(byte.to_ascii_lowercase()));
    }
    let singular = snake.strip_suffix("_table").or(snake.strip_suffix('s'));
    let plural = format!("{snake}s");
    let is = |field: &&FieldSpec| {
        field.name == snake || Some(field.name) == singular || field.name == plural
    };
    let exact = message.iter().find(|field| field.name == snake);
    exact.or_else(|| message.iter().filter(|field| field.repeated).find(is))
}

/// Decodes bytes: ids are hexadecimal digits, everything else is base64.
fn id_or_bytes(name: &str, text: &[u8]) -> Option<Vec<u8>> {
    let is_id = matches!(name, "trace_id" | "span_id" | "parent_span_id")
        || (name == "profile_id" && text.len() == 32);
    if !is_id {
        return BASE64.decode(text).ok();
    }
    if !text.len().is_multiple_of(2) || !text.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let pairs = text.chunks_exact(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

/// Names of enumerations that some writers use in place of their numbers.
const ENUMERATORS: [(&str, u64); 9] = [
    ("SPAN_KIND_UNSPECIFIED", 0),
    ("SPAN_KIND_INTERNAL", 1),
    ("SPAN_KIND_SERVER", 2),
    ("SPAN_KIND_CLIENT", 3),
    ("SPAN_KIND_PRODUCER", 4),
    ("SPAN_KIND_CONSUMER", 5),
    ("STATUS_CODE_UNSET", 0),
    ("STATUS_CODE_OK", 1),
    ("STATUS_CODE_ERROR", 2),
];

/// Reads an integer, which stands as a number or, of 64 bits, as a text.
fn whole_number(value: Value<'_>) -> Option<u64> {
    if value.kind() == Kind::Number {
        return value.u64().or_else(|| value.i64().map(i64::cast_unsigned));
    }
    let text = value.text()?;
    let known = ENUMERATORS.iter().find(|(name, _)| *name == text);
    known
        .map(|&(_, number)| number)
        .or_else(|| text.parse().ok())
        .or_else(|| text.parse().ok().map(i64::cast_unsigned))
}

fn double(value: Value<'_>) -> Option<f64> {
    match &*value.text().unwrap_or_default() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "" => value.f64(),
        text => text.parse().ok(),
    }
}
