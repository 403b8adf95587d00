//! `traceloom`: one binary for every format. A subcommand is a file; this one only chooses.

#![deny(clippy::print_stderr, clippy::print_stdout)]
#![cfg_attr(
    not(unix),
    allow(dead_code, reason = "what only the collector's commands call")
)]

mod args;
mod asked;
mod attribute_json;
mod beside;
mod bug;
mod call;
mod calls;
mod capture_facts;
mod catalog;
mod categories;
mod check;
mod columnar;
mod command;
mod completions;
mod convert;
mod declared;
mod diff;
mod dimension;
mod dump;
mod event_watch;
mod events;
mod export;
mod fields;
mod flame;
mod formats;
mod graph;
mod groups;
mod info;
mod inputs;
mod interrupt;
mod live;
mod log;
mod lowered;
mod man;
mod mcp;
mod merge;
mod metrics;
mod monitors;
mod numbers;
mod objects;
mod only;
mod open;
mod outcome;
mod output_file;
mod over_time;
mod own_program;
mod percentiles;
mod pick;
mod read_plan;
mod report;
mod resolve;
mod rewrite;
mod rules;
mod select;
mod slice;
mod small_pages;
mod streams;
mod style;
mod table;
mod table_flags;
mod timeline;
mod timing;
mod top;
mod tree;
mod trees;
mod usage;
mod values;

// The collector and what speaks with it stand on calls that only Unix has.
#[cfg(unix)]
mod acknowledged;
#[cfg(unix)]
mod agent_command;
#[cfg(unix)]
mod answers;
#[cfg(unix)]
mod attach;
#[cfg(unix)]
mod captures;
#[cfg(unix)]
mod demo;
#[cfg(unix)]
mod play;
#[cfg(unix)]
mod push;
#[cfg(unix)]
mod send;
#[cfg(unix)]
mod send_posts;
#[cfg(unix)]
mod send_zorka;
#[cfg(unix)]
mod sendable;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod serve_config;
#[cfg(unix)]
mod serve_points;
#[cfg(unix)]
mod serve_pull;
#[cfg(unix)]
mod serve_views;
#[cfg(unix)]
mod tls_flags;
#[cfg(unix)]
mod token;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

pub(crate) use outcome::Outcome;
use streams::{error_line, message, stdout};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match command::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            return ExitCode::from(match streams::usage(&error) {
                Ok(()) if error.use_stderr() => 2,
                printed => ended(printed.map(|()| Outcome::Done).map_err(Into::into)),
            });
        }
    };
    ExitCode::from(to_its_end(|| args.run()))
}

/// Runs a command, tells how it ended and returns the exit code.
fn to_its_end(command: impl FnOnce() -> anyhow::Result<Outcome>) -> u8 {
    interrupt::watch();
    let run = || {
        let outcome = command()?;
        // What a command left in the buffer may still not fit the disk.
        stdout().flush()?;
        Ok(outcome)
    };
    bug::guarded(run).map_or_else(|code| code, ended)
}

/// Tells how a command ended and returns the exit code.
fn ended(result: anyhow::Result<Outcome>) -> u8 {
    match result.map(Outcome::of_everything) {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Failed) => 1,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            tell(&error);
            if error.is::<usage::Usage>() { 2 } else { 1 }
        }
    }
}

/// Prints an error with its causes, each once: some errors say their cause themselves.
pub(crate) fn tell(error: &anyhow::Error) {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    // An expression is shown with a mark under what is wrong with it.
    if text.lines().last().is_some_and(|last| last.trim() == "^") {
        text.lines().enumerate().for_each(|(at, line)| match at {
            0 => message!("{line}"),
            _ => error_line(format_args!("{line}")),
        });
    } else {
        message!("{text}");
    }
}

/// A reader of our output that went away is no failure: `traceloom dump x | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let written = cause.downcast_ref::<traceloom_formats::Error>();
        let io = cause.downcast_ref::<std::io::Error>();
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(|e| e.io_error_kind());
        let kind = io.map(std::io::Error::kind).or(json);
        kind == Some(std::io::ErrorKind::BrokenPipe)
            || written.is_some_and(|error| error.kind() == traceloom_formats::ErrorKind::Closed)
    })
}
