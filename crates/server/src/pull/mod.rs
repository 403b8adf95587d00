//! Profiles of Go programs, pulled from their `net/http/pprof` and stored as posts of Datakit's agents are.
//!
//! A target is a task. Each round asks for cumulative profiles first: what they gained since the round before is one upload. Then come
//! goroutines and the processor, each an upload of its own. A gain that was not stored is part of the next one.

mod fetch;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use traceloom_formats::{datakit, pprof};
use traceloom_model::Limits;

use crate::http::{Http, keep_pulled};
use crate::journal::unix_ns;
use crate::log_events::{Level, LogEvent};
use crate::tls::TlsClient;
use fetch::{PullFailure, decoded, fetch};

/// A Go program whose profiles are pulled.
#[derive(Clone, Debug)]
pub struct PullTarget {
    /// Host and port.
    pub host: String,
    /// Path of its `net/http/pprof`, such as `/debug/pprof`.
    pub path: String,
    /// How TLS is spoken, where it is.
    pub tls: Option<TlsClient>,
    /// What it wants as Authorization, if anything.
    pub authorization: Option<String>,
    /// What is pulled, each once.
    pub profiles: Vec<PulledProfile>,
    /// Time from round to round.
    pub interval: Duration,
    /// Time for which the processor is recorded.
    pub cpu: Duration,
    /// The service that it is.
    pub service: String,
    /// Whom it is stored for; empty for what has no tenant.
    pub tenant: String,
    /// Tags of its profiles.
    pub tags: BTreeMap<String, String>,
}

/// A profile of `net/http/pprof`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the profile of its name")]
pub enum PulledProfile {
    Heap,
    Allocs,
    Mutex,
    Block,
    Goroutine,
    Cpu,
}

impl PulledProfile {
    /// All of them, in the order in which they are asked for.
    pub const ALL: [Self; 6] = [
        Self::Heap,
        Self::Allocs,
        Self::Mutex,
        Self::Block,
        Self::Goroutine,
        Self::Cpu,
    ];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Allocs => "allocs",
            Self::Mutex => "mutex",
            Self::Block => "block",
            Self::Goroutine => "goroutine",
            Self::Cpu => "cpu",
        }
    }

    /// Returns the name of its file, as Datakit has it.
    const fn file(self) -> &'static str {
        match self {
            Self::Heap => "delta-heap.pprof",
            Self::Allocs => "delta-allocs.pprof",
            Self::Mutex => "delta-mutex.pprof",
            Self::Block => "delta-block.pprof",
            Self::Goroutine => "goroutines.pprof",
            Self::Cpu => "cpu.pprof",
        }
    }

    /// Returns `true` if its values are sums since the program began.
    const fn is_cumulative(self) -> bool {
        !matches!(self, Self::Goroutine | Self::Cpu)
    }
}

impl PullTarget {
    /// Returns its address.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host, self.path)
    }

    /// Returns what an operator is told of it.
    pub(crate) fn sentence(&self) -> String {
        let names: Vec<_> = self.profiles.iter().map(|one| one.name()).collect();
        format!(
            "pull from {} every {} s: {}",
            self.url(),
            self.interval.as_secs(),
            names.join(", ")
        )
    }
}

/// A cumulative profile as it was.
struct EarlierProfile {
    /// As it came.
    bytes: Vec<u8>,
    at_ns: i64,
}

/// Pulls the profiles of a target.
pub(crate) struct Puller {
    target: PullTarget,
    http: Arc<Http>,
    earlier: HashMap<PulledProfile, EarlierProfile>,
    /// What failed lately and was said, by the word for it.
    failing: HashMap<PulledProfile, &'static str>,
}

impl Puller {
    /// Prepares a puller; what it stores is counted in `http`.
    pub(crate) fn new(target: PullTarget, http: Arc<Http>) -> Self {
        Self {
            target,
            http,
            earlier: HashMap::new(),
            failing: HashMap::new(),
        }
    }

    /// Pulls until the collector ends.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut ticks = interval(self.target.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let rounds = async {
            loop {
                ticks.tick().await;
                self.round().await;
            }
        };
        tokio::select! {
            () = rounds => {}
            _ = stop.wait_for(|stopped| *stopped) => {}
        }
    }

    async fn round(&mut self) {
        let is_wanted = |profile: &PulledProfile| self.target.profiles.contains(profile);
        let wanted = PulledProfile::ALL.into_iter().filter(is_wanted);
        let (cumulative, others): (Vec<_>, Vec<_>) =
            wanted.partition(|profile| profile.is_cumulative());
        self.pull_gains(&cumulative).await;
        for profile in others {
            let pulled = self.pull_whole(profile).await;
            self.learn(profile, pulled);
        }
    }

    /// Stores what cumulative profiles gained: one upload for those of the same time.
    async fn pull_gains(&mut self, profiles: &[PulledProfile]) {
        let at_ns = unix_ns();
        let mut gains: BTreeMap<i64, Vec<(PulledProfile, Vec<u8>, Vec<u8>)>> = BTreeMap::new();
        for &profile in profiles {
            let path = format!("{}/{}", self.target.path, profile.name());
            let pulled = fetch(&self.target, &path, Duration::ZERO).await;
            match pulled.and_then(|bytes| self.gain(profile, at_ns, bytes)) {
                Ok(Some((since_ns, gain, bytes))) => {
                    gains
                        .entry(since_ns)
                        .or_default()
                        .push((profile, gain, bytes));
                }
                Ok(None) => self.learn(profile, Ok(())),
                Err(failure) => self.learn(profile, Err(failure)),
            }
        }
        for (since_ns, gains) in gains {
            let files: Vec<_> = gains
                .iter()
                .map(|(profile, gain, _)| (profile.file(), &**gain))
                .collect();
            let stored = self.store(&files, since_ns, at_ns).await;
            for (profile, _, bytes) in gains {
                if stored.is_ok() {
                    self.earlier
                        .insert(profile, EarlierProfile { bytes, at_ns });
                }
                let outcome = stored.as_ref().map(|_| ());
                let failed =
                    |failure: &PullFailure| PullFailure::new(failure.reason, &*failure.sentence);
                self.learn(profile, outcome.map_err(failed));
            }
        }
    }

    /// Returns since when a profile gained what, and its bytes; `None` for the first one.
    fn gain(
        &mut self,
        profile: PulledProfile,
        at_ns: i64,
        bytes: Vec<u8>,
    ) -> Result<Option<(i64, Vec<u8>, Vec<u8>)>, PullFailure> {
        let Some(earlier) = self.earlier.get(&profile) else {
            // A base that is no profile would have every gain fail.
            gained(&bytes, &bytes)?;
            self.earlier
                .insert(profile, EarlierProfile { bytes, at_ns });
            return Ok(None);
        };
        match gained(&earlier.bytes, &bytes) {
            Ok(gain) => Ok(Some((earlier.at_ns, gain, bytes))),
            Err(failure) => {
                if failure.reason == RESTARTED {
                    self.earlier
                        .insert(profile, EarlierProfile { bytes, at_ns });
                }
                Err(failure)
            }
        }
    }

    /// Stores a profile that is no sum.
    async fn pull_whole(&self, profile: PulledProfile) -> Result<(), PullFailure> {
        let target = &self.target;
        let (path, recording) = match profile {
            PulledProfile::Cpu => {
                let seconds = target.cpu.as_secs();
                (
                    format!("{}/profile?seconds={seconds}", target.path),
                    target.cpu,
                )
            }
            _ => (
                format!("{}/{}", target.path, profile.name()),
                Duration::ZERO,
            ),
        };
        let start_ns = unix_ns();
        let bytes = fetch(target, &path, recording).await?;
        let end_ns = unix_ns();
        // What is no profile is not stored as one.
        gained(&bytes, &bytes)?;
        self.store(&[(profile.file(), &bytes)], start_ns, end_ns)
            .await
    }

    /// Stores an upload of some files, and returns once it is safe.
    async fn store(
        &self,
        files: &[(&str, &[u8])],
        start: i64,
        end: i64,
    ) -> Result<(), PullFailure> {
        let target = &self.target;
        let name = target.host.rsplit_once(':');
        let mut profile = datakit::Profile {
            service: target.service.clone(),
            host: name.map_or(&*target.host, |(name, _)| name).to_owned(),
            endpoint: target.url(),
            language: datakit::Language::Golang.name().to_owned(),
            runtime: "go".to_owned(),
            start,
            end: end.max(start + 1),
            tags: target.tags.clone(),
            ..datakit::Profile::default()
        };
        // What the file says of these is said at their own place.
        for (key, fact) in [
            ("env", &mut profile.env),
            ("version", &mut profile.version),
            ("host", &mut profile.host),
        ] {
            if let Some(value) = profile.tags.remove(key) {
                *fact = value;
            }
        }
        let names: Vec<_> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let event = datakit::event_json(&profile, &names);
        let mut parts = vec![("event.json", &*event)];
        parts.extend(files);
        let (content_type, body) = datakit::multipart(&parts);
        let sender = (&*target.tenant, &*target.host);
        let kept = keep_pulled(&self.http, sender, &content_type, body).await;
        kept.map_err(|(reason, sentence)| PullFailure { reason, sentence })
    }

    /// Counts what became of a profile, and says it where it is news.
    fn learn(&mut self, profile: PulledProfile, pulled: Result<(), PullFailure>) {
        let log = &self.http.observer.log;
        let what = || format!("{} of {}", profile.name(), self.target.url());
        match pulled {
            Ok(()) => {
                if self.failing.remove(&profile).is_some() {
                    log.say(Level::Info, || {
                        LogEvent::new(Level::Info, format!("{} is pulled again", what()))
                    });
                }
            }
            Err(failure) => {
                self.http.counts.lost.add(failure.reason);
                let said = self.failing.insert(profile, failure.reason);
                let level = match said == Some(failure.reason) {
                    true => Level::Debug,
                    false => Level::Warn,
                };
                log.say(level, || {
                    let text = format!("{} is not pulled: {}", what(), failure.sentence);
                    LogEvent::new(level, text)
                });
            }
        }
    }
}

/// The word for a program that was started again.
const RESTARTED: &str = "restarted";

/// Returns what a profile gained, as a profile.
fn gained(earlier: &[u8], later: &[u8]) -> Result<Vec<u8>, PullFailure> {
    tokio::task::block_in_place(|| {
        let (earlier, later) = (decoded(earlier)?, decoded(later)?);
        let gained = pprof::difference(&earlier, &later, &Limits::default());
        gained.map_err(|error| match error {
            pprof::DifferenceError::Restarted => PullFailure::new(
                RESTARTED,
                "the program was started again, and what it did since the round before is not known",
            ),
            _ => PullFailure::new("no_profile", "the answer is no pprof profile"),
        })
    })
}
