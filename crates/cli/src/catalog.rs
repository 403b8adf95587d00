//! What a collector knows of its captures without reading them.

use std::collections::HashMap;
use std::path::Path;

use traceloom_analysis::calls::Sender;
use traceloom_input::captures::{
    Capture, CaptureId, Captures, ChosenCaptures, ContentHash, DataFolder, NoteCounts, SessionEnd,
    State,
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
            Some(known) => known.times.map_or(i64::MIN, |(_, last)| last),
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
    pub(crate) senders: HashMap<CaptureId, Sender>,
}

/// Returns the captures that a path names, if it is a data folder or captures of one.
pub(crate) fn at(path: &str) -> anyhow::Result<Option<CatalogAt>> {
    let chosen = ChosenCaptures::of(path);
    if chosen.is_none() && !DataFolder::is_at(Path::new(path)) {
        return Ok(None);
    }
    let folder = chosen.as_ref().map_or(Path::new(path), |one| &one.folder);
    let list = Captures::read(&DataFolder::open(folder)?)?.list;
    let mut entries = entries(&list);
    let chosen = match chosen {
        Some(chosen) => {
            entries.retain(|entry| chosen.ids.contains(&entry.id));
            // What is not there is an error of whoever opens the path.
            if entries.len() != chosen.ids.len() {
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
    let senders = list.iter().map(|one| (one.id, sender_of(&one.identity)));
    Ok(Some(CatalogAt {
        senders: senders.collect(),
        chosen,
        entries,
    }))
}

/// Returns until when something of each capture was received. What an earlier run of the collector left unfinished ended before the
/// next run began.
pub(crate) fn entries(captures: &[Capture]) -> Vec<CatalogEntry> {
    let entry = |capture: &Capture| {
        let id = capture.id;
        let until = match &capture.state {
            State::Open => None,
            State::Closed(SessionEnd { at_ns, .. }) => Some(*at_ns),
            State::Interrupted => captures
                .iter()
                .filter(|other| other.id.incarnation() > capture.incarnation)
                .filter_map(|other| other.opened_ns)
                .min(),
        };
        CatalogEntry {
            id,
            n_bytes: capture.parts.iter().map(|part| part.n_bytes).sum(),
            until_ns: until.map_or(i64::MAX, |ns| ns.saturating_add(AHEAD_NS)),
            calls: capture
                .whole_facts()
                .zip(capture.manifest)
                .map(|(facts, manifest)| KnownCalls {
                    n_calls: facts.n_calls,
                    times: facts.span_times,
                    notes: facts.notes,
                    manifest,
                }),
            is_chosen_whole: true,
        }
    };
    captures.iter().map(entry).collect()
}
