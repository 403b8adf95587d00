//! Where events begin and where their members are, found on a thread ahead of the survey and ahead of the rows.
//!
//! What is in a text does not depend on what came before it: the walk takes an event where it comes to one at that offset, and
//! looks through it by itself elsewhere. So the scout may begin anywhere.

use traceloom_model::bounds::{length_u32, row_number};
use traceloom_model::{Asks, Flow, Limits};

use super::event::{EventPlaces, PackedPlaces, TraceEvent};
use super::split::TraceSplitter;
use super::walk::TracePart;
use crate::codec::two_pass::Pass;
use crate::codec::{Ahead, Stretch, each_window};
use crate::{Error, Pull, Scouted, Source, Step};

/// Bytes of a trace for which a scout pays.
const LEAST_SIZE: u64 = 2 << 20;

/// Events told at once: about those of a window, because waking the other thread has a price.
const TOLD: usize = 4096;

/// Of so many windows the survey looks through one by itself: it has little else to do, and would wait.
const SURVEYED: u32 = 3;

/// An event in which nothing is damaged.
struct KnownEvent {
    len: u32,
    places: PackedPlaces,
}

/// The events of a pass that are known.
pub(super) struct EventsAhead<'s> {
    pass: u32,
    ahead: Ahead<'s, KnownEvent>,
    /// Members of the event that was taken last.
    places: EventPlaces,
}

impl<'s> EventsAhead<'s> {
    pub(super) fn nothing() -> Self {
        Self {
            pass: 0,
            ahead: Ahead::nothing(),
            places: EventPlaces::default(),
        }
    }

    /// Returns the bytes of a pass, and what is known of them.
    pub(super) fn of<'p>(pass: &'p mut Pass<'s>) -> (&'p mut dyn Pull, Self) {
        let known = Self {
            pass: pass.number,
            ahead: Ahead::of(pass.source),
            places: EventPlaces::default(),
        };
        (pass.pull.as_mut(), known)
    }

    /// Returns the event that a window at an offset begins with, and its text, if it is known.
    #[inline]
    pub(super) fn event<'w>(
        &'w mut self,
        window: &'w [u8],
        offset: u64,
    ) -> Option<(&'w [u8], TraceEvent<'w>)> {
        let known = self.ahead.at(self.pass, offset)?;
        let text = window.get(..known.len as usize)?;
        self.places.unpack(&known.places);
        Some((text, TraceEvent::new(text, &self.places)))
    }
}

/// Reads each part as often as it is read to be lowered.
///
/// # Errors
/// What the source fails with.
pub(super) fn scout(
    source: &dyn Source,
    limits: &Limits,
    _asks: Asks,
    tell: &mut dyn FnMut(Scouted) -> Flow,
) -> Result<(), Error> {
    for (part, described) in source.parts().iter().enumerate() {
        // What has to be decompressed would be so twice as often.
        if described.size.is_none_or(|size| size < LEAST_SIZE) {
            continue;
        }
        for nth in 0..Pass::COUNT {
            let mut scout = TraceScout {
                limits,
                pass: row_number(part * Pass::COUNT + nth),
                leaves_windows: nth == 0,
                found: Vec::new(),
                tell,
            };
            if !scout.run(source.open(part, 0)?.as_mut())? {
                return Ok(());
            }
        }
    }
    Ok(())
}

struct TraceScout<'a> {
    limits: &'a Limits,
    pass: u32,
    leaves_windows: bool,
    found: Vec<(u64, KnownEvent)>,
    tell: &'a mut dyn FnMut(Scouted) -> Flow,
}

impl TraceScout<'_> {
    /// Reads a part; returns false when nobody listens any more.
    fn run(&mut self, pull: &mut dyn Pull) -> Result<bool, Error> {
        let mut splitter = TraceSplitter::new(self.limits);
        let mut n_windows = 0;
        let is_read = each_window(pull, 1, |chunk| {
            n_windows += 1;
            let (step, consumed) = if self.leaves_windows && n_windows % SURVEYED == 1 {
                splitter = TraceSplitter::among_events(self.limits);
                let consumed = chunk.bytes.len();
                (Step::More { consumed, need: 1 }, consumed)
            } else {
                let nothing = &mut EventsAhead::nothing();
                let step = splitter.walk(chunk, nothing, &mut |part| self.take(&part));
                match step {
                    Step::More { consumed, .. } => (step, consumed),
                    Step::Stop => return step,
                }
            };
            match self.say(chunk.offset + consumed as u64) {
                Flow::Continue(()) => step,
                Flow::Break(()) => Step::Stop,
            }
        })?;
        Ok(is_read && self.say(u64::MAX).is_continue())
    }

    fn take(&mut self, part: &TracePart<'_>) -> Flow {
        let &TracePart::Event {
            offset,
            bytes,
            event,
            defects: [],
        } = part
        else {
            return Flow::Continue(());
        };
        if let Some(places) = event.places().packed() {
            let len = length_u32(bytes.len());
            self.found.push((offset, KnownEvent { len, places }));
        }
        if self.found.len() < TOLD {
            return Flow::Continue(());
        }
        self.say(offset + bytes.len() as u64)
    }

    /// Tells what was found up to an offset.
    fn say(&mut self, until: u64) -> Flow {
        let next = Vec::with_capacity(TOLD);
        let stretch = Stretch {
            pass: self.pass,
            until,
            found: std::mem::replace(&mut self.found, next),
        };
        (self.tell)(stretch.say())
    }
}
