//! Who may ask: a browser on the same machine is not its operator, and other machines need a token.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::{Http, refusal};
use crate::tokens::Right;

/// Lets a request through whose host, origin and token may ask for what needs `right`.
pub(super) async fn check(
    State((http, right)): State<(Arc<Http>, Option<Right>)>,
    request: Request,
    next: Next,
) -> Response {
    // HTTP/2 has the host in the address.
    let authority = request.uri().authority().map(Authority::as_str);
    match refuse(&http, right, authority, request.headers()) {
        None => next.run(request).await,
        Some((reason, status, sentence)) => {
            http.counts.refused.add(reason);
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

/// Why a request was refused, for routes that say it in their protocol's words.
#[derive(Clone, Copy)]
pub(super) struct Sentence(pub(super) &'static str);

/// Why a request is refused: a word for counters, the status, and a sentence.
type Refusal = (&'static str, StatusCode, &'static str);

fn refuse(
    http: &Http,
    right: Option<Right>,
    authority: Option<&str>,
    headers: &HeaderMap,
) -> Option<Refusal> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).or(authority).unwrap_or_default();
    // A page of another site may have its own name lead to this machine.
    if http.is_loopback && !is_this_machine(host) {
        let sentence = "the Host of the request is not this machine";
        return Some(("host", StatusCode::FORBIDDEN, sentence));
    }
    if headers.contains_key(header::ORIGIN)
        && text(header::ORIGIN).and_then(authority_of) != Some(host)
    {
        let sentence = "the request comes from a page of another origin";
        return Some(("origin", StatusCode::FORBIDDEN, sentence));
    }
    let right = right?;
    let given = text(header::AUTHORIZATION);
    match given.map(|given| given.strip_prefix("Bearer ").unwrap_or_default()) {
        None if !http.requires_token => None,
        None => {
            let sentence =
                "this needs a token: Authorization: Bearer TOKEN; `traceloom token add` makes one";
            Some(("no_token", StatusCode::UNAUTHORIZED, sentence))
        }
        Some(token) => match http.tokens.rights(token) {
            None => {
                let sentence = "the token is not known";
                Some(("unknown_token", StatusCode::UNAUTHORIZED, sentence))
            }
            Some(rights) if rights.contains(&right) => None,
            Some(_) => {
                let sentence = "the token does not allow this";
                Some(("missing_right", StatusCode::FORBIDDEN, sentence))
            }
        },
    }
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
