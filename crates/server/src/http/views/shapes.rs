//! Trees, tracks, series and pages over the API.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use traceloom_analysis::query::Query;

use super::answer::{Representation, answered, lines, put_partial};
use super::asked::QueryPairs;
use super::document::{Flame, Problem, QueryParams, Rows, ShapeParams};
use super::problem;
use crate::http::Http;
use crate::questions::{Page, Question};

/// Answers a question of a query.
async fn of_query(
    http: &Arc<Http>,
    raw: Option<&str>,
    form: Representation,
    question: impl FnOnce(Query) -> Question,
) -> Response {
    match QueryPairs::of(raw).query() {
        Ok(query) => answered(http, &question(query), form).await,
        Err(problem) => *problem,
    }
}

/// Functions by what they took.
#[utoipa::path(
    get, path = "/api/v1/functions", tag = "profiles", params(QueryParams, ShapeParams),
    responses(
        (status = 200, description = "A row a measure, as `top --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn functions(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    of_query(
        &http,
        raw.as_deref(),
        Representation::Rows,
        Question::Functions,
    )
    .await
}

/// What functions came to by the kind of work.
#[utoipa::path(
    get, path = "/api/v1/hotspots", tag = "profiles", params(QueryParams, ShapeParams),
    responses(
        (status = 200, description = "A row a measure, as `top --hotspots --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn hotspots(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    of_query(
        &http,
        raw.as_deref(),
        Representation::Rows,
        Question::Hotspots,
    )
    .await
}

/// Reads the least share of a node, in hundredths of a percent.
fn least(asked: &QueryPairs) -> Result<u32, Box<Response>> {
    let least = asked.number("least", (0, 10_000))?;
    Ok(least
        .and_then(|least| u32::try_from(least).ok())
        .unwrap_or(10))
}

/// The call tree; what is smaller than `least` is added up.
#[utoipa::path(
    get, path = "/api/v1/tree", tag = "profiles",
    params(QueryParams, ShapeParams, ("least" = Option<u32>, Query, maximum = 10000, description = "Least share of the whole that a node has, in hundredths of a percent, 10 unless said")),
    responses(
        (status = 200, description = "A row a measure, as `tree --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn tree(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let asked = QueryPairs::of(raw.as_deref());
    match (asked.query(), least(&asked)) {
        (Ok(query), Ok(least)) => {
            answered(
                &http,
                &Question::Tree { query, least },
                Representation::Rows,
            )
            .await
        }
        (Err(problem), _) | (_, Err(problem)) => *problem,
    }
}

/// A flame graph in columns, with what is narrower than `least` added up.
#[utoipa::path(
    get, path = "/api/v1/flame", tag = "profiles",
    params(QueryParams, ShapeParams, ("least" = Option<u32>, Query, maximum = 10000, description = "Least share of the whole that a frame has, in hundredths of a percent, 10 unless said")),
    responses(
        (status = 200, description = "Frames depth first, a column for each of their values", body = Flame),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn flame(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    const MOST: usize = 512 << 20;
    let asked = QueryPairs::of(raw.as_deref());
    let (query, least) = match (asked.query(), least(&asked)) {
        (Ok(query), Ok(least)) => (query, least),
        (Err(problem), _) | (_, Err(problem)) => return *problem,
    };
    match lines(&http, &Question::Tree { query, least }, MOST).await {
        Err(problem) => problem,
        Ok(answer) => {
            let trees = answer.lines.iter();
            let trees = trees.filter_map(|line| serde_json::from_slice(line).ok());
            let graphs: Vec<Value> = trees.map(|tree: Value| columns(&tree)).collect();
            let mut body = json!({"graphs": graphs, "messages": answer.messages});
            put_partial(&mut body, answer.partial.as_ref());
            crate::http::answer(StatusCode::OK, &body)
        }
    }
}

/// Turns a tree of objects into columns: each function's name once, and numbers.
fn columns(tree: &Value) -> Value {
    let nodes = tree["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut names = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    let mut functions = Vec::with_capacity(nodes.len());
    for node in nodes {
        let name = node["function"].as_str().unwrap_or_default();
        let number = *numbers.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
        functions.push(number);
    }
    let column = |key: &str| -> Vec<&Value> { nodes.iter().map(|node| &node[key]).collect() };
    json!({
        "measure": tree["measure"],
        "unit": tree["unit"],
        "total": tree["total"],
        "names": names,
        "function": functions,
        "depth": column("depth"),
        "value": column("total"),
        "self": column("self"),
        "count": column("count"),
        "narrower": column("omitted"),
        "narrower_value": column("omitted_total"),
    })
}

/// A flame graph as JSON, with the method, line, package, class and thread of every frame; `by` says what frames stand for.
///
/// Of the shape it takes `value` and `by`: the others are refused.
#[utoipa::path(
    get, path = "/api/v1/flame.json", tag = "profiles", params(QueryParams, ShapeParams),
    responses(
        (status = 200, description = "As `flame --json --dimension BY` writes it", body = Value),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn flame_json(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let form = Representation::File("application/json", "flame.json".to_owned());
    let query = match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => query,
        Err(problem) => return *problem,
    };
    let shape = &query.shape;
    let refused = [
        ("focus", shape.focus.is_some()),
        ("ignore", shape.ignore.is_some()),
        ("hide", shape.hide.is_some()),
        ("up", shape.upwards),
        ("base", shape.is_compared()),
    ];
    if let Some((parameter, _)) = refused.into_iter().find(|(_, is_said)| *is_said) {
        let detail = "the whole graph is written; /api/v1/flame takes this";
        let detail = json!({"parameter": parameter, "detail": detail});
        return problem(StatusCode::BAD_REQUEST, "the query cannot be read", &detail);
    }
    answered(&http, &Question::FlameJson(query), form).await
}

/// A flame graph as a picture.
#[utoipa::path(
    get, path = "/api/v1/flame.svg", tag = "profiles", params(QueryParams, ShapeParams),
    responses(
        (status = 200, description = "As `flame` draws it", body = String, content_type = "image/svg+xml"),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn flame_svg(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let form = Representation::File("image/svg+xml", "flame.svg".to_owned());
    of_query(&http, raw.as_deref(), form, Question::Picture).await
}

/// What functions took before and after.
#[utoipa::path(
    get, path = "/api/v1/diff", tag = "profiles", params(QueryParams, ShapeParams),
    responses(
        (status = 200, description = "One row, as `diff --json` prints it", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn diff(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) if !query.shape.is_compared() => no_base(),
        Ok(query) => answered(&http, &Question::Difference(query), Representation::Rows).await,
        Err(problem) => *problem,
    }
}

fn no_base() -> Response {
    let detail = json!({
        "parameter": "base",
        "detail": "name what to compare with: captures (base=1-7), a version (base_version), a stretch of time (base_from, base_to), or several of these",
    });
    problem(StatusCode::BAD_REQUEST, "the query cannot be read", &detail)
}

/// Tracks in equal stretches of time: a tile of a timeline, as wide as `columns`.
#[utoipa::path(
    get, path = "/api/v1/timeline", tag = "timeline",
    params(QueryParams, ("columns" = Option<u16>, Query, minimum = 1, maximum = 10000, description = "Stretches, 200 unless said")),
    responses(
        (status = 200, description = "One row, as `timeline --json` prints it", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn timeline(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    let asked = QueryPairs::of(raw.as_deref());
    match (asked.query(), asked.number("columns", (1, 10_000))) {
        (Ok(query), Ok(columns)) => {
            let columns = columns.and_then(|columns| u16::try_from(columns).ok());
            let columns = columns.unwrap_or(200);
            answered(
                &http,
                &Question::Tracks { query, columns },
                Representation::Rows,
            )
            .await
        }
        (Err(problem), _) | (_, Err(problem)) => *problem,
    }
}

/// Metrics that profiles come to: cores, allocation, pauses, locks, at the time of each profile.
#[utoipa::path(
    get, path = "/api/v1/series", tag = "timeline", params(QueryParams),
    responses(
        (status = 200, description = "As `metrics --json` prints them: a row a profile, where the files of a bundle or of a folder of recordings are one profile; those that nothing can be derived of have no row", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn series(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    of_query(
        &http,
        raw.as_deref(),
        Representation::Rows,
        Question::Metrics,
    )
    .await
}

/// Profiles by type: what each value of the captures comes to.
#[utoipa::path(
    get, path = "/api/v1/profiles", tag = "profiles", params(QueryParams),
    responses(
        (status = 200, description = "A row a measure: `measure`, `unit`, `source`, `total`", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn profiles(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    const MOST: usize = 64 << 20;
    let query = match QueryPairs::of(raw.as_deref()).query() {
        Ok(query) => Query { rows: 1, ..query },
        Err(problem) => return *problem,
    };
    match lines(&http, &Question::Functions(query), MOST).await {
        Err(problem) => problem,
        Ok(answer) => {
            let rows = answer.lines.iter().filter_map(|line| {
                let row: Value = serde_json::from_slice(line).ok()?;
                let keys = ["measure", "unit", "source", "total"];
                let kept = keys.map(|key| (key.to_owned(), row[key].clone()));
                Some(Value::Object(kept.into_iter().collect()))
            });
            let rows: Vec<Value> = rows.collect();
            let mut body = json!({"rows": rows, "messages": answer.messages});
            put_partial(&mut body, answer.partial.as_ref());
            crate::http::answer(StatusCode::OK, &body)
        }
    }
}

/// What threads waited for.
#[utoipa::path(
    get, path = "/api/v1/monitors", tag = "memory and locks", params(QueryParams),
    responses(
        (status = 200, description = "A row a monitor, as `monitors --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn monitors(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    of_query(
        &http,
        raw.as_deref(),
        Representation::Rows,
        Question::Monitors,
    )
    .await
}

/// Heap objects by class, and collections.
#[utoipa::path(
    get, path = "/api/v1/objects", tag = "memory and locks", params(QueryParams),
    responses(
        (status = 200, description = "A row a recording, as `objects --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn objects(State(http): State<Arc<Http>>, RawQuery(raw): RawQuery) -> Response {
    of_query(
        &http,
        raw.as_deref(),
        Representation::Rows,
        Question::Objects,
    )
    .await
}

/// Items of a timeline that can be asked for one by one.
const MOST_ITEMS: u64 = 2_000_000;

/// A page that draws: `flame`, `report`, `timeline` or `diff`. A timeline has at most `items` spans and events one by one.
pub(super) async fn page(
    State(http): State<Arc<Http>>,
    Path(word): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    let Some(page) = Page::ALL.into_iter().find(|page| page.word() == word) else {
        let words = json!({"detail": "there are flame, report, timeline and diff"});
        return problem(StatusCode::NOT_FOUND, "there is no such page", &words);
    };
    let asked = QueryPairs::of(raw.as_deref());
    let query = match asked.query() {
        Ok(query) => query,
        Err(problem) => return *problem,
    };
    if page == Page::Diff && !query.shape.is_compared() {
        return no_base();
    }
    let items = match asked.number("items", (1, MOST_ITEMS)) {
        Ok(items) => items.and_then(|items| u32::try_from(items).ok()),
        Err(problem) => return *problem,
    };
    let question = match items {
        Some(items) if page == Page::Timeline => Question::Tile { query, items },
        _ => Question::Page(page, query),
    };
    answered(&http, &question, Representation::Page).await
}
