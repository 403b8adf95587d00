//! `send --to http://…`: posts what exporters and Datakit's agents post.

use std::path::Path;
use std::time::Duration;

use serde::de::IgnoredAny;
use traceloom_formats::{Source as _, datakit};
use traceloom_input::Document;
use traceloom_server::{PostOptions, PostRequest, TlsClient, post};

use crate::Outcome;
use crate::args::Common;
use crate::numbers::{size, things};
use crate::open::open;
use crate::push::{HttpAddress, bearer};
use crate::sendable::bytes_of;
use crate::streams::message;
use crate::usage::Usage;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// Where each format is posted: its name, the path, and what its body is.
const ROUTES: [(&str, &str, &str); 6] = [
    ("otlp-traces", "/v1/traces", PROTOBUF),
    ("otlp-traces-json", "/v1/traces", JSON),
    ("otlp-profiles", "/v1development/profiles", PROTOBUF),
    ("otlp-profiles-json", "/v1development/profiles", JSON),
    ("zipkin", "/api/v2/spans", JSON),
    ("zipkin-protobuf", "/api/v2/spans", PROTOBUF),
];

/// Time for one request.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(
    path: &str,
    to: &HttpAddress,
    tls: Option<TlsClient>,
    token_file: Option<&Path>,
    common: &Common,
) -> anyhow::Result<Outcome> {
    let requests = requests(path, common)?;
    let options = PostOptions {
        to: to.address,
        host: to.host.clone(),
        tls,
        authorization: token_file.map(bearer).transpose()?,
        patience: PATIENCE,
    };
    post(&options, &requests).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
    let n_bytes = requests.iter().map(|request| request.body.len() as u64);
    let n_bytes: u64 = n_bytes.sum();
    let n_requests = things(requests.len() as u64, "request", "requests");
    message!("{n_requests}: {} acknowledged", size(n_bytes));
    Ok(Outcome::Done)
}

/// Returns the requests that a path holds, in their order.
fn requests(path: &str, common: &Common) -> anyhow::Result<Vec<PostRequest>> {
    let input = open(path, common)?;
    let mut requests = Vec::new();
    for document in input.documents() {
        let format = document.format();
        if format.is_some_and(|format| format.name == datakit::FORMAT.name) {
            requests.push(upload(path, &document)?);
            continue;
        }
        for (at, part) in document.parts().iter().enumerate() {
            let format = part.format.map_or("", |format| format.name);
            let Some(&(_, route, kind)) = ROUTES.iter().find(|(name, ..)| *name == format) else {
                let names: Vec<_> = ROUTES.iter().map(|(name, ..)| *name).collect();
                let reason = format!(
                    "{path}: {} is none of what exporters post: {}, datakit; `traceloom push` sends files as they are",
                    part.name,
                    names.join(", ")
                );
                return Err(Usage(reason).into());
            };
            let bytes = bytes_of(&document, at)?;
            let bodies = match kind {
                JSON => messages(&bytes).map_err(|error| anyhow::anyhow!("{path}: {error}"))?,
                _ => vec![bytes],
            };
            requests.extend(bodies.into_iter().map(|body| PostRequest {
                path: route.to_owned(),
                content_type: kind.to_owned(),
                body,
            }));
        }
    }
    Ok(requests)
}

/// Returns a bundle as Datakit's agents upload it.
fn upload(path: &str, document: &Document<'_>) -> anyhow::Result<PostRequest> {
    let mut files = Vec::new();
    for (at, part) in document.parts().iter().enumerate() {
        let name = part.name.rsplit('/').next().unwrap_or_default();
        if part
            .format
            .is_some_and(|format| format.name == datakit::REQUEST.name)
        {
            let reason = format!(
                "{path}: {} is an upload of the older form, which is not posted again",
                part.name
            );
            return Err(Usage(reason).into());
        }
        files.push((name, bytes_of(document, at)?));
    }
    let files: Vec<_> = files
        .iter()
        .map(|(name, content)| (*name, &**content))
        .collect();
    let (content_type, body) = datakit::multipart(&files);
    Ok(PostRequest {
        path: "/profiling/v1/input".to_owned(),
        content_type,
        body,
    })
}

/// Cuts a file of JSON into its documents: exporters write one a line.
fn messages(text: &[u8]) -> serde_json::Result<Vec<Vec<u8>>> {
    let mut documents = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let mut messages = Vec::new();
    let mut from = 0;
    while let Some(document) = documents.next() {
        document?;
        let to = documents.byte_offset();
        messages.push(text[from..to].trim_ascii().to_vec());
        from = to;
    }
    Ok(messages)
}
