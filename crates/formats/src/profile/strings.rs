//! The string table of a profile.

/// The string table, its bytes end to end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Makes room for more entries, and for the bytes of all of them.
    pub(crate) fn reserve(&mut self, entries: usize, bytes: usize) {
        self.ends.reserve(entries);
        self.bytes.reserve(bytes);
    }

    /// Adds the next entry.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// Returns the entry at `index`, none where there is none.
    #[must_use]
    pub fn get(&self, index: i64) -> Option<&[u8]> {
        let index = usize::try_from(index).ok()?;
        let &end = self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)?,
            None => 0,
        };
        self.bytes.get(start..end)
    }

    /// Returns `true` if one of the entries is `text`.
    #[must_use]
    pub fn contains(&self, text: &[u8]) -> bool {
        let mut from = 0;
        self.ends.iter().any(|&end| {
            let entry = self.bytes.get(from..end);
            from = end;
            entry == Some(text)
        })
    }

    /// Returns how many entries are not valid UTF-8.
    ///
    /// All bytes are looked at in one go: entries are valid when the whole is and none begins inside a
    /// character.
    pub(crate) fn invalid(&self) -> u64 {
        let begins = |&end: &usize| self.bytes.get(end).is_none_or(|&byte| byte & 0xc0 != 0x80);
        if std::str::from_utf8(&self.bytes).is_ok() && self.ends.iter().all(begins) {
            return 0;
        }
        let entries = (0_i64..).map_while(|index| self.get(index));
        entries
            .map(|text| u64::from(std::str::from_utf8(text).is_err()))
            .sum()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
