//! What can be typed: the subcommands and the flags they share.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use traceloom_formats::{FORMATS, Format, LowerOptions, by_name};
use traceloom_input::captures::DEFAULT;
use traceloom_input::{OpenOptions, Streams};
use traceloom_model::Limits;

use crate::asked::Asked;

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
    Info(crate::info::Options),
    /// Print every record with its offset and fields.
    Dump(crate::dump::Options),
    /// Print every note; exit 1 when something is doubtful or damaged.
    Check(crate::check::Options),
    /// List the calls: when, how long, what.
    Calls(crate::calls::Options),
    /// Print one call with everything in it, in time order.
    Call(crate::call::Options),
    /// List the types of events, or print the events of a type.
    Events(crate::events::Options),
    /// Print functions by their own time or value.
    Top(crate::top::Options),
    /// Print the call tree.
    Tree(crate::tree::Options),
    /// Draw a flame graph as SVG or HTML.
    Flame(crate::flame::Options),
    /// Write one page to mail: overview, slowest calls, hot functions, graphs, errors, SQL.
    Report(crate::report::Options),
    /// Show tracks over time: spans, waits, pauses, counters, lost data; as a page with -o.
    Timeline(crate::timeline::Options),
    /// Compare two recordings: what became slower, and whether that breaks a budget.
    Diff(crate::diff::Options),
    /// List the objects that threads waited for: how long, who held them, where.
    Monitors(crate::monitors::Options),
    /// List the classes of heap objects: allocated, live, freed, how old.
    Objects(crate::objects::Options),
    /// Write the data in another format, and say what that format cannot hold.
    Convert(crate::convert::Options),
    /// Derive the metrics of profiles: cores, allocation, pauses, locks.
    Metrics(crate::metrics::Options),
    /// Write a part of a recording: a stretch of time, some calls, a fraction of them.
    Slice(crate::slice::Options),
    /// Write several recordings as one, on one clock.
    Merge(crate::merge::Options),
    /// Collect what agents send, and lose nothing that was acknowledged.
    Serve(crate::serve::Options),
    /// Send a recording to a collector as its agents would.
    Send(crate::send::Options),
    /// Send files to a collector as they are.
    Push(crate::push::Options),
    /// Make, list and revoke tokens of a collector's HTTP side.
    Token(crate::token::Options),
    /// List what a collector received: who sent it, when, how much.
    Captures(crate::captures::Options),
    /// Write a capture's streams as the agent sent them.
    Export(crate::export::Options),
    /// Look into the log of a collector: segments, records, checksums.
    Log(crate::log::Options),
    /// List the formats and what can be done with each.
    Formats(crate::formats::Options),
    /// Print a completion script for a shell.
    Completions(crate::completions::Options),
    /// Print the manual page, or write one page a command to a folder.
    Man(crate::man::Options),
}

/// Flags that every command which reads takes.
#[derive(ClapArgs, Clone, Default)]
pub(crate) struct Common {
    /// Read the input as this format instead of recognising it.
    #[arg(long, global = true, value_name = "NAME", value_parser = format_named)]
    pub(crate) input_format: Option<&'static Format>,
    /// Stop at the first damage.
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Set a limit on what is believed of an input, such as `string=1048576`; may be repeated. There are string, depth,
    /// table, open_spans, values and record, and for bytes that come out of compression and archives part_bytes (1 TiB),
    /// total_bytes (4 TiB) and ratio (1000 to 1, above 256 MiB); plain files are read in windows, whatever their length.
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
    /// Show what was recorded and infer nothing: events of actors stay on the stream they were written to.
    #[arg(long, global = true)]
    pub(crate) as_recorded: bool,
    /// Time zone of printed times, such as `Europe/Berlin`.
    #[arg(long, global = true, value_name = "ZONE", default_value = "UTC")]
    pub(crate) tz: String,
    /// When to colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// The inputs were read before, and what is wrong with them is told.
    #[arg(skip)]
    pub(crate) again: bool,
    /// The names that other flags ask for.
    #[arg(skip)]
    pub(crate) asked: Asked,
    /// What came from standard input and pipes.
    #[arg(skip)]
    pub(crate) streams: Streams,
}

/// Leaves flags of reading out of the help of a command that reads no recording.
pub(crate) fn reads_nothing(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "input_format" | "strict" | "limit" | "as_recorded" => arg.hide(true),
        _ => arg,
    }
}

/// The data folder of a collector, as a PATH or a flag.
#[derive(ClapArgs)]
pub(crate) struct Data {
    /// Data folder of the collector; the same as --data.
    #[arg(value_name = "PATH", conflicts_with = "data")]
    folder: Option<PathBuf>,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
}

impl Data {
    pub(crate) fn path(&self) -> &Path {
        self.folder.as_deref().unwrap_or(&self.data)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Common {
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        let mut limits = Limits::default();
        for setting in &self.limit {
            let (name, value) = setting
                .split_once('=')
                .ok_or_else(|| Usage(format!("--limit takes NAME=VALUE, not `{setting}`")))?;
            let value = value
                .parse()
                .map_err(|_| Usage(format!("--limit {name}: `{value}` is not a whole number")))?;
            limits
                .set(name, value)
                .map_err(|error| Usage(error.to_string()))?;
        }
        Ok(limits)
    }

    pub(crate) fn lower_options(&self) -> anyhow::Result<LowerOptions> {
        Ok(LowerOptions {
            limits: self.limits()?,
            only: None,
            as_recorded: self.as_recorded,
            whole: None,
        })
    }

    pub(crate) fn open_options(&self) -> anyhow::Result<OpenOptions> {
        Ok(OpenOptions {
            format: self.input_format,
            limits: self.limits()?,
            streams: self.streams.clone(),
            ..OpenOptions::default()
        })
    }
}

/// Something typed that cannot be meant: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Finds a format to read for a flag, or says which name is nearest.
pub(crate) fn format_named(name: &str) -> Result<&'static Format, String> {
    let is_read = |format: &Format| format.reader.is_some() || format.lower.is_some();
    match by_name(name) {
        Some(format) if is_read(format) => Ok(format),
        Some(_) => Err(format!("`{name}` is written, not read")),
        None => {
            let names = FORMATS.iter().filter(|format| is_read(format));
            let hint = nearest(name, names.map(|format| format.name));
            let hint = hint.map(|near| format!("; did you mean `{near}`?"));
            let hint = hint.unwrap_or_else(|| "; `traceloom formats` lists them".to_owned());
            Err(format!("there is no format `{name}`{hint}"))
        }
    }
}

/// Returns the name that differs least from `typed`, if any is near: people mistype what follows the
/// first letter, or stop early.
pub(crate) fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// Fewer letters are the beginning of too many names.
    const PREFIX: usize = 3;
    let typed = typed.to_lowercase();
    let most = 1 + typed.len() / 4;
    let scored = names.filter_map(|name| {
        let lower = name.to_lowercase();
        if lower.chars().next() != typed.chars().next() {
            return None;
        }
        let distance = distance(&typed, &lower);
        let begins = typed.len() >= PREFIX && lower.starts_with(&typed);
        (begins || distance <= most)
            .then_some((distance.min(if begins { most } else { distance }), name))
    });
    scored.min().map(|(_, name)| name)
}

/// Levenshtein distance over characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn near_names_are_found() {
        let names = ["info", "dump", "check"];
        assert_eq!(nearest("inof", names.into_iter()), Some("info"));
        assert_eq!(nearest("calls.bin", names.into_iter()), None);
        assert_eq!(nearest("nope", ["top"].into_iter()), None);
        let columns = ["duration", "Queue", "title"];
        assert_eq!(nearest("durat", columns.into_iter()), Some("duration"));
        assert_eq!(nearest("duraton", columns.into_iter()), Some("duration"));
        assert_eq!(nearest("queu", columns.into_iter()), Some("Queue"));
        assert_eq!(nearest("du", columns.into_iter()), None);
    }
}
