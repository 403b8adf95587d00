//! The collector itself over the API: what listens, who sends, how it is set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use traceloom_input::captures::{CaptureSummary, State as CaptureState};

use super::document::{Problem, Rows};
use super::problem;
use crate::CountsByReason;
use crate::http::Http;

/// What listens, how to send to it, and what it did since the start.
#[utoipa::path(
    get, path = "/api/v1/listeners", tag = "collector",
    responses((status = 200, description = "A row a listener", body = Rows)),
)]
pub(super) async fn listeners(State(http): State<Arc<Http>>) -> Response {
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
    crate::http::answer(StatusCode::OK, &json!({"rows": rows, "messages": []}))
}

/// How the collector is set, and who has tokens. Tokens themselves are stored nowhere.
#[utoipa::path(
    get, path = "/api/v1/settings", tag = "collector",
    responses((status = 200, description = "`settings`, an object by the names of flags, `shown`: `categories`, the rules of kinds of work as their file has them, and `filters` with `name` and `filter`; and `tokens`: `name`, `rights`, `tenants`, `created_ns`", body = Value)),
)]
pub(super) async fn settings(State(http): State<Arc<Http>>) -> Response {
    let tokens = http.tokens.list().into_iter().map(|token| {
        let rights = token.rights.iter().map(|right| right.name());
        json!({
            "name": token.name,
            "rights": rights.collect::<Vec<_>>(),
            "tenants": token.tenants,
            "created_ns": token.created_ns,
        })
    });
    let tokens: Vec<_> = tokens.collect();
    let body = json!({
        "settings": *http.settings,
        "shown": *http.shown,
        "requires_token": http.requires_token,
        "data": http.data.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "tokens": tokens,
    });
    crate::http::answer(StatusCode::OK, &body)
}

/// A service, and what came from it.
#[derive(Default)]
struct Service {
    captures: u64,
    open: u64,
    n_bytes: u64,
    n_stored: u64,
    first: Option<i64>,
    last: Option<i64>,
    instances: BTreeSet<String>,
    /// Versions, with when the first capture of each was received.
    versions: BTreeMap<String, i64>,
    protocols: BTreeSet<&'static str>,
}

impl Service {
    /// Returns the versions, in the order in which they came.
    fn versions(&self) -> Vec<&str> {
        let mut versions: Vec<(i64, &str)> = self
            .versions
            .iter()
            .map(|(version, at)| (*at, version.as_str()))
            .collect();
        versions.sort_unstable();
        versions.into_iter().map(|(_, version)| version).collect()
    }

    fn add(&mut self, capture: &CaptureSummary) {
        self.captures += 1;
        self.open += u64::from(capture.state == CaptureState::Open);
        self.n_bytes += capture.n_bytes;
        self.n_stored += capture.n_stored;
        if let Some(at) = capture.opened_ns {
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            self.last = Some(self.last.map_or(at, |last| last.max(at)));
        }
        self.instances.insert(capture.identity.instance.clone());
        let version = &capture.identity.version;
        if !version.is_empty() {
            let at = capture.opened_ns.unwrap_or_default();
            let first = self.versions.entry(version.clone()).or_insert(at);
            *first = at.min(*first);
        }
        self.protocols
            .extend(capture.protocol.map(|protocol| protocol.name));
    }
}

/// Services with their instances, by namespace and name.
#[utoipa::path(
    get, path = "/api/v1/services", tag = "captures",
    responses(
        (status = 200, description = "A row a service: `namespace`, `service`, `instances`, `versions` from the oldest to the newest, `protocols`, `captures`, `open`, `bytes`, `stored_bytes`, `first_ns`, `last_ns`", body = Rows),
        (status = "4XX", description = "Why there is no answer", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn services(State(http): State<Arc<Http>>) -> Response {
    let catalog = http.catalog.clone();
    let read = move || -> Result<Vec<Value>, String> {
        let captures = catalog.captures().map_err(|error| error.to_string())?;
        let mut services = BTreeMap::<(String, String), Service>::new();
        for capture in &captures {
            let identity = &capture.identity;
            let key = (identity.namespace.clone(), identity.service.clone());
            services.entry(key).or_default().add(capture);
        }
        let rows = services.into_iter().map(|((namespace, name), service)| {
            json!({
                "namespace": namespace,
                "service": name,
                "instances": service.instances,
                "versions": service.versions(),
                "protocols": service.protocols,
                "captures": service.captures,
                "open": service.open,
                "bytes": service.n_bytes,
                "stored_bytes": service.n_stored,
                "first_ns": service.first,
                "last_ns": service.last,
            })
        });
        Ok(rows.collect())
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(rows)) => crate::http::answer(StatusCode::OK, &json!({"rows": rows, "messages": []})),
        Ok(Err(detail)) => unread(&detail),
        Err(_) => unread("the data folder could not be read"),
    }
}

fn unread(detail: &str) -> Response {
    let detail = json!({"detail": detail});
    let title = "the question is not answered";
    problem(StatusCode::UNPROCESSABLE_ENTITY, title, &detail)
}
