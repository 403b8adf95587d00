//! `captures`: what a collector received.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::json;
use traceloom_input::captures::{
    Capture, CaptureFacts, CaptureId, Captures, DEFAULT, DataFolder, FactsRow, NoteCounts,
    SessionEnd, State,
};
use traceloom_server::{Answers, Catalog, Question, Request, ask, rebuild_catalog, uuid};

use crate::Outcome;
use crate::answers::AnswerRules;
use crate::args::{Common, DataArgument, SCHEMA, reads_nothing};
use crate::numbers::{count, size, things};
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::timing::received;
use crate::usage::Usage;
use crate::{answers, capture_facts};

/// List what a collector received, pin it, delete it.
///
/// A capture is one connection of an agent. It is listed from its first byte on, while the collector runs as well.
/// A running collector carries out what pin and delete ask for; where none runs, the command does it.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom captures ls\n  \
    traceloom captures ls /var/lib/traceloom --json\n  \
    traceloom captures ls --service shop --since -2h\n  \
    traceloom captures receipts --since -1h\n  \
    traceloom captures pin 1-7\n  \
    traceloom captures rebuild\n  \
    traceloom captures delete --service shop --until 2026-03-01")]
pub(crate) struct Options {
    #[command(subcommand)]
    what: CaptureListing,
    #[command(flatten)]
    _common: Common,
}

#[derive(Subcommand)]
enum CaptureListing {
    /// List captures in the order in which they began.
    Ls(ListCaptures),
    /// List posts that came again and were not stored again, with the posts that they repeat.
    Receipts(ListCaptures),
    /// Have retention leave captures alone.
    Pin(CaptureChoice),
    /// Let retention take captures again.
    Unpin(CaptureChoice),
    /// Decode sealed captures again for the catalog: what `ls` shows of records, notes and times.
    Rebuild(Rebuild),
    /// Print rows of the catalog.
    #[command(hide = true)]
    Facts(CaptureChoice),
    /// Delete captures that ended, to the last chunk that no other capture has.
    Delete(Delete),
}

/// Which captures.
#[derive(Args)]
struct CaptureSelection {
    /// Captures of this service alone.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Captures that began at TIME or later, by the collector's clock: a date, in UTC where it has no zone, or `-2h` from now.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = received)]
    since: Option<i64>,
    /// Captures that began before TIME.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = received)]
    until: Option<i64>,
}

impl CaptureSelection {
    fn is_empty(&self) -> bool {
        self.service.is_none() && self.since.is_none() && self.until.is_none()
    }

    fn has(&self, capture: &Capture) -> bool {
        let service = &capture.identity.service;
        let began = capture.opened_ns;
        self.service.as_ref().is_none_or(|wanted| wanted == service)
            && self
                .since
                .is_none_or(|since| began.is_some_and(|at| at >= since))
            && self
                .until
                .is_none_or(|until| began.is_some_and(|at| at < until))
    }
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct CaptureChoice {
    /// Ids of captures.
    #[arg(value_name = "ID", value_parser = str::parse::<CaptureId>, required = true)]
    ids: Vec<CaptureId>,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct Rebuild {
    #[command(flatten)]
    data: DataArgument,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct Delete {
    /// Ids of captures; without, --service, --since and --until choose.
    #[arg(value_name = "ID", value_parser = str::parse::<CaptureId>)]
    ids: Vec<CaptureId>,
    #[command(flatten)]
    selection: CaptureSelection,
    /// Data folder of the collector.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
    #[command(flatten)]
    _common: Common,
}

#[derive(Args)]
#[command(mut_args(reads_nothing))]
struct ListCaptures {
    #[command(flatten)]
    data: DataArgument,
    #[command(flatten)]
    selection: CaptureSelection,
    /// Print a JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    match &options.what {
        CaptureListing::Ls(options) => ls(options),
        CaptureListing::Receipts(options) => receipts(options),
        CaptureListing::Pin(chosen) => pin(chosen, Request::Pin, true),
        CaptureListing::Unpin(chosen) => pin(chosen, Request::Unpin, false),
        CaptureListing::Delete(options) => delete(options),
        CaptureListing::Rebuild(options) => rebuild(options),
        CaptureListing::Facts(chosen) => {
            let folder = DataFolder::open(&chosen.data)?;
            capture_facts::print(&folder, &chosen.ids, &chosen.common)?;
            Ok(Outcome::Done)
        }
    }
}

fn ls(options: &ListCaptures) -> anyhow::Result<Outcome> {
    let mut captures = Captures::read(&DataFolder::open(options.data.path())?)?;
    captures
        .list
        .retain(|capture| options.selection.has(capture));
    let mut out = stdout();
    if options.json {
        for capture in &captures.list {
            writeln!(out, "{}", as_json(capture))?;
        }
        return Ok(Outcome::Done);
    }
    let style = Style::new(&options.common)?;
    let mut table = Table::new(&[
        "id", "state", "opened", "service", "instance", "streams", "size", "stored", "records",
        "notes", "first", "last",
    ]);
    for capture in &captures.list {
        let n_bytes = capture.parts.iter().map(|part| part.n_bytes).sum();
        let facts = capture.facts.as_ref().and_then(|row| row.facts);
        let (first, last) = facts.and_then(|facts| facts.times).unzip();
        let count_of = |of: fn(&CaptureFacts) -> u64| {
            facts
                .as_ref()
                .map_or_else(String::new, |facts| count(of(facts)))
        };
        let time = |ns: Option<i64>| ns.map_or_else(String::new, |ns| style.when(true, ns));
        table.row([
            capture.id.to_string(),
            state(capture).to_owned(),
            time(capture.opened_ns),
            capture.identity.service.clone(),
            capture.identity.instance.clone(),
            capture.parts.len().to_string(),
            size(n_bytes),
            stored(capture),
            count_of(|facts| facts.n_records),
            count_of(|facts| facts.notes.warn + facts.notes.damage),
            time(first),
            time(last),
        ]);
    }
    table.print(&style, &mut out)?;
    Ok(Outcome::Done)
}

/// Lists posts that came again, in the order in which they came.
fn receipts(options: &ListCaptures) -> anyhow::Result<Outcome> {
    let captures = Captures::read(&DataFolder::open(options.data.path())?)?;
    let chosen = captures
        .list
        .iter()
        .filter(|capture| options.selection.has(capture));
    let receipts = chosen.flat_map(|capture| {
        let receipts = capture.receipts.iter();
        receipts.map(move |receipt| (capture, receipt))
    });
    let mut receipts: Vec<_> = receipts.collect();
    receipts.sort_by_key(|(_, receipt)| receipt.at_ns);
    let mut out = stdout();
    if options.json {
        for (capture, receipt) in receipts {
            let row = json!({
                "at_ns": receipt.at_ns,
                "capture": capture.id.to_string(),
                "original": receipt.original.to_string(),
                "protocol": capture.protocol.map(|protocol| protocol.name),
                "service": capture.identity.service,
                "instance": capture.identity.instance,
                "peer": receipt.peer,
            });
            writeln!(out, "{row}")?;
        }
        return Ok(Outcome::Done);
    }
    let style = Style::new(&options.common)?;
    let mut table = Table::new(&["received", "original", "service", "instance", "peer"]);
    for (capture, receipt) in receipts {
        table.row([
            style.when(true, receipt.at_ns),
            receipt.original.to_string(),
            capture.identity.service.clone(),
            capture.identity.instance.clone(),
            receipt.peer.clone(),
        ]);
    }
    table.print(&style, &mut out)?;
    Ok(Outcome::Done)
}

/// Returns what the chunks of a capture take on disk; nothing for one that is in the log alone.
fn stored(capture: &Capture) -> String {
    let n_stored = capture.parts.iter().map(|part| part.n_stored).sum();
    let pinned = if capture.pinned { ", pinned" } else { "" };
    match capture.revision {
        0 => String::new(),
        _ => format!("{}{pinned}", size(n_stored)),
    }
}

fn pin(
    chosen: &CaptureChoice,
    request: fn(CaptureId) -> Request,
    pinned: bool,
) -> anyhow::Result<Outcome> {
    let folder = DataFolder::open(&chosen.data)?;
    known(&folder, &chosen.ids)?;
    let requests: Vec<_> = chosen.ids.iter().copied().map(request).collect();
    carry_out(&folder, &requests)?;
    let captures = Captures::read(&folder)?.list;
    let wrong = captures
        .iter()
        .find(|capture| chosen.ids.contains(&capture.id) && capture.pinned != pinned);
    match wrong {
        Some(capture) => anyhow::bail!("capture {} is as it was", capture.id),
        None => Ok(Outcome::Done),
    }
}

fn delete(options: &Delete) -> anyhow::Result<Outcome> {
    if options.ids.is_empty() == options.selection.is_empty() {
        let text = "name captures by ID, or choose them by --service, --since and --until";
        return Err(Usage(text.to_owned()).into());
    }
    let folder = DataFolder::open(&options.data)?;
    known(&folder, &options.ids)?;
    let chosen = |capture: &Capture| match options.ids.is_empty() {
        true => options.selection.has(capture),
        false => options.ids.contains(&capture.id),
    };
    // Nothing of it is held while captures are deleted.
    let captures = Captures::read(&folder)?.list;
    let (open, ended): (Vec<_>, Vec<_>) = captures
        .into_iter()
        .filter(chosen)
        .partition(|capture| capture.state == State::Open);
    for capture in &open {
        message!("capture {} is being sent, and is not deleted", capture.id);
    }
    let ids: Vec<CaptureId> = ended.iter().map(|capture| capture.id).collect();
    let requests: Vec<_> = ids.iter().copied().map(Request::Delete).collect();
    if !requests.is_empty() {
        carry_out(&folder, &requests)?;
    }
    let left = Captures::read(&folder)?.list;
    if let Some(left) = left.iter().find(|capture| ids.contains(&capture.id)) {
        anyhow::bail!("capture {} is not deleted", left.id);
    }
    message!(
        "{} deleted",
        things(ids.len() as u64, "capture", "captures")
    );
    Ok(if open.is_empty() {
        Outcome::Done
    } else {
        Outcome::Failed
    })
}

fn rebuild(options: &Rebuild) -> anyhow::Result<Outcome> {
    let folder = DataFolder::open(options.data.path())?;
    let schema = options.common.schema();
    let answers = move |catalog: &Catalog, question: &Question| {
        let mut command = answers::command(catalog, &AnswerRules::default(), question)?;
        command
            .command
            .envs(schema.iter().map(|path| (SCHEMA, path)));
        Ok(command)
    };
    let mut said = Instant::now();
    let n_captures = rebuild_catalog(
        &folder,
        &Answers(Arc::new(answers)),
        &mut |n_done, n_all| {
            if said.elapsed() >= Duration::from_secs(5) {
                message!("{n_done} of {n_all} captures decoded");
                said = Instant::now();
            }
        },
    )?;
    message!(
        "{} decoded",
        things(n_captures as u64, "capture", "captures")
    );
    Ok(Outcome::Done)
}

/// Refuses ids that no capture has.
fn known(folder: &DataFolder, ids: &[CaptureId]) -> anyhow::Result<()> {
    let captures = Captures::read(folder)?.list;
    for id in ids {
        if captures.iter().all(|capture| capture.id != *id) {
            let data = folder.path().display();
            anyhow::bail!("{data} has no capture {id}; `traceloom captures ls` lists them");
        }
    }
    Ok(())
}

fn carry_out(folder: &DataFolder, requests: &[Request]) -> anyhow::Result<()> {
    for refused in ask(folder, requests)? {
        message!("{refused}");
    }
    Ok(())
}

/// Returns a word for where a capture stands: that of its end, if it has one.
fn state(capture: &Capture) -> &str {
    match &capture.state {
        State::Open => "open",
        State::Interrupted => "interrupted",
        State::Closed(SessionEnd { reason, .. }) => reason,
    }
}

fn as_json(capture: &Capture) -> serde_json::Value {
    let parts = capture.parts.iter().map(|part| {
        json!({
            "name": part.name,
            "units": part.n_units,
            "bytes": part.n_bytes,
            "stored_bytes": part.n_stored,
        })
    });
    let commands = capture.commands.iter().map(|command| {
        json!({
            "id": uuid(command.id),
            "command": command.word,
            "succeeded": command.succeeded,
        })
    });
    let closed_ns = match &capture.state {
        State::Closed(SessionEnd { at_ns, .. }) => Some(at_ns),
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
        "version": capture.identity.version,
        "peer": capture.peer,
        "revision": capture.revision,
        "pinned": capture.pinned,
        "facts": capture.facts.as_ref().map(facts_json),
        "parts": parts.collect::<Vec<_>>(),
        "commands": commands.collect::<Vec<_>>(),
        "doubts": capture.doubts,
    })
}

/// Returns what decoding a revision of a capture showed; where it could not be decoded, that alone.
fn facts_json(row: &FactsRow) -> serde_json::Value {
    let Some(facts) = &row.facts else {
        return json!({"revision": row.revision, "decoded": false});
    };
    let (first, last) = facts.times.unzip();
    let NoteCounts { info, warn, damage } = facts.notes;
    json!({
        "revision": row.revision,
        "decoded": true,
        "records": facts.n_records,
        "first_ns": first,
        "last_ns": last,
        "calls": facts.n_calls,
        "errors": facts.n_errors,
        "longest_ns": facts.longest_ns,
        "notes": {"info": info, "warn": warn, "damage": damage},
    })
}
