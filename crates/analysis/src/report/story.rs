//! What a report says below its finding: how few calls, statements, pauses and failures make up the time.

use super::sections::{duration, share, things};
use super::{Findings, Report};
use crate::{TreeSource, grouped};

/// Calls and statements under which nothing is said of them.
const LEAST: u64 = 20;
/// Percent of the time from which pauses are worth a sentence.
const MUCH_OF_PAUSES: u64 = 1;

/// Writes the sentences.
pub(super) fn story(report: &Report<'_>) -> Vec<String> {
    let findings = report.findings;
    let sentences = [
        few_calls(report),
        statements(findings),
        pauses(findings),
        failures(findings),
    ];
    sentences.into_iter().flatten().collect()
}

/// The calls that take half of the time, where they are few.
fn few_calls(report: &Report<'_>) -> Option<String> {
    let findings = report.findings;
    let slowest = findings.calls.first()?;
    if findings.selected < LEAST {
        return None;
    }
    let longest = format!("the slowest took {}", duration(slowest.duration));
    let mut trees = report.trees.iter();
    let tree = trees.find(|tree| tree.measure.source == TreeSource::Spans)?;
    let whole = u64::try_from(tree.total).ok()?;
    let (mut sum, mut few) = (0_u64, 0_u64);
    for call in &findings.calls {
        if sum.saturating_mul(2) >= whole {
            break;
        }
        sum = sum.saturating_add(call.duration);
        few += 1;
    }
    let is_few = few.saturating_mul(5) <= findings.selected && sum.saturating_mul(2) >= whole;
    Some(match is_few {
        true => format!(
            "{} of {} calls take {} of the time; {longest}.",
            grouped(few),
            grouped(findings.selected),
            share(sum, whole)
        ),
        false => format!(
            "The time is spread over {}; {longest}.",
            things(findings.selected, "call", "calls")
        ),
    })
}

fn statements(findings: &Findings) -> Option<String> {
    let groups = || findings.statements.values();
    let count: u64 = groups().map(|group| group.count).sum();
    let total: u64 = groups().map(|group| group.total).sum();
    let costliest = groups().map(|group| group.total).max()?;
    let most = groups().map(|group| group.count).max()?;
    (count >= LEAST && total > 0).then(|| {
        format!(
            "{} of {} come to {}: the costliest shape takes {} of that, the most frequent runs {}.",
            things(count, "statement", "statements"),
            things(findings.statements.len() as u64, "shape", "shapes"),
            duration(total),
            share(costliest, total),
            things(most, "time", "times")
        )
    })
}

fn pauses(findings: &Findings) -> Option<String> {
    let (start, end) = findings.extent?;
    let lasted = end.abs_diff(start);
    let (_, paused) = findings.paused;
    let longest = findings.pauses.first()?.duration;
    (paused.saturating_mul(100) >= lasted.saturating_mul(MUCH_OF_PAUSES)).then(|| {
        format!(
            "Pauses stop everything for {}, {} of the time; the longest lasted {}.",
            duration(paused),
            share(paused, lasted),
            duration(longest)
        )
    })
}

fn failures(findings: &Findings) -> Option<String> {
    (findings.failed > 0 && findings.selected >= LEAST).then(|| {
        format!(
            "{} of {} calls failed, {}.",
            grouped(findings.failed),
            grouped(findings.selected),
            share(findings.failed, findings.selected)
        )
    })
}
