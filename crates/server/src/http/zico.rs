//! The queries of ZICO's collector that its users script against, answered from captures of Zorka's agents.
//!
//! A marked span is a row, as `export --processed` writes it; its trace is the rows with its trace id.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Map, Value, json};

use traceloom_model::bounds::in_memory;

use super::body::receive;
use super::failure::{Failure, refused};
use super::views::lines;
use super::{Http, answer, refusal};
use crate::questions::{ProcessedContent, Question};

/// Bytes of a query.
const MOST: usize = 1 << 20;
/// Bytes of what is answered from.
const MOST_READ: usize = 256 << 20;
/// Rows of an answer that names no limit.
const USUAL: usize = 100;

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route("/api/trace", post(search))
        .route("/api/trace/attr/{name}", get(attribute))
        .route("/api/trace/{trace}", get(spans))
        .route("/api/trace/{trace}/{span}", get(tree))
        .route("/api/trace/{trace}/{span}/stats", get(statistics))
        .route("/api/config/ttypes", get(types))
        .route("/api/config/filters", get(filters))
}

/// Reads the rows of one trace, or of all.
async fn rows(http: &Arc<Http>, trace: Option<&str>) -> Result<Vec<Value>, Response> {
    let trace = match trace.map(trace_id) {
        None => None,
        Some(Some(id)) => Some(id),
        Some(None) => return Err(no_trace_id()),
    };
    let question = Question::Processed {
        trace,
        span: None,
        content: ProcessedContent::Metadata,
    };
    let read = lines(http, &question, MOST_READ).await?;
    let rows = read.lines.iter();
    let rows: Vec<Value> = rows
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    match trace.is_some() && rows.is_empty() {
        true => Err(refusal(StatusCode::NOT_FOUND, "there is no such trace")),
        false => Ok(rows),
    }
}

fn trace_id(text: &str) -> Option<u128> {
    let id = u128::from_str_radix(text, 16).ok();
    id.filter(|_| text.len() <= 32)
}

fn no_trace_id() -> Response {
    let sentence = "a trace id has up to 32 hexadecimal digits";
    refusal(StatusCode::BAD_REQUEST, sentence)
}

/// Answers with what is told of one span, which is JSON that nests deeper than readers here would follow.
async fn of_span(
    http: &Arc<Http>,
    (trace, span): (String, String),
    content: ProcessedContent,
) -> Response {
    let Some(trace) = trace_id(&trace) else {
        return no_trace_id();
    };
    let id = u64::from_str_radix(&span, 16).ok();
    let Some(id) = id.filter(|_| span.len() <= 16) else {
        let sentence = "a span id has up to 16 hexadecimal digits";
        return refusal(StatusCode::BAD_REQUEST, sentence);
    };
    let question = Question::Processed {
        trace: Some(trace),
        span: Some(id),
        content,
    };
    match lines(http, &question, MOST_READ).await {
        Err(response) => response,
        Ok(read) => match read.lines.into_iter().next() {
            None => refusal(StatusCode::NOT_FOUND, "there is no such span"),
            Some(line) => {
                let kind = (header::CONTENT_TYPE, "application/json");
                (StatusCode::OK, [kind], line).into_response()
            }
        },
    }
}

fn answered(found: Result<Value, Response>) -> Response {
    found.map_or_else(|response| response, |value| answer(StatusCode::OK, &value))
}

/// `POST /api/trace`: marked spans that a query chooses.
async fn search(State(http): State<Arc<Http>>, headers: HeaderMap, body: Body) -> Response {
    let query = match query(&http, &headers, body).await {
        Ok(query) => query,
        Err(failure) => return failure.response(&http),
    };
    let found = rows(&http, query.trace.as_deref()).await;
    match found {
        Ok(rows) => answer(StatusCode::OK, &query.choose(rows).into()),
        // A search that finds nothing finds an empty list.
        Err(response) if response.status() == StatusCode::NOT_FOUND => {
            answer(StatusCode::OK, &json!([]))
        }
        Err(response) => response,
    }
}

async fn query(http: &Http, headers: &HeaderMap, body: Body) -> Result<TraceSearch, Failure> {
    let body = receive(http, headers, body, MOST).await?;
    let bad = |sentence: String| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
    let value: Value = match body.bytes.trim_ascii() {
        b"" => json!({}),
        bytes => serde_json::from_slice(bytes)
            .map_err(|error| bad(format!("the query is no JSON: {error}")))?,
    };
    TraceSearch::read(&value).map_err(|name| bad(format!("`{name}` of the query cannot be read")))
}

/// What is searched for.
#[derive(Debug, Default)]
struct TraceSearch {
    trace: Option<String>,
    span: Option<String>,
    limit: usize,
    offset: usize,
    order_by: String,
    descending: bool,
    fetches_attributes: bool,
    errors_only: bool,
    /// Spans of distributed traces that have a parent; without, every marked span.
    spans_only: bool,
    /// Milliseconds since 1970.
    from: Option<i64>,
    to: Option<i64>,
    least_duration: u64,
    attributes: BTreeMap<String, String>,
    text: String,
    match_start: bool,
    match_end: bool,
}

impl TraceSearch {
    /// Reads a query; the error is the name of a value that is none.
    fn read(value: &Value) -> Result<Self, &'static str> {
        let fields = value.as_object().ok_or("the whole")?;
        let text = |name: &'static str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(name),
        };
        let number = |name: &'static str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or(name),
        };
        let flag = |name: &'static str| match fields.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => value.as_bool().ok_or(name),
        };
        let moment = |name: &'static str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => {
                let parsed: Option<jiff::Timestamp> = text.parse().ok();
                parsed.map(|time| Some(time.as_millisecond())).ok_or(name)
            }
            Some(value) => value.as_i64().map(Some).ok_or(name),
        };
        let count = |name| Ok::<_, &'static str>(number(name)?.map(in_memory));
        let order_by = text("order-by")?.unwrap_or_else(|| "tst".to_owned());
        if !["tst", "duration", "calls", "recs", "errors"].contains(&&*order_by) {
            return Err("order-by");
        }
        let attributes = match fields.get("attr-matches") {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(wanted)) => {
                let wanted = wanted.iter();
                let pairs =
                    wanted.map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
                pairs.collect::<Option<_>>().ok_or("attr-matches")?
            }
            Some(_) => return Err("attr-matches"),
        };
        Ok(Self {
            trace: text("traceid")?,
            span: text("spanid")?,
            limit: count("limit")?.unwrap_or(USUAL),
            offset: count("offset")?.unwrap_or(0),
            order_by,
            descending: !matches!(text("order-dir")?.as_deref(), Some("asc")),
            fetches_attributes: flag("fetch-attrs")?,
            errors_only: flag("errors-only")?,
            spans_only: flag("spans-only")?,
            from: moment("min-tstamp")?,
            to: moment("max-tstamp")?,
            least_duration: number("min-duration")?.unwrap_or(0),
            attributes,
            text: text("text")?.unwrap_or_default(),
            match_start: flag("match-start")?,
            match_end: flag("match-end")?,
        })
    }

    /// Returns the page of rows that is asked for.
    fn choose(&self, mut rows: Vec<Value>) -> Vec<Value> {
        rows.retain(|row| self.has(row));
        rows.sort_by(|a, b| {
            let order = a[&self.order_by].as_i64().cmp(&b[&self.order_by].as_i64());
            let order = match self.descending {
                true => order.reverse(),
                false => order,
            };
            // Equal ones in an order of their own, so that pages do not overlap.
            order.then_with(|| ids(a).cmp(&ids(b)))
        });
        let page = rows.into_iter().skip(self.offset).take(self.limit);
        page.map(|mut row| {
            if let Some(row) = row.as_object_mut().filter(|_| !self.fetches_attributes) {
                row.remove("attrs");
            }
            row
        })
        .collect()
    }

    fn has(&self, row: &Value) -> bool {
        let number = |name: &str| row[name].as_i64().unwrap_or(0);
        let attributes = row["attrs"].as_object();
        let is_said = |key: &String, wanted: &String| {
            let value = attributes.and_then(|all| all.get(key)?.as_str());
            value.is_some_and(|value| self.is_match(value, wanted))
        };
        self.span
            .as_deref()
            .is_none_or(|span| same_id(&row["spanid"], span))
            && !(self.errors_only && row["error"] != true)
            && !(self.spans_only && row["top-level"] == true)
            && self.from.is_none_or(|from| number("tst") >= from)
            && self.to.is_none_or(|to| number("tst") <= to)
            && row["duration"].as_u64().unwrap_or(0) >= self.least_duration
            && self
                .attributes
                .iter()
                .all(|(key, value)| is_said(key, value))
            && self.has_text(row)
    }

    fn has_text(&self, row: &Value) -> bool {
        if self.text.is_empty() {
            return true;
        }
        let part = |name: &str| row[name].as_str().unwrap_or_default();
        let method = format!("{}.{}", part("klass"), part("method"));
        let attributes = row["attrs"].as_object().into_iter().flatten();
        let mut texts =
            attributes.flat_map(|(key, value)| [key.as_str(), value.as_str().unwrap_or("")]);
        self.is_match(&method, &self.text) || texts.any(|text| self.is_match(text, &self.text))
    }

    fn is_match(&self, text: &str, wanted: &str) -> bool {
        match (self.match_start, self.match_end) {
            (true, true) => text == wanted,
            (true, false) => text.starts_with(wanted),
            (false, true) => text.ends_with(wanted),
            (false, false) => text.contains(wanted),
        }
    }
}

fn ids(row: &Value) -> (&str, &str) {
    let id = |name: &str| row[name].as_str().unwrap_or_default();
    (id("traceid"), id("spanid"))
}

/// Returns `true` for an id however many zeros it is written with.
fn same_id(value: &Value, id: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('0').to_ascii_lowercase();
    value.as_str().is_some_and(|own| plain(own) == plain(id))
}

/// `GET /api/trace/{trace}`: the marked spans of a trace, each below its parent.
async fn spans(State(http): State<Arc<Http>>, Path(trace): Path<String>) -> Response {
    let found = rows(&http, Some(&trace)).await;
    answered(found.map(|rows| nested(rows).into()))
}

/// Puts rows below the row of their parent.
fn nested(mut rows: Vec<Value>) -> Vec<Value> {
    let by_time = |a: &Value, b: &Value| -> Ordering { a["tst"].as_i64().cmp(&b["tst"].as_i64()) };
    rows.sort_by(by_time);
    let known: BTreeSet<String> = rows.iter().map(|row| ids(row).1.to_owned()).collect();
    let mut children: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut roots = Vec::new();
    for row in rows {
        let parent = row["parentid"].as_str().unwrap_or_default().to_owned();
        match known.contains(&parent) && parent != ids(&row).1 {
            true => children.entry(parent).or_default().push(row),
            false => roots.push(row),
        }
    }
    let mut tree: Vec<Value> = Vec::new();
    for root in roots {
        tree.push(with_children(root, &mut children, 0));
    }
    // Parents that go in a circle: each begins somewhere.
    while let Some((_, rows)) = children.pop_first() {
        for row in rows {
            tree.push(with_children(row, &mut children, 0));
        }
    }
    tree
}

fn with_children(
    mut row: Value,
    children: &mut BTreeMap<String, Vec<Value>>,
    depth: usize,
) -> Value {
    // Traces nest by tens; a bound keeps the recursion off the end of the stack.
    const DEEPEST: usize = 64;
    let own = children.remove(ids(&row).1).unwrap_or_default();
    if depth < DEEPEST {
        let own = own
            .into_iter()
            .map(|child| with_children(child, children, depth + 1));
        row["children"] = own.collect::<Vec<_>>().into();
    }
    row
}

/// `GET /api/trace/{trace}/{span}`: the calls of a marked span.
async fn tree(State(http): State<Arc<Http>>, Path(ids): Path<(String, String)>) -> Response {
    of_span(&http, ids, ProcessedContent::Tree).await
}

/// `GET /api/trace/{trace}/{span}/stats`: what each method came to in a marked span.
async fn statistics(State(http): State<Arc<Http>>, Path(ids): Path<(String, String)>) -> Response {
    of_span(&http, ids, ProcessedContent::Statistics).await
}

/// `GET /api/trace/attr/{name}`: the values of an attribute.
async fn attribute(State(http): State<Arc<Http>>, Path(name): Path<String>) -> Response {
    let found = rows(&http, None).await;
    answered(found.map(|rows| {
        let values = rows.iter().filter_map(|row| row["attrs"][&name].as_str());
        let values: BTreeSet<&str> = values.collect();
        json!(values)
    }))
}

/// `GET /api/config/ttypes`: the types of traces that there are.
async fn types(State(http): State<Arc<Http>>) -> Response {
    let found = rows(&http, None).await;
    answered(found.map(|rows| {
        let types = rows.iter().filter_map(|row| row["ttype"].as_str());
        let types: BTreeMap<&str, Value> = types.map(|name| (name, json!(name))).collect();
        Value::Object(
            types
                .into_iter()
                .map(|(name, label)| (name.to_owned(), label))
                .collect::<Map<_, _>>(),
        )
    }))
}

/// `GET /api/config/filters`: filters that an operator set up, of which there are none here.
async fn filters() -> Response {
    answer(StatusCode::OK, &json!([]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(span: &str, parent: &str, duration: u64) -> Value {
        json!({
            "traceid": "1", "spanid": span, "parentid": parent, "tst": duration, "duration": duration, "klass": "shop.Cart",
            "method": "add", "error": duration > 5, "top-level": parent == "0", "attrs": {"URI": "/cart/7"},
        })
    }

    fn chosen(query: &Value) -> Vec<u64> {
        let rows = vec![row("1", "0", 3), row("2", "1", 9), row("3", "1", 5)];
        let chosen = TraceSearch::read(query).unwrap().choose(rows);
        chosen
            .iter()
            .map(|row| row["duration"].as_u64().unwrap())
            .collect()
    }

    #[test]
    fn a_query_chooses_sorts_and_pages() {
        assert_eq!(chosen(&json!({})), [9, 5, 3]);
        assert_eq!(
            chosen(&json!({"order-by": "duration", "order-dir": "asc"})),
            [3, 5, 9]
        );
        assert_eq!(chosen(&json!({"limit": 1, "offset": 1})), [5]);
        assert_eq!(chosen(&json!({"errors-only": true})), [9]);
        assert_eq!(chosen(&json!({"spans-only": true})), [9, 5]);
        assert_eq!(chosen(&json!({"min-duration": 5, "max-tstamp": 5})), [5]);
        assert_eq!(chosen(&json!({"spanid": "0003"})), [5]);
        assert_eq!(
            chosen(&json!({"attr-matches": {"URI": "/cart"}})),
            [9, 5, 3]
        );
        assert_eq!(
            chosen(&json!({"attr-matches": {"URI": "/cart"}, "match-end": true})),
            [0_u64; 0]
        );
        assert_eq!(chosen(&json!({"text": "Cart.add"})), [9, 5, 3]);
        assert_eq!(chosen(&json!({"text": "Cart.remove"})), [0_u64; 0]);
        assert_eq!(
            TraceSearch::read(&json!({"limit": "x"})).unwrap_err(),
            "limit"
        );
        assert_eq!(
            TraceSearch::read(&json!({"order-by": "x"})).unwrap_err(),
            "order-by"
        );
        assert!(TraceSearch::read(&json!([])).is_err());
    }

    #[test]
    fn spans_stand_below_their_parents_even_where_these_go_in_a_circle() {
        let tree = nested(vec![row("2", "1", 9), row("1", "0", 3), row("3", "2", 5)]);
        assert_eq!(tree.len(), 1);
        assert_eq!(tree[0]["children"][0]["children"][0]["spanid"], "3");
        let circle = nested(vec![row("1", "2", 1), row("2", "1", 2)]);
        assert_eq!(circle.len(), 1);
        assert_eq!(circle[0]["children"].as_array().unwrap().len(), 1);
        assert_eq!(nested(vec![row("1", "1", 1)]).len(), 1);
    }
}
