//! Messages of telemetry: looked at, known again, and stored, whatever brought them.

use axum::http::StatusCode;
use traceloom_input::captures::posts::OTLP;

use super::super::Http;
use super::super::body::DecodedBudget;
use super::super::failure::{Failure, refused};
use super::super::inspection::{Inspection, in_turn, inspect};
use super::super::sender::{PostIdentity, Sender};
use crate::posts::Post;

/// What is exported.
pub(super) struct Signal {
    /// The path of requests over HTTP.
    pub(super) path: &'static str,
    /// The path of calls of gRPC.
    pub(super) method: &'static str,
    /// The request, as the protocol calls it.
    pub(super) request: &'static str,
    /// The formats of its messages in protobuf and in JSON: name, and how names of files end.
    formats: [(&'static str, &'static str); 2],
}

pub(super) static TRACES: Signal = Signal {
    path: "/v1/traces",
    method: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    request: "ExportTraceServiceRequest",
    formats: [
        ("otlp-traces", "otlp-traces"),
        ("otlp-traces-json", "otlp-traces.json"),
    ],
};

pub(super) static PROFILES: Signal = Signal {
    path: "/v1development/profiles",
    method: "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
    request: "ExportProfilesServiceRequest",
    formats: [
        ("otlp-profiles", "otlp-profiles"),
        ("otlp-profiles-json", "otlp-profiles.json"),
    ],
};

/// How messages are encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Signal {
    /// Returns the format of its messages, and how names of their files end.
    fn format(&self, encoding: Encoding) -> (&'static str, &'static str) {
        let [protobuf, json] = self.formats;
        match encoding {
            Encoding::Protobuf => protobuf,
            Encoding::Json => json,
        }
    }

    /// Stores a message as it was sent, and returns what its sender should know about it.
    pub(super) async fn keep(
        &self,
        http: &Http,
        sender: &Sender,
        (body, is_compressed): (&[u8], bool),
        encoding: Encoding,
    ) -> Result<Option<String>, Failure> {
        let look = || self.look(sender, body, is_compressed, encoding);
        let known = in_turn(http, look).await?;
        let Some((identity, inspection)) = known else {
            return Ok(None);
        };
        if inspection.n_rows == 0 {
            // There is nothing to keep. A message without any row may still be one of another signal.
            let sentence = format!("there is nothing in the {} that is kept", self.request);
            return Ok(Some(sentence));
        }
        let post = Post {
            rules: &OTLP,
            tenant: &sender.tenant,
            service: &inspection.about.service,
            version: &inspection.about.version,
            kind: self.path,
            peer: &sender.peer,
            extension: self.format(encoding).1,
            pieces: &[body],
            identity,
        };
        sender.keep(http, &post).await?;
        let doubts = inspection.doubts;
        Ok(doubts.map(|(first, n_doubts)| format!("kept, with {n_doubts} defects: {first}")))
    }

    /// Returns what a message is known by, and what is in it; `None` for one without bytes.
    fn look(
        &self,
        sender: &Sender,
        body: &[u8],
        is_compressed: bool,
        encoding: Encoding,
    ) -> Result<Option<(blake3::Hash, Inspection)>, Failure> {
        let bad = |sentence| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
        let decoded = match is_compressed {
            true => {
                let whole = DecodedBudget::of(body.len()).whole(body)?;
                Some(whole.ok_or_else(|| bad("the compressed body is damaged".to_owned()))?)
            }
            false => None,
        };
        let message = decoded.as_deref().unwrap_or(body);
        if message.is_empty() {
            return Ok(None);
        }
        let inspection = inspect(self.format(encoding).0, message);
        let inspection = inspection
            .map_err(|reason| bad(format!("the body is no {}: {reason}", self.request)))?;
        let mut identity = PostIdentity::new(self.path, &sender.tenant);
        identity.add(message);
        Ok(Some((identity.finish(), inspection)))
    }
}
