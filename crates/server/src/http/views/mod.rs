//! The web UI and its API: questions about the captures.

mod answer;
mod assets;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde_json::json;
use traceloom_analysis::query::{Query, QueryError};
use traceloom_input::captures::CaptureId;

use super::Http;
use crate::CountsByReason;
use crate::questions::{Page, Question};
pub(crate) use answer::Workers;
use answer::{Form, answered};

/// Returns the routes of the pages themselves, which hold no data.
pub(super) fn pages() -> Router<Arc<Http>> {
    assets::routes()
}

/// Returns the routes of questions.
pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route("/api/v1/captures", get(captures))
        .route("/api/v1/captures/{id}", get(contents))
        .route("/api/v1/captures/{id}/notes", get(notes))
        .route("/api/v1/calls", get(calls))
        .route("/api/v1/calls/{id}", get(call))
        .route("/api/v1/functions", get(functions))
        .route("/api/v1/listeners", get(listeners))
        .route("/view/{page}", get(page))
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

/// Reads the query of an address.
fn query(raw: Option<&str>) -> Result<Query, Box<Response>> {
    let pairs: Vec<_> = form_urlencoded::parse(raw.unwrap_or("").as_bytes()).collect();
    let read = Query::of(pairs.iter().map(|(name, text)| (&**name, &**text)));
    read.map_err(
        |QueryError {
             name,
             column,
             message,
         }| {
            let detail = json!({"parameter": name, "column": column, "detail": message});
            Box::new(problem(
                StatusCode::BAD_REQUEST,
                "the query cannot be read",
                &detail,
            ))
        },
    )
}

fn id(text: &str) -> Result<CaptureId, Box<Response>> {
    let parsed: Result<CaptureId, String> = text.parse();
    parsed.map_err(|error| {
        let detail = json!({"detail": error});
        Box::new(problem(
            StatusCode::NOT_FOUND,
            "there is no such capture",
            &detail,
        ))
    })
}

async fn captures(State(http): State<Arc<Http>>) -> Response {
    answered(&http, &Question::Captures, Form::Rows).await
}

async fn contents(State(http): State<Arc<Http>>, Path(text): Path<String>) -> Response {
    match id(&text) {
        Ok(id) => answered(&http, &Question::Contents(id), Form::Rows).await,
        Err(problem) => *problem,
    }
}

async fn notes(State(http): State<Arc<Http>>, Path(text): Path<String>) -> Response {
    match id(&text) {
        Ok(id) => answered(&http, &Question::Notes(id), Form::Rows).await,
        Err(problem) => *problem,
    }
}

async fn calls(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    match query(raw.as_deref()) {
        Ok(query) => answered(&http, &Question::Calls(query), Form::Rows).await,
        Err(problem) => *problem,
    }
}

async fn call(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    match query(raw.as_deref()) {
        Ok(query) => answered(&http, &Question::Call { query, id }, Form::Rows).await,
        Err(problem) => *problem,
    }
}

async fn functions(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    match query(raw.as_deref()) {
        Ok(query) => answered(&http, &Question::Functions(query), Form::Rows).await,
        Err(problem) => *problem,
    }
}

/// What listens, how to send to it, and what it did since the start.
async fn listeners(State(http): State<Arc<Http>>) -> Response {
    let all = http.all_counts.listeners();
    let rows = all.iter().map(|(name, counts)| {
        let send_to = http.send_to.iter().find(|(other, _)| other == name);
        let sum = |by: &CountsByReason| by.get().values().sum::<u64>();
        json!({
            "name": name,
            "send_to": send_to.map(|(_, address)| address),
            "sessions": counts.sessions.get(),
            "received_bytes": counts.received_bytes.get(),
            "refused": sum(&counts.refused),
            "lost": sum(&counts.lost),
        })
    });
    let rows: Vec<_> = rows.collect();
    super::answer(StatusCode::OK, &json!({"rows": rows, "messages": []}))
}

async fn page(
    State(http): State<Arc<Http>>,
    Path(word): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    let Some(page) = Page::ALL.into_iter().find(|page| page.word() == word) else {
        let words = json!({"detail": "there are flame, report and timeline"});
        return problem(StatusCode::NOT_FOUND, "there is no such page", &words);
    };
    match query(raw.as_deref()) {
        Ok(query) => answered(&http, &Question::Page(page, query), Form::Page).await,
        Err(problem) => *problem,
    }
}
