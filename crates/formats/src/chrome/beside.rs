//! Calls without length beside the begin of another call: what times do not say of nesting.

use traceloom_model::{SpanId, Timestamp};

use crate::spans::begin_end::SpanExtent;

/// Rows kept of a line. A call around more of them than that may count too few.
const MOST: usize = 1 << 16;

/// Spans of no length with one parent, next to each other.
#[derive(Clone, Copy, Debug)]
struct Instants {
    time: Timestamp,
    parent: Option<SpanId>,
    /// How many there are at this time, those of the rows before included.
    total: u64,
}

#[derive(Debug, Default)]
struct BesideLine {
    /// By time; what came last is last.
    rows: Vec<Instants>,
}

/// Follows spans in the order in which they end, line by line.
///
/// A span of no length is kept until the span around it comes. Another span that begins at its time came after
/// it, or around it; the parents tell which, and nothing of what is written does.
#[derive(Debug, Default)]
pub(super) struct OverlapLines {
    lines: Vec<BesideLine>,
}

impl OverlapLines {
    /// Takes the next span of a line; returns how many of no length lie at its begin and not in it.
    pub(super) fn span(&mut self, line: u32, span: &SpanExtent) -> u64 {
        let at = line as usize;
        if self.lines.len() <= at {
            self.lines.resize_with(at + 1, BesideLine::default);
        }
        let Some(line) = self.lines.get_mut(at) else {
            return 0;
        };
        let rows = &mut line.rows;
        let inside = |row: &Instants| {
            row.time > span.start || row.time == span.start && row.parent == Some(span.id)
        };
        while rows.last().is_some_and(inside) {
            rows.pop();
        }
        // Nothing that comes later lies around what came before an outermost one.
        if span.parent.is_none() && rows.first().is_some_and(|row| row.time < span.start) {
            rows.retain(|row| row.time == span.start);
        }
        let here = rows.last_mut().filter(|row| row.time == span.start);
        let follows = here.as_ref().map_or(0, |row| row.total);
        if span.end > span.start {
            return follows;
        }
        match here {
            Some(row) if row.parent == span.parent => row.total += 1,
            _ => {
                if rows.len() >= MOST {
                    rows.drain(..MOST / 2);
                }
                rows.push(Instants {
                    time: span.start,
                    parent: span.parent,
                    total: follows + 1,
                });
            }
        }
        follows
    }
}
