//! Colours of a difference: red grew, blue shrank, the stronger the more.

/// What a node of a tree came to in another recording, in the scale of this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// With what it called.
    pub total: i64,
    /// By itself.
    pub own: i64,
    /// Its colour: [`SAME`], above for growth, below for the opposite.
    pub step: u8,
}

/// Colours to each side of the one for no change.
pub const SAME: u8 = 6;

/// Number of colours.
pub(super) const STEPS: u8 = 2 * SAME + 1;

impl Change {
    /// Returns the colour of a change that is `share` of the largest one, from -1 to 1.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 12"
    )]
    pub fn step_of(share: f64) -> u8 {
        // The root lets small changes be seen beside the largest.
        let strength = share.abs().min(1.0).sqrt() * f64::from(SAME);
        let signed = strength.ceil().copysign(share);
        if share == 0.0 {
            SAME
        } else {
            (f64::from(SAME) + signed) as u8
        }
    }

    /// Writes what it was and by how much it changed; `word` says when.
    pub(super) fn describe(&self, now: i64, word: &str, amount: impl Fn(i64) -> String) -> String {
        if self.total == 0 {
            return format!("{word}: none");
        }
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let percent = (now - self.total) as f64 * 100.0 / self.total.unsigned_abs() as f64;
        format!(
            "{word}: {}, self {} ({percent:+.1} %)",
            amount(self.total),
            amount(self.own)
        )
    }
}

/// Returns hue, saturation and lightness of a step.
pub(super) fn hsl(step: u8, dark: bool) -> (u16, u8, u8) {
    let distance = step.abs_diff(SAME);
    let hue = if step > SAME { 8 } else { 214 };
    if distance == 0 {
        return (60, 4, if dark { 34 } else { 90 });
    }
    let saturation = 30 + 9 * distance;
    let lightness = if dark {
        30 + 3 * distance
    } else {
        90 - 6 * distance
    };
    (hue, saturation, lightness)
}
