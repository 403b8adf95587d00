//! What a part nearly is, and why it is not.

use std::fmt;

use crate::{Confidence, FORMATS, Format, Probe, Record, RecordSink, read_slice};
use traceloom_model::{Flow, Level, Limits, Note};

/// A format that a part nearly is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Its name.
    pub format: &'static str,
    /// What speaks for it.
    pub like: Like,
    /// What its reader says first about the bytes, when that is no good.
    pub why_not: Option<String>,
}

/// What speaks for a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Like {
    /// The bytes do not contradict it, nor some other format.
    Possible,
    /// It begins nearly as all files of the format do.
    Begins,
    /// It is called like one.
    Named,
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let like = match self.like {
            Like::Possible => "fits as others do",
            Like::Begins => "begins nearly so",
            Like::Named => "is named so",
        };
        match &self.why_not {
            Some(why) => write!(f, "{} ({like}, but {why})", self.format),
            None => write!(f, "{} ({like})", self.format),
        }
    }
}

/// Formats named at most.
const MOST: usize = 3;
/// Bytes of a part that readers are tried on.
const TRIED: usize = 4 << 10;
/// Extensions that are given to files of any kind.
const SAY_NOTHING: [&str; 5] = ["bin", "json", "log", "txt", "xml"];

/// Returns the formats that the part is nearest to; `answers` are those that it does not contradict.
pub(crate) fn nearest(probe: &Probe<'_>, answers: &[(Confidence, &'static Format)]) -> Vec<Near> {
    if probe.head.is_empty() {
        return Vec::new();
    }
    let words = probe
        .file_name()
        .split(|c: char| !c.is_ascii_alphanumeric());
    let mut candidates: Vec<(Like, &'static Format)> = answers
        .iter()
        .map(|&(_, format)| (Like::Possible, format))
        .collect();
    for &format in FORMATS {
        if begins(probe.head, format.magic) {
            candidates.push((Like::Begins, format));
        }
    }
    for &format in FORMATS {
        let is_own = |word: &str| {
            let mut own = format.extensions.iter();
            !SAY_NOTHING.contains(&word) && own.any(|own| own.eq_ignore_ascii_case(word))
        };
        if words.clone().any(is_own) {
            candidates.push((Like::Named, format));
        }
    }
    candidates.sort_by_key(|&(like, _)| like);
    let mut nearest: Vec<Near> = Vec::new();
    for (like, format) in candidates {
        let known = nearest.iter().any(|near| near.format == format.name);
        if known || nearest.len() == MOST {
            continue;
        }
        nearest.push(Near {
            format: format.name,
            like,
            why_not: why_not(probe, format),
        });
    }
    nearest
}
/// Returns true if three of four bytes are those of the magic number.
fn begins(head: &[u8], magic: &[u8]) -> bool {
    let same = head.iter().zip(magic).filter(|(a, b)| a == b).count();
    same >= 3 && same * 4 >= magic.len() * 3
}

/// Returns the first thing that a format's reader finds wrong with the head.
fn why_not(probe: &Probe<'_>, format: &Format) -> Option<String> {
    let reader = format.reader?;
    let tried = probe.head.get(..TRIED).unwrap_or(probe.head);
    let mut first = NearestHint {
        whole: probe.whole && tried.len() == probe.head.len(),
        said: None,
    };
    read_slice(reader(&Limits::default()).as_mut(), tried, &mut first);
    first.said
}

struct NearestHint {
    whole: bool,
    said: Option<String>,
}

impl RecordSink for NearestHint {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        // What is shown of a longer part ends in the middle of something.
        if note.level == Level::Info && !self.whole {
            return Flow::Continue(());
        }
        self.said = Some(format!("at {:#x}: {}", note.offset, note.text));
        Flow::Break(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(name: &str, head: &[u8]) -> Vec<Near> {
        let probe = Probe {
            head,
            whole: true,
            name,
            siblings: &[],
        };
        super::nearest(&probe, &[])
    }

    #[test]
    fn a_damaged_magic_number_is_nearly_one() {
        let near = nearest("x", b"FLX\0\0\x02\0\x01 and then something else");
        let first = near.first().unwrap();
        assert_eq!((first.format, first.like), ("jfr", Like::Begins));
        assert!(first.why_not.is_some());
    }

    #[test]
    fn a_name_alone_is_said() {
        let near = nearest("shop.trcbin", b"\x07\x07\x07\x07\x07\x07\x07\x07");
        let first = near.first().unwrap();
        assert_eq!((first.format, first.like), ("tptp-binary", Like::Named));
        assert_eq!(nearest("x.qqq", b"\x07\x07\x07\x07\x07\x07\x07\x07"), []);
    }
}
