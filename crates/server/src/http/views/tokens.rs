//! Tokens over the API: made and revoked by who may write, where tokens are asked for.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, post};
use serde_json::{Value, json};

use super::document::{Problem, TokenBody};
use super::problem;
use crate::http::{Http, guard};
use crate::tokens::{Right, StoredToken};

/// Characters of a token's name.
const LONGEST_NAME: usize = 100;

/// Returns the routes, which need the right to write.
pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route("/api/v1/tokens", post(add))
        .route("/api/v1/tokens/{name}", delete(revoke))
}

/// Returns the token of who asks. Where nobody needs a token, nobody has rights to pass on: who reaches the port is not the operator.
fn own_token(http: &Http, headers: &HeaderMap) -> Result<StoredToken, Box<Response>> {
    let given = guard::token(headers);
    let stored = match given {
        Some(token) => http.tokens.find(&token),
        None => http
            .sessions
            .of(headers)
            .and_then(|one| one.stored_token(http)),
    };
    stored.filter(|_| http.requires_token).ok_or_else(|| {
        let detail = json!({"detail": "this collector asks nobody for a token; `traceloom token` makes and revokes them"});
        Box::new(problem(StatusCode::FORBIDDEN, "tokens are the operator's", &detail))
    })
}

/// Makes a token, which sends for the same tenants as that of who asks. It is in the answer and stored nowhere.
#[utoipa::path(
    post, path = "/api/v1/tokens", tag = "collector", request_body = TokenBody,
    responses(
        (status = 201, description = "`name`, `rights`, and the `token`", body = Value),
        (status = 400, description = "The body is not {\"name\": …, \"rights\": […]}", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is a token of this name, or a tenant that the token would send for", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is refused", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn add(State(http): State<Arc<Http>>, request: Request) -> Response {
    let own = match own_token(&http, request.headers()) {
        Ok(own) => own,
        Err(problem) => return *problem,
    };
    let body = to_bytes(request.into_body(), 4096)
        .await
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let unreadable = |sentence: &str| {
        let detail = json!({"detail": sentence});
        problem(StatusCode::BAD_REQUEST, "no token is made", &detail)
    };
    let name = body["name"].as_str().map_or("", str::trim);
    let is_name = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.chars().any(char::is_control);
    if !is_name {
        return unreadable("`name` is a text of at most 100 characters");
    }
    let asked = body["rights"].as_array().map_or(&[][..], Vec::as_slice);
    let asked: Option<Vec<Right>> = asked.iter().map(|name| Right::of(name.as_str()?)).collect();
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        return unreadable("`rights` are some of `read`, `upload` and `write`");
    };
    if let Some(more) = asked.iter().find(|right| !own.rights.contains(right)) {
        let detail =
            json!({"detail": format!("who has no right to {} cannot give it", more.name())});
        return problem(StatusCode::FORBIDDEN, "no token is made", &detail);
    }
    if http.tokens.list().iter().any(|token| token.name == name) {
        let detail = json!({"detail": format!("there is a token `{name}`; revoke it first, or take another name")});
        return problem(StatusCode::CONFLICT, "no token is made", &detail);
    }
    // Without tenants a token sends for that of its own name, which must not be somebody else's.
    let is_taken = |token: &StoredToken| token.tenants.iter().any(|tenant| tenant == name);
    if own.tenants.is_empty() && http.tokens.list().iter().any(is_taken) {
        let detail =
            json!({"detail": format!("`{name}` is a tenant of another token; take another name")});
        return problem(StatusCode::CONFLICT, "no token is made", &detail);
    }
    match http.tokens.add(name, &asked, &own.tenants) {
        Ok(token) => {
            let rights: Vec<&str> = asked.iter().map(|right| right.name()).collect();
            let body = json!({"name": name, "rights": rights, "token": token});
            let mut response = crate::http::answer(StatusCode::CREATED, &body);
            let never = HeaderValue::from_static("no-store");
            response.headers_mut().insert(header::CACHE_CONTROL, never);
            response
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Revokes a token; sessions that it began end.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{name}", tag = "collector",
    params(("name" = String, Path, description = "Whom it was made for")),
    responses(
        (status = 204, description = "There is no such token any more"),
        (status = 404, description = "There was none", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is refused", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn revoke(
    State(http): State<Arc<Http>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Err(problem) = own_token(&http, &headers) {
        return *problem;
    }
    match http.tokens.revoke(&name) {
        Ok(true) => StatusCode::NO_CONTENT.into_response(),
        Ok(false) => {
            let detail = json!({"detail": format!("there is no token `{name}`")});
            problem(
                StatusCode::NOT_FOUND,
                "there is nothing of the kind",
                &detail,
            )
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(detail: &str) -> Response {
    let detail = json!({"detail": detail});
    let title = "the tokens cannot be written";
    problem(StatusCode::SERVICE_UNAVAILABLE, title, &detail)
}
