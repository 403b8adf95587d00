//! A running collector, and what tests of it share.
#![allow(dead_code, unused_imports, reason = "not every test needs everything")]

pub mod agents;
pub mod database;
pub mod go;
pub mod http;
pub mod indexes;
pub mod kills;
pub mod marked;
pub mod profiles;
#[path = "../program/mod.rs"]
pub mod program;
pub mod proxy;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

pub use program::{SHOP, command, json_lines, json_rows, path_text as text, run, stdout};
use serde_json::Value;

/// Records of a trace, without the name of their part.
pub fn records(path: &str, part: Option<&str>) -> Vec<Value> {
    let lines = stdout(&["dump", "--json", path]);
    let records = lines.lines().filter_map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("JSON");
        let name = record["part"].take();
        part.is_none_or(|part| name == part).then_some(record)
    });
    records.collect()
}

/// A running collector; it is killed when it is dropped.
pub struct Collector {
    pub child: Child,
    out: BufReader<ChildStdout>,
    pub url: String,
    /// Where Heph traces go.
    pub heph: String,
    /// Where TPTP traces go.
    pub tptp: String,
    /// Where HTTP is spoken.
    pub http: String,
    /// Where OpenTelemetry's exporters speak gRPC.
    pub grpc: String,
    udp: Option<String>,
}

impl Collector {
    pub fn start(data: &Path, more: &[&str]) -> Self {
        Self::start_in(None, data, more)
    }

    /// Starts it by a shell that runs `script`, with the program and its arguments as `$0` and `$@`.
    pub fn start_in(script: Option<&str>, data: &Path, more: &[&str]) -> Self {
        let program = env!("CARGO_BIN_EXE_traceloom");
        let mut command = match script {
            Some(script) => {
                let mut command = Command::new("bash");
                command.args(["-c", script, program]);
                command
            }
            None => Command::new(program),
        };
        let receives = more.contains(&"--heph-udp");
        let mut child = command
            .args(["serve", "--cdt", "127.0.0.1:0"])
            .args(["--heph", "127.0.0.1:0", "--tptp", "127.0.0.1:0"])
            .args([
                "--http",
                "127.0.0.1:0",
                "--otlp-grpc",
                "127.0.0.1:0",
                "--data",
            ])
            .arg(data)
            .args(more)
            .args(["--heph-udp", "off"].into_iter().filter(|_| !receives))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a collector");
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        let mut url = |begin: &str, has: &str| {
            let mut line = String::new();
            out.read_line(&mut line).expect("a line");
            let found = line
                .split([' ', ',', ';', '"', '\n'])
                .find(|word| word.starts_with(begin) && word.contains(has));
            found.unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let [cdt, heph, tptp, http] =
            ["cdt", "heph", "tptp", "http"].map(|scheme| url(scheme, "://"));
        let grpc = url("OTEL_EXPORTER_OTLP_ENDPOINT=", "://");
        let grpc = grpc.trim_start_matches("OTEL_EXPORTER_OTLP_ENDPOINT=");
        let udp = receives.then(|| url("127.0.0.1:", ":").trim_end_matches(':').to_owned());
        Self {
            child,
            out,
            url: cdt,
            heph,
            tptp,
            http,
            grpc: grpc.to_owned(),
            udp,
        }
    }

    /// Returns what it said once it has ended.
    pub fn messages(&mut self) -> String {
        let mut said = String::new();
        let mut err = self.child.stderr.take().expect("its messages");
        err.read_to_string(&mut said).expect("text");
        said
    }

    /// Returns where Heph datagrams go, of a collector that was told to receive some.
    pub fn heph_udp(&self) -> String {
        self.udp.clone().expect("it receives datagrams")
    }

    pub fn address(&self) -> &str {
        self.url.split_once("://").expect("an address").1
    }

    /// Asks it to end, and returns its exit code and what it said.
    pub fn terminate(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(asked.expect("kill runs").success());
        let said = self.messages();
        let code = self.child.wait().expect("an end").code();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, "");
        (code, said)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks until there is an answer.
pub fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(std::time::Instant::now() < until, "nothing in 30 s");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Writes a file and pushes it as a capture of a service; returns when it is acknowledged.
pub fn push(collector: &Collector, scratch: &Path, name: &str, service: &str, bytes: &[u8]) {
    let file = scratch.join(name);
    std::fs::write(&file, bytes).expect("a file");
    let to = ["--to", &collector.http, "--service", service];
    stdout(&[&["push", text(&file)], &to[..]].concat());
}

/// Returns the bytes of one file of a capture, as `export` writes it.
pub fn exported(data: &Path, id: &str, name: &str) -> Vec<u8> {
    let out = tempfile::tempdir().expect("a folder");
    let to = out.path().join("out");
    stdout(&["export", id, "--data", text(data), "-o", text(&to)]);
    std::fs::read(to.join(name)).expect("the file")
}

/// Returns bytes that no compression makes shorter, other ones for each seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Streams as agents send them, made from the sample recording of the project.
pub fn streams(scratch: &Path) -> PathBuf {
    let agents = scratch.join("all");
    stdout(&["convert", SHOP, text(&agents), "--to", "cdt-streams"]);
    // One process of several.
    let mut folders = vec![agents.clone()];
    loop {
        let folder = folders.pop().expect("a folder with streams");
        if folder.join("calls").is_dir() || folder.join("calls.bin").is_file() {
            return folder;
        }
        let entries = std::fs::read_dir(&folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        folders.extend(paths.filter(|path| path.is_dir()));
    }
}
