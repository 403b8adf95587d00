//! Nesting by containment of events that do not come by their ends, or overlap partly.

use std::cmp::Reverse;

use traceloom_model::bounds::{in_memory, row_number};

use super::bodies::PendingEvent;
use super::nest::Nesting;

/// Lanes of one track. Spans that overlap so many others share the last one.
const MOST_LANES: usize = 64;

/// Places the rows that nothing from `horizon` on can enclose or overlap, all of them when `all`, in the
/// order in which they finished; returns how many overlap the innermost open one partly.
pub(super) fn place(
    rows: &[PendingEvent],
    horizon: u64,
    all: bool,
    placed: &mut Vec<Nesting>,
) -> u64 {
    let mut order = by_start(rows);
    order.truncate(closed(&order, horizon, all));
    let overlaps = stack(&order, placed);
    let after = after_children(placed);
    let finish = |place: &Nesting| {
        let after = after.get(place.number as usize).copied();
        rows.get(place.row).map(|row| (row.end, after))
    };
    // In file order they nearly always are in the order wanted.
    placed.sort_unstable_by_key(|place| place.row);
    placed.sort_by_key(finish);
    overlaps
}

/// Start, end and position of a row, in the order of nesting.
type Key = (u64, Reverse<u64>, Reverse<usize>);

/// Returns the rows in the order of nesting: later written is the outer one of equals, because writers
/// write at the end.
///
/// Starts of one block span little, so that start and position nearly always fit one integer, which sorts
/// several times faster than three keys do.
fn by_start(rows: &[PendingEvent]) -> Vec<Key> {
    let key = |at: usize| {
        let row = rows.get(at)?;
        Some((row.start, Reverse(row.end), Reverse(at)))
    };
    let first = rows.iter().map(|row| row.start).min().unwrap_or(0);
    let last = rows.iter().map(|row| row.start).max().unwrap_or(0);
    let bits = usize::BITS - rows.len().leading_zeros();
    if (last - first).leading_zeros() < bits {
        let mut order: Vec<Key> = (0..rows.len()).filter_map(key).collect();
        order.sort_unstable();
        return order;
    }
    let mask = (1_u64 << bits) - 1;
    let keys = rows.iter().zip(0_u64..);
    let mut keys: Vec<u64> = keys
        .map(|(row, at)| (row.start - first) << bits | (mask - at))
        .collect();
    keys.sort_unstable();
    let at = |key: &u64| in_memory(mask - (key & mask));
    let mut order: Vec<Key> = keys.iter().filter_map(|packed| key(at(packed))).collect();
    for equal in order.chunk_by_mut(|a, b| a.0 == b.0) {
        if equal.len() > 1 {
            equal.sort_unstable();
        }
    }
    order
}

/// Returns how many rows of `order` lie in clusters of overlapping intervals that end before `horizon`.
fn closed(order: &[Key], horizon: u64, all: bool) -> usize {
    if all {
        return order.len();
    }
    let mut done = 0;
    let mut cluster = 0;
    for (count, &(start, Reverse(end), _)) in order.iter().enumerate() {
        if start >= cluster {
            done = count;
        }
        cluster = cluster.max(end);
        if cluster >= horizon {
            return done;
        }
    }
    order.len()
}

/// Returns for each of `places`, which are in the order of nesting, its position when children come before their parent.
///
/// It decides between equal ends: a point comes after what ends where it lies, unless that encloses it.
fn after_children(places: &[Nesting]) -> Vec<u64> {
    let mut positions = vec![0_u64; places.len()];
    for at in (0..places.len()).rev() {
        let Some(place) = places.get(at) else {
            continue;
        };
        let inside = positions.get(at).copied().unwrap_or(0);
        let parent = place
            .parent
            .and_then(|parent| positions.get_mut(parent as usize));
        if let Some(parent) = parent {
            *parent += inside + 1;
        }
        if let Some(position) = positions.get_mut(at) {
            *position = u64::from(place.number) + inside - u64::from(place.depth);
        }
    }
    positions
}

#[derive(Clone, Copy)]
struct EnclosingEvent {
    end: u64,
    place: usize,
}

/// Places the rows of `order`; returns how many overlap the innermost open one.
fn stack(order: &[Key], places: &mut Vec<Nesting>) -> u64 {
    let mut open: Vec<EnclosingEvent> = Vec::new();
    let mut lanes: Vec<u64> = Vec::new();
    let mut overlaps = 0;
    for (place, &(start, Reverse(row_end), Reverse(at))) in order.iter().enumerate() {
        while open.last().is_some_and(|top| top.end <= start) {
            open.pop();
        }
        let top = open.last().copied();
        let parent = top.filter(|top| row_end <= top.end).map(|top| top.place);
        overlaps += u64::from(parent.is_none() && top.is_some());
        let inside = parent.and_then(|parent| places.get(parent)).copied();
        let lane = match inside {
            Some(inside) => inside.lane,
            None if top.is_none() => {
                lanes.clear();
                0
            }
            None => free_lane(&lanes, start),
        };
        if lanes.len() <= lane {
            lanes.resize(lane + 1, 0);
        }
        if let Some(end) = lanes.get_mut(lane) {
            *end = row_end.max(*end);
        }
        places.push(Nesting {
            row: at,
            number: row_number(place),
            parent: inside.map(|inside| inside.number),
            root: inside.map_or(at, |inside| inside.root),
            depth: inside.map_or(0, |inside| inside.depth + 1),
            lane,
        });
        open.push(EnclosingEvent {
            end: row_end,
            place,
        });
    }
    overlaps
}

fn free_lane(lanes: &[u64], start: u64) -> usize {
    let free = lanes.iter().position(|&end| end <= start);
    free.unwrap_or(lanes.len()).min(MOST_LANES - 1)
}
