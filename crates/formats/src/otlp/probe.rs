//! Detection: messages without a magic number, told apart by what their innermost ones hold.

use super::schema::{PROFILES_DATA, SPAN, TRACES_DATA};
use crate::protobuf::{FieldSpec, FieldType, RawValue, Wire, fields, find, skip, tag, varint};
use crate::{Confidence, Probe};

/// What was recognised in the head of a part.
#[derive(Default)]
struct RecognisedFields {
    /// Containers entered.
    heads: usize,
    /// Records whose fields are all known, of these messages.
    rows: usize,
    /// Those that are spans with ids and a start.
    spans: usize,
}

/// Returns how sure it is that a part is profiles.
pub(super) fn profiles(probe: &Probe<'_>) -> Option<Confidence> {
    let seen = walk(probe, &PROFILES_DATA)?;
    // A profile is three messages deep; a dictionary alone has rows by the thousand.
    let sure = seen.rows >= 3 && seen.heads >= 1;
    judge(probe, &seen, sure, &[".otlp-profiles", ".otlp"])
}

/// Returns how sure it is that a part is traces.
pub(super) fn traces(probe: &Probe<'_>) -> Option<Confidence> {
    let seen = walk(probe, &TRACES_DATA)?;
    let sure = seen.spans >= 1 && seen.heads >= 2;
    judge(probe, &seen, sure, &[".otlp-traces", ".otlp"])
}

/// Returns true if a body of a span has ids of the protocol's lengths and a start.
fn is_identified(body: &[u8]) -> bool {
    let (mut trace, mut span, mut timed) = (false, false, false);
    for (number, raw) in fields(body) {
        match number {
            1 => trace = raw.bytes().len() == 16,
            2 => span = raw.bytes().len() == 8,
            7 => timed = matches!(raw, RawValue::Fixed64(time) if time != 0),
            _ => {}
        }
    }
    trace && span && timed
}

fn judge(
    probe: &Probe<'_>,
    seen: &RecognisedFields,
    sure: bool,
    names: &[&str],
) -> Option<Confidence> {
    if sure {
        return Some(Confidence::Certain);
    }
    let named = names.iter().any(|name| probe.file_name().ends_with(name));
    (named && seen.rows + seen.heads > 0).then_some(Confidence::Likely)
}

/// Walks into containers; none when something is no field that the messages have.
fn walk(probe: &Probe<'_>, root: &'static [FieldSpec]) -> Option<RecognisedFields> {
    const ENOUGH: usize = 64;
    let head = probe.head;
    let mut seen = RecognisedFields::default();
    let mut around: Vec<(&'static [FieldSpec], usize)> = Vec::new();
    let mut at = 0;
    while at < head.len() && seen.rows < ENOUGH {
        while around.last().is_some_and(|&(_, end)| at >= end) {
            around.pop();
        }
        let &(message, limit) = around.last().unwrap_or(&(root, usize::MAX));
        let Some((raw, next)) = varint(head, at) else {
            break;
        };
        let (number, wire) = tag(raw)?;
        let spec = find(message, number).filter(|spec| spec.takes(wire))?;
        if let (FieldType::Container(inner), Wire::Len) = (&spec.kind, wire) {
            let Some((len, from)) = varint(head, next) else {
                break;
            };
            let end = from.checked_add(usize::try_from(len).ok()?)?;
            if end > limit || (probe.whole && end > head.len()) {
                return None;
            }
            seen.heads += 1;
            around.push((inner, end));
            at = from;
            continue;
        }
        let Some(end) = skip(head, next, wire) else {
            // The head ends here, or a length lies.
            if probe.whole {
                return None;
            }
            break;
        };
        if end > limit {
            return None;
        }
        if let FieldType::Message(inner) = &spec.kind {
            let body = varint(head, next).and_then(|(_, from)| head.get(from..end))?;
            if !known(body, inner, 0) {
                return None;
            }
            seen.spans += usize::from(std::ptr::eq(*inner, &SPAN) && is_identified(body));
        }
        seen.rows += 1;
        at = end;
    }
    Some(seen)
}

/// Returns true if bytes are a message with no field that its table lacks, texts being texts.
fn known(body: &[u8], message: &'static [FieldSpec], depth: usize) -> bool {
    let mut at = 0;
    while at < body.len() {
        let Some((raw, next)) = varint(body, at) else {
            return false;
        };
        let spec = tag(raw).and_then(|(number, wire)| {
            let spec = find(message, number)?;
            spec.takes(wire).then_some((spec, wire))
        });
        let Some((spec, wire)) = spec else {
            return false;
        };
        let Some(end) = skip(body, next, wire) else {
            return false;
        };
        let inside = || varint(body, next).and_then(|(_, from)| body.get(from..end));
        let fits = match &spec.kind {
            FieldType::Message(inner) if depth < 16 => {
                inside().is_some_and(|inside| known(inside, inner, depth + 1))
            }
            FieldType::Text => inside().is_some_and(|text| std::str::from_utf8(text).is_ok()),
            _ => true,
        };
        if !fits {
            return false;
        }
        at = end;
    }
    true
}
