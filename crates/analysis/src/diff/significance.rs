//! Whether two numbers of samples differ by more than luck.

use traceloom_model::bounds::saturated_u32;

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
    let n = saturated_u32(n);
    let odds = p / (1.0 - p);
    let factor = |k: u32| f64::from(n - k) / f64::from(k + 1) * odds;
    // Each term from its neighbour, from the likeliest one to both sides, until they come to nothing.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and n"
    )]
    let likeliest = (f64::from(n + 1) * p).min(f64::from(n)) as u32;
    let above = (likeliest..n).scan(1.0, |term, k| {
        *term *= factor(k);
        (*term > f64::MIN_POSITIVE).then_some((k + 1, *term))
    });
    let below = (0..likeliest).rev().scan(1.0, |term, k| {
        *term /= factor(k);
        (*term > f64::MIN_POSITIVE).then_some((k, *term))
    });
    let terms: Vec<(u32, f64)> = [(likeliest, 1.0)]
        .into_iter()
        .chain(above)
        .chain(below)
        .collect();
    let seen = terms.iter().find(|&&(k, _)| u64::from(k) == after);
    let seen = seen.map_or(0.0, |&(_, term)| term);
    let (mut all, mut unlikelier) = (0.0, 0.0);
    for (_, term) in terms {
        all += term;
        // Terms equal but for rounding count.
        if term <= seen * (1.0 + 1e-9) {
            unlikelier += term;
        }
    }
    unlikelier / all
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
