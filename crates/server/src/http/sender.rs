//! What the routes of all senders share: who sends, what a post is known by, and how its head is kept.

use std::fmt::Write as _;

use axum::http::{HeaderMap, HeaderName};
use traceloom_formats::protocol::CaptureRules;

use super::failure::Failure;
use super::guard::{TENANT, token};
use super::{Http, Peer};
use crate::posts::{KeptPost, Post};

/// Who sends.
pub(super) struct Sender {
    /// Whom it sends for: a tenant of its token, whose name that is without tenants; empty without a token.
    pub(super) tenant: String,
    pub(super) peer: String,
}

/// What a post is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    pub(super) service: String,
    /// The version of the service; empty where it is not said.
    pub(super) version: String,
    /// What is posted, such as `process_cpu`; empty where it is not said.
    pub(super) kind: String,
}

impl Sender {
    pub(super) fn of(http: &Http, headers: &HeaderMap, peer: Peer) -> Self {
        Self {
            tenant: tenant(http, headers),
            peer: peer.0.to_string(),
        }
    }

    /// Stores a request about a service, its head and its body, and returns where once it is safe.
    pub(super) async fn keep_request(
        &self,
        http: &Http,
        rules: &'static CaptureRules,
        (identity, about): (blake3::Hash, &About),
        request: [&[u8]; 2],
    ) -> Result<KeptPost, Failure> {
        let post = Post {
            rules,
            tenant: &self.tenant,
            service: &about.service,
            version: &about.version,
            kind: &about.kind,
            peer: &self.peer,
            extension: "http",
            pieces: &request,
            identity,
        };
        self.keep(http, &post).await
    }

    /// Stores a post, and returns where once it is safe.
    pub(super) async fn keep(&self, http: &Http, post: &Post<'_>) -> Result<KeptPost, Failure> {
        http.counts.decoded.add(1);
        http.posts.sweep();
        let kept = http.posts.keep(post).await?;
        match kept.repeats {
            true => http.counts.suppressed.add(1),
            false => http.counts.acknowledged.add(1),
        }
        Ok(kept)
    }
}

/// Returns whom a request is sent for; empty without a token.
pub(super) fn tenant(http: &Http, headers: &HeaderMap) -> String {
    let stored = token(headers).and_then(|token| http.tokens.find(&token));
    // The guard refused what the token does not allow, unless that changed since.
    let tenant = stored.as_ref().map(|stored| {
        let named = stored.tenant(text(headers, TENANT));
        named.or_else(|| stored.tenant("")).unwrap_or_default()
    });
    tenant.unwrap_or_default().to_owned()
}

/// What a post is known by: everything that stays the same when it is sent again.
pub(super) struct PostIdentity(blake3::Hasher);

impl PostIdentity {
    /// Begins with what is posted, and by whom.
    pub(super) fn new(what: &str, tenant: &str) -> Self {
        let mut identity = Self(blake3::Hasher::new());
        identity.add(what.as_bytes());
        identity.add(tenant.as_bytes());
        identity
    }

    /// Adds a field; its length keeps it apart from the next one.
    pub(super) fn add(&mut self, field: &[u8]) {
        self.0.update(&(field.len() as u64).to_le_bytes());
        self.0.update(field);
    }

    pub(super) fn finish(self) -> blake3::Hash {
        self.0.finalize()
    }
}

/// Returns a header's text, empty where there is none.
pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name);
    value.and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// Headers that say what a body is, and who made it. Others may be secrets.
const KEPT: [&str; 4] = [
    "content-type",
    "content-encoding",
    "user-agent",
    "x-scope-orgid",
];

/// Returns the head of a request as it is stored in front of its body.
pub(super) fn head(method: &str, target: &str, headers: &HeaderMap, length: usize) -> String {
    let mut head = format!("{method} {target} HTTP/1.1\r\n");
    for name in KEPT {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(value) = value {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    let _ = write!(head, "content-length: {length}\r\n\r\n");
    head
}
