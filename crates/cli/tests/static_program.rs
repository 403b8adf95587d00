//! The program without libraries, where `packaging/static.sh` built it: alone in an empty root it opens a file and serves a page.

#![cfg(target_os = "linux")]

mod program;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use program::{SHOP, copy_folder, packaged};

/// An own root, and a user namespace where that takes no privilege.
fn in_root(root: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--root"]).arg(root);
    command.arg("/traceloom").env_clear();
    command
}

#[test]
fn the_static_program_needs_nothing_of_its_machine() {
    let Some(program) = packaged("TRACELOOM_STATIC", "static.sh", "-x86_64-linux-static") else {
        return;
    };
    let bytes = fs::read(&program).expect("a program");
    assert_eq!(interpreter(&bytes), None);
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    fs::copy(&program, root.join("traceloom")).expect("a copy");
    copy_folder(Path::new(SHOP), &root.join("shop"));
    let alone = in_root(root).arg("--version").output();
    match alone {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("skipped: this machine gives no root of its own: {other:?}");
            return;
        }
    }
    for args in [
        &["info", "--json"][..],
        &["top", "--json"],
        &["calls", "--json", "-n", "0"],
    ] {
        let beside = Command::new(env!("CARGO_BIN_EXE_traceloom"));
        let told = [in_root(root), beside].map(|mut command| {
            command
                .arg(args[0])
                .arg("shop")
                .args(&args[1..])
                .current_dir(root);
            let output = command.output().expect("it runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?}: {errors}");
            String::from_utf8(output.stdout).expect("text")
        });
        assert!(
            told[0].to_lowercase().contains("shop"),
            "{args:?}: {}",
            told[0]
        );
        assert_eq!(told[0], told[1], "{args:?}");
    }
    serves(in_root(root));
}

/// Returns what loads the libraries of a program, which one without libraries does not have.
fn interpreter(program: &[u8]) -> Option<&[u8]> {
    const INTERPRETER: u32 = 3;
    assert_eq!(program[..6], *b"\x7fELF\x02\x01");
    let word = |at: usize| usize::from(u16::from_le_bytes([program[at], program[at + 1]]));
    let long = |at: usize| {
        let bytes = program[at..at + 8].try_into().expect("8 bytes");
        usize::try_from(u64::from_le_bytes(bytes)).expect("an offset")
    };
    let (table, size, count) = (long(32), word(54), word(56));
    assert!(count > 0);
    let mut segments = (0..count).map(|at| table + at * size);
    let segment = segments.find(|&at| program[at..at + 4] == INTERPRETER.to_le_bytes())?;
    Some(&program[long(segment + 8)..][..long(segment + 32)])
}

struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serves(mut command: Command) {
    command.args(["serve", "--data", "/data", "--heph-udp", "off"]);
    for protocol in ["--http", "--cdt", "--heph", "--tptp", "--otlp-grpc"] {
        command.args([protocol, "127.0.0.1:0"]);
    }
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Stopped(child.expect("it starts"));
    let mut out = BufReader::new(child.0.stdout.take().expect("a pipe"));
    let address = out.by_ref().lines().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("http://")?;
        let end = rest.find(|c: char| !(c.is_ascii_digit() || ".:".contains(c)));
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    });
    let Some(address) = address else {
        let mut said = String::new();
        let _ = child
            .0
            .stderr
            .take()
            .expect("a pipe")
            .read_to_string(&mut said);
        panic!("no address: {said}");
    };
    let mut stream = TcpStream::connect(&address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a limit");
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("<html"), "{answer}");
}
