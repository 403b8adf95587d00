//! One trace across two services, each with a capture of its own.

mod program;

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use program::{run, stdout};
use serde_json::Value;

/// Bytes of generation C.
#[derive(Default)]
struct C(Vec<u8>);

impl C {
    fn int(mut self, value: i64) -> Self {
        let (major, value) = match value {
            0.. => (0, value.cast_unsigned()),
            _ => (0x20, (-1 - value).cast_unsigned()),
        };
        self.0.push(major | 0x1b);
        self.0.extend(value.to_be_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0
            .push(0x60 | u8::try_from(text.len()).expect("a short text"));
        self.0.extend(text.bytes());
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn symbol(self, id: i64, text: &str) -> Self {
        self.raw(&[0xc1, 0x82]).int(id).text(text)
    }

    fn method(self, id: i64, class: i64, name: i64) -> Self {
        self.raw(&[0xc2, 0x84]).int(id).int(class).int(name).int(0)
    }

    fn start(self, ms: i64, method: i64) -> Self {
        self.raw(&[0xc3, 0x9f]).int(ms * 1_000_000).int(method)
    }

    fn begin(self, ms: i64, kind: i64, span: i64, parent: i64) -> Self {
        self.raw(&[0xc5, 0x84])
            .int(1_790_000_000_000 + ms)
            .int(kind)
            .int(span)
            .int(parent)
    }

    fn end(self, ms: i64, calls: i64) -> Self {
        self.raw(&[0xc4, 0x82])
            .int(ms * 1_000_000)
            .int(calls)
            .raw(&[0xff])
    }
}

const TRACE: &str = "00000000000000ab00000000000000cd";

/// A dump of one agent: its definitions, then posts of traces.
fn dump(session: &str, definitions: C, traces: &[(&str, C)]) -> String {
    let mut lines = String::new();
    let mut post = |uri: &str, trace: &str, body: &[u8]| {
        let body = STANDARD.encode(body);
        writeln!(
            lines,
            r#"{{"uri":"/agent/submit/{uri}","headers":{{"X-Zorka-Session-ID":["{session}"],"X-Zorka-Session-Reset":["false"],"X-Zorka-Trace-ID":["{trace}"]}},"body":"{body}"}}"#
        )
        .expect("a string grows");
    };
    post("agd", "", &definitions.0);
    for (trace, body) in traces {
        post("trc", trace, &body.0);
    }
    lines
}

/// The shop asks the stock from inside its record `client`; ids 1 to 4 mean other things in each.
fn shop() -> String {
    let definitions = C::default()
        .symbol(1, "HTTP")
        .symbol(2, "demo.Shop")
        .symbol(3, "buy")
        .symbol(4, "client")
        .method(1, 2, 3)
        .method(2, 2, 4);
    let trace = C::default()
        .start(1000, 1)
        .begin(0, 1, 101, 0)
        .start(1010, 2)
        .begin(10, 1, -102, 101)
        .end(1090, 1)
        .end(1100, 2);
    let other = C::default()
        .start(2000, 1)
        .begin(1000, 1, 109, 0)
        .end(2001, 1);
    let foreign = "00000000000000ab00000000000000ce";
    dump(
        "000000000000000a",
        definitions,
        &[(TRACE, trace), (foreign, other)],
    )
}

fn stock() -> String {
    let definitions = C::default()
        .symbol(1, "RPC")
        .symbol(2, "demo.Stock")
        .symbol(3, "reserve")
        .symbol(4, "select")
        .method(1, 2, 3)
        .method(2, 2, 4);
    let trace = C::default()
        .start(77_020, 1)
        .begin(20, 1, 201, -102)
        .start(77_030, 2)
        .end(77_040, 1)
        .end(77_070, 2);
    // Another trace that names the same parent.
    let other = C::default()
        .start(78_000, 1)
        .begin(500, 1, 209, -102)
        .end(78_001, 1);
    let foreign = "00000000000000ab00000000000000cf";
    dump(
        "000000000000000b",
        definitions,
        &[(TRACE, trace), (foreign, other)],
    )
}

fn spans(json: &str) -> Vec<(u64, String, bool, String)> {
    let object: Value = serde_json::from_str(json).expect("JSON");
    let spans = object["spans"].as_array().expect("an array");
    let span = |span: &Value| {
        (
            span["depth"].as_u64().expect("a depth"),
            span["function"].as_str().expect("a name").to_owned(),
            span["remote"] == true,
            span["service"].as_str().unwrap_or("").to_owned(),
        )
    };
    spans.iter().map(span).collect()
}

fn expected() -> Vec<(u64, String, bool, String)> {
    [
        (0, "demo.Shop.buy", false, "000000000000000a"),
        (1, "demo.Shop.client", false, ""),
        (2, "demo.Stock.reserve", true, "000000000000000b"),
        (3, "demo.Stock.select", false, ""),
    ]
    .map(|(depth, name, remote, service)| (depth, name.to_owned(), remote, service.to_owned()))
    .to_vec()
}

/// The id of the call of this method.
fn id_of(path: &str, method: &str) -> String {
    let calls = stdout(&["calls", "--json", path]);
    let call = calls
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|call| call["method"] == method)
        .expect("the call is listed");
    call["id"].as_str().expect("an id").to_owned()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn spans_of_two_services_are_one_tree() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = write(folder.path(), "shop.jsonl", &shop());
    let stock = write(folder.path(), "stock.jsonl", &stock());
    // By trace id and by the call's id, in either order of the files; below one folder.
    let both = stdout(&["call", "--json", &shop, &stock, TRACE]);
    assert_eq!(spans(&both), expected());
    let turned = stdout(&["call", "--json", &stock, &shop, TRACE]);
    assert_eq!(spans(&turned), expected());
    let root = id_of(&shop, "demo.Shop.buy");
    assert_eq!(
        spans(&stdout(&["call", "--json", &shop, &stock, &root])),
        expected()
    );
    let path = folder.path().to_string_lossy();
    assert_eq!(
        spans(&stdout(&["call", "--json", &path, TRACE])),
        expected()
    );
    assert_eq!(
        spans(&stdout(&[
            "call",
            "--json",
            &path,
            &id_of(&path, "demo.Shop.buy")
        ])),
        expected()
    );

    let object: Value = serde_json::from_str(&both).expect("JSON");
    let client = &object["spans"][1];
    assert_eq!(client["span_id"], "ffffffffffffff9a");
    assert_eq!(
        client["self_ns"], 80_000_000,
        "another clock takes nothing away"
    );
    assert_eq!(object["spans"][2]["file"], stock.as_str());
    assert_eq!(object["spans"][2]["parent_span_id"], client["span_id"]);

    let shown = stdout(&["call", &shop, &stock, TRACE]);
    let line = shown.lines().find(|line| line.contains("Stock.reserve"));
    let marked = format!("[000000000000000b, {stock}]");
    assert!(line.is_some_and(|line| line.contains(&marked)), "{shown}");

    // Alone, each file is what it holds.
    assert_eq!(spans(&stdout(&["call", "--json", &shop, TRACE])).len(), 2);
    assert_eq!(spans(&stdout(&["call", "--json", &stock, TRACE])).len(), 2);
    let missing = run(&["call", &stock, "00000000000000000000000000000001"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(run(&["call", &stock, "00"]).status.code(), Some(2));
}

#[test]
fn folders_are_sessions_of_their_own_and_join_by_span_ids() {
    let body = |dump: &str, line: usize| {
        let line = dump.lines().nth(line).expect("a line");
        let object: Value = serde_json::from_str(line).expect("JSON");
        let body = object["body"].as_str().expect("a body");
        STANDARD.decode(body).expect("base64")
    };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, dump) in [("shop", shop()), ("stock", stock())] {
        let own = folder.path().join(name);
        std::fs::create_dir(&own).expect("a folder");
        std::fs::write(own.join("000.agd.bin"), body(&dump, 0)).expect("a file");
        std::fs::write(own.join("001.trc.bin"), body(&dump, 1)).expect("a file");
    }
    let path = folder.path().to_string_lossy();
    // Streams have no trace id: the ids of spans are what joins.
    let id = id_of(&path, "demo.Shop.buy");
    let shown = spans(&stdout(&["call", "--json", &path, &id]));
    let names: Vec<_> = shown
        .iter()
        .map(|(depth, name, remote, _)| (*depth, name.as_str(), *remote))
        .collect();
    assert_eq!(
        names,
        [
            (0, "demo.Shop.buy", false),
            (1, "demo.Shop.client", false),
            (2, "demo.Stock.reserve", true),
            (3, "demo.Stock.select", false),
        ]
    );
}

#[test]
fn the_processed_trace_is_one_file_that_says_what_the_posts_said() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "posts/shop.jsonl", &shop());
    write(folder.path(), "posts/stock.jsonl", &stock());
    let posts = folder.path().join("posts");
    let posts = posts.to_string_lossy();
    let processed = folder.path().join("processed.bin");
    let processed = processed.to_string_lossy();
    stdout(&["convert", &posts, "--to", "zorka-c", "-o", &processed]);
    let again = folder.path().join("again.bin");
    let again = again.to_string_lossy();
    stdout(&["convert", &processed, "--to", "zorka-c", "-o", &again]);
    let bytes = std::fs::read(&*processed).expect("a file");
    assert!(!bytes.is_empty());
    assert!(
        bytes == std::fs::read(&*again).expect("a file"),
        "canonical"
    );
    assert_eq!(
        stdout(&["top", "--json", &processed]),
        stdout(&["top", "--json", &posts])
    );
    let calls = |path: &str| {
        let json = stdout(&[
            "calls",
            "--json",
            "--columns",
            "start,end,method,component",
            path,
        ]);
        let mut calls: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        for call in &mut calls {
            call["id"].take();
        }
        calls.sort_by_key(|call| call["start"].as_i64());
        calls
    };
    assert_eq!(calls(&processed), calls(&posts));
    assert_eq!(calls(&posts).len(), 5);
}

/// A file of OpenTelemetry with a request of one service and the two spans of another one, in the order that is asked for.
fn otlp(is_parent_first: bool) -> String {
    let span = |id: u8, parent: &str, name: &str, from: u8, to: u8| {
        format!(
            r#"{{"traceId":"{TRACE}","spanId":"00000000000000{id:02x}","parentSpanId":"{parent}","name":"{name}","kind":2,"startTimeUnixNano":"17900000000{from:02}000000","endTimeUnixNano":"17900000000{to:02}000000"}}"#
        )
    };
    let service = |name: &str, spans: &str| {
        format!(
            r#"{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{name}"}}}}]}},"scopeSpans":[{{"spans":[{spans}]}}]}}"#
        )
    };
    let front = span(1, "", "GET /", 0, 90);
    let outer = span(2, "0000000000000001", "check", 10, 60);
    let inner = span(3, "0000000000000002", "SELECT", 20, 50);
    let stock = match is_parent_first {
        true => format!("{outer},{inner}"),
        false => format!("{inner},{outer}"),
    };
    let services = [service("front", &front), service("stock", &stock)];
    format!(r#"{{"resourceSpans":[{}]}}"#, services.join(","))
}

/// A trace has all its spans, whatever the order in which a file without one has them.
#[test]
fn spans_of_a_trace_come_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    for is_parent_first in [true, false] {
        let path = write(folder.path(), "trace.json", &otlp(is_parent_first));
        let json = stdout(&["call", "--json", &path, TRACE]);
        let names: Vec<_> = spans(&json)
            .into_iter()
            .map(|(depth, name, remote, _)| (depth, name, remote))
            .collect();
        let expected = [
            (0, "GET /", false),
            (1, "check", true),
            (2, "SELECT", false),
        ];
        let expected = expected.map(|(depth, name, remote)| (depth, name.to_owned(), remote));
        assert_eq!(names, expected, "parents first: {is_parent_first}");
    }
}
