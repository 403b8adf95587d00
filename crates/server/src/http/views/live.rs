//! Calls as they arrive, as server-sent events.

use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use traceloom_analysis::query::Query;

use super::asked::QueryPairs;
use super::calls::page;
use super::document::{Problem, QueryParams};
use crate::http::Http;

/// Time between two looks.
const LEAST: Duration = Duration::from_secs(1);
/// Time after which a reader is told that the connection still stands.
const QUIET: Duration = Duration::from_secs(15);
/// Calls that one look finds.
const MOST: usize = 200;
/// Calls that are remembered as sent.
const REMEMBERED: usize = 20_000;

/// Calls as they arrive.
///
/// Server-sent events: `call` has a row as `/api/v1/calls` has it, a call that ends is sent once; `more` says that more calls arrived at
/// once than the newest 200, which are sent; `problem` says why a look found nothing. Calls that are there already are not sent. Filters are those of the query.
#[utoipa::path(
    get, path = "/api/v1/live", tag = "calls", params(QueryParams),
    responses(
        (status = 200, description = "Events", body = String, content_type = "text/event-stream"),
        (status = 400, description = "The query cannot be read", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn live(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let query = match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => Query {
            sort: Query::default().sort,
            rows: MOST,
            after: None,
            ..query
        },
        Err(problem) => return *problem,
    };
    let (send, receive) = mpsc::channel(16);
    tokio::spawn(follow(http, query, send));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Body::new(Events(receive))).into_response()
}

/// Looks again whenever something was received, until the reader goes away or the collector stops.
async fn follow(http: Arc<Http>, query: Query, send: mpsc::Sender<Bytes>) {
    let mut progress = http.journal.progress();
    let mut stop = http.stop.watch();
    let mut sent = HashSet::new();
    let mut is_first = true;
    loop {
        progress.mark_unchanged();
        let events = tokio::select! {
            events = look(&http, &query, &mut sent, is_first) => events,
            () = send.closed() => return,
        };
        is_first = false;
        for event in events {
            if send.send(event).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = sleep(LEAST) => {}
            () = send.closed() => return,
        }
        loop {
            tokio::select! {
                changed = timeout(QUIET, progress.changed()) => match changed {
                    Ok(_) => break,
                    Err(_) => if send.send(Bytes::from_static(b": quiet\n\n")).await.is_err() {
                        return;
                    },
                },
                () = send.closed() => return,
                _ = stop.changed() => return,
            }
        }
    }
}

/// Returns an event for each call that was not sent.
async fn look(
    http: &Arc<Http>,
    query: &Query,
    sent: &mut HashSet<String>,
    is_first: bool,
) -> Vec<Bytes> {
    let begin = is_first.then(|| Bytes::from_static(b"retry: 3000\n\n"));
    let mut events: Vec<Bytes> = begin.into_iter().collect();
    let found = match page(http, query).await {
        Ok(body) => serde_json::from_slice::<Value>(&body).unwrap_or_default(),
        Err(problem) => {
            let body = axum::body::to_bytes(problem.into_body(), 64 << 10).await;
            let body = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
            events.push(event("problem", &body));
            return events;
        }
    };
    let rows = found["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let new = arrived(rows, sent);
    if !is_first {
        if new.len() == MOST {
            events.push(event("more", &json!({})));
        }
        events.extend(new.into_iter().map(|row| event("call", row)));
    }
    events
}

/// Returns the rows of a page that were not sent, and remembers the page: the oldest first, as they are put on top of each other.
fn arrived<'r>(rows: &'r [Value], sent: &mut HashSet<String>) -> Vec<&'r Value> {
    // A call that runs is sent when it has ended, too.
    let key = |row: &Value| json!([row["capture"], row["id"], row["status"]]).to_string();
    let is_new = |row: &&Value| sent.insert(key(row));
    let new = rows.iter().rev().filter(is_new).collect();
    if sent.len() > REMEMBERED {
        // What lies behind this page comes no more.
        *sent = rows.iter().map(key).collect();
    }
    new
}

fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// A body of events.
struct Events(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The newest page of calls that are numbered up to `last`.
    fn page(last: usize) -> Vec<Value> {
        let rows = (0..MOST).map(|back| json!({"id": last - back, "status": "complete"}));
        rows.collect()
    }

    #[test]
    fn each_call_arrives_once_however_many_came() {
        let mut sent = HashSet::new();
        arrived(&page(MOST), &mut sent);
        let mut n_arrived = 0;
        let last = REMEMBERED + 10 * MOST;
        for at in (MOST..=last).step_by(50) {
            n_arrived += arrived(&page(at), &mut sent).len();
        }
        assert_eq!(n_arrived, last - MOST);
        assert!(sent.len() <= REMEMBERED);
    }

    #[test]
    fn the_oldest_comes_first() {
        let mut sent = HashSet::new();
        arrived(&page(MOST), &mut sent);
        let rows = page(MOST + 2);
        let ids: Vec<_> = arrived(&rows, &mut sent)
            .iter()
            .map(|row| row["id"].as_u64())
            .collect();
        assert_eq!(ids, [Some(201), Some(202)]);
    }
}
