//! How agents before 2019-05 ask for a session: `GET /agent/auth` (2017), `POST /agent/register` and `/agent/session` (2018).
//!
//! Where the collector asks for tokens, an agent's key is one. The answers bring its own key back: agents keep it for the next session.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::super::body::receive;
use super::super::failure::{Failure, refused};
use super::super::guard::refuse_given;
use super::super::{Http, answer};
use super::LONGEST_NAME;
use crate::tokens::Right;

/// Bytes of a body.
const MOST: usize = 64 << 10;

/// Gives an agent its name, unless it has one.
pub(super) async fn register(
    State(http): State<Arc<Http>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let registered = async {
        let asked = object(&http, &headers, body).await?;
        let word = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or("");
        let key = match word("rkey") {
            "" => word("akey"),
            key => key,
        };
        tenant(&http, key)?;
        let known = agent(&asked)?;
        let status = match known {
            Some(_) => StatusCode::OK,
            None => StatusCode::CREATED,
        };
        let agent = known.map_or_else(random_uuid, |known| Ok(known.to_owned()))?;
        let key = if key.is_empty() { &agent } else { key };
        // The name's name changed in 2018-12.
        let registered = json!({"uuid": agent, "id": agent, "authkey": key});
        Ok(answer(status, &registered))
    };
    respond(&http, registered.await)
}

/// Opens a session for an agent.
pub(super) async fn session(
    State(http): State<Arc<Http>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let opened = async {
        let asked = object(&http, &headers, body).await?;
        if agent(&asked)?.is_none() {
            return Err(bad("the agent has no uuid or id"));
        }
        let key = asked.get("authkey").and_then(Value::as_str).unwrap_or("");
        let session = open(&http, key)?;
        Ok(answer(StatusCode::OK, &json!({"session": session})))
    };
    respond(&http, opened.await)
}

/// Opens a session for an agent of 2017, which reads its name as it is.
pub(super) async fn auth(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let opened = match said("X-ZICO-Agent-UUID") {
        Some(_) => open(&http, said("X-ZICO-Auth-Key").unwrap_or("")),
        None => Err(bad("the agent has no X-ZICO-Agent-UUID")),
    };
    respond(
        &http,
        opened.map(|session| (StatusCode::OK, session).into_response()),
    )
}

fn respond(http: &Http, answered: Result<Response, Failure>) -> Response {
    answered.unwrap_or_else(|failure| failure.response(http))
}

fn bad(sentence: &str) -> Failure {
    refused("bad_request", StatusCode::BAD_REQUEST, sentence)
}

async fn object(http: &Http, headers: &HeaderMap, body: Body) -> Result<Value, Failure> {
    let body = receive(http, headers, body, MOST).await?;
    let read: Option<Value> = serde_json::from_slice(&body.bytes).ok();
    let object = read.filter(Value::is_object);
    object.ok_or_else(|| bad("the body is no JSON object"))
}

/// Returns the name that an agent has already.
fn agent(asked: &Value) -> Result<Option<&str>, Failure> {
    let name = asked.get("uuid").or_else(|| asked.get("id"));
    let name = name.and_then(Value::as_str).filter(|name| !name.is_empty());
    if name.is_some_and(|name| name.len() > LONGEST_NAME) {
        return Err(bad("an agent's name has at most 128 characters"));
    }
    Ok(name)
}

/// Returns the tenant that an agent's key belongs to.
fn tenant(http: &Http, key: &str) -> Result<String, Failure> {
    let stored = http.tokens.find(key);
    if let Some((reason, status, sentence)) = refuse_given(http, Right::Upload, key)
        && (http.requires_token || stored.is_some())
    {
        return Err(refused(reason, status, sentence));
    }
    let tenant = stored.as_ref().and_then(|stored| stored.tenant(""));
    Ok(tenant.unwrap_or_default().to_owned())
}

fn open(http: &Http, key: &str) -> Result<String, Failure> {
    let tenant = tenant(http, key)?;
    let session = random_uuid()?;
    http.agents.open(session.clone(), tenant);
    Ok(session)
}

/// Returns a random UUID (RFC 9562, version 4).
fn random_uuid() -> Result<String, Failure> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| {
        let sentence = format!("the system has no random bytes: {error}");
        refused(
            "no_random_bytes",
            StatusCode::INTERNAL_SERVER_ERROR,
            sentence,
        )
    })?;
    let bits = u128::from_be_bytes(bits);
    let bits = bits & !(0xf000 << 64 | 0xc000 << 48) | 0x4000 << 64 | 0x8000 << 48;
    let digits = format!("{bits:032x}");
    let mut uuid = String::with_capacity(36);
    let mut rest = &*digits;
    for length in [8, 4, 4, 4, 12] {
        let (group, behind) = rest.split_at(length);
        let dash = if uuid.is_empty() { "" } else { "-" };
        let _ = write!(uuid, "{dash}{group}");
        rest = behind;
    }
    Ok(uuid)
}
