//! Captures over the API: what there is, what is wrong with it, its bytes.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use traceloom_formats::{FORMATS, Format};
use traceloom_input::captures::CaptureId;
use traceloom_model::bounds::in_memory;

use super::answer::{Representation, answered};
use super::asked::{QueryPairs, capture};
use super::document::{Problem, Rows};
use super::problem;
use crate::http::Http;
use crate::questions::{PartOf, Question};

/// Every capture, in the order in which they began.
#[utoipa::path(
    get, path = "/api/v1/captures", tag = "captures",
    responses(
        (status = 200, description = "A row a capture, as `captures ls --json` prints them, with `facts` once it is sealed and decoded: `records`, `first_ns`, `last_ns`, `calls`, `errors`, `longest_ns`, `notes`", body = Rows),
        (status = 304, description = "Nothing was received, and no capture decoded, since the answer with this ETag"),
    ),
)]
pub(super) async fn list(State(http): State<Arc<Http>>) -> Response {
    answered(&http, &Question::Captures, Representation::Rows).await
}

/// What is in a capture, part by part.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}", tag = "captures",
    params(("id" = String, Path, description = "Id of the capture, such as `1-7`")),
    responses(
        (status = 200, description = "One row, as `info --json` prints it", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn contents(State(http): State<Arc<Http>>, Path(text): Path<String>) -> Response {
    match capture(&text) {
        Ok(id) => answered(&http, &Question::Contents(id), Representation::Rows).await,
        Err(problem) => *problem,
    }
}

/// What is wrong with a capture; it is checked again for each request.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}/notes", tag = "captures",
    params(("id" = String, Path, description = "Id of the capture, such as `1-7`")),
    responses(
        (status = 200, description = "A row a note, as `check --json` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn notes(State(http): State<Arc<Http>>, Path(text): Path<String>) -> Response {
    match capture(&text) {
        Ok(id) => answered(&http, &Question::Notes(id), Representation::Rows).await,
        Err(problem) => *problem,
    }
}

/// Decoded bytes of a part.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}/bytes", tag = "captures",
    params(
        ("id" = String, Path, description = "Id of the capture"),
        ("part" = Option<String>, Query, description = "What the names of the parts contain; all parts without it"),
        ("at" = Option<String>, Query, description = "Offset of the first byte, in hexadecimal behind `0x`"),
        ("n" = Option<u64>, Query, minimum = 1, maximum = 65536, description = "How many, 512 unless said"),
    ),
    responses(
        (status = 200, description = "A row a part: `part`, `offset`, `bytes`, `hex`", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bytes(
    State(http): State<Arc<Http>>,
    Path(text): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    match place(&text, &QueryPairs::of(raw.as_deref()), (512, 64 << 10)) {
        Ok(place) => answered(&http, &Question::Bytes(place), Representation::Rows).await,
        Err(problem) => *problem,
    }
}

/// Records of a part, from an offset on.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}/records", tag = "captures",
    params(
        ("id" = String, Path, description = "Id of the capture"),
        ("part" = Option<String>, Query, description = "What the names of the parts contain; all parts without it"),
        ("at" = Option<String>, Query, description = "Offset from which on, in hexadecimal behind `0x`"),
        ("n" = Option<u64>, Query, minimum = 1, maximum = 1000, description = "How many, 50 unless said"),
    ),
    responses(
        (status = 200, description = "A row a record, as `dump --json --resolve` prints them", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn records(
    State(http): State<Arc<Http>>,
    Path(text): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    match place(&text, &QueryPairs::of(raw.as_deref()), (50, 1000)) {
        Ok(place) => answered(&http, &Question::Records(place), Representation::Rows).await,
        Err(problem) => *problem,
    }
}

/// Reads the part, the offset and the number of rows that a query asks for.
fn place(
    text: &str,
    asked: &QueryPairs,
    (usual, most): (u64, u64),
) -> Result<PartOf, Box<Response>> {
    let id = capture(text)?;
    asked.query()?;
    let n = asked.number("n", (1, most))?.unwrap_or(usual);
    Ok(PartOf {
        id,
        part: asked.text("part").unwrap_or_default().to_owned(),
        at: asked.number("at", (0, u64::MAX))?.unwrap_or(0),
        n: in_memory(n),
    })
}

/// A capture as its sender sent it: all of it as a zip archive, or one part.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}/original", tag = "captures",
    params(
        ("id" = String, Path, description = "Id of the capture"),
        ("part" = Option<String>, Query, description = "Name of a part, which is what the `oss_path` of a point has behind the id"),
    ),
    responses(
        (status = 200, description = "The streams or files, byte for byte, as `export` writes them; a part alone is `application/octet-stream`", body = Vec<u8>, content_type = "application/zip"),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn original(
    State(http): State<Arc<Http>>,
    Path(text): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    let id = match capture(&text) {
        Ok(id) => id,
        Err(problem) => return *problem,
    };
    let asked = QueryPairs::of(raw.as_deref());
    let part = asked.text("part").filter(|part| !part.contains('\0'));
    let form = match part {
        None => Representation::File("application/zip", format!("{id}.zip")),
        Some(_) => Representation::File("application/octet-stream", format!("{id}.bin")),
    };
    let part = part.map(str::to_owned);
    answered(&http, &Question::Original { id, part }, form).await
}

/// A capture in another format.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}/convert", tag = "captures",
    params(
        ("id" = String, Path, description = "Id of the capture"),
        ("to" = String, Query, description = "The format, as `convert --to` takes it"),
    ),
    responses(
        (status = 200, description = "The file; of a format of many files a zip archive, as `application/zip`", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn converted(
    State(http): State<Arc<Http>>,
    Path(text): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    match target(&text, raw.as_deref()) {
        Ok((id, to, extension)) => {
            let kind = match extension {
                "zip" => "application/zip",
                _ => "application/octet-stream",
            };
            let form = Representation::File(kind, format!("{id}.{extension}"));
            answered(&http, &Question::Converted { id, to }, form).await
        }
        Err(problem) => *problem,
    }
}

/// What a capture would lose in another format.
#[utoipa::path(
    get, path = "/api/v1/captures/{id}/losses", tag = "captures",
    params(
        ("id" = String, Path, description = "Id of the capture"),
        ("to" = String, Query, description = "The format, as `convert --to` takes it"),
    ),
    responses(
        (status = 200, description = "One row, as `convert --json` prints it", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn losses(
    State(http): State<Arc<Http>>,
    Path(text): Path<String>,
    RawQuery(raw): RawQuery,
) -> Response {
    match target(&text, raw.as_deref()) {
        Ok((id, to, _)) => {
            answered(&http, &Question::Losses { id, to }, Representation::Rows).await
        }
        Err(problem) => *problem,
    }
}

/// Formats that captures can be converted to.
#[utoipa::path(
    get, path = "/api/v1/formats", tag = "captures",
    responses((status = 200, description = "A row a format that can be written: `name`, `title`, `extensions`", body = Rows)),
)]
pub(super) async fn formats() -> Response {
    let rows = targets().map(|format| {
        json!({"name": format.name, "title": format.title, "extensions": format.extensions})
    });
    let rows: Vec<_> = rows.collect();
    crate::http::answer(StatusCode::OK, &json!({"rows": rows, "messages": []}))
}

/// Returns the formats that can be written.
fn targets() -> impl Iterator<Item = &'static Format> {
    let is_target = |format: &&Format| format.raise.is_some();
    FORMATS.iter().copied().filter(is_target)
}

/// Reads the capture and the format, with the extension of what is sent: a folder is sent as an archive.
fn target(
    text: &str,
    raw: Option<&str>,
) -> Result<(CaptureId, String, &'static str), Box<Response>> {
    let id = capture(text)?;
    let asked = QueryPairs::of(raw);
    let to = asked.text("to").unwrap_or_default();
    let name = to.split(':').next().unwrap_or_default();
    let found = targets().find(|format| format.name == name);
    match found {
        Some(format) if !to.contains('\0') => {
            let extension = match format.is_folder() {
                true => "zip",
                false => format.extensions.first().copied().unwrap_or("bin"),
            };
            Ok((id, to.to_owned(), extension))
        }
        _ => {
            let detail = json!({
                "parameter": "to",
                "detail": format!("`{to}` is no format that can be written; `traceloom convert --to list` prints them"),
            });
            let title = "the query cannot be read";
            Err(Box::new(problem(StatusCode::BAD_REQUEST, title, &detail)))
        }
    }
}
