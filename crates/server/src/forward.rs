//! Points of received profiles, sent on to a database that takes line protocol over HTTP.
//!
//! A profile that is safe goes into a queue by its id. A thread takes what is there, has this program derive the points in a process of
//! its own, and posts them. No acknowledgement waits for that: what the queue has no room for is counted as lost, and
//! `export --points` derives it again.

use std::io::Read as _;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use traceloom_input::captures::posts::PostId;

use crate::catalog::Catalog;
use crate::counts::ForwardCounts;
use crate::post::{PostOptions, PostRequest, post};
use crate::questions::{Answers, Question, bound};
use crate::{Counts, Error};

/// Profiles that wait.
const LONGEST_QUEUE: usize = 10_000;
/// Profiles of one request.
const AT_A_TIME: usize = 200;
/// Time for which profiles are gathered.
const GATHERING: Duration = Duration::from_secs(1);
/// Bytes of a request.
const LARGEST: u64 = 64 << 20;

/// Where points of profiles go.
#[derive(Clone, Debug)]
pub struct ForwardOptions {
    /// The database; its patience is the time for which a request is tried.
    pub to: PostOptions,
    /// Path and query, such as `/write?db=profiles`.
    pub path: String,
}

/// What says what an operator should know.
pub(crate) type Tell = Box<dyn Fn(String) + Send>;

/// The queue of profiles whose points are sent on.
#[derive(Debug)]
pub(crate) struct Forwarder {
    queue: SyncSender<PostId>,
    counts: Arc<Counts>,
}

impl Forwarder {
    /// Starts the thread that sends. It ends with the process.
    pub(crate) fn start(
        options: ForwardOptions,
        catalog: Arc<Catalog>,
        answers: Answers,
        counts: Arc<Counts>,
        tell: Tell,
    ) -> Result<Self, Error> {
        let (queue, waiting) = sync_channel(LONGEST_QUEUE);
        let mut thread = ForwardThread {
            options,
            catalog,
            answers,
            counts: counts.clone(),
            tell,
            failed: false,
        };
        std::thread::Builder::new()
            .name("points".to_owned())
            .spawn(move || thread.run(&waiting))
            .map_err(|error| Error::new(format!("no thread: {error}")))?;
        Ok(Self { queue, counts })
    }

    /// Takes a profile that is safe, if there is room.
    pub(crate) fn offer(&self, profile: PostId) {
        let counts = &self.counts.forwarding;
        match self.queue.try_send(profile) {
            Ok(()) => counts.queued.add(1),
            Err(TrySendError::Full(_)) => counts.lost.add("queue_full"),
            Err(TrySendError::Disconnected(_)) => counts.lost.add("bug"),
        }
    }
}

struct ForwardThread {
    options: ForwardOptions,
    catalog: Arc<Catalog>,
    answers: Answers,
    counts: Arc<Counts>,
    tell: Tell,
    /// The last request failed, and that was said.
    failed: bool,
}

impl ForwardThread {
    fn run(&mut self, waiting: &Receiver<PostId>) {
        while let Ok(first) = waiting.recv() {
            let mut profiles = vec![first];
            let until = Instant::now() + GATHERING;
            while profiles.len() < AT_A_TIME {
                let left = until.saturating_duration_since(Instant::now());
                match waiting.recv_timeout(left) {
                    Ok(next) => profiles.push(next),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            self.forward(&profiles);
            self.counts().taken.add(profiles.len() as u64);
        }
    }

    fn counts(&self) -> &ForwardCounts {
        &self.counts.forwarding
    }

    /// Sends the points of some profiles. Where they cannot be derived together, the halves are tried, so that one profile takes no
    /// other along.
    fn forward(&mut self, profiles: &[PostId]) {
        let n_profiles = profiles.len() as u64;
        match self.derive(profiles) {
            Some(points) if points.is_empty() => {
                self.counts().lost.add_many("no_points", n_profiles)
            }
            Some(points) => self.send(points, n_profiles),
            None if n_profiles > 1 => {
                let (some, rest) = profiles.split_at(profiles.len() / 2);
                self.forward(some);
                self.forward(rest);
            }
            None => self.counts().lost.add("underivable"),
        }
    }

    /// Returns the points of profiles; `None` where the process fails or writes too much.
    fn derive(&self, profiles: &[PostId]) -> Option<Vec<u8>> {
        let question = Question::Points(profiles.to_vec());
        let mut command = (self.answers.0)(&self.catalog, &question).ok()?;
        let mut child = command
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        bound(child.id());
        let mut points = Vec::new();
        let out = child.stdout.take()?;
        let read = out.take(LARGEST + 1).read_to_end(&mut points);
        let is_whole = read.is_ok() && points.len() as u64 <= LARGEST;
        if !is_whole {
            let _ = child.kill();
        }
        let status = child.wait().ok()?;
        (is_whole && status.success()).then_some(points)
    }

    fn send(&mut self, points: Vec<u8>, n_profiles: u64) {
        let request = PostRequest {
            path: self.options.path.clone(),
            content_type: "text/plain; charset=utf-8".to_owned(),
            body: points,
        };
        match post(&self.options.to, &[request]) {
            Ok(()) => {
                self.counts().forwarded.add(n_profiles);
                self.failed = false;
            }
            Err(error) => {
                self.counts().lost.add_many("not_taken", n_profiles);
                if !self.failed {
                    (self.tell)(format!(
                        "points of {n_profiles} profiles are not forwarded: {error}"
                    ));
                }
                self.failed = true;
            }
        }
    }
}
