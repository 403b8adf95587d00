//! When data was lost: damage has a place in the bytes, spans have a place and a time.

use traceloom_model::Timestamp;

use super::collect::InputDamage;
use super::held::Spans;

/// Finds the stretch of time that each fault lies in: from the end of the span whose bytes come before it to the start
/// of the one whose bytes come after. Both ends are estimates, because records are written when spans begin or when
/// they end, as the format has it.
///
/// At an end of its part a fault has one neighbour and no length; with no neighbour, or only one in a `windowed`
/// recording, where the other may have been left out, nothing tells its time.
pub(super) fn place<'f>(
    spans: &Spans,
    faults: &'f [InputDamage],
    windowed: bool,
) -> Vec<(Timestamp, Timestamp, &'f InputDamage)> {
    if faults.is_empty() {
        return Vec::new();
    }
    let rows = spans
        .place
        .iter()
        .zip(&spans.rows.start)
        .zip(&spans.rows.end);
    let rows = rows.filter(|&((&place, _), _)| place != u64::MAX);
    let mut rows: Vec<(u64, Timestamp, Timestamp)> = rows
        .map(|((&place, &start), &end)| (place, start, end))
        .collect();
    rows.sort_unstable();
    let part = |place: u64| place >> 48;
    let band = |fault: &InputDamage| {
        let next = rows.partition_point(|&(place, ..)| place < fault.place);
        let of_part = |&&(place, ..): &&(u64, _, _)| part(place) == part(fault.place);
        let after = rows.get(next).filter(of_part);
        let before = next.checked_sub(1).and_then(|at| rows.get(at));
        match (before.filter(of_part), after) {
            (Some(&(_, _, ended)), Some(&(_, started, _))) => {
                Some((ended.min(started), ended.max(started)))
            }
            (Some(&(_, _, time)), None) | (None, Some(&(_, time, _))) if !windowed => {
                Some((time, time))
            }
            _ => None,
        }
    };
    let placed = faults.iter().filter_map(|fault| {
        let (start, end) = band(fault)?;
        Some((start, end, fault))
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(rows: &[(u64, Timestamp, Timestamp)]) -> Spans {
        let mut spans = Spans::default();
        for &(place, start, end) in rows {
            spans.place.push(place);
            spans.rows.push((start, end), (0, 0, 0));
        }
        spans
    }

    fn fault(place: u64) -> InputDamage {
        InputDamage {
            place,
            text: String::new(),
            count: 1,
        }
    }

    #[test]
    fn damage_lies_between_the_spans_around_its_bytes() {
        let other = 1 << 48;
        let spans = spans(&[
            (30, 500, 600),
            (10, 100, 200),
            (u64::MAX, 0, 9_999),
            (other | 5, 10_000, 10_001),
        ]);
        let times = |places: &[u64], windowed| -> Vec<_> {
            let faults: Vec<_> = places.iter().map(|&place| fault(place)).collect();
            let placed = place(&spans, &faults, windowed).into_iter();
            placed.map(|(start, end, _)| (start, end)).collect()
        };
        let all = [20, 5, 40, other | 9, 2 << 48];
        let expected = [(200, 500), (100, 100), (600, 600), (10_001, 10_001)];
        assert_eq!(times(&all, false), expected);
        assert_eq!(times(&all, true), [(200, 500)]);
    }
}
