//! `info`: what is in an input.

mod print;
mod summary;
mod value_totals;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use serde_json::json;
use traceloom_formats::datakit::EventKind;
use traceloom_formats::{Record, RecordSink, RecordSums, RecordingSummary, Source as _};
use traceloom_input::{Document, Input, lower};
use traceloom_model::bounds::in_memory;
use traceloom_model::{Flow, Level, Limits, Note, Notes, PartId, Sink as _, StringId, Unit};

use self::print::print;
use self::value_totals::ValueTotals;
use crate::Outcome;
use crate::args::Common;
use crate::beside::{Cancellable, beside};
use crate::numbers::count;
use crate::open::{open_among, require, with_progress};
use crate::outcome::heed;
use crate::streams::stdout;
use crate::style::Style;

/// Say what is in a file: format, records, times, values, notes.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    traceloom info dump/\n  \
    traceloom info calls.bin --json | jq .records")]
pub(crate) struct Options {
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Print every part of a folder or archive, not a summary of those that belong to one process.
    #[arg(long)]
    parts: bool,
    /// Print one JSON object an input.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    show(options).map(|(outcome, _)| outcome)
}

/// Prints what is in the inputs; returns the command that shows more of the last one.
fn show(options: &Options) -> anyhow::Result<(Outcome, Option<&'static str>)> {
    let style = Style::new(&options.common)?;
    let mut out = stdout();
    let mut failed = false;
    let mut next = None;
    for path in &options.paths {
        let Some(input) = open_among(path, &options.paths, &options.common)? else {
            failed = true;
            continue;
        };
        let facts = with_progress(&input, "reading", || gather(&input, &options.common))?;
        let stopped = facts.iter().any(|facts| facts.stopped);
        failed |= stopped;
        if options.json {
            serde_json::to_writer(&mut out, &as_json(&input, &facts))?;
            writeln!(out)?;
        } else {
            print(&input, &facts, options, &style, &mut out)?;
        }
        next = next_command(&input, &facts);
        if stopped {
            break;
        }
    }
    out.flush()?;
    let outcome = match failed {
        true => Outcome::Failed,
        false => Outcome::Done,
    };
    Ok((outcome, next))
}

/// `traceloom FILE` alone: the facts and the next useful command.
pub(crate) fn first_look(paths: &[String], common: &Common) -> anyhow::Result<Outcome> {
    require(paths)?;
    let options = Options {
        paths: paths.to_vec(),
        parts: false,
        json: false,
        common: common.clone(),
    };
    let (outcome, next) = show(&options)?;
    let style = Style::new(common)?;
    if let ([path], Some(command)) = (paths, next)
        && path != "-"
    {
        let hint = format!("next: traceloom {command} {}", shell_word(path));
        writeln!(stdout(), "{}", style.dim(hint))?;
    }
    Ok(outcome)
}

/// Chooses what to look at next: what is wrong with the input, else the first view that shows some of it.
fn next_command(input: &Input, facts: &[PartSummary]) -> Option<&'static str> {
    if facts
        .iter()
        .any(|facts| facts.notes.worst() > Some(Level::Info))
    {
        return Some("check");
    }
    let shows = |what: fn(&PartSummary) -> bool| facts.iter().any(what);
    if shows(|facts| facts.spans) {
        Some("calls")
    } else if shows(|facts| !facts.values.is_empty()) {
        Some("top")
    } else if shows(|facts| facts.events) {
        Some("events")
    } else {
        let mut formats = input.parts().iter().filter_map(|part| part.part.format);
        formats.find_map(|format| format.reader).map(|_| "dump")
    }
}

pub(crate) fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// What was learnt of one part.
#[derive(Default)]
pub(crate) struct PartSummary {
    pub(crate) records: RecordCounts,
    pub(crate) decoded: u64,
    pub(crate) time: Option<(i64, i64)>,
    /// Where zero of the times lies, as far as a record said so.
    zero: Option<i64>,
    /// The clock of these times, where its zero is no date.
    clock: Option<String>,
    pub(crate) values: Vec<ValueColumn>,
    pub(crate) notes: Notes,
    pub(crate) stopped: bool,
    /// The recording that begins with this part has spans.
    spans: bool,
    /// It has events.
    events: bool,
    strict: bool,
    /// Records are not looked at.
    notes_only: bool,
}

impl PartSummary {
    /// Of a part that is read to its end, or to the first damage.
    pub(crate) fn new(strict: bool) -> Self {
        Self {
            strict,
            ..Self::default()
        }
    }

    /// The same, of which only the notes are wanted.
    pub(crate) fn of_notes(strict: bool) -> Self {
        Self {
            notes_only: true,
            ..Self::new(strict)
        }
    }

    /// Widens the times that are covered, by those of records.
    fn cover(&mut self, time: Option<(i64, i64)>) {
        let Some((start, end)) = time else {
            return;
        };
        let zero = self.zero.unwrap_or(0);
        let (start, end) = (start.saturating_add(zero), end.saturating_add(zero));
        let (first, last) = self.time.unwrap_or((start, end));
        self.time = Some((first.min(start), last.max(end)));
    }

    /// Takes what a format summed up of the part called `file`.
    fn of(summary: RecordingSummary, file: &str, common: &Common) -> Self {
        let mut totals = ValueTotals::default();
        let _ = totals.define(summary.definitions);
        totals.tables.clock = summary.clock;
        let sums = summary.values.iter();
        totals.sums = sums
            .map(|sum| ((sum.profile, sum.column), (sum.samples, sum.total)))
            .collect();
        Self {
            records: RecordCounts {
                counts: summary.records.into_iter().collect(),
                ..RecordCounts::default()
            },
            decoded: summary.bytes,
            time: summary.time,
            clock: totals.clock(),
            values: totals.values(file),
            spans: summary.spans,
            events: summary.events,
            strict: common.strict,
            ..Self::default()
        }
    }
}

/// Kinds of records whose places are remembered, as a power of two.
const SLOT_BITS: u32 = 6;

/// How many records of each kind there are.
#[derive(Default)]
pub(crate) struct RecordCounts {
    counts: Vec<(String, u64)>,
    /// Where to look for a kind first, by where its text is in memory: mostly those of a format stay where they are, so that one
    /// comparison finds them.
    found: Vec<usize>,
}

impl RecordCounts {
    fn add(&mut self, kind: &str, n: u64) {
        // Texts of a program lie one behind the other: multiplying spreads them.
        let spread = (kind.as_ptr().addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = in_memory(spread >> (u64::BITS - SLOT_BITS));
        let hint = self.found.get(slot).copied().unwrap_or_default();
        let is_known = |at: &usize| self.counts.get(*at).is_some_and(|(known, _)| known == kind);
        let at = match is_known(&hint) {
            true => hint,
            false => (0..self.counts.len())
                .find(is_known)
                .unwrap_or(self.counts.len()),
        };
        match self.counts.get_mut(at) {
            Some((_, count)) => *count += n,
            None => {
                self.counts.push((kind.to_owned(), n));
                self.found.resize(1 << SLOT_BITS, 0);
            }
        }
        if let Some(found) = self.found.get_mut(slot) {
            *found = at;
        }
    }

    /// Returns the number of records.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    fn sorted(&self) -> BTreeMap<&str, u64> {
        self.counts
            .iter()
            .map(|(kind, count)| (kind.as_str(), *count))
            .collect()
    }
}

/// One value column of the samples in a part.
pub(crate) struct ValueColumn {
    name: String,
    unit: String,
    samples: u64,
    total: i128,
    /// What Datakit calls it in the language of the recording, and how it is shown there.
    event: Option<EventKind>,
}

impl ValueColumn {
    fn json(&self) -> serde_json::Value {
        let whole = |total: i128| {
            i64::try_from(total).map_or_else(|_| json!(total.to_string()), |n| json!(n))
        };
        let mut object = json!({
            "type": self.name,
            "unit": self.unit,
            "samples": self.samples,
            "total": whole(self.total),
        });
        if let (Some(event), Some(object)) = (self.event, object.as_object_mut()) {
            let (unit, factor) = event.quantity.display();
            object.insert("event_type".into(), event.name.into());
            object.insert("shown".into(), whole(self.total / i128::from(factor)));
            object.insert("shown_unit".into(), unit.into());
        }
        object
    }

    fn line(&self) -> String {
        let samples = count(self.samples);
        let Some(event) = self.event else {
            return format!(
                "{} {} {}, {samples} samples",
                self.name, self.total, self.unit
            );
        };
        let (unit, factor) = event.quantity.display();
        let shown = self.total / i128::from(factor);
        let shown = u64::try_from(shown).map_or_else(|_| shown.to_string(), count);
        let own = match self.name == event.name {
            true => String::new(),
            false => format!(" ({})", self.name),
        };
        let amount = format!("{shown} {unit}");
        format!(
            "{}{own} {}, {samples} samples",
            event.name,
            amount.trim_end()
        )
    }
}

impl RecordSink for PartSummary {
    fn record(&mut self, record: &dyn Record) -> Flow {
        if self.notes_only {
            return Flow::Continue(());
        }
        let record = record.summary();
        self.records.add(record.kind, 1);
        self.decoded = self.decoded.max(record.end);
        if let Some(zero) = record.time_zero {
            if self.zero.is_none() {
                let dated = |time: i64| time.saturating_add(zero);
                self.time = self.time.map(|(first, last)| (dated(first), dated(last)));
            }
            self.zero = Some(zero);
        }
        self.cover(record.time);
        Flow::Continue(())
    }

    fn only_sums(&self) -> bool {
        true
    }

    fn only_notes(&self) -> bool {
        self.notes_only
    }

    fn sums(&mut self, sums: &RecordSums<'_>) -> Flow {
        if self.notes_only {
            return Flow::Continue(());
        }
        for &(kind, n) in sums.kinds.iter().filter(|&&(_, n)| n > 0) {
            self.records.add(kind, n);
        }
        self.decoded = self.decoded.max(sums.end);
        self.cover(sums.time);
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        heed(&note);
        let stop = self.strict && note.level == Level::Damage;
        self.notes.push(note);
        self.stopped |= stop;
        if stop {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }
}

/// What lowering a recording told.
struct RecordingSums {
    clock: Option<String>,
    values: Vec<ValueColumn>,
    spans: bool,
    events: bool,
}

/// Reads every part once; lowers the recordings at the same time, for clocks and totals.
fn gather(input: &Input, common: &Common) -> anyhow::Result<Vec<PartSummary>> {
    let mut summed = summed_up(input, common)?;
    let options = common.lower_options()?;
    let is_left = |document: &Document<'_>| {
        let first = document.members().next();
        first.is_some_and(|(first, _)| !summed.contains_key(&first))
    };
    let documents: Vec<Document<'_>> = input.documents().filter(is_left).collect();
    if documents.is_empty() {
        return gather_parts(input, &mut summed, common);
    }
    let (read, lowered) = beside(
        |cancelled| {
            let all = gather_parts(input, &mut summed, common);
            let is_done = |facts: &Vec<PartSummary>| facts.iter().all(|facts| !facts.stopped);
            if !all.as_ref().is_ok_and(is_done) {
                cancelled.set();
            }
            all
        },
        |cancelled| {
            let totals = documents.iter().map(|document| {
                let mut totals = ValueTotals::default();
                let mut sink = Cancellable {
                    sink: &mut totals,
                    cancelled,
                };
                lower(document, &options, &mut sink)?;
                let name = document.members().next();
                let name = name.map_or("", |(_, part)| &part.part.name);
                Ok(RecordingSums {
                    clock: totals.clock(),
                    values: totals.values(name),
                    spans: totals.spans,
                    events: totals.events,
                })
            });
            totals.collect::<anyhow::Result<Vec<_>>>()
        },
    );
    let mut all = read?;
    if all.iter().any(|facts| facts.stopped) {
        return Ok(all);
    }
    for (document, sums) in documents.iter().zip(lowered?) {
        for (member, _) in document.members() {
            if let Some(facts) = all.get_mut(member) {
                facts.clock.clone_from(&sums.clock);
            }
        }
        let first = document.members().next();
        if let Some(facts) = first.and_then(|(first, _)| all.get_mut(first)) {
            facts.values = sums.values;
            (facts.spans, facts.events) = (sums.spans, sums.events);
        }
    }
    Ok(all)
}

/// Reads the records of the parts up to one that stops, but for those that are summed up; several parts at once.
fn gather_parts(
    input: &Input,
    summed: &mut HashMap<usize, PartSummary>,
    common: &Common,
) -> anyhow::Result<Vec<PartSummary>> {
    let n_parts = input.parts().len();
    let (limits, strict) = (common.limits()?, common.strict);
    let (next, last) = (AtomicUsize::new(0), AtomicUsize::new(n_parts));
    let gathered: Mutex<HashMap<usize, anyhow::Result<PartSummary>>> = Mutex::default();
    let known: &HashMap<usize, PartSummary> = summed;
    let gather = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= last.load(Ordering::Relaxed) {
                break;
            }
            let facts = match known.contains_key(&at) {
                true => continue,
                false => gather_part(input, at, &limits, PartSummary::new(strict)),
            };
            if facts.as_ref().map_or(true, |facts| facts.stopped) {
                last.fetch_min(at, Ordering::Relaxed);
            }
            if let Ok(mut gathered) = gathered.lock() {
                gathered.insert(at, facts);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = match n_parts {
            0 | 1 => 1,
            _ => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        for _ in 1..threads.min(n_parts) {
            scope.spawn(gather);
        }
        gather();
    });
    let mut gathered = gathered.into_inner().unwrap_or_default();
    let mut all = Vec::new();
    for at in 0..n_parts {
        let facts = match summed.remove(&at) {
            Some(facts) => facts,
            None => gathered
                .remove(&at)
                .unwrap_or_else(|| Ok(PartSummary::default()))?,
        };
        let stopped = facts.stopped;
        all.push(facts);
        if stopped {
            break;
        }
    }
    Ok(all)
}

/// Sums up, by the numbers of their parts, the recordings whose formats can do that in one pass.
fn summed_up(input: &Input, common: &Common) -> anyhow::Result<HashMap<usize, PartSummary>> {
    let mut summed = HashMap::new();
    for document in input.documents() {
        let summarise = document.format().and_then(|format| format.summarise);
        let (Some(summarise), Some((at, part))) = (summarise, document.members().next()) else {
            continue;
        };
        // What has to be decompressed is decompressed once for each pass that opens it.
        if document.seekable_size().is_none() {
            continue;
        }
        if let Some(mut summary) = summarise(&document, &common.limits()?)? {
            let notes = std::mem::take(&mut summary.notes);
            let mut facts = PartSummary::of(summary, &part.part.name, common);
            facts.notes.part(PartId::nth(at));
            for note in input.notes(at).into_iter().chain(notes) {
                let _ = facts.note(note);
            }
            summed.insert(at, facts);
        }
    }
    Ok(summed)
}

/// Reads the records of one part.
pub(crate) fn gather_part(
    input: &Input,
    at: usize,
    limits: &Limits,
    mut facts: PartSummary,
) -> anyhow::Result<PartSummary> {
    facts.notes.part(PartId::nth(at));
    let format = input.parts().get(at).and_then(|part| part.part.format);
    match format.and_then(|format| format.reader) {
        Some(reader) => {
            input.read(at, 0, reader(limits).as_mut(), &mut facts)?;
        }
        None => {
            facts.decoded = input.decoded_size(at)?;
            for note in input.notes(at) {
                let _ = facts.note(note);
            }
        }
    }
    Ok(facts)
}

pub(crate) fn unit_name(unit: Unit, text: &dyn Fn(StringId) -> String) -> String {
    match unit {
        Unit::Count => "count".to_owned(),
        Unit::Nanoseconds => "ns".to_owned(),
        Unit::Bytes => "bytes".to_owned(),
        Unit::Chars => "chars".to_owned(),
        Unit::Percent => "percent".to_owned(),
        Unit::Other(name) => text(name),
    }
}

fn as_json(input: &Input, facts: &[PartSummary]) -> serde_json::Value {
    let objects = input.parts().iter().zip(facts).map(|(part, facts)| {
        let path = if input.is_folder() || input.parts().len() > 1 {
            &part.part.name
        } else {
            input.path()
        };
        json!({
            "path": path,
            "format": part.part.format.map(|format| format.name),
            "bytes": part.stored_size(),
            "decoded_bytes": facts.decoded,
            "wrappers": part.wrappers().iter().map(|wrapper| wrapper.name()).collect::<Vec<_>>(),
            "records": facts.records.sorted(),
            "time": facts.time.map(|(start, end)| json!({
                "start_ns": start, "end_ns": end,
                "origin": match facts.clock { None => "unix", Some(_) => "unknown" },
            })),
            "values": facts.values.iter().map(ValueColumn::json).collect::<Vec<_>>(),
            "notes": facts.notes.kept().iter().map(note_json).collect::<Vec<_>>(),
            "reason": part.unknown.as_ref().map(traceloom_input::Unknown::sentence),
        })
    });
    let mut objects: Vec<_> = objects.collect();
    if !input.is_folder() && objects.len() == 1 {
        return objects.pop().unwrap_or_default();
    }
    let set = input
        .documents()
        .find(|document| document.parts().len() > 1);
    json!({
        "path": input.path(),
        "format": set.and_then(|document| document.format()).map(|format| format.name),
        "bytes": input.stored_size(),
        "inputs": objects,
    })
}

pub(crate) fn note_json(note: &Note) -> serde_json::Value {
    json!({
        "level": note.level.name(),
        "kind": note.kind,
        "offset": note.offset,
        "count": note.count,
        "text": note.text,
    })
}
