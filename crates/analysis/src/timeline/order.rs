//! The order of tracks, and what they are called.

use traceloom_model::{Recording, TrackId, TrackKind};

use super::collect::NONE;
use crate::text::{of_resource, track_name};

/// Parents of a track that are followed; more is a circle.
const DEEPEST: usize = 16;

/// The track of a number in the columns of what was collected.
pub(super) fn id(track: u32) -> Option<TrackId> {
    (track != NONE).then(|| TrackId::new(track))
}

/// Orders tracks: what concerns the process, then by process, kind and name, each below the one it hangs under.
pub(super) fn display_order(tables: &Recording, tracks: Vec<u32>) -> Vec<(u32, u32)> {
    let known = |id: TrackId| tracks.binary_search(&id.raw()).is_ok();
    let mut keyed: Vec<_> = tracks
        .iter()
        .map(|&track| {
            let mut path = Vec::new();
            let mut next = id(track);
            while let Some(at) = next.filter(|_| path.len() < DEEPEST) {
                let row = tables.track(at);
                let kind = row.map_or(TrackKind::Thread, |row| row.kind);
                let lane = row.map_or(0, |row| row.lane);
                path.push((kind as u8, lane, natural(&track_name(tables, at)), at.raw()));
                // One that has nothing of its own is no line to hang from.
                let above = std::iter::successors(row.and_then(|row| row.parent), |&above| {
                    tables.track(above).and_then(|row| row.parent)
                });
                next = above.take(DEEPEST).find(|&above| known(above));
            }
            path.reverse();
            let process = id(track).map(|id| process(tables, id));
            ((process, path), track)
        })
        .collect();
    keyed.sort_unstable();
    let level = |path: &[_]| u32::try_from(path.len().saturating_sub(1)).unwrap_or(0);
    let ordered = keyed.into_iter();
    ordered
        .map(|((_, path), track)| (track, level(&path)))
        .collect()
}

/// A name cut where its digits begin and end, so that `exec-10` comes after `exec-9`.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit());
        let (text, after) = rest.split_at(text.unwrap_or(rest.len()));
        let digits = after.find(|c: char| !c.is_ascii_digit());
        let (digits, after) = after.split_at(digits.unwrap_or(after.len()));
        parts.push((0, text.to_owned()));
        parts.push((digits.parse().unwrap_or(u64::MAX), digits.to_owned()));
        rest = after;
    }
    parts
}

/// The service or process of a track.
pub(super) fn process(tables: &Recording, track: TrackId) -> String {
    let text = of_resource(tables, track, |row| row.service);
    let text = text.or_else(|| of_resource(tables, track, |row| row.instance));
    let name = text.unwrap_or_default().into_owned();
    let row = tables.track(track).and_then(|row| row.resource);
    let pid = row
        .and_then(|id| tables.resource(id))
        .and_then(|row| row.pid);
    match pid {
        Some(pid) if name.is_empty() => format!("pid {pid}"),
        Some(pid) => format!("{name}, pid {pid}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_numbers() {
        let mut names = [
            "exec-10",
            "exec-9",
            "exec",
            "a2b10",
            "a2b9",
            "99999999999999999999999",
        ];
        names.sort_by_key(|name| natural(name));
        let sorted = [
            "99999999999999999999999",
            "a2b9",
            "a2b10",
            "exec",
            "exec-9",
            "exec-10",
        ];
        assert_eq!(names, sorted);
    }
}
