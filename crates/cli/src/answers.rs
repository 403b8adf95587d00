//! Which command of this program answers a question about a data folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use traceloom_analysis::query::Query;
use traceloom_input::captures::posts::PostId;
use traceloom_input::captures::{Capture, CaptureId, Captures, DataFolder};
use traceloom_server::{Page, PartOf, ProcessedContent, Question};

use crate::catalog;

/// Bytes that an argument may have: Linux refuses more than 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Returns the command that answers, with the rules for kinds of work that it goes by.
///
/// # Errors
/// When the program does not find itself, or the data folder cannot be read.
pub(crate) fn command(
    data: &Path,
    rules: Option<&Path>,
    question: &Question,
) -> io::Result<Command> {
    let mut command = Command::new(program()?);
    let kinds = |command: &mut Command| {
        if let Some(rules) = rules {
            command.arg("--categories").arg(rules);
        }
    };
    match question {
        Question::Captures => drop(command.args(["captures", "ls", "--json"]).arg(data)),
        Question::Contents(id) => drop(command.args(["info", "--json"]).arg(path(data, &[*id]))),
        Question::Notes(id) => drop(command.args(["check", "--json"]).arg(path(data, &[*id]))),
        Question::Bytes(place) => {
            command.arg("dump").arg(format!("--hex={}", place.n));
            within(&mut command, data, place);
        }
        Question::Records(place) => {
            command
                .args(["dump", "--resolve"])
                .arg(format!("-n={}", place.n));
            within(&mut command, data, place);
        }
        Question::Original { id, part } => {
            command.args(["export", "-o", "-", "--data"]).arg(data);
            command.arg(match part {
                None => id.to_string(),
                Some(part) => format!("{id}/{part}"),
            });
        }
        Question::Points(posts) => {
            command.args(["export", "--points", "-o", "-", "--data"]);
            command.arg(data).args(posts.iter().map(PostId::to_string));
        }
        Question::Converted { id, to } => {
            command.arg("convert").arg(format!("--to={to}"));
            command.args(["-o", "-"]).arg(path(data, &[*id]));
        }
        Question::Losses { id, to } => {
            command.args(["convert", "--json"]);
            command.arg(format!("--to={to}"));
            command.args(["--force", "-o", "/dev/null"]);
            command.arg(path(data, &[*id]));
        }
        Question::Processed {
            trace,
            span,
            content,
        } => {
            command.arg("export").arg(match content {
                ProcessedContent::Metadata => "--processed=metadata",
                ProcessedContent::Tree => "--processed=tree",
                ProcessedContent::Statistics => "--processed=stats",
            });
            command.args(trace.map(|trace| format!("--trace={trace:032x}")));
            command.args(span.map(|span| format!("--span={span:016x}")));
            command.args(["-o", "-", "--data"]).arg(data);
        }
        Question::Calls(query) => {
            command.args(["calls", "--json", "--page"]);
            command.arg(format!("-n={}", query.rows));
            listed(&mut command, query);
            chosen(&mut command, data, query)?;
        }
        Question::CallsCsv(query) => {
            command.args(["calls", "--csv", "-n=0"]);
            listed(&mut command, query);
            chosen(&mut command, data, query)?;
        }
        Question::CallsOverview(query) => {
            command.args(["calls", "--overview", "--json"]);
            chosen(&mut command, data, query)?;
        }
        Question::CallGroups { query, by } => {
            command.args(["calls", "--json"]).arg(format!("--by={by}"));
            command.arg(format!("-n={}", query.rows));
            chosen(&mut command, data, query)?;
        }
        Question::Call {
            query,
            id,
            below,
            depth,
            spans,
        } => {
            let read = Query {
                filter: String::new(),
                ..query.clone()
            };
            command.args(["call", "--json"]);
            kinds(&mut command);
            for (flag, number) in [("below", below), ("depth", depth), ("spans", spans)] {
                if let Some(number) = number {
                    command.arg(format!("--{flag}={number}"));
                }
            }
            chosen(&mut command, data, &read)?;
            command.arg("--").arg(id);
        }
        Question::Functions(query) => {
            command.args(["top", "--json"]);
            command.arg(format!("-n={}", query.rows));
            shaped(&mut command, data, query)?;
        }
        Question::Hotspots(query) => {
            command.args(["top", "--hotspots", "--json"]);
            kinds(&mut command);
            shaped(&mut command, data, query)?;
        }
        Question::Tree { query, least } => {
            command.args(["tree", "--json"]);
            let (whole, rest) = (least / 100, least % 100);
            command.arg(format!("--min-percent={whole}.{rest:02}"));
            command.args(query.shape.upwards.then_some("--bottom-up"));
            shaped(&mut command, data, query)?;
        }
        Question::Picture(query) => {
            command.args(["flame", "-o", "-"]);
            kinds(&mut command);
            command.args(query.shape.upwards.then_some("--upwards"));
            shaped(&mut command, data, query)?;
        }
        Question::FlameJson(query) => {
            command.args(["convert", "--to=flamegraph-json", "-o", "-"]);
            if let Some(value) = &query.shape.value {
                command.arg(format!("--value={value}"));
            }
            chosen(&mut command, data, query)?;
        }
        Question::Difference(query) => {
            command.args(["diff", "--json"]);
            compared(&mut command, data, query)?;
        }
        Question::Tracks { query, columns } => {
            command.args(["timeline", "--json"]);
            command.arg(format!("--columns={columns}"));
            command.arg(format!("-n={}", query.rows));
            chosen(&mut command, data, query)?;
        }
        Question::Tile { query, items } => {
            command.args(["timeline", "--output", "-"]);
            kinds(&mut command);
            command.arg(format!("--most={items}"));
            chosen(&mut command, data, query)?;
        }
        Question::Metrics(query) => {
            command.args(["metrics", "--json"]);
            chosen(&mut command, data, query)?;
        }
        Question::Monitors(query) => {
            command.args(["monitors", "--json"]);
            command.arg(format!("-n={}", query.rows));
            chosen(&mut command, data, query)?;
        }
        Question::Objects(query) => {
            command.args(["objects", "--json"]);
            chosen(&mut command, data, query)?;
        }
        Question::Page(Page::Diff, query) => {
            command.args(["diff", "--html", "--output", "-"]);
            compared(&mut command, data, query)?;
        }
        Question::Page(page, query) => {
            command.args([page.word(), "--output", "-"]);
            kinds(&mut command);
            if *page == Page::Flame {
                command.arg("--html");
                shaped(&mut command, data, query)?;
            } else {
                chosen(&mut command, data, query)?;
            }
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

/// Adds where `dump` begins.
fn within(command: &mut Command, data: &Path, place: &PartOf) {
    command.arg("--json").arg(format!("--start={}", place.at));
    command.arg(format!("--part={}", place.part));
    command.arg(path(data, &[place.id]));
}

/// Adds the order and the columns of a list of calls.
fn listed(command: &mut Command, query: &Query) {
    command.arg(format!("--sort={}", query.sort));
    if let Some(after) = &query.after {
        command.arg(format!("--after={after}"));
    }
    if !query.columns.is_empty() {
        command.arg(format!("--columns={}", query.columns.join(",")));
    }
}

/// Adds the filter and the stretch of time.
fn filtered(command: &mut Command, query: &Query) {
    if !query.filter.is_empty() {
        command.arg(format!("--filter={}", query.filter));
    }
    for (flag, time) in [("since", query.from), ("until", query.to)] {
        if let Some(ns) = time {
            command.arg(format!("--{flag}={ns}"));
        }
    }
}

/// Adds what a query chooses: the path, the filter, the stretch of time.
fn chosen(command: &mut Command, data: &Path, query: &Query) -> io::Result<()> {
    filtered(command, query);
    command.arg(paths(data, query)?);
    Ok(())
}

/// Adds the shape of a tree.
fn shape(command: &mut Command, query: &Query) {
    let shape = &query.shape;
    if let Some(value) = &shape.value {
        command.arg(format!("--value={value}"));
    }
    for (flag, pattern) in [
        ("focus", &shape.focus),
        ("ignore", &shape.ignore),
        ("hide", &shape.hide),
    ] {
        if let Some(pattern) = pattern {
            command.arg(format!("--{flag}={pattern}"));
        }
    }
}

/// Adds what a query chooses and its shape.
fn shaped(command: &mut Command, data: &Path, query: &Query) -> io::Result<()> {
    shape(command, query);
    match query.shape.by.as_deref() {
        None => {}
        Some("thread") => drop(command.arg("--by=thread")),
        Some(dimension) => drop(command.arg(format!("--dimension={dimension}"))),
    }
    chosen(command, data, query)
}

/// Adds two sides: what a query is compared with, and what it chooses.
fn compared(command: &mut Command, data: &Path, query: &Query) -> io::Result<()> {
    shape(command, query);
    filtered(command, query);
    let shape = &query.shape;
    for (flag, time) in [
        ("base-since", shape.base_from),
        ("base-until", shape.base_to),
    ] {
        if let Some(ns) = time {
            command.arg(format!("--{flag}={ns}"));
        }
    }
    let mut before = query.clone();
    if shape.base_from.is_some() || shape.base_to.is_some() {
        before.from = shape.base_from;
    }
    if !shape.base.is_empty() {
        before.captures.clone_from(&shape.base);
        before.services.clear();
    }
    command.arg(paths(data, &before)?).arg(paths(data, query)?);
    Ok(())
}

/// Returns the path of the captures that a query chooses: of its services, named by it, and not received before its time.
fn paths(data: &Path, query: &Query) -> io::Result<OsString> {
    if query.captures.is_empty() && query.services.is_empty() && query.from.is_none() {
        return Ok(data.as_os_str().to_owned());
    }
    if query.services.is_empty() && query.from.is_none() {
        return Ok(path(data, &query.captures));
    }
    let services: HashSet<&str> = query.services.iter().map(String::as_str).collect();
    let folder = DataFolder::open(data).map_err(io::Error::other)?;
    let captures = Captures::read(&folder).map_err(io::Error::other)?.list;
    let entries = catalog::entries(&captures);
    let is_wanted = |capture: &Capture| {
        let is_of = |wanted: &[String], id: String| wanted.is_empty() || wanted.contains(&id);
        let service = capture.identity.service.as_str();
        (services.is_empty() || services.contains(service))
            && is_of(&query.captures, capture.id.to_string())
    };
    let from = query.from.unwrap_or(i64::MIN);
    let of_services = || {
        captures
            .iter()
            .zip(&entries)
            .filter(|(one, _)| is_wanted(one))
    };
    let nothing = |text: String| Err(io::Error::new(io::ErrorKind::NotFound, text));
    if of_services().next().is_none() {
        return match query.services.is_empty() {
            true => nothing("there are no such captures".to_owned()),
            false => nothing(format!("no capture is of {}", query.services.join(", "))),
        };
    }
    let received = of_services().filter(|(_, entry)| entry.until_ns >= from);
    let ids: Vec<CaptureId> = received.map(|(capture, _)| capture.id).collect();
    if ids.is_empty() {
        return nothing("nothing was received since then".to_owned());
    }
    if ids.len() == captures.len() {
        return Ok(data.as_os_str().to_owned());
    }
    // The newest, where not all can be named.
    let mut length = 0;
    let kept = ids.iter().rev().take_while(|id| {
        length += id.to_string().len() + 1;
        length < LONGEST_ARGUMENT
    });
    let first = ids.len() - kept.count();
    Ok(path(data, ids.get(first..).unwrap_or_default()))
}

/// Returns the path of some captures.
fn path(data: &Path, ids: &[impl ToString]) -> OsString {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let mut path = data.as_os_str().to_owned();
    path.push("#");
    path.push(ids.join(","));
    path
}
