//! Who may ask: a browser on the same machine is not its operator, and other machines need a token.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::views::SECRET;
use super::{Http, Peer, refusal};
use crate::audit::Actor;
use crate::tokens::Right;

/// Lets a request through whose host, origin and token may ask for what needs `right`.
pub(super) async fn check(
    State((http, right)): State<(Arc<Http>, Option<Right>)>,
    request: Request,
    next: Next,
) -> Response {
    // HTTP/2 has the host in the address.
    let authority = request.uri().authority().map(Authority::as_str);
    let (method, headers) = (request.method(), request.headers());
    let refused = refuse_page(&http, authority, method, headers)
        .or_else(|| refuse_session(&http, method, headers))
        .or_else(|| refuse_token(&http, right?, headers))
        .or_else(|| refuse_tenant(&http, headers));
    match refused {
        None => next.run(request).await,
        Some((reason, status, sentence)) => {
            http.counts.refused.add(reason);
            let on = format!("{} {}", request.method(), request.uri().path());
            let who = actor(&http, &request);
            http.observer.refused(who, &on, reason);
            let mut refused = refusal(status, sentence);
            if status == StatusCode::UNAUTHORIZED {
                let scheme = header::HeaderValue::from_static("Bearer");
                refused
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, scheme);
            }
            refused.extensions_mut().insert(Sentence(sentence));
            refused
        }
    }
}

/// Returns who sent a request: its address, and the name of its token or that of its session.
pub(super) fn actor(http: &Http, request: &Request) -> Actor {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or_else(String::new, |peer| peer.0.to_string());
    let headers = request.headers();
    let token = match token(headers) {
        Some(token) => http.tokens.owner(&token),
        None => http.sessions.of(headers).and_then(|one| one.owner(http)),
    };
    Actor::peer(&peer, token)
}

/// Why a request was refused, for routes that say it in their protocol's words.
#[derive(Clone, Copy)]
pub(super) struct Sentence(pub(super) &'static str);

/// Why a request is refused: a word for counters, the status, and a sentence.
pub(super) type Refusal = (&'static str, StatusCode, &'static str);

/// Refuses what a page of another site has a browser send.
fn refuse_page(
    http: &Http,
    authority: Option<&str>,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Refusal> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).or(authority).unwrap_or_default();
    // A page of another site may have its own name lead to this machine.
    if http.is_loopback && !is_this_machine(host) {
        let sentence = "the Host of the request is not this machine";
        return Some(("host", StatusCode::FORBIDDEN, sentence));
    }
    // Links of other sites may lead here; their forms and scripts may change nothing.
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let is_foreign = matches!(site, Some(b"cross-site" | b"same-site"));
    let is_other_origin = headers.contains_key(header::ORIGIN)
        && text(header::ORIGIN).and_then(authority_of) != Some(host);
    if is_other_origin || is_foreign && !method.is_safe() {
        let sentence = "the request comes from a page of another origin";
        return Some(("origin", StatusCode::FORBIDDEN, sentence));
    }
    None
}

/// Refuses what would change something in the name of a session and does not have its secret: browsers send cookies with requests that
/// no page of ours made.
fn refuse_session(http: &Http, method: &Method, headers: &HeaderMap) -> Option<Refusal> {
    if method.is_safe() || headers.contains_key(header::AUTHORIZATION) {
        return None;
    }
    let session = http.sessions.of(headers)?;
    let secret = headers.get(SECRET).and_then(|value| value.to_str().ok());
    let sentence = "X-CSRF-Token is not that of the session";
    let refusal = ("no_secret", StatusCode::FORBIDDEN, sentence);
    (secret != Some(session.secret.as_str())).then_some(refusal)
}

/// Refuses a request whose token, or that of its session, does not allow what `right` names.
pub(super) fn refuse_token(http: &Http, right: Right, headers: &HeaderMap) -> Option<Refusal> {
    if !headers.contains_key(header::AUTHORIZATION) {
        if http.requires_token
            && let Some(rights) = http.sessions.of(headers).and_then(|one| one.rights(http))
        {
            let sentence = "the token of the session does not allow this";
            let refusal = ("missing_right", StatusCode::FORBIDDEN, sentence);
            return (!rights.contains(&right)).then_some(refusal);
        }
        let sentence =
            "this needs a token: Authorization: Bearer TOKEN; `traceloom token add` makes one";
        let refusal = ("no_token", StatusCode::UNAUTHORIZED, sentence);
        return http.requires_token.then_some(refusal);
    }
    refuse_given(http, right, &token(headers).unwrap_or_default())
}

/// Refuses a token that does not allow what `right` names.
pub(super) fn refuse_given(http: &Http, right: Right, token: &str) -> Option<Refusal> {
    match http.tokens.rights(token) {
        None => {
            let sentence = "the token is not known";
            Some(("unknown_token", StatusCode::UNAUTHORIZED, sentence))
        }
        Some(rights) if rights.contains(&right) => None,
        Some(_) => {
            let sentence = "the token does not allow this";
            Some(("missing_right", StatusCode::FORBIDDEN, sentence))
        }
    }
}

/// The tenant that a request names, as Pyroscope's agents and others of Grafana's do.
pub(super) const TENANT: HeaderName = HeaderName::from_static("x-scope-orgid");

/// Refuses a tenant that the token of the request may not send for. One without tenants sends for itself, whatever the request says.
fn refuse_tenant(http: &Http, headers: &HeaderMap) -> Option<Refusal> {
    let named = headers.get(TENANT)?;
    let stored = http.tokens.find(&token(headers)?)?;
    let is_allowed = named
        .to_str()
        .is_ok_and(|named| stored.tenant(named).is_some());
    let sentence = "the token does not allow the tenant that X-Scope-OrgID names";
    (!is_allowed).then_some(("tenant", StatusCode::FORBIDDEN, sentence))
}

/// Returns the token of a request: its bearer's, or the password of clients that know user names and passwords alone.
pub(super) fn token(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    if let Some(token) = given.strip_prefix("Bearer ") {
        return Some(token.into());
    }
    let pair = STANDARD.decode(given.strip_prefix("Basic ")?).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (_, password) = pair.split_once(':')?;
    Some(password.to_owned().into())
}

/// Returns `true` if a Host names the machine itself.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = name.parse().ok();
    name.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}

/// Returns host and port of an origin.
fn authority_of(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, authority)| authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_this_machine() {
        for host in [
            "localhost",
            "LOCALHOST:1717",
            "127.0.0.1:1",
            "[::1]:1717",
            "127.8.9.1",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example:1717",
            "10.0.0.1",
            "[::2]:1",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
