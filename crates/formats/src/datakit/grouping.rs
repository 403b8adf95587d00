//! Which parts are one bundle, what each of them is by its name, and in which order they are read.

use std::collections::BTreeMap;

use super::{CONFIG, EVENT, INGEST, REQUEST};
use crate::Part;

pub(super) fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The name without the number that tells it from others of one bundle: `cpu-2.pprof` is a `cpu.pprof`.
fn unnumbered(name: &str) -> String {
    let at = name.rfind('.').unwrap_or(name.len());
    let (stem, extension) = name.split_at_checked(at).unwrap_or((name, ""));
    let plain = stem.trim_end_matches(|last: char| last.is_ascii_digit());
    let plain = plain.strip_suffix('-').filter(|_| plain.len() < stem.len());
    format!("{}{extension}", plain.unwrap_or(stem))
}

/// Metadata documents: `event.json`, and what [`super::members`] cuts out of a recorded request. The
/// recording itself is none: its files are not beside it.
pub(super) fn is_metadata(part: &Part) -> bool {
    let cut = matches!(
        unnumbered(file_name(&part.name)).as_str(),
        "form" | "request"
    );
    part.format.is_some_and(|format| {
        format.name == EVENT.name || cut && [REQUEST.name, INGEST.name].contains(&format.name)
    })
}

/// Tells how the values of an attachment are meant: its members know that by the attachment's name.
pub(super) fn is_config(part: &Part) -> bool {
    part.format.is_some_and(|format| format.name == CONFIG.name)
}

/// Names attachments go by (SPEC.md §5).
pub(super) fn is_attachment(name: &str) -> bool {
    let name = unnumbered(&name.to_ascii_lowercase());
    let plain = ["main", "auto", "prof", "metrics", "metrics.json", "profile"];
    let kinds = ["cpu", "heap", "mutex", "block", "goroutines"];
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    plain.contains(&name.as_str())
        || extension.is_empty() && kinds.iter().any(|kind| name.contains(kind))
        || ["jfr", "pprof", "pb", "prof", "collapsed", "folded", "zip"].contains(&extension)
}

/// The place of an attachment among others, which come in any order: what a program does before what it
/// keeps, so that views begin with its time.
pub(super) fn rank(name: &str) -> usize {
    let kinds = [
        "cpu",
        "main",
        "auto",
        "prof",
        "heap",
        "mutex",
        "block",
        "goroutines",
    ];
    let name = file_name(name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let found = kinds.iter().position(|kind| stem.contains(kind));
    found.unwrap_or(kinds.len())
}

/// Groups the parts of each folder that holds metadata: the metadata, everything that goes by an
/// attachment's name, and what no format knows. An attachment that was an archive is a folder itself.
pub(super) fn set(parts: &[Part]) -> Vec<Vec<usize>> {
    groups(parts).filter(|group| group.len() > 1).collect()
}

pub(super) fn groups(parts: &[Part]) -> impl Iterator<Item = Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        if is_metadata(part) {
            groups.entry(folder(&part.name)).or_default().push(at);
        }
    }
    for (at, part) in parts.iter().enumerate() {
        if is_metadata(part) {
            continue;
        }
        let own = folder(&part.name);
        let inside = is_attachment(file_name(own)).then(|| folder(own));
        let belongs = part.format.is_none()
            || is_attachment(file_name(&part.name))
            || is_config(part)
            || inside.is_some();
        let group = if groups.contains_key(own) {
            Some(own)
        } else {
            inside
        };
        if let Some(group) = group.and_then(|folder| groups.get_mut(folder))
            && belongs
        {
            group.push(at);
        }
    }
    groups.into_values()
}

/// Finds the id in a path of the stored layout (SPEC.md §12): `day/workspace/xx/id/file`, the third level
/// optional.
pub(super) fn stored_id(path: &str) -> Option<&str> {
    let folders: Vec<&str> = folder(path).split('/').collect();
    let (&id, above) = folders.split_last()?;
    let is_day = |text: &&str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = id.get(..2)?;
    let fits = match above {
        [.., day, _, two] if *two == prefix => is_day(day),
        [.., day, _] => is_day(day),
        _ => false,
    };
    (fits && id.len() >= 8).then_some(id)
}
