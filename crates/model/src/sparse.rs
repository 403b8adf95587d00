//! A column in which most rows have nothing.

use crate::bounds::row_number;

/// Values of the rows that have one, in the order of the rows.
///
/// A row without a value takes no room, where an `Option` of the widest columns takes fifty bytes that are
/// written, sent and read for every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<T> {
    rows: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<T> Sparse<T> {
    /// Says what row `row` has; rows are told of in ascending order, those that have nothing need not be.
    #[inline]
    pub fn push(&mut self, row: usize, value: Option<T>) {
        if let Some(value) = value {
            self.rows.push(row_number(row));
            self.values.push(value);
        }
    }

    /// Returns what row `row` has.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&T> {
        if self.rows.is_empty() {
            return None;
        }
        let number = u32::try_from(row).ok()?;
        // Where every row has a value, it is at the row's own place.
        if self.rows.get(row) == Some(&number) {
            return self.values.get(row);
        }
        let at = self.rows.binary_search(&number).ok()?;
        self.values.get(at)
    }

    /// Returns the values there are.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values there are, to change them.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Returns what tells of the rows one after the other, from the first on.
    #[inline]
    #[must_use]
    pub fn each(&self) -> Each<'_, T> {
        Each {
            column: self,
            row: 0,
            at: 0,
            next: self.rows.first().copied().unwrap_or(u32::MAX),
        }
    }

    /// Appends the rows of `other`, which follow row `base`.
    pub fn append(&mut self, base: usize, other: Self) {
        let base = row_number(base);
        let rows = other.rows.into_iter();
        self.rows.extend(rows.map(|row| row.saturating_add(base)));
        self.values.extend(other.values);
    }
}

/// The rows of a column, one after the other.
#[derive(Debug)]
pub struct Each<'a, T> {
    column: &'a Sparse<T>,
    row: u32,
    /// Which value is the next one, and of which row.
    at: usize,
    next: u32,
}

impl<'a, T> Each<'a, T> {
    /// Returns what the next row has.
    #[inline]
    pub fn of_next(&mut self) -> Option<&'a T> {
        let row = self.row;
        self.row += 1;
        if row != self.next {
            return None;
        }
        let value = self.column.values.get(self.at);
        self.at += 1;
        self.next = self.column.rows.get(self.at).copied().unwrap_or(u32::MAX);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_what_was_said_of_them() {
        let rows = [None, Some(1), None, None, Some(4), Some(5), None];
        let mut column = Sparse::default();
        for (row, value) in rows.into_iter().enumerate() {
            column.push(row, value);
        }
        let mut twice = column.clone();
        twice.append(rows.len(), column);
        let mut each = twice.each();
        for (row, value) in rows.iter().chain(&rows).enumerate() {
            assert_eq!(twice.get(row), value.as_ref(), "row {row}");
            assert_eq!(each.of_next(), value.as_ref(), "row {row}");
        }
        assert_eq!((each.of_next(), twice.get(14)), (None, None));
        assert_eq!(twice.values(), [1, 4, 5, 1, 4, 5]);
    }

    #[test]
    fn a_column_that_is_full_is_looked_up_by_place() {
        let mut column = Sparse::default();
        (0..9).for_each(|row| column.push(row, Some(row)));
        assert!((0..9).all(|row| column.get(row) == Some(&row)));
        assert_eq!(column.get(9), None);
    }
}
