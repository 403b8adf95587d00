//! Suspend: pauses of the whole process, each told by its end and its length (§4).

use traceloom_model::{Flow, Limits};

use super::phrase::{Rows, score};
use super::text::{is_early, ns, plausible_ms};
use crate::wire::{Cursor, put_u32_varint};
use crate::{Error, Field, Record, RecordSink};

/// One pause as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// Milliseconds from the end of the pause before, or from the start time, to the end of this one.
    pub delta: i32,
    /// Milliseconds it lasted.
    pub delay: u32,
}

impl Pause {
    /// Reads a pause: first the delta, then the delay.
    ///
    /// # Errors
    /// `Truncated`, `Invalid` for a varint that is too long.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        Ok(Self {
            delta: cursor.varint32("delta")?.cast_signed(),
            delay: cursor.varint32("delay")?,
        })
    }

    /// Appends the pause.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_u32_varint(out, self.delta.cast_unsigned());
        put_u32_varint(out, self.delay);
    }
}

/// Tells from the head of a stream whether it comes in phrases; `None` when it is no suspend stream.
///
/// With `early` it may begin in the first years of its clock, for which a name has to speak.
pub(super) fn framed(head: &[u8], whole: bool, early: bool) -> Option<bool> {
    let reads = |framed: bool| {
        let mut start = false;
        score(head, whole, framed, |cursor, _| {
            if std::mem::replace(&mut start, true) {
                return Pause::read(cursor).map(|_| ());
            }
            let at = cursor.offset();
            let time = cursor.i64_be("start time")?;
            if plausible_ms(time) || (early && is_early(time)) {
                return Ok(());
            }
            Err(Error::invalid(at, "start time"))
        })
        .filter(|score| score.rows > 0)
    };
    reads(true)
        .map(|_| true)
        .or_else(|| reads(false).map(|_| false))
}

/// The record reader of pauses.
#[derive(Clone)]
pub(super) struct Pauses {
    time: Option<i64>,
}

impl Pauses {
    pub(super) const fn new(_limits: &Limits) -> Self {
        Self { time: None }
    }
}

impl Rows for Pauses {
    const WHAT: &'static str = "pause";

    fn row(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let Some(time) = self.time else {
            let time = cursor.i64_be("start time")?;
            self.time = Some(time);
            return Ok(out.record(&StartRecord { offset, time }));
        };
        let pause = Pause::read(cursor)?;
        let time = time.saturating_add(i64::from(pause.delta));
        self.time = Some(time);
        Ok(out.record(&PauseRecord {
            pause,
            time,
            offset,
            raw: cursor.slice(start, cursor.position()),
            exact: !cursor.take_padded(),
        }))
    }

    fn decide(&mut self, head: &[u8], whole: bool) -> bool {
        framed(head, whole, true).unwrap_or(false)
    }
}

struct StartRecord {
    offset: u64,
    time: i64,
}

impl Record for StartRecord {
    fn kind(&self) -> &'static str {
        "suspend_start"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        8
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("start_time", Field::I64(self.time));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.time.to_be_bytes());
    }

    fn time(&self) -> Option<(i64, i64)> {
        Some((ns(self.time), ns(self.time)))
    }
}

struct PauseRecord<'a> {
    pause: Pause,
    time: i64,
    offset: u64,
    raw: &'a [u8],
    exact: bool,
}

impl Record for PauseRecord<'_> {
    fn kind(&self) -> &'static str {
        "pause"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("delta", Field::I64(i64::from(self.pause.delta)));
        show("delay", Field::U64(u64::from(self.pause.delay)));
        show("time", Field::I64(self.time));
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact {
            self.pause.write(out);
        } else {
            out.extend_from_slice(self.raw);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        let start = self.time.saturating_sub(i64::from(self.pause.delay));
        Some((ns(start), ns(self.time)))
    }
}
