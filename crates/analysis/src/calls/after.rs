//! Where a page of a list of calls ended, as text: what the next page goes on behind.

use std::fmt;
use std::str::FromStr;

use super::cell::SortKey;

/// A place in a sorted list of calls: behind the first `skip` calls that have the key of the page's last call.
///
/// Its text is what the page before ended with, `SKIP:KEY`. A key is `n` and a number, `t` and a text, or nothing. Calls that arrive
/// between two pages move no other: the place is a value, not a number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsAfter {
    pub(super) key: SortKey,
    pub(super) skip: usize,
}

impl CallsAfter {
    /// Returns the number of calls with the key that earlier pages have.
    #[must_use]
    pub const fn skip(&self) -> usize {
        self.skip
    }

    /// Returns `true` if a call with this key is on an earlier page, whatever its place among equals.
    pub(super) fn is_behind(&self, key: &SortKey, descending: bool) -> bool {
        match descending {
            true => *key > self.key,
            false => *key < self.key,
        }
    }

    /// Returns the key, if it is a number.
    #[must_use]
    pub const fn number(&self) -> Option<i64> {
        match self.key {
            SortKey::Number(number) => Some(number),
            _ => None,
        }
    }
}

impl fmt::Display for CallsAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.skip)?;
        match &self.key {
            SortKey::None => Ok(()),
            SortKey::Number(number) => write!(f, "n{number}"),
            SortKey::Text(text) => write!(f, "t{text}"),
        }
    }
}

impl FromStr for CallsAfter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no place in a list, such as an earlier page ended with");
        let (skip, key) = text.split_once(':').ok_or_else(wrong)?;
        let skip = skip.parse::<u32>().map_err(|_| wrong())?;
        let key = match (key.strip_prefix('n'), key.strip_prefix('t')) {
            (Some(number), _) => SortKey::Number(number.parse().map_err(|_| wrong())?),
            (_, Some(text)) => SortKey::Text(text.to_owned()),
            _ if key.is_empty() => SortKey::None,
            _ => return Err(wrong()),
        };
        let skip = usize::try_from(skip).map_err(|_| wrong())?;
        Ok(Self { key, skip })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["0:n1773463907604000000", "3:tGET /a:b", "2:", "1:n-5"] {
            let place: CallsAfter = text.parse().unwrap();
            assert_eq!(place.to_string(), text);
        }
        for text in ["", "1", "x:n1", "1:nx", "1:z", "-1:n1", "99999999999:n1"] {
            assert!(text.parse::<CallsAfter>().is_err(), "{text}");
        }
    }
}
