//! `export`: what was received, as it was sent, and what is derived of it.

mod one_file;
mod points;
mod processed;

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use traceloom_formats::Output as _;
use traceloom_input::captures::posts::PostId;
use traceloom_input::captures::{
    Capture, CaptureId, CapturePart, Captures, DEFAULT, DataFolder, State,
};
use traceloom_input::save::Save;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Outcome;
use crate::args::{Common, reads_nothing};
use crate::numbers::{size, things};
use crate::streams::{self, message};
use crate::usage::Usage;

/// Write what was received as it was sent, byte for byte.
///
/// Each stream of an agent is a file STREAM/INDEX of the folder; uploaded files keep their names. `traceloom captures ls` has the ids.
/// An output of `-` is a zip archive with the same files on standard output. A post, by the id that its sender was answered, and a
/// part, by its name (the `oss_path` of a point), are one file.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom export 1-7 -o shop/\n  \
    traceloom export 1-7 -o - > shop.zip\n  \
    traceloom export 1-7 --data /var/lib/traceloom -o shop/ && traceloom calls shop/\n  \
    traceloom export 1-9.3 -o profile.http\n  \
    traceloom export 1-9/datakit/3.http -o profile.http\n  \
    traceloom export --points -o points.lp\n  \
    traceloom export --points 1-9 1-10.2 -o -\n  \
    traceloom export --processed 1-11 -o traces.jsonl")]
pub(crate) struct Options {
    /// Id of a capture or a post, or name of a part.
    #[arg(value_name = "ID", value_parser = str::parse::<Exported>)]
    ids: Vec<Exported>,
    /// Write the points of Datakit's profiles as line protocol: of each its index point, whose `oss_path` is the part that it was
    /// received as, and its metrics. Without ID of all that there are.
    #[arg(long)]
    points: bool,
    /// Write what ZICO's collector makes of the posts of Zorka's agents, a JSON document a line for each marked span; with `metadata`
    /// what is said of it alone, with `tree` its calls and with `stats` their sums by method, in place of the document. Without ID of
    /// all that there are.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = "data", require_equals = true, conflicts_with = "points")]
    processed: Option<processed::DocumentContent>,
    /// Documents of this trace alone, by up to 32 hexadecimal digits.
    #[arg(long, value_name = "ID", requires = "processed", value_parser = trace_id)]
    trace: Option<u128>,
    /// The document of this span alone, by up to 16 hexadecimal digits.
    #[arg(long, value_name = "ID", requires = "processed", value_parser = span_id)]
    span: Option<u64>,
    /// Folder to write, a file for a single part, points or documents; `-` writes to standard output, a folder as a zip archive.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
    /// Replace what this program wrote.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: Common,
}

fn trace_id(text: &str) -> Result<u128, String> {
    let id = u128::from_str_radix(text, 16).ok();
    let id = id.filter(|_| text.len() <= 32);
    id.ok_or_else(|| "a trace id has up to 32 hexadecimal digits".to_owned())
}

fn span_id(text: &str) -> Result<u64, String> {
    let id = u64::from_str_radix(text, 16).ok();
    let id = id.filter(|_| text.len() <= 16);
    id.ok_or_else(|| "a span id has up to 16 hexadecimal digits".to_owned())
}

/// What is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exported {
    Capture(CaptureId),
    Post(PostId),
    /// A part by its name behind the id of its capture.
    Part(CaptureId, String),
}

impl Exported {
    fn capture(&self) -> CaptureId {
        match self {
            Self::Capture(id) | Self::Part(id, _) => *id,
            Self::Post(post) => post.capture,
        }
    }

    /// Returns `true` for a part that is meant.
    fn has(&self, part: &CapturePart) -> bool {
        match self {
            Self::Capture(_) => true,
            Self::Post(post) => PostId::number_of(&part.name) == Some(post.number),
            Self::Part(_, name) => part.name == *name,
        }
    }
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(id) => write!(f, "{id}"),
            Self::Post(post) => write!(f, "{post}"),
            Self::Part(id, name) => write!(f, "{id}/{name}"),
        }
    }
}

impl FromStr for Exported {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((id, name)) => Ok(Self::Part(id.parse()?, name.to_owned())),
            None if text.contains('.') => text.parse().map(Self::Post),
            None => text.parse().map(Self::Capture),
        }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.points {
        return points::run(options);
    }
    if let Some(content) = options.processed {
        return processed::run(options, content);
    }
    let [exported] = options.ids.as_slice() else {
        let text = "name one ID; several go with --points and --processed alone";
        return Err(Usage(text.to_owned()).into());
    };
    let folder = DataFolder::open(&options.data)?;
    let captures = Captures::read_chosen(&folder, &[exported.capture()])?;
    let capture = find(&captures, exported.capture(), &options.data)?;
    if capture.state == State::Open {
        message!(
            "capture {} is being sent: this is its beginning",
            capture.id
        );
    }
    if !matches!(exported, Exported::Capture(_)) {
        return one(options, &captures, capture, exported);
    }
    if options.output == Path::new("-") {
        return archive(&captures, capture);
    }
    let mut save = Save::start(&options.output, true, options.force)?.verbatim();
    let mut n_bytes = 0;
    for part in &capture.parts {
        let name = file_name(part);
        save.write(name, &[])?;
        captures.copy(part, &mut |bytes| save.write(name, bytes))?;
        save.end(name)?;
        n_bytes += part.n_bytes;
    }
    save.commit()?;
    message!(
        "{}, {} in {}",
        things(capture.parts.len() as u64, "stream", "streams"),
        size(n_bytes),
        options.output.display()
    );
    Ok(Outcome::Done)
}

fn find<'c>(captures: &'c Captures, id: CaptureId, data: &Path) -> anyhow::Result<&'c Capture> {
    let found = captures.list.iter().find(|capture| capture.id == id);
    found.ok_or_else(|| {
        let data = data.display();
        anyhow::anyhow!("{data} has no capture {id}; `traceloom captures ls` lists them")
    })
}

/// Writes one part as it is.
fn one(
    options: &Options,
    captures: &Captures,
    capture: &Capture,
    exported: &Exported,
) -> anyhow::Result<Outcome> {
    let part = capture.parts.iter().find(|part| exported.has(part));
    let Some(part) = part else {
        anyhow::bail!(
            "there is no {exported}; `traceloom captures ls --json` lists the parts of capture {}",
            capture.id
        );
    };
    if options.output == Path::new("-") {
        captures.copy(part, &mut |bytes| {
            let written = streams::raw(bytes);
            written.map_err(|error| traceloom_formats::Error::io(error.to_string()))
        })?;
        return Ok(Outcome::Done);
    }
    let mut save = Save::start(&options.output, false, options.force)?.verbatim();
    captures.copy(part, &mut |bytes| save.write("", bytes))?;
    save.commit()?;
    message!("{} in {}", size(part.n_bytes), options.output.display());
    Ok(Outcome::Done)
}

/// Returns the name of a part's file. The first component is the sender's own; the others are from a closed list.
fn file_name(part: &CapturePart) -> &str {
    let name = part.name.split_once('/');
    name.map_or(part.name.as_str(), |(_, name)| name)
}

/// Writes an archive of the streams to standard output, as they are read.
fn archive(captures: &Captures, capture: &Capture) -> anyhow::Result<Outcome> {
    const LARGE: u64 = u32::MAX as u64;
    let mut zip = ZipWriter::new_stream(BufWriter::with_capacity(64 << 10, RawStdout));
    for part in &capture.parts {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(part.n_bytes > LARGE);
        zip.start_file(file_name(part), options)?;
        captures.copy(part, &mut |bytes| {
            let written = zip.write_all(bytes);
            written.map_err(|error| traceloom_formats::Error::io(error.to_string()))
        })?;
    }
    zip.finish()?.into_inner().flush()?;
    Ok(Outcome::Done)
}

/// Standard output for bytes that nobody reads on a terminal.
pub(crate) struct RawStdout;

impl Write for RawStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        streams::raw(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
