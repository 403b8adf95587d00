//! placeholder
use super::{Source, Timeline};
/// x
pub const MOST_ITEMS: usize = 2_000_000;
/// x
pub fn html(_t: &Timeline, _title: &str, _most: usize) -> String { String::new() }
/// Says why a recording has no row, or what of it is in none.
#[must_use]
pub fn missing(timeline: &Timeline, source: &Source) -> Option<String> {
    let samples = crate::grouped(source.timeless);
    let advice = "they tell how much ran, not when: `traceloom top` and `traceloom flame` show them";
    match (source.times, source.timeless) {
        (None, 0) => Some("nothing in it has a time: no spans, events, samples or counters".to_owned()),
        (_, 0) => None,
        (None, 1..) => Some(format!("none of its {samples} samples has a time; {advice}")),
        (Some(_), 1..) => Some(format!("{samples} samples without a time are in no row; {advice}")),
    }
    .filter(|_| timeline.sources.len() < 1000)
}
