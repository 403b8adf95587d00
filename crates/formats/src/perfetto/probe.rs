//! Detection: a trace has no magic number, but its packets look like no other messages.

use super::schema::SCHEMA;
use crate::protobuf::{Wire, fields, fits, skip, tag, varint};
use crate::{Confidence, Probe};

/// Packets that decide.
const ENOUGH: usize = 3;

/// Returns how sure it is that a part is a trace.
pub(super) fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let head = probe.head;
    let (mut at, mut packets, mut typical) = (0, 0, 0);
    while at < head.len() && packets < 64 {
        let (raw, next) = varint(head, at)?;
        // `Trace` has one field.
        if tag(raw) != Some((1, Wire::Len)) {
            return None;
        }
        let Some(end) = skip(head, next, Wire::Len) else {
            break;
        };
        let body = varint(head, next).and_then(|(_, from)| head.get(from..end))?;
        if !fits(head.get(at..end)?, SCHEMA) {
            return None;
        }
        packets += 1;
        // A packet of the tracing service names its sequence; one made by hand has a time.
        let named = |wanted| fields(body).any(|(number, _)| number == wanted);
        typical += usize::from(named(10) || (named(8) && named(11)) || named(60));
        at = end;
    }
    let named = [".perfetto-trace", ".pftrace", ".perfetto"]
        .iter()
        .any(|suffix| probe.file_name().ends_with(suffix));
    if typical >= ENOUGH || (packets > 0 && typical == packets && probe.whole) {
        return Some(Confidence::Certain);
    }
    if typical > 0 {
        return Some(Confidence::Likely);
    }
    named.then_some(Confidence::Possible)
}
