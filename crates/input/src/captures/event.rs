//! What a collector writes to its log beside the entries of sessions.

use super::ContentHash;

/// The stream of a session that holds its events; a protocol's streams have other numbers.
pub const EVENTS: u32 = u32::MAX;

const OPENED: u8 = 1;
const CLOSED: u8 = 2;
const SEAL: u8 = 3;
const SEALED: u8 = 4;
const DELETED: u8 = 5;
const RESUMED: u8 = 6;

/// Why a capture is sealed up to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SealReason {
    /// The session ended.
    End = 1,
    /// What is not sealed is old.
    Age = 2,
    /// Much is not sealed.
    Size = 3,
    /// The log is large, and this capture has the oldest records in it.
    Log = 4,
    /// Retention is to leave the capture alone.
    Pin = 5,
    /// Retention may take the capture again.
    Unpin = 6,
}

impl SealReason {
    const ALL: [Self; 6] = [
        Self::End,
        Self::Age,
        Self::Size,
        Self::Log,
        Self::Pin,
        Self::Unpin,
    ];

    /// Returns a word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Age => "age",
            Self::Size => "size",
            Self::Log => "log",
            Self::Pin => "pin",
            Self::Unpin => "unpin",
        }
    }
}

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
    /// What the session has before this record is to be sealed.
    Seal {
        /// When that was decided.
        at_ns: i64,
        /// Why.
        why: SealReason,
    },
    /// A manifest and its chunks are durable.
    Sealed {
        /// Revision of the manifest.
        revision: u64,
        /// The hash at the end of the manifest.
        manifest: ContentHash,
    },
    /// The capture is deleted, whatever else there is of it.
    Deleted {
        /// When that was decided.
        at_ns: i64,
        /// An operator asked for it; otherwise it was retention.
        asked: bool,
    },
    /// The session goes on in a later start of the collector.
    Resumed {
        /// When that was decided.
        at_ns: i64,
        /// The start in which it goes on.
        incarnation: u64,
    },
}

impl Event {
    /// Returns the record's kind and bytes.
    #[must_use]
    pub fn encode(&self) -> (u8, Vec<u8>) {
        let no_text = String::new();
        let (kind, at_ns, byte, text) = match self {
            Self::Sealed { revision, manifest } => {
                let mut bytes = revision.to_le_bytes().to_vec();
                bytes.extend(manifest.0);
                return (SEALED, bytes);
            }
            Self::Resumed { at_ns, incarnation } => {
                let mut bytes = at_ns.to_le_bytes().to_vec();
                bytes.extend(incarnation.to_le_bytes());
                return (RESUMED, bytes);
            }
            Self::Seal { at_ns, why } => (SEAL, at_ns, *why as u8, &no_text),
            Self::Deleted { at_ns, asked } => (DELETED, at_ns, u8::from(*asked), &no_text),
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
        if kind == SEALED {
            let manifest = ContentHash(rest.try_into().ok()?);
            let revision = u64::from_le_bytes(*at_ns);
            return Some(Self::Sealed { revision, manifest });
        }
        if kind == RESUMED {
            return Some(Self::Resumed {
                at_ns: i64::from_le_bytes(*at_ns),
                incarnation: u64::from_le_bytes(rest.try_into().ok()?),
            });
        }
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
            SEAL => {
                let why = SealReason::ALL.into_iter().find(|why| *why as u8 == byte)?;
                Some(Self::Seal { at_ns, why })
            }
            DELETED => Some(Self::Deleted {
                at_ns,
                asked: byte == 1,
            }),
            _ => None,
        }
    }
}
