//! Commands to agents.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use traceloom_formats::protocol::CommandRefusal;

use super::asked::capture;
use super::document::{CommandBody, Problem};
use super::problem;
use crate::agent_commands::{NotSent, uuid};
use crate::http::Http;
use crate::http::guard::actor;

/// Commands that agents of any protocol know.
const WORDS: [&str; 3] = ["heap", "td", "top"];

/// Has the agent of an open connection carry out a command.
///
/// It goes out with the next acknowledgement. `commands` of the capture has the result that the agent reports; what it
/// writes comes as an upload of its own. This always needs a token that may write, on this machine too.
#[utoipa::path(
    post, path = "/api/v1/captures/{id}/commands", tag = "captures", request_body = CommandBody,
    params(("id" = String, Path, description = "Id of the capture, such as `1-7`")),
    responses(
        (status = 202, description = "`capture`, `command`, and `id`, the UUID by which the agent reports", body = Value),
        (status = 400, description = "The body is not {\"command\": \"heap\"}, `td` or `top`", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "There is no token, or an unknown one", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "The token may not write", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No agent of this capture is connected", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The protocol has no such command, or the session is ending", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "Earlier commands are not sent yet", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn send(
    State(http): State<Arc<Http>>,
    Path(text): Path<String>,
    request: Request,
) -> Response {
    let id = match capture(&text) {
        Ok(id) => id,
        Err(problem) => return *problem,
    };
    let who = actor(&http, &request);
    let body = to_bytes(request.into_body(), 4096).await;
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let asked = body["command"].as_str();
    let Some(word) = WORDS.into_iter().find(|word| asked == Some(word)) else {
        let detail = "the body is {\"command\": \"heap\"}, or `td`, or `top`";
        return refused(StatusCode::BAD_REQUEST, detail);
    };
    let (sent, on) = (http.live_agents.send(id, word).await, id.to_string());
    match sent {
        Ok(command) => {
            let outcome = format!("{word} sent as {}", uuid(command));
            http.observer.asked(who, "command", &on, &outcome);
            let body = json!({"capture": id.to_string(), "command": word, "id": uuid(command)});
            crate::http::answer(StatusCode::ACCEPTED, &body)
        }
        Err(not_sent) => {
            let (status, detail) = why(not_sent);
            let outcome = format!("{word} not sent: {detail}");
            http.observer.asked(who, "command", &on, &outcome);
            refused(status, detail)
        }
    }
}

/// Returns the status and the sentence of a command that was not sent.
fn why(not_sent: NotSent) -> (StatusCode, &'static str) {
    match not_sent {
        NotSent::NotConnected => (
            StatusCode::NOT_FOUND,
            "no agent of this capture is connected",
        ),
        NotSent::Refused(CommandRefusal::NotSpoken) => {
            (StatusCode::CONFLICT, "the protocol has no commands")
        }
        NotSent::Refused(CommandRefusal::UnknownWord(_)) => {
            (StatusCode::CONFLICT, "the protocol has no such command")
        }
        NotSent::Refused(CommandRefusal::Ending) => {
            (StatusCode::CONFLICT, "the connection is ending")
        }
        NotSent::Refused(CommandRefusal::TooMany) => (
            StatusCode::TOO_MANY_REQUESTS,
            "earlier commands are not sent yet: they go with acknowledgements",
        ),
        NotSent::NoId => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the system has no random bytes",
        ),
    }
}

fn refused(status: StatusCode, detail: &str) -> Response {
    problem(
        status,
        "the command is not sent",
        &json!({"detail": detail}),
    )
}
