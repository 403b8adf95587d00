//! Traces as posts of agents, one line each: symbols and methods first, then the trace that needs them (SPEC.md §5).

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::fast::RandomState;
use serde_json::Value as Json;
use traceloom_model::{Recording, StringId};

use super::dialect::GenerationDialect;
use super::encode::{Encoder, PendingRecord};
use crate::Error;
use crate::spans::parents_first::{Children, PendingSpans};

/// Writes posts; the symbols of each session are numbered by themselves.
pub(crate) struct PostWriter {
    dialect: GenerationDialect,
    sessions: HashMap<Option<StringId>, Encoder, RandomState>,
    /// A body in the making.
    body: Vec<u8>,
}

impl PostWriter {
    /// Writes posts in this generation.
    pub(crate) fn new(dialect: GenerationDialect) -> Self {
        Self {
            dialect,
            sessions: HashMap::default(),
            body: Vec::new(),
        }
    }

    /// Appends the posts of a trace.
    ///
    /// # Errors
    /// `Limit` when there are more methods than the generation can number.
    pub(crate) fn tree(
        &mut self,
        root: (PendingRecord, Children),
        handed_up: bool,
        kept: &mut PendingSpans<PendingRecord>,
        words: &Recording,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let resource = words.track(root.0.track).and_then(|track| track.resource);
        let session = resource.and_then(|id| words.resource(id)?.instance);
        let id = session.map(|id| words.text(id).into_owned());
        let is_new = !self.sessions.contains_key(&session);
        let encoder = self.sessions.entry(session);
        let encoder = encoder.or_insert_with(|| Encoder::new(self.dialect));
        encoder.handed_up = handed_up;
        let trace = root.0.context.map_or(0, |context| context.trace);
        encoder.header_trace = trace;
        self.body.clear();
        let written = encoder.records(root, kept, words, &mut self.body);
        let definitions = encoder.take_definitions();
        if !definitions.is_empty() || is_new {
            let reset = is_new.then_some(("X-Zorka-Session-Reset", "true"));
            let session = id.as_deref().map(|id| ("X-Zorka-Session-ID", id));
            post(out, "agd", [session, reset], &definitions);
        }
        if written.is_ok() {
            let trace = (trace != 0).then(|| format!("{trace:032x}"));
            let trace = trace.as_deref().map(|id| ("X-Zorka-Trace-ID", id));
            let session = id.as_deref().map(|id| ("X-Zorka-Session-ID", id));
            post(out, "trc", [session, trace], &self.body);
        }
        written
    }

    /// Defines a symbol that nothing uses, for a dump of nothing.
    pub(crate) fn define_one(&self, out: &mut Vec<u8>) {
        let mut definitions = Vec::new();
        Encoder::new(self.dialect).define_one(&mut definitions);
        let reset = Some(("X-Zorka-Session-Reset", "true"));
        post(out, "agd", [None, reset], &definitions);
    }
}

/// Appends a post to `/agent/submit/` and `what`.
fn post(out: &mut Vec<u8>, what: &str, headers: [Option<(&str, &str)>; 2], body: &[u8]) {
    let kind = ("Content-Type", "application/zorka+cbor+v1");
    let headers: Vec<_> = [Some(kind)].into_iter().chain(headers).flatten().collect();
    post_line(out, &format!("/agent/submit/{what}"), &headers, body);
}

/// Appends a post as a line of a request dump: what [`super::REQUESTS`] reads.
pub fn post_line(out: &mut Vec<u8>, uri: &str, headers: &[(&str, &str)], body: &[u8]) {
    out.extend_from_slice(format!("{{\"uri\":{},\"headers\":{{", Json::from(uri)).as_bytes());
    for (at, (name, value)) in headers.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let (name, value) = (Json::from(*name), Json::from(*value));
        out.extend_from_slice(format!("{comma}{name}:[{value}]").as_bytes());
    }
    out.extend_from_slice(b"},\"body\":\"");
    out.extend_from_slice(STANDARD.encode(body).as_bytes());
    out.extend_from_slice(b"\"}\n");
}
