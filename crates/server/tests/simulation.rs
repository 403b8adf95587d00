//! Senders, sessions and the log on a machine that stops between any two operations of its disk.
//!
//! A seed decides everything: what CDT agents, Heph senders, uploads and posts send and when, how bytes are cut on their way, when
//! groups are committed and captures sealed, by how many years the clock steps, which operation of the disk fails or stops
//! the machine, and what of the unsynced bytes survives. Then the captures are held against what the agents were told. `TRACELOOM_SIMULATION_SEEDS` runs more of them,
//! `TRACELOOM_SIMULATION_SEED` one.
#![allow(missing_docs, reason = "a test")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use traceloom_formats::protocol::{Entry, Identity, Protocol, Sender, Session, SessionOptions};
use traceloom_formats::{Part, cdt, heph};
use traceloom_input::captures::posts::{Mark, PostId, Receipt, SENDERS, are_lines};
use traceloom_input::captures::upload::{DATA, INSTANCE, MARK, NAME, REPEAT, UPLOAD};
use traceloom_input::captures::{
    Capture, CaptureDisks, CaptureId, Captures, EVENTS, Event, Manifests,
};
use traceloom_log::disk::{Disk, DiskFault, Simulated, Survivors};
use traceloom_log::{Log, Options, Position, Record, Snapshot};
use traceloom_server::{Error, Request, SealLog, SealRules, Sealer};

/// Steps of one start of the collector.
const STEPS: u64 = 120;

const TEN_YEARS: i64 = 315_576_000_000_000_000;

/// A small generator (splitmix64), so that a seed replays.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn survivors(&mut self) -> Survivors {
        match self.below(3) {
            0 => Survivors::None,
            1 => Survivors::All,
            _ => Survivors::Some(self.next()),
        }
    }
}

/// What an agent sends as the stream `part`: bytes that no other agent or stream has at the same place.
fn source(instance: &str, part: usize, length: usize) -> Vec<u8> {
    let salt = instance.bytes().fold(part as u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut random = Random(salt);
    (0..length)
        .map(|_| random.next().to_le_bytes()[0])
        .collect()
}

/// What a sender is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An agent that is told what is safe.
    Cdt,
    /// A sender that is told nothing: what was committed is safe.
    Heph,
    /// A client that is told how much of its file is safe.
    Upload,
    /// A client whose posts are safe as a whole or not at all, of one of [`SENDERS`].
    Post(usize),
}

impl Kind {
    fn of(random: &mut Random) -> Self {
        match random.below(5) {
            0 => Self::Heph,
            1 => Self::Upload,
            2 => Self::Post(random.below(SENDERS.len() as u64) as usize),
            _ => Self::Cdt,
        }
    }

    fn protocol(self) -> Option<&'static Protocol> {
        match self {
            Self::Cdt => Some(&cdt::PROTOCOL),
            Self::Heph => Some(&heph::PROTOCOL),
            Self::Upload | Self::Post(_) => None,
        }
    }

    /// Returns the number of the protocol that captures of it have.
    fn number(self) -> u8 {
        match self {
            Self::Post(sender) => SENDERS[sender].number,
            _ => self
                .protocol()
                .map_or(UPLOAD.number, |protocol| protocol.captures.number),
        }
    }

    /// Returns `true` if its posts are lines of one file.
    fn has_lines(self) -> bool {
        matches!(self, Self::Post(_)) && are_lines(self.number())
    }

    fn parts(self) -> Vec<Part> {
        let part = |name: &str, format| Part {
            name: name.to_owned(),
            format,
            size: None,
        };
        match self {
            Self::Cdt => vec![
                part("trace/000001", Some(&cdt::TRACE)),
                part("calls/000001", Some(&cdt::CALLS)),
                part("calls/000002", Some(&cdt::CALLS)),
                part("gc/000001", Some(&cdt::GC)),
            ],
            Self::Heph => vec![part("trace.heph", Some(&heph::FORMAT))],
            Self::Upload => vec![part("upload/file", None)],
            // As many as are posted.
            Self::Post(_) => Vec::new(),
        }
    }
}

/// A sender, its session, and the bytes between them. An upload has neither: its bytes are stored as they come.
struct Pair {
    id: CaptureId,
    kind: Kind,
    instance: String,
    ends: Option<(Box<dyn Sender>, Box<dyn Session>)>,
    wire: VecDeque<u8>,
    /// Bytes that arrived and were not used.
    window: Vec<u8>,
    replies: VecDeque<u8>,
    reply_window: Vec<u8>,
    put: Vec<usize>,
    n_kept: u64,
    /// Entries of the group that is not committed, and the bytes of data in them.
    n_pending: u64,
    n_pending_bytes: u64,
    /// Bytes of data that were committed.
    n_safe_bytes: u64,
    /// Bytes of each post that was committed, and how many came again.
    posts: Vec<u64>,
    n_repeats: u64,
    /// The same of the group that is not committed.
    pending_posts: Vec<u64>,
    n_pending_repeats: u64,
}

type Pending = Vec<(u64, u32, u8, Vec<u8>)>;

impl Pair {
    fn new(id: CaptureId, pending: &mut Pending, random: &mut Random, at_ns: i64) -> Self {
        let (kind, seed) = (Kind::of(random), random.next());
        // Some are processes of one pod.
        let instance = format!("pod-{}_{id}-{seed}", seed % 2);
        let identity = Identity {
            service: "service".to_owned(),
            instance: instance.clone(),
            namespace: "namespace".to_owned(),
            version: String::new(),
        };
        let options = SessionOptions {
            seed: seed.into(),
            unwanted: Vec::new(),
        };
        let protocol = kind.protocol();
        let opened = Event::Opened {
            protocol: kind.number(),
            at_ns,
            peer: String::new(),
        };
        let (event, bytes) = opened.encode();
        pending.push((id.session(), EVENTS, event, bytes));
        let mut n_pending = 0;
        if kind == Kind::Upload {
            let who = instance.clone().into_bytes();
            pending.push((id.session(), 0, INSTANCE, who));
            pending.push((id.session(), 0, NAME, b"file".to_vec()));
            n_pending = 2;
        }
        if matches!(kind, Kind::Post(_)) {
            let who = instance.clone().into_bytes();
            pending.push((id.session(), 0, INSTANCE, who));
        }
        let ends = protocol.map(|protocol| {
            let sender = (protocol.sender)(&identity, &kind.parts()).expect("streams");
            (sender, (protocol.session)(&options, Duration::ZERO))
        });
        Self {
            id,
            kind,
            instance,
            ends,
            wire: VecDeque::new(),
            window: Vec::new(),
            replies: VecDeque::new(),
            reply_window: Vec::new(),
            put: vec![0; kind.parts().len()],
            n_kept: 0,
            n_pending,
            n_pending_bytes: 0,
            n_safe_bytes: 0,
            posts: Vec::new(),
            n_repeats: 0,
            pending_posts: Vec::new(),
            n_pending_repeats: 0,
        }
    }

    /// The sender produces bytes of a part.
    fn produce(&mut self, random: &mut Random) {
        if self.put.is_empty() {
            return;
        }
        let part = random.below(self.put.len() as u64) as usize;
        let length = 1 + random.below(2_500) as usize;
        let bytes = source(&self.instance, part, self.put[part] + length);
        let new = &bytes[self.put[part]..];
        self.put[part] += match &mut self.ends {
            Some((sender, _)) => sender.put(part, new),
            None => {
                self.wire.extend(new);
                new.len()
            }
        };
    }

    /// Some bytes reach the collector; its group has room for `room` entries.
    fn receive(&mut self, random: &mut Random, pending: &mut Pending, room: usize) {
        if matches!(self.kind, Kind::Post(_)) {
            return self.post(random, pending, room);
        }
        if let Some((sender, _)) = &mut self.ends {
            self.wire.extend(sender.output());
            sender.sent(sender.output().len());
        }
        let n_bytes = random.below(self.wire.len() as u64 + 1) as usize;
        self.window.extend(self.wire.drain(..n_bytes));
        let (id, n_pending) = (self.id.session(), &mut self.n_pending);
        let n_pending_bytes = &mut self.n_pending_bytes;
        let mut keep = |entry: &Entry<'_>| {
            let has_room = pending.len() < room;
            if has_room {
                pending.push((id, entry.stream, entry.kind, entry.bytes.to_vec()));
                *n_pending += 1;
                *n_pending_bytes += entry.bytes.len() as u64;
            }
            has_room
        };
        let used = match &mut self.ends {
            Some((_, session)) => session.read(&self.window, Duration::ZERO, &mut keep),
            None if self.window.is_empty() => 0,
            None => {
                let entry = Entry {
                    stream: 0,
                    kind: DATA,
                    bytes: &self.window,
                };
                if keep(&entry) { self.window.len() } else { 0 }
            }
        };
        self.window.drain(..used);
    }

    /// A post reaches the collector, or one that is there already comes again.
    fn post(&mut self, random: &mut Random, pending: &mut Pending, room: usize) {
        let id = self.id.session();
        if pending.len() + 3 > room {
            return;
        }
        if !self.posts.is_empty() && random.below(4) == 0 {
            let receipt = Receipt {
                at_ns: 0,
                original: PostId {
                    capture: self.id,
                    number: 0,
                },
                peer: String::new(),
            };
            pending.push((id, 0, REPEAT, receipt.encode()));
            self.n_pending_repeats += 1;
            return;
        }
        let number = self.posts.len() + self.pending_posts.len();
        let length = 1 + random.below(2_500) as usize;
        // Lines go on where the one before ended.
        let (file, begin) = match self.kind.has_lines() {
            true => (
                0,
                self.ends_of_lines().last().copied().unwrap_or(0) as usize,
            ),
            false => (number, 0),
        };
        let bytes = source(&self.instance, file, begin + length).split_off(begin);
        let mark = Mark {
            at_ns: 0,
            identity: [number as u8; 32],
        };
        self.pending_posts.push(bytes.len() as u64);
        let (number, file) = (number as u32, file as u32);
        if file == number {
            let name = format!("{file}.http").into_bytes();
            pending.push((id, file, NAME, name));
        }
        pending.push((id, file, DATA, bytes));
        pending.push((id, number, MARK, mark.encode()));
    }

    /// Returns where each line ends in its file, of those too that are not committed.
    fn ends_of_lines(&self) -> Vec<u64> {
        let lines = self.posts.iter().chain(&self.pending_posts);
        let mut end = 0;
        let ends = lines.map(|length| {
            end += length;
            end
        });
        ends.collect()
    }

    /// Some answers reach the sender.
    fn answer(&mut self, random: &mut Random) -> Result<(), String> {
        let Some((sender, session)) = &mut self.ends else {
            return Ok(());
        };
        self.replies.extend(session.output());
        session.sent(session.output().len());
        let n_bytes = random.below(self.replies.len() as u64 + 1) as usize;
        self.reply_window.extend(self.replies.drain(..n_bytes));
        let read = sender.read(&self.reply_window);
        let used = read.map_err(|error| error.to_string())?;
        self.reply_window.drain(..used);
        Ok(())
    }

    /// A group was committed.
    fn commit(&mut self) {
        self.n_kept += std::mem::take(&mut self.n_pending);
        self.n_safe_bytes += std::mem::take(&mut self.n_pending_bytes);
        self.posts.append(&mut self.pending_posts);
        self.n_repeats += std::mem::take(&mut self.n_pending_repeats);
        if let Some((_, session)) = &mut self.ends {
            session.durable(self.n_kept);
        }
    }

    /// The log failed. The process is still there to say no; it must not say yes to anything any more.
    fn fail(&mut self) -> Result<(), String> {
        let Some((_, session)) = &mut self.ends else {
            return Ok(());
        };
        let before = session.output().len();
        let units = session.units().safe;
        session.storage_failed();
        session.durable(self.n_kept + self.n_pending);
        let acknowledged = session.units().safe > units || session.output().len() > before + 1;
        if self.kind == Kind::Cdt && acknowledged {
            return Err("a unit is acknowledged after the log failed".to_owned());
        }
        Ok(())
    }

    /// Returns the bytes of each part that must be there.
    fn safe(&self) -> Vec<u64> {
        match &self.ends {
            Some((sender, _)) if self.kind == Kind::Cdt => sender.acknowledged().to_vec(),
            _ if self.kind.has_lines() => vec![self.posts.iter().sum()],
            _ if matches!(self.kind, Kind::Post(_)) => self.posts.clone(),
            _ => vec![self.n_safe_bytes],
        }
    }
}

fn options(salt: u64) -> Options {
    Options {
        segment_bytes: 6_000,
        group_bytes: 1 << 20,
        record_bytes: 1 << 20,
        salt,
        after_incarnation: 0,
    }
}

fn rules(level: i32) -> SealRules {
    SealRules {
        piece_bytes: 3_000,
        age: Duration::from_nanos(50),
        log_bytes: 20_000,
        level,
        ..SealRules::default()
    }
}

fn disks(disk: &Simulated) -> CaptureDisks {
    CaptureDisks {
        chunks: Arc::new(disk.folder("chunks")),
        manifests: Manifests::new(Arc::new(disk.folder("captures"))),
        lease: None,
    }
}

/// The log, written by the one thread of the simulation.
struct WrittenLog(Log);

impl SealLog for WrittenLog {
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn commit(&mut self, events: &[(CaptureId, Event)]) -> Result<(), Error> {
        let encoded: Vec<_> = events
            .iter()
            .map(|(id, event)| (id, event.encode()))
            .collect();
        let records = encoded.iter().map(|(id, (kind, bytes))| Record {
            session: id.session(),
            stream: EVENTS,
            kind: *kind,
            bytes,
        });
        let records: Vec<_> = records.collect();
        let committed = self.0.commit(&records).map(drop);
        committed.map_err(|error| Error::new(error.to_string()))
    }

    fn truncate(&mut self, position: Position) -> Result<(), Error> {
        let begun = match position == self.0.snapshot().end() {
            true => self.0.begin_segment(),
            false => Ok(()),
        };
        let truncated = begun.and_then(|()| self.0.truncate(position));
        truncated.map_err(|error| Error::new(error.to_string()))
    }
}

/// What is safe of each sender.
type Told = BTreeMap<CaptureId, ToldPair>;

/// What is safe of a sender: bytes of each part, and receipts.
struct ToldPair {
    kind: Kind,
    instance: String,
    safe: Vec<u64>,
    n_repeats: u64,
    /// Where lines may end.
    ends: Vec<u64>,
}

/// A clock that is set now and then.
struct Clock(i64);

impl Clock {
    fn now(&mut self, random: &mut Random) -> i64 {
        self.0 += random.below(10) as i64;
        match random.below(40) {
            0 => self.0 += TEN_YEARS,
            1 => self.0 -= TEN_YEARS,
            _ => {}
        }
        self.0
    }
}

/// An operator pins a capture now and then.
fn request(random: &mut Random, incarnation: u64) -> Option<Request> {
    let id = CaptureId::new(1 + random.below(incarnation), 1 + random.below(3));
    match random.below(6) {
        0 => Some(Request::Pin(id)),
        1 => Some(Request::Unpin(id)),
        _ => None,
    }
}

/// Runs one start of the collector until it ends or its machine stops.
fn start(
    disk: &Simulated,
    random: &mut Random,
    told: &mut Told,
    faults: bool,
) -> Result<(), String> {
    if faults {
        let fault =
            [DiskFault::Crash, DiskFault::Crash, DiskFault::Error][random.below(3) as usize];
        let most = [70, 300][random.below(2) as usize];
        disk.fail_at(disk.n_changes() + random.below(most), fault);
    }
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let (log, recovered) = match Log::open(shared, options(random.next())) {
        Ok(opened) => opened,
        Err(_) if faults => return Ok(()),
        Err(error) => return Err(format!("the log does not open: {error}")),
    };
    let mut log = WrittenLog(log);
    let level = 1 + random.below(5) as i32;
    let sealer = Sealer::new(disks(disk), None, rules(level), recovered.incarnation);
    let mut sealer = match sealer {
        Ok(sealer) => sealer,
        Err(_) if faults => return Ok(()),
        Err(error) => return Err(format!("sealing does not begin: {error}")),
    };
    let mut pending = Pending::new();
    let mut clock = Clock(random.below(TEN_YEARS as u64) as i64);
    let mut pairs: Vec<Pair> = (1..=1 + random.below(3))
        .map(|n| {
            let id = CaptureId::new(recovered.incarnation, n);
            let at_ns = clock.now(random);
            Pair::new(id, &mut pending, random, at_ns)
        })
        .collect();
    let mut failed = false;
    for _ in 0..STEPS {
        let n_pairs = pairs.len() as u64;
        let pair = &mut pairs[random.below(n_pairs) as usize];
        match random.below(9) {
            0 | 1 => pair.produce(random),
            2 | 3 => pair.receive(random, &mut pending, 40),
            4 | 5 => pair.answer(random)?,
            6 => {
                let requests = request(random, recovered.incarnation);
                let sealed = sealer.step(&mut log, clock.now(random), requests.as_slice());
                failed = sealed.is_err();
                match sealed {
                    Err(error) if !faults => return Err(format!("sealing fails: {error}")),
                    Err(_) => break,
                    Ok(()) => {}
                }
            }
            _ => {
                let records = pending.iter().map(|(session, stream, kind, bytes)| Record {
                    session: *session,
                    stream: *stream,
                    kind: *kind,
                    bytes,
                });
                let records: Vec<Record<'_>> = records.collect();
                failed = log.0.commit(&records).is_err();
                if failed {
                    // A second try may well succeed, and prove nothing: what the first one lost is not written again.
                    if log.0.commit(&records).is_ok() {
                        return Err("the log goes on after it failed".to_owned());
                    }
                    break;
                }
                pending.clear();
                pairs.iter_mut().for_each(Pair::commit);
            }
        }
    }
    if !failed && !faults {
        let sealed = sealer.step(&mut log, i64::MAX, &[]);
        sealed.map_err(|error| format!("sealing fails: {error}"))?;
    }
    for mut pair in pairs {
        if failed {
            pair.fail()?;
        }
        // An agent that is told no ends; what it was told before counts.
        let _ = (0..4).try_for_each(|_| pair.answer(random));
        let row = ToldPair {
            kind: pair.kind,
            safe: pair.safe(),
            n_repeats: pair.n_repeats,
            ends: pair.ends_of_lines(),
            instance: pair.instance,
        };
        told.insert(pair.id, row);
    }
    Ok(())
}

/// Holds the captures of a disk against what is safe.
fn compare(disk: &Simulated, told: &Told) -> Result<(), String> {
    let opened = Snapshot::open(disk);
    let (snapshot, recovered) =
        opened.map_err(|error| format!("the log cannot be read: {error}"))?;
    let captures = Captures::of(&snapshot, recovered, false, &disks(disk));
    let captures = captures.map_err(|error| error.to_string())?;
    for (id, row) in told {
        let (kind, instance, n_repeats) = (&row.kind, &row.instance, &row.n_repeats);
        let safe = &row.safe;
        for (part, &safe) in safe.iter().enumerate().filter(|(_, n)| **n > 0) {
            let name = match kind {
                Kind::Post(sender) => format!("{}/{part}.http", SENDERS[*sender].name),
                _ => kind.parts()[part].name.clone(),
            };
            let name = &name;
            let is_of = |capture: &&Capture| match kind {
                // A trace does not say who sends it.
                Kind::Heph => capture.id == *id,
                _ => capture.identity.instance == *instance,
            };
            let mut found = captures.list.iter().filter(is_of);
            let (Some(capture), None) = (found.next(), found.next()) else {
                return Err(format!("{instance} is not there once"));
            };
            if capture.id != *id {
                return Err(format!("{instance} is {}, and was {id}", capture.id));
            }
            if !capture.doubts.is_empty() {
                return Err(format!("{instance}: {:?}", capture.doubts));
            }
            let kept = capture.parts.iter().find(|part| part.name.ends_with(name));
            let kept = kept.ok_or_else(|| format!("{instance} has no {name}"))?;
            let mut bytes = Vec::new();
            let copied = captures.copy(kept, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            copied.map_err(|error| error.to_string())?;
            let there = bytes.len();
            let is_cut = match kind {
                Kind::Post(_) if kind.has_lines() => !row.ends.contains(&(there as u64)),
                Kind::Post(_) => there as u64 != safe,
                _ => false,
            };
            if (there as u64) < safe || is_cut {
                return Err(format!(
                    "{instance} {name}: {there} of {safe} bytes are there"
                ));
            }
            if bytes != source(instance, part, there) {
                return Err(format!("{instance} {name} has other bytes than were sent"));
            }
            if (capture.receipts.len() as u64) < *n_repeats {
                return Err(format!(
                    "{instance}: {} of {n_repeats} receipts",
                    capture.receipts.len()
                ));
            }
        }
    }
    Ok(())
}

/// Plays a seed; returns how many bytes were safe.
fn play(seed: u64, disk: &Simulated) -> Result<u64, String> {
    let mut random = Random(seed);
    let mut told = Told::new();
    for _ in 0..1 + random.below(4) {
        start(disk, &mut random, &mut told, true)?;
        disk.restart(random.survivors());
        compare(disk, &told)?;
    }
    // Without faults the log opens, whatever happened before, and nothing is lost by that.
    start(disk, &mut random, &mut told, false)?;
    disk.restart(Survivors::None);
    compare(disk, &told)?;
    Ok(told.values().flat_map(|row| &row.safe).sum())
}

fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn what_was_acknowledged_is_there_once_whenever_the_machine_stops() {
    let seeds = match set("TRACELOOM_SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..set("TRACELOOM_SIMULATION_SEEDS").unwrap_or(2_000),
    };
    let n_seeds = seeds.end - seeds.start;
    let mut n_bytes = 0;
    for seed in seeds {
        match play(seed, &Simulated::default()) {
            Ok(told) => n_bytes += told,
            Err(why) => panic!("TRACELOOM_SIMULATION_SEED={seed}: {why}"),
        }
    }
    assert!(
        n_bytes > n_seeds * 1_000,
        "{n_bytes} bytes in {n_seeds} seeds show nothing"
    );
}

/// Taking out any sync makes seeds fail.
#[test]
fn a_disk_whose_syncs_do_nothing_is_noticed() {
    let lies: [(&str, fn(&Simulated)); 6] = [
        ("segments", Simulated::lie),
        ("names of segments", Simulated::lie_about_names),
        ("chunks", |disk| disk.folder("chunks").lie()),
        ("names of chunks", |disk| {
            disk.folder("chunks").lie_about_names();
        }),
        ("manifests", |disk| disk.folder("captures").lie()),
        ("names of manifests", |disk| {
            disk.folder("captures").lie_about_names();
        }),
    ];
    for (what, lie) in lies {
        let notices = |seed: &u64| {
            let disk = Simulated::default();
            lie(&disk);
            play(*seed, &disk).is_err()
        };
        let n_failures = (0..100).filter(notices).count();
        assert!(n_failures > 50, "{what}: {n_failures} of 100 seeds notice");
    }
}
