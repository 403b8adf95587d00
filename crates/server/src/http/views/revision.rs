//! Whether anything was received since an answer was given.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::http::Http;

/// The answer that has facts of captures, which are known some time after those are sealed.
const LIST: &str = "/api/v1/captures";

/// Returns a number that changes with everything that is received, sealed or deleted: each is a record of the log.
pub(super) fn of(http: &Http) -> u64 {
    let mut hasher = DefaultHasher::new();
    (http.ids.incarnation(), http.journal.durable().0).hash(&mut hasher);
    hasher.finish()
}

/// Adds an ETag of the data and the address, and answers 304 where a reader has the same.
pub(super) async fn unchanged(
    State(http): State<Arc<Http>>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    // Taken before: an answer is of this or of something newer, which then counts as changed.
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    request.uri().path_and_query().hash(&mut hasher);
    if request.uri().path() == LIST {
        let facts = &http.all_counts.facts;
        (facts.decoded.get() + facts.undecodable.get()).hash(&mut hasher);
    }
    let tag = format!("W/\"{:x}-{:x}\"", of(&http), hasher.finish());
    let known = request.headers().get(header::IF_NONE_MATCH);
    let known = known.and_then(|known| known.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => next.run(request).await,
    };
    let status = response.status();
    if (status.is_success() || status == StatusCode::NOT_MODIFIED)
        && let Ok(tag) = HeaderValue::from_str(&tag)
    {
        let headers = response.headers_mut();
        headers.insert(header::ETAG, tag);
        let private = HeaderValue::from_static("private, no-cache");
        headers.insert(header::CACHE_CONTROL, private);
    }
    response
}
