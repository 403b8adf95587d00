//! Markers in the order of their starts.

use traceloom_model::bounds::row_number;

use super::kept::Markers;
use crate::spans::by_start::ByStart;

/// The order of one track's markers after the other, in the same memory.
#[derive(Default)]
pub(super) struct MarkerOrder {
    spans: ByStart,
    events: ByStart,
    both: Vec<u32>,
}

impl MarkerOrder {
    /// Returns the places of markers in the order of their starts, of those that begin together the spans first.
    pub fn of(&mut self, markers: &Markers) -> &[u32] {
        let count = row_number(markers.len());
        let backwards = |events: bool| {
            let all = (0..count).rev().zip(markers.starts().rev());
            all.filter_map(move |(place, (start, is_event))| {
                (is_event == events).then_some((place, start))
            })
        };
        let spans = self.spans.order(|| backwards(false));
        if !markers.has_events {
            return spans;
        }
        let events = self.events.order(|| backwards(true));
        self.both.clear();
        let mut events = events.iter().copied().peekable();
        for &span in spans {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use proptest::prelude::*;
    use traceloom_model::EventTypeId;

    use super::*;
    use crate::firefox::kept::MarkerKind;

    proptest! {
        #[test]
        fn spans_come_before_events_of_the_same_time(
            rows in prop::collection::vec((0..9_i64, any::<bool>()), 0..60),
        ) {
            let mut markers = Markers::default();
            for &(start, event) in &rows {
                let what = match event {
                    true => MarkerKind::Instant(EventTypeId::new(0)),
                    false => MarkerKind::Span(None),
                };
                markers.add(what, start, start);
            }
            let mut expected: Vec<u32> = (0_u32..).take(rows.len()).collect();
            expected.sort_by_key(|&at| rows[at as usize]);
            let mut order = MarkerOrder::default();
            prop_assert_eq!(order.of(&markers), &expected);
        }
    }
}
