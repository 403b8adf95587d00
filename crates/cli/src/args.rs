//! The flags that commands share, and what is wrong with what was typed.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use traceloom_formats::{FORMATS, Format, LowerOptions, by_name, register_schema};
use traceloom_input::captures::DEFAULT;
use traceloom_input::{Buffers, OpenOptions, Streams};
use traceloom_model::Limits;

use crate::asked::RunNames;
use crate::rules::rules_file;
use crate::usage::{Usage, nearest};

/// The schema for programs that this one starts.
pub(crate) const SCHEMA: &str = "TRACELOOM_SCHEMA";
/// The same, as it was called when only TPTP had one.
const TPTP_MESSAGES: &str = "TRACELOOM_TPTP_MESSAGES";

/// Flags that every command which reads takes.
#[derive(Args, Clone, Default)]
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
    /// What recordings hold that their specifications leave open: a file with a line for each. A message of TPTP is its id, its
    /// element, and its fields in wire order as `attribute:kind`, such as `1500 cacheMiss threadIdRef:long time:ticks region:text`.
    /// Kinds are byte, int, signed, long, ticks and text; a stack is `stackDepth:int stack` at the end. A type of Heph's attributes
    /// is `heph type 0x05 bool`, an option `heph option build text`; encodings are bool, byte, int, signed, long, float, text and
    /// bytes.
    #[arg(long, alias = "tptp-messages", global = true, value_name = "FILE", env = SCHEMA, hide_env = true)]
    pub(crate) schema: Option<PathBuf>,
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
    pub(crate) asked: RunNames,
    /// What came from standard input and pipes.
    #[arg(skip)]
    pub(crate) streams: Streams,
    /// Buffers that all inputs are read with.
    #[arg(skip)]
    pub(crate) buffers: Buffers,
}

/// Leaves flags of reading out of the help of a command that reads no recording.
pub(crate) fn reads_nothing(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "input_format" | "strict" | "limit" | "as_recorded" | "schema" => arg.hide(true),
        _ => arg,
    }
}

/// The data folder of a collector, as a PATH or a flag.
#[derive(Args)]
pub(crate) struct DataArgument {
    /// Data folder of the collector; the same as --data.
    #[arg(value_name = "PATH", conflicts_with = "data")]
    folder: Option<PathBuf>,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
}

impl DataArgument {
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

    /// Returns the file that describes what specifications leave open.
    pub(crate) fn schema(&self) -> Option<PathBuf> {
        let earlier = || std::env::var_os(TPTP_MESSAGES).map(PathBuf::from);
        self.schema.clone().or_else(earlier)
    }

    /// Has readers know what the schema describes.
    pub(crate) fn describe(&self) -> anyhow::Result<()> {
        let Some(path) = self.schema() else {
            return Ok(());
        };
        let shown = path.display();
        let schema = rules_file("--schema", &path)?;
        let described = register_schema(&schema);
        Ok(described.map_err(|error| Usage(format!("--schema: {shown}: {error}")))?)
    }

    pub(crate) fn lower_options(&self) -> anyhow::Result<LowerOptions> {
        Ok(LowerOptions {
            limits: self.limits()?,
            as_recorded: self.as_recorded,
            ..LowerOptions::default()
        })
    }

    pub(crate) fn open_options(&self) -> anyhow::Result<OpenOptions> {
        Ok(OpenOptions {
            format: self.input_format,
            limits: self.limits()?,
            streams: self.streams.clone(),
            buffers: self.buffers.clone(),
            ..OpenOptions::default()
        })
    }
}

/// The names of all commands, for hints about what was mistyped.
pub(crate) const COMMANDS: [&str; 31] = [
    "info",
    "dump",
    "check",
    "calls",
    "call",
    "events",
    "top",
    "tree",
    "flame",
    "report",
    "timeline",
    "diff",
    "monitors",
    "objects",
    "convert",
    "metrics",
    "slice",
    "merge",
    "serve",
    "send",
    "attach",
    "push",
    "command",
    "token",
    "captures",
    "export",
    "log",
    "mcp",
    "formats",
    "completions",
    "man",
];

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
