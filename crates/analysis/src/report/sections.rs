//! The sections that are tables.

use std::cmp::Reverse;
use std::fmt::Write as _;

use traceloom_model::Timestamp;
use traceloom_model::bounds::saturated_i64;

use super::course::Courses;
use super::findings::MOST;
use super::markup::{Alignment, Figure, HtmlCell, details, paragraph, table};
use super::{ErrorGroup, Findings, Report, STEPS, SlowCall};
use crate::hotspots::{hotspots, title, token};
use crate::page::{escaped, mailed};
use crate::{MeasureUnit, amount, grouped};

pub(super) fn duration(ns: u64) -> String {
    amount(&MeasureUnit::Nanoseconds, saturated_i64(ns))
}

/// A moment as its distance from the start of all, in whose tooltip it stands exactly.
pub(super) fn began(report: &Report<'_>, time: Timestamp) -> HtmlCell {
    let exact = (report.when)(time);
    let Some((start, _)) = report.findings.extent else {
        return exact.into();
    };
    let since = match time.saturating_sub(start) {
        0 => "0".to_owned(),
        since @ 1.. => format!("+{}", amount(&MeasureUnit::Nanoseconds, since)),
        before => amount(&MeasureUnit::Nanoseconds, before),
    };
    HtmlCell::Markup(format!(
        "<span title=\"{}\">{since}</span>",
        escaped(&exact)
    ))
}

/// A share of a whole, with one digit.
#[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
pub(super) fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

pub(super) fn things(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

/// What it is, in lines.
pub(super) fn overview(report: &Report<'_>) -> Vec<(String, String)> {
    let findings = report.findings;
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some((start, end)) = findings.extent {
        let (from, to) = ((report.when)(start), (report.when)(end));
        let lasted = duration(end.abs_diff(start));
        rows.push(("Recorded", format!("{from} to {to}, {lasted}")));
    }
    if findings.selected > 0 {
        let failed = findings.failed;
        let share = share(failed, findings.selected);
        let failed = match failed {
            0 => "none failed".to_owned(),
            _ => format!("{} failed, {share}", grouped(failed)),
        };
        let spans = things(findings.spans, "span", "spans");
        let calls = things(findings.selected, "call", "calls");
        rows.push(("Calls", format!("{calls} of {spans}; {failed}")));
    }
    for tree in report.trees {
        let total = amount(&tree.measure.unit, tree.total);
        let functions = things(tree.symbols.len() as u64, "function", "functions");
        rows.push((
            "Value",
            format!("{}: {total} in {functions}", tree.measure.title()),
        ));
    }
    if findings.samples > 0 {
        rows.push(("Samples", grouped(findings.samples)));
    }
    if !findings.threads.is_empty() {
        rows.push(("Threads", count_of_threads(findings)));
    }
    if findings.paused.0 > 0 {
        rows.push(("Pauses", paused(findings)));
    }
    if !findings.errors.is_empty() {
        let count = findings.errors.values().map(|group| group.count).sum();
        let kinds = things(findings.errors.len() as u64, "kind", "kinds");
        rows.push(("Errors", format!("{} of {kinds}", grouped(count))));
    }
    if !findings.statements.is_empty() {
        let count = findings.statements.values().map(|group| group.count).sum();
        let shapes = things(findings.statements.len() as u64, "shape", "shapes");
        rows.push((
            "SQL",
            format!("{} of {shapes}", things(count, "statement", "statements")),
        ));
    }
    let owned = rows
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    owned.collect()
}

/// What one asks first: how many, how long, in what.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    let findings = report.findings;
    let mut figures = Vec::new();
    let mut add = |value: String, caption: String, is_bad: bool| {
        figures.push(Figure {
            value,
            caption,
            is_bad,
        });
    };
    let time = |ns: i64| amount(&MeasureUnit::Nanoseconds, ns);
    if findings.selected > 0 {
        let word = if findings.selected == 1 {
            "call"
        } else {
            "calls"
        };
        let caption = match findings.failed {
            0 => word.to_owned(),
            failed => format!("{word}, {} failed", grouped(failed)),
        };
        add(grouped(findings.selected), caption, false);
        for (percent, caption) in [(50, "median"), (95, "95th percentile")] {
            if let Some(took) = findings.took.percentile(percent) {
                add(time(took), caption.to_owned(), false);
            }
        }
        if let Some(longest) = findings.calls.first() {
            add(duration(longest.duration), "longest".to_owned(), false);
        }
    }
    if findings.samples > 0 {
        add(grouped(findings.samples), "samples".to_owned(), false);
    }
    if let Some(tree) = report.trees.first() {
        let kinds = hotspots(tree, report.categories);
        let largest = kinds
            .iter()
            .find_map(|kind| Some((kind.category.as_ref()?, kind.own)));
        if let Some((kind, own)) = largest
            && let Some(percent) = tree.percent(own)
        {
            let value = amount(&tree.measure.unit, own);
            add(value, format!("{}, {percent:.2} %", title(kind)), false);
        }
    }
    if findings.paused.0 > 0 {
        let (count, paused) = findings.paused;
        let caption = format!("in {}", things(count, "pause", "pauses"));
        add(duration(paused), caption, false);
    }
    if !findings.threads.is_empty() {
        let one = findings.threads.len() == 1;
        let word = if one { "thread" } else { "threads" };
        add(count_of_threads(findings), word.to_owned(), false);
    }
    figures
}

fn paused(findings: &Findings) -> String {
    let (count, paused) = findings.paused;
    let lasted = findings
        .extent
        .map_or(0, |(start, end)| end.abs_diff(start));
    let longest = findings.pauses.first().map_or(0, |pause| pause.duration);
    format!(
        "{}, {} in all, {} of the time; the longest {}",
        things(count, "pause", "pauses"),
        duration(paused),
        share(paused, lasted),
        duration(longest)
    )
}

/// How many calls took how long, with bars.
pub(super) fn durations(out: &mut String, findings: &Findings) {
    let most = findings.durations.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    out.push_str("<h2>How long calls take</h2>\n");
    let head = [
        ("calls that took", Alignment::When),
        ("calls", Alignment::Number),
        ("share", Alignment::Number),
        ("", Alignment::Text),
    ];
    let first = findings.durations.iter().position(|&count| count > 0);
    let last = findings.durations.iter().rposition(|&count| count > 0);
    let rows: Vec<Vec<HtmlCell>> = findings
        .durations
        .iter()
        .enumerate()
        .filter(|(at, _)| (first..=last).contains(&Some(*at)))
        .map(|(at, &count)| {
            let over = at.checked_sub(1).and_then(|at| STEPS.get(at));
            let range = match (over, STEPS.get(at)) {
                (Some(&over), Some(&step)) => format!("{} to {}", duration(over), duration(step)),
                (None, Some(&step)) => format!("up to {}", duration(step)),
                (over, None) => format!("over {}", duration(over.copied().unwrap_or(0))),
            };
            let width = u128::from(count) * 100 / u128::from(most);
            vec![
                range.into(),
                grouped(count).into(),
                share(count, findings.selected).into(),
                bar(width),
            ]
        })
        .collect();
    table(
        out,
        "Calls by duration",
        &head,
        rows.into_iter(),
        usize::MAX,
    );
}

/// A bar of so many hundredths of its column; as a drawing it needs no style of its own, and prints.
fn bar(percent: u128) -> HtmlCell {
    HtmlCell::Markup(format!(
        "<svg class=\"bar-cell\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect width=\"{percent}\" height=\"1\"/></svg>"
    ))
}

/// The largest kind of work of the first value.
fn largest_kind(report: &Report<'_>) -> Option<String> {
    let kinds = hotspots(report.trees.first()?, report.categories);
    kinds.into_iter().find_map(|kind| kind.category)
}

/// How long a call took beside the slowest one, and how much of that was of one kind of work.
fn of_slowest(call: &SlowCall, slowest: u64, spent: Option<(&str, u64)>) -> String {
    let width = |ns: u64| u128::from(ns) * 100 / u128::from(slowest.max(1));
    let part = spent.map_or_else(String::new, |(token, ns)| {
        format!(
            "<path class=\"{token}\" d=\"M0 0h{}v1H0z\"/>",
            width(ns.min(call.duration))
        )
    });
    format!(
        "<span class=\"took\">{}</span><svg class=\"bar-cell part\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect width=\"{}\" height=\"1\"/>{part}</svg>",
        duration(call.duration),
        width(call.duration)
    )
}

/// A title within a phrase: in lower case, unless it begins with an abbreviation.
fn within_a_phrase(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.next()) {
        (Some(_), Some(second)) if second.is_lowercase() => title.to_lowercase(),
        _ => title.to_owned(),
    }
}

pub(super) fn calls(out: &mut String, report: &Report<'_>) {
    let courses = Courses::new(report);
    let kind = largest_kind(report);
    let took = kind.as_deref().map_or_else(
        || "duration".to_owned(),
        |kind| format!("duration, of it {}", within_a_phrase(title(kind))),
    );
    let slowest = report.findings.calls.iter().map(|call| call.duration).max();
    let head = [
        (took.as_str(), Alignment::Text),
        ("began", Alignment::When),
        ("thread", Alignment::When),
        ("", Alignment::When),
        ("call", Alignment::Text),
        ("course", Alignment::Text),
    ];
    let rows = report.findings.calls.iter().map(|call| -> Vec<HtmlCell> {
        let mut inside = String::from("<dl class=\"facts\">");
        let (path, id) = &call.id;
        let start = (report.when)(call.start);
        let own = [
            ("began", start.as_str()),
            ("thread", call.thread.as_str()),
            ("method", call.method.as_str()),
            (
                "show it with",
                &format!("traceloom call {} {id}", mailed(path)),
            ),
        ];
        let others = call
            .details
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let own = own.into_iter().filter(|(_, text)| !text.is_empty());
        for (name, text) in own.chain(others) {
            let (name, text) = (escaped(name), escaped(text));
            let _ = match text.contains('\n') {
                true => write!(inside, "<dt>{name}</dt><dd><pre>{text}</pre></dd>"),
                false => write!(inside, "<dt>{name}</dt><dd>{text}</dd>"),
            };
        }
        inside.push_str("</dl>");
        let token = kind.as_deref().map(token);
        let spent = token.and_then(|token| Some((token, courses.spent(call, token)?)));
        let failed = match call.failed {
            true => HtmlCell::Markup("<span class=\"bad\">failed</span>".to_owned()),
            false => "".into(),
        };
        vec![
            HtmlCell::Markup(of_slowest(call, slowest.unwrap_or(1), spent)),
            began(report, call.start),
            call.thread.as_str().into(),
            failed,
            details(&call.title, &inside),
            HtmlCell::Markup(courses.draw(call)),
        ]
    });
    table(out, "Slowest calls", &head, rows, report.rows);
    let more = report
        .findings
        .selected
        .saturating_sub(report.findings.calls.len() as u64);
    if more > 0 {
        paragraph(
            out,
            &format!("{} took less.", things(more, "other call", "other calls")),
        );
    }
}

pub(super) fn pauses(out: &mut String, report: &Report<'_>) {
    paragraph(out, &paused(report.findings));
    let head = [
        ("duration", Alignment::Number),
        ("began", Alignment::When),
        ("pause", Alignment::Text),
    ];
    let rows = report.findings.pauses.iter().map(|pause| -> Vec<HtmlCell> {
        vec![
            duration(pause.duration).into(),
            began(report, pause.start),
            pause.what.as_str().into(),
        ]
    });
    table(out, "Longest pauses", &head, rows, report.rows);
}

pub(super) fn errors(out: &mut String, report: &Report<'_>) {
    let mut groups: Vec<&ErrorGroup> = report.findings.errors.values().collect();
    groups.sort_by_key(|group| (Reverse(group.count), group.first));
    let head = [
        ("count", Alignment::Number),
        ("first", Alignment::When),
        ("last", Alignment::When),
        ("error, and what caused it", Alignment::Text),
    ];
    let rows = groups.into_iter().map(|group| -> Vec<HtmlCell> {
        let mut headings = group.example.headings.iter();
        let mut markup = escaped(headings.next().map_or("", String::as_str));
        for cause in headings {
            let _ = write!(markup, "<br>caused by {}", escaped(cause));
        }
        if !group.example.stack.is_empty() {
            let stack = escaped(&group.example.stack.join("\n"));
            markup = format!("<details><summary>{markup}</summary><pre>{stack}</pre></details>");
        }
        vec![
            grouped(group.count).into(),
            began(report, group.first),
            began(report, group.last),
            HtmlCell::Markup(markup),
        ]
    });
    table(out, "Errors", &head, rows, report.rows);
    paragraph(
        out,
        "Errors that differ in numbers alone are one; the text is that of the first.",
    );
}

pub(super) fn statements(out: &mut String, report: &Report<'_>) {
    let mut groups: Vec<_> = report.findings.statements.iter().collect();
    groups.sort_by(|a, b| b.1.total.cmp(&a.1.total).then_with(|| a.0.cmp(b.0)));
    let head = [
        ("time", Alignment::Number),
        ("count", Alignment::Number),
        ("mean", Alignment::Number),
        ("longest", Alignment::Number),
        ("failed", Alignment::Number),
        ("statement", Alignment::Name),
    ];
    let rows = groups.into_iter().map(|(shape, group)| -> Vec<HtmlCell> {
        vec![
            duration(group.total).into(),
            grouped(group.count).into(),
            duration(group.total / group.count.max(1)).into(),
            duration(group.longest).into(),
            grouped(group.failed).into(),
            shape.as_str().into(),
        ]
    });
    table(out, "SQL by shape", &head, rows, report.rows);
    paragraph(
        out,
        "Time is that of the spans that have a statement, with all they called.",
    );
}

fn count_of_threads(findings: &Findings) -> String {
    let count = grouped(findings.threads.len() as u64);
    match findings.threads.len() == MOST && findings.beyond > 0 {
        true => format!("more than {count}"),
        false => count,
    }
}

pub(super) fn threads(out: &mut String, report: &Report<'_>) {
    let mut threads: Vec<_> = report.findings.threads.iter().collect();
    // Those that are alike stay in the order of their names.
    threads.sort_by_key(|(_, thread)| Reverse((thread.busy, thread.samples)));
    let head = [
        ("calls", Alignment::Number),
        ("in calls", Alignment::Number),
        ("samples", Alignment::Number),
        ("thread", Alignment::Name),
    ];
    let rows = threads.into_iter().map(|(name, thread)| -> Vec<HtmlCell> {
        vec![
            grouped(thread.calls).into(),
            duration(thread.busy).into(),
            grouped(thread.samples).into(),
            name.as_str().into(),
        ]
    });
    table(out, "Threads", &head, rows, report.rows);
}

pub(super) fn notes(out: &mut String, report: &Report<'_>) {
    let (notes, dropped) = report.notes;
    let head = [
        ("level", Alignment::Text),
        ("kind", Alignment::Text),
        ("count", Alignment::Number),
        ("offset", Alignment::Number),
        ("note", Alignment::Text),
        ("input", Alignment::Name),
    ];
    let rows = notes.iter().map(|(path, note)| -> Vec<HtmlCell> {
        vec![
            note.level.name().into(),
            note.kind.into(),
            grouped(note.count).into(),
            format!("{:#x}", note.offset).into(),
            note.text.as_str().into(),
            mailed(path).into(),
        ]
    });
    table(out, "Notes", &head, rows, report.rows);
    if dropped > 0 {
        paragraph(out, &format!("{} more were counted.", grouped(dropped)));
    }
}
