//! Profiles that other people's clients post, through a proxy that loses every second answer: what is stored is what each client's own
//! pprof files say, once.
//!
//! `cargo xtask clients` installs the clients; without one its test says so and passes.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "../../formats/tests/gopprof/mod.rs"]
mod gopprof;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use collected::http::captures;
use collected::profiles::senders;
use collected::proxy::{Losing, Proxy, SentRequest};
use collected::{Collector, eventually, stdout, text};
use serde_json::Value;
use traceloom_formats::datakit::{PushRequest, Upload};

/// Returns the profiles of a post as its client made them.
fn profiles(post: &SentRequest) -> Vec<Vec<u8>> {
    let header = |name: &str| {
        let lines = post.head.lines();
        let found = lines.filter_map(|line| line.split_once(": "));
        let mut found = found.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value)
    };
    let kind = header("content-type");
    if kind.starts_with("multipart/") {
        let upload = Upload::read(kind, &post.body).expect("an upload");
        let files = upload.parts().filter(|part| part.file.ends_with(".pprof"));
        return files.map(|part| plain(part.content)).collect();
    }
    if post.head.starts_with("POST /ingest") {
        return vec![plain(&post.body)];
    }
    let message = plain(&post.body);
    let request = PushRequest::read(kind, &message).expect("a push");
    let profiles = request.series.iter().flat_map(|series| &series.profiles);
    profiles.map(|profile| profile.bytes.to_vec()).collect()
}

/// Returns bytes without the compression around them.
fn plain(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = match bytes {
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::stream::read::Decoder::new(bytes)
            .expect("a decoder")
            .read_to_end(&mut plain),
        _ => return bytes.to_vec(),
    };
    read.expect("it is whole");
    plain
}

/// Samples and totals of the columns of a post, in order.
type Columns = Vec<(u64, i64)>;

/// Returns the columns of a post as Go's tool reads its client's files.
fn sent_columns(tool: &Path, scratch: &Path, profiles: &[Vec<u8>]) -> Columns {
    let file = scratch.join("sent.pprof");
    let mut columns = Vec::new();
    for profile in profiles {
        std::fs::write(&file, profile).expect("a file");
        columns.extend(gopprof::columns(tool, &file));
    }
    columns.retain(|(samples, _)| *samples > 0);
    columns.sort_unstable();
    columns
}

/// Returns the columns of each post of a data folder.
fn stored_columns(data: &Path, scratch: &Path) -> Vec<Columns> {
    let mut stored = Vec::new();
    for capture in captures(data) {
        let id = capture["id"].as_str().expect("an id");
        let out = scratch.join(format!("exported-{id}"));
        stdout(&["export", id, "--data", text(data), "-o", text(&out)]);
        let posts = (0..).take_while(|at| out.join(format!("{at}.http")).exists());
        for at in posts {
            let info = stdout(&["info", "--json", &format!("{}#{id}.{at}", text(data))]);
            let mut columns = Vec::new();
            for line in info.lines() {
                gather(&serde_json::from_str(line).expect("JSON"), &mut columns);
            }
            columns.sort_unstable();
            stored.push(columns);
        }
    }
    stored.sort();
    stored
}

/// Takes the columns out of what `info` says.
fn gather(info: &Value, columns: &mut Columns) {
    match info {
        Value::Array(rows) => rows.iter().for_each(|row| gather(row, columns)),
        Value::Object(fields) => {
            for value in fields
                .get("values")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let number = |key: &str| value[key].as_i64().expect("a number");
                columns.push((number("samples").unsigned_abs(), number("total")));
            }
            let others = fields.iter().filter(|(key, _)| *key != "values");
            others.for_each(|(_, value)| gather(value, columns));
        }
        _ => {}
    }
}

/// Runs a client against a proxy, and compares what is stored with what it sent. Returns the number of times that a post came again.
fn client_is_heard(client: impl FnOnce(&str, &Path)) -> usize {
    let Some(tool) = gopprof::tool() else {
        eprintln!("skipped: TRACELOOM_GO names no Go");
        return 0;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let proxy = Proxy::start(&collector.http, Losing::EverySecond);
    client(&proxy.url, scratch.path());
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let stored = stored_columns(&data, scratch.path());
    // The last answer may still be on its way through the proxy.
    let distinct = eventually(|| {
        let posts = proxy.posts();
        let distinct: BTreeSet<Vec<Vec<u8>>> = posts
            .iter()
            .map(|post| {
                let mut profiles = profiles(post);
                // Parts come in another order when they are sent again.
                profiles.sort();
                profiles
            })
            .collect();
        (distinct.len() >= stored.len()).then_some(distinct)
    });
    let sent = distinct.iter();
    let mut sent: Vec<_> = sent
        .map(|profiles| sent_columns(&tool, scratch.path(), profiles))
        .collect();
    sent.sort();
    assert!(sent.len() > 1 && proxy.n_lost() > 0, "{sent:?}");
    assert_eq!(stored, sent);
    assert_eq!(captures(&data)[0]["service"], "shop");
    proxy.posts().len() - distinct.len()
}

/// Where packages of Node are installed; a test of theirs is left out without.
fn node_modules() -> Option<PathBuf> {
    let found = std::env::var_os("TRACELOOM_NODE_SENDERS").map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: TRACELOOM_NODE_SENDERS names no folder of Node's packages");
    }
    found
}

fn tool_of_tests(name: &str) -> String {
    format!("{}/tests/tools/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

fn datadogs_tracer_for_node(modules: &Path, compression: &str) {
    let n_again = client_is_heard(|url, _| {
        succeed(
            Command::new("node")
                .args(["--require", "dd-trace/init"])
                .arg(tool_of_tests("work.js"))
                .env("NODE_PATH", modules)
                .env("DD_TRACE_AGENT_URL", url)
                .env("DD_SERVICE", "shop")
                .env("DD_PROFILING_ENABLED", "true")
                .env("DD_PROFILING_UPLOAD_PERIOD", "2")
                .env("DD_PROFILING_DEBUG_UPLOAD_COMPRESSION", compression)
                .env("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false")
                .env("DD_REMOTE_CONFIGURATION_ENABLED", "false"),
        );
    });
    // It tries again, with another boundary.
    assert!(n_again > 0 || gopprof::tool().is_none());
}

#[test]
fn datadogs_tracer_for_node_with_gzip() {
    if let Some(modules) = node_modules() {
        datadogs_tracer_for_node(&modules, "gzip");
    }
}

#[test]
fn datadogs_tracer_for_node_with_zstd() {
    if let Some(modules) = node_modules() {
        datadogs_tracer_for_node(&modules, "zstd");
    }
}

#[test]
fn pyroscopes_agent_for_node() {
    let Some(modules) = node_modules() else {
        return;
    };
    client_is_heard(|url, _| {
        let mut node = Command::new("node");
        node.arg(tool_of_tests("work.js")).arg(url);
        succeed(node.env("NODE_PATH", &modules));
    });
}

#[test]
fn a_go_program_that_ingests() {
    let Some(program) = collected::go::build("ingested") else {
        return;
    };
    let n_again = client_is_heard(|url, scratch| {
        succeed(Command::new(&program).arg(url).arg(scratch));
        // What is posted is what the program's own files have.
        for number in 0..2 {
            assert!(scratch.join(format!("ingested-{number}")).exists());
        }
    });
    assert_eq!(n_again, 2);
}

const WORK: &str = "
import sys, time
def busy():
    end = time.time() + 0.2
    while time.time() < end:
        sum(range(1000))
end = time.time() + int(sys.argv[1])
while time.time() < end:
    busy()
";

#[test]
fn datadogs_tracer_for_python() {
    let Some(packages) = senders() else { return };
    client_is_heard(|url, scratch| {
        let script = scratch.join("work.py");
        std::fs::write(&script, WORK).expect("a script");
        let mut python = Command::new("python3");
        python
            .arg(packages.join("bin/ddtrace-run"))
            .args(["python3", text(&script), "5"])
            .env("PYTHONPATH", &packages)
            .env("DD_TRACE_AGENT_URL", url)
            .env("DD_PROFILING_ENABLED", "true")
            .env("DD_PROFILING_UPLOAD_INTERVAL", "2")
            .env("DD_SERVICE", "shop");
        succeed(&mut python);
    });
}

#[test]
fn pyroscopes_agent_for_python() {
    let Some(packages) = senders() else { return };
    client_is_heard(|url, scratch| {
        let script = scratch.join("work.py");
        let begin = format!(
            "import pyroscope\npyroscope.configure(application_name='shop', server_address='{url}', sample_rate=100)\n"
        );
        let work = format!("{begin}{WORK}\npyroscope.shutdown()\n");
        std::fs::write(&script, work).expect("a script");
        let mut python = Command::new("python3");
        python
            .args([text(&script), "23"])
            .env("PYTHONPATH", &packages);
        succeed(&mut python);
    });
}
