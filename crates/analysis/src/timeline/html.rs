//! A page that draws the timeline on a canvas, without network.

use traceloom_model::bounds::saturated_i64;

use super::bits::Bits;
use super::data::{Room, write};
use super::{Source, Timeline};
use crate::hotspots::Categories;
use crate::page::{Heading, TIMELINE, fill, page};
use crate::{MeasureUnit, amount, grouped};

const MARKUP: &str = include_str!("../../assets/timeline.html");

/// Tracks of a recording that have a line of their own on a page.
pub const MOST_TRACKS: usize = 2_000;

/// Items that a page holds when nobody asks for another number.
pub const MOST_ITEMS: usize = 2_000_000;

/// Bytes of attributes on a page, for each item that it may hold; a page of its own has 12 MB of them.
const DETAILS: usize = 6;

/// Bytes of items on a page, before base64, when nobody asks for a number of them; and those of all that the page holds.
const BYTES: usize = 15 << 20;
const PAGE: usize = 38 << 20;

/// Writes the page of `timeline` with at most about `most` items drawn one by one; none asks for [`MOST_ITEMS`], and for
/// as many fewer as make the page 40 MB.
///
/// Kinds of work are those of `categories`; what is in doubt stands behind the title. An item takes ten to thirty bytes of the
/// page and some 40 of the browser's memory. Of more items the shortest ones are drawn together, and say how many they
/// are; counts and totals of tracks are those of all.
#[must_use]
pub fn html(
    timeline: &Timeline,
    categories: &Categories,
    (title, doubt): (&str, &str),
    most: Option<usize>,
) -> String {
    let mut about = about(timeline);
    if !doubt.is_empty() {
        about += " · ";
        about += doubt;
    }
    let heading = Heading {
        title,
        about: &about,
        class: "whole",
    };
    let room = Room {
        items: most.unwrap_or(MOST_ITEMS),
        details: most.unwrap_or(MOST_ITEMS).saturating_mul(DETAILS),
        bytes: most.map_or(BYTES, |_| usize::MAX),
        page: most.map_or(PAGE, |_| usize::MAX),
    };
    page(heading, TIMELINE, &[markup(timeline, categories, room)])
}

/// The timeline as a part of a page, with at most about `most` items drawn one by one, in so many bytes.
pub(crate) fn part(
    timeline: &Timeline,
    categories: &Categories,
    most: usize,
    bytes: usize,
) -> String {
    let room = Room {
        items: most,
        details: most.saturating_mul(DETAILS),
        bytes,
        page: usize::MAX,
    };
    markup(timeline, categories, room)
}

fn markup(timeline: &Timeline, categories: &Categories, room: Room) -> String {
    let mut markup = String::new();
    let mut bits = Bits::default();
    fill(&mut markup, MARKUP, |out, name| match name {
        "data" => bits = write(out, timeline, categories, room),
        "bits" => bits.write_blocks(out),
        _ => {}
    });
    markup
}

/// One line about all of it.
pub(crate) fn about(timeline: &Timeline) -> String {
    let totals = timeline.totals();
    let length = timeline.times().map(|(start, end)| end.abs_diff(start));
    let length = length.map(|length| {
        let length = saturated_i64(length);
        amount(&MeasureUnit::Nanoseconds, length)
    });
    let waits = totals.waits.iter().map(|waits| waits.count).sum();
    let others = timeline.sources.iter().map(|source| source.other_tracks);
    let lines = timeline.tracks.iter().filter(|track| track.stands_for > 0);
    let own = timeline.tracks.len() - lines.count();
    let counts = [
        (own as u64 + others.sum::<u64>(), "track", "tracks"),
        (totals.spans, "span", "spans"),
        (totals.samples, "sample", "samples"),
        (totals.events, "event", "events"),
        (waits, "wait", "waits"),
        (totals.pauses.count, "pause", "pauses"),
        (totals.losses.count, "loss", "losses"),
        (timeline.counters.len() as u64, "counter", "counters"),
    ];
    let counts = counts.iter().filter(|&&(number, ..)| number > 0);
    let counts = counts.map(|&(number, one, many)| {
        format!(
            "{} {}",
            grouped(number),
            if number == 1 { one } else { many }
        )
    });
    let left_out = timeline.left_out();
    let texts: Vec<String> = length.into_iter().chain(counts).chain(left_out).collect();
    texts.join(" · ")
}

/// Says what of a recording is in no row, and where it can be seen.
#[must_use]
pub fn missing(timeline: &Timeline, source: &Source) -> Option<String> {
    const ADVICE: &str =
        "they tell how much ran, not when: `traceloom top` and `traceloom flame` show them";
    let samples = grouped(source.timeless);
    match (source.times, source.timeless) {
        (None, 0) if timeline.sources.len() == 1 => {
            Some("no span, event, sample or counter in it has a time".to_owned())
        }
        (_, 0) => None,
        (None, _) => Some(format!(
            "none of its {samples} samples has a time; {ADVICE}"
        )),
        (Some(_), _) => Some(format!(
            "{samples} samples without a time are in no row; {ADVICE}"
        )),
    }
}
