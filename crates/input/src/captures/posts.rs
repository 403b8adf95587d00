//! Posts of senders over HTTP: a capture holds many, each a file as it was sent, with its head where a reader needs it.
//!
//! A post is stored in one group of the log, so that a crash leaves all of it or nothing: its name, its bytes, and a *mark*, by
//! which the same post is known when it comes again. A repeat leaves a receipt and no bytes.

use traceloom_formats::protocol::CaptureRules;

use super::upload::{Files, UPLOAD};

/// Profiles as Datakit's agents send them.
pub const DATAKIT: CaptureRules = CaptureRules {
    name: "datakit",
    number: 16,
    assemble: || Box::new(Files::of("datakit")),
};

/// Profiles as Pyroscope's agents send them.
pub const PYROSCOPE: CaptureRules = CaptureRules {
    name: "pyroscope",
    number: 17,
    assemble: || Box::new(Files::of("pyroscope")),
};

/// Symbols and traces of Zorka agents.
pub const ZORKA: CaptureRules = CaptureRules {
    name: "zorka",
    number: 18,
    assemble: || Box::new(Files::of("zorka")),
};

/// What OpenTelemetry's exporters send.
pub const OTLP: CaptureRules = CaptureRules {
    name: "otlp",
    number: 19,
    assemble: || Box::new(Files::of("otlp")),
};

/// Spans of Zipkin's reporters.
pub const ZIPKIN: CaptureRules = CaptureRules {
    name: "zipkin",
    number: 20,
    assemble: || Box::new(Files::of("zipkin")),
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
