//! Numbers that things have in a table of one thread.

/// Numbers given to ids in the order of their first use, for one thread after the other.
///
/// Ids are row numbers of tables, so that they are looked up in a list as long as the largest; it stays for
/// the next thread, with what this one used taken out.
#[derive(Default)]
pub(super) struct FirstUseNumbers {
    of: Vec<u32>,
    ids: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl FirstUseNumbers {
    /// Returns the number of an id, and whether it is new.
    #[inline]
    pub fn number(&mut self, id: u32) -> (u32, bool) {
        let at = id as usize;
        if self.of.len() <= at {
            self.of.resize(at + 1, NONE);
        }
        let next = u32::try_from(self.ids.len()).unwrap_or(NONE);
        match self.of.get_mut(at) {
            Some(number) if *number == NONE => {
                *number = next;
                self.ids.push(id);
                (next, true)
            }
            known => (known.map_or(NONE, |number| *number), false),
        }
    }

    #[inline]
    pub fn known(&self, id: u32) -> Option<u32> {
        let number = self.of.get(id as usize).copied();
        number.filter(|&number| number != NONE)
    }

    /// What was numbered, in the order of the numbers.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub fn clear(&mut self) {
        for id in self.ids.drain(..) {
            if let Some(number) = self.of.get_mut(id as usize) {
                *number = NONE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_counts_from_nought() {
        let mut numbers = FirstUseNumbers::default();
        assert_eq!(
            [7, 3, 7].map(|id| numbers.number(id)),
            [(0, true), (1, true), (0, false)]
        );
        assert_eq!((numbers.ids(), numbers.known(9)), (&[7, 3][..], None));
        numbers.clear();
        assert_eq!((numbers.ids(), numbers.known(7)), (&[][..], None));
        assert_eq!(numbers.number(3), (0, true));
    }
}
