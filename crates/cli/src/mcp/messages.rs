//! Lines of bounded length.

use std::io::{self, BufRead};

/// Bytes of a message at most.
pub(super) const LONGEST: usize = 1 << 20;

/// A line of the input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    Whole(&'l [u8]),
    /// It is longer than [`LONGEST`], and was stepped over.
    TooLong,
}

/// Reads lines and holds no more than the longest.
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        let line = Vec::new();
        Self { from, line }
    }

    /// Returns the next line, none at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let mut is_too_long = false;
        loop {
            let piece = self.from.fill_buf()?;
            if piece.is_empty() && self.line.is_empty() && !is_too_long {
                return Ok(None);
            }
            let end = piece.iter().position(|&byte| byte == b'\n');
            let text = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            is_too_long |= self.line.len() + text.len() > LONGEST;
            if !is_too_long {
                self.line.extend_from_slice(text);
            }
            let is_end = end.is_some() || piece.is_empty();
            let used = text.len() + usize::from(end.is_some());
            self.from.consume(used);
            if is_end {
                return Ok(Some(match is_too_long {
                    true => Line::TooLong,
                    false => Line::Whole(&self.line),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_stepped_over_and_the_next_is_read() {
        let mut text = vec![b'x'; LONGEST];
        text.extend_from_slice(b"\n");
        text.extend(vec![b'y'; LONGEST + 1]);
        text.extend_from_slice(b"\nlast");
        let mut lines = Lines::new(io::BufReader::with_capacity(7, text.as_slice()));
        assert!(matches!(lines.next(), Ok(Some(Line::Whole(line))) if line.len() == LONGEST));
        assert_eq!(lines.next().ok(), Some(Some(Line::TooLong)));
        assert_eq!(lines.next().ok(), Some(Some(Line::Whole(b"last"))));
        assert_eq!(lines.next().ok(), Some(None));
    }
}
