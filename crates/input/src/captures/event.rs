//! What a collector writes to its log beside the entries of sessions.

/// The stream of a session that holds its events; a protocol's streams have other numbers.
pub const EVENTS: u32 = u32::MAX;

const OPENED: u8 = 1;
const CLOSED: u8 = 2;

/// Something that happened to a session. Times are Unix nanoseconds of the collector's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session began.
    Opened {
        /// Number of its protocol.
        protocol: u8,
        /// When it began.
        at_ns: i64,
        /// Address of the sender.
        peer: String,
    },
    /// A session ended. One that lacks this was cut by the end of the collector.
    Closed {
        /// When it ended.
        at_ns: i64,
        /// The sender ended it as the protocol has it.
        orderly: bool,
        /// A word for why.
        reason: String,
    },
}

impl Event {
    /// Returns the record's kind and bytes.
    #[must_use]
    pub fn encode(&self) -> (u8, Vec<u8>) {
        let (kind, at_ns, byte, text) = match self {
            Self::Opened {
                protocol,
                at_ns,
                peer,
            } => (OPENED, at_ns, *protocol, peer),
            Self::Closed {
                at_ns,
                orderly,
                reason,
            } => (CLOSED, at_ns, u8::from(*orderly), reason),
        };
        let mut bytes = at_ns.to_le_bytes().to_vec();
        bytes.push(byte);
        bytes.extend_from_slice(text.as_bytes());
        (kind, bytes)
    }

    /// Reads a record; `None` for one that this program does not know.
    #[must_use]
    pub fn decode(kind: u8, bytes: &[u8]) -> Option<Self> {
        let (at_ns, rest) = bytes.split_first_chunk()?;
        let (&byte, text) = rest.split_first()?;
        let at_ns = i64::from_le_bytes(*at_ns);
        let text = std::str::from_utf8(text).ok()?.to_owned();
        match kind {
            OPENED => Some(Self::Opened {
                protocol: byte,
                at_ns,
                peer: text,
            }),
            CLOSED => Some(Self::Closed {
                at_ns,
                orderly: byte == 1,
                reason: text,
            }),
            _ => None,
        }
    }
}
