//! Ticks to nanoseconds, and where time zero lies (SPEC.md §4).

use traceloom_model::{Clock, Flow, Limits, Note, Tables, TickRate};

use crate::codec::each_window;
use crate::tptp::message::{Message, Slot};
use crate::tptp::seconds::NANOS;
use crate::tptp::table::Kind;
use crate::tptp::visit::{Item, Visit};
use crate::tptp::{binary, xml};
use crate::{Error, Source};

/// Seconds of the epoch at the start of 1990 and of 2100: a time between them is one of the epoch.
const EPOCH: std::ops::Range<u64> = 631_152_000..4_102_444_800;

/// How the times of one trace are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    rate: Option<TickRate>,
    base: u64,
    first: u64,
    unix: bool,
    /// Times that do not fit, and where the first one was.
    pub saturated: Option<(u64, u64)>,
}

impl Ticks {
    fn new(per_second: u64, first: u64) -> Self {
        let unix = EPOCH.contains(&(first / per_second.max(1)));
        Self {
            rate: if per_second == NANOS {
                None
            } else {
                TickRate::per_second(per_second)
            },
            base: if unix { 0 } else { first },
            first,
            unix,
            saturated: None,
        }
    }

    pub fn clock(&self, tables: &mut Tables) -> Clock {
        if self.unix {
            Clock::Unix
        } else {
            Clock::Unknown(Some(tables.string("tptp ticks")))
        }
    }

    /// Returns the first time of the trace: that of messages before it which have none.
    pub fn first(&mut self) -> i64 {
        match self.first {
            0 => 0,
            first => self.time(first, 0),
        }
    }

    /// Converts a point in time.
    #[inline]
    pub fn time(&mut self, ticks: u64, offset: u64) -> i64 {
        if self.rate.is_none()
            && self.base == 0
            && let Ok(ns) = i64::try_from(ticks)
        {
            return ns;
        }
        self.scale(i128::from(ticks) - i128::from(self.base), offset)
    }

    /// Converts an amount of time.
    pub fn amount(&mut self, ticks: u64, offset: u64) -> i64 {
        self.scale(ticks.into(), offset)
    }

    fn scale(&mut self, ticks: i128, offset: u64) -> i64 {
        let ns = match self.rate {
            Some(rate) => rate.to_ns(ticks),
            None => i64::try_from(ticks).unwrap_or(if ticks < 0 { i64::MIN } else { i64::MAX }),
        };
        if ns == i64::MAX || ns == i64::MIN {
            let (count, first) = self.saturated.unwrap_or((0, offset));
            self.saturated = Some((count + 1, first));
        }
        ns
    }
}

/// Finds the frequency and the first time of a trace; they are at its start unless something is wrong.
pub(super) fn find(
    source: &dyn Source,
    part: usize,
    binary: bool,
    limits: &Limits,
) -> Result<Ticks, Error> {
    let mut head = ClockProbe {
        per_second: (!binary).then_some(NANOS),
        first: None,
    };
    let mut pull = source.open(part, 0)?;
    let mut visitor: &mut dyn Visit = &mut head;
    let (mut one, mut other) = (binary::Reader::new(limits), xml::Reader::new(limits));
    each_window(pull.as_mut(), 1, |chunk| match binary {
        true => one.read(chunk, &mut visitor),
        false => other.read(chunk, &mut visitor),
    })?;
    let per_second = head.per_second.filter(|&ticks| ticks > 0).unwrap_or(NANOS);
    Ok(Ticks::new(per_second, head.first.unwrap_or(0)))
}

struct ClockProbe {
    per_second: Option<u64>,
    first: Option<u64>,
}

impl Visit for ClockProbe {
    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        match item {
            Item::Frequency(frequency) => {
                self.per_second.get_or_insert(frequency.ticks_per_second());
            }
            Item::Data(data) => self.first = self.first.or_else(|| time_of(&data.message)),
            Item::Element(element) => {
                self.first = self.first.or_else(|| time_of(element.message.as_ref()?));
            }
            _ => {}
        }
        if self.per_second.is_some() && self.first.is_some() {
            return Flow::Break(());
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn time_of(message: &Message<'_>) -> Option<u64> {
    let fields = message.fields().iter().zip(message.values);
    let mut times = fields.filter_map(|(field, slot)| match *slot {
        Slot::Number(ticks) if field.kind == Kind::Ticks && field.attribute == "time" => {
            Some(ticks)
        }
        _ => None,
    });
    times.next().filter(|&ticks| ticks > 0)
}
