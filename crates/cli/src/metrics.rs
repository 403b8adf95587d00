//! `metrics`: the few numbers a dashboard wants of each profile.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use serde_json::json;
use traceloom_analysis::stage::Sift;
use traceloom_formats::datakit::{
    Digest, METRICS, Metrics, Profile, all_metrics, metric_unit, missing,
};
use traceloom_formats::lineproto::{Dialect, FieldValue, Writer};
use traceloom_input::piped;
use traceloom_model::printable;

use crate::Outcome;
use crate::inputs::ReadFlags;
use crate::lowered::mention;
use crate::numbers::{count, duration, size, things};
use crate::select::EventFlags;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{TableFlags, help};

/// Derive the metrics of profiles: cores, allocation, pauses, locks.
#[derive(Args)]
#[command(
    after_help = "Rules are those of Datakit for Java (from JFR), Go (from pprof files and metrics.json) and Python. A bundle is a\n\
    folder or a zip with its event.json; without one, rates cover the time the profile says it lasted.\n\n\
    Examples:\n  \
    traceloom metrics app.jfr\n  \
    traceloom metrics bundle/ --line-protocol | influx write\n  \
    traceloom metrics bundles/*.zip --csv\n  \
    traceloom metrics app.jfr --filter 'thread ~ worker'"
)]
#[command(mut_arg(
    "rows",
    help("Metrics of each profile to print; 0 prints all, as without it")
))]
#[command(mut_arg("wide", help("Print exact numbers")))]
#[command(mut_arg("json", help("Print JSON Lines, one profile a line")))]
#[command(mut_arg("csv", help("Print comma-separated values, one metric a row")))]
pub(crate) struct Options {
    /// Print points of line protocol, measurement `profiling_metrics`.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    line_protocol: bool,
    #[command(flatten)]
    table: TableFlags,
    #[command(flatten)]
    choice: EventFlags,
    #[command(flatten)]
    read: ReadFlags,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.read.common)?;
    // Nothing is said before the names in the filter are known to be right.
    let mut out = Vec::new();
    let mut told: Vec<String> = Vec::new();
    let mut rows = Table::new(&["path", "service", "time (ns)", "metric", "value", "unit"]);
    let filter = options.choice.filter(&options.read.common)?;
    let mut inputs = options.read.inputs();
    while let Some(input) = inputs.next()? {
        let path = input.path();
        let (mut found, mut passed, mut refused) = (0, 0, 0);
        let mut reasons = BTreeSet::new();
        let notes = input.read(|recording| {
            let mut digest = Digest::default();
            let mut chosen = (0, 0);
            let notes = piped(&mut digest, |sink| {
                let mut sift = Sift::new(sink, filter.clone());
                let notes = recording.lower(&mut sift);
                chosen = sift.told();
                notes
            })?;
            passed += chosen.0;
            refused += chosen.1;
            // Zeros of nothing are no metrics.
            if chosen.0 == 0 && chosen.1 > 0 {
                return Ok(notes);
            }
            let derived = all_metrics(digest.recording(), recording.file());
            if derived.is_empty() {
                reasons.insert(missing(digest.recording(), recording.file()));
            }
            for (profile, mut metrics) in derived {
                found += 1;
                metrics.values.truncate(options.table.most(usize::MAX));
                if options.table.csv {
                    add(path, &profile, &metrics, &mut rows);
                } else {
                    one(path, &profile, &metrics, options, &style, &mut out)?;
                }
            }
            Ok(notes)
        })?;
        mention(&input.input, &notes);
        let all = things(passed + refused, "event or sample", "events and samples");
        if refused > 0 && passed == 0 {
            told.push(format!(
                "{path}: no metrics: the filter takes none of {all}"
            ));
        } else if refused > 0 {
            let passed = count(passed);
            told.push(format!(
                "{path}: of {passed} of {all}, which the filter takes"
            ));
        }
        if found == 0 {
            for reason in reasons {
                told.push(format!("{path}: no metrics: {reason}"));
            }
        }
    }
    options.read.check_names()?;
    if options.table.csv {
        rows.csv(&mut out)?;
    }
    stdout().write_all(&out)?;
    for reason in told {
        message!("{reason}");
    }
    Ok(inputs.outcome())
}

fn one(
    path: &str,
    profile: &Profile,
    metrics: &Metrics,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut point = metrics.to_point(profile);
    if options.line_protocol {
        // Escapes of this protocol leave control characters as they are.
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            printable(&text).into_owned().into_bytes()
        };
        for (key, value) in &mut point.tags {
            (*key, *value) = (text(key), text(value));
        }
        for (key, _) in &mut point.fields {
            *key = text(key);
        }
        let mut line = Vec::new();
        Writer::new(&mut line, Dialect::Influx).point(&point);
        return Ok(out.write_all(&line)?);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if options.table.json {
        let tags: serde_json::Map<_, _> = point
            .tags
            .iter()
            .map(|(key, value)| (text(key), json!(text(value))))
            .collect();
        let values = metrics.values.iter();
        let values: serde_json::Map<_, _> = values
            .map(|(name, value)| (name.clone(), number(value)))
            .collect();
        let object = json!({
            "path": path,
            "measurement": METRICS,
            "time_ns": point.time,
            "duration_ns": profile.end.saturating_sub(profile.start),
            "tags": tags,
            "metrics": values,
        });
        serde_json::to_writer(&mut *out, &object)?;
        return Ok(writeln!(out)?);
    }
    let tags = point.tags.iter();
    let tags: Vec<_> = tags
        .map(|(key, value)| format!("{}={}", text(key), text(value)))
        .collect();
    let length = u64::try_from(profile.end.saturating_sub(profile.start)).unwrap_or(0);
    let over = if length > 0 {
        format!(", over {}", duration(length))
    } else {
        ", no rates: the profile has no duration".to_owned()
    };
    writeln!(out, "{}{over}", style.bold(path))?;
    if !tags.is_empty() {
        writeln!(out, "{}", style.dim(tags.join(" ")))?;
    }
    let mut table = Table::new(&["value", "metric"]);
    for (name, value) in &metrics.values {
        table.row([shown(name, value, options.table.wide), name.clone()]);
    }
    Ok(table.whole(options.table.wide).print(style, out)?)
}

fn add(path: &str, profile: &Profile, metrics: &Metrics, rows: &mut Table) {
    for (name, value) in &metrics.values {
        rows.row([
            path.to_owned(),
            profile.service.clone(),
            profile.end.to_string(),
            name.clone(),
            number(value).to_string(),
            metric_unit(name).to_owned(),
        ]);
    }
}

fn number(value: &FieldValue) -> serde_json::Value {
    match value {
        FieldValue::I64(value) => json!(value),
        FieldValue::U64(value) => json!(value),
        FieldValue::F64(value) => json!(value),
        FieldValue::Bool(value) => json!(value),
        FieldValue::Text(text) | FieldValue::Bytes(text) => json!(String::from_utf8_lossy(text)),
        FieldValue::List(items) => items.iter().map(number).collect(),
    }
}

/// A metric for people: in the unit a person would take, which the metric's name implies.
fn shown(name: &str, value: &FieldValue, wide: bool) -> String {
    let unit = metric_unit(name);
    match (value, unit) {
        (FieldValue::I64(value @ 0..), "ns") if !wide => duration(value.unsigned_abs()),
        (FieldValue::I64(value @ 0..), "bytes") if !wide => size(value.unsigned_abs()),
        (FieldValue::F64(value), "bytes") if !wide && *value >= 0.0 => size(value.round() as u64),
        (FieldValue::F64(value), "bytes/s") if !wide && *value >= 0.0 => {
            format!("{}/s", size(value.round() as u64))
        }
        (FieldValue::F64(value), _) if !wide => format!("{value:.3} {unit}").trim_end().to_owned(),
        (value, _) => format!("{} {unit}", number(value)).trim_end().to_owned(),
    }
}
