//! The web UI and its API: questions about the captures.

mod answer;
mod asked;
mod assets;
mod calls;
mod captures;
mod commands;
mod document;
mod kept;
mod live;
mod revision;
mod session;
mod shapes;
mod status;
mod tokens;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate as _};

use super::Http;
pub(crate) use answer::Workers;
pub(super) use answer::lines;
pub use document::document;
pub(crate) use kept::KeptLists;
pub(super) use session::SECRET;
pub(crate) use session::Sessions;

/// Returns the routes of the pages themselves, which hold no data, and of sessions.
pub(super) fn pages() -> Router<Arc<Http>> {
    assets::routes()
        .merge(session::routes())
        .layer(compression())
}

/// Returns the routes of commands to agents. Their guard asks for a token on this machine too.
pub(super) fn commands() -> Router<Arc<Http>> {
    Router::new().route("/api/v1/captures/{id}/commands", post(commands::send))
}

/// Returns the routes of what changes the collector.
pub(super) fn changes() -> Router<Arc<Http>> {
    tokens::routes()
}

/// Returns the routes of questions.
pub(super) fn routes(http: &Arc<Http>) -> Router<Arc<Http>> {
    let answers = Router::new()
        .route("/api/v1/captures", get(captures::list))
        .route("/api/v1/captures/{id}", get(captures::contents))
        .route("/api/v1/captures/{id}/notes", get(captures::notes))
        .route("/api/v1/captures/{id}/bytes", get(captures::bytes))
        .route("/api/v1/captures/{id}/records", get(captures::records))
        .route("/api/v1/captures/{id}/original", get(captures::original))
        .route("/api/v1/captures/{id}/convert", get(captures::converted))
        .route("/api/v1/captures/{id}/losses", get(captures::losses))
        .route("/api/v1/services", get(status::services))
        .route("/api/v1/calls", get(calls::list))
        .route("/api/v1/calls.csv", get(calls::csv))
        .route("/api/v1/calls/overview", get(calls::overview))
        .route("/api/v1/calls/groups", get(calls::groups))
        .route("/api/v1/calls/{id}", get(calls::one))
        .route("/api/v1/functions", get(shapes::functions))
        .route("/api/v1/hotspots", get(shapes::hotspots))
        .route("/api/v1/tree", get(shapes::tree))
        .route("/api/v1/flame", get(shapes::flame))
        .route("/api/v1/flame.json", get(shapes::flame_json))
        .route("/api/v1/flame.svg", get(shapes::flame_svg))
        .route("/api/v1/diff", get(shapes::diff))
        .route("/api/v1/timeline", get(shapes::timeline))
        .route("/api/v1/series", get(shapes::series))
        .route("/api/v1/profiles", get(shapes::profiles))
        .route("/api/v1/monitors", get(shapes::monitors))
        .route("/api/v1/objects", get(shapes::objects))
        .route("/view/{page}", get(shapes::page))
        .route_layer(from_fn_with_state(http.clone(), revision::unchanged));
    Router::new()
        .merge(answers)
        .route("/api/v1/listeners", get(status::listeners))
        .route("/api/v1/settings", get(status::settings))
        .route("/api/v1/query", get(asked::query_form))
        .route("/api/v1/formats", get(captures::formats))
        .route("/api/v1/live", get(live::live))
        .layer(compression())
}

/// Answers in gzip or zstd where a request accepts them; archives are compressed already.
fn compression() -> CompressionLayer<impl tower_http::compression::Predicate> {
    let predicate = DefaultPredicate::new().and(NotForContentType::const_new("application/zip"));
    CompressionLayer::new().compress_when(predicate)
}

/// A problem, as RFC 9457 has it.
fn problem(status: StatusCode, title: &str, detail: &serde_json::Value) -> Response {
    let mut body = json!({"type": "about:blank", "status": status.as_u16(), "title": title});
    if let (Some(body), Some(detail)) = (body.as_object_mut(), detail.as_object()) {
        body.extend(detail.clone());
    }
    let mut response = super::answer(status, &body);
    let kind = axum::http::HeaderValue::from_static("application/problem+json");
    response
        .headers_mut()
        .insert(axum::http::header::CONTENT_TYPE, kind);
    response
}
