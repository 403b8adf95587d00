//! The data channel of a live trace (SPEC.md §9), both ends. The bytes of a connection are one trace, in either form.

use super::{BINARY, XML, control};
use crate::codec::one_way::{ConnectionAssembler, ConnectionFormat, StoringEnd, TracePlayer};
use crate::codec::protocol::{CaptureRules, FIRST_KIND, Protocol, SessionOptions};

/// The protocol, for a collector.
pub const PROTOCOL: Protocol = Protocol {
    captures: CaptureRules {
        name: "tptp",
        number: 4,
        assemble: || Box::new(ConnectionAssembler::new(NAMES, &[])),
    },
    port: 1718,
    acknowledges: false,
    repeatable: false,
    sent_as: "tptp-xml",
    settings: |host, port| format!("traceloom attach AGENT --to tptp://{host}:{port}"),
    session: |_: &SessionOptions, now| Box::new(StoringEnd::new(Beginning::default(), now)),
    datagrams: None,
    control: Some(control::RULES),
    sender: |_, parts| {
        let formats = [BINARY.name, XML.name];
        Ok(Box::new(TracePlayer::new("TPTP", &formats, parts)?))
    },
};

/// The kinds of stored entries: bytes of a trace in one of its forms, or what begins none.
const IS_BINARY: u8 = FIRST_KIND;
const IS_XML: u8 = FIRST_KIND + 1;
const IS_UNREAD: u8 = FIRST_KIND + 2;

const NAMES: &[(u8, &str)] = &[
    (IS_BINARY, "trace.trcbin"),
    (IS_XML, "trace.trcxml"),
    (IS_UNREAD, "unread"),
];

/// Blanks that may stand before the first element.
const MOST_BLANKS: usize = 4096;

/// Bytes that are kept of what begins no trace.
const MOST_UNREAD: usize = 4096;

/// Decides by the first bytes which form a connection has.
#[derive(Default)]
struct Beginning {
    kind: Option<u8>,
    n_unread: usize,
}

impl ConnectionFormat for Beginning {
    fn kind(&mut self, window: &[u8], is_end: bool) -> Option<u8> {
        self.kind = self.kind.or_else(|| kind_of(window, is_end));
        self.kind
    }

    fn stored(&mut self, unit: &[u8]) -> Option<&'static str> {
        if self.kind != Some(IS_UNREAD) {
            return None;
        }
        self.n_unread += unit.len();
        (self.n_unread >= MOST_UNREAD).then_some("no_trace")
    }

    fn is_trace(&self) -> bool {
        self.kind.is_some_and(|kind| kind != IS_UNREAD)
    }
}

fn kind_of(window: &[u8], is_end: bool) -> Option<u8> {
    let magics: [&[u8]; 2] = [b"0TBF", b"\0TBF"];
    if magics.iter().any(|magic| window.starts_with(magic)) {
        return Some(IS_BINARY);
    }
    let may_be_magic = magics.iter().any(|magic| magic.starts_with(window));
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let text = window
        .strip_prefix(MARK)
        .unwrap_or(window)
        .trim_ascii_start();
    let waits = may_be_magic || MARK.starts_with(window) || text.is_empty();
    match text.first() {
        Some(b'<') => Some(IS_XML),
        _ if waits && !is_end && window.len() < MOST_BLANKS => None,
        _ => Some(IS_UNREAD),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::codec::protocol::Session;

    fn session() -> Box<dyn Session> {
        (PROTOCOL.session)(&SessionOptions::default(), Duration::from_secs(5))
    }

    /// Sends in pieces, as a socket would show them, and returns name, bytes and end of what was stored.
    fn stored(bytes: &[u8], piece: usize) -> (Vec<String>, Vec<u8>, Option<&'static str>) {
        let mut session = session();
        let mut assembled = (PROTOCOL.captures.assemble)();
        let (mut kept, mut window) = (Vec::new(), Vec::new());
        for bytes in bytes.chunks(piece) {
            window.extend_from_slice(bytes);
            let used = session.read(&window, Duration::from_secs(6), &mut |entry| {
                assert_eq!(assembled.take(entry), Some(0));
                kept.extend_from_slice(entry.bytes);
                true
            });
            window.drain(..used);
        }
        let early = session.closed();
        assert!(session.finish(&window, &mut |entry| {
            assert_eq!(assembled.take(entry), Some(0));
            kept.extend_from_slice(entry.bytes);
            true
        }));
        let names = assembled.parts().into_iter().map(|part| part.name);
        let end = early.or(session.closed()).map(|ending| ending.reason);
        (names.collect(), kept, end)
    }

    #[test]
    fn the_first_bytes_tell_the_form_in_pieces_of_any_size() {
        let blanks = [b"\n ".repeat(100), b"<methodEntry/>".to_vec()].concat();
        for (bytes, name) in [
            (&b"0TBF\x01\0\x01\x01\x0c\0\0\0rest"[..], "trace.trcbin"),
            (b"\0TBF\x01\0\x01\x01\x0c\0\0\0", "trace.trcbin"),
            (b"<?xml version=\"1.0\"?><TRACE>", "trace.trcxml"),
            (b"\xef\xbb\xbf<TRACE/>", "trace.trcxml"),
            (&blanks, "trace.trcxml"),
            (b"0TB", "unread"),
            (b"0TBX is none", "unread"),
            (b"GET / HTTP/1.1\r\n\r\n", "unread"),
            (b"  ", "unread"),
        ] {
            for piece in [1, 2, 3, 1000] {
                let (names, kept, end) = stored(bytes, piece);
                assert_eq!(names, [name], "{bytes:?} in pieces of {piece}");
                assert_eq!(kept, bytes);
                assert_eq!(end, Some("end_of_stream"));
            }
        }
        assert_eq!(stored(b"", 1), (vec![], vec![], Some("end_of_stream")));
    }

    #[test]
    fn what_begins_no_trace_ends_soon_and_blanks_do_not_go_on() {
        for filler in [b'x', b' '] {
            let (names, kept, end) = stored(&[filler; 1 << 20], 1000);
            assert_eq!(
                (&names[..], end),
                (&["unread".to_owned()][..], Some("no_trace"))
            );
            assert!(kept.len() < 2 * MOST_UNREAD, "{}", kept.len());
        }
    }

    #[test]
    fn silence_ends_a_connection_that_never_spoke_and_no_paused_one() {
        let mut silent = session();
        assert_eq!(silent.deadline(), Some(Duration::from_secs(45)));
        silent.tick(Duration::from_secs(45));
        assert_eq!(silent.closed().map(|ending| ending.reason), Some("idle"));
        let mut paused = session();
        paused.read(b"<node nodeId=\"1\"/>", Duration::from_secs(6), &mut |_| {
            true
        });
        assert_eq!(paused.deadline(), None);
        paused.tick(Duration::from_secs(1_000_000));
        assert_eq!(paused.closed(), None);
    }
}
