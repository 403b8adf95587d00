//! What can be typed: the commands, and how each is run.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::Outcome;
use crate::args::Common;
use crate::declared::Declared;
use crate::usage::Usage;

/// Read, check, convert and draw profiler and trace data.
///
/// A PATH is a file, a folder, a zip or tar archive, a pipe or `-` for standard input. Formats are recognised by
/// content, compression is opened on the way.
#[derive(Parser)]
#[command(
    name = "traceloom",
    version,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        traceloom dump/                      what is in it, and what to look at next\n  \
        traceloom check dump/                what is damaged, where\n  \
        traceloom dump calls.bin --json      every record, a JSON object a line\n  \
        traceloom convert dump/ out/ --to cdt-streams"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Say what is in a file: format, records, times, values, notes.
    Info(Declared<crate::info::Options>),
    /// Print every record with its offset and fields.
    Dump(Declared<crate::dump::Options>),
    /// Print every note; exit 1 when something is doubtful or damaged.
    Check(Declared<crate::check::Options>),
    /// List the calls: when, how long, what.
    Calls(Declared<crate::calls::Options>),
    /// Print one call with everything in it, in time order.
    Call(Declared<crate::call::Options>),
    /// List the types of events, or print the events of a type.
    Events(Declared<crate::events::Options>),
    /// Print functions by their own time or value.
    Top(Declared<crate::top::Options>),
    /// Print the call tree.
    Tree(Declared<crate::tree::Options>),
    /// Draw a flame graph as SVG or HTML.
    Flame(Declared<crate::flame::Options>),
    /// Write one page to mail: overview, slowest calls, hot functions, graphs, errors, SQL.
    Report(Declared<crate::report::Options>),
    /// Show tracks over time: spans, waits, pauses, counters, lost data; as a page with -o.
    Timeline(Declared<crate::timeline::Options>),
    /// Compare two recordings: what became slower, and whether that breaks a budget.
    Diff(Declared<crate::diff::Options>),
    /// List the objects that threads waited for: how long, who held them, where.
    Monitors(Declared<crate::monitors::Options>),
    /// List the classes of heap objects: allocated, live, freed, how old.
    Objects(Declared<crate::objects::Options>),
    /// Write the data in another format, and say what that format cannot hold.
    Convert(Declared<crate::convert::Options>),
    /// Derive the metrics of profiles: cores, allocation, pauses, locks.
    Metrics(Declared<crate::metrics::Options>),
    /// Write a part of a recording: a stretch of time, some calls, a fraction of them.
    Slice(Declared<crate::slice::Options>),
    /// Write several recordings as one, on one clock.
    Merge(Declared<crate::merge::Options>),
    /// Collect what agents send, and lose nothing that was acknowledged.
    #[cfg(unix)]
    Serve(Declared<crate::serve::Options>),
    /// Send a recording to a collector as its agents would.
    #[cfg(unix)]
    Send(Declared<crate::send::Options>),
    /// Have a TPTP agent send its data to a collector: start, pause, resume, end.
    #[cfg(unix)]
    Attach(Declared<crate::attach::Options>),
    /// Send files to a collector as they are.
    #[cfg(unix)]
    Push(Declared<crate::push::Options>),
    /// Have the agent of an open connection write a heap dump, a thread dump or a list of its threads.
    #[cfg(unix)]
    #[command(name = "command")]
    Diagnose(Declared<crate::agent_command::Options>),
    /// Make, list and revoke tokens of a collector's HTTP side.
    #[cfg(unix)]
    Token(Declared<crate::token::Options>),
    /// List what a collector received: who sent it, when, how much.
    #[cfg(unix)]
    Captures(Declared<crate::captures::Options>),
    /// Write a capture's streams as the agent sent them.
    Export(Declared<crate::export::Options>),
    /// Look into the log of a collector: segments, records, checksums.
    Log(Declared<crate::log::Options>),
    /// Answer an assistant's questions about recordings (Model Context Protocol).
    Mcp(Declared<crate::mcp::Options>),
    /// List the formats and what can be done with each.
    Formats(Declared<crate::formats::Options>),
    /// Print a completion script for a shell.
    Completions(Declared<crate::completions::Options>),
    /// Print the manual page, or write one page a command to a folder.
    Man(Declared<crate::man::Options>),
}

impl Args {
    /// Runs the command that was typed.
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if let [first, others @ ..] = self.paths.as_slice() {
            let is_command = |name: &&String| {
                let known = Args::command();
                known.find_subcommand(name).is_some() && !std::path::Path::new(name).exists()
            };
            if let Some(name) = others.iter().find(is_command) {
                let reason =
                    format!("`{first}` stands before the command: traceloom {name} {first}");
                return Err(Usage(reason).into());
            }
        }
        self.common.describe()?;
        match self.command {
            None => crate::info::first_look(&self.paths, &self.common),
            Some(Command::Info(options)) => crate::info::run(&options),
            Some(Command::Dump(options)) => crate::dump::run(&options),
            Some(Command::Check(options)) => crate::check::run(&options),
            Some(Command::Call(options)) => crate::call::run(&options),
            Some(Command::Events(options)) => crate::events::run(&options),
            Some(Command::Calls(options)) => crate::calls::run(&options),
            Some(Command::Metrics(options)) => crate::metrics::run(&options),
            Some(Command::Top(options)) => crate::top::run(&options),
            Some(Command::Tree(options)) => crate::tree::run(&options),
            Some(Command::Diff(options)) => crate::diff::run(&options),
            Some(Command::Monitors(options)) => crate::monitors::run(&options),
            Some(Command::Objects(options)) => crate::objects::run(&options),
            Some(Command::Convert(options)) => crate::convert::run(&options),
            Some(Command::Slice(options)) => crate::slice::run(&options),
            Some(Command::Merge(options)) => crate::merge::run(&options),
            Some(Command::Flame(options)) => crate::flame::run(&options),
            Some(Command::Report(options)) => crate::report::run(&options),
            Some(Command::Timeline(options)) => crate::timeline::run(&options),
            #[cfg(unix)]
            Some(Command::Serve(options)) => {
                let file = options.config.as_deref();
                let with_file = file.map(crate::serve_config::read::<Self>).transpose()?;
                match with_file.and_then(|args| args.command) {
                    Some(Command::Serve(options)) => crate::serve::run(&options),
                    _ => crate::serve::run(&options),
                }
            }
            #[cfg(unix)]
            Some(Command::Send(options)) => crate::send::run(&options),
            #[cfg(unix)]
            Some(Command::Attach(options)) => crate::attach::run(&options),
            #[cfg(unix)]
            Some(Command::Push(options)) => crate::push::run(&options),
            #[cfg(unix)]
            Some(Command::Diagnose(options)) => crate::agent_command::run(&options),
            #[cfg(unix)]
            Some(Command::Token(options)) => crate::token::run(&options),
            #[cfg(unix)]
            Some(Command::Captures(options)) => crate::captures::run(&options),
            Some(Command::Export(options)) => crate::export::run(&options),
            Some(Command::Log(options)) => crate::log::run(&options),
            Some(Command::Mcp(options)) => crate::mcp::run(&options),
            Some(Command::Formats(options)) => crate::formats::run(&options),
            Some(Command::Completions(options)) => {
                crate::completions::run(&options, Self::command())
            }
            Some(Command::Man(options)) => crate::man::run(&options, Self::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::COMMANDS;

    #[test]
    fn command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_is_listed_for_hints() {
        let command = Args::command();
        let names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        assert_eq!(names, COMMANDS);
    }
}
