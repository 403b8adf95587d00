//! Detection: a profile has no magic number, but its first fields fit the schema or they do not.

use super::schema::PROFILE;
use crate::protobuf::{FieldType, MessageSchema, Wire, find, fits, skip, tag, varint};
use crate::{Confidence, Probe};

/// Returns how sure it is that a part is a profile.
pub(super) fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let seen = walk(probe.head);
    let kinds = seen.numbers.count_ones();
    // Other protobuf files fit for a few fields of one number at most.
    if seen.messages >= 3 && kinds >= 2 && (seen.clean || seen.messages >= 64) {
        return Some(Confidence::Certain);
    }
    if seen.messages >= 8 && kinds >= 2 {
        return Some(Confidence::Likely);
    }
    // A profile without samples: its table of strings begins with the empty one.
    if probe.whole && seen.clean && probe.head.starts_with(&[0x32, 0]) {
        return Some(Confidence::Likely);
    }
    let named = [".pprof", ".pb", ".prof", ".profile"]
        .iter()
        .any(|suffix| probe.file_name().ends_with(suffix));
    (seen.messages >= 1 && (named || seen.clean)).then_some(Confidence::Possible)
}

struct ProbedFields {
    messages: usize,
    /// One bit for each field number met.
    numbers: u32,
    /// Everything fits, but for a last field that the head cuts.
    clean: bool,
}

fn walk(head: &[u8]) -> ProbedFields {
    let mut seen = ProbedFields {
        messages: 0,
        numbers: 0,
        clean: false,
    };
    let mut at = 0;
    while at < head.len() {
        let Some((raw, next)) = varint(head, at) else {
            seen.clean = head.len() - at < 10;
            return seen;
        };
        let known = tag(raw).and_then(|(number, wire)| {
            let spec = find(&PROFILE, number)?;
            spec.takes(wire).then_some((spec, wire))
        });
        let Some((spec, wire)) = known else {
            return seen;
        };
        let Some(end) = skip(head, next, wire) else {
            // The head ends here, or a length lies.
            seen.clean = true;
            return seen;
        };
        if wire == Wire::Len {
            let body = varint(head, next).and_then(|(_, from)| head.get(from..end));
            let body = body.unwrap_or(&[]);
            let fits = match &spec.kind {
                FieldType::Message(fields) => fits(
                    body,
                    MessageSchema {
                        fields,
                        closed: true,
                    },
                ),
                FieldType::Text => std::str::from_utf8(body).is_ok(),
                _ => true,
            };
            if !fits {
                return seen;
            }
            seen.messages += usize::from(!body.is_empty());
        }
        seen.numbers |= 1 << spec.number;
        at = end;
    }
    seen.clean = true;
    seen
}
