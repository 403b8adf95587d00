//! `export`: a capture's streams, as the agent sent them.

use std::path::{Path, PathBuf};

use clap::Args;
use traceloom_formats::Output as _;
use traceloom_input::captures::{CaptureId, Captures, DEFAULT, DataFolder, State};
use traceloom_input::save::Save;

use crate::Outcome;
use crate::args::{Common, reads_nothing};
use crate::numbers::{size, things};
use crate::streams::message;

/// Write a capture's streams as the agent sent them, byte for byte.
///
/// Each stream of an agent is a file STREAM/INDEX of the folder; uploaded files keep their names. `traceloom captures ls` has the ids.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom export 1-7 -o shop/\n  \
    traceloom export 1-7 --data /var/lib/traceloom -o shop/ && traceloom calls shop/")]
pub(crate) struct Options {
    /// Id of the capture.
    #[arg(value_name = "ID", value_parser = str::parse::<CaptureId>)]
    id: CaptureId,
    /// Folder to write.
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
    let mut save = Save::start(Path::new(&options.output), true, options.force)?.verbatim();
    let mut n_bytes = 0;
    for part in &capture.parts {
        // The first component is the sender's own; the others are from a closed list.
        let name = part
            .name
            .split_once('/')
            .map_or(part.name.as_str(), |(_, name)| name);
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
