//! Sessions of people: a token once, then a cookie that no script reads.
//!
//! A browser sends the cookie with every request of a page, whoever made it. So what changes something needs the session's own secret in
//! a header as well, which pages of other origins cannot know (`guard` refuses their requests anyway).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::document::{Problem, SessionBody};
use super::problem;
use crate::http::Http;
use crate::http::guard::actor;
use crate::tokens::{Right, StoredToken};

/// Time after which a session ends.
const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);
/// Sessions at a time; the oldest end first.
const MOST: usize = 1000;
/// Name of the cookie. Cookies know no ports: collectors of one machine take each other's for an unknown one.
const COOKIE: &str = "traceloom_session";
/// Header with the session's secret.
pub(in crate::http) const SECRET: &str = "x-csrf-token";

/// Sessions that are open, by the hash of their cookie.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<blake3::Hash, Session>>);

/// A session.
#[derive(Clone)]
pub(in crate::http) struct Session {
    /// Hash of its token, which may be revoked meanwhile.
    token: blake3::Hash,
    /// What a request that changes something has in a header.
    pub(in crate::http) secret: String,
    begun: Instant,
}

impl Session {
    /// Returns what its token allows now; `None` where it was revoked.
    pub(in crate::http) fn rights(&self, http: &Http) -> Option<Vec<Right>> {
        self.stored_token(http).map(|stored| stored.rights)
    }

    /// Returns whom its token was made for.
    pub(in crate::http) fn owner(&self, http: &Http) -> Option<String> {
        self.stored_token(http).map(|stored| stored.name)
    }

    /// Returns what is stored of its token; `None` where that was revoked.
    pub(super) fn stored_token(&self, http: &Http) -> Option<StoredToken> {
        http.tokens.find_by(&self.token)
    }
}

impl Sessions {
    /// Returns the session of a request's cookie.
    pub(in crate::http) fn of(&self, headers: &HeaderMap) -> Option<Session> {
        let hash = blake3::hash(cookie(headers)?.as_bytes());
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| session.begun.elapsed() < LONGEST);
        sessions.get(&hash).cloned()
    }

    /// Begins a session, and returns its cookie.
    fn begin(&self, token: &str) -> Option<(String, String)> {
        let (cookie, secret) = (random()?, random()?);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.begun);
            if let Some(hash) = oldest.map(|(hash, _)| *hash) {
                sessions.remove(&hash);
            }
        }
        let session = Session {
            token: blake3::hash(token.as_bytes()),
            secret: secret.clone(),
            begun: Instant::now(),
        };
        sessions.insert(blake3::hash(cookie.as_bytes()), session);
        Some((cookie, secret))
    }

    fn end(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.remove(&blake3::hash(cookie.as_bytes()));
        }
    }
}

/// Returns 32 random bytes in hexadecimal.
fn random() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").ok()?;
    }
    Some(text)
}

/// Returns the value of the session's cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new().route("/api/v1/session", get(state).post(begin).delete(end))
}

/// Who is asking: whether a token is needed, and what the one of the session allows.
#[utoipa::path(
    get, path = "/api/v1/session", tag = "session",
    responses((status = 200, description = "`requires_token`, `rights` (null without a session), and `secret`: what requests of the session that change something have in the header X-CSRF-Token", body = Value)),
)]
pub(super) async fn state(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response {
    let session = http.sessions.of(&headers);
    let rights = session.as_ref().and_then(|session| session.rights(&http));
    let body = json!({
        "requires_token": http.requires_token,
        "rights": rights.as_ref().map(|rights| names(rights)),
        "secret": session.filter(|_| rights.is_some()).map(|session| session.secret),
    });
    not_stored(crate::http::answer(StatusCode::OK, &body))
}

fn names(rights: &[Right]) -> Vec<&'static str> {
    rights.iter().map(|right| right.name()).collect()
}

/// Begins a session with a token. The cookie is sent to this origin alone, and no script reads it.
#[utoipa::path(
    post, path = "/api/v1/session", tag = "session", request_body = SessionBody,
    responses(
        (status = 200, description = "`rights` and `secret` as for GET; the cookie is set", body = Value),
        (status = 400, description = "The body is not {\"token\": …}", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "The token is not known", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is refused", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn begin(State(http): State<Arc<Http>>, request: Request) -> Response {
    let mut who = actor(&http, &request);
    // A form of another page can post no JSON.
    let kind = request.headers().get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let body = match is_json {
        true => to_bytes(request.into_body(), 4096)
            .await
            .unwrap_or_default(),
        false => axum::body::Bytes::new(),
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(token) = body["token"].as_str() else {
        let detail =
            json!({"detail": "the body is {\"token\": \"…\"}, of the type application/json"});
        return problem(StatusCode::BAD_REQUEST, "the token is missing", &detail);
    };
    let Some(rights) = http.tokens.rights(token) else {
        http.counts.refused.add("unknown_token");
        http.observer
            .refused(who, "POST /api/v1/session", "unknown_token");
        let detail = json!({"detail": "`traceloom token add` makes one"});
        return problem(StatusCode::UNAUTHORIZED, "the token is not known", &detail);
    };
    let Some((cookie, secret)) = http.sessions.begin(token) else {
        let detail = json!({"detail": "the system has no random bytes"});
        return problem(StatusCode::SERVICE_UNAVAILABLE, "no session", &detail);
    };
    who.token = http.tokens.owner(token);
    http.observer.asked(who, "session", "", "done");
    let body =
        json!({"requires_token": http.requires_token, "rights": names(&rights), "secret": secret});
    let response = crate::http::answer(StatusCode::OK, &body);
    with_cookie(response, &http, &cookie, LONGEST.as_secs())
}

/// Ends the session.
#[utoipa::path(
    delete, path = "/api/v1/session", tag = "session",
    responses(
        (status = 204, description = "There is no session any more"),
        (status = 403, description = "The header X-CSRF-Token is not that of the session", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn end(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response {
    // The guard asked for the secret.
    http.sessions.end(&headers);
    with_cookie(StatusCode::NO_CONTENT.into_response(), &http, "", 0)
}

fn with_cookie(mut response: Response, http: &Http, value: &str, seconds: u64) -> Response {
    let secure = if http.is_tls { "; Secure" } else { "" };
    let text =
        format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    not_stored(response)
}

fn not_stored(mut response: Response) -> Response {
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
    response
}
