//! Markers in the order of their starts.

use traceloom_model::Timestamp;

use super::kept::Markers;

/// The order of one track's markers after the other, in the same memory.
#[derive(Default)]
pub(super) struct Order {
    spans: Vec<u32>,
    events: Vec<u32>,
    both: Vec<u32>,
    open: Vec<(Timestamp, u32)>,
}

impl Order {
    /// Returns the places of markers in the order of their starts, of those that begin together the spans first.
    pub fn of(&mut self, markers: &Markers) -> &[u32] {
        let open = &mut self.open;
        let mut order = |events, places: &mut Vec<u32>| {
            if backwards(markers, events, places, open).is_none() {
                sort(markers, events, places);
            }
        };
        order(false, &mut self.spans);
        if !markers.has_events {
            return &self.spans;
        }
        order(true, &mut self.events);
        self.both.clear();
        let mut events = self.events.iter().copied().peekable();
        for &span in &self.spans {
            let start = markers.start(span);
            while let Some(event) = events.next_if(|&event| markers.start(event) < start) {
                self.both.push(event);
            }
            self.both.push(span);
        }
        self.both.extend(events);
        &self.both
    }
}

/// Orders the markers of events, or those of spans, by their starts.
///
/// They nearly always came as they ended, so that backwards each comes behind what encloses it and what begins after it,
/// and has to wait until one comes that begins before it. None where one does not.
fn backwards(
    markers: &Markers,
    events: bool,
    places: &mut Vec<u32>,
    open: &mut Vec<(Timestamp, u32)>,
) -> Option<()> {
    places.clear();
    open.clear();
    let mut least = Timestamp::MAX;
    let count = u32::try_from(markers.len()).unwrap_or(u32::MAX);
    for (place, (start, is_event)) in (0..count).rev().zip(markers.starts().rev()) {
        if is_event != events {
            continue;
        }
        while let Some(&(last, _)) = open.last()
            && last > start
        {
            leave(open, places);
            least = last;
        }
        if start > least {
            return None;
        }
        open.push((start, place));
    }
    while !open.is_empty() {
        leave(open, places);
    }
    places.reverse();
    Some(())
}

/// Moves those that begin last from the markers that wait to the others, those first that came last.
#[inline]
fn leave(open: &mut Vec<(Timestamp, u32)>, places: &mut Vec<u32>) {
    let Some((last, place)) = open.pop() else {
        return;
    };
    let begin_together = |&(start, _): &(Timestamp, u32)| start == last;
    if open.last().is_some_and(begin_together) {
        let before = open.iter().rposition(|row| !begin_together(row));
        let from = before.map_or(0, |before| before + 1);
        places.extend(open.drain(from..).map(|(_, place)| place));
    }
    places.push(place);
}

fn sort(markers: &Markers, events: bool, places: &mut Vec<u32>) {
    places.clear();
    let all = (0..).zip(markers.starts());
    let some = all.filter(|(_, (_, is_event))| *is_event == events);
    places.extend(some.map(|(place, _)| place));
    places.sort_by_key(|&place| markers.start(place));
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use proptest::prelude::*;
    use traceloom_model::EventTypeId;

    use super::*;
    use crate::firefox::kept::What;

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
            let mut markers = Markers::default();
            let is_event = |what| what != What::Span(None);
            for &(start, what) in &rows {
                markers.add(what, start, start);
            }
            let places = 0_u32..;
            let mut expected: Vec<u32> = places.take(rows.len()).collect();
            expected.sort_by_key(|&at| {
                let (start, what) = rows[at as usize];
                (start, is_event(what))
            });
            let mut order = Order::default();
            if !shaken {
                for events in [false, true] {
                    let (places, open) = (&mut order.spans, &mut order.open);
                    prop_assert!(backwards(&markers, events, places, open).is_some());
                }
            }
            prop_assert_eq!(order.of(&markers), &expected);
            // Again, in the memory of the last.
            prop_assert_eq!(order.of(&markers), &expected);
        }
    }
}
