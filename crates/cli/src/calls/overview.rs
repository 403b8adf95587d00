//! `calls --overview`: how many calls took how long, and when.

use std::io::{self, Write};

use serde_json::{Value, json};
use traceloom_analysis::calls::CallsOverview;

use super::Options;
use crate::Outcome;
use crate::lowered::mention;
use crate::numbers::{count, duration, things};
use crate::percentiles;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let common = &options.read.common;
    let mut overview = CallsOverview::new(options.calls.selection(common)?);
    let mut inputs = options.read.inputs();
    while let Some(input) = inputs.next()? {
        let notes = input.read(|recording| {
            overview.next_recording();
            recording.lower(&mut overview)
        })?;
        mention(&input.input, &notes);
    }
    options.read.check_names()?;
    let mut out = io::BufWriter::new(stdout());
    if options.table.json {
        writeln!(out, "{}", as_json(&overview))?;
        out.flush()?;
        return Ok(inputs.outcome());
    }
    if overview.read == 0 {
        message!("no calls here; `traceloom info` says what there is");
    } else if overview.calls == 0 {
        common.asked.say_none_passes();
    } else {
        print(&overview, &Style::new(common)?, &mut out)?;
    }
    out.flush()?;
    Ok(inputs.outcome())
}

fn print(overview: &CallsOverview, style: &Style, out: &mut impl Write) -> anyhow::Result<()> {
    let mut table = Table::new(&["duration", "calls"]);
    table.row(["all".to_owned(), count(overview.calls)]);
    for (limit, calls) in CallsOverview::LIMITS.into_iter().zip(overview.longer) {
        table.row([format!("{} or more", duration(limit)), count(calls)]);
    }
    table.print(style, &mut *out)?;
    let total = duration(overview.total.unsigned_abs());
    let mut said = format!(
        "total {total}, {}",
        things(overview.errors, "failed", "failed")
    );
    for (name, cell) in
        percentiles::head().zip(percentiles::cells(Some(&overview.durations), false))
    {
        said += &format!(", {name} {cell}");
    }
    if let Some((first, last)) = overview.starts {
        let when = |ns| style.when(overview.unix, ns);
        said += &format!(", begun from {} to {}", when(first), when(last));
        if overview.undated > 0 {
            said += &format!(", {} without a date", count(overview.undated));
        }
    }
    writeln!(out, "{}", style.dim(said))?;
    Ok(())
}

fn as_json(overview: &CallsOverview) -> Value {
    let longer = CallsOverview::LIMITS.into_iter().zip(overview.longer);
    let longer = longer.map(|(limit, calls)| json!({"duration_ns": limit, "calls": calls}));
    let cells = overview.cells().map(|(start, band, cell)| {
        json!([
            start,
            CallsOverview::floor_of(band),
            cell.calls,
            cell.errors
        ])
    });
    json!({
        "read": overview.read,
        "calls": overview.calls,
        "errors": overview.errors,
        "total_ns": overview.total,
        "durations": percentiles::as_json(Some(&overview.durations)),
        "first_ns": overview.starts.map(|(first, _)| first),
        "last_ns": overview.starts.map(|(_, last)| last),
        "undated": overview.undated,
        "origin": if overview.unix { "unix" } else { "unknown" },
        "longer": longer.collect::<Vec<_>>(),
        "step_ns": overview.step(),
        "cells": cells.collect::<Vec<_>>(),
    })
}
