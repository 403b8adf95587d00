//! Rows in pieces.

/// Rows of a piece.
const PIECE: usize = 1 << 10;

/// A list in pieces: a recording's spans in one vector would be copied each time it is full, to fresh memory.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<T> {
    /// All but the last have [`PIECE`] rows.
    pieces: Vec<Vec<T>>,
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T> Pieces<T> {
    #[inline]
    pub(crate) fn push(&mut self, row: T) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE => last.push(row),
            // The first one grows: there are many lists of a few rows.
            None => self.pieces.push(vec![row]),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(row);
                self.pieces.push(piece);
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.pieces.get(at / PIECE)?.get(at % PIECE)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        let last = self.pieces.last().map_or(0, Vec::len);
        self.pieces.len().saturating_sub(1) * PIECE + last
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }
}

impl<T> FromIterator<T> for Pieces<T> {
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
            let rows: Pieces<usize> = (0..count).collect();
            assert_eq!((rows.len(), rows.is_empty()), (count, count == 0));
            assert!(rows.iter().copied().eq(0..count));
            assert!((0..count).all(|at| rows.get(at) == Some(&at)));
            assert_eq!(rows.get(count), None);
        }
    }
}
