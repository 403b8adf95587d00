//! What is posted, and what the collector has already.

use super::registry::Registry;
use super::trace::Trace;

/// Content type of every post.
const CONTENT_TYPE: &str = "application/zorka+cbor+v1";

/// A request to a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Path below the collector's address.
    pub path: &'static str,
    /// Headers, besides those of HTTP itself.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An agent's session with a collector.
#[derive(Debug)]
pub struct Session {
    name: String,
    /// Bytes of definitions that the collector has.
    n_sent: usize,
    is_new: bool,
}

impl Session {
    /// Begins a session, whose name should be random.
    #[must_use]
    pub fn new(name: u64) -> Self {
        Self {
            name: format!("{name:016x}"),
            n_sent: 0,
            is_new: true,
        }
    }

    /// Returns what is posted for a trace in this order: definitions that the collector does not have, if there are any,
    /// and the trace, whose id should be random. They count as sent.
    pub fn posts(&mut self, registry: &Registry, trace: &Trace, id: u128) -> Vec<Post> {
        let mut posts = Vec::with_capacity(2);
        let definitions = registry.definitions(self.n_sent);
        if !definitions.is_empty() {
            self.n_sent += definitions.len();
            let resets = std::mem::take(&mut self.is_new);
            posts.push(self.post("/agent/submit/agd", resets, definitions));
        }
        let mut trace = self.post("/agent/submit/trc", false, trace.bytes().to_vec());
        trace
            .headers
            .push(("X-Zorka-Trace-ID", format!("{id:032x}")));
        posts.push(trace);
        posts
    }

    /// Learns that a post was refused: the session begins anew, with all definitions.
    pub fn refused(&mut self) {
        self.n_sent = 0;
        self.is_new = true;
    }

    fn post(&self, path: &'static str, resets: bool, body: Vec<u8>) -> Post {
        let headers = vec![
            ("Content-Type", CONTENT_TYPE.to_owned()),
            ("X-Zorka-Session-ID", self.name.clone()),
            ("X-Zorka-Session-Reset", resets.to_string()),
        ];
        Post {
            path,
            headers,
            body,
        }
    }
}
