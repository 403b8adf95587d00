//! What a sequence says once for its later packets: default clock and track, running timestamps.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::clocks::{ClockReading, Rate, SequenceClock, readings};
use super::packet::{EventFields, Packet, narrow};
use crate::protobuf::{fields, packed_varints};

/// State of one sequence.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    clock: Option<u32>,
    /// The track of events that name none.
    pub(super) track: Option<u64>,
    pub(super) counters: Vec<u64>,
    pub(super) double_counters: Vec<u64>,
    rates: HashMap<u32, Rate, RandomState>,
    running: HashMap<u32, u64, RandomState>,
    /// Time of the last event with a time of its own in microseconds.
    us: i64,
}

/// A time as a packet gives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) clock: SequenceClock,
    pub(super) ns: i128,
}

/// State of all sequences.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    all: HashMap<u32, Sequence, RandomState>,
    /// Rates of clocks that belong to no sequence.
    rates: HashMap<u32, Rate, RandomState>,
}

impl Sequences {
    /// Takes what a packet changes, and returns its snapshot's readings and primary clock.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet<'_>) -> (Vec<ClockReading>, Option<u32>) {
        let is_event = packet.defaults.is_none() && packet.thread.is_none();
        // Nearly all there is.
        if is_event && packet.snapshot.is_none() && !packet.cleared {
            return (Vec::new(), None);
        }
        self.change(packet)
    }

    fn change(&mut self, packet: &Packet<'_>) -> (Vec<ClockReading>, Option<u32>) {
        let sequence = self.all.entry(packet.sequence).or_default();
        if packet.cleared {
            sequence.clock = None;
            sequence.track = None;
            sequence.counters.clear();
            sequence.double_counters.clear();
            sequence.running.clear();
        }
        if let Some(defaults) = packet.defaults {
            for (number, value) in fields(defaults) {
                match number {
                    58 => sequence.clock = Some(narrow(value.number())),
                    11 => sequence.event_defaults(value.bytes()),
                    _ => {}
                }
            }
        }
        if let Some(thread) = packet.thread {
            let reference = fields(thread).find(|&(number, _)| number == 6);
            if let Some((_, value)) = reference {
                sequence.us = value.number().cast_signed();
            }
        }
        let Some(snapshot) = packet.snapshot else {
            return (Vec::new(), None);
        };
        let (readings, primary) = readings(snapshot, packet.sequence);
        for reading in &readings {
            let id = reading.clock.id;
            sequence.running.insert(id, reading.timestamp);
            sequence.rates.insert(id, reading.rate);
            if SequenceClock::new(1, id) == SequenceClock::new(2, id) {
                self.rates.insert(id, reading.rate);
            }
        }
        (readings, primary)
    }

    /// Returns the sequence of a packet.
    pub(super) fn of(&self, packet: &Packet<'_>) -> Option<&Sequence> {
        self.all.get(&packet.sequence)
    }

    /// Returns the track of an event.
    pub(super) fn track(&self, packet: &Packet<'_>, event: &EventFields<'_>) -> u64 {
        let default = || self.of(packet).and_then(|sequence| sequence.track);
        event.track.or_else(default).unwrap_or(0)
    }

    /// Returns the time of a packet that carries an event; `primary` is the clock where none is named.
    pub(super) fn stamp(
        &mut self,
        packet: &Packet<'_>,
        event: Option<&EventFields<'_>>,
        primary: u32,
    ) -> Option<Stamp> {
        let sequence = self.all.entry(packet.sequence).or_default();
        let Some(timestamp) = packet.timestamp else {
            let event = event?;
            let us = match (event.absolute_us, event.delta_us) {
                (Some(absolute), _) => absolute,
                (None, Some(delta)) => {
                    sequence.us = sequence.us.saturating_add(delta);
                    sequence.us
                }
                (None, None) => return None,
            };
            return Some(Stamp {
                clock: SequenceClock::new(packet.sequence, primary),
                ns: i128::from(us) * 1000,
            });
        };
        let id = packet.clock.or(sequence.clock).unwrap_or(primary);
        let clock = SequenceClock::new(packet.sequence, id);
        let rate = sequence.rates.get(&id).or_else(|| self.rates.get(&id));
        let rate = rate.copied().unwrap_or_default();
        let ticks = if rate.incremental {
            let running = sequence.running.entry(id).or_default();
            *running = running.wrapping_add(timestamp);
            *running
        } else {
            timestamp
        };
        Some(Stamp {
            clock,
            ns: i128::from(ticks.cast_signed()) * i128::from(rate.unit_ns),
        })
    }
}

impl Sequence {
    fn event_defaults(&mut self, body: &[u8]) {
        self.counters.clear();
        self.double_counters.clear();
        for (number, value) in fields(body) {
            match number {
                11 => self.track = Some(value.number()),
                31 => packed_varints(value, &mut self.counters),
                45 => packed_varints(value, &mut self.double_counters),
                _ => {}
            }
        }
    }
}
