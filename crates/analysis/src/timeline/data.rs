//! What a page knows: names and totals as JSON, times as bytes.
//!
//! The bytes are, for each row in order: its items, each as the gap since the end of the one before it (the first since
//! time zero of its recording), length, name, flags, then what the flags announce: nanoseconds covered by children, the
//! number of its list of attributes, how many items are drawn together. Then the levels of the row: how many; for each
//! its exponent, its number of blocks, and per block the number of items, the one to show, and how full it is. After the
//! rows come the points of each counter: how many, then gap and value. Last the lists of attributes: how many pairs,
//! then name and value as numbers of texts.
//!
//! Every time is a whole number of nanoseconds, up to 2^64 since time zero: a script adds them in two halves.

use traceloom_model::Timestamp;
use traceloom_model::bounds::row_number;

use super::attribute_lists::AttributeLists;
use super::bits::Bits;
use super::collect::NONE;
use super::fold::{Fold, Shown};
use super::levels::levels;
use super::{RowKind, Timeline, Track, missing};
use crate::Symbol;
use crate::colour::colour_of_class;
use crate::hotspots::{Categories, OwnCode};
use crate::monitors::WaitKind;
use crate::page::{Object, json_len, list, mailed};

/// Flags of an item beside those of spans.
const COVERED: u8 = 8;
const DETAIL: u8 = 16;
const FOLDED: u8 = 32;

/// What a page may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Items that are drawn one by one.
    pub(super) items: usize,
    /// Bytes of attributes: those of the longest items have them.
    pub(super) details: usize,
    /// Bytes of all items and their names; where they come to more, fewer are drawn one by one.
    pub(super) bytes: usize,
    /// Bytes of all of it as they stand on the page.
    pub(super) page: usize,
}

impl Room {
    /// Returns the bytes that tracks, rows and counters leave for attributes and items.
    fn left(&self, timeline: &Timeline) -> usize {
        /// What a track, a row and a point take at most, but for names.
        const TRACK: usize = 350;
        const ROW: usize = 20;
        const POINT: usize = 24;
        let tracks = timeline.tracks.iter();
        let names = tracks.map(|track| json_len(&track.name) + json_len(&track.process) + TRACK);
        let counters = timeline.counters.iter();
        let counters = counters.map(|one| json_len(&one.name) + one.points.len() * POINT + TRACK);
        let rows = timeline.rows.len() * ROW;
        self.page
            .saturating_sub(names.chain(counters).sum::<usize>() + rows)
    }

    /// Returns the bytes that items have of those left, as they are before base64.
    fn of_items(&self, left: usize, details: &AttributeLists) -> usize {
        let left = left.saturating_sub(details.page_len()) / 4 * 3;
        self.bytes.min(left.max(self.page / 32))
    }
}

/// Writes what a page says in words, and returns its times.
pub(super) fn write(
    out: &mut String,
    timeline: &Timeline,
    categories: &Categories,
    room: Room,
) -> Bits {
    let (start, end) = timeline.times().unwrap_or((0, 0));
    let mut fold = Fold::of(timeline, room.items);
    let left = room.left(timeline);
    let details = AttributeLists::choose(timeline, room.details.min(left / 2));
    let mut drawn = DrawnRows::of(timeline, &fold, &details, start);
    let longest = end.abs_diff(start);
    let bytes = room.of_items(left, &details);
    while drawn.len(timeline) > bytes && fold.draws_apart(longest) {
        fold = fold.coarser(timeline, drawn.len(timeline), bytes);
        drawn = DrawnRows::of(timeline, &fold, &details, start);
    }
    let DrawnRows {
        mut bits,
        counts,
        names: used,
    } = drawn;
    for counter in &timeline.counters {
        points(
            &mut bits,
            &counter.points,
            timeline.base(counter.source, start),
        );
    }
    bits.append(&details.bits);
    Object::write(out, |data| {
        data.text("start", &start.to_string());
        data.text("length", &end.abs_diff(start).to_string());
        let bulk = timeline.bulk().map(|(from, to)| {
            [from.abs_diff(start), to.abs_diff(start)].map(|since| since.to_string())
        });
        data.texts("bulk", bulk.iter().flatten());
        data.value("unix", timeline.sources.iter().any(|source| source.unix));
        data.value("all", fold.shows_all());
        data.value("lists", details.lists);
        data.value("lists_left_out", details.left_out);
        data.texts("texts", details.texts());
        names(data, &used.texts(timeline), categories);
        sources(data, timeline);
        tracks(data, timeline);
        rows(data, timeline, &counts);
        counters(data, timeline);
    });
    bits
}

fn names(data: &mut Object<'_>, names: &[&str], categories: &Categories) {
    data.texts("names", names.iter());
    data.texts("categories", categories.names().iter());
    let symbols: Vec<Symbol> = names.iter().map(|&name| Symbol::named(name)).collect();
    let of_names: Vec<_> = names.iter().map(|name| categories.of(name)).collect();
    let functions = symbols.iter().zip(&of_names);
    let own = OwnCode::find(functions.map(|(symbol, &category)| (symbol, 1, category)));
    data.texts("own_packages", own.packages().iter());
    let kind = |(symbol, category): (&Symbol, &Option<usize>)| match *category {
        Some(category) => i64::try_from(category).unwrap_or(-1),
        None if own.has(symbol) => -2,
        None => -1,
    };
    data.values("kinds_of_work", symbols.iter().zip(&of_names).map(kind));
    // Of a colour: what the function is, where no category says, and its shade.
    data.values("colours", names.iter().map(|name| colour_of_class(name)));
}

/// The rows of a page.
struct DrawnRows {
    bits: Bits,
    /// Items of each row.
    counts: Vec<usize>,
    names: DrawnNames,
}

impl DrawnRows {
    fn of(timeline: &Timeline, fold: &Fold, details: &AttributeLists, start: Timestamp) -> Self {
        let mut rows = Self {
            bits: Bits::default(),
            counts: Vec::with_capacity(timeline.rows.len()),
            names: DrawnNames::of(timeline),
        };
        for track in &timeline.tracks {
            let base = timeline.base(track.source, start);
            for row in timeline.rows_of(track) {
                let shown = fold.row(timeline, row.items.clone());
                rows.items(timeline, (track.source, base), &shown, details);
                row_levels(&mut rows.bits, &shown);
                rows.counts.push(shown.len());
            }
        }
        rows
    }

    /// Bytes of the items and of their names.
    fn len(&self, timeline: &Timeline) -> usize {
        let names = self.names.texts(timeline);
        self.bits.len() + names.iter().map(|name| name.len()).sum::<usize>()
    }

    fn items(
        &mut self,
        timeline: &Timeline,
        (source, base): (usize, Timestamp),
        shown: &[Shown],
        details: &AttributeLists,
    ) {
        let items = &timeline.items;
        let bits = &mut self.bits;
        let mut reached = base;
        for shown in shown {
            let single = shown.stands_for == 1;
            let covered = items.covered.get(shown.item).filter(|_| single);
            let covered = covered.copied().unwrap_or(0);
            let detail = items.detail.get(shown.item).filter(|_| single);
            let detail = detail.map_or(0, |&detail| details.number(source, detail));
            let own = items.flags.get(shown.item).filter(|_| single);
            let mut flags = own.copied().unwrap_or(0);
            for (flag, set) in [
                (COVERED, covered > 0),
                (DETAIL, detail > 0),
                (FOLDED, !single),
            ] {
                if set {
                    flags |= flag;
                }
            }
            bits.number(shown.start.max(reached).abs_diff(reached));
            bits.number(shown.end.abs_diff(shown.start));
            let name = items.name.get(shown.item).copied().unwrap_or(0);
            bits.number(self.names.number(name));
            bits.byte(flags);
            if covered > 0 {
                bits.number(covered);
            }
            if detail > 0 {
                bits.number(detail);
            }
            if !single {
                bits.number(shown.stands_for);
            }
            reached = shown.end;
        }
    }
}

/// Names of what a page draws, numbered as they come.
struct DrawnNames {
    /// By name: its number here, or [`NONE`].
    numbers: Vec<u32>,
    names: Vec<u32>,
}

impl DrawnNames {
    fn of(timeline: &Timeline) -> Self {
        Self {
            numbers: vec![NONE; timeline.names.texts.len()],
            names: Vec::new(),
        }
    }

    fn number(&mut self, name: u32) -> u32 {
        match self.numbers.get_mut(name as usize) {
            Some(number) if *number == NONE => {
                *number = row_number(self.names.len());
                self.names.push(name);
                *number
            }
            Some(number) => *number,
            None => 0,
        }
    }

    fn texts<'t>(&self, timeline: &'t Timeline) -> Vec<&'t str> {
        let text = |&name: &u32| timeline.names.texts.get(name as usize);
        let texts = self.names.iter().map(text);
        texts.map(|text| text.map_or("", String::as_str)).collect()
    }
}

fn sources(data: &mut Object<'_>, timeline: &Timeline) {
    list(
        data.key("sources"),
        timeline.sources.iter(),
        |out, source| {
            Object::write(out, |object| {
                object.text("title", &mailed(&source.title));
                object.value("unix", source.unix);
                object.text("missing", &missing(timeline, source).unwrap_or_default());
                object.value("unplaced", source.unplaced);
                object.value("details_left_out", source.details_left_out);
                object.value("points_left_out", source.points_left_out);
            });
        },
    );
}

fn tracks(data: &mut Object<'_>, timeline: &Timeline) {
    list(data.key("tracks"), timeline.tracks.iter(), |out, track| {
        Object::write(out, |object| track_data(object, timeline, track));
    });
}

fn track_data(object: &mut Object<'_>, timeline: &Timeline, track: &Track) {
    let totals = &track.totals;
    object.value("source", track.source);
    // Without a name of its own a process is called as its recording is.
    let is_title = timeline
        .sources
        .iter()
        .any(|source| source.title == track.name);
    match is_title {
        true => object.text("name", &mailed(&track.name)),
        false => object.text("name", &track.name),
    }
    object.text("process", &track.process);
    object.text("kind", track.line.word());
    object.value("level", track.level);
    object.value("rows", track.rows.len());
    let waits = WaitKind::ALL.map(|kind| totals.waits_of(kind));
    let counts = [
        ("spans", totals.spans),
        ("partial", totals.partial),
        ("failed", totals.failed),
        ("waits", waits.iter().map(|waits| waits.count).sum()),
        ("pauses", totals.pauses.count),
        ("losses", totals.losses.count),
        ("events", totals.events),
        ("samples", totals.samples),
        ("undrawn", totals.undrawn),
    ];
    for (key, count) in counts {
        object.value(key, count);
    }
    let waited = waits.iter().map(|waits| waits.total);
    let times = [
        ("busy", totals.busy),
        ("longest", totals.longest),
        ("waited", waited.fold(0, u64::saturating_add)),
        ("paused", totals.pauses.total),
    ];
    // As texts: a script's numbers are exact up to 2^53.
    for (key, time) in times {
        object.text(key, &time.to_string());
    }
}

fn rows(data: &mut Object<'_>, timeline: &Timeline, counts: &[usize]) {
    let kind = |kind: RowKind| kind as u8;
    let rows = || timeline.rows.iter();
    data.values("kinds", rows().map(|row| kind(row.kind)));
    data.values("lanes", rows().map(|row| row.lane));
    data.values("levels", rows().map(|row| row.level));
    data.values("counts", counts.iter());
    data.texts("values", rows().map(|row| &row.value));
}

fn counters(data: &mut Object<'_>, timeline: &Timeline) {
    list(
        data.key("counters"),
        timeline.counters.iter(),
        |out, counter| {
            Object::write(out, |object| {
                object.text("name", &counter.name);
                object.value("source", counter.source);
                let track = counter.track.map(|track| track.to_string());
                object.value("track", track.as_deref().unwrap_or("null"));
                object.unit(&counter.unit);
            });
        },
    );
}

fn row_levels(bits: &mut Bits, shown: &[Shown]) {
    let starts: Vec<Timestamp> = shown.iter().map(|shown| shown.start).collect();
    let ends: Vec<Timestamp> = shown.iter().map(|shown| shown.end).collect();
    let levels = levels(&starts, &ends, 0..shown.len());
    bits.count(levels.len());
    for level in levels {
        bits.number(level.exponent);
        bits.count(level.blocks.len());
        for block in level.blocks {
            bits.number(block.count);
            bits.number(block.pick);
            bits.byte(block.filled);
        }
    }
}

fn points(bits: &mut Bits, points: &[(Timestamp, f64)], base: Timestamp) {
    bits.count(points.len());
    let mut reached = base;
    for &(time, value) in points {
        let time = time.max(reached);
        bits.number(time.abs_diff(reached));
        bits.float(value);
        reached = time;
    }
}
