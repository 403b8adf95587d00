//! Nesting by containment of the events of one track (SPEC.md §6.11).

use std::cmp::Reverse;

use super::record::{Attributes, Event};

/// Lanes of one track. Spans that overlap so many others share the last one.
const MOST_LANES: usize = 64;

/// An event that waits for what may enclose it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub start: u64,
    /// Not before `start`.
    pub end: u64,
    pub offset: u64,
    body: usize,
    description: u16,
    attributes: u32,
    undecoded: u32,
}

impl Row {
    fn len(&self) -> usize {
        usize::from(self.description) + self.attributes as usize + self.undecoded as usize
    }
}

/// What is said of an event besides its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    pub description: &'a [u8],
    pub attributes: Attributes<'a>,
    pub undecoded: &'a [u8],
}

/// Waiting events in file order, with the bytes they need.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    bytes: Vec<u8>,
    front: usize,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.rows.len() - self.front
    }

    pub fn byte_len(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<Row>()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().skip(self.front)
    }

    pub fn push(&mut self, event: &Event<'_>) {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.rows.push(Row {
            start: event.start,
            end: event.end.max(event.start),
            offset: event.offset,
            body: self.bytes.len(),
            description: u16::try_from(event.description.len()).unwrap_or(u16::MAX),
            attributes: length(event.attributes.bytes),
            undecoded: length(event.undecoded),
        });
        self.bytes.extend_from_slice(event.description);
        self.bytes.extend_from_slice(event.attributes.bytes);
        if !event.undecoded.is_empty() {
            self.bytes.extend_from_slice(event.undecoded);
        }
    }

    fn bytes_of(&self, row: &Row) -> &[u8] {
        self.bytes
            .get(row.body..row.body + row.len())
            .unwrap_or(&[])
    }

    fn take(&mut self, row: &Row, from: &Self) {
        let body = self.bytes.len();
        self.bytes.extend_from_slice(from.bytes_of(row));
        self.rows.push(Row { body, ..*row });
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
        self.front = 0;
    }

    /// Moves the first row to `to`.
    pub fn move_first(&mut self, to: &mut Self) {
        if let Some(row) = self.rows.get(self.front) {
            to.take(row, self);
            self.front += 1;
        }
    }

    /// Gives back the room of the rows that were moved.
    pub fn compact(&mut self) {
        if self.front == self.rows.len() {
            self.clear();
        } else if self.front * 2 >= self.rows.len() {
            let mut left = Self::default();
            self.iter().for_each(|row| left.take(row, self));
            *self = left;
        }
    }

    pub fn row(&self, at: usize) -> Option<&Row> {
        self.rows.get(at)
    }

    pub fn body(&self, row: &Row) -> Body<'_> {
        let bytes = self.bytes_of(row);
        let (description, rest) = bytes
            .split_at_checked(usize::from(row.description))
            .unwrap_or_default();
        let (attributes, undecoded) = rest
            .split_at_checked(row.attributes as usize)
            .unwrap_or_default();
        Body {
            description,
            attributes: Attributes { bytes: attributes },
            undecoded,
        }
    }
}

/// Where an event lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its row.
    pub row: usize,
    /// Position of the enclosing event among the places.
    pub parent: Option<usize>,
    /// Position of the outermost enclosing event, or its own.
    pub root: usize,
    pub depth: u32,
    pub lane: usize,
}

/// The waiting events of one track.
#[derive(Debug, Default)]
pub(super) struct Nest {
    pub rows: Rows,
    /// Spans that overlapped the innermost open one partly.
    pub overlaps: u64,
    retry: usize,
    places: Vec<Place>,
}

impl Nest {
    /// Tells whether so many rows came since the last attempt that another one pays.
    pub fn is_due(&self) -> bool {
        self.rows.len() >= self.retry
    }

    /// Places the events that nothing from `horizon` on can enclose or overlap; all of them when `all`.
    ///
    /// Returns the positions of [`Nest::places`] in the order in which the events finished;
    /// [`Nest::drop_placed`] forgets them.
    pub fn place(&mut self, horizon: u64, all: bool) -> Vec<usize> {
        let rows = &self.rows.rows;
        let mut order = by_start(rows);
        order.truncate(closed(&order, horizon, all));
        self.places.clear();
        self.overlaps += stack(&order, &mut self.places);
        let mut place_of = vec![usize::MAX; rows.len()];
        for (place, &(.., Reverse(at))) in order.iter().enumerate() {
            if let Some(slot) = place_of.get_mut(at) {
                *slot = place;
            }
        }
        // In file order, which nearly always is the order wanted.
        let placed = rows.iter().zip(&place_of).enumerate();
        let placed = placed.filter(|(_, (_, place))| **place != usize::MAX);
        let key = |(at, (row, _)): (usize, (&Row, &usize))| (row.end, Reverse(row.start), at);
        if placed.clone().map(key).is_sorted() {
            place_of.retain(|place| *place != usize::MAX);
            return place_of;
        }
        let mut finish: Vec<_> = placed.map(|one| (key(one), *one.1.1)).collect();
        finish.sort_unstable();
        finish.into_iter().map(|(_, place)| place).collect()
    }

    /// Returns what the last [`Nest::place`] placed, by start.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Forgets what the last [`Nest::place`] placed.
    pub fn drop_placed(&mut self) {
        self.retry = (self.rows.rows.len() - self.places.len()) * 2;
        if self.retry == 0 {
            self.places.clear();
            self.rows.clear();
            return;
        }
        let mut is_placed = vec![false; self.rows.rows.len()];
        for place in self.places.drain(..) {
            if let Some(slot) = is_placed.get_mut(place.row) {
                *slot = true;
            }
        }
        let mut left = Rows::default();
        for (row, &placed) in self.rows.rows.iter().zip(&is_placed) {
            if !placed {
                left.take(row, &self.rows);
            }
        }
        self.rows = left;
    }
}

/// Start, end and position of a row, in the order of nesting.
type Key = (u64, Reverse<u64>, Reverse<usize>);

/// Returns the rows in the order of nesting: later written is the outer one of equals, because writers
/// write at the end.
///
/// Starts of one block span little, so that start and position nearly always fit one integer, which sorts
/// several times faster than three keys do.
fn by_start(rows: &[Row]) -> Vec<Key> {
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
    let at = |key: &u64| usize::try_from(mask - (key & mask)).unwrap_or(usize::MAX);
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

#[derive(Clone, Copy)]
struct Open {
    end: u64,
    place: usize,
}

/// Places the rows of `order`; returns how many overlap the innermost open one.
fn stack(order: &[Key], places: &mut Vec<Place>) -> u64 {
    let mut open: Vec<Open> = Vec::new();
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
        places.push(Place {
            row: at,
            parent,
            root: inside.map_or(place, |inside| inside.root),
            depth: inside.map_or(0, |inside| inside.depth + 1),
            lane,
        });
        open.push(Open {
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
