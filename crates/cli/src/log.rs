//! `log`: the segments and records of a collector.

use std::io::{BufWriter, Write as _};

use clap::{Args, Subcommand};
use serde_json::json;
use traceloom_input::captures::{CaptureId, DataFolder, EVENTS, Event};
use traceloom_log::Record;
use traceloom_model::printable;

use crate::Outcome;
use crate::args::{Common, DataArgument, reads_nothing};
use crate::numbers::{count, size, things};
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;

/// Look into the log of a collector.
///
/// Nothing is changed, and the collector may run. docs/durability.md says what the log promises.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom log ls\n  \
    traceloom log verify /var/lib/traceloom\n  \
    traceloom log cat | jq -c 'select(.event)'")]
pub(crate) struct Options {
    #[command(subcommand)]
    what: InspectLog,
    #[command(flatten)]
    _common: Common,
}

#[derive(Subcommand)]
enum InspectLog {
    /// List the segments.
    Ls(InspectedFolder),
    /// Print every record as a JSON object a line.
    Cat(Cat),
    /// Check every checksum, and that nothing is missing; exit 1 when something is.
    Verify(InspectedFolder),
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct InspectedFolder {
    #[command(flatten)]
    data: DataArgument,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct Cat {
    #[command(flatten)]
    folder: InspectedFolder,
    /// Print the records of this capture alone.
    #[arg(long, value_name = "ID", value_parser = str::parse::<CaptureId>)]
    capture: Option<CaptureId>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    match &options.what {
        InspectLog::Ls(options) => ls(options),
        InspectLog::Cat(options) => cat(options),
        InspectLog::Verify(options) => verify(options),
    }
}

fn ls(options: &InspectedFolder) -> anyhow::Result<Outcome> {
    let (snapshot, _) = DataFolder::open(options.data.path())?.snapshot()?;
    let style = Style::new(&options.common)?;
    let mut table = Table::new(&["segment", "start", "first", "records", "groups", "size"]);
    for segment in snapshot.segments() {
        table.row([
            segment.number.to_string(),
            segment.incarnation.to_string(),
            segment.start.to_string(),
            count(segment.end.0 - segment.start.0),
            count(segment.n_groups),
            size(segment.bytes),
        ]);
    }
    table.print(&style, &mut stdout())?;
    Ok(Outcome::Done)
}

fn cat(options: &Cat) -> anyhow::Result<Outcome> {
    let (snapshot, _) = DataFolder::open(options.folder.data.path())?.snapshot()?;
    let mut out = BufWriter::new(stdout());
    let mut reader = snapshot.reader();
    let only = options.capture.map(CaptureId::session);
    while let Some(group) = reader.next_group()? {
        for (position, (offset, record)) in (group.start.0..).zip(group.located()) {
            if only.is_none_or(|only| only == record.session) {
                let row = as_json(position, group.segment, offset, &record);
                writeln!(out, "{row}")?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn as_json(position: u64, segment: u64, offset: u64, record: &Record<'_>) -> serde_json::Value {
    let capture = CaptureId::of_session(record.session).to_string();
    let mut row = json!({
        "position": position,
        "segment": segment,
        "offset": offset,
        "capture": capture,
        "kind": record.kind,
        "bytes": record.bytes.len(),
    });
    if record.stream != EVENTS {
        row["stream"] = record.stream.into();
        return row;
    }
    row["event"] = match Event::decode(record.kind, record.bytes) {
        Some(Event::Opened {
            protocol,
            at_ns,
            peer,
        }) => json!({"opened": {"protocol": protocol, "at_ns": at_ns, "peer": peer}}),
        Some(Event::Closed {
            at_ns,
            orderly,
            reason,
        }) => json!({"closed": {"at_ns": at_ns, "orderly": orderly, "reason": reason}}),
        Some(Event::Seal { at_ns, why }) => json!({"seal": {"at_ns": at_ns, "why": why.word()}}),
        Some(Event::Sealed { revision, manifest }) => {
            json!({"sealed": {"revision": revision, "manifest": manifest.to_string()}})
        }
        Some(Event::Resumed { at_ns, incarnation }) => {
            json!({"resumed": {"at_ns": at_ns, "incarnation": incarnation}})
        }
        Some(Event::Deleted { at_ns, asked }) => {
            json!({"deleted": {"at_ns": at_ns, "asked": asked}})
        }
        None => json!("unknown"),
    };
    row
}

fn verify(options: &InspectedFolder) -> anyhow::Result<Outcome> {
    let folder = DataFolder::open(options.data.path())?;
    let in_use = folder.is_in_use();
    // Every checksum is read on the way, and every segment is held against the one before it.
    let (snapshot, recovered) = folder.snapshot()?;
    let segments = snapshot.segments().count() as u64;
    let records = recovered.end.0 - recovered.start.0;
    writeln!(
        stdout(),
        "{}: {}, {} in them, every checksum holds",
        printable(&options.data.path().to_string_lossy()),
        things(segments, "segment", "segments"),
        things(records, "record", "records")
    )?;
    if let Some(torn) = recovered.torn.filter(|_| !in_use) {
        message!(
            "segment {} ends in {} bytes of an interrupted write at offset {:#x}, which nobody was told was safe ({})",
            torn.segment,
            torn.bytes,
            torn.offset,
            torn.reason
        );
    }
    Ok(Outcome::Done)
}
