//! Values of counters.

use traceloom_model::{SeriesId, Timestamp};

use super::lower::Lowering;
use super::packet::{EventFields, Packet, TrackEventType};

impl Lowering<'_> {
    /// Counter values, of an event that is one and beside others.
    pub(super) fn counts(&mut self, packet: &Packet<'_>, event: &EventFields<'_>, time: Timestamp) {
        if !self.wanted.events {
            return;
        }
        if event.r#type == TrackEventType::Counter {
            let uuid = self.sequences.track(packet, event);
            if let Some(value) = event.integer {
                #[expect(clippy::cast_precision_loss, reason = "series hold floats")]
                self.count(packet, uuid, time, value as f64);
            } else if let Some(value) = event.double {
                self.count(packet, uuid, time, value);
            }
        }
        let (integers, tracks) = event.extra_values();
        let (fractions, fraction_tracks) = event.extra_doubles();
        if integers.is_empty() && fractions.is_empty() {
            return;
        }
        let sequence = self.sequences.of(packet);
        let default = |own: Vec<u64>, of: fn(&super::timing::Sequence) -> &Vec<u64>| {
            if own.is_empty() {
                sequence.map(of).cloned().unwrap_or_default()
            } else {
                own
            }
        };
        let tracks = default(tracks, |sequence| &sequence.counters);
        let doubles = default(fraction_tracks, |sequence| &sequence.double_counters);
        for (&uuid, &raw) in tracks.iter().zip(&integers) {
            #[expect(clippy::cast_precision_loss, reason = "series hold floats")]
            self.count(packet, uuid, time, raw.cast_signed() as f64);
        }
        for (&uuid, &raw) in doubles.iter().zip(&fractions) {
            self.count(packet, uuid, time, f64::from_bits(raw));
        }
    }

    fn count(&mut self, packet: &Packet<'_>, uuid: u64, time: Timestamp, value: f64) {
        let (series, counter): (SeriesId, _) = self.tracks.series(uuid, self.tables);
        let mut value = value;
        if let Some(counter) = counter {
            if counter.incremental {
                let sum = self.running.entry((packet.sequence, uuid)).or_default();
                *sum += value;
                value = *sum;
            }
            if !matches!(counter.multiplier, 0 | 1) {
                #[expect(clippy::cast_precision_loss, reason = "series hold floats")]
                let factor = counter.multiplier as f64;
                value *= factor;
            }
        }
        self.rows.counters.push(series, time, value);
    }
}
