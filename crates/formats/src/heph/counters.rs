//! Stream counters: what is lost, late or doubled, and where a new run begins (SPEC.md §6.5, §6.9).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::record::{CounterCheck, Event, Visit};
use crate::{damage, info, warn};

/// How many counters back an event may come and still be late or a duplicate.
const WINDOW: u32 = 1024;
/// A forward step of at least this much is a step back.
const BACK: u32 = 1 << 31;
const CLEAN: usize = 64;

/// The counters of one run at a time.
#[derive(Clone, Debug)]
pub(super) struct RunCounters {
    streams: HashMap<u32, StreamCounter, RandomState>,
    /// The next counter of low streams that have nothing open, kept apart because it is all most events
    /// need; [`RunCounters::join`] puts it back.
    clean: [Option<u32>; CLEAN],
    most_streams: usize,
    untracked: u64,
    /// An event of the run has a counter other than 0.
    used: bool,
    any_event: bool,
    epoch: Option<u64>,
    /// A new epoch that has not shown yet whether it begins a run.
    pending: Option<PendingGap>,
}

#[derive(Clone, Copy, Debug)]
struct PendingGap {
    offset: u64,
    had_epoch: bool,
}

#[derive(Clone, Debug, Default)]
struct StreamCounter {
    expected: u32,
    first_offset: u64,
    first: u32,
    holes: Vec<Hole>,
    duplicates: CounterNotes,
    late: CounterNotes,
    /// A step far back: where the counter would go on from there.
    suspect: Option<(u32, u64)>,
    after_epoch: bool,
}

/// Counters not seen yet.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u32,
    length: u32,
    offset: u64,
    leading: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct CounterNotes {
    count: u64,
    first_offset: u64,
}

impl CounterNotes {
    fn add(&mut self, offset: u64) {
        if self.count == 0 {
            self.first_offset = offset;
        }
        self.count += 1;
    }
}

impl RunCounters {
    pub fn new(limits: &Limits) -> Self {
        Self {
            streams: HashMap::default(),
            clean: [None; CLEAN],
            most_streams: limits.size(Limit::Table),
            untracked: 0,
            used: false,
            any_event: false,
            epoch: None,
            pending: None,
        }
    }

    /// Takes note of an epoch; one that differs from the last may begin a new run.
    pub fn epoch<V: Visit>(&mut self, epoch: u64, offset: u64, out: &mut V) -> Flow {
        if self.epoch == Some(epoch) {
            return Flow::Continue(());
        }
        self.join_all();
        self.settle(out)?;
        let had_epoch = self.epoch.replace(epoch).is_some();
        if self.any_event || had_epoch {
            self.pending = Some(PendingGap { offset, had_epoch });
            self.streams
                .values_mut()
                .for_each(|stream| stream.after_epoch = false);
        }
        Flow::Continue(())
    }

    /// Takes note of an event.
    #[inline(always)]
    pub fn event<V: Visit>(&mut self, event: &Event<'_>, out: &mut V) -> Counted {
        if let Some(Some(next)) = self.clean.get_mut(event.stream as usize)
            && *next == event.counter
        {
            *next = next.wrapping_add(1);
            self.used |= event.counter != 0;
            return Counted::Continue(CounterCheck::default());
        }
        // A copy, so that the event itself need not lie in memory for this.
        self.slow(&{ *event }, out)
    }

    #[inline(never)]
    fn slow<V: Visit>(&mut self, event: &Event<'_>, out: &mut V) -> Counted {
        self.any_event = true;
        self.used |= event.counter != 0;
        self.join(event.stream);
        if self.pending.is_some() {
            self.look_for_restart(event, out)?;
        }
        let pending = self.pending.is_some();
        let full = self.streams.len() >= self.most_streams;
        let stream = match self.streams.entry(event.stream) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if full => {
                self.untracked += 1;
                return Counted::Continue(CounterCheck::default());
            }
            Entry::Vacant(entry) => {
                entry.insert(StreamCounter::begin(event, pending));
                return Counted::Continue(CounterCheck::default());
            }
        };
        let seen = stream.step(event, out)?;
        if !pending
            && stream.holes.is_empty()
            && stream.suspect.is_none()
            && let Some(clean) = self.clean.get_mut(event.stream as usize)
        {
            *clean = Some(stream.expected);
        }
        Counted::Continue(seen)
    }

    /// Brings the counter kept apart back to its stream.
    fn join(&mut self, id: u32) {
        let clean = self.clean.get_mut(id as usize).and_then(Option::take);
        if let (Some(expected), Some(stream)) = (clean, self.streams.get_mut(&id)) {
            stream.expected = expected;
        }
    }

    fn join_all(&mut self) {
        for id in (0..).take(CLEAN) {
            self.join(id);
        }
    }

    /// A new epoch begins a run when a stream known before it counts from 0 again.
    fn look_for_restart<V: Visit>(&mut self, event: &Event<'_>, out: &mut V) -> Flow {
        let Some(stream) = self.streams.get(&event.stream).filter(|s| !s.after_epoch) else {
            return Flow::Continue(());
        };
        let back = stream.expected.wrapping_sub(event.counter);
        if event.counter == 0 || (back > WINDOW && back < BACK) {
            self.restart(out)
        } else {
            self.no_restart(out)
        }
    }

    /// Decides about a pending epoch when nothing more will: streams that only began after it, each at
    /// 0, are a run of their own.
    fn settle<V: Visit>(&mut self, out: &mut V) -> Flow {
        if self.pending.is_none() {
            return Flow::Continue(());
        }
        let mut fresh = self
            .streams
            .values()
            .filter(|stream| stream.after_epoch)
            .peekable();
        let begins = self.streams.values().any(|stream| !stream.after_epoch)
            && fresh.peek().is_some()
            && fresh.all(|stream| stream.first == 0);
        if begins {
            self.restart(out)
        } else {
            self.no_restart(out)
        }
    }

    fn no_restart<V: Visit>(&mut self, out: &mut V) -> Flow {
        match self.pending.take() {
            Some(PendingGap {
                offset,
                had_epoch: true,
            }) => {
                let text =
                    "another epoch while the counters go on: the last one dates the whole run";
                out.note(warn("second_epoch", offset, text))
            }
            _ => Flow::Continue(()),
        }
    }

    fn restart<V: Visit>(&mut self, out: &mut V) -> Flow {
        let Some(PendingGap { offset, .. }) = self.pending.take() else {
            return Flow::Continue(());
        };
        let (fresh, over) = self
            .streams
            .drain()
            .partition(|(_, stream)| stream.after_epoch);
        self.streams = fresh;
        self.run_notes(over, out)?;
        let text = "a new epoch and counters that begin again: a concatenated or restarted trace";
        out.note(info("new_run", offset, text))?;
        out.run(offset);
        Flow::Continue(())
    }

    /// Says what is left to say at the end of the input.
    pub fn finish<V: Visit>(&mut self, out: &mut V) -> Flow {
        self.join_all();
        self.settle(out)?;
        let over = std::mem::take(&mut self.streams);
        self.run_notes(over, out)?;
        if self.untracked > 0 {
            let text =
                "more streams than the limit `table`: counters of the others are not checked";
            out.note(damage("limit_table", 0, text).counting(self.untracked))?;
        }
        Flow::Continue(())
    }

    fn run_notes<V: Visit>(
        &mut self,
        streams: HashMap<u32, StreamCounter, RandomState>,
        out: &mut V,
    ) -> Flow {
        let used_next = self.streams.values().any(|stream| stream.expected != 1);
        let used = std::mem::replace(&mut self.used, used_next);
        let mut streams: Vec<(u32, StreamCounter)> = streams.into_iter().collect();
        streams.sort_unstable_by_key(|&(id, _)| id);
        let repeated = streams
            .iter()
            .find(|(_, stream)| stream.duplicates.count > 0);
        if let (false, Some((_, stream))) = (used, repeated) {
            let text = "every stream counter is 0: counters are not used, loss cannot be seen";
            return out.note(info("counters_unused", stream.first_offset, text));
        }
        for (id, mut stream) in streams {
            stream.close_holes(id, true, out)?;
            let CounterNotes {
                count,
                first_offset,
            } = stream.duplicates;
            if count > 0 {
                let text = format!("stream {id}: {count} packets are there twice, once is kept");
                out.note(warn("duplicate_packets", first_offset, text).counting(count))?;
            }
            let CounterNotes {
                count,
                first_offset,
            } = stream.late;
            if count > 0 {
                let text = format!("stream {id}: {count} packets came late");
                out.note(info("late_packets", first_offset, text).counting(count))?;
            }
        }
        Flow::Continue(())
    }
}

type Counted = std::ops::ControlFlow<(), CounterCheck>;

impl StreamCounter {
    fn begin(event: &Event<'_>, after_epoch: bool) -> Self {
        let mut stream = Self {
            expected: event.counter.wrapping_add(1),
            first: event.counter,
            first_offset: event.offset,
            after_epoch,
            ..Self::default()
        };
        if event.counter > 0 {
            stream.holes.push(Hole {
                start: 0,
                length: event.counter,
                offset: event.offset,
                leading: true,
            });
        }
        stream
    }

    fn step<V: Visit>(&mut self, event: &Event<'_>, out: &mut V) -> Counted {
        let Event {
            counter,
            offset,
            stream: id,
            ..
        } = *event;
        if let Some((next, suspect_offset)) = self.suspect.take()
            && counter == next
        {
            self.close_holes(id, true, out)?;
            let text = format!("stream {id}: the counter began again");
            out.note(warn("counter_restart", suspect_offset, text))?;
            self.expected = counter.wrapping_add(1);
            return Counted::Continue(CounterCheck::default());
        }
        let ahead = counter.wrapping_sub(self.expected);
        if ahead < BACK {
            if ahead > 0 {
                self.holes.push(Hole {
                    start: self.expected,
                    length: ahead,
                    offset,
                    leading: false,
                });
            }
            self.expected = counter.wrapping_add(1);
            self.close_holes(id, false, out)?;
            return Counted::Continue(CounterCheck::default());
        }
        if self.fill(counter) {
            self.late.add(offset);
            return Counted::Continue(CounterCheck::default());
        }
        let back = self.expected.wrapping_sub(counter);
        if back > WINDOW {
            self.suspect = Some((counter.wrapping_add(1), offset));
            return Counted::Continue(CounterCheck::default());
        }
        self.duplicates.add(offset);
        Counted::Continue(CounterCheck { duplicate: true })
    }

    /// Takes a counter out of the holes; false when it was in none.
    fn fill(&mut self, counter: u32) -> bool {
        let inside = |hole: &Hole| counter.wrapping_sub(hole.start) < hole.length;
        let Some(at) = self.holes.iter().position(inside) else {
            return false;
        };
        let hole = self.holes.remove(at);
        let before = counter.wrapping_sub(hole.start);
        let after = hole.length - before - 1;
        let start = counter.wrapping_add(1);
        let parts = [
            Hole {
                length: before,
                ..hole
            },
            Hole {
                start,
                length: after,
                ..hole
            },
        ];
        let parts = parts.into_iter().filter(|part| part.length > 0);
        self.holes.splice(at..at, parts);
        true
    }

    /// Gives up on holes that lie outside the window, or on all of them.
    fn close_holes<V: Visit>(&mut self, id: u32, all: bool, out: &mut V) -> Flow {
        let expected = self.expected;
        let open = |hole: &Hole| {
            let last = hole.start.wrapping_add(hole.length);
            !all && expected.wrapping_sub(last) <= WINDOW
        };
        let closed = self.holes.iter().position(open).unwrap_or(self.holes.len());
        for hole in self.holes.drain(..closed) {
            let count = u64::from(hole.length);
            let note: Note = if hole.leading && hole.length >= BACK {
                let text = format!(
                    "stream {id} begins at counter {}: the recording joined late",
                    self.first
                );
                out.note(info("late_start", hole.offset, text))?;
                continue;
            } else if hole.leading {
                let text = format!(
                    "stream {id} begins at counter {}: {count} packets are lost, or the recording joined late",
                    self.first
                );
                warn("late_start", hole.offset, text)
            } else {
                let text = format!(
                    "stream {id}: {count} packets are lost before counter {}",
                    hole.start.wrapping_add(hole.length)
                );
                damage("lost_packets", hole.offset, text)
            };
            out.note(note.counting(count))?;
        }
        Flow::Continue(())
    }
}
