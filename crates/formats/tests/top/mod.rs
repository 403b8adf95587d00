//! Totals and top lists of a recording as `go tool pprof -top` counts them, for comparing with it.

use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use traceloom_formats::{Format, LowerOptions, SliceSource};
use traceloom_model::{FrameId, Recording, StackId};

/// Lowers bytes of one format into memory.
///
/// # Panics
/// When lowering fails, which bytes in memory cannot make it do.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn lowered(format: &'static Format, bytes: &[u8]) -> Recording {
    let lower = format.lower.expect("a format that lowers");
    let source = SliceSource::default().with("profile", format, bytes);
    let mut recording = Recording::default();
    lower(&source, &LowerOptions::default(), &mut recording).expect("bytes in memory");
    recording
}

/// Self and total of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub flat: i64,
    pub cum: i64,
}

/// What a report on one column says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Top {
    pub total: i64,
    pub rows: Vec<Row>,
}

#[allow(dead_code, reason = "not every test sorts")]
impl Top {
    /// The rows by self value, as the report sorts them.
    pub fn by_flat(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (-row.flat.abs(), row.name.clone(), -row.cum.abs()));
        rows
    }

    /// The rows by total value, as the report sorts them.
    pub fn by_cum(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (-row.cum.abs(), row.name.clone(), -row.flat.abs()));
        rows
    }
}

/// Frames of a stack, the innermost first.
pub fn frames(recording: &Recording, stack: Option<StackId>) -> Vec<FrameId> {
    let mut frames = Vec::new();
    let mut next = stack;
    while let Some(row) = next.and_then(|id| recording.stack(id)) {
        frames.push(row.frame);
        next = row.parent;
    }
    frames
}

/// The name the report gives a frame: its function, else the file it was mapped from.
pub fn name(recording: &Recording, frame: FrameId) -> String {
    let Some(frame) = recording.frame(frame) else {
        return format!("#{}", frame.raw());
    };
    if let Some(function) = frame.function {
        return recording.function_name(function).into_owned();
    }
    let file = frame
        .mapping
        .and_then(|mapping| recording.mapping(mapping)?.file);
    match file {
        Some(file) => {
            let path = recording.text(file).into_owned();
            format!("[{}]", path.rsplit('/').next().unwrap_or(&path))
        }
        None => "<unknown>".to_owned(),
    }
}

/// Counts one column of the recording's first profile.
pub fn top(recording: &Recording, column: usize) -> Top {
    let profile = recording.profiles[0].as_ref().expect("a profile");
    let pattern = |id: Option<_>| {
        id.map(|id| Regex::new(&format!("^(?:{})$", recording.text(id))).expect("a pattern"))
    };
    let (drop, keep) = (pattern(profile.drop_frames), pattern(profile.keep_frames));
    let dropped = |frame: FrameId| {
        let function = recording.frame(frame).and_then(|row| row.function);
        let Some(function) = function else {
            return false;
        };
        let name = recording.function_name(function);
        let name = simplified(&name);
        drop.as_ref().is_some_and(|drop| drop.is_match(name))
            && !keep.as_ref().is_some_and(|keep| keep.is_match(name))
    };
    let mut rows: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut total = 0;
    for sample in recording.samples.iter().flat_map(|batch| batch.iter()) {
        let value = sample.values[column];
        total += value;
        let mut frames = frames(recording, sample.stack);
        if drop.is_some() {
            prune(recording, &mut frames, &dropped);
        }
        // Samples of no value make no rows.
        if value == 0 {
            continue;
        }
        let mut seen = HashSet::new();
        for (depth, &frame) in frames.iter().enumerate() {
            let name = name(recording, frame);
            let row = rows.entry(name.clone()).or_default();
            row.0 += if depth == 0 { value } else { 0 };
            row.1 += if seen.insert(name) { value } else { 0 };
        }
    }
    let rows = rows
        .into_iter()
        .map(|(name, (flat, cum))| Row { name, flat, cum });
    Top {
        total,
        rows: rows.collect(),
    }
}

/// Removes what lies beneath the outermost dropped frame that has a kept one above it, as the report
/// does: whole locations, so inlined frames go with the frame that holds them.
fn prune(recording: &Recording, frames: &mut Vec<FrameId>, dropped: &dyn Fn(FrameId) -> bool) {
    let mut locations: Vec<std::ops::Range<usize>> = Vec::new();
    let mut start = 0;
    for (at, &frame) in frames.iter().enumerate() {
        if !recording.frame(frame).is_some_and(|row| row.inlined) {
            locations.push(start..at + 1);
            start = at + 1;
        }
    }
    let mut user = false;
    for location in locations.into_iter().rev() {
        // The outermost dropped line of the location.
        match location.clone().rev().find(|&at| dropped(frames[at])) {
            None => user = true,
            Some(at) if user => {
                frames.drain(..=at);
                return;
            }
            Some(_) => {}
        }
    }
}

fn simplified(name: &str) -> &str {
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut from = 0;
    while let Some(at) = name[from..].find('(').map(|at| from + at) {
        let rest = &name[at..];
        if let Some(tail) = rest.strip_prefix("(anonymous namespace)") {
            from = name.len() - tail.len();
        } else if name[..at].ends_with("operator") && rest.starts_with("()") {
            from = at + 2;
        } else {
            return &name[..at];
        }
    }
    name
}
