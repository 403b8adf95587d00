//! The container file, beside the program and the settings that it speaks of: no container is made.
#![allow(missing_docs, reason = "a test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PROGRAM: &str = "/usr/bin/traceloom";
const SETTINGS: &str = "/etc/traceloom/serve.toml";

/// The words behind each instruction of that name.
fn instructions(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("packaging/Containerfile"));
    let text = text.expect("a file");
    let rests = text.lines().filter_map(|line| line.strip_prefix(name));
    let found: Vec<String> = rests
        .filter_map(|rest| rest.strip_prefix(' '))
        .map(str::to_owned)
        .collect();
    assert!(!found.is_empty(), "no {name}");
    found
}

/// The one instruction of that name.
fn instruction(name: &str) -> String {
    let found = instructions(name);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.into_iter().next().unwrap_or_default()
}

fn list(name: &str) -> Vec<String> {
    serde_json::from_str(&instruction(name)).expect("a list")
}

/// Runs the program; returns what it printed.
fn run(arguments: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    let output = command.args(arguments).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns what the command of the container would use, which the program checks.
fn settings(more: &[&str]) -> Vec<(String, String)> {
    let mut arguments = list("CMD");
    for argument in &mut arguments {
        // In the container the file is a copy of this one.
        if argument == SETTINGS {
            *argument = format!("{ROOT}/packaging/serve.toml");
        }
    }
    arguments.extend(more.iter().map(|&word| word.to_owned()));
    arguments.push("--check-config".to_owned());
    let printed = run(&arguments);
    let rows = printed.lines().filter_map(|line| line.split_once(" = "));
    rows.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

fn setting<'s>(settings: &'s [(String, String)], key: &str) -> &'s str {
    let found = settings.iter().find(|(name, _)| name == key);
    found.map_or_else(|| panic!("{key}: {settings:?}"), |(_, value)| value)
}

#[test]
fn the_container_has_the_files_that_its_command_names() {
    let copies = instructions("COPY");
    let mut installed = BTreeSet::new();
    for copy in copies.iter().filter(|copy| *copy != ". .") {
        let words: Vec<&str> = copy.split(' ').collect();
        let (from, to) = match words.as_slice() {
            ["--from=build", from, to] => {
                // Where the stage before it, which copies the repository to /src, builds the program.
                assert_eq!(*from, "/src/target/release/traceloom");
                assert!(instructions("RUN").contains(&"cargo build --release --locked".to_owned()));
                (PathBuf::from(env!("CARGO_BIN_EXE_traceloom")), *to)
            }
            [from, to] => (Path::new(ROOT).join(from), *to),
            _ => panic!("{copy}"),
        };
        assert!(from.is_file(), "{}", from.display());
        installed.insert(to.to_owned());
    }
    let expected = [PROGRAM, SETTINGS].map(str::to_owned);
    assert_eq!(installed, BTreeSet::from(expected));
    assert_eq!(list("ENTRYPOINT"), [PROGRAM]);
    assert_eq!(list("CMD")[..3], ["serve", "--config", SETTINGS]);
    // It is what the program ends at, with everything stored.
    assert_eq!(instruction("STOPSIGNAL"), "SIGTERM");
}

#[test]
fn the_container_opens_the_ports_that_its_program_listens_on() {
    // Both want a token before other machines reach them.
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("UTF-8");
    let token = ["token", "add", "ci", "--right", "upload", "--data", data];
    run(&token.map(str::to_owned));
    let reached = [
        "--data",
        data,
        "--http",
        "0.0.0.0:1717",
        "--otlp-grpc",
        "0.0.0.0:4317",
    ];
    let settings = settings(&reached);
    let listeners = ["cdt", "heph", "heph-udp", "tptp", "http", "otlp-grpc"];
    let ports = listeners.map(|key| {
        let address = setting(&settings, key);
        let (host, port) = address.rsplit_once(':').expect("an address");
        assert_eq!(host, "0.0.0.0", "{key}");
        let transport = if key == "heph-udp" { "/udp" } else { "" };
        format!("{port}{transport}")
    });
    let exposed = instruction("EXPOSE");
    let exposed = exposed.split(' ').map(str::to_owned);
    assert_eq!(exposed.collect::<BTreeSet<_>>(), BTreeSet::from(ports));
    // What has no room for a token is reached from outside by the command as it is, HTTP by one setting more.
    let as_it_is = self::settings(&[]);
    for key in ["cdt", "heph", "heph-udp", "tptp"] {
        assert!(setting(&as_it_is, key).starts_with("0.0.0.0:"), "{key}");
    }
    assert_eq!(setting(&as_it_is, "http"), "127.0.0.1:1717");
}

#[test]
fn the_container_keeps_its_data_where_its_user_writes() {
    let data = setting(&settings(&[]), "data").to_owned();
    assert_eq!(instruction("VOLUME"), data);
    let user = instruction("USER");
    let made = instructions("RUN").into_iter();
    let mut made =
        made.filter(|run| run.starts_with("useradd ") && run.ends_with(&format!(" {user}")));
    let made = made.next().expect("the user is made");
    assert!(
        made.contains(&format!("--home-dir {data} --create-home")),
        "{made}"
    );
}

#[test]
fn the_command_that_makes_a_token_does() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("packaging/Containerfile"));
    let text = text.expect("a file");
    let mut lines = text
        .lines()
        .filter_map(|line| line.split_once(" traceloom token "));
    let (_, words) = lines.next().expect("a command");
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments: Vec<String> = format!("token {words}")
        .split(' ')
        .map(str::to_owned)
        .collect();
    let data = arguments.last_mut().expect("words");
    assert_eq!(data, "/var/lib/traceloom");
    *data = folder.path().to_string_lossy().into_owned();
    assert!(!run(&arguments).trim().is_empty());
}
