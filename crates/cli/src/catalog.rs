//! What a collector knows of its captures without reading them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use serde_json::json;
use traceloom_analysis::calls::Sender;
use traceloom_analysis::stage::Range;
use traceloom_formats::protocol::Identity;
use traceloom_input::captures::{
    CaptureId, CaptureSummary, Captures, ChosenCaptures, ContentHash, DataFolder, NoteCounts,
    SessionEnd, State,
};

use crate::read_plan::sender_of;

/// A capture, and from when to when what it holds may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CatalogEntry {
    pub(crate) id: CaptureId,
    /// Unix nanoseconds of the last receipt, and [`AHEAD_NS`] more; the greatest number where more may come or nobody knows.
    pub(crate) until_ns: i64,
    /// Bytes of its parts.
    pub(crate) n_bytes: u64,
    /// Its calls, where all of it was decoded.
    pub(crate) calls: Option<KnownCalls>,
    /// Not some of its posts alone are meant.
    pub(crate) is_chosen_whole: bool,
}

/// What the catalog says of the calls of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownCalls {
    pub(crate) n_calls: u64,
    /// First start and last end of a span.
    pub(crate) times: Option<(i64, i64)>,
    /// Last start of a call, where that is known.
    pub(crate) last_start: Option<i64>,
    /// What is wrong with it.
    pub(crate) notes: NoteCounts,
    /// The manifest that was decoded.
    pub(crate) manifest: ContentHash,
}

impl CatalogEntry {
    /// Returns a time after which no call began; the least number where there are no calls.
    pub(crate) fn last_start(&self) -> i64 {
        match self.calls {
            None => self.until_ns,
            Some(known) => known
                .times
                .map_or(i64::MIN, |(_, last)| known.last_start.unwrap_or(last)),
        }
    }

    /// Leaves what begins in a stretch of time: a call that began before it begins with it.
    pub(crate) fn within(&mut self, range: Range) {
        if let Some(known) = &mut self.calls
            && let (Some((_, last)), Some(start)) = (known.times, &mut known.last_start)
        {
            if let Some(since) = range.since {
                *start = (*start).max(since.min(last));
            }
            if let Some(until) = range.until {
                *start = (*start).min(until);
            }
        }
    }

    /// Returns a time before which no call began; the greatest number where there are no calls.
    pub(crate) fn first_start(&self) -> i64 {
        match self.calls {
            None => i64::MIN,
            Some(known) => known.times.map_or(i64::MAX, |(first, _)| first),
        }
    }
}

/// How far clocks of senders may be ahead of the collector's, in nanoseconds: an hour.
pub(crate) const AHEAD_NS: i64 = 3_600_000_000_000;

/// Captures of a data folder.
#[derive(Debug)]
pub(crate) struct CatalogAt {
    pub(crate) chosen: ChosenCaptures,
    pub(crate) entries: Vec<CatalogEntry>,
    pub(crate) senders: HashMap<CaptureId, Arc<Sender>>,
}

/// What is known of captures, with who sent them.
struct KnownCaptures {
    entries: Vec<CatalogEntry>,
    senders: HashMap<CaptureId, Arc<Sender>>,
}

impl KnownCaptures {
    fn of(captures: &[Arc<CaptureSummary>]) -> Self {
        let mut distinct = HashMap::new();
        let sender = |capture: &Arc<CaptureSummary>| {
            let Identity {
                service, instance, ..
            } = &capture.identity;
            let same = distinct.entry((service.clone(), instance.clone()));
            let sender = same.or_insert_with(|| Arc::new(sender_of(&capture.identity)));
            (capture.id, sender.clone())
        };
        Self {
            senders: captures.iter().map(sender).collect(),
            entries: entries(captures),
        }
    }
}

/// Returns the captures that a path names, if it is a data folder or captures of one. What is known of them is on standard input where
/// `is_told`, as [`encode`] writes it, and in the folder otherwise.
pub(crate) fn at(path: &str, is_told: bool) -> anyhow::Result<Option<CatalogAt>> {
    let chosen = ChosenCaptures::of(path);
    if chosen.is_none() && !DataFolder::is_at(Path::new(path)) {
        return Ok(None);
    }
    let folder = chosen.as_ref().map_or(Path::new(path), |one| &one.folder);
    let KnownCaptures {
        mut entries,
        senders,
    } = match is_told {
        true => told()?,
        false => {
            let list = Captures::read(&DataFolder::open(folder)?)?.list;
            let summaries = list.iter().map(|one| Arc::new(CaptureSummary::from(one)));
            KnownCaptures::of(&summaries.collect::<Vec<_>>())
        }
    };
    let chosen = match chosen {
        Some(chosen) => {
            let ids: HashSet<CaptureId> = chosen.ids.iter().copied().collect();
            entries.retain(|entry| ids.contains(&entry.id));
            // What is not there is an error of whoever opens the path.
            if entries.len() != ids.len() {
                return Ok(None);
            }
            for entry in &mut entries {
                entry.is_chosen_whole = chosen.has_whole(entry.id);
            }
            chosen
        }
        None => {
            let ids = entries.iter().map(|entry| entry.id).collect();
            ChosenCaptures::whole(folder.to_owned(), ids)
        }
    };
    Ok(Some(CatalogAt {
        chosen,
        entries,
        senders,
    }))
}

/// Writes what is known of captures: a line of who sent them, a JSON array, and a line a capture, with the number of its sender in it.
pub(crate) fn encode(captures: &[Arc<CaptureSummary>]) -> Vec<u8> {
    let KnownCaptures { entries, senders } = KnownCaptures::of(captures);
    let mut numbers = HashMap::new();
    let mut distinct = Vec::new();
    let mut lines = String::new();
    for entry in entries {
        let number = senders.get(&entry.id).map_or(0, |sender| {
            *numbers.entry(Arc::as_ptr(sender)).or_insert_with(|| {
                distinct.push(json!([sender.service, sender.instance]));
                distinct.len() - 1
            })
        });
        let CatalogEntry {
            id,
            until_ns,
            n_bytes,
            ..
        } = entry;
        let _ = write!(lines, "{id} {until_ns} {n_bytes} {number}");
        if let Some(calls) = entry.calls {
            let NoteCounts { info, warn, damage } = calls.notes;
            let (n_calls, manifest) = (calls.n_calls, calls.manifest);
            let _ = write!(lines, " {n_calls} {manifest} {info} {warn} {damage}");
            for time in calls
                .times
                .iter()
                .flat_map(|(first, last)| [first, last])
                .chain(&calls.last_start)
            {
                let _ = write!(lines, " {time}");
            }
        }
        lines.push('\n');
    }
    format!("{}\n{lines}", json!(distinct)).into_bytes()
}

/// Reads what is known of captures from standard input, once: every list of a process is of the same captures.
fn told() -> anyhow::Result<KnownCaptures> {
    static TOLD: OnceLock<String> = OnceLock::new();
    let text = match TOLD.get() {
        Some(text) => text,
        None => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            TOLD.get_or_init(|| text)
        }
    };
    decode(text).context("standard input is no catalog")
}

fn decode(text: &str) -> Option<KnownCaptures> {
    let (senders, lines) = text.split_once('\n')?;
    let distinct: serde_json::Value = serde_json::from_str(senders).ok()?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let sender = |pair: &serde_json::Value| {
        Some(Arc::new(Sender {
            service: text(&pair[0])?,
            instance: text(&pair[1])?,
        }))
    };
    let distinct: Option<Vec<_>> = distinct.as_array()?.iter().map(sender).collect();
    let distinct = distinct?;
    let mut known = KnownCaptures {
        entries: Vec::new(),
        senders: HashMap::new(),
    };
    for line in lines.lines() {
        let (entry, number) = CatalogEntry::of_line(line)?;
        known
            .senders
            .insert(entry.id, distinct.get(number)?.clone());
        known.entries.push(entry);
    }
    Some(known)
}

impl CatalogEntry {
    /// Reads a line, and the number of the sender in it.
    fn of_line(line: &str) -> Option<(Self, usize)> {
        let mut fields = line.split(' ');
        let id = fields.next()?.parse().ok()?;
        let until_ns = fields.next()?.parse().ok()?;
        let n_bytes = fields.next()?.parse().ok()?;
        let number = fields.next()?.parse().ok()?;
        let calls = match fields.next() {
            None => None,
            Some(n_calls) => {
                let manifest = fields.next()?.parse().ok()?;
                let mut count = || fields.next()?.parse().ok();
                let notes = NoteCounts {
                    info: count()?,
                    warn: count()?,
                    damage: count()?,
                };
                let times: Option<Vec<i64>> = fields.map(|time| time.parse().ok()).collect();
                let (times, last_start) = match times?.as_slice() {
                    [] => (None, None),
                    [first, last] => (Some((*first, *last)), None),
                    [first, last, start] => (Some((*first, *last)), Some(*start)),
                    _ => return None,
                };
                Some(KnownCalls {
                    n_calls: n_calls.parse().ok()?,
                    times,
                    last_start,
                    notes,
                    manifest,
                })
            }
        };
        let entry = Self {
            id,
            until_ns,
            n_bytes,
            calls,
            is_chosen_whole: true,
        };
        Some((entry, number))
    }
}

/// Returns until when something of each capture was received. What an earlier run of the collector left unfinished ended before the
/// next run began.
pub(crate) fn entries(captures: &[Arc<CaptureSummary>]) -> Vec<CatalogEntry> {
    let mut begun = BTreeMap::new();
    for capture in captures {
        if let Some(opened_ns) = capture.opened_ns {
            let first = begun.entry(capture.id.incarnation()).or_insert(opened_ns);
            *first = opened_ns.min(*first);
        }
    }
    // From each start on.
    let mut least = i64::MAX;
    for first in begun.values_mut().rev() {
        least = least.min(*first);
        *first = least;
    }
    let behind = |incarnation: u64| {
        let later = (Bound::Excluded(incarnation), Bound::Unbounded);
        begun.range(later).next().map(|(_, first)| *first)
    };
    let entry = |capture: &Arc<CaptureSummary>| {
        let until = match &capture.state {
            State::Open => None,
            State::Closed(SessionEnd { at_ns, .. }) => Some(*at_ns),
            State::Interrupted => behind(capture.incarnation),
        };
        let known = capture.whole_facts().zip(capture.manifest);
        CatalogEntry {
            id: capture.id,
            n_bytes: capture.n_bytes,
            until_ns: until.map_or(i64::MAX, |ns| ns.saturating_add(AHEAD_NS)),
            calls: known.map(|(facts, manifest)| KnownCalls {
                n_calls: facts.n_calls,
                times: facts.span_times,
                last_start: facts.last_start_ns,
                notes: facts.notes,
                manifest,
            }),
            is_chosen_whole: true,
        }
    };
    captures.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_captures_is_read_again() {
        let lines = "1-7 9223372036854775807 12 1\n\
            2-3 -5 99 0 40 MANIFEST 1 2 3\n\
            2-4 -5 99 0 40 MANIFEST 1 2 3 -9 11\n\
            2-5 -5 99 1 40 MANIFEST 1 2 3 -9 11 10\n";
        let manifest = "ab".repeat(32);
        let lines = lines.replace("MANIFEST", &manifest);
        let text = format!("[[\"shop\",\"a b\"],[\"\",\"\"]]\n{lines}");
        let KnownCaptures { entries, senders } = decode(&text).expect("captures");
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[0].calls, None);
        let known = entries.iter().filter_map(|entry| entry.calls);
        let times: Vec<_> = known.map(|calls| (calls.times, calls.last_start)).collect();
        let times_of = Some((-9, 11));
        assert_eq!(
            times,
            [(None, None), (times_of, None), (times_of, Some(10))]
        );
        assert_eq!(senders[&entries[1].id].instance, "a b");
        assert_eq!(senders[&entries[3].id].service, "");
        for cut in ["2-5 -5 99", "2-5 -5 99 2", "2-5 -5 99 0 40", "x -5 99 0"] {
            assert!(
                decode(&format!("[[\"\",\"\"]]\n{cut}\n")).is_none(),
                "{cut}"
            );
        }
    }
}
