//! `call`: one call, unmerged, in time order.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use traceloom_analysis::calls::{title, value_text};
use traceloom_analysis::{Pauses, names, shape};
use traceloom_formats::{LowerOptions, Source};
use traceloom_input::{Document, Input};
use traceloom_model::{
    Attribute, AttributeKey, Origin, PartId, Recording, SpanId, SpanRow, SpanStatus,
};

use crate::Outcome;
use crate::args::{Common, Usage};
use crate::info::unit_name;
use crate::lowered::{documents, mention};
use crate::open::open;
use crate::style::{Style, count, duration};
use crate::timing::{TimeFlags, Timing};

/// Print one call with everything in it, in time order.
#[derive(Args)]
#[command(
    after_help = "The id is the first column of `traceloom calls`.\n\nExamples:\n  \
    traceloom call dump/ 5.4320.0\n  \
    traceloom call dump/ 5.4320.0 --min-duration 10ms"
)]
pub(crate) struct Options {
    /// File, folder or archive.
    #[arg(value_name = "PATH")]
    path: String,
    /// The call's id.
    #[arg(value_name = "ID")]
    id: String,
    /// Leave out spans shorter than this.
    #[arg(long, value_name = "DURATION", value_parser = crate::select::duration)]
    min_duration: Option<u64>,
    #[command(flatten)]
    time: TimeFlags,
    /// Print full names.
    #[arg(long)]
    wide: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

enum Id {
    Origin {
        part: usize,
        offset: u64,
        index: u32,
    },
    Span(SpanId),
}

fn parse(id: &str) -> Option<Id> {
    if let Some(number) = id.strip_prefix('#') {
        return Some(Id::Span(SpanId(number.parse().ok()?)));
    }
    let mut numbers = id.split('.');
    let part = numbers.next()?.parse().ok()?;
    let offset = numbers.next()?.parse().ok()?;
    let index = numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some(Id::Origin {
        part,
        offset,
        index,
    })
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let wanted = parse(&options.id).ok_or_else(|| {
        Usage(format!(
            "`{}` is no call id; `traceloom calls {}` prints them",
            options.id, options.path
        ))
    })?;
    let style = Style::new(&options.common)?;
    let input = open(&options.path, &options.common)?;
    let (recording, root) = find(&input, &wanted, options)?;
    let root =
        root.with_context(|| format!("{}: there is no call {}", options.path, options.id))?;
    let tree = Tree::of(&recording, root);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if options.json {
        writeln!(out, "{}", tree.json())?;
    } else {
        tree.print(options, &style, &mut out)?;
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn find(
    input: &Input,
    wanted: &Id,
    options: &Options,
) -> anyhow::Result<(Recording, Option<SpanId>)> {
    let timing = Timing::of(
        &options.time,
        &options.common,
        1,
        std::slice::from_ref(input),
    )?;
    for document in documents(input)? {
        let only = match wanted {
            Id::Origin {
                part,
                offset,
                index,
            } => {
                let Some(part) = local(&document, *part) else {
                    continue;
                };
                Some(Origin {
                    part,
                    offset: *offset,
                    index: *index,
                })
            }
            Id::Span(_) => None,
        };
        let mut recording = Recording::default();
        let lowering = LowerOptions {
            limits: options.common.limits()?,
            only,
        };
        let notes = timing.lower(0, input, &document, &lowering, &mut recording)?;
        let root = recording.spans.iter().find(|span| match wanted {
            Id::Span(id) => span.id == *id,
            Id::Origin { .. } => span.origin.is_some() && span.origin == only,
        });
        if let Some(root) = root.map(|span| span.id) {
            mention(&options.path, &[notes]);
            return Ok((recording, Some(root)));
        }
    }
    Ok((Recording::default(), None))
}

/// The document's own number of a part of the input.
fn local(document: &Document<'_>, part: usize) -> Option<PartId> {
    let at = document.members().position(|(number, _)| number == part)?;
    debug_assert!(at < document.parts().len());
    u32::try_from(at).ok().map(PartId)
}

struct Tree<'r> {
    recording: &'r Recording,
    /// Rows of the span batch by parent, in time order.
    children: BTreeMap<SpanId, Vec<usize>>,
    root: usize,
    pauses: Pauses,
}

impl<'r> Tree<'r> {
    fn of(recording: &'r Recording, root: SpanId) -> Self {
        let mut children: BTreeMap<SpanId, Vec<usize>> = BTreeMap::new();
        let mut at = 0;
        for (row, span) in recording.spans.iter().enumerate() {
            if span.id == root {
                at = row;
            }
            if let Some(parent) = span.parent {
                children.entry(parent).or_default().push(row);
            }
        }
        let start = |row: &usize| recording.spans.start.get(*row).copied();
        for rows in children.values_mut() {
            rows.sort_by_key(start);
        }
        let mut pauses = Pauses::default();
        pauses.add_events(recording, &recording.events);
        pauses.settle();
        Self {
            recording,
            children,
            root: at,
            pauses,
        }
    }

    /// Rows depth first with their depth, without recursion.
    fn walk(&self) -> Vec<(usize, usize)> {
        let mut rows = Vec::new();
        let mut pending = vec![(self.root, 0)];
        while let Some((row, depth)) = pending.pop() {
            rows.push((row, depth));
            let id = self.recording.spans.id.get(row);
            let below = id
                .and_then(|id| self.children.get(id))
                .map_or(&[][..], Vec::as_slice);
            pending.extend(below.iter().rev().map(|&child| (child, depth + 1)));
        }
        rows
    }

    fn own(&self, row: usize) -> u64 {
        let Some(span) = self.recording.spans.row(row) else {
            return 0;
        };
        let below = self.children.get(&span.id).map_or(&[][..], Vec::as_slice);
        let mut covered = 0;
        let mut until = span.start;
        for child in below
            .iter()
            .filter_map(|&child| self.recording.spans.row(child))
        {
            let (start, end) = (child.start.max(until), child.end.min(span.end));
            if end > start {
                covered += end.abs_diff(start);
                until = end;
            }
        }
        span.duration().saturating_sub(covered)
    }

    fn name(&self, span: &SpanRow<'_>, wide: bool) -> String {
        let name = span
            .function
            .map_or("(unknown)".into(), |id| self.recording.function_name(id));
        if wide {
            name.into_owned()
        } else {
            names::shorten(&name).into_owned()
        }
    }

    fn key(&self, attribute: &Attribute) -> (i32, String, Option<&AttributeKey>) {
        let key = self.recording.attribute_key(attribute.key);
        let name = key.map_or_else(
            || format!("#{}", attribute.key.raw()),
            |key| self.recording.text(key.name).into_owned(),
        );
        (key.map_or(i32::MAX, |key| key.order), name, key)
    }

    fn is_sql(&self, key: Option<&AttributeKey>) -> bool {
        let signature = key.and_then(|key| key.signature);
        signature.is_some_and(|signature| self.recording.text(signature) == "sql")
    }

    fn print(&self, options: &Options, style: &Style, out: &mut impl Write) -> anyhow::Result<()> {
        let Some(root) = self.recording.spans.row(self.root) else {
            return Ok(());
        };
        let heading = title(self.recording, root.attributes).map(|title| title.into_owned());
        writeln!(
            out,
            "{}",
            style.bold(heading.unwrap_or_else(|| self.name(&root, options.wide)))
        )?;
        let row = |out: &mut dyn Write, label: &str, text: &str| {
            writeln!(out, "  {} {text}", style.dim(format!("{label:12}")))
        };
        row(out, "start", &style.time(root.start))?;
        row(out, "duration", &duration(root.duration()))?;
        let status = match root.status {
            SpanStatus::Complete => "complete",
            SpanStatus::PartialStart => "its start was not recorded",
            SpanStatus::PartialEnd => "still active at the end of the data",
            SpanStatus::Error => "failed",
        };
        row(out, "status", status)?;
        if let Some(track) = self.recording.track(root.track) {
            let name = track
                .name
                .map(|name| self.recording.text(name).into_owned());
            let id = track.id.map(|id| format!(" (id {id})")).unwrap_or_default();
            row(
                out,
                "thread",
                &format!("{}{id}", name.unwrap_or_else(|| "unnamed".to_owned())),
            )?;
        }
        let suspended = self.pauses.suspended(root.start, root.end);
        let pauses = self
            .pauses
            .iter()
            .filter(|&(start, end)| start < root.end && end > root.start)
            .count();
        if pauses > 0 {
            row(
                out,
                "suspended",
                &format!("{} in {pauses} pauses", duration(suspended)),
            )?;
        }
        for &(id, value) in root.counters {
            if let Some(counter) = self.recording.value_type(id) {
                let unit = unit_name(counter.unit, &|id| self.recording.text(id).into_owned());
                let shown = match unit.as_str() {
                    "ns" => duration(value.unsigned_abs()),
                    "count" => count(value.unsigned_abs()),
                    _ => format!("{} {unit}", count(value.unsigned_abs())),
                };
                row(out, &self.recording.text(counter.name), &shown)?;
            }
        }
        let rows = self.walk();
        self.print_parameters(&rows, style, out)?;
        self.print_sql(&rows, style, out)?;
        writeln!(
            out,
            "{}",
            style.dim(format!(
                "{:>12} {:>12} {:>12}  function",
                "start", "duration", "self"
            ))
        )?;
        let least = options.min_duration.unwrap_or(0);
        for (at, depth) in rows {
            let Some(span) = self.recording.spans.row(at) else {
                continue;
            };
            if span.duration() < least && depth > 0 {
                continue;
            }
            let offset = duration(span.start.saturating_sub(root.start).unsigned_abs());
            let indent = "  ".repeat(depth.min(60));
            let numbers = format!(
                "{offset:>12} {:>12} {:>12}",
                duration(span.duration()),
                duration(self.own(at))
            );
            let failed = if span.status == SpanStatus::Error && depth > 0 {
                " (failed)"
            } else {
                ""
            };
            writeln!(
                out,
                "{numbers}  {indent}{}{failed}",
                self.name(&span, options.wide)
            )?;
            if depth > 0 {
                for attribute in span.attributes {
                    let (_, name, _) = self.key(attribute);
                    let value = one_line(&value_text(self.recording, &attribute.value));
                    writeln!(
                        out,
                        "{:>12} {:>12} {:>12}  {indent}  {}",
                        "",
                        "",
                        "",
                        style.dim(format!("{name}: {value}"))
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Parameters of the call itself, in display order, ties by name.
    fn print_parameters(
        &self,
        rows: &[(usize, usize)],
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let root = rows
            .first()
            .and_then(|&(row, _)| self.recording.spans.row(row));
        let attributes = root.map_or(&[][..], |root| root.attributes);
        let mut shown: Vec<_> = attributes
            .iter()
            .filter_map(|attribute| {
                let (order, name, key) = self.key(attribute);
                (!self.is_sql(key))
                    .then(|| (order, name, value_text(self.recording, &attribute.value)))
            })
            .collect();
        shown.sort();
        shown.dedup();
        for (_, name, value) in shown {
            writeln!(
                out,
                "  {} {}",
                style.dim(format!("{name:12}")),
                value.trim_end()
            )?;
        }
        Ok(())
    }

    fn print_sql(
        &self,
        rows: &[(usize, usize)],
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let shapes = self.sql(rows);
        if !shapes.is_empty() {
            writeln!(
                out,
                "{}",
                style.dim(format!("{:>12} {:>8}  statement", "time", "times"))
            )?;
        }
        for (text, (times, time)) in shapes {
            writeln!(
                out,
                "{:>12} {times:>8}  {}",
                duration(time),
                one_line(&text)
            )?;
        }
        Ok(())
    }

    /// Statements by shape: how often, and the time of the spans that ran them.
    fn sql(&self, rows: &[(usize, usize)]) -> Vec<(String, (u64, u64))> {
        let mut shapes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for span in rows
            .iter()
            .filter_map(|&(row, _)| self.recording.spans.row(row))
        {
            for attribute in span.attributes {
                let (_, name, key) = self.key(attribute);
                if self.is_sql(key) && name == "sql" {
                    let text = value_text(self.recording, &attribute.value);
                    let entry = shapes.entry(shape::of_sql(&text)).or_default();
                    entry.0 += 1;
                    entry.1 += span.duration();
                }
            }
        }
        let mut shapes: Vec<_> = shapes.into_iter().collect();
        shapes.sort_by_key(|&(_, (times, time))| std::cmp::Reverse((time, times)));
        shapes
    }

    fn json(&self) -> serde_json::Value {
        let rows = self.walk();
        let spans: Vec<_> = rows
            .iter()
            .filter_map(|&(at, depth)| {
                let span = self.recording.spans.row(at)?;
                let attributes: Vec<_> = span
                    .attributes
                    .iter()
                    .map(|attribute| {
                        let (order, name, _) = self.key(attribute);
                        let value = value_text(self.recording, &attribute.value);
                        json!({"name": name, "value": value, "at_ns": attribute.at, "order": order})
                    })
                    .collect();
                Some(json!({
                    "depth": depth,
                    "function": self.name(&span, true),
                    "start_ns": span.start,
                    "end_ns": span.end,
                    "self_ns": self.own(at),
                    "failed": span.status == SpanStatus::Error,
                    "attributes": attributes,
                }))
            })
            .collect();
        let root = self.recording.spans.row(self.root);
        let counters: serde_json::Map<_, _> = root
            .iter()
            .flat_map(|root| root.counters)
            .filter_map(|&(id, value)| {
                let name = self.recording.value_type(id)?.name;
                Some((self.recording.text(name).into_owned(), json!(value)))
            })
            .collect();
        let track = root
            .as_ref()
            .and_then(|root| self.recording.track(root.track));
        let thread = track
            .and_then(|track| track.name)
            .map(|name| self.recording.text(name));
        let statements: Vec<_> = self
            .sql(&rows)
            .into_iter()
            .map(|(text, (times, time))| json!({"sql": text, "times": times, "time_ns": time}))
            .collect();
        json!({
            "title": root.as_ref().and_then(|root| title(self.recording, root.attributes)),
            "thread": thread,
            "start_ns": root.as_ref().map(|root| root.start),
            "duration_ns": root.as_ref().map(SpanRow::duration),
            "suspended_ns": root.as_ref().map(|root| self.pauses.suspended(root.start, root.end)),
            "counters": counters,
            "sql": statements,
            "spans": spans,
        })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
