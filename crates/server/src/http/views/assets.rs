//! The pages themselves: a frame, a script and a style, without data.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::document;
use crate::http::Http;

const FRAME: &str = include_str!("../../../assets/app.html");
const SCRIPT: &str = include_str!("../../../assets/app.js");
const STYLE: &str = include_str!("../../../assets/app.css");

/// What pages may do: their own script and style, their own API, and pages of drawings in frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Addresses of pages; what they show is the script's.
const PAGES: [&str; 11] = [
    "/",
    "/calls",
    "/call/{capture}/{call}",
    "/profiles",
    "/timeline",
    "/memory",
    "/captures",
    "/captures/{capture}",
    "/draw",
    "/login",
    "/settings",
];

pub(super) fn routes() -> Router<Arc<Http>> {
    let frame = || async { asset("text/html; charset=utf-8", FRAME) };
    let mut pages = Router::new();
    for page in PAGES {
        pages = pages.route(page, get(frame));
    }
    pages
        .route(
            "/api/v1/openapi.json",
            get(|| async { ([(header::CONTENT_TYPE, "application/json")], document()) }),
        )
        .route(
            "/app.js",
            get(|| async { asset("text/javascript; charset=utf-8", SCRIPT) }),
        )
        .route(
            "/app.css",
            get(|| async { asset("text/css; charset=utf-8", STYLE) }),
        )
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(POLICY),
        ),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        // Another version of the program has other pages.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}
