//! Which format a part is of.

mod nearest;

pub use nearest::{Like, Near};

use traceloom_model::bounds::subslice;

use crate::{Confidence, FORMATS, Format, Probe, unsupported};
use nearest::nearest;

/// Bytes that formats are shown of a part, and of one that these do not decide, the next: a string may be longer.
pub const PROBED: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Why a part has no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// A sentence when the format is known and not read, such as `perf.data: run perf script`.
    pub unsupported: Option<&'static str>,
    /// The first bytes.
    pub head: Vec<u8>,
    /// Formats that it nearly is, the nearest first.
    pub nearest: Vec<Near>,
}

impl Unknown {
    /// Returns one sentence for a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(reason) = self.unsupported {
            return reason.to_owned();
        }
        if self.head.is_empty() {
            return "the file is empty".to_owned();
        }
        let shown: Vec<String> = self
            .head
            .iter()
            .take(16)
            .map(|b| format!("{b:02x}"))
            .collect();
        let text = self
            .head
            .get(..16)
            .unwrap_or(&self.head)
            .escape_ascii()
            .to_string();
        let mut sentence = format!("unknown format; it begins {} \"{text}\"", shown.join(" "));
        if !self.nearest.is_empty() {
            let nearest = self.nearest.iter().map(Near::to_string);
            sentence += "; nearest: ";
            sentence += &nearest.collect::<Vec<_>>().join(", ");
        }
        sentence
    }
}

/// Finds the format that an empty file is written in, by its extension: some formats have no bytes around what they hold.
fn named(name: &str) -> Option<&'static Format> {
    const WITHOUT_FRAME: [&str; 2] = ["folded", "line-protocol"];
    let ends = |extension: &&str| {
        let stem = name.strip_suffix(extension);
        stem.is_some_and(|stem| stem.ends_with('.'))
    };
    let mut formats = FORMATS.iter().copied();
    formats
        .find(|format| WITHOUT_FRAME.contains(&format.name) && format.extensions.iter().any(ends))
}

/// What the formats say of a part.
#[derive(Clone, PartialEq, Debug)]
pub struct Detected {
    /// The format, and whether it is a guess: merely possible, and the only one.
    pub format: Result<(&'static Format, bool), Unknown>,
    /// No format is sure, and some may be once they see more of the part.
    pub undecided: bool,
}

/// Finds the format of bytes in memory by what they are and by the name of their file.
///
/// # Errors
/// Says what the bytes nearly are, where no format or more than one fits.
///
/// ```
/// let bytes = b"main;handle;read 7\nmain;idle 3\n";
/// assert_eq!(traceloom_formats::detect_bytes("cpu.folded", bytes).unwrap().name, "folded");
/// assert!(traceloom_formats::detect_bytes("x", b"\0\x01\x02").is_err());
/// ```
pub fn detect_bytes(name: &str, bytes: &[u8]) -> Result<&'static Format, Unknown> {
    let look = |len: usize| {
        let head = subslice(bytes, ..len.min(bytes.len()));
        let whole = head.len() == bytes.len();
        let siblings = &[];
        detect(&Probe {
            head,
            whole,
            name,
            siblings,
        })
    };
    let [first, more @ ..] = PROBED;
    let mut detected = look(first);
    for len in more {
        if detected.undecided {
            detected = look(len);
        }
    }
    detected.format.map(|(format, _)| format)
}

/// Asks every format about a part; the surest wins, the first of equals.
#[must_use]
pub fn detect(probe: &Probe<'_>) -> Detected {
    let mut undecided = false;
    let format = surest(probe, &mut undecided);
    Detected { format, undecided }
}

fn surest(probe: &Probe<'_>, undecided: &mut bool) -> Result<(&'static Format, bool), Unknown> {
    if let Some(reason) = unsupported(probe.head) {
        let head = probe.head.iter().copied().take(16).collect();
        return Err(Unknown {
            unsupported: Some(reason),
            head,
            nearest: Vec::new(),
        });
    }
    if probe.head.is_empty()
        && probe.whole
        && let Some(format) = named(probe.file_name())
    {
        return Ok((format, false));
    }
    let mut answers: Vec<(Confidence, &'static Format)> = FORMATS
        .iter()
        .filter_map(|format| Some(((format.probe)(probe)?, *format)))
        .collect();
    let best = answers.iter().map(|&(confidence, _)| confidence).max();
    *undecided = best == Some(Confidence::Possible) && !probe.whole;
    answers.sort_by_key(|&(confidence, _)| std::cmp::Reverse(confidence));
    match answers.first() {
        Some(&(Confidence::Likely | Confidence::Certain, format)) => Ok((format, false)),
        Some(&(Confidence::Possible, format)) if answers.len() == 1 && !probe.head.is_empty() => {
            Ok((format, true))
        }
        _ => Err(Unknown {
            unsupported: None,
            head: probe.head.iter().copied().take(16).collect(),
            nearest: nearest(probe, &answers),
        }),
    }
}
