//! The same spans in protobuf (SPEC.md §4), read as the JSON that they stand for.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt::Write as _;

use traceloom_model::{Limits, Sink};

use super::lower;
use crate::codec::translated::{self, TranslatedPart};
use crate::protobuf::{
    FieldSpec, FieldType, MessageSchema, RawValue, RecordLayout, Wire, fields, find, skip, tag,
    varint,
};
use crate::text::json::push_string;
use crate::{Confidence, Error, LowerOptions, Probe, Source, damage};

pub(super) static LAYOUT: RecordLayout = RecordLayout {
    schema: MessageSchema {
        fields: &LIST_OF_SPANS,
        closed: true,
    },
    kind: |_| None,
};

static LIST_OF_SPANS: [FieldSpec; 1] = [FieldSpec::many(1, "span", FieldType::Message(&SPAN))];

static SPAN: [FieldSpec; 13] = [
    FieldSpec::one(1, "trace_id", FieldType::Bytes),
    FieldSpec::one(2, "parent_id", FieldType::Bytes),
    FieldSpec::one(3, "id", FieldType::Bytes),
    FieldSpec::one(4, "kind", FieldType::Unsigned),
    FieldSpec::one(5, "name", FieldType::Text),
    FieldSpec::one(6, "timestamp", FieldType::Fixed64),
    FieldSpec::one(7, "duration", FieldType::Unsigned),
    FieldSpec::one(8, "local_endpoint", FieldType::Message(&ENDPOINT)),
    FieldSpec::one(9, "remote_endpoint", FieldType::Message(&ENDPOINT)),
    FieldSpec::many(10, "annotations", FieldType::Message(&ANNOTATION)),
    FieldSpec::many(11, "tags", FieldType::Message(&TAG)),
    FieldSpec::one(12, "debug", FieldType::Flag),
    FieldSpec::one(13, "shared", FieldType::Flag),
];

static ENDPOINT: [FieldSpec; 4] = [
    FieldSpec::one(1, "service_name", FieldType::Text),
    FieldSpec::one(2, "ipv4", FieldType::Bytes),
    FieldSpec::one(3, "ipv6", FieldType::Bytes),
    FieldSpec::one(4, "port", FieldType::Unsigned),
];

static ANNOTATION: [FieldSpec; 2] = [
    FieldSpec::one(1, "timestamp", FieldType::Fixed64),
    FieldSpec::one(2, "value", FieldType::Text),
];

static TAG: [FieldSpec; 2] = [
    FieldSpec::one(1, "key", FieldType::Text),
    FieldSpec::one(2, "value", FieldType::Text),
];

const KINDS: [&str; 5] = ["", "CLIENT", "SERVER", "PRODUCER", "CONSUMER"];

/// Recognises a list by spans whose ids have the lengths that Zipkin's have, and no field that a span has not.
pub(super) fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    const ENOUGH: usize = 16;
    let (mut at, mut n_spans) = (0, 0);
    while at < probe.head.len() && n_spans < ENOUGH {
        let Some((raw, next)) = varint(probe.head, at) else {
            break;
        };
        if tag(raw)? != (1, Wire::Len) {
            return None;
        }
        let Some(end) = skip(probe.head, next, Wire::Len) else {
            // The head ends here, or a length lies.
            if probe.whole {
                return None;
            }
            break;
        };
        let (_, from) = varint(probe.head, next)?;
        if !is_span(probe.head.get(from..end)?) {
            return None;
        }
        n_spans += 1;
        at = end;
    }
    (n_spans > 0).then_some(Confidence::Certain)
}

fn is_span(body: &[u8]) -> bool {
    let (mut at, mut has_trace, mut has_id, mut has_time) = (0, false, false, false);
    while at < body.len() {
        let field = varint(body, at).and_then(|(raw, next)| Some((tag(raw)?, next)));
        let Some(((number, wire), next)) = field else {
            return false;
        };
        let is_known = find(&SPAN, number).is_some_and(|spec| spec.takes(wire));
        let Some(end) = skip(body, next, wire).filter(|_| is_known) else {
            return false;
        };
        let length = varint(body, next).map_or(0, |(_, from)| end.saturating_sub(from));
        match number {
            1 => has_trace = matches!(length, 8 | 16),
            2 if length != 8 => return false,
            3 => has_id = length == 8,
            6 => has_time = true,
            _ => {}
        }
        at = end;
    }
    has_trace && has_id && has_time
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    translated::lower(source, options, sink, &translate, lower::lower)
}

/// Makes the list of spans in JSON.
fn translate(list: &[u8], _: &Limits) -> TranslatedPart {
    let mut part = TranslatedPart::default();
    part.bytes.push(b'[');
    let mut at = 0;
    while at < list.len() {
        let field = varint(list, at).and_then(|(raw, next)| Some((tag(raw)?, next)));
        let end = field.and_then(|((_, wire), next)| skip(list, next, wire));
        let (Some(((number, wire), next)), Some(end)) = (field, end) else {
            let note = damage("truncated", at as u64, "the list ends inside a span");
            part.notes.push(note);
            break;
        };
        if (number, wire) == (1, Wire::Len)
            && let Some((_, from)) = varint(list, next)
            && let Some(body) = list.get(from..end)
        {
            if part.bytes.len() > 1 {
                part.bytes.push(b',');
            }
            part.offsets.push((part.bytes.len(), at));
            span(body, &mut part.bytes);
        }
        at = end;
    }
    part.bytes.push(b']');
    part
}

/// Members of an object, one after the other.
struct ObjectMembers<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> ObjectMembers<'o> {
    fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self {
            out,
            is_first: true,
        }
    }

    fn key(&mut self, key: &[u8]) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        push_string(key, self.out);
        self.out.push(b':');
        self.out
    }

    fn text(&mut self, key: &[u8], text: &[u8]) {
        push_string(text, self.key(key));
    }

    fn number(&mut self, key: &str, number: u64) {
        let out = self.key(key.as_bytes());
        out.extend_from_slice(number.to_string().as_bytes());
    }

    fn close(self) {
        self.out.push(b'}');
    }
}

fn span(body: &[u8], out: &mut Vec<u8>) {
    let mut members = ObjectMembers::open(out);
    for (number, raw) in fields(body) {
        match number {
            1 => members.text(b"traceId", hex(raw.bytes()).as_bytes()),
            2 if !raw.bytes().is_empty() => {
                members.text(b"parentId", hex(raw.bytes()).as_bytes());
            }
            3 => members.text(b"id", hex(raw.bytes()).as_bytes()),
            4 => {
                let kind = usize::try_from(raw.number()).ok();
                let kind = kind.and_then(|kind| KINDS.get(kind));
                if let Some(kind) = kind.filter(|kind| !kind.is_empty()) {
                    members.text(b"kind", kind.as_bytes());
                }
            }
            5 => members.text(b"name", raw.bytes()),
            6 if raw.number() != 0 => members.number("timestamp", raw.number()),
            7 if raw.number() != 0 => members.number("duration", raw.number()),
            8 => endpoint(raw.bytes(), members.key(b"localEndpoint")),
            9 => endpoint(raw.bytes(), members.key(b"remoteEndpoint")),
            12 | 13 if raw.number() != 0 => {
                let key: &[u8] = if number == 12 { b"debug" } else { b"shared" };
                members.key(key).extend_from_slice(b"true");
            }
            _ => {}
        }
    }
    let of = |wanted: u32| {
        let found = fields(body).filter(move |&(number, _)| number == wanted);
        found.map(|(_, raw)| raw.bytes())
    };
    if of(10).next().is_some() {
        let out = members.key(b"annotations");
        out.push(b'[');
        for (at, annotation) in of(10).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let mut members = ObjectMembers::open(out);
            for (number, raw) in fields(annotation) {
                match number {
                    1 => members.number("timestamp", raw.number()),
                    2 => members.text(b"value", raw.bytes()),
                    _ => {}
                }
            }
            members.close();
        }
        out.push(b']');
    }
    if of(11).next().is_some() {
        let mut tags = ObjectMembers::open(members.key(b"tags"));
        for tag in of(11) {
            let (mut key, mut value) = (&[][..], &[][..]);
            for (number, raw) in fields(tag) {
                match number {
                    1 => key = raw.bytes(),
                    2 => value = raw.bytes(),
                    _ => {}
                }
            }
            tags.text(key, value);
        }
        tags.close();
    }
    members.close();
}

fn endpoint(body: &[u8], out: &mut Vec<u8>) {
    let mut members = ObjectMembers::open(out);
    for (number, raw) in fields(body) {
        match (number, raw) {
            (1, RawValue::Len(name)) if !name.is_empty() => members.text(b"serviceName", name),
            (2, RawValue::Len(bytes)) => {
                let address = <[u8; 4]>::try_from(bytes).map(Ipv4Addr::from);
                let text = address.map_or_else(|_| hex(bytes), |address| address.to_string());
                members.text(b"ipv4", text.as_bytes());
            }
            (3, RawValue::Len(bytes)) => {
                let address = <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from);
                let text = address.map_or_else(|_| hex(bytes), |address| address.to_string());
                members.text(b"ipv6", text.as_bytes());
            }
            (4, RawValue::Varint(port)) if port != 0 => members.number("port", port),
            _ => {}
        }
    }
    members.close();
}

/// Returns bytes in hexadecimal digits; ids that are too long are cut.
fn hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in bytes.iter().take(64) {
        // Writing to memory does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
