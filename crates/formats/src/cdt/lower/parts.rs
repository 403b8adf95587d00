//! The parts of a process by what they are.

use std::collections::BTreeMap;

use crate::cdt;
use crate::{Format, Part, Source};

/// Part numbers by stream; numbered files by their index.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) dictionary: Vec<usize>,
    pub(super) params: Vec<usize>,
    pub(super) suspend: Vec<usize>,
    pub(super) calls: Vec<usize>,
    pub(super) trace: BTreeMap<u32, usize>,
    pub(super) sql: BTreeMap<u32, usize>,
    pub(super) xml: BTreeMap<u32, usize>,
    /// Strings of which nobody knows what they are: see [`super::guess`].
    pub(super) strings: Vec<usize>,
    pub(super) gc: Vec<usize>,
    /// More than one stream of calls: rows of slow calls are kept twice (`calls[3s-60m]`).
    pub(super) ranges: bool,
}

/// The number in a file's name, when the name is a number.
fn number(part: &Part) -> Option<u32> {
    let file = part.name.rsplit('/').next()?;
    let stem = file.split(['.', '-']).next()?;
    stem.parse().ok().filter(|&number| number > 0)
}

/// Numbers files as records refer to them: by their names where all are numbers, else by their order.
fn indexed(source: &dyn Source, members: &[usize]) -> BTreeMap<u32, usize> {
    let parts = source.parts();
    let numbers: Option<Vec<u32>> = members
        .iter()
        .map(|&at| parts.get(at).and_then(number))
        .collect();
    let by_order = || (1..).zip(members.iter().copied()).collect();
    match numbers {
        Some(numbers) => {
            let map: BTreeMap<u32, usize> =
                numbers.into_iter().zip(members.iter().copied()).collect();
            if map.len() == members.len() {
                map
            } else {
                by_order()
            }
        }
        None => by_order(),
    }
}

impl Parts {
    pub(super) fn of(source: &dyn Source) -> Self {
        let of = |format: &Format| -> Vec<usize> {
            let parts = source.parts().iter().enumerate();
            let mut found: Vec<(usize, &Part)> = parts
                .filter(|(_, part)| part.format == Some(format))
                .collect();
            found.sort_by_key(|(_, part)| (number(part), &part.name));
            found.into_iter().map(|(at, _)| at).collect()
        };
        let calls = of(&cdt::CALLS);
        let range = |&at: &usize| {
            let part = source.parts().get(at);
            part.is_some_and(|part| part.name.contains("calls["))
        };
        Self {
            dictionary: of(&cdt::DICTIONARY),
            params: of(&cdt::PARAMS),
            suspend: of(&cdt::SUSPEND),
            ranges: calls.iter().any(range),
            calls,
            trace: indexed(source, &of(&cdt::TRACE)),
            sql: indexed(source, &of(&cdt::SQL)),
            xml: indexed(source, &of(&cdt::XML)),
            strings: of(&cdt::STRINGS),
            gc: of(&cdt::GC),
        }
    }
}

/// What the path of a process says about it: service and instance. `location` is where the names of the
/// parts begin.
///
/// Agents write `<server>/<yyyy>/<MM>/<dd>/<startMs>/<stream>/<index>`, collectors
/// `<pod>/<stream>/<index>`, the pod ending in its start time.
pub(super) fn identity<'p>(
    location: &'p str,
    parts: &'p [Part],
) -> (Option<&'p str>, Option<&'p str>) {
    let Some(part) = parts.first() else {
        return (None, None);
    };
    let above = location.split('/').filter(|folder| !folder.is_empty());
    let folders: Vec<&str> = above.chain(part.name.split('/')).collect();
    match folders.as_slice() {
        [process @ .., _stream, _index] => identity_in(process),
        _ => (None, None),
    }
}

/// What the folders down to that of a process say about it: service and instance.
pub(in crate::cdt) fn identity_in<'p>(folders: &[&'p str]) -> (Option<&'p str>, Option<&'p str>) {
    match folders {
        [.., server, year, month, day, restart]
            if year.len() == 4 && month.len() == 2 && day.len() == 2 && is_number(restart) =>
        {
            (Some(server), Some(restart))
        }
        [.., pod] => match pod.rsplit_once('_') {
            Some((_, start)) if start.len() >= 12 && is_number(start) => (None, Some(pod)),
            _ => (None, None),
        },
        [] => (None, None),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
