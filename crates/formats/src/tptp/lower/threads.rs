//! Threads by id: what is open on each, and when it was last seen.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Flow, SpanStatus, Track, TrackId, ValueTypeId};

use super::Lowering;
use super::aggregated::{AggregatedCall, AggregatedColumns};
use super::calls::EnteredCall;
use crate::tptp::call::{Key, key};
use crate::tptp::message::Message;

#[derive(Debug, Default)]
pub(super) struct ThreadCalls {
    threads: Vec<ThreadState>,
    /// Where the thread of each id is now.
    places: HashMap<Key, usize, RandomState>,
    /// The one asked for last.
    last: Option<(Key, usize)>,
    pub(super) open: usize,
    /// Time of the last message that had one; before the first, that one's.
    pub(super) now: i64,
    pub(super) columns: Option<AggregatedColumns>,
    pub(super) counters: Option<(ValueTypeId, ValueTypeId)>,
    pub(super) object_key: Option<traceloom_model::AttrKeyId>,
    pub(super) crowded: bool,
}

#[derive(Debug)]
pub(super) struct ThreadState {
    pub(super) track: TrackId,
    /// Nothing named it yet.
    pub(super) nameless: bool,
    pub(super) open: Vec<EnteredCall>,
    /// Entries left out because of a limit, whose exits are still to come.
    pub(super) dropped: u64,
    /// The call that is open is wanted.
    pub(super) keep: bool,
    pub(super) last: i64,
    pub(super) nodes: Vec<AggregatedCall>,
}

impl ThreadCalls {
    /// Begins at a time, which is that of messages without one until another has been told.
    pub(super) fn beginning(now: i64) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn thread(&mut self, at: usize) -> Option<&mut ThreadState> {
        self.threads.get_mut(at)
    }
}

impl Lowering<'_> {
    pub(super) fn now(&mut self, ticks: u64, offset: u64) -> i64 {
        if ticks != 0 {
            self.calls.now = self.ticks.time(ticks, offset);
        }
        self.calls.now
    }

    /// The thread of a message that refers to one, none when its ids are 0.
    pub(super) fn track_of(&mut self, message: &Message<'_>) -> Option<TrackId> {
        let key = key(
            message.number("threadIdRef"),
            message.number("transientThreadIdRef"),
        );
        self.track_by_key(key)
    }

    pub(super) fn track_by_id(&mut self, id: u64) -> Option<TrackId> {
        self.track_by_key((true, id))
    }

    pub(super) fn track_by_key(&mut self, key: Key) -> Option<TrackId> {
        if key.1 == 0 {
            return None;
        }
        let at = self.thread_at(key);
        self.calls.thread(at).map(|thread| thread.track)
    }

    /// Where the thread of an id is, made when nothing told of it before.
    #[inline]
    pub(super) fn thread_at(&mut self, key: Key) -> usize {
        match self.calls.last {
            Some((last, at)) if last == key => at,
            _ => self.other_thread(key),
        }
    }

    #[inline(never)]
    fn other_thread(&mut self, key: Key) -> usize {
        let known = self.calls.places.get(&key).copied();
        let at = known.unwrap_or_else(|| {
            let thread = self.new_thread(key);
            self.calls.threads.push(thread);
            let at = self.calls.threads.len() - 1;
            self.calls.places.insert(key, at);
            at
        });
        self.calls.last = Some((key, at));
        at
    }

    fn new_thread(&mut self, key: Key) -> ThreadState {
        let track = self.tables.new_track(Track {
            resource: self.producers.current,
            id: Some(key.1),
            ..Track::default()
        });
        ThreadState {
            track,
            nameless: true,
            open: Vec::new(),
            dropped: 0,
            keep: true,
            last: self.calls.now,
            nodes: Vec::new(),
        }
    }

    /// A thread begins. An id that named a thread before names another one from here on.
    pub(super) fn thread_start(&mut self, message: &Message<'_>) {
        let key = key(
            message.number("threadId"),
            message.number("transientThreadId"),
        );
        let name = message.text("threadName");
        let name = (!name.is_empty()).then(|| self.tables.string(&name));
        self.now(message.number("time"), 0);
        let row = Track {
            resource: self.producers.current,
            name,
            id: Some(key.1),
            ..Track::default()
        };
        let at = self.thread_at(key);
        if self.calls.thread(at).is_some_and(|thread| !thread.nameless) {
            // A reader of damaged data may have missed the end of the thread before.
            let _ = self.close_thread(at);
            let next = self.new_thread(key);
            if let Some(thread) = self.calls.thread(at) {
                *thread = next;
            }
        }
        let Some(thread) = self.calls.thread(at) else {
            return;
        };
        thread.nameless = false;
        let track = thread.track;
        self.tables.redefine_track(track, row);
    }

    pub(super) fn thread_end(&mut self, message: &Message<'_>) -> Flow {
        let key = key(
            message.number("threadIdRef"),
            message.number("transientThreadIdRef"),
        );
        let now = self.now(message.number("time"), 0);
        let Some(&at) = self.calls.places.get(&key) else {
            return Flow::Continue(());
        };
        if let Some(thread) = self.calls.thread(at) {
            thread.last = thread.last.max(now);
        }
        self.close_thread(at)
    }

    fn close_thread(&mut self, at: usize) -> Flow {
        let Some(thread) = self.calls.thread(at) else {
            return Flow::Continue(());
        };
        thread.dropped = 0;
        let (calls, nodes, last) = (thread.open.len(), thread.nodes.len(), thread.last);
        for _ in 0..calls {
            self.close(at, SpanStatus::PartialEnd, last, 0)?;
        }
        for _ in 0..nodes {
            self.close_node(at);
            if self.batches.full() {
                self.flush()?;
            }
        }
        Flow::Continue(())
    }

    pub(super) fn end_calls(&mut self) -> Flow {
        let mut places: Vec<(Key, usize)> = self.calls.places.drain().collect();
        places.sort_unstable();
        let now = self.calls.now;
        for (_, at) in places {
            if let Some(thread) = self.calls.thread(at)
                && !thread.open.is_empty()
            {
                thread.last = thread.last.max(now);
            }
            self.close_thread(at)?;
        }
        self.calls.threads.clear();
        self.calls.last = None;
        Flow::Continue(())
    }
}
