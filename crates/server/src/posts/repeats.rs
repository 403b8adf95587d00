//! Posts that were stored lately, by what they are known by: a sender whose reply was lost sends again.

use std::collections::{HashMap, HashSet, VecDeque};

use traceloom_input::captures::posts::{Mark, is_posts};
use traceloom_input::captures::upload::MARK;
use traceloom_input::captures::{CaptureId, EVENTS, Event, Manifests};
use traceloom_log::{Position, Snapshot};

use super::HOUR_NS;

/// Time that a post is known.
const WINDOW_NS: i64 = 1_800_000_000_000;
/// Posts that are known at a time, the newest: 200 a second for the whole window.
const MOST_KNOWN: usize = 400_000;

/// Where a post is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownPost {
    pub(super) capture: CaptureId,
    pub(super) number: u32,
    /// Behind the last of its records.
    pub(super) position: Position,
}

/// The posts of the last half hour.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    known: HashMap<[u8; 32], KnownPost>,
    /// In the order of their receipt.
    order: VecDeque<Mark>,
}

impl Repeats {
    /// Reads the marks of manifests and of the log. A manifest that is damaged is told elsewhere.
    pub(super) fn restore(
        manifests: &Manifests,
        snapshot: &Snapshot,
        now_ns: i64,
    ) -> Result<Self, traceloom_log::Error> {
        let mut found = Vec::new();
        let mut packs = HashSet::new();
        let oldest = now_ns - WINDOW_NS;
        for (id, revisions) in manifests.list().unwrap_or_default().into_iter().rev() {
            let newest = revisions.last().copied().unwrap_or_default();
            let Ok(manifest) = manifests.read(id, newest) else {
                continue;
            };
            // Ids come in the order of beginnings, and a pack is for an hour at most.
            if manifest.opened_ns < oldest - HOUR_NS {
                break;
            }
            if !is_posts(manifest.protocol) {
                continue;
            }
            packs.insert(id);
            for entry in manifest.context.iter().filter(|entry| entry.kind == MARK) {
                let known = KnownPost {
                    capture: id,
                    number: entry.stream,
                    position: Position(0),
                };
                found.extend(Mark::decode(&entry.bytes).map(|mark| (mark, known)));
            }
        }
        let mut reader = snapshot.reader();
        while let Some(group) = reader.next_group()? {
            for (position, (_, record)) in (group.start.0..).zip(group.located()) {
                let capture = CaptureId::of_session(record.session);
                if record.stream == EVENTS {
                    let event = Event::decode(record.kind, record.bytes);
                    if matches!(event, Some(Event::Opened { protocol, .. }) if is_posts(protocol)) {
                        packs.insert(capture);
                    }
                } else if record.kind == MARK && packs.contains(&capture) {
                    let known = KnownPost {
                        capture,
                        number: record.stream,
                        position: Position(position),
                    };
                    found.extend(Mark::decode(record.bytes).map(|mark| (mark, known)));
                }
            }
        }
        found.sort_by_key(|(mark, _)| mark.at_ns);
        let mut repeats = Self::default();
        for (mark, known) in found {
            if mark.at_ns >= oldest && !repeats.known.contains_key(&mark.identity) {
                repeats.insert(mark, known);
            }
        }
        Ok(repeats)
    }

    pub(super) fn find(&self, identity: &[u8; 32]) -> Option<KnownPost> {
        self.known.get(identity).copied()
    }

    pub(super) fn insert(&mut self, mark: Mark, known: KnownPost) {
        self.known.insert(mark.identity, known);
        self.order.push_back(mark);
    }

    /// Forgets what is old, or too much.
    pub(super) fn expire(&mut self, now_ns: i64) {
        while let Some(first) = self.order.front() {
            if first.at_ns >= now_ns - WINDOW_NS && self.order.len() <= MOST_KNOWN {
                return;
            }
            self.known.remove(&first.identity);
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(at_ns: i64, byte: u8) -> Mark {
        Mark {
            at_ns,
            identity: [byte; 32],
        }
    }

    #[test]
    fn a_post_is_known_for_the_window() {
        let mut repeats = Repeats::default();
        let known = KnownPost {
            capture: CaptureId::new(1, 2),
            number: 3,
            position: Position(4),
        };
        repeats.insert(mark(0, 1), known);
        repeats.insert(mark(WINDOW_NS, 2), known);
        repeats.expire(WINDOW_NS);
        assert_eq!(repeats.find(&[1; 32]), Some(known));
        repeats.expire(WINDOW_NS + 1);
        assert_eq!(repeats.find(&[1; 32]), None);
        assert_eq!(repeats.find(&[2; 32]), Some(known));
    }
}
