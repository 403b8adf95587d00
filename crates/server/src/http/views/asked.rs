//! What a request asks for, out of its address.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, json};
use traceloom_analysis::filter::Field;
use traceloom_analysis::query::{Query, QueryError};
use traceloom_input::captures::CaptureId;

use super::problem;
use crate::http::Http;

/// The address of a request: pairs of a name and a text.
pub(super) struct QueryPairs(Vec<(String, String)>);

impl QueryPairs {
    pub(super) fn of(raw: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(raw.unwrap_or("").as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// Returns the text of a name; the last one where it is repeated.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str())
    }

    /// Returns a number between two others.
    pub(super) fn number(
        &self,
        name: &str,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, Box<Response>> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let hexadecimal = text.strip_prefix("0x");
        let read = match hexadecimal {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        match read.ok().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let message = format!("`{text}` is no number from {least} to {most}");
                Err(Box::new(unreadable(name, None, &message)))
            }
        }
    }

    /// Reads the query.
    pub(super) fn query(&self) -> Result<Query, Box<Response>> {
        let read = Query::of(self.0.iter().map(|(name, text)| (&**name, &**text)));
        let query = read.map_err(
            |QueryError {
                 name,
                 column,
                 message,
             }| { Box::new(unreadable(&name, column, &message)) },
        )?;
        for (name, ids) in [("capture", &query.captures), ("base", &query.shape.base)] {
            for text in ids {
                if let Err(message) = text.parse::<CaptureId>() {
                    return Err(Box::new(unreadable(name, None, &message)));
                }
            }
        }
        // Arguments of a process hold no NUL.
        match self.0.iter().find(|(_, text)| text.contains('\0')) {
            Some((name, _)) => Err(Box::new(unreadable(name, None, "a text has no NUL"))),
            None => Ok(query),
        }
    }
}

fn unreadable(name: &str, column: Option<usize>, message: &str) -> Response {
    let detail = json!({"parameter": name, "column": column, "detail": message});
    let title = "the query cannot be read";
    problem(StatusCode::BAD_REQUEST, title, &detail)
}

/// Reads the id of a capture in a path.
pub(super) fn capture(text: &str) -> Result<CaptureId, Box<Response>> {
    let parsed: Result<CaptureId, String> = text.parse();
    parsed.map_err(|error| {
        let detail = json!({"detail": error});
        let title = "there is no such capture";
        Box::new(problem(StatusCode::NOT_FOUND, title, &detail))
    })
}

/// Checks a query, and says what it means.
///
/// The answer has the pairs of the query that are not as if nobody had said anything, and the names that filters know in
/// every capture. Nothing is read.
#[utoipa::path(
    get, path = "/api/v1/query", tag = "calls",
    params(super::document::QueryParams, super::document::ShapeParams),
    responses(
        (status = 200, description = "The query", body = Value),
        (status = 400, description = "What is wrong with it, with the column in a filter", body = super::document::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn query_form(State(_): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let query = match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => query,
        Err(problem) => return *problem,
    };
    let mut form = Map::new();
    for (name, text) in query.pairs() {
        // What may be repeated is a list.
        if matches!(
            name,
            "svc" | "capture" | "version" | "base" | "base_version"
        ) {
            let list = form.entry(name).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(json!(text));
            }
        } else {
            form.insert(name.to_owned(), json!(text));
        }
    }
    let fields: Vec<&str> = Field::names().collect();
    super::super::answer(StatusCode::OK, &json!({"query": form, "fields": fields}))
}
