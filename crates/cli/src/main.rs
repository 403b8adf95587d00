//! `traceloom`: one binary for every format. A subcommand is a file; this one only chooses.

#![deny(clippy::print_stderr, clippy::print_stdout)]

mod args;
mod asked;
mod attribute_json;
mod bug;
mod call;
mod calls;
mod captures;
mod categories;
mod check;
mod columnar;
mod completions;
mod convert;
mod diff;
mod dump;
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
mod log;
mod lowered;
mod man;
mod merge;
mod metrics;
mod monitors;
mod objects;
mod only;
mod open;
mod outcome;
mod output_file;
mod over_time;
mod percentiles;
mod pick;
mod push;
mod read_plan;
mod report;
mod resolve;
mod rewrite;
mod select;
mod send;
mod serve;
mod slice;
mod streams;
mod style;
mod table;
mod table_flags;
mod timeline;
mod timing;
mod token;
mod top;
mod tree;
mod trees;
mod values;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use args::{Args, Command};
pub(crate) use outcome::Outcome;
use streams::{error_line, message, stdout};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            return match streams::usage(&error) {
                Ok(()) if error.use_stderr() => ExitCode::from(2),
                printed => ended(printed.map(|()| Outcome::Done).map_err(Into::into)),
            };
        }
    };
    interrupt::watch();
    let run = || {
        let outcome = run(args)?;
        // What a command left in the buffer may still not fit the disk.
        stdout().flush()?;
        Ok(outcome)
    };
    bug::guarded(run).map_or_else(ExitCode::from, ended)
}

/// Tells how a command ended and returns the exit code.
fn ended(result: anyhow::Result<Outcome>) -> ExitCode {
    match result.map(Outcome::of_everything) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&error);
            ExitCode::from(if error.is::<args::Usage>() { 2 } else { 1 })
        }
    }
}

fn run(args: Args) -> anyhow::Result<Outcome> {
    if let [first, others @ ..] = args.paths.as_slice() {
        let is_command = |name: &&String| {
            let known = Args::command();
            known.find_subcommand(name).is_some() && !std::path::Path::new(name).exists()
        };
        if let Some(name) = others.iter().find(is_command) {
            let reason = format!("`{first}` stands before the command: traceloom {name} {first}");
            return Err(args::Usage(reason).into());
        }
    }
    match args.command {
        None => info::first_look(&args.paths, &args.common),
        Some(Command::Info(options)) => info::run(&options),
        Some(Command::Dump(options)) => dump::run(&options),
        Some(Command::Check(options)) => check::run(&options),
        Some(Command::Call(options)) => call::run(&options),
        Some(Command::Events(options)) => events::run(&options),
        Some(Command::Calls(options)) => calls::run(&options),
        Some(Command::Metrics(options)) => metrics::run(&options),
        Some(Command::Top(options)) => top::run(&options),
        Some(Command::Tree(options)) => tree::run(&options),
        Some(Command::Diff(options)) => diff::run(&options),
        Some(Command::Monitors(options)) => monitors::run(&options),
        Some(Command::Objects(options)) => objects::run(&options),
        Some(Command::Convert(options)) => convert::run(&options),
        Some(Command::Slice(options)) => slice::run(&options),
        Some(Command::Merge(options)) => merge::run(&options),
        Some(Command::Flame(options)) => flame::run(&options),
        Some(Command::Report(options)) => report::run(&options),
        Some(Command::Timeline(options)) => timeline::run(&options),
        Some(Command::Serve(options)) => serve::run(&options),
        Some(Command::Push(options)) => push::run(&options),
        Some(Command::Token(options)) => token::run(&options),
        Some(Command::Send(options)) => send::run(&options),
        Some(Command::Captures(options)) => captures::run(&options),
        Some(Command::Export(options)) => export::run(&options),
        Some(Command::Log(options)) => log::run(&options),
        Some(Command::Formats(options)) => formats::run(&options),
        Some(Command::Completions(options)) => completions::run(&options),
        Some(Command::Man(options)) => man::run(&options),
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
