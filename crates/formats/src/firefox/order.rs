//! Markers in the order of their starts.

use traceloom_model::Timestamp;

use super::rows::Marker;
use crate::pieces::Pieces;

/// Markers that follow each other in the order of their starts.
#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    /// The last of those that start with the first one.
    head: u32,
    last: u32,
    /// Where the first one starts, and the last.
    from: Timestamp,
    to: Timestamp,
}

impl Chain {
    /// Puts it in front of another.
    fn before(self, other: &Self, next: &mut [u32]) -> Option<Self> {
        *next.get_mut(self.last as usize)? = other.first;
        let (last, to) = (other.last, other.to);
        Some(Self { last, to, ..self })
    }
}

/// The order of one thread's markers after the other, in the same memory.
#[derive(Default)]
pub(super) struct Order {
    places: Vec<u32>,
    /// What follows each marker within its chain.
    next: Vec<u32>,
    spans: Vec<Chain>,
    events: Vec<Chain>,
}

impl Order {
    /// Returns the places of markers in the order of their starts, of those that begin together the spans first.
    ///
    /// `mixed` says that there are both spans and events.
    pub fn of(&mut self, rows: &Pieces<Marker>, mixed: bool) -> &[u32] {
        let Self {
            places,
            next,
            spans,
            events,
        } = self;
        places.clear();
        next.clear();
        next.resize(rows.len(), 0);
        events.clear();
        let chained = if mixed {
            chain(rows, Marker::is_event, events, next)
                .and_then(|()| chain(rows, |row| !row.is_event(), spans, next))
        } else {
            chain(rows, |_| true, spans, next)
        };
        if chained.is_none() {
            places.extend((0_u32..).zip(rows.iter()).map(|(at, _)| at));
            let row = |at: &u32| rows.get(*at as usize);
            places.sort_by_key(|at| row(at).map(|row| (row.start, row.is_event())));
            return places;
        }
        let start = |at: u32| rows.get(at as usize).map(|row| row.start);
        let mut events = follow(events, next).peekable();
        for span in follow(spans, next) {
            while let Some(event) = events.next_if(|&event| start(event) < start(span)) {
                places.push(event);
            }
            places.push(span);
        }
        places.extend(events);
        places
    }
}

/// Chains some of the markers in the order of their starts: `next` says what follows each within its chain.
///
/// Spans nearly always came as they ended, so that each starts before some of the last chains, which it encloses, and
/// after all others; events come one after the other. None where one does not.
fn chain(
    rows: &Pieces<Marker>,
    wanted: impl Fn(&Marker) -> bool,
    chains: &mut Vec<Chain>,
    next: &mut [u32],
) -> Option<()> {
    chains.clear();
    for (at, row) in (0_u32..).zip(rows.iter()) {
        if !wanted(row) {
            continue;
        }
        let mut own = Chain {
            first: at,
            head: at,
            last: at,
            from: row.start,
            to: row.start,
        };
        let mut inner: Option<Chain> = None;
        while let Some(&top) = chains.last()
            && top.from > row.start
        {
            inner = Some(match inner {
                Some(inner) => top.before(&inner, next)?,
                None => top,
            });
            chains.pop();
        }
        if let Some(&top) = chains.last()
            && top.to >= row.start
        {
            if top.from == row.start {
                // Behind what starts with it, and in front of what that encloses.
                let behind = std::mem::replace(next.get_mut(top.head as usize)?, at);
                *next.get_mut(at as usize)? = behind;
                own.first = top.first;
                if top.head != top.last {
                    (own.last, own.to) = (top.last, top.to);
                }
                chains.pop();
            } else if top.to > row.start {
                return None;
            }
        }
        chains.push(match inner {
            Some(inner) => own.before(&inner, next)?,
            None => own,
        });
    }
    Some(())
}

fn follow<'c>(chains: &'c [Chain], next: &'c [u32]) -> impl Iterator<Item = u32> + 'c {
    chains.iter().flat_map(|chain| {
        let after = |&at: &u32| {
            let last = at == chain.last;
            next.get(at as usize).copied().filter(|_| !last)
        };
        std::iter::successors(Some(chain.first), after)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use traceloom_model::EventTypeId;

    use super::*;
    use crate::firefox::rows::What;

    proptest! {
        #[test]
        fn markers_are_ordered_as_a_sort_would(
            steps in prop::collection::vec((0..3_i64, 0..4_usize, 0..6_u8), 0..60),
            shaken: bool,
            mixed: bool,
        ) {
            // Spans are opened and closed as on a stack, and come as they are closed; events lie between.
            let (mut now, mut open, mut rows) = (0, Vec::new(), Vec::new());
            for (wait, leave, event) in steps {
                now += wait;
                open.push(now);
                for _ in 0..leave.min(open.len()) {
                    now += wait / 2;
                    rows.extend(open.pop().map(|start| (start, What::Span(None))));
                }
                if event == 0 && mixed {
                    rows.push((now, What::Instant(EventTypeId::new(0))));
                }
            }
            if shaken {
                let half = rows.len() / 2;
                rows.rotate_left(half);
            }
            let rows = rows.into_iter().map(|(start, what)| Marker::of(start, what));
            let rows: Pieces<Marker> = rows.collect();
            let mut expected: Vec<u32> = (0..).zip(rows.iter()).map(|(at, _)| at).collect();
            expected.sort_by_key(|&at| {
                let row = rows.get(at as usize).unwrap();
                (row.start, row.is_event())
            });
            if !shaken {
                let mut order = Order::default();
                let (chains, next) = (&mut order.spans, &mut vec![0; rows.len()]);
                prop_assert!(chain(&rows, |row| !row.is_event(), chains, next).is_some());
                prop_assert!(chain(&rows, Marker::is_event, chains, next).is_some());
            }
            let mut order = Order::default();
            prop_assert_eq!(order.of(&rows, mixed), &expected);
            // Again, in the memory of the last.
            prop_assert_eq!(order.of(&rows, mixed), &expected);
        }
    }
}
