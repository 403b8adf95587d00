//! A call for people: what it was, then its spans.

use std::collections::HashMap;
use std::io::{self, Write};

use traceloom_analysis::text::{title, value_text};
use traceloom_model::{Clock, ExceptionId, SpanRow, SpanStatus, printable};

use super::Options;
use super::exceptions;
use super::tree::{PrintedSpan, PrintedTree};
use crate::info::unit_name;
use crate::numbers::{count, duration};
use crate::style::Style;

impl PrintedTree<'_> {
    pub(super) fn print(
        &self,
        options: &Options,
        style: &Style,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let Some(root) = self.root() else {
            return Ok(());
        };
        let places = self.walk();
        match self.found.trace {
            Some(trace) => self.print_trace(trace, &places, style, out)?,
            None => self.print_call(&root, options, style, out)?,
        }
        if self.found.trace.is_none() {
            self.print_parameters(&root, style, out)?;
        }
        self.print_sql(&places, style, out)?;
        self.print_spans(&root, &places, options, style, out)?;
        Ok(())
    }

    fn when(&self, style: &Style, time: i64) -> String {
        style.when(self.recording.clock == Clock::Unix, time)
    }

    fn print_trace(
        &self,
        trace: u128,
        places: &[PrintedSpan],
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(out, "{}", style.bold(format!("trace {trace:032x}")))?;
        let spans = || places.iter().filter_map(|place| self.span(place.row));
        let start = spans().map(|span| span.start).min().unwrap_or(0);
        let end = spans().map(|span| span.end).max().unwrap_or(0);
        let mut from: Vec<String> = spans().filter_map(|span| self.whence(&span)).collect();
        from.sort_unstable();
        from.dedup();
        let length = duration(end.saturating_sub(start).unsigned_abs());
        row(style, out, "start", &self.when(style, start))?;
        row(style, out, "duration", &length)?;
        row(style, out, "spans", &count(places.len() as u64))?;
        for place in from {
            row(style, out, "from", &place)?;
        }
        Ok(())
    }

    fn print_call(
        &self,
        root: &SpanRow<'_>,
        options: &Options,
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let heading = title(self.recording, root.attributes).map(|title| title.into_owned());
        let heading = heading.unwrap_or_else(|| self.name(root, options.wide));
        writeln!(out, "{}", style.bold(heading))?;
        row(style, out, "start", &self.when(style, root.start))?;
        row(style, out, "duration", &duration(root.duration()))?;
        let status = match root.status {
            SpanStatus::Complete => "complete",
            SpanStatus::PartialStart => "its start was not recorded",
            SpanStatus::PartialEnd => "still active at the end of the data",
            SpanStatus::Error => "failed",
        };
        row(style, out, "status", status)?;
        if let Some(kind) = root.kind {
            row(style, out, "kind", &self.recording.text(kind))?;
        }
        if let Some(track) = self.recording.track(root.track) {
            let name = track
                .name
                .map(|name| self.recording.text(name).into_owned());
            let id = track.id.map(|id| format!(" (id {id})")).unwrap_or_default();
            let name = name.unwrap_or_else(|| "unnamed".to_owned());
            row(style, out, "thread", &format!("{name}{id}"))?;
        }
        if let Some(context) = root.context {
            if let Some(place) = self.whence(root) {
                row(style, out, "from", &place)?;
            }
            if context.trace != 0 {
                row(style, out, "trace", &format!("{:032x}", context.trace))?;
            }
            if context.span != 0 {
                row(style, out, "span", &format!("{:016x}", context.span))?;
            }
            if context.parent != 0 {
                row(
                    style,
                    out,
                    "parent span",
                    &format!("{:016x}", context.parent),
                )?;
            }
        }
        let suspended = self.pauses.suspended(root.start, root.end);
        let pauses = self
            .pauses
            .iter()
            .filter(|&(start, end)| start < root.end && end > root.start)
            .count();
        if pauses > 0 {
            let text = format!("{} in {pauses} pauses", duration(suspended));
            row(style, out, "suspended", &text)?;
        }
        for &(id, value) in root.counters {
            if let Some(counter) = self.recording.value_type(id) {
                let unit = unit_name(counter.unit, &|id| self.recording.text(id).into_owned());
                let shown = match unit.as_str() {
                    "ns" => duration(value.unsigned_abs()),
                    "count" => count(value.unsigned_abs()),
                    _ => format!("{} {unit}", count(value.unsigned_abs())),
                };
                row(style, out, &self.recording.text(counter.name), &shown)?;
            }
        }
        Ok(())
    }

    /// Session or service and file of a span.
    fn whence(&self, span: &SpanRow<'_>) -> Option<String> {
        let file = self.file(span);
        match (self.service(span), file) {
            (Some(service), Some(file)) => Some(format!("{service}, {file}")),
            (Some(only), None) => Some(only),
            (None, only) => only.map(str::to_owned),
        }
    }

    /// Parameters of the call itself, in display order, ties by name.
    fn print_parameters(
        &self,
        root: &SpanRow<'_>,
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut shown: Vec<_> = root
            .attributes
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
                printable(value.trim_end())
            )?;
        }
        Ok(())
    }

    fn print_sql(
        &self,
        places: &[PrintedSpan],
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let shapes = self.sql(places);
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
                printable(&one_line(&text))
            )?;
        }
        Ok(())
    }

    fn print_spans(
        &self,
        root: &SpanRow<'_>,
        places: &[PrintedSpan],
        options: &Options,
        style: &Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let head = format!(
            "{:>12} {:>12} {:>12}  function",
            "start", "duration", "self"
        );
        writeln!(out, "{}", style.dim(head))?;
        let least = options.min_duration.unwrap_or(0);
        let printed: Vec<(&PrintedSpan, SpanRow<'_>)> = places
            .iter()
            .filter_map(|place| Some((place, self.span(place.row)?)))
            .filter(|(place, span)| place.depth == 0 || span.duration() >= least)
            .collect();
        // A rethrown exception is explained where it comes from: the last span that has it.
        let mut thrown: HashMap<ExceptionId, usize> = HashMap::new();
        for (place, span) in &printed {
            if let Some(id) = span.exception {
                thrown.insert(id, place.row);
            }
        }
        for (place, span) in printed {
            let after = span.start.saturating_sub(root.start);
            let sign = if after < 0 { "-" } else { "" };
            let offset = format!("{sign}{}", duration(after.unsigned_abs()));
            let indent = "  ".repeat(place.depth.min(60));
            let numbers = format!(
                "{offset:>12} {:>12} {:>12}",
                duration(span.duration()),
                duration(self.own(place.row))
            );
            let state = match span.status {
                SpanStatus::Error if place.depth > 0 => " (failed)",
                SpanStatus::PartialStart | SpanStatus::PartialEnd if place.depth > 0 => {
                    " (partial)"
                }
                _ => "",
            };
            let apart = place.remote || place.depth == 0 && self.found.trace.is_some();
            let whence = self.whence(&span).filter(|_| apart);
            let whence = whence.map_or_else(String::new, |it| style.dim(format!("  [{it}]")));
            let name = self.name(&span, options.wide);
            writeln!(
                out,
                "{numbers}  {indent}{}{state}{whence}",
                printable(&name)
            )?;
            let mut below =
                |text: &str| writeln!(out, "{:>12} {:>12} {:>12}  {indent}  {text}", "", "", "");
            if place.depth > 0 || apart {
                for attribute in span.attributes {
                    let (_, name, _) = self.key(attribute);
                    // What the producer marked it with: its status says the part that matters.
                    if name == "flags" && !options.wide {
                        continue;
                    }
                    let value = one_line(&value_text(self.recording, &attribute.value));
                    let giver = self.giver(attribute, options.wide);
                    let giver = giver.map_or_else(String::new, |it| format!(" (from {it})"));
                    below(&style.dim(format!("{name}: {value}{giver}")))?;
                }
            }
            let Some(id) = span.exception else { continue };
            if thrown.get(&id) == Some(&place.row) {
                for line in exceptions::lines(self.recording, id, options.wide) {
                    below(&printable(&one_line_indented(&line)))?;
                }
            } else {
                let heading = exceptions::heading(self.recording, id);
                below(&printable(&format!("! {}", one_line(&heading))))?;
            }
        }
        Ok(())
    }
}

fn row(style: &Style, out: &mut impl Write, label: &str, text: &str) -> io::Result<()> {
    let label = style.dim(format!("{label:12}"));
    writeln!(out, "  {label} {}", printable(text))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As one line, with the spaces that it begins with.
fn one_line_indented(text: &str) -> String {
    let spaces = text.len() - text.trim_start_matches(' ').len();
    format!("{}{}", " ".repeat(spaces), one_line(text))
}
