//! Posts of senders over HTTP: many to a capture, each stored once, acknowledged when it is safe.
//!
//! A *pack* is the capture that posts of one protocol, tenant, service, version and type go to, for an hour at most. A post is one group of
//! the log: its name, its bytes as they were sent, and the mark by which it is known again.

mod repeats;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use traceloom_formats::protocol::CaptureRules;
use traceloom_input::captures::posts::{Mark, PostId, Receipt, are_lines};
use traceloom_input::captures::upload::{
    DATA, INSTANCE, MARK, NAME, REPEAT, SERVICE, TENANT, VERSION,
};
use traceloom_input::captures::{CaptureId, DataFolder, EVENTS, Event};
use traceloom_log::{Position, Record, Refused};

use crate::Error;
use crate::journal::{Journal, unix_ns};
use crate::session_ids::SessionIds;
use repeats::{KnownPost, Repeats};

/// Posts of a pack.
const MOST_POSTS: u32 = 1000;
/// Posts of a pack where they are lines of one file.
const MOST_LINES: u32 = 20_000;
/// Bytes of a pack, beyond which it gets no further post.
const MOST_BYTES: u64 = 64 << 20;
/// Packs that are open at a time.
const MOST_PACKS: usize = 1000;
/// Time that a pack is for.
const HOUR_NS: i64 = 3_600_000_000_000;
/// Bytes of a record.
const PIECE: usize = 1 << 20;
/// Bytes of the name of a service, a tenant or a version.
const LONGEST_NAME: usize = 1024;
/// Time that a post waits for room in the log. With the time that its body may wait (`http::body`) it stays below the ten seconds
/// after which three of four SDKs give up, and they do not send again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stores posts.
pub(crate) struct Posts {
    journal: Arc<Journal>,
    ids: Arc<SessionIds>,
    /// Time that a post waits for room in the log.
    patience: Duration,
    /// What comes again is stored again.
    forgets: bool,
    state: Mutex<PostState>,
}

struct PostState {
    packs: HashMap<PackKey, Pack>,
    repeats: Repeats,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct PackKey {
    protocol: u8,
    tenant: String,
    service: String,
    version: String,
    kind: String,
}

/// A capture that takes posts.
#[derive(Clone, Copy)]
struct Pack {
    id: CaptureId,
    hour: i64,
    n_posts: u32,
    n_bytes: u64,
}

/// What a sender posted.
pub(crate) struct Post<'p> {
    /// What it is stored as.
    pub(crate) rules: &'static CaptureRules,
    /// Whom it is sent for; empty without a token.
    pub(crate) tenant: &'p str,
    /// The service it is about; the session, where posts are lines of one file.
    pub(crate) service: &'p str,
    /// The version of the service; empty where it is not said.
    pub(crate) version: &'p str,
    /// What is posted, such as `process_cpu`; empty where it is not said.
    pub(crate) kind: &'p str,
    /// The sender's address.
    pub(crate) peer: &'p str,
    /// How the names of its files end.
    pub(crate) extension: &'p str,
    /// Its bytes.
    pub(crate) pieces: &'p [&'p [u8]],
    /// What tells it from every other post of its protocol and tenant.
    pub(crate) identity: blake3::Hash,
}

/// Where a post is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptPost {
    pub(crate) id: PostId,
    /// It was stored before.
    pub(crate) repeats: bool,
}

/// A record that is being put together.
type NewRecord<'p> = (CaptureId, u32, u8, std::borrow::Cow<'p, [u8]>);

impl Posts {
    /// Learns which posts were stored lately.
    pub(crate) fn open(
        folder: &DataFolder,
        journal: Arc<Journal>,
        ids: Arc<SessionIds>,
        forgets: bool,
    ) -> Result<Self, Error> {
        let manifests = folder.disks()?.manifests;
        let repeats = Repeats::restore(&manifests, &journal.snapshot(), unix_ns());
        let repeats = repeats.map_err(|error| Error::new(format!("the log: {error}")))?;
        let packs = HashMap::new();
        Ok(Self {
            journal,
            ids,
            patience: PATIENCE,
            forgets,
            state: Mutex::new(PostState { packs, repeats }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, PostState> {
        // Every change is made after the log took the records, and none of them panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a post once there is room for it, and waits until it is safe. One that is stored already leaves a receipt.
    ///
    /// # Errors
    /// When nothing is stored any more, or the log stays full.
    pub(crate) async fn keep(&self, post: &Post<'_>) -> Result<KeptPost, Refused> {
        let kept = self.keep_within(post, None).await?;
        // Any capture would do.
        kept.ok_or(Refused::Ended)
    }

    /// Stores a post as [`Posts::keep`] does, but a new one only in this capture, where one is named: `None` when that takes no
    /// more posts.
    ///
    /// # Errors
    /// When nothing is stored any more; [`Refused::Full`] when the log stays full, and then nothing of the post is in it.
    pub(crate) async fn keep_within(
        &self,
        post: &Post<'_>,
        within: Option<CaptureId>,
    ) -> Result<Option<KeptPost>, Refused> {
        let until = Instant::now() + self.patience;
        let mut progress = self.journal.progress();
        let kept = loop {
            progress.mark_unchanged();
            match self.try_keep(post, within) {
                Err(Refused::Full) => {}
                done => break done?,
            }
            let changed = timeout_at(until, progress.changed()).await;
            changed
                .map_err(|_| Refused::Full)?
                .map_err(|_| Refused::Ended)?;
        };
        let Some((kept, position)) = kept else {
            return Ok(None);
        };
        self.journal.until_safe(position).await?;
        Ok(Some(kept))
    }

    fn try_keep(
        &self,
        post: &Post<'_>,
        within: Option<CaptureId>,
    ) -> Result<Option<(KeptPost, Position)>, Refused> {
        let now_ns = unix_ns();
        let key = PackKey {
            protocol: post.rules.number,
            tenant: shortened(post.tenant),
            service: shortened(post.service),
            version: shortened(post.version),
            kind: shortened(post.kind),
        };
        let identity = *post.identity.as_bytes();
        let mut state = self.lock();
        state.repeats.expire(now_ns);
        let mut records = Vec::new();
        let mut pack = self.pack(&state, &key, post, now_ns, &mut records);
        let known = state.repeats.find(&identity);
        if let Some(known) = known.filter(|_| !self.forgets) {
            let original = PostId {
                capture: known.capture,
                number: known.number,
            };
            let receipt = Receipt {
                at_ns: now_ns,
                original,
                peer: post.peer.to_owned(),
            };
            records.push((pack.id, 0, REPEAT, receipt.encode().into()));
            let position = self.journal.submit_together(&encoded(&records))?;
            state.packs.insert(key, pack);
            let kept = KeptPost {
                id: original,
                repeats: true,
            };
            return Ok(Some((kept, position.max(known.position))));
        }
        if within.is_some_and(|within| within != pack.id) {
            return Ok(None);
        }
        let number = pack.n_posts;
        let file = match are_lines(post.rules.number) {
            true => 0,
            false => number,
        };
        if file == number {
            let name = format!("{file}.{}", post.extension);
            records.push((pack.id, file, NAME, name.into_bytes().into()));
        }
        for piece in post.pieces.iter().flat_map(|bytes| bytes.chunks(PIECE)) {
            records.push((pack.id, file, DATA, piece.into()));
            pack.n_bytes += piece.len() as u64;
        }
        let mark = Mark {
            at_ns: now_ns,
            identity,
        };
        records.push((pack.id, number, MARK, mark.encode().into()));
        let position = self.journal.submit_together(&encoded(&records))?;
        pack.n_posts += 1;
        state.packs.insert(key, pack);
        let known = KnownPost {
            capture: pack.id,
            number,
            position,
        };
        state.repeats.insert(mark, known);
        let kept = KeptPost {
            id: PostId {
                capture: pack.id,
                number,
            },
            repeats: false,
        };
        Ok(Some((kept, position)))
    }

    /// Finds the pack for a post, or begins one; what ends and begins goes to `records`.
    fn pack<'p>(
        &self,
        state: &PostState,
        key: &PackKey,
        post: &Post<'_>,
        now_ns: i64,
        records: &mut Vec<NewRecord<'p>>,
    ) -> Pack {
        let hour = now_ns.div_euclid(HOUR_NS);
        let open = state.packs.get(key);
        let (most, about) = match are_lines(key.protocol) {
            true => (MOST_LINES, INSTANCE),
            false => (MOST_POSTS, SERVICE),
        };
        let fits =
            |pack: &&Pack| pack.hour == hour && pack.n_posts < most && pack.n_bytes < MOST_BYTES;
        if let Some(pack) = open.filter(fits) {
            return *pack;
        }
        if let Some(pack) = open {
            records.push(ended(pack.id, now_ns, "complete", true));
        }
        let pack = Pack {
            id: self.ids.next(),
            hour,
            n_posts: 0,
            n_bytes: 0,
        };
        let opened = Event::Opened {
            protocol: post.rules.number,
            at_ns: now_ns,
            peer: post.peer.to_owned(),
        };
        let (kind, bytes) = opened.encode();
        records.push((pack.id, EVENTS, kind, bytes.into()));
        let said = [
            (about, &key.service),
            (TENANT, &key.tenant),
            (VERSION, &key.version),
        ];
        for (kind, text) in said {
            if !text.is_empty() {
                records.push((pack.id, 0, kind, text.clone().into_bytes().into()));
            }
        }
        pack
    }

    /// Ends the packs whose hour is over, and the oldest ones where there are too many. Where the log is full, the next post does it.
    pub(crate) fn sweep(&self) {
        let _ = self.try_sweep(false);
    }

    /// Ends all packs at the end of the collector.
    pub(crate) async fn end(&self) {
        let mut progress = self.journal.progress();
        loop {
            progress.mark_unchanged();
            match self.try_sweep(true) {
                Err(Refused::Full) => {}
                // A log that failed takes no more; readers then see interrupted captures.
                _ => return,
            }
            if progress.changed().await.is_err() {
                return;
            }
        }
    }

    fn try_sweep(&self, all: bool) -> Result<(), Refused> {
        let now_ns = unix_ns();
        let hour = now_ns.div_euclid(HOUR_NS);
        let mut state = self.lock();
        let is_due = |pack: &Pack| all || pack.hour != hour;
        if state.packs.len() <= MOST_PACKS && !state.packs.values().any(is_due) {
            return Ok(());
        }
        let mut over: Vec<_> = state.packs.iter().collect();
        over.sort_by_key(|(_, pack)| std::cmp::Reverse(pack.id));
        let surplus = over
            .iter()
            .enumerate()
            .filter(|(at, (_, pack))| *at >= MOST_PACKS || is_due(pack));
        let over: Vec<_> = surplus
            .map(|(_, (key, pack))| ((*key).clone(), pack.id))
            .collect();
        let (reason, orderly) = match all {
            true => ("collector_stopped", false),
            false => ("complete", true),
        };
        let records: Vec<_> = over
            .iter()
            .map(|(_, id)| ended(*id, now_ns, reason, orderly))
            .collect();
        self.journal.submit_together_at_once(&encoded(&records))?;
        for (key, _) in over {
            state.packs.remove(&key);
        }
        Ok(())
    }
}

/// Returns records as the log takes them.
fn encoded<'r>(records: &'r [NewRecord<'_>]) -> Vec<Record<'r>> {
    let records = records.iter();
    records
        .map(|(id, stream, kind, bytes)| Record {
            session: id.session(),
            stream: *stream,
            kind: *kind,
            bytes,
        })
        .collect()
}

/// Returns the record that ends a pack.
fn ended<'p>(id: CaptureId, at_ns: i64, reason: &str, orderly: bool) -> NewRecord<'p> {
    let closed = Event::Closed {
        at_ns,
        orderly,
        reason: reason.to_owned(),
    };
    let (kind, bytes) = closed.encode();
    (id, EVENTS, kind, bytes.into())
}

/// Cuts a name that somebody else chose.
fn shortened(name: &str) -> String {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default().to_owned()
}
