//! The numbers of names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bounds::saturated_u32;
use crate::calls::put::fitting;

/// Names that are told apart. The others share [`OTHERS`].
const MOST: usize = 1 << 16;
const OTHERS: &str = "(other names)";

/// Bytes of a name. In CDT more fit into no phrase.
const LONGEST: usize = 5000;

/// Names by number, from 0.
pub struct NameTable {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    n_told: usize,
}

impl NameTable {
    /// Returns a table that begins with these names.
    pub fn new(first: &[&str]) -> Self {
        let mut table = Self {
            numbers: HashMap::new(),
            names: Vec::new(),
            n_told: 0,
        };
        for name in first {
            table.number(name);
        }
        table
    }

    /// Returns the name of a number.
    pub fn name(&self, number: u32) -> &str {
        let name = usize::try_from(number)
            .ok()
            .and_then(|at| self.names.get(at));
        name.map_or("", |name| name)
    }

    /// Returns the number of a name, and `true` if it stands for another one too.
    pub fn number(&mut self, name: &str) -> (u32, bool) {
        let fits = &name[..fitting(name, LONGEST)];
        let is_cut = fits.len() < name.len();
        if let Some(&number) = self.numbers.get(fits) {
            return (number, is_cut);
        }
        if self.names.len() >= MOST && fits != OTHERS {
            return (self.number(OTHERS).0, true);
        }
        let number = saturated_u32(self.names.len());
        let name: Arc<str> = fits.into();
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        (number, is_cut)
    }

    /// Returns the names that were not told since [`NameTable::tell_again`], and the number of the first of them.
    pub fn untold(&mut self) -> (u64, &[Arc<str>]) {
        let from = std::mem::replace(&mut self.n_told, self.names.len());
        (from as u64, &self.names[from..])
    }

    /// Forgets what was told: another reader knows none of it.
    pub fn tell_again(&mut self) {
        self.n_told = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_once_and_told_once() {
        let mut table = NameTable::new(&["call.info"]);
        assert_eq!(table.number("call.info"), (0, false));
        assert_eq!(table.number("a"), (1, false));
        assert_eq!(table.number("a"), (1, false));
        assert_eq!(table.untold().1.len(), 2);
        assert_eq!(table.number("b"), (2, false));
        assert_eq!(table.untold(), (2, &["b".into()][..]));
        table.tell_again();
        assert_eq!(table.untold().1.len(), 3);
    }

    #[test]
    fn names_beyond_the_table_share_one() {
        let mut table = NameTable::new(&["call.info"]);
        for n in 0..MOST {
            table.number(&format!("name {n}"));
        }
        let (others, is_shared) = table.number("one more");
        assert!(is_shared);
        assert_eq!(table.number("and another"), (others, true));
        assert_eq!(table.number("name 7"), (8, false));
        assert_eq!(table.names.len(), MOST + 1);
        assert!(table.number(&"x".repeat(5001)).1);
    }
}
