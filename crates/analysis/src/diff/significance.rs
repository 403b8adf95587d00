//! Whether two numbers of samples differ by more than luck.

use super::float;

/// Returns how likely numbers at least this far apart are when nothing changed, between 0 and 1.
///
/// Of all the samples in a function, each fell into the second recording with the chance that the recordings'
/// `lengths` give: a binomial distribution, summed over everything no likelier than what was seen.
pub(super) fn chance((before, after): (u64, u64), lengths: (f64, f64)) -> f64 {
    let n = before.saturating_add(after);
    if n == 0 {
        return 1.0;
    }
    let p = lengths.1 / (lengths.0 + lengths.1);
    if !(p > 0.0 && p < 1.0) {
        return 1.0;
    }
    if n > EXACT {
        return normal(float(n), p, float(after));
    }
    let n_terms = u32::try_from(n).unwrap_or(u32::MAX);
    // Logarithms of the terms, each from the one before.
    let mut term = float(n) * (1.0 - p).ln();
    let mut terms = Vec::new();
    for k in 0..=n_terms {
        terms.push(term);
        let k = f64::from(k);
        term += ((float(n) - k) / (k + 1.0)).ln() + (p / (1.0 - p)).ln();
    }
    let seen = usize::try_from(after).ok().and_then(|at| terms.get(at));
    let seen = seen.copied().unwrap_or(f64::NEG_INFINITY);
    // Terms equal but for rounding count.
    let sum: f64 = terms
        .iter()
        .filter(|&&term| term <= seen + 1e-9)
        .map(|term| term.exp())
        .sum();
    sum.min(1.0)
}

/// Up to this many samples the distribution is summed term by term.
const EXACT: u64 = 2_000;

fn normal(n: f64, p: f64, after: f64) -> f64 {
    let deviation = (n * p * (1.0 - p)).sqrt();
    let z = ((after - n * p).abs() - 0.5).max(0.0) / deviation;
    two_sided(z)
}

/// The share of a normal distribution beyond `z` deviations on both sides (Abramowitz and Stegun 7.1.26, wrong by
/// 1.5e-7 at most).
fn two_sided(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [
        0.254_829_592,
        -0.284_496_736,
        1.421_413_741,
        -1.453_152_027,
        1.061_405_429,
    ];
    let sum = series
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * t);
    (sum * (-x * x).exp()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-3
    }

    #[test]
    fn few_samples_are_exact() {
        // A coin that falls on one side ten times of ten: 2 / 1024.
        assert!(near(chance((0, 10), (1.0, 1.0)), 2.0 / 1024.0));
        assert!(near(chance((5, 5), (1.0, 1.0)), 1.0));
        assert!(near(chance((2, 8), (1.0, 1.0)), 0.109));
        assert_eq!(chance((0, 0), (1.0, 1.0)), 1.0);
        // Three times the samples explain three times the hits.
        assert!(chance((10, 30), (100.0, 300.0)) > 0.8);
        assert!(chance((10, 30), (1.0, 1.0)) < 0.01);
    }

    #[test]
    fn many_samples_agree_with_the_exact_sum() {
        let (exact, about) = (
            chance((960, 1_040), (1.0, 1.0)),
            normal(2_000.0, 0.5, 1_040.0),
        );
        assert!(near(exact, about), "{exact} {about}");
        assert!(chance((1_000_000, 1_010_000), (1.0, 1.0)) < 1e-6);
        assert!(near(two_sided(1.96), 0.05));
    }
}
