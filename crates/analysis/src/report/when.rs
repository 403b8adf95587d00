//! When it ran: bars over time, stacked by kinds of work, as a drawing that prints.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Report;
use super::sections::began;
use crate::hotspots::{NodeKinds, WorkKind};
use crate::page::escaped;
use crate::{CallTree, NodeStretch, OverTime, TreeSource, amount};

const BARS: usize = 120;
const HIGH: f64 = 100.0;
/// The part of the whole that may lie outside, where it is so far away that it would leave the rest no room.
const FAR: f64 = 0.02;

/// Writes the chart of the first value that is known over time; returns false if there is none.
pub(super) fn when(out: &mut String, report: &Report<'_>) -> bool {
    let found = report.trees.iter().find_map(|tree| {
        let over_time = report.over_time.iter().find(|one| one.is_of(tree))?;
        let mut values = over_time.of(tree)?;
        values.retain(|value| value.own > 0);
        (!values.is_empty()).then_some((tree, over_time, values))
    });
    let Some((tree, over_time, values)) = found else {
        return false;
    };
    let (from, to) = bulk(&values);
    let kinds = NodeKinds::of(tree, report.categories);
    let mut sums: BTreeMap<WorkKind<'_>, [i64; BARS]> = BTreeMap::new();
    let mut outside = 0_i64;
    for value in &values {
        let bar = bar(value.stretch, from, to);
        let kind = kinds.of_node(value.node);
        let kind = kind.and_then(|kind| kinds.kinds.get(kind));
        let (Some(bar), Some(kind)) = (bar, kind) else {
            outside = outside.saturating_add(value.own);
            continue;
        };
        let bars = sums.entry(*kind).or_insert([0; BARS]);
        if let Some(sum) = bars.get_mut(bar) {
            *sum = sum.saturating_add(value.own);
        }
    }
    // The largest first, as legends have them.
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, bars)| Reverse(bars.iter().sum::<i64>()));
    let at = |bar: usize| {
        let bars = sums.iter().filter_map(|(_, bars)| bars.get(bar));
        bars.sum::<i64>()
    };
    let most = (0..BARS).map(at).max().unwrap_or(0).max(1);
    let said = caption(tree, over_time, (from, to), most);
    let _ = writeln!(out, "<h2>When <small>{}</small></h2>", escaped(&said));
    let _ = write!(
        out,
        "<svg class=\"when\" viewBox=\"0 0 {BARS} {HIGH}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        escaped(&said)
    );
    let mut tops = [0_i64; BARS];
    for ((token, _), bars) in &sums {
        let _ = write!(out, "<path class=\"{token}\" d=\"");
        for (bar, (&sum, top)) in bars.iter().zip(&mut tops).enumerate() {
            if sum > 0 {
                let (low, high) = (scaled(*top, most), scaled(*top + sum, most));
                let (y, height) = (HIGH - high, high - low);
                let _ = write!(out, "M{bar} {y:.1}h.8v{height:.1}h-.8z");
                *top += sum;
            }
        }
        out.push_str("\"/>");
    }
    out.push_str("</svg>\n");
    out.push_str("<p class=\"axis\">");
    for stretch in [from, to] {
        began(report, stretch.saturating_mul(over_time.step())).write(out);
    }
    out.push_str("</p>\n");
    out.push_str("<p class=\"kinds\">");
    for ((token, name), _) in &sums {
        let _ = write!(
            out,
            "<span><svg class=\"patch\" viewBox=\"0 0 1 1\" aria-hidden=\"true\"><path class=\"{token}\" d=\"M0 0h1v1H0z\"/></svg>{}</span>",
            escaped(name)
        );
    }
    out.push_str("</p>\n");
    if outside > 0 {
        let outside = amount(&tree.measure.unit, outside);
        let _ = writeln!(
            out,
            "<p class=\"soft\">{outside} lie far from the rest and are not drawn.</p>"
        );
    }
    true
}

/// What the height of bars is.
fn caption(tree: &CallTree, over_time: &OverTime, (from, to): (i64, i64), most: i64) -> String {
    if tree.measure.source == TreeSource::Samples {
        return format!("{} over time", tree.measure.title());
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "threads for people, with one digit"
    )]
    let threads = most as f64 * BARS as f64 / ((to - from).max(1) as f64 * over_time.step() as f64);
    format!("threads at work, at most {threads:.1}")
}

/// The bar that a stretch is drawn in.
fn bar(stretch: i64, from: i64, to: i64) -> Option<usize> {
    let (at, size) = (stretch.checked_sub(from)?, (to - from).max(1));
    let bar = i128::from(at) * BARS as i128 / i128::from(size);
    usize::try_from(bar).ok().filter(|&bar| bar < BARS)
}

/// How high a sum is drawn, where the highest is [`HIGH`].
#[expect(clippy::cast_precision_loss, reason = "places of a drawing")]
fn scaled(sum: i64, most: i64) -> f64 {
    sum as f64 * HIGH / most as f64
}

/// From the first stretch to behind the last, without what is far from the rest.
#[expect(clippy::cast_precision_loss, reason = "a share of the whole")]
fn bulk(values: &[NodeStretch]) -> (i64, i64) {
    let all: f64 = values.iter().map(|value| value.own as f64).sum();
    let mut sum = 0.0;
    let mut inner = values.iter().filter(|value| {
        sum += value.own as f64;
        sum > all * FAR && sum - value.own as f64 <= all * (1.0 - FAR)
    });
    let first = inner.next().map_or(0, |value| value.stretch);
    let last = inner.last().map_or(first, |value| value.stretch);
    let whole = values.first().zip(values.last());
    let whole = whole.map_or((0, 1), |(first, last)| (first.stretch, last.stretch + 1));
    let near = (first, last + 1);
    let is_far = near.1.saturating_sub(near.0).saturating_mul(3) < whole.1.saturating_sub(whole.0);
    if is_far { near } else { whole }
}
