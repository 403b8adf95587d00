//! Threads by id: what is open on each, and when it was last seen.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Flow, SpanStatus, Track, TrackId, ValueTypeId};

use super::Lowering;
use super::aggregated::{Columns, Node};
use super::calls::Open;
use crate::tptp::message::Message;

/// A thread by the id that does not move, or by the one that may: those numbers are no relatives.
pub(super) type Key = (bool, u64);

#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) threads: HashMap<Key, Thread, RandomState>,
    pub(super) open: usize,
    pub(super) now: i64,
    pub(super) columns: Option<Columns>,
    pub(super) counters: Option<(ValueTypeId, ValueTypeId)>,
    pub(super) object_key: Option<traceloom_model::AttrKeyId>,
    pub(super) crowded: bool,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) track: TrackId,
    /// Nothing named it yet.
    pub(super) nameless: bool,
    pub(super) open: Vec<Open>,
    /// Entries left out because of a limit, whose exits are still to come.
    pub(super) dropped: u64,
    /// The call that is open is wanted.
    pub(super) keep: bool,
    pub(super) last: i64,
    pub(super) nodes: Vec<Node>,
}

pub(super) fn key(fixed: u64, transient: u64) -> Key {
    if fixed != 0 {
        (true, fixed)
    } else {
        (false, transient)
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
        (key.1 != 0).then(|| self.thread(key).track)
    }

    pub(super) fn track_by_id(&mut self, id: u64) -> Option<TrackId> {
        (id != 0).then(|| self.thread((true, id)).track)
    }

    pub(super) fn thread(&mut self, key: Key) -> &mut Thread {
        let Self {
            calls,
            tables,
            producers,
            ..
        } = self;
        let now = calls.now;
        calls.threads.entry(key).or_insert_with(|| Thread {
            track: tables.new_track(Track {
                resource: producers.current,
                id: Some(key.1),
                ..Track::default()
            }),
            nameless: true,
            open: Vec::new(),
            dropped: 0,
            keep: true,
            last: now,
            nodes: Vec::new(),
        })
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
        if self
            .calls
            .threads
            .get(&key)
            .is_some_and(|thread| !thread.nameless)
        {
            // A reader of damaged data may have missed the end of the thread before.
            let _ = self.close_thread(key);
            self.calls.threads.remove(&key);
        }
        let track = {
            let thread = self.thread(key);
            thread.nameless = false;
            thread.track
        };
        self.tables.redefine_track(track, row);
    }

    pub(super) fn thread_end(&mut self, message: &Message<'_>) -> Flow {
        let key = key(
            message.number("threadIdRef"),
            message.number("transientThreadIdRef"),
        );
        let now = self.now(message.number("time"), 0);
        if let Some(thread) = self.calls.threads.get_mut(&key) {
            thread.last = thread.last.max(now);
        }
        self.close_thread(key)
    }

    pub(super) fn close_thread(&mut self, key: Key) -> Flow {
        let Some(thread) = self.calls.threads.get_mut(&key) else {
            return Flow::Continue(());
        };
        thread.dropped = 0;
        let (calls, last) = (thread.open.len(), thread.last);
        for _ in 0..calls {
            self.close(key, SpanStatus::PartialEnd, last, 0)?;
        }
        while self.thread(key).nodes.last().is_some() {
            self.close_node(key);
            if self.batches.full() {
                self.flush()?;
            }
        }
        Flow::Continue(())
    }

    pub(super) fn end_calls(&mut self) -> Flow {
        let mut keys: Vec<Key> = self.calls.threads.keys().copied().collect();
        keys.sort_unstable();
        let now = self.calls.now;
        for key in keys {
            if let Some(thread) = self.calls.threads.get_mut(&key)
                && !thread.open.is_empty()
            {
                thread.last = thread.last.max(now);
            }
            self.close_thread(key)?;
        }
        self.calls.threads.clear();
        Flow::Continue(())
    }
}
