//! The protocol's messages: JSON-RPC 2.0 in the form of each revision.
//!
//! Up to 2025-11-25 a client opens with `initialize`. From 2026-07-28 on there is no handshake: each request names its revision in
//! `_meta`, and each result says that it is complete. Requests of both forms are answered, each for itself.

use serde_json::{Map, Value, json};

use super::messages::LONGEST;

/// Revisions that begin with a handshake, the newest last.
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The revision whose requests stand alone.
const STATELESS: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

const INSTRUCTIONS: &str = "Profiles and traces of programs. Begin with `info` on a path; `top` tells which functions \
    take the time or another value, `calls` lists calls of traces, `call` prints one of them as a tree, `diff` compares two \
    recordings. Durations are nanoseconds. Answers are JSON Lines.";

/// What is wrong with a request, as the protocol numbers it.
#[derive(Clone, Copy)]
pub(super) enum ErrorCode {
    Parse = -32700,
    Request = -32600,
    Method = -32601,
    Params = -32602,
    Version = -32022,
}

/// A request, or a notification, which has no id.
pub(super) struct Request {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Value,
}

/// The form of a request and of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Revision {
    Handshake,
    Stateless,
}

/// Why a request has no revision: code, sentence and data.
type Refusal = (ErrorCode, String, Option<Value>);

/// Parses a message: none for an answer, of which this server awaits none, and for an empty line.
///
/// # Errors
/// The error to send.
pub(super) fn parse(line: &[u8]) -> Result<Option<Request>, Value> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    // The parser refuses what is nested deeper than 128 levels.
    let message: Value = serde_json::from_slice(line)
        .map_err(|fault| error(&Value::Null, ErrorCode::Parse, &fault.to_string(), None))?;
    let refused = |text: &str| error(&Value::Null, ErrorCode::Request, text, None);
    let Value::Object(mut message) = message else {
        return Err(refused("a message is an object"));
    };
    let id = message.remove("id");
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(refused("an id is a string or a whole number"));
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        None if message.contains_key("result") || message.contains_key("error") => return Ok(None),
        _ => return Err(refused("a request has a method")),
    };
    let params = message.remove("params").unwrap_or(Value::Null);
    Ok(Some(Request { id, method, params }))
}

/// Returns the error about a message that is too long.
pub(super) fn too_long() -> Value {
    let text = format!("the message is longer than {LONGEST} bytes");
    error(&Value::Null, ErrorCode::Parse, &text, None)
}

/// Returns an error about a request.
pub(super) fn error(id: &Value, code: ErrorCode, text: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code as i32, "message": text });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// Returns the answer to a handshake: the revision that was asked for, or the newest.
pub(super) fn initialized(request: &Request) -> Value {
    let asked = request.params["protocolVersion"].as_str();
    let known = HANDSHAKES
        .iter()
        .find(|&&version| asked == Some(version))
        .or(HANDSHAKES.last());
    json!({
        "protocolVersion": known,
        "capabilities": { "tools": {} },
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

/// Returns what a client that needs no handshake learns.
pub(super) fn discovered() -> Value {
    json!({
        "supportedVersions": [STATELESS],
        "capabilities": { "tools": {} },
        "instructions": INSTRUCTIONS,
    })
}

fn server_info() -> Value {
    json!({ "name": "traceloom", "version": env!("CARGO_PKG_VERSION") })
}

impl Request {
    /// Returns the form of this request.
    pub(super) fn revision(&self) -> Result<Revision, Refusal> {
        let meta = &self.params["_meta"];
        let Some(version) = meta.get(VERSION_KEY) else {
            return match self.method.as_str() {
                "server/discover" => Err((
                    ErrorCode::Params,
                    format!("`_meta` has no `{VERSION_KEY}`"),
                    None,
                )),
                _ => Ok(Revision::Handshake),
            };
        };
        if version.as_str() != Some(STATELESS) {
            let data = json!({ "supported": [STATELESS], "requested": version });
            let text = format!("the revision {version} is not supported");
            return Err((ErrorCode::Version, text, Some(data)));
        }
        if !meta[CAPABILITIES_KEY].is_object() {
            let text = format!("`_meta` has no `{CAPABILITIES_KEY}`");
            return Err((ErrorCode::Params, text, None));
        }
        Ok(Revision::Stateless)
    }
}

impl Revision {
    /// Returns the answer to a request of this form.
    pub(super) fn result(self, id: &Value, method: &str, result: Value) -> Value {
        let mut fields = match result {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        if self == Self::Stateless {
            fields.insert("resultType".into(), "complete".into());
            fields.insert("_meta".into(), json!({ SERVER_KEY: server_info() }));
            if method != "tools/call" {
                // They change with the program alone.
                fields.insert("ttlMs".into(), 3_600_000.into());
                fields.insert("cacheScope".into(), "public".into());
            }
        }
        json!({ "jsonrpc": "2.0", "id": id, "result": fields })
    }
}
