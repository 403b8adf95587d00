//! `traceloom mcp`: its messages, its limits, and the SDK's own client.

mod program;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use program::{SHOP, copy_folder};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with the shop as one file, a profile, and a file beside it that no tool may read.
struct Dumps {
    root: TempDir,
}

impl Dumps {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("dumps");
        copy_folder(Path::new(SHOP), &folder.join("shop"));
        let profile = traceloom_samples::bytes("pprof", 3, 20_000);
        std::fs::write(folder.join("cpu.pb"), &profile).expect("a file");
        std::fs::write(folder.join("notes.txt"), "no trace\n").expect("a file");
        std::fs::write(root.path().join("secret.pb"), &profile).expect("a file");
        Self { root }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("dumps")
    }
}

/// A server and the ends of its pipes.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
        let command = command.arg("mcp").arg("--folder").arg(folder);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let input = child.stdin.take();
        Self {
            child,
            input,
            output,
        }
    }

    fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the pipe is open");
        input.write_all(line).expect("it is read");
        input.write_all(b"\n").expect("it is read");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message.to_string().as_bytes());
        self.receive()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.ask(&request(1, "tools/call", &params));
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"].clone()
    }

    /// Ends the input; returns the exit code and what was still answered.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        drop(self.input.take());
        let rest = self.output.lines().map(|line| line.expect("text"));
        let rest = rest.collect();
        (self.child.wait().expect("it ends").code(), rest)
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("text")
}

fn printed(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    let output = command.args(args).current_dir(folder).output();
    String::from_utf8(output.expect("the program runs").stdout).expect("text")
}

#[test]
fn a_handshake_then_tools_answer_as_commands_do() {
    let dumps = Dumps::new();
    let folder = dumps.folder();
    let mut server = Server::start(&folder);
    for (asked, given) in [("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-11-25")] {
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let answer = server.ask(&request(7, "initialize", &params));
        assert_eq!(answer["result"]["protocolVersion"], given);
        assert_eq!(answer["result"]["capabilities"], json!({ "tools": {} }));
    }
    server.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(
        server.ask(&request(2, "ping", &json!({})))["result"],
        json!({})
    );
    let tools = server.ask(&request(3, "tools/list", &json!({})));
    let tools = tools["result"]["tools"].as_array().expect("a list").clone();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["info", "top", "calls", "call", "diff"]);
    let info = server.call("info", &json!({ "path": "shop" }));
    assert_eq!(text(&info), printed(&folder, &["info", "--json", "shop"]));
    let top = server.call(
        "top",
        &json!({ "path": "shop", "rows": 4, "filter": "checkout" }),
    );
    let args = ["top", "--json", "-n", "4", "--filter=checkout", "shop"];
    assert_eq!(text(&top), printed(&folder, &args));
    let calls = server.call(
        "calls",
        &json!({ "path": "shop", "rows": 2, "min_duration": "1s" }),
    );
    let args = [
        "calls",
        "--json",
        "--page",
        "-n",
        "2",
        "--min-duration=1s",
        "shop",
    ];
    assert_eq!(text(&calls), printed(&folder, &args));
    let lines: Vec<Value> = text(&calls)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    let next = lines[2]["next"].as_str().expect("a place");
    let more = server.call(
        "calls",
        &json!({ "path": "shop", "rows": 2, "min_duration": "1s", "after": next }),
    );
    assert!(
        !text(&more).contains(lines[0]["id"].as_str().expect("an id")),
        "{more}"
    );
    let call = server.call(
        "call",
        &json!({ "path": "shop", "id": lines[0]["id"], "spans": 3 }),
    );
    let tree: Value = serde_json::from_str(text(&call)).expect("JSON");
    assert!(
        tree["left_out"].as_u64().is_some_and(|count| count > 0),
        "{tree}"
    );
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn requests_without_a_handshake_name_their_revision() {
    let dumps = Dumps::new();
    let mut server = Server::start(&dumps.folder());
    let meta = |version: &str| {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    };
    let known = json!({ "_meta": meta("2026-07-28") });
    let answer = server.ask(&request(1, "server/discover", &known))["result"].clone();
    assert_eq!(answer["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(answer["resultType"], "complete");
    assert_eq!(
        answer["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "traceloom"
    );
    let tools = server.ask(&request(2, "tools/list", &known))["result"].clone();
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(5));
    assert!(
        tools["ttlMs"].is_u64() && tools["cacheScope"] == "public",
        "{tools}"
    );
    let params = json!({ "_meta": meta("2026-07-28"), "name": "top", "arguments": { "path": "cpu.pb", "rows": 1 } });
    let top = server.ask(&request(3, "tools/call", &params))["result"].clone();
    assert_eq!(
        (&top["isError"], &top["resultType"]),
        (&json!(false), &json!("complete"))
    );
    let later = server.ask(&request(
        4,
        "tools/list",
        &json!({ "_meta": meta("2031-01-01") }),
    ));
    assert_eq!(later["error"]["code"], -32022);
    assert_eq!(later["error"]["data"]["supported"], json!(["2026-07-28"]));
    let bare = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(
        server.ask(&request(5, "tools/list", &bare))["error"]["code"],
        -32602
    );
    assert_eq!(
        server.ask(&request(6, "ping", &known))["error"]["code"],
        -32601
    );
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn what_is_wrong_is_said_and_the_next_request_answered() {
    let dumps = Dumps::new();
    let mut server = Server::start(&dumps.folder());
    let mut long = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"".to_vec();
    long.resize(3 << 20, b'x');
    let deep = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let refused: [(&[u8], i64); 7] = [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (&long, -32700),
        (&deep, -32700),
        (b"[]", -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1}"#, -32600),
    ];
    for (line, code) in refused {
        server.send(line);
        let answer = server.receive();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], Value::Null);
    }
    assert_eq!(
        server.ask(&request(1, "resources/list", &json!({})))["error"]["code"],
        -32601
    );
    assert_eq!(
        server.ask(&request(1, "tools/call", &json!({ "name": "sql" })))["error"]["code"],
        -32602
    );
    // Neither asks for anything.
    server.send(b"");
    server.send(br#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    let wrong = [
        (json!({}), "`path` is missing"),
        (json!({ "path": 7 }), "`path` is a string"),
        (
            json!({ "path": "shop", "rows": 5_000 }),
            "`rows` is a whole number up to 200",
        ),
        (
            json!({ "path": "shop", "rows": -1 }),
            "`rows` is a whole number up to 200",
        ),
        (json!({ "path": "shop", "row": 1 }), "`top` takes no `row`"),
        (
            json!({ "path": "no-such-file" }),
            "no-such-file: No such file",
        ),
        (json!({ "path": "../secret.pb" }), "not within the folder"),
        (json!({ "path": "/etc/hostname" }), "not within the folder"),
        (json!({ "path": "-" }), "-: No such file"),
        (json!({ "path": "notes.txt" }), "unknown format"),
        (json!({ "path": "shop", "filter": "\"open" }), "--filter"),
    ];
    for (arguments, reason) in wrong {
        let result = server.call("top", &arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(reason), "{reason}: {result}");
    }
    // An id that looks like a flag is none.
    let flag = server.call("call", &json!({ "path": "shop", "id": "--help" }));
    assert_eq!(flag["isError"], true, "{flag}");
    assert!(!text(&flag).contains("Print one call"), "{flag}");
    let top = server.call("top", &json!({ "path": "cpu.pb", "rows": 1 }));
    assert_eq!(top["isError"], false, "{top}");
    assert_eq!(server.end().0, Some(0));
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_out_of_the_folder() {
    let dumps = Dumps::new();
    let secret = dumps.root.path().join("secret.pb");
    std::os::unix::fs::symlink(secret, dumps.folder().join("link.pb")).expect("a link");
    let mut server = Server::start(&dumps.folder());
    let result = server.call("top", &json!({ "path": "link.pb" }));
    assert!(text(&result).contains("not within the folder"), "{result}");
}

#[test]
fn answers_are_bounded_in_bytes() {
    let dumps = Dumps::new();
    let name = "x".repeat(2_000);
    let lines = (0..200).map(|at| format!("main;{name}{at} {}\n", at + 1));
    let lines: String = lines.collect();
    std::fs::write(dumps.folder().join("wide.folded"), lines).expect("a file");
    let mut server = Server::start(&dumps.folder());
    let all = server.call("top", &json!({ "path": "wide.folded", "rows": 200 }));
    assert_eq!(all["isError"], true);
    assert!(
        text(&all).contains("longer than 262144 bytes"),
        "{}",
        text(&all).len()
    );
    let some = server.call("top", &json!({ "path": "wide.folded", "rows": 20 }));
    assert_eq!(some["isError"], false);
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let dumps = Dumps::new();
    let mut server = Server::start(&dumps.folder());
    for id in 1..=50 {
        let params = json!({ "name": "info", "arguments": { "path": "cpu.pb" } });
        server.send(request(id, "tools/call", &params).to_string().as_bytes());
    }
    let (code, answers) = server.end();
    let mut ids: Vec<u64> = answers
        .iter()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["id"]
                .as_u64()
                .expect("an id")
        })
        .collect();
    ids.sort_unstable();
    assert_eq!((code, ids), (Some(0), (1..=50).collect()));
}

#[test]
fn a_cancelled_call_has_no_answer() {
    let dumps = Dumps::new();
    let mut server = Server::start(&dumps.folder());
    // Those before it keep the server busy until it is cancelled.
    for id in 1..=20 {
        let params = json!({ "name": "info", "arguments": { "path": "shop" } });
        server.send(request(id, "tools/call", &params).to_string().as_bytes());
    }
    server
        .send(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":20}}"#);
    let (code, answers) = server.end();
    assert_eq!((code, answers.len()), (Some(0), 19), "{answers:?}");
}

#[test]
fn the_client_of_the_sdk_asks_in_both_forms() {
    let Some(packages) = std::env::var_os("TRACELOOM_MCP") else {
        eprintln!("skipped: TRACELOOM_MCP names no folder with the Python package mcp");
        return;
    };
    let dumps = Dumps::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/mcp_client.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_traceloom"))
        .arg(dumps.folder().canonicalize().expect("a folder"))
        .env("PYTHONPATH", packages)
        .output()
        .expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, "auto 2026-07-28\nlegacy 2025-11-25\n");
}
