//! The OpenAPI document, made from what stands at the handlers.
#![allow(
    dead_code,
    reason = "these types describe answers that are put together as text"
)]

use serde_json::Value;
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{asked, calls, captures, commands, live, session, shapes, status};

/// Which calls and samples, in which order.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct QueryParams {
    /// A filter (docs/filter.md).
    q: Option<String>,
    /// A service, or `NAMESPACE/NAME` where several namespaces have one of the name; may be repeated.
    #[param(explode = true)]
    svc: Option<Vec<String>>,
    /// The id of a capture; may be repeated.
    #[param(explode = true)]
    capture: Option<Vec<String>>,
    /// A version of the services; may be repeated.
    #[param(explode = true)]
    version: Option<Vec<String>>,
    /// The first moment: a date such as `2026-03-01T12:00:00Z`, or nanoseconds since 1970.
    from: Option<String>,
    /// The moment after the last.
    to: Option<String>,
    /// A column, `-` before it for falling order; `-start` unless said.
    sort: Option<String>,
    /// Columns, with commas between.
    cols: Option<String>,
    /// Most rows, 200 unless said.
    #[param(minimum = 1, maximum = 10000)]
    n: Option<u32>,
    /// `next` of the page before.
    after: Option<String>,
    /// Bytes of captures that are read at most, the newest first; unless said, as many as the collector is set to.
    #[param(minimum = 1)]
    budget: Option<u64>,
}

/// The shape of a tree.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ShapeParams {
    /// The value, as `--value` takes it.
    value: Option<String>,
    /// What frames are: `method`, `line`, `class`, `package`, `library` or `thread`.
    by: Option<String>,
    /// A regular expression: stacks without a frame of it are left out.
    focus: Option<String>,
    /// A regular expression: stacks with a frame of it are left out.
    ignore: Option<String>,
    /// A regular expression: its frames are left out.
    hide: Option<String>,
    /// `1`: from functions to their callers.
    up: Option<String>,
    /// The id of a capture that is compared with; may be repeated.
    #[param(explode = true)]
    base: Option<Vec<String>>,
    /// A version that is compared with; may be repeated.
    #[param(explode = true)]
    base_version: Option<Vec<String>>,
    /// The first moment of what is compared with, where it is another; written as `from` is.
    base_from: Option<String>,
    /// The moment after the last of what is compared with.
    base_to: Option<String>,
}

/// Rows, and what was said while they were made.
#[derive(ToSchema)]
pub(super) struct Rows {
    /// What a command prints, a line each.
    rows: Vec<Value>,
    /// What the command said on standard error.
    messages: Vec<String>,
    /// There where not all that is chosen was read.
    #[schema(required = false)]
    partial: Option<Partial>,
}

/// What an answer was made from, where more is chosen than its budget has room for.
#[derive(ToSchema)]
pub(super) struct Partial {
    /// Bytes of the captures that were read, the newest.
    read_bytes: u64,
    /// Bytes of all that are chosen.
    of_bytes: u64,
    captures_read: u64,
    captures: u64,
    /// The budget that was hit; null where there are too many captures to be named.
    budget_bytes: Option<u64>,
    /// A `budget` with which more is read.
    next_budget_bytes: Option<u64>,
}

/// A page of calls.
#[derive(ToSchema)]
pub(super) struct Page {
    /// The calls.
    rows: Vec<Value>,
    /// What `after` takes for the rows behind; null where there are none.
    next: Option<String>,
    /// How many calls were read and selected, of how many captures, and whether everything was read.
    counts: Value,
    /// What the command said on standard error.
    messages: Vec<String>,
    /// There where not all that is chosen was read.
    #[schema(required = false)]
    partial: Option<Partial>,
}

/// Flame graphs in columns.
#[derive(ToSchema)]
pub(super) struct Flame {
    /// A graph a measure.
    graphs: Vec<FlameGraph>,
    /// What the command said on standard error.
    messages: Vec<String>,
    /// There where not all that is chosen was read.
    #[schema(required = false)]
    partial: Option<Partial>,
}

/// A flame graph: frames depth first, one value of each in each column.
#[derive(ToSchema)]
pub(super) struct FlameGraph {
    measure: String,
    unit: String,
    total: i64,
    /// Names of functions.
    names: Vec<String>,
    /// Number of each frame's function.
    function: Vec<u32>,
    depth: Vec<u32>,
    value: Vec<i64>,
    #[schema(rename = "self")]
    own: Vec<i64>,
    count: Vec<u64>,
    /// How many frames right below are narrower than asked for, and what they come to.
    narrower: Vec<u64>,
    narrower_value: Vec<i64>,
}

/// Why there is no answer (RFC 9457).
#[derive(ToSchema)]
pub(super) struct Problem {
    title: Option<String>,
    status: u16,
    detail: Option<String>,
    /// The name in the address that is wrong.
    parameter: Option<String>,
    /// The column in a filter, from 1.
    column: Option<u32>,
}

/// What begins a session.
#[derive(ToSchema)]
pub(super) struct SessionBody {
    /// A token, as `traceloom token add` made it.
    token: String,
}

/// A command to an agent.
#[derive(ToSchema)]
pub(super) struct CommandBody {
    /// `heap`, `td` or `top`.
    command: String,
}

/// A token that is asked for.
#[derive(ToSchema)]
pub(super) struct TokenBody {
    /// Whom it is for.
    name: String,
    /// Some of `read`, `upload` and `write`.
    rights: Vec<String>,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "traceloom",
        description = "What a collector received: captures, calls, profiles, tracks. Rows are what the commands print of the same data folder; docs/json.md has their keys. Uploads and posts of senders are in docs/durability.md.",
    ),
    paths(
        captures::list,
        captures::contents,
        captures::notes,
        captures::bytes,
        captures::records,
        captures::original,
        captures::converted,
        captures::losses,
        commands::send,
        captures::formats,
        status::services,
        status::listeners,
        status::settings,
        super::tokens::add,
        super::tokens::revoke,
        asked::query_form,
        calls::list,
        calls::csv,
        calls::overview,
        calls::groups,
        calls::one,
        live::live,
        shapes::functions,
        shapes::hotspots,
        shapes::tree,
        shapes::flame,
        shapes::flame_json,
        shapes::flame_svg,
        shapes::diff,
        shapes::timeline,
        shapes::series,
        shapes::profiles,
        shapes::monitors,
        shapes::objects,
        session::state,
        session::begin,
        session::end,
    ),
    components(schemas(
        Rows,
        Partial,
        Page,
        Flame,
        FlameGraph,
        Problem,
        SessionBody,
        CommandBody
    ))
)]
struct Document;

/// Returns the OpenAPI document, as JSON.
#[must_use]
pub fn document() -> String {
    let mut document = Document::openapi();
    // Its own version is that of the program, which a document that is compared would have to follow.
    document.info.version = "1".to_owned();
    document.info.license = None;
    document.info.contact = None;
    document.to_pretty_json().unwrap_or_default()
}
