//! TPTP live: agents that are controlled and agents that are not, in both forms, to a collector; what was kept is what
//! the file reader gives.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collected::http::{ask, captures, request};
use collected::program::running::Running;
use collected::{Collector, eventually, exported, records, run, stdout, text};

/// A trace in the binary form and in the XML form, as files.
fn traces(scratch: &Path) -> [PathBuf; 2] {
    let binary = scratch.join("app.trcbin");
    let xml = scratch.join("app.trcxml");
    let bytes = traceloom_samples::bytes("tptp-binary", 3, 300_000);
    std::fs::write(&binary, bytes).expect("a file");
    stdout(&["convert", text(&binary), text(&xml), "--to", "tptp-xml"]);
    [binary, xml]
}

/// Plays an agent, and returns where it waits for its client.
fn agent(trace: &Path, more: &[&str]) -> (Running, String) {
    let args = [&["send", text(trace), "--listen", "127.0.0.1:0"], more].concat();
    let agent = Running::start(&args);
    let line = agent.next();
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    (agent, address)
}

#[test]
fn what_an_agent_sends_by_itself_is_what_the_file_reader_gives() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    for (n, trace) in (1..).zip(traces(scratch.path())) {
        let sent = run(&["send", text(&trace), "--to", &collector.tptp]);
        let said = String::from_utf8_lossy(&sent.stderr).into_owned();
        assert!(sent.status.success(), "{said}");
        assert!(said.contains("tptp has no acknowledgement"), "{said}");
        let extension = trace.extension().and_then(|name| name.to_str());
        let name = format!("trace.{}", extension.expect("a name"));
        let id = format!("1-{n}");
        let bytes = std::fs::read(&trace).expect("a trace");
        assert!(exported(&data, &id, &name) == bytes, "{name}");
        let of_file = records(text(&trace), None);
        assert!(of_file.len() > 100, "{}", of_file.len());
        assert!(records(text(&data), Some(&format!("{id}/{name}"))) == of_file);
    }
    let again = run(&[
        "send",
        text(&scratch.path().join("app.trcbin")),
        "--to",
        &collector.tptp,
        "--times",
        "2",
    ]);
    assert_eq!(again.status.code(), Some(2), "a descriptor comes once");
    let states: Vec<_> = captures(&data)
        .iter()
        .map(|row| (row["protocol"].clone(), row["state"].clone()))
        .collect();
    assert_eq!(states, vec![("tptp".into(), "end_of_stream".into()); 2]);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" stored without acknowledgement"), "{said}");
}

#[test]
fn a_client_chooses_the_form_and_the_data_are_the_same() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let [binary, xml] = traces(scratch.path());
    let settings = scratch.path().join("attach.toml");
    std::fs::write(&settings, "[tptp]\nbinary_transfer = true\n").expect("a file");
    let file = format!("--config={}", text(&settings));
    for (n, (trace, flags, name, expected)) in (1..).zip([
        (&binary, vec![], "trace.trcxml", &xml),
        (&binary, vec!["--binary-transfer"], "trace.trcbin", &binary),
        (&xml, vec![file.as_str()], "trace.trcbin", &binary),
        (
            &xml,
            vec![file.as_str(), "--binary-transfer=false"],
            "trace.trcxml",
            &xml,
        ),
    ]) {
        let (agent, address) = agent(trace, &[]);
        let attach = ["attach", &address, "--to", &collector.tptp];
        let client = Running::start(&[&attach[..], &flags].concat());
        let (lines, code, said) = client.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(
            lines.ends_with(&["the data flow", "ended"].map(str::to_owned)),
            "{lines:?}"
        );
        assert_eq!(agent.end().1, Some(0));
        let kept = exported(&data, &format!("1-{n}"), name);
        let bytes = std::fs::read(expected).expect("a trace");
        assert!(kept == bytes, "{name} {flags:?}");
    }
}

#[test]
fn data_pause_resume_and_end_at_a_record() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let [binary, xml] = traces(scratch.path());
    for (n, (trace, name)) in (0..).zip([(&binary, "trace.trcbin"), (&xml, "trace.trcxml")]) {
        let (agent, address) = agent(trace, &["--rate", "100000"]);
        let flags = match n {
            0 => &["--binary-transfer"][..],
            _ => &[],
        };
        let attach = ["attach", &address, "--to", &collector.tptp];
        let mut client = Running::start(&[&attach[..], flags].concat());
        assert!(client.next().starts_with("format "));
        assert_eq!(client.next(), "the data flow");
        let there = || {
            let listed = captures(&data);
            let part = listed.get(n).map(|row| row["parts"][0]["bytes"].as_u64());
            part.flatten().unwrap_or(0)
        };
        eventually(|| (there() > 10_000).then_some(()));
        client.write(b"pause\n");
        assert_eq!(client.next(), "paused");
        std::thread::sleep(Duration::from_millis(500));
        let paused = there();
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(there(), paused, "nothing comes while it is paused");
        client.write(b"resume\n");
        assert_eq!(client.next(), "resumed");
        eventually(|| (there() > paused).then_some(()));
        client.write(b"end\n");
        assert_eq!(client.next(), "ended");
        assert_eq!(client.end().1, Some(0));
        assert_eq!(agent.end().1, Some(0));
        let kept = exported(&data, &format!("1-{}", n + 1), name);
        let whole = std::fs::read(trace).expect("a trace");
        assert!(kept.len() < whole.len() && whole.starts_with(&kept));
        // It ends behind a record: nothing is cut.
        let file = scratch.path().join(format!("ended.{name}"));
        std::fs::write(&file, &kept).expect("a file");
        let checked = run(&["check", "--json", text(&file)]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(!said.contains("\"damage\""), "{said}");
        assert!(!said.contains("truncated"), "{said}");
    }
}

#[test]
fn a_launched_agent_gets_the_format_among_its_options() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let [_, xml] = traces(scratch.path());
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address").to_string();
    drop(free);
    // In place of a JVM with its agent: it says how it was started, and waits for its client.
    let java = scratch.path().join("java");
    let asked = scratch.path().join("asked");
    let script = format!(
        "#!/bin/sh\necho \"$1 $2\" > '{}'\nexec '{}' send '{}' --listen {address}\n",
        text(&asked),
        env!("CARGO_BIN_EXE_traceloom"),
        text(&xml)
    );
    std::fs::write(&java, script).expect("a script");
    let loader = "-agentlib:JPIBootLoader=JPIAgent:server=controlled;CGProf";
    let shell = [
        "attach",
        &address,
        "--to",
        &collector.tptp,
        "--binary-transfer",
    ];
    let launch = ["--launch", "sh", text(&java), loader, "-version"];
    let launched = run(&[&shell[..], &launch].concat());
    let said = String::from_utf8_lossy(&launched.stderr).into_owned();
    assert!(launched.status.success(), "{said}");
    assert_eq!(
        std::fs::read_to_string(&asked).expect("what it was asked"),
        "-agentlib:JPIBootLoader=JPIAgent:server=controlled,format=binary;CGProf -version\n"
    );
    assert!(exported(&data, "1-1", "trace.trcbin").starts_with(b"0TBF"));
    let without = run(&[&shell[..], &["--launch", "sh", text(&java)]].concat());
    assert_eq!(without.status.code(), Some(2), "no agent to ask");
}

#[test]
fn agents_that_refuse_go_or_lie_are_told_about() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let [binary, _] = traces(scratch.path());
    // Nobody takes the data. A port that was free could by now be one of a collector of another test.
    let nobody = "tptp://127.0.0.1:1";
    let (_agent, address) = agent(&binary, &[]);
    let (_, code, said) = Running::start(&["attach", &address, "--to", nobody]).end();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("the agent refused startMonitoring: "),
        "{said}"
    );
    // Data go to this machine alone.
    let far = "tptp://192.0.2.1:1718";
    let (_agent, address) = agent(&binary, &[]);
    let (_, code, said) = Running::start(&["attach", &address, "--to", far]).end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("to this machine alone"), "{said}");
    let (_, code, said) = Running::start(&["attach", nobody.trim_start_matches("tptp://")]).end();
    assert_eq!(
        (code, said.contains("no agent at")),
        (Some(1), true),
        "{said}"
    );
    // One whose answers attack a terminal, then one that floods.
    for (answer, expected) in [
        (
            &b"<error>\x1b[31mno\x07</error>"[..],
            "the agent refused startMonitoring: ",
        ),
        (&[b'<'; 100_000], "makes no sense"),
        (b"", "closed the control channel"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let client = Running::start(&["attach", &address]);
        let (mut socket, _) = listener.accept().expect("a client");
        let mut asked = [0; 17];
        socket.read_exact(&mut asked).expect("a command");
        let _ = socket.write_all(answer);
        let _ = socket.shutdown(Shutdown::Write);
        let (_, code, said) = client.end();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
    }

    // Beside garbage, silence and a cut trace the collector takes what is honest.
    let collector = Collector::start(&data, &[]);
    let to = collector.tptp.strip_prefix("tptp://").expect("an address");
    let connect = || TcpStream::connect(to).expect("a connection");
    let silent: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
    let mut garbage = connect();
    while garbage.write_all(&[b'x'; 1 << 16]).is_ok() {}
    let bytes = std::fs::read(&binary).expect("a trace");
    let cut = &bytes[..bytes.len() / 2 + 1];
    let mut socket = connect();
    for piece in cut.chunks(997) {
        socket.write_all(piece).expect("bytes are taken");
    }
    socket.shutdown(Shutdown::Write).expect("an end");
    assert_eq!(socket.read(&mut [0]).expect("an end"), 0);
    drop(silent);
    // How a connection ended is synced a little after it was closed.
    let of = |state: &str| {
        eventually(|| {
            let listed = captures(&data);
            let mut rows = listed.iter().filter(|row| row["state"] == state);
            let row = rows.find(|row| row["parts"][0]["bytes"].as_u64() > Some(0))?;
            let id = row["id"].as_str().expect("an id").to_owned();
            Some((id, row["parts"][0]["bytes"].as_u64()))
        })
    };
    let (_, n_bytes) = of("no_trace");
    assert!(n_bytes < Some(64 << 10), "{n_bytes:?}");
    let (id, _) = of("end_of_stream");
    assert!(exported(&data, &id, "trace.trcbin") == cut);
    let checked = run(&["check", text(&data)]);
    assert_eq!(checked.status.code(), Some(1), "the cut is told");
}

/// The promise of docs/durability.md: what came is in the log within a second.
#[test]
fn what_came_is_in_the_log_soon_and_outlasts_a_kill() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let mut collector = Collector::start(&data, &[]);
    let [binary, _] = traces(scratch.path());
    let bytes = std::fs::read(&binary).expect("a trace");
    let to = collector.tptp.strip_prefix("tptp://").expect("an address");
    let mut socket = TcpStream::connect(to).expect("a connection");
    socket.write_all(&bytes[..50_000]).expect("bytes are taken");
    let begun = Instant::now();
    eventually(|| {
        let listed = captures(&data);
        let n_bytes = listed.first().map(|row| row["parts"][0]["bytes"].as_u64());
        (n_bytes == Some(Some(50_000))).then_some(())
    });
    // The time of the command that looks is in it, and of the machine that runs other tests.
    assert!(begun.elapsed() < Duration::from_secs(5));
    collector.child.kill().expect("it runs");
    collector.child.wait().expect("an end");
    assert!(exported(&data, "1-1", "trace.trcbin") == bytes[..50_000]);
    assert_eq!(captures(&data)[0]["state"], "interrupted");
}

/// The notes of a capture are those of a reader that knows what the author of the agent described.
#[test]
fn a_collector_reads_described_messages() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = |name: &str| scratch.path().join(name);
    let [xml, binary, messages, data] = ["a.trcxml", "a.trcbin", "messages.txt", "data"].map(path);
    std::fs::write(
        &messages,
        "32001 cacheMiss threadIdRef:long time:ticks region:text",
    )
    .expect("a description");
    let miss =
        "<TRACE><cacheMiss threadIdRef=\"7\" time=\"1773463901.25\" region=\"prices\"/></TRACE>";
    std::fs::write(&xml, miss).expect("a trace");
    let described = ["--tptp-messages", text(&messages)];
    stdout(&[&["convert", text(&xml), text(&binary)], &described[..]].concat());
    let notes = |more: &[&str], id: &str| {
        let collector = Collector::start(&data, more);
        stdout(&["push", text(&binary), "--to", &collector.http]);
        let line = format!("GET /api/v1/captures/{id}/notes");
        let answer = ask(&collector.http, &request(&collector.http, &line, "", b""));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    let known = notes(&described, "1-1");
    assert!(!known.contains("unknown_message"), "{known}");
    let unknown = notes(&[], "2-1");
    assert!(unknown.contains("unknown_message"), "{unknown}");
}
