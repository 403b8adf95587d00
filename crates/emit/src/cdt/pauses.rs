//! Pauses of the process as records of suspend.

use super::primitives::put_varint;
use crate::bounds::{saturated_i32, saturated_u32, saturated_usize};
use crate::calls::event::{CallEvent, CallEvents};

/// Encodes pauses, each by the milliseconds since the end of the one before and its length.
pub struct PauseEncoder {
    /// Nanoseconds from 1970 to the trace's time 0.
    epoch: u64,
    /// Milliseconds from 1970 of the end of the pause before.
    last: u64,
}

impl PauseEncoder {
    pub fn new(epoch: u64) -> Self {
        Self { epoch, last: 0 }
    }

    /// Learns that a stream begins, at these milliseconds from 1970.
    pub fn begin(&mut self, start: u64) {
        self.last = start;
    }

    /// Calls `put` with each record; returns the number of pauses.
    pub fn encode(&mut self, events: CallEvents<'_>, mut put: impl FnMut(&[u8])) -> u64 {
        let mut record = Vec::new();
        let (mut n_pauses, mut start) = (0, 0);
        for event in events {
            match event {
                CallEvent::Enter { time, .. } => start = self.ms(time),
                CallEvent::Exit { time } => {
                    let end = self.ms(time);
                    n_pauses += 1;
                    self.pause(start.min(end), end, &mut record, &mut put);
                }
                CallEvent::Attribute { .. } | CallEvent::Lost { .. } => {}
            }
        }
        n_pauses
    }

    fn pause(&mut self, start: u64, end: u64, record: &mut Vec<u8>, put: &mut impl FnMut(&[u8])) {
        let mut left = end.cast_signed().wrapping_sub(self.last.cast_signed());
        self.last = end;
        loop {
            let delta = saturated_i32(left);
            left -= i64::from(delta);
            // A distance is up to 24 days: a longer one takes pauses of no length in between.
            let length = if left == 0 { end - start } else { 0 };
            record.clear();
            put_varint(record, delta.cast_unsigned());
            put_varint(record, saturated_u32(saturated_usize(length)));
            put(record);
            if left == 0 {
                return;
            }
        }
    }

    fn ms(&self, time: u64) -> u64 {
        self.epoch.saturating_add(time) / 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::put::{put_enter, put_exit};

    #[test]
    fn distances_are_those_between_ends() {
        const MS: u64 = 1_000_000;
        const DAY: u64 = 86_400_000 * MS;
        let mut bytes = Vec::new();
        for (start, end) in [(12, 15), (9, 10), (10, 210)] {
            put_enter(&mut bytes, start * MS, "pause");
            put_exit(&mut bytes, end * MS);
        }
        put_enter(&mut bytes, 30 * DAY, "pause");
        put_exit(&mut bytes, 30 * DAY + MS);
        let mut encoder = PauseEncoder::new(1_000 * MS);
        encoder.begin(1_000);
        let mut records = Vec::new();
        assert_eq!(
            encoder.encode(CallEvents(&bytes), |record| records.push(record.to_vec())),
            4
        );
        let far =
            u32::try_from(30 * DAY / MS + 1 - 210).expect("it fits") - i32::MAX.cast_unsigned();
        let mut last = Vec::new();
        put_varint(&mut last, far);
        last.push(1);
        assert_eq!(
            records,
            [
                vec![15, 3],
                vec![0xfb, 0xff, 0xff, 0xff, 0x0f, 1],
                vec![0xc8, 0x01, 0xc8, 0x01],
                vec![0xff, 0xff, 0xff, 0xff, 0x07, 0],
                last,
            ]
        );
    }
}
