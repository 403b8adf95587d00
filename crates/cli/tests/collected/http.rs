//! Requests over HTTP, byte by byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{json_lines, text};

/// An answer: its status and everything it is made of.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// The body, which may be no text.
    pub bytes: Vec<u8>,
}

/// Sends `request` as it is and reads the answer, which the connection's end closes.
pub fn ask(http: &str, request: &[u8]) -> Answer {
    let mut socket = TcpStream::connect(authority(http)).expect("a connection");
    let timeout = Some(Duration::from_secs(20));
    socket.set_read_timeout(timeout).expect("a timeout");
    // One that is refused early may not be read to its end.
    let _ = socket.write_all(request);
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes);
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let (head, body) = match at {
        Some(at) => (&bytes[..at], &bytes[at + 4..]),
        None => (&bytes[..], &[][..]),
    };
    let head = String::from_utf8_lossy(head).to_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    // The server chooses where chunks end: in the midst of a character, too.
    let body = if head.contains("transfer-encoding: chunked") {
        unchunked(body)
    } else {
        body.to_vec()
    };
    Answer {
        status: status.unwrap_or_else(|| panic!("no answer: {head:?}")),
        head,
        body: String::from_utf8_lossy(&body).into_owned(),
        bytes: body,
    }
}

/// Returns what the chunks hold, up to the end or to where the answer was cut.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(at) = body.windows(2).position(|window| window == b"\r\n") {
        let length = std::str::from_utf8(&body[..at]).expect("a length");
        let length = usize::from_str_radix(length, 16).expect("a length");
        let start = at + 2;
        let end = (start + length).min(body.len());
        whole.extend_from_slice(&body[start..end]);
        if length == 0 {
            break;
        }
        body = body.get(end + 2..).unwrap_or_default();
    }
    whole
}

pub fn authority(http: &str) -> &str {
    http.strip_prefix("http://").expect("an address")
}

/// Returns a request with the headers that every client sends.
pub fn request(http: &str, line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let host = authority(http);
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Returns the rows of `captures ls`.
pub fn captures(data: &Path) -> Vec<Value> {
    json_lines(&["captures", "ls", "--json", text(data)])
}

/// Returns the value of a sample of `/metrics`; `None` while there is no such sample.
pub fn metric(http: &str, sample: &str) -> Option<f64> {
    let answer = ask(http, &request(http, "GET /metrics", "", b""));
    let mut lines = answer.body.lines();
    let value = lines.find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    value.map(|value| value.parse().expect("a number"))
}
