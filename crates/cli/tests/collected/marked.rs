//! Posts of every sender that is not Datakit's or Zorka's, each with a text of its own in it, by which it is found again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::http::{authority, request};

/// How each text begins.
const BEGIN: &str = "marked-";
/// Senders, by what is posted.
pub const N_SENDERS: u64 = 5;

/// Returns a post: its request line, its headers and its body.
fn post(number: u64, marked: &str) -> (String, &'static str, String) {
    const JSON: &str = "Content-Type: application/json\r\n";
    let (trace, span) = (
        format!("{:032x}", number + 1),
        format!("{:016x}", number + 1),
    );
    match number % N_SENDERS {
        0 => {
            let line = format!(
                "POST /ingest?name=shop&from=1723123941&until=1723123951&format=folded&spyName={marked}"
            );
            (
                line,
                "Content-Type: binary/octet-stream\r\n",
                "main;work 1\n".to_owned(),
            )
        }
        1 => {
            let labels = json!([{"name": "service_name", "value": "shop"}]);
            // What is pushed is not looked at before somebody reads it.
            let push = json!({"series": [{"labels": labels, "samples": [{"rawProfile": "AAAA", "ID": marked}]}]});
            (
                "POST /push.v1.PusherService/Push".to_owned(),
                JSON,
                push.to_string(),
            )
        }
        2 => {
            let span = json!({"traceId": trace, "spanId": span, "name": marked, "startTimeUnixNano": "1", "endTimeUnixNano": "2"});
            let traces = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
            ("POST /v1/traces".to_owned(), JSON, traces.to_string())
        }
        3 => {
            let sample = json!({"stackIndex": 0, "values": ["1"]});
            let profile =
                json!({"sampleType": {"typeStrindex": 1, "unitStrindex": 1}, "samples": [sample]});
            let dictionary = json!({"stringTable": ["", marked], "stackTable": [{}]});
            let profiles = json!({
                "resourceProfiles": [{"scopeProfiles": [{"profiles": [profile]}]}],
                "dictionary": dictionary,
            });
            (
                "POST /v1development/profiles".to_owned(),
                JSON,
                profiles.to_string(),
            )
        }
        _ => {
            let spans = json!([{"traceId": trace, "id": span, "name": marked, "timestamp": 1, "duration": 1}]);
            ("POST /api/v2/spans".to_owned(), JSON, spans.to_string())
        }
    }
}

/// Posts until the collector is gone; returns the texts of what was acknowledged.
pub fn post_until_gone(http: &str, process: &str, end: &AtomicBool) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if end.load(Ordering::Relaxed) {
            break;
        }
        let marked = format!("{BEGIN}{process}-{number}");
        let (line, headers, body) = post(number, &marked);
        let request = request(http, &line, headers, body.as_bytes());
        let Ok(mut socket) = TcpStream::connect(authority(http)) else {
            break;
        };
        let _ = socket.write_all(&request);
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        match answer.split(' ').nth(1) {
            Some("200" | "202") => acknowledged.push(marked),
            Some(_) => panic!("{line}: {answer}"),
            None => {}
        }
    }
    acknowledged
}

/// Counts the posts that have each text.
pub fn count(post: &[u8], counts: &mut BTreeMap<String, u64>) {
    let text = String::from_utf8_lossy(post);
    let texts = text.match_indices(BEGIN).map(|(at, _)| {
        let rest = &text[at..];
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
        rest.split(|character| !is_part(character))
            .next()
            .unwrap_or_default()
    });
    for text in texts.collect::<BTreeSet<_>>() {
        *counts.entry(text.to_owned()).or_default() += 1;
    }
}
