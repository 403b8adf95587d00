//! Times of answers, counted in classes, so that any number of them takes the same memory.

use std::time::Duration;

/// Classes for each doubling: two times of one class differ by 4.5 % at most.
const PER_DOUBLING: f64 = 16.0;
/// Classes up to about a day.
const CLASSES: usize = 600;

/// How many answers took how long.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Answers within each class of microseconds.
    counts: Box<[u64]>,
    longest: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            counts: vec![0; CLASSES].into(),
            longest: Duration::ZERO,
        }
    }
}

impl Latencies {
    pub(crate) fn add(&mut self, time: Duration) {
        let microseconds = time.as_secs_f64() * 1e6;
        let class = (microseconds.max(1.0).log2() * PER_DOUBLING).ceil() as usize;
        if let Some(count) = self.counts.get_mut(class.min(CLASSES - 1)) {
            *count += 1;
        }
        self.longest = self.longest.max(time);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.longest = self.longest.max(other.longest);
    }

    /// Returns the number of answers.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns a time within which this part of the answers came, such as 0.99.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        let wanted = (self.count() as f64 * part).ceil() as u64;
        let mut n_within = 0;
        for (class, count) in self.counts.iter().enumerate() {
            n_within += count;
            if n_within >= wanted {
                let microseconds = (class as f64 / PER_DOUBLING).exp2();
                return Duration::from_secs_f64(microseconds / 1e6).min(self.longest);
            }
        }
        self.longest
    }

    /// Returns the longest time.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_sorted_times_within_a_class() {
        let mut latencies = Latencies::default();
        for milliseconds in 1..=1000 {
            latencies.add(Duration::from_millis(milliseconds));
        }
        let within = |part: f64, exact: f64| {
            let ratio = latencies.quantile(part).as_secs_f64() * 1e3 / exact;
            assert!((1.0..1.045).contains(&ratio), "{part}: {ratio}");
        };
        within(0.5, 500.0);
        within(0.99, 990.0);
        assert_eq!(latencies.quantile(1.0), Duration::from_secs(1));
        assert_eq!(latencies.count(), 1000);
    }
}
