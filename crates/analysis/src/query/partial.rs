//! What an answer was made from, where there is more than it may read.

/// How much of the captures that a query chooses was read, where they have more bytes than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialRead {
    /// Bytes of the captures that were read.
    pub read_bytes: u64,
    /// Bytes of all captures that are chosen.
    pub of_bytes: u64,
    /// Captures that were read.
    pub captures_read: usize,
    /// Captures that are chosen.
    pub captures: usize,
    /// The budget that was hit; `None` where not all captures could be named to who reads them.
    pub budget: Option<u64>,
    /// A budget with which more is read: twice as much, or what the next capture needs.
    pub next_budget: Option<u64>,
}

impl PartialRead {
    /// Reads as many captures as a budget has room for, one at least. Returns how many of them, and what that is if not all are read.
    #[must_use]
    pub fn of(sizes: &[u64], budget: u64) -> (usize, Option<Self>) {
        let mut read_bytes = 0_u64;
        let room = sizes.iter().take_while(|&&size| {
            let is_first = read_bytes == 0;
            let with = read_bytes.saturating_add(size);
            let fits = is_first || with <= budget;
            if fits {
                read_bytes = with;
            }
            fits
        });
        let captures_read = room.count();
        let partial = sizes.get(captures_read).map(|&next| Self {
            read_bytes,
            of_bytes: sizes.iter().fold(0, |sum, &size| sum.saturating_add(size)),
            captures_read,
            captures: sizes.len(),
            budget: Some(budget),
            next_budget: Some(Self::beyond(budget, read_bytes.saturating_add(next))),
        });
        (captures_read, partial)
    }

    /// Bytes of a capture that are always read, if it has so many: less may be nothing that can be understood.
    pub const LEAST: u64 = 1 << 20;

    /// Returns how much of the first capture is read, where it alone is more than a budget has room for.
    #[must_use]
    pub fn beginning(sizes: &[u64], budget: u64) -> Option<(u64, Self)> {
        let first = *sizes.first()?;
        let read_bytes = budget.max(Self::LEAST);
        let partial = Self {
            read_bytes,
            of_bytes: sizes.iter().fold(0, |sum, &size| sum.saturating_add(size)),
            captures_read: 1,
            captures: sizes.len(),
            budget: Some(budget),
            next_budget: Some(Self::beyond(read_bytes, read_bytes)),
        };
        (first > read_bytes).then_some((read_bytes, partial))
    }

    /// Returns a budget with which more is read than with another one: twice as much, or what more needs.
    #[must_use]
    pub fn beyond(budget: u64, needed: u64) -> u64 {
        budget.saturating_mul(2).max(needed)
    }

    /// Returns both of two, which one answer is made from.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            of_bytes: self.of_bytes.saturating_add(other.of_bytes),
            captures_read: self.captures_read + other.captures_read,
            captures: self.captures + other.captures,
            budget: self.budget.max(other.budget),
            next_budget: self.next_budget.max(other.next_budget),
        }
    }

    /// Returns the numbers by the names that answers have for them.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, Option<u64>); 6] {
        [
            ("read_bytes", Some(self.read_bytes)),
            ("of_bytes", Some(self.of_bytes)),
            ("captures_read", Some(self.captures_read as u64)),
            ("captures", Some(self.captures as u64)),
            ("budget_bytes", self.budget),
            ("next_budget_bytes", self.next_budget),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_room_for_one_capture_at_least() {
        assert_eq!(PartialRead::of(&[], 7), (0, None));
        assert_eq!(PartialRead::of(&[9], 7), (1, None));
        assert_eq!(PartialRead::of(&[3, 4], 7), (2, None));
        let (n_read, partial) = PartialRead::of(&[3, 5, 1], 7);
        let partial = partial.unwrap();
        assert_eq!((n_read, partial.read_bytes, partial.of_bytes), (1, 3, 9));
        assert_eq!(partial.next_budget, Some(14));
        let (_, partial) = PartialRead::of(&[30, 50, u64::MAX], 7);
        let partial = partial.unwrap();
        assert_eq!(partial.next_budget, Some(80));
        assert_eq!(partial.of_bytes, u64::MAX);
    }

    #[test]
    fn of_a_capture_beyond_the_budget_the_beginning_is_read() {
        let sizes = [5 << 20, 1 << 20];
        assert_eq!(PartialRead::beginning(&sizes, 5 << 20), None);
        assert_eq!(PartialRead::beginning(&[1 << 20], 7), None);
        let (read_bytes, partial) = PartialRead::beginning(&sizes, 3 << 20).unwrap();
        assert_eq!(read_bytes, 3 << 20);
        assert_eq!((partial.captures_read, partial.captures), (1, 2));
        assert_eq!((partial.read_bytes, partial.of_bytes), (3 << 20, 6 << 20));
        assert_eq!(partial.next_budget, Some(6 << 20));
        let (read_bytes, partial) = PartialRead::beginning(&sizes, 7).unwrap();
        assert_eq!((read_bytes, partial.budget), (PartialRead::LEAST, Some(7)));
    }

    #[test]
    fn each_next_budget_reads_more() {
        let sizes = [100, 1, 1, 400, 2];
        let (mut budget, mut before) = (1, 0);
        while let (n_read, Some(partial)) = PartialRead::of(&sizes, budget) {
            assert!(before < n_read, "{budget}");
            before = n_read;
            budget = partial.next_budget.unwrap();
        }
        assert!(before < sizes.len());
    }
}
