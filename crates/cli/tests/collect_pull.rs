//! Profiles that the collector pulls: of a real Go program, and of programs that answer what they should not.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "../../formats/tests/gopprof/mod.rs"]
mod gopprof;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use collected::http::{ask, captures, request};
use collected::profiles::{gzip, profile};
use collected::{Collector, eventually, stdout, text};
use serde_json::Value;
use traceloom_formats::datakit::Upload;

/// A file of settings with these tables.
fn settings(folder: &Path, tables: &[String]) -> String {
    let path = folder.join("serve.toml");
    let tables = tables.iter().map(|table| format!("[[pull]]\n{table}\n"));
    std::fs::write(&path, tables.collect::<String>()).expect("a file");
    text(&path).to_owned()
}

/// The files of each upload of the captures, with what `event.json` says.
fn uploads(data: &Path, folder: &Path) -> Vec<(Value, BTreeMap<String, Vec<u8>>)> {
    let out = folder.join("exported");
    let mut uploads = Vec::new();
    for capture in captures(data) {
        let id = capture["id"].as_str().expect("an id");
        let out = out.join(id);
        stdout(&["export", id, "--data", text(data), "-o", text(&out)]);
        for at in 0.. {
            let Ok(post) = std::fs::read(out.join(format!("{at}.http"))) else {
                break;
            };
            let ends = post.windows(4).position(|four| four == b"\r\n\r\n");
            let (head, body) = post.split_at(ends.expect("a head") + 4);
            let head = String::from_utf8_lossy(head).into_owned();
            let kind = head
                .lines()
                .find_map(|line| line.strip_prefix("content-type: "));
            let upload = Upload::read(kind.expect("a kind"), body).expect("an upload");
            let (event, files): (Vec<_>, Vec<_>) = upload.parts().partition(|part| part.is_event());
            let event = serde_json::from_slice(event[0].content).expect("JSON");
            let files = files.iter();
            let files = files.map(|part| (part.file.to_owned(), part.content.to_vec()));
            uploads.push((event, files.collect()));
        }
    }
    std::fs::remove_dir_all(&out).expect("a folder");
    uploads
}

/// A program of `tests/tools` that serves profiles, and ends with this.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(program: &Path, folder: &Path) -> Self {
        let mut child = Command::new(program)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program");
        let mut address = String::new();
        let out = child.stdout.take().expect("its output");
        let read = BufReader::new(out).read_line(&mut address);
        read.expect("an address");
        let address = address.trim().to_owned();
        Self { child, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rows that have a value, as Go's tool shows them.
fn rows(tool: &Path, base: Option<&Path>, file: &Path, column: &str) -> Vec<(String, i64, i64)> {
    let unit = match column {
        "delay" => "ns",
        "alloc_space" | "inuse_space" => "B",
        _ => "count",
    };
    let (_, mut rows) = gopprof::report_against(tool, base, file, column, unit);
    rows.retain(|(_, own, total)| (*own, *total) != (0, 0));
    rows
}

#[test]
fn profiles_of_a_go_program_are_pulled() {
    let (Some(program), Some(tool)) = (collected::go::build("pulled"), gopprof::tool()) else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let served = scratch.path().join("served");
    std::fs::create_dir(&served).expect("a folder");
    let go = Served::start(&program, &served);
    let table = format!(
        "url = \"http://{}/debug/pprof\"\nservice = \"shop\"\ninterval = 10\ncpu-seconds = 1\n\
         tags = {{ env = \"test\", zone = \"b\" }}",
        go.address
    );
    let file = settings(scratch.path(), &[table]);
    let collector = Collector::start(&data, &["--config", &file]);
    // The first round has no gains, and the second has all.
    let uploads = eventually(|| {
        let uploads = captures(&data)
            .first()
            .map(|_| uploads(&data, scratch.path()))?;
        let has = |name: &str| uploads.iter().any(|(_, files)| files.contains_key(name));
        (has("delta-heap.pprof") && has("cpu.pprof") && has("goroutines.pprof")).then_some(uploads)
    });
    drop(collector);
    drop(go);
    let row = &captures(&data)[0];
    assert_eq!(
        (&row["service"], &row["protocol"]),
        (&"shop".into(), &"datakit".into())
    );
    let (event, gains) = uploads
        .iter()
        .find(|(_, files)| files.contains_key("delta-heap.pprof"))
        .expect("gains");
    let names: Vec<_> = gains.keys().map(String::as_str).collect();
    let expected = ["delta-block.pprof", "delta-heap.pprof", "delta-mutex.pprof"];
    assert_eq!(names, expected);
    let tags = event["tags_profiler"].as_str().expect("tags");
    for tag in [
        "service:shop",
        "env:test",
        "zone:b",
        "language:golang",
        "host:127.0.0.1",
    ] {
        assert!(tags.split(',').any(|own| own == tag), "{tag}: {tags}");
    }
    let written = scratch.path().join("written.pprof");
    for (kind, columns) in [
        ("heap", &["alloc_objects", "alloc_space"][..]),
        ("mutex", &["contentions", "delay"]),
        ("block", &["contentions", "delay"]),
    ] {
        std::fs::write(&written, &gains[&format!("delta-{kind}.pprof")]).expect("a file");
        let [first, second] = [0, 1].map(|at| served.join(format!("{kind}-{at}")));
        for column in columns {
            let expected = rows(&tool, Some(&first), &second, column);
            assert!(!expected.is_empty(), "{kind} {column}");
            assert_eq!(
                rows(&tool, None, &written, column),
                expected,
                "{kind} {column}"
            );
            assert_eq!(
                total(&written, column),
                expected.iter().map(|row| row.1).sum::<i64>()
            );
        }
    }
    // What is held is what is held, and no difference.
    std::fs::write(&written, &gains["delta-heap.pprof"]).expect("a file");
    let held = rows(&tool, None, &served.join("heap-1"), "inuse_space");
    assert_eq!(rows(&tool, None, &written, "inuse_space"), held);
    assert!(
        held.iter().any(|(name, ..)| name == "main.allocate"),
        "{held:?}"
    );
    // What has no gains is as it was.
    for (name, kind) in [("cpu.pprof", "cpu"), ("goroutines.pprof", "goroutine")] {
        let with = uploads.iter().filter(|(_, files)| files.contains_key(name));
        for (at, (_, files)) in with.enumerate() {
            assert_eq!(files.len(), 1, "{name}");
            let answered = std::fs::read(served.join(format!("{kind}-{at}")));
            assert!(answered.expect("a file") == files[name], "{name} {at}");
        }
    }
}

/// Returns the total of a column, as this program has it.
fn total(file: &Path, column: &str) -> i64 {
    let info: Value = serde_json::from_str(&stdout(&["info", "--json", text(file)])).expect("JSON");
    let values = info["values"].as_array().into_iter();
    let found = values.flatten().find(|value| value["type"] == column);
    found
        .and_then(|value| value["total"].as_i64())
        .expect("a total")
}

/// Serves answers one after the other, the last again and again, and counts the requests.
fn answering(answers: Vec<Vec<u8>>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address").to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let at = counted.fetch_add(1, Ordering::Relaxed);
            let answer = answers[at.min(answers.len() - 1)].clone();
            std::thread::spawn(move || answer_with(socket.expect("a connection"), &answer));
        }
    });
    (address, asked)
}

/// Answers a request; what has no answer hangs, until the other side has enough.
fn answer_with(mut socket: TcpStream, answer: &[u8]) {
    let mut piece = [0; 4096];
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(n_read) => head.extend_from_slice(&piece[..n_read]),
        }
    }
    if answer.is_empty() {
        let _ = socket.read(&mut piece);
        return;
    }
    let _ = socket.write_all(answer);
    if answer.ends_with(ENDLESS) {
        while socket.write_all(&piece).is_ok() {}
    }
}

/// The end of a head after which bytes come for ever.
const ENDLESS: &[u8] = b"X-Endless: yes\r\n\r\n";

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn what_a_target_does_wrong_is_counted_and_said() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let (elsewhere, followed) = answering(vec![answer("200 OK", "", b"secret")]);
    let moved = format!("Location: http://{elsewhere}/debug/pprof/goroutine\r\n");
    let endless = [b"HTTP/1.1 200 OK\r\n", ENDLESS].concat();
    let bomb = gzip(&vec![0; 65 << 20]);
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        listener.local_addr().expect("an address").to_string()
    };
    let more = profile(scratch.path(), "main;work 30\n");
    let less = profile(scratch.path(), "main;work 20\n");
    let targets = [
        (
            "redirect",
            answering(vec![answer("302 Found", &moved, b"")]).0,
            "goroutine",
        ),
        ("too_large", answering(vec![endless]).0, "goroutine"),
        (
            "too_large",
            answering(vec![answer("200 OK", "", &bomb)]).0,
            "goroutine",
        ),
        ("timeout", answering(vec![Vec::new()]).0, "goroutine"),
        (
            "status",
            answering(vec![answer("404 Not Found", "", b"")]).0,
            "goroutine",
        ),
        (
            "no_profile",
            answering(vec![answer("200 OK", "", b"<html>")]).0,
            "goroutine",
        ),
        (
            "no_profile",
            answering(vec![answer("200 OK", "", &bomb[..99])]).0,
            "heap",
        ),
        ("unreachable", closed, "goroutine"),
        (
            "restarted",
            answering(vec![
                answer("200 OK", "", &more),
                answer("200 OK", "", &less),
            ])
            .0,
            "heap",
        ),
    ];
    let tables = targets.iter().map(|(_, address, kind)| {
        format!(
            "url = \"http://{address}\"\ninterval = 10\ncpu-seconds = 1\nprofiles = [\"{kind}\"]"
        )
    });
    let file = settings(scratch.path(), &tables.collect::<Vec<_>>());
    let mut collector = Collector::start(&data, &["--config", &file]);
    let reasons: BTreeMap<&str, usize> = targets.iter().fold(BTreeMap::new(), |mut all, row| {
        *all.entry(row.0).or_default() += 1;
        all
    });
    let http = collector.http.clone();
    eventually(|| {
        let metrics = ask(&http, &request(&http, "GET /metrics", "", b"")).body;
        let n_lost = |reason: &str| -> usize {
            let row =
                format!("traceloom_lost_units_total{{listener=\"pull\",reason=\"{reason}\"}} ");
            let count = metrics.lines().find_map(|line| line.strip_prefix(&row));
            count.map_or(0, |count| count.parse().expect("a count"))
        };
        let is_counted = |(reason, least): (&&str, &usize)| n_lost(reason) >= *least;
        reasons.iter().all(is_counted).then_some(())
    });
    collector.child.kill().expect("it runs");
    let said = collector.messages();
    for (reason, address, kind) in &targets {
        let what = format!("{kind} of http://{address}/debug/pprof is not pulled: ");
        let times = said.lines().filter(|line| line.contains(&what)).count();
        assert_eq!(times, 1, "{reason}: {said}");
    }
    // Nobody was led elsewhere, and nothing is stored of what is no profile.
    assert_eq!(followed.load(Ordering::Relaxed), 0);
    assert!(captures(&data).is_empty());
}

#[test]
fn targets_come_from_the_file_alone_and_are_checked() {
    let scratch = tempfile::tempdir().expect("a folder");
    let table = "url = \"http://127.0.0.1:6060\"\nservice = \"shop\"".to_owned();
    let file = settings(scratch.path(), &[table]);
    let shown = stdout(&["serve", "--check-config", "--config", &file]);
    let pull = "pull = [{ service = \"shop\", url = \"http://127.0.0.1:6060\" }]";
    assert!(shown.lines().any(|line| line == pull), "{shown}");
    // What is printed is a file of settings.
    std::fs::write(&file, &shown).expect("a file");
    assert_eq!(
        stdout(&["serve", "--check-config", "--config", &file]),
        shown
    );
    let wrong = settings(
        scratch.path(),
        &["url = \"http://h\"\nintervall = 60".to_owned()],
    );
    let refused = collected::run(&["serve", "--check-config", "--config", &wrong]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("pull 1: there is no setting `intervall`; did you mean `interval`?"),
        "{said}"
    );
    let flag = collected::run(&["serve", "--pull", "http://127.0.0.1:6060"]);
    assert_eq!(flag.status.code(), Some(2));
}
