//! `captures`: what a collector received.

use std::io::Write as _;

use clap::{Args, Subcommand};
use serde_json::json;
use traceloom_input::captures::{Capture, Captures, DataFolder, State};

use crate::Outcome;
use crate::args::{Common, Data, reads_nothing};
use crate::numbers::size;
use crate::streams::stdout;
use crate::style::Style;
use crate::table::Table;

/// List what a collector received: who sent it, when, how much.
///
/// A capture is one connection of an agent. It is listed from its first byte on, while the collector runs as well.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom captures ls\n  \
    traceloom captures ls /var/lib/traceloom --json")]
pub(crate) struct Options {
    #[command(subcommand)]
    what: Listing,
    #[command(flatten)]
    _common: Common,
}

#[derive(Subcommand)]
enum Listing {
    /// List captures in the order in which they began.
    Ls(Ls),
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct Ls {
    #[command(flatten)]
    data: Data,
    /// Print a JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let Listing::Ls(options) = &options.what;
    let captures = Captures::read(&DataFolder::open(options.data.path())?)?;
    let mut out = stdout();
    if options.json {
        for capture in &captures.list {
            writeln!(out, "{}", as_json(capture))?;
        }
        return Ok(Outcome::Done);
    }
    let style = Style::new(&options.common)?;
    let mut table = Table::new(&[
        "id", "state", "opened", "service", "instance", "streams", "size",
    ]);
    for capture in &captures.list {
        let n_bytes = capture.parts.iter().map(|part| part.n_bytes).sum();
        table.row([
            capture.id.to_string(),
            state(capture).to_owned(),
            capture
                .opened_ns
                .map_or_else(String::new, |ns| style.when(true, ns)),
            capture.identity.service.clone(),
            capture.identity.instance.clone(),
            capture.parts.len().to_string(),
            size(n_bytes),
        ]);
    }
    table.print(&style, &mut out)?;
    Ok(Outcome::Done)
}

/// Returns a word for where a capture stands: that of its end, if it has one.
fn state(capture: &Capture) -> &str {
    match &capture.state {
        State::Open => "open",
        State::Interrupted => "interrupted",
        State::Closed { reason, .. } => reason,
    }
}

fn as_json(capture: &Capture) -> serde_json::Value {
    let parts = capture
        .parts
        .iter()
        .map(|part| json!({"name": part.name, "units": part.n_units, "bytes": part.n_bytes}));
    let closed_ns = match &capture.state {
        State::Closed { at_ns, .. } => Some(at_ns),
        _ => None,
    };
    json!({
        "id": capture.id.to_string(),
        "protocol": capture.protocol.map(|protocol| protocol.name),
        "state": state(capture),
        "opened_ns": capture.opened_ns,
        "closed_ns": closed_ns,
        "namespace": capture.identity.namespace,
        "service": capture.identity.service,
        "instance": capture.identity.instance,
        "peer": capture.peer,
        "parts": parts.collect::<Vec<_>>(),
        "doubts": capture.doubts,
    })
}
