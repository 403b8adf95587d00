//! `export`: a capture's streams, as the agent sent them.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use traceloom_formats::Output as _;
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

/// Write a capture's streams as the agent sent them, byte for byte.
///
/// Each stream of an agent is a file STREAM/INDEX of the folder; uploaded files keep their names. `traceloom captures ls` has the ids.
/// An output of `-` is a zip archive with the same files on standard output.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom export 1-7 -o shop/\n  \
    traceloom export 1-7 -o - > shop.zip\n  \
    traceloom export 1-7 --data /var/lib/traceloom -o shop/ && traceloom calls shop/")]
pub(crate) struct Options {
    /// Id of the capture.
    #[arg(value_name = "ID", value_parser = str::parse::<CaptureId>)]
    id: CaptureId,
    /// Folder to write; `-` writes a zip archive to standard output.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
    /// Replace a folder that this program wrote.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    _common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let captures = Captures::read(&DataFolder::open(&options.data)?)?;
    let found = captures
        .list
        .iter()
        .find(|capture| capture.id == options.id);
    let Some(capture) = found else {
        let data = options.data.display();
        anyhow::bail!(
            "{data} has no capture {}; `traceloom captures ls` lists them",
            options.id
        );
    };
    if capture.state == State::Open {
        message!(
            "capture {} is being sent: this is its beginning",
            capture.id
        );
    }
    if options.output == Path::new("-") {
        return archive(&captures, capture);
    }
    let mut save = Save::start(Path::new(&options.output), true, options.force)?.verbatim();
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
struct RawStdout;

impl Write for RawStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        streams::raw(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
