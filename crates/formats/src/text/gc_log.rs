//! Logs of the collector: pauses as events, heap sizes as counters.
//!
//! Unified logging (JDK 9 and later) writes a line when a pause has ended, the form before it stamps
//! the begin.

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Attribute, Clock, CounterBatch, EventBatch, EventRow, EventType, EventTypeId, Flow, Limits,
    Note, Order, Series, SeriesId, Sink, Tables, Unit, Value,
};

use super::calendar::instant;
use super::line_records::each_line;
use crate::{Error, LowerOptions, Source};

/// Collections of a batch: each has five attributes and three counters.
const ROWS: usize = 128;

/// What a line says of a collection.
#[derive(Clone, Copy, PartialEq, Debug)]
struct CollectionLine<'a> {
    /// Milliseconds of the line's time stamp: since 1970, else since the start of the JVM.
    stamp: i64,
    dated: bool,
    /// The stamp is of the begin, not of the end.
    at_begin: bool,
    number: Option<u64>,
    what: &'a str,
    /// Heap before, after and in all, bytes.
    heap: Option<(u64, u64, u64)>,
    /// Nanoseconds.
    duration: u64,
    stops: bool,
}

/// Reads a size such as `195M`; bytes.
fn size(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let shift = match text.get(digits..)? {
        "B" | "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// Reads `195M->62M(494M)`.
fn heap(text: &str) -> Option<(u64, u64, u64)> {
    let (before, rest) = text.split_once("->")?;
    let (after, total) = rest.split_once('(')?;
    Some((size(before)?, size(after)?, size(total.strip_suffix(')')?)?))
}

/// Reads a decimal number in units of `scale` nanoseconds.
fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.chars() {
        unit /= 10;
        ns = ns.checked_add(u64::from(digit.to_digit(10)?).checked_mul(unit)?)?;
    }
    Some(ns)
}

impl<'a> CollectionLine<'a> {
    fn read(line: &'a str) -> Option<Self> {
        Self::unified(line).or_else(|| Self::older(line))
    }

    /// `[2023-12-19T05:29:51.478+0000][7252.726s][info ][gc] GC(336) Pause Young (…) 195M->62M(494M) 14.356ms`
    fn unified(line: &'a str) -> Option<Self> {
        let mut rest = line;
        let (mut date, mut uptime, mut is_gc) = (None, None, false);
        while let Some((field, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            if let Some((ms, "")) = instant(field) {
                date = Some(ms);
            } else if let Some(seconds) = field.strip_suffix('s').and_then(|s| decimal(s, 1000)) {
                uptime = i64::try_from(seconds).ok();
            } else if let Some(ms) = field.strip_suffix("ms").and_then(|ms| ms.parse().ok()) {
                uptime = Some(ms);
            }
            is_gc |= field.trim() == "gc" || field.starts_with("gc,") || field.starts_with("gc ");
            rest = after;
        }
        let rest = rest.trim();
        let (number, what) = rest.strip_prefix("GC(")?.split_once(')')?;
        let (what, last) = what.trim().rsplit_once(' ')?;
        let duration = decimal(last.strip_suffix("ms")?, 1_000_000)?;
        let (what, heap) = match what.rsplit_once(' ') {
            Some((what, sizes)) if sizes.contains("->") => (what, heap(sizes)),
            _ => (what, None),
        };
        is_gc.then_some(Self {
            stamp: date.or(uptime)?,
            dated: date.is_some(),
            at_begin: false,
            number: number.parse().ok(),
            what,
            heap,
            duration,
            stops: what.starts_with("Pause"),
        })
    }

    /// `2023-01-01T00:00:00.123+0000: 1.234: [GC (Allocation Failure) … 68M->11M(247M), 0.0123 secs]`
    fn older(line: &'a str) -> Option<Self> {
        let mut rest = line;
        let mut stamp = None;
        let mut dated = false;
        if let Some((ms, after)) = instant(rest) {
            stamp = Some(ms);
            dated = true;
            rest = after.strip_prefix(": ")?;
        }
        if let Some((seconds, after)) = rest.split_once(": ")
            && let Some(ms) = decimal(seconds, 1000)
        {
            stamp = stamp.or(i64::try_from(ms).ok());
            rest = after;
        }
        let rest = rest.strip_prefix('[')?;
        if !rest.starts_with("GC") && !rest.starts_with("Full GC") {
            return None;
        }
        let stops = !rest.starts_with("GC concurrent");
        let what = match rest.split_once(')') {
            Some((what, _)) if what.contains('(') => rest.get(..=what.len())?,
            _ => rest.split([',', '[', ':']).next()?.trim(),
        };
        let (before, _) = rest
            .rsplit_once(" secs]")
            .filter(|(_, user)| !user.contains("secs"))?;
        let (_, seconds) = before.rsplit_once(' ')?;
        let sizes = rest.split([' ', ',']).filter(|word| word.contains("->"));
        Some(Self {
            stamp: stamp?,
            dated,
            at_begin: true,
            number: None,
            what,
            heap: sizes.filter_map(heap).next_back(),
            duration: decimal(seconds.trim(), 1_000_000_000)?,
            stops,
        })
    }
}

/// Lowers lines of a log into events of type `pause` (the name for stops), and heap counters.
pub(super) struct CollectionLog {
    stops: EventTypeId,
    concurrent: EventTypeId,
    keys: [traceloom_model::AttrKeyId; 5],
    used: SeriesId,
    total: SeriesId,
    events: EventBatch,
    counters: CounterBatch,
    dated: Option<bool>,
}

impl CollectionLog {
    fn new(tables: &mut Tables, pause: &str) -> Self {
        let keys = [
            ("gc", Unit::Count),
            ("cause", Unit::Count),
            ("heap_before", Unit::Bytes),
            ("heap_after", Unit::Bytes),
            ("heap_total", Unit::Bytes),
        ]
        .map(|(name, unit)| {
            let mut key = traceloom_model::AttributeKey::named(tables.string(name));
            key.unit = unit;
            tables.attribute_key(key)
        });
        let mut event_type = |name: &str| {
            let name = tables.string(name);
            tables.event_type(EventType {
                name,
                label: None,
                fields: keys.to_vec(),
            })
        };
        let (stops, concurrent) = (event_type(pause), event_type("gc.concurrent"));
        let mut series = |name: &str| {
            let name = tables.string(name);
            tables.series(Series {
                name,
                unit: Unit::Bytes,
                track: None,
            })
        };
        Self {
            stops,
            concurrent,
            keys,
            used: series("heap.used"),
            total: series("heap.total"),
            events: EventBatch::default(),
            counters: CounterBatch::default(),
            dated: None,
        }
    }

    fn take(&mut self, line: &str, tables: &mut Tables) {
        let Some(read) = CollectionLine::read(line) else {
            return;
        };
        // A log is stamped one way; a line of another way has no place on its clock.
        if *self.dated.get_or_insert(read.dated) != read.dated {
            return;
        }
        let stamp = read.stamp.saturating_mul(1_000_000);
        let duration = saturated_i64(read.duration);
        let (start, end) = if read.at_begin {
            (stamp, stamp.saturating_add(duration))
        } else {
            (stamp.saturating_sub(duration), stamp)
        };
        let [number, cause, before, after, total] = self.keys;
        let mut attributes = Vec::new();
        if let Some(value) = read.number {
            attributes.push(Attribute::new(number, Value::U64(value)));
        }
        attributes.push(Attribute::new(cause, Value::Text(tables.string(read.what))));
        if let Some((was, is, all)) = read.heap {
            attributes.push(Attribute::new(before, Value::U64(was)));
            attributes.push(Attribute::new(after, Value::U64(is)));
            attributes.push(Attribute::new(total, Value::U64(all)));
            for (time, value) in [(start, was), (end, is)] {
                self.counters.push(self.used, time, float(value));
            }
            self.counters.push(self.total, end, float(all));
        }
        let event_type = if read.stops {
            self.stops
        } else {
            self.concurrent
        };
        self.events.push(&EventRow {
            attributes: &attributes,
            ..EventRow::of_process(event_type, start, Some(end))
        });
    }

    fn push(&mut self, least: usize, tables: &mut Tables, sink: &mut dyn Sink) -> Flow {
        if self.events.len() < least || self.events.is_empty() {
            return Flow::Continue(());
        }
        tables.push_definitions(sink)?;
        sink.events(std::mem::take(&mut self.events))?;
        sink.counters(std::mem::take(&mut self.counters))
    }
}

#[expect(clippy::cast_precision_loss, reason = "heaps are below 2^53 bytes")]
const fn float(value: u64) -> f64 {
    value as f64
}

/// Lowers the log in a part of a source that has begun already; stops are events named `pause`.
pub(crate) fn lower_lines(
    source: &dyn Source,
    part: usize,
    limits: &Limits,
    pause: &str,
    tables: &mut Tables,
    sink: &mut dyn Sink,
) -> Result<bool, Error> {
    let mut log = CollectionLog::new(tables, pause);
    let mut notes = Vec::new();
    let mut broken = false;
    each_line(
        source,
        part,
        limits,
        &mut |_, line| {
            log.take(line, tables);
            let flow = log.push(ROWS, tables, sink);
            broken |= flow.is_break();
            flow
        },
        &mut |note| {
            notes.push(note);
            Flow::Continue(())
        },
    )?;
    let ends = |flow: Flow, broken: bool| broken || flow.is_break();
    if !broken {
        broken = ends(tables.push_definitions(sink), broken);
    }
    for note in notes {
        broken = broken || sink.note(note).is_break();
    }
    if !broken {
        broken = ends(log.push(0, tables, sink), broken);
    }
    Ok(!broken)
}

/// Tells how the log is stamped: by the first collection it has.
fn is_dated(source: &dyn Source, limits: &Limits) -> Result<bool, Error> {
    let mut dated = true;
    each_line(
        source,
        0,
        limits,
        &mut |_, line| match CollectionLine::read(line) {
            Some(read) => {
                dated = read.dated;
                Flow::Break(())
            }
            None => Flow::Continue(()),
        },
        &mut |_: Note| Flow::Continue(()),
    )?;
    Ok(dated)
}

pub(crate) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    let clock = if is_dated(source, &options.limits)? {
        Clock::Unix
    } else {
        Clock::Unknown(Some(tables.string("JVM uptime")))
    };
    sink.begin(Order::None, clock);
    for part in 0..source.parts().len() {
        if !lower_lines(source, part, &options.limits, "pause", &mut tables, sink)? {
            break;
        }
    }
    Ok(())
}

/// Returns true if text reads like a log of a JVM's garbage collector: unified logging (JDK 9 and
/// later) or the form before it.
pub(crate) fn is_gc_log(text: &str) -> bool {
    let unified = |line: &str| line.starts_with('[') && line.contains("[gc");
    let older = |line: &str| {
        line.contains("[GC (")
            || line.contains("[GC pause")
            || line.contains("[Full GC")
            || line.contains("[GC 1-mark")
            || line.contains("Total time for which application threads were stopped")
    };
    text.lines()
        .take(64)
        .any(|line| unified(line) || older(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unified_lines() {
        let line = "[2023-12-19T05:29:51.478+0000][7252.726s][info ][gc] GC(336) Pause Young \
                    (Allocation Failure) 195M->62M(494M) 14.356ms";
        let read = CollectionLine::read(line).unwrap();
        assert_eq!(read.stamp, 1_702_963_791_478);
        assert_eq!(read.what, "Pause Young (Allocation Failure)");
        assert_eq!(read.heap, Some((195 << 20, 62 << 20, 494 << 20)));
        assert_eq!((read.duration, read.stops), (14_356_000, true));
        let line = "[0.812s][info][gc] GC(1) Concurrent Mark Cycle 12.300ms";
        let read = CollectionLine::read(line).unwrap();
        assert_eq!((read.stamp, read.dated, read.stops), (812, false, false));
        let tenured = "[7252.712s][trace][gc] GC(336) Young invoke=337 size=48";
        assert_eq!(CollectionLine::read(tenured), None);
    }

    #[test]
    fn older_lines() {
        let line = "2019-03-01T10:00:00.500+0100: 12.345: [GC (Allocation Failure) [PSYoungGen: \
                    65536K->5120K(76288K)] 65536K->5136K(251392K), 0.0123456 secs] [Times: user=0.02]";
        let read = CollectionLine::read(line).unwrap();
        assert_eq!(read.stamp, 1_551_430_800_500);
        assert_eq!(read.what, "GC (Allocation Failure)");
        assert_eq!(read.heap, Some((65_536 << 10, 5136 << 10, 251_392 << 10)));
        assert_eq!(read.duration, 12_345_600);
        let read =
            CollectionLine::read("3.210: [Full GC (System.gc()) 10M->5M(20M), 0.2 secs]").unwrap();
        assert_eq!(
            (read.stamp, read.dated, read.duration),
            (3210, false, 200_000_000)
        );
    }
}
