//! Posts of senders over HTTP: a capture holds many, each a file as it was sent, with its head where a reader needs it.
//!
//! A post is stored in one group of the log, so that a crash leaves all of it or nothing: its name, its bytes, and a *mark*, by
//! which the same post is known when it comes again. A repeat leaves a receipt and no bytes.

use std::fmt;
use std::str::FromStr;

use traceloom_formats::protocol::CaptureRules;

use super::CaptureId;
use super::upload::{CapturedFiles, UPLOAD};

/// Profiles as Datakit's agents send them.
pub const DATAKIT: CaptureRules = CaptureRules {
    name: "datakit",
    number: 16,
    assemble: || Box::new(CapturedFiles::of("datakit")),
};

/// Profiles as Pyroscope's agents send them.
pub const PYROSCOPE: CaptureRules = CaptureRules {
    name: "pyroscope",
    number: 17,
    assemble: || Box::new(CapturedFiles::of("pyroscope")),
};

/// Symbols and traces of Zorka agents.
pub const ZORKA: CaptureRules = CaptureRules {
    name: "zorka",
    number: 18,
    assemble: || Box::new(CapturedFiles::of("zorka")),
};

/// What OpenTelemetry's exporters send.
pub const OTLP: CaptureRules = CaptureRules {
    name: "otlp",
    number: 19,
    assemble: || Box::new(CapturedFiles::of("otlp")),
};

/// Spans of Zipkin's reporters.
pub const ZIPKIN: CaptureRules = CaptureRules {
    name: "zipkin",
    number: 20,
    assemble: || Box::new(CapturedFiles::of("zipkin")),
};

/// All of them.
pub const SENDERS: [&CaptureRules; 5] = [&DATAKIT, &PYROSCOPE, &ZORKA, &OTLP, &ZIPKIN];

/// Returns `true` if the parts of such captures are files, whose compression and archives are opened.
pub(crate) fn are_files(rules: &CaptureRules) -> bool {
    rules.number == UPLOAD.number || is_posts(rules.number)
}

/// Returns `true` if captures of this number hold posts.
#[must_use]
pub fn is_posts(number: u8) -> bool {
    SENDERS.iter().any(|known| known.number == number)
}

/// Returns `true` if the posts of such captures are lines of one file.
#[must_use]
pub fn are_lines(number: u8) -> bool {
    number == ZORKA.number
}

/// A post by its capture and its number there, such as `1-7.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId {
    /// The capture.
    pub capture: CaptureId,
    /// Its number in the capture, from 0.
    pub number: u32,
}

impl PostId {
    /// Returns the number of the post that a part of a capture is, or is a member of: `datakit/3.http` and
    /// `datakit/3.http/auto.pprof` are 3.
    #[must_use]
    pub fn number_of(part: &str) -> Option<u32> {
        let file = part.split('/').nth(1)?;
        let (number, _) = file.split_once('.')?;
        number.parse().ok()
    }
}

impl fmt::Display for PostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.capture, self.number)
    }
}

impl FromStr for PostId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('.').and_then(|(capture, number)| {
            let (capture, number) = (capture.parse().ok()?, number.parse().ok()?);
            let post = Self { capture, number };
            (post.to_string() == text).then_some(post)
        });
        parsed.ok_or_else(|| format!("`{text}` is no id of a post, such as 1-7.3"))
    }
}

/// What is kept of a post that came again: it was answered as the original was, and not stored again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// When it came, in Unix nanoseconds of the collector's clock.
    pub at_ns: i64,
    /// The post that it repeats.
    pub original: PostId,
    /// Address that it came from.
    pub peer: String,
}

impl Receipt {
    /// Returns the bytes of the entry.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.at_ns.to_le_bytes().to_vec();
        bytes.extend(self.original.capture.session().to_le_bytes());
        bytes.extend(self.original.number.to_le_bytes());
        bytes.extend(self.peer.bytes());
        bytes
    }

    /// Reads an entry; `None` for one that this program does not know.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (at_ns, bytes) = bytes.split_first_chunk()?;
        let (session, bytes) = bytes.split_first_chunk()?;
        let (number, peer) = bytes.split_first_chunk()?;
        Some(Self {
            at_ns: i64::from_le_bytes(*at_ns),
            original: PostId {
                capture: CaptureId::of_session(u64::from_le_bytes(*session)),
                number: u32::from_le_bytes(*number),
            },
            peer: String::from_utf8_lossy(peer).into_owned(),
        })
    }
}

/// What a post is known by when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it was received, in Unix nanoseconds of the collector's clock.
    pub at_ns: i64,
    /// Hash of what tells it from every other post.
    pub identity: [u8; 32],
}

impl Mark {
    /// Returns the bytes of the entry.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.at_ns.to_le_bytes().to_vec();
        bytes.extend(self.identity);
        bytes
    }

    /// Reads an entry; `None` for one that this program does not know.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (at_ns, identity) = bytes.split_first_chunk()?;
        Some(Self {
            at_ns: i64::from_le_bytes(*at_ns),
            identity: identity.try_into().ok()?,
        })
    }
}
