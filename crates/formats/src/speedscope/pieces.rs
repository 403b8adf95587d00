//! Rows in pieces.

/// Rows of a piece.
const PIECE: usize = 1 << 10;

/// A list in pieces: a recording's spans in one vector would be copied each time it is full, to fresh memory.
#[derive(Clone, Debug)]
pub(super) struct ChunkedList<T> {
    /// Of [`PIECE`] rows each.
    full: Vec<Vec<T>>,
    /// The first one grows: there are many lists of a few rows.
    last: Vec<T>,
}

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        Self {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T> ChunkedList<T> {
    #[inline]
    pub fn push(&mut self, row: T) {
        if self.last.len() >= PIECE {
            self.next_piece();
        }
        self.last.push(row);
    }

    #[inline(never)]
    fn next_piece(&mut self) {
        let next = Vec::with_capacity(PIECE);
        self.full.push(std::mem::replace(&mut self.last, next));
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        match self.full.get(at / PIECE) {
            Some(piece) => piece.get(at % PIECE),
            None => self.last.get(at - self.full.len() * PIECE),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.full.len() * PIECE + self.last.len()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.full.iter().flatten().chain(&self.last)
    }
}

impl<T> FromIterator<T> for ChunkedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|row| all.push(row));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_where_they_were_pushed() {
        for count in [0, 1, 5, PIECE, PIECE + 1, 3 * PIECE + 7] {
            let rows: ChunkedList<usize> = (0..count).collect();
            assert_eq!((rows.len(), rows.is_empty()), (count, count == 0));
            assert!(rows.iter().copied().eq(0..count));
            assert!(rows.iter().rev().copied().eq((0..count).rev()));
            assert!((0..count).all(|at| rows.get(at) == Some(&at)));
            assert_eq!(rows.get(count), None);
        }
    }
}
