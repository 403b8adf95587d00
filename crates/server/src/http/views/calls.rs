//! Calls over the API.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use traceloom_analysis::query::Query;

use super::answer::{Representation, answered, lines, put_partial};
use super::asked::QueryPairs;
use super::document::{Page, Problem, QueryParams, Rows};
use super::kept::KeptList;
use crate::http::Http;
use crate::questions::Question;

/// Bytes of a list that is kept for its next pages.
const MOST_KEPT: usize = 64 << 20;

/// Calls, a page of them.
///
/// The newest come first unless `sort` says otherwise. `next` is what `after` takes for the rows behind. Newest first, captures are
/// read from the one that was received last on, and no more than the page needs. In every other order all that are chosen are read
/// once, and the first 10,000 rows are kept for the next pages.
#[utoipa::path(
    get, path = "/api/v1/calls", tag = "calls", params(QueryParams),
    responses(
        (status = 200, description = "A page; rows as `calls --json` has them, with their `place`", body = Page),
        (status = 304, description = "Nothing was received since the answer with this ETag"),
        (status = 400, description = "The query cannot be read", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let query = match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => query,
        Err(problem) => return *problem,
    };
    match page(&http, &query).await {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(problem) => problem,
    }
}

/// Returns a page of calls as JSON.
pub(super) async fn page(http: &Arc<Http>, query: &Query) -> Result<Bytes, Response> {
    let revision = super::revision::of(http);
    if let Some(kept) = http.kept.page(query, revision) {
        return Ok(kept);
    }
    // Newest first, a page reads little, and what is new belongs before it.
    let is_kept = query.sort != Query::default().sort && query.after.is_none();
    let asked = Query {
        rows: if is_kept {
            Query::MOST_ROWS
        } else {
            query.rows
        },
        ..query.clone()
    };
    let answer = lines(http, &Question::Calls(asked), MOST_KEPT).await?;
    let Some((end, rows)) = answer.lines.split_last() else {
        let end = json!({"next": null, "counts": {}, "messages": answer.messages});
        return Ok(body(&[], &end));
    };
    let mut end: Value = serde_json::from_slice(end).unwrap_or_default();
    put_partial(&mut end, answer.partial.as_ref());
    let list = KeptList::new(rows.to_vec(), end, answer.messages);
    let page = list.page(0, query.rows);
    if is_kept {
        http.kept.add(query, revision, list);
    }
    Ok(page)
}

/// Puts a page together.
pub(super) fn body(rows: &[Bytes], end: &Value) -> Bytes {
    let mut body = BytesMut::from(&b"{\"rows\":["[..]);
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            body.extend_from_slice(b",\n");
        }
        body.extend_from_slice(row);
    }
    let end = end.to_string();
    body.extend_from_slice(b"],");
    body.extend_from_slice(end.trim_start_matches('{').as_bytes());
    body.extend_from_slice(b"\n");
    body.freeze()
}

/// Every call of a query as CSV.
#[utoipa::path(
    get, path = "/api/v1/calls.csv", tag = "calls", params(QueryParams),
    responses(
        (status = 200, description = "As `calls --csv` prints it", body = String, content_type = "text/csv"),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn csv(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => {
            let form = Representation::File("text/csv; charset=utf-8", "calls.csv".to_owned());
            answered(&http, &Question::CallsCsv(query), form).await
        }
        Err(problem) => *problem,
    }
}

/// How many calls took how long, and when they began.
#[utoipa::path(
    get, path = "/api/v1/calls/overview", tag = "calls", params(QueryParams),
    responses(
        (status = 200, description = "One row, as `calls --overview --json` prints it", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn overview(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => answered(&http, &Question::CallsOverview(query), Representation::Rows).await,
        Err(problem) => *problem,
    }
}

/// Calls in groups: how many, how long, how many failed.
#[utoipa::path(
    get, path = "/api/v1/calls/groups", tag = "calls",
    params(QueryParams, ("by" = Option<String>, Query, description = "`title-shape` unless said, `thread`, `service`, `host`, `title`, `kind` or the name of a parameter")),
    responses(
        (status = 200, description = "A row a group, as `calls --by WHAT --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn groups(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let pairs = form_urlencoded::parse(raw.as_deref().unwrap_or("").as_bytes());
    let by = pairs.filter(|(name, _)| name == "by").last();
    let by = by.map_or_else(|| "title-shape".to_owned(), |(_, by)| by.into_owned());
    // Of groups, `by` is more than the dimensions of a tree.
    let rest = pairs.filter(|(name, _)| name != "by");
    let rest = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(rest)
        .finish();
    match QueryPairs::of(Some(&rest)).query() {
        Ok(_) if by.contains('\0') => super::problem(
            StatusCode::BAD_REQUEST,
            "the query cannot be read",
            &json!({"parameter": "by", "detail": "a text has no NUL"}),
        ),
        Ok(query) => {
            answered(
                &http,
                &Question::CallGroups { query, by },
                Representation::Rows,
            )
            .await
        }
        Err(problem) => *problem,
    }
}

/// One call with everything in it, or a part of its spans.
#[utoipa::path(
    get, path = "/api/v1/calls/{id}", tag = "calls",
    params(
        ("id" = String, Path, description = "`capture.call` of the call's row, or the id of a trace"),
        ("capture" = Option<String>, Query, description = "The capture; a trace is looked for in all without it"),
        ("below" = Option<u64>, Query, description = "The span, by its `index`, that is told with what is below it"),
        ("depth" = Option<u64>, Query, description = "Levels below that span"),
        ("spans" = Option<u64>, Query, description = "Most spans, 100,000 unless said; `left_out` says how many more there are"),
    ),
    responses(
        (status = 200, description = "One row, as `call --json` prints it", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn one(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    match question(id, &QueryPairs::of(raw.as_deref())) {
        Ok(question) => answered(&http, &question, Representation::Rows).await,
        Err(problem) => *problem,
    }
}

fn question(id: String, asked: &QueryPairs) -> Result<Question, Box<Response>> {
    const MOST_SPANS: u64 = 100_000;
    let number = |name, most| -> Result<Option<usize>, Box<Response>> {
        let number = asked.number(name, (0, most))?;
        Ok(number.and_then(|number| usize::try_from(number).ok()))
    };
    if id.contains('\0') {
        let detail = json!({"detail": "there is no such call"});
        let title = "there is nothing of the kind";
        return Err(Box::new(super::problem(
            StatusCode::NOT_FOUND,
            title,
            &detail,
        )));
    }
    Ok(Question::Call {
        query: asked.query()?,
        id,
        below: number("below", u64::from(u32::MAX))?,
        depth: number("depth", u64::from(u32::MAX))?,
        spans: number("spans", MOST_SPANS)?.or(usize::try_from(MOST_SPANS).ok()),
    })
}
