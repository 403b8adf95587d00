//! Timestamps of any clock to one: snapshots say where clocks stood together (SPEC.md §3).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i64;

use super::packet::narrow;
use crate::protobuf::fields;

/// The wall clock.
pub(super) const REALTIME: u32 = 1;
/// The clock that programs measure by.
pub(super) const MONOTONIC: u32 = 3;
/// The clock of packets that name none.
pub(super) const BOOTTIME: u32 = 6;
/// Clock ids from here to 127 belong to one sequence.
const FIRST_OF_SEQUENCE: u32 = 64;
const LAST_OF_SEQUENCE: u32 = 127;

/// A clock, of a sequence where its id belongs to one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SequenceClock {
    sequence: u32,
    pub(super) id: u32,
}

impl SequenceClock {
    pub(super) fn new(sequence: u32, id: u32) -> Self {
        let local = (FIRST_OF_SEQUENCE..=LAST_OF_SEQUENCE).contains(&id);
        Self {
            sequence: if local { sequence } else { 0 },
            id,
        }
    }
}

/// How a clock counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) unit_ns: u64,
    /// Timestamps are differences to the one before on their sequence.
    pub(super) incremental: bool,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            unit_ns: 1,
            incremental: false,
        }
    }
}

/// One clock of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReading {
    pub(super) clock: SequenceClock,
    pub(super) timestamp: u64,
    pub(super) rate: Rate,
}

impl ClockReading {
    pub(super) fn ns(&self) -> i128 {
        i128::from(self.timestamp.cast_signed()) * i128::from(self.rate.unit_ns)
    }
}

/// Reads a `ClockSnapshot` of a sequence; returns its primary clock where it names one.
pub(super) fn readings(body: &[u8], sequence: u32) -> (Vec<ClockReading>, Option<u32>) {
    let mut primary = None;
    let mut list = Vec::new();
    for (number, value) in fields(body) {
        match number {
            1 => {
                let (mut id, mut timestamp, mut rate) = (0, 0, Rate::default());
                for (number, value) in fields(value.bytes()) {
                    match number {
                        1 => id = narrow(value.number()),
                        2 => timestamp = value.number(),
                        3 => rate.incremental = value.number() != 0,
                        4 => rate.unit_ns = value.number().max(1),
                        _ => {}
                    }
                }
                list.push(ClockReading {
                    clock: SequenceClock::new(sequence, id),
                    timestamp,
                    rate,
                });
            }
            2 => primary = Some(narrow(value.number())),
            _ => {}
        }
    }
    (list, primary)
}

/// What all snapshots of a trace say.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    primary: Option<u32>,
    /// Where each clock stood, and the primary one with it, both in nanoseconds.
    points: HashMap<SequenceClock, Vec<(i128, i128)>, RandomState>,
    /// From the primary clock to the wall clock.
    wall: Option<i128>,
}

impl Clocks {
    /// Takes the readings of a snapshot.
    pub(super) fn take(&mut self, readings: &[ClockReading], primary: Option<u32>) {
        if let Some(primary) = primary {
            self.primary.get_or_insert(primary);
        }
        let here = self.primary();
        let direct = readings.iter().find(|reading| reading.clock.id == here);
        let through = || {
            let known = readings.iter().find_map(|reading| {
                let points = self.points.get(&reading.clock)?;
                convert(points, reading.ns())
            });
            known.or_else(|| readings.first().map(ClockReading::ns))
        };
        let Some(now) = direct.map(ClockReading::ns).or_else(through) else {
            return;
        };
        for reading in readings {
            if reading.clock.id == REALTIME {
                self.wall.get_or_insert(reading.ns() - now);
            }
            self.points
                .entry(reading.clock)
                .or_default()
                .push((reading.ns(), now));
        }
    }

    /// Ends the taking; `only` is the clock of the packets where there is one and no snapshot.
    pub(super) fn settle(&mut self, only: Option<u32>) {
        if self.points.is_empty() && self.primary.is_none() {
            self.primary = only;
        }
        for points in self.points.values_mut() {
            points.sort_unstable();
        }
    }

    /// The clock that all times are converted to.
    pub(super) fn primary(&self) -> u32 {
        self.primary.unwrap_or(BOOTTIME)
    }

    /// Returns true if times count from 1970.
    pub(super) fn is_wall(&self) -> bool {
        self.primary() == REALTIME || self.wall.is_some()
    }

    /// Converts nanoseconds of a clock; false when nothing says how, and they are left as they are.
    pub(super) fn convert(&self, clock: SequenceClock, ns: i128) -> (i64, bool) {
        let wall = if self.primary() == REALTIME {
            0
        } else {
            self.wall.unwrap_or(0)
        };
        let known = if clock.id == self.primary() {
            Some(ns)
        } else {
            self.points
                .get(&clock)
                .and_then(|points| convert(points, ns))
        };
        let time = known.unwrap_or(ns).saturating_add(wall);
        let bounded = i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX });
        (bounded, known.is_some())
    }

    /// Returns how far apart offsets of a clock to the primary one are, in nanoseconds: two of its times may come closer by as
    /// much, or change places, when they are converted.
    pub(super) fn drift(&self, clock: SequenceClock) -> i64 {
        let points = self.points.get(&clock).into_iter().flatten();
        let offsets = points.map(|&(own, primary)| primary.saturating_sub(own));
        let least = offsets.clone().min().unwrap_or(0);
        saturated_i64(offsets.max().unwrap_or(0).abs_diff(least))
    }

    /// Returns the name of the primary clock.
    pub(super) fn name(&self) -> String {
        let known = match self.primary() {
            1 => "realtime",
            2 => "realtime coarse",
            3 => "monotonic",
            4 => "monotonic coarse",
            5 => "monotonic raw",
            6 => "boottime",
            9 => "tsc",
            10 => "perf",
            11 => "trace file",
            other => return format!("clock {other}"),
        };
        known.to_owned()
    }
}

/// Converts by the last point before, else by the first one.
fn convert(points: &[(i128, i128)], ns: i128) -> Option<i128> {
    let after = points.partition_point(|&(own, _)| own <= ns);
    let &(own, primary) = points.get(after.saturating_sub(1))?;
    Some(ns.saturating_sub(own).saturating_add(primary))
}
