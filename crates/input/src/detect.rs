//! Which format a part is of.

use traceloom_formats::{Confidence, FORMATS, Format, Probe, refused};

use crate::nearest::{Near, Nearest};

/// Why a part has no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// A sentence when the format is known and not read, such as `perf.data: run perf script`.
    pub refused: Option<&'static str>,
    /// The first bytes.
    pub head: Vec<u8>,
    /// Formats that it nearly is, the nearest first.
    pub nearest: Vec<Near>,
}

impl Unknown {
    /// Returns one sentence for a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(refused) = self.refused {
            return refused.to_owned();
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

/// Asks every format about a part; the surest wins, the first of equals. Tells too whether it is a guess:
/// a format that is merely possible, and the only one.
pub(crate) fn detect(
    probe: &Probe<'_>,
    nearest: &Nearest,
) -> Result<(&'static Format, bool), Unknown> {
    if let Some(refused) = refused(probe.head) {
        let head = probe.head.iter().copied().take(16).collect();
        return Err(Unknown {
            refused: Some(refused),
            head,
            nearest: Vec::new(),
        });
    }
    let mut answers: Vec<(Confidence, &'static Format)> = FORMATS
        .iter()
        .filter_map(|format| Some(((format.probe)(probe)?, *format)))
        .collect();
    answers.sort_by_key(|&(confidence, _)| std::cmp::Reverse(confidence));
    match answers.first() {
        Some(&(Confidence::Likely | Confidence::Certain, format)) => Ok((format, false)),
        Some(&(Confidence::Possible, format)) if answers.len() == 1 && !probe.head.is_empty() => {
            Ok((format, true))
        }
        _ => Err(Unknown {
            refused: None,
            head: probe.head.iter().copied().take(16).collect(),
            nearest: nearest.of(probe, &answers),
        }),
    }
}
