//! Colours of a difference: how much of the whole a frame grew or shrank by itself.

use crate::diff::{Change, Diff};
use crate::{MeasureUnit, amount};

/// Steps to each side of the one for no change.
pub const SAME: u8 = 3;

/// Percent of the whole *before* at which steps begin. They are the same in every picture, so that a colour means the
/// same everywhere; pages have them in `ui/src/flame/change.ts`.
const STEPS: [f64; SAME as usize] = [0.1, 0.5, 2.0];

/// Returns the colour of a change that is so many percent of the whole: [`SAME`], above for growth, below for the opposite.
#[must_use]
pub fn step(percent: f64) -> u8 {
    let beyond = STEPS.iter().filter(|&&from| percent.abs() >= from);
    let distance = u8::try_from(beyond.count()).unwrap_or(SAME);
    if percent < 0.0 {
        SAME - distance
    } else {
        SAME + distance
    }
}

/// A difference as a picture shows it: of the second recording, or mirrored of the first.
#[derive(Clone, Debug)]
pub struct Compared<'d> {
    /// Both recordings.
    pub diff: &'d Diff,
    /// The picture is the first recording's.
    pub mirrored: bool,
    /// What each node of the picture's tree was in the other recording.
    pub changes: Vec<Change>,
}

impl<'d> Compared<'d> {
    /// Compares path by path.
    #[must_use]
    pub fn new(diff: &'d Diff, mirrored: bool) -> Self {
        Self {
            diff,
            mirrored,
            changes: diff.changes(mirrored),
        }
    }

    /// The other recording's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        if self.mirrored { "after" } else { "before" }
    }

    /// By how much a node grew from the first recording to the second, and what percent of the whole *before* that is.
    pub(super) fn grew(&self, now: i64, other: i64) -> (i64, f64) {
        let grew = match self.mirrored {
            false => now.saturating_sub(other),
            true => other.saturating_sub(now),
        };
        let whole = self.whole();
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let percent = match whole {
            0 if grew == 0 => 0.0,
            0 => f64::INFINITY.copysign(grew as f64),
            _ => grew as f64 * 100.0 / whole.unsigned_abs() as f64,
        };
        (grew, percent)
    }

    /// The whole of the first recording, in the scale of the picture.
    pub(super) fn whole(&self) -> i64 {
        self.diff.whole_before(self.mirrored)
    }

    /// Writes what a node was, and the change that its colour shows.
    pub(super) fn describe(&self, own: i64, other: Change, unit: &MeasureUnit) -> String {
        let (grew, percent) = self.grew(own, other.own);
        let sign = if grew > 0 { "+" } else { "" };
        let of = match grew {
            0 => "0".to_owned(),
            grew => amount(unit, grew),
        };
        format!(
            "{} {}, self {}; change of self {sign}{of}, {percent:+.2} % of all before",
            self.word(),
            amount(unit, other.total),
            amount(unit, other.own),
        )
    }
}

/// Colours of steps, the most shrunk first, light and dark: blue shrank, orange grew.
pub(super) const COLOURS: [[&str; 7]; 2] = [
    [
        "#2f6fb0", "#9fc5e9", "#d9e7f5", "#e8e8e4", "#fbe2cf", "#f4b384", "#b74d12",
    ],
    [
        "#86baf0", "#2a527c", "#213448", "#30302d", "#44301f", "#7a431b", "#ef9a58",
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_same_for_every_file() {
        let steps: Vec<u8> = [-3.0, -2.0, -0.6, -0.1, -0.09, 0.0, 0.09, 0.1, 0.5, 1.9, 2.0]
            .into_iter()
            .map(step)
            .collect();
        assert_eq!(steps, [0, 0, 1, 2, 3, 3, 3, 4, 5, 5, 6]);
    }
}
