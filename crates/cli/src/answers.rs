//! Which command of this program answers a question about a data folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use traceloom_analysis::query::Query;
use traceloom_input::captures::{Captures, DataFolder};
use traceloom_server::Question;

/// Bytes that an argument may have: Linux refuses more than 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Returns the command that answers.
///
/// # Errors
/// When the program does not find itself, or the data folder cannot be read.
pub(crate) fn command(data: &Path, question: &Question) -> io::Result<Command> {
    let mut command = Command::new(program()?);
    match question {
        Question::Captures => command.args(["captures", "ls", "--json"]).arg(data),
        Question::Contents(id) => command
            .args(["info", "--json"])
            .arg(path(data, &[id.to_string()])),
        Question::Notes(id) => command
            .args(["check", "--json"])
            .arg(path(data, &[id.to_string()])),
        Question::Calls(query) => {
            command.args(["calls", "--json"]);
            command.arg(format!("--sort={}", query.sort));
            command.arg(format!("-n={}", query.rows));
            if !query.columns.is_empty() {
                command.arg(format!("--columns={}", query.columns.join(",")));
            }
            chosen(&mut command, data, query)?
        }
        Question::Call { query, id } => {
            let read = Query {
                filter: String::new(),
                ..query.clone()
            };
            command.args(["call", "--json"]);
            chosen(&mut command, data, &read)?.arg("--").arg(id)
        }
        Question::Functions(query) => {
            command.args(["top", "--json"]);
            command.arg(format!("-n={}", query.rows));
            chosen(&mut command, data, query)?
        }
        Question::Page(page, query) => {
            command.args([page.word(), "--output", "-"]);
            if page.word() == "flame" {
                command.arg("--html");
            }
            chosen(&mut command, data, query)?
        }
    };
    Ok(command)
}

/// Returns this program, by a name that stays true when another version takes the place of its file.
pub(crate) fn program() -> io::Result<PathBuf> {
    const OWN: &str = "/proc/self/exe";
    match Path::new(OWN).exists() {
        true => Ok(OWN.into()),
        false => std::env::current_exe(),
    }
}

/// Adds what a query chooses: the path, the filter, the stretch of time.
fn chosen<'c>(command: &'c mut Command, data: &Path, query: &Query) -> io::Result<&'c mut Command> {
    if !query.filter.is_empty() {
        command.arg(format!("--filter={}", query.filter));
    }
    for (flag, time) in [("since", query.from), ("until", query.to)] {
        if let Some(ns) = time {
            command.arg(format!("--{flag}={ns}"));
        }
    }
    if query.captures.is_empty() && query.services.is_empty() {
        return Ok(command.arg(data));
    }
    let services: HashSet<&str> = query.services.iter().map(String::as_str).collect();
    let mut ids: Vec<String> = query.captures.clone();
    if !services.is_empty() {
        let folder = DataFolder::open(data).map_err(io::Error::other)?;
        let captures = Captures::read(&folder).map_err(io::Error::other)?.list;
        let wanted = captures.iter().filter(|capture| {
            let service = capture.identity.service.as_str();
            let id = capture.id.to_string();
            services.contains(service)
                && (query.captures.is_empty() || query.captures.contains(&id))
        });
        ids = wanted.map(|capture| capture.id.to_string()).collect();
        if ids.is_empty() {
            let text = format!("no capture is of {}", query.services.join(", "));
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
    }
    // The newest, where not all can be named.
    let mut length = 0;
    let kept = ids.iter().rev().take_while(|id| {
        length += id.len() + 1;
        length < LONGEST_ARGUMENT
    });
    let first = ids.len() - kept.count();
    Ok(command.arg(path(data, ids.get(first..).unwrap_or_default())))
}

/// Returns the path of some captures.
fn path(data: &Path, ids: &[String]) -> OsString {
    let mut path = data.as_os_str().to_owned();
    path.push("#");
    path.push(ids.join(","));
    path
}
