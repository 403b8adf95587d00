//! Values by line.

use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::TrackId;

/// A stack of slices on a track.
///
/// A track has one, and further ones where a writer moved spans that overlap others on their track.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SliceLine {
    pub(crate) track: TrackId,
    /// 0 for the first stack of the track.
    pub(crate) number: u32,
}

impl From<TrackId> for SliceLine {
    fn from(track: TrackId) -> Self {
        Self { track, number: 0 }
    }
}

/// A value for each line: those of first lines lie where their tracks do in the table of tracks.
#[derive(Debug)]
pub(crate) struct ByLine<T> {
    firsts: Vec<T>,
    further: HashMap<SliceLine, T, RandomState>,
}

impl<T> Default for ByLine<T> {
    fn default() -> Self {
        Self {
            firsts: Vec::new(),
            further: HashMap::default(),
        }
    }
}

impl<T: Default> ByLine<T> {
    #[inline]
    pub(crate) fn get(&self, line: SliceLine) -> Option<&T> {
        match line.number {
            0 => self.firsts.get(line.track.index()),
            _ => self.further.get(&line),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, line: SliceLine) -> Option<&mut T> {
        match line.number {
            0 => self.firsts.get_mut(line.track.index()),
            _ => self.further.get_mut(&line),
        }
    }

    /// Returns the value of a line, at first its default.
    #[inline]
    pub(crate) fn or_default(&mut self, line: SliceLine) -> &mut T {
        let at = line.track.index();
        if line.number == 0 && at >= self.firsts.len() {
            self.firsts.resize_with(at + 1, T::default);
        }
        match self.firsts.get_mut(at) {
            Some(first) if line.number == 0 => first,
            _ => self.further.entry(line).or_default(),
        }
    }

    /// Takes the value of a line out.
    pub(crate) fn take(&mut self, line: SliceLine) -> T {
        self.get_mut(line).map(std::mem::take).unwrap_or_default()
    }

    /// Iterates over the values, those of lines that never had one included.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SliceLine, &T)> {
        let firsts = (0..).map(TrackId::new).map(SliceLine::from);
        let further = self.further.iter().map(|(&line, value)| (line, value));
        firsts.zip(&self.firsts).chain(further)
    }
}

impl<T> ByLine<Vec<T>> {
    /// Returns the lines that have rows, in their order.
    pub(crate) fn in_use(&self) -> Vec<SliceLine> {
        let lines = self.iter().filter(|(_, rows)| !rows.is_empty());
        let mut lines: Vec<SliceLine> = lines.map(|(line, _)| line).collect();
        lines.sort_unstable();
        lines
    }

    /// Returns the lines with the most rows: as many as have a sixteenth of `most` together, so that looking through all of
    /// them is rare, and one at least.
    pub(crate) fn fullest(&self, most: usize) -> Vec<SliceLine> {
        let lines = self.iter().filter(|(_, rows)| !rows.is_empty());
        let mut lines: Vec<(usize, SliceLine)> =
            lines.map(|(line, rows)| (rows.len(), line)).collect();
        lines.sort_unstable_by_key(|&place| Reverse(place));
        let mut n_rows = 0;
        let enough = lines.into_iter().take_while(|(more, _)| {
            let is_more = n_rows <= most / 16;
            n_rows += more;
            is_more
        });
        enough.map(|(_, line)| line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_lines_have_a_sixteenth_and_are_one_at_least() {
        let mut lines = ByLine::<Vec<u8>>::default();
        let line = |track| SliceLine::from(TrackId::new(track));
        assert_eq!(lines.fullest(160), []);
        for track in 0..100 {
            lines.or_default(line(track)).push(0);
        }
        lines.or_default(line(7)).push(0);
        assert_eq!(lines.fullest(1), [line(7)]);
        let fullest = lines.fullest(160);
        assert_eq!(fullest.len(), 10, "{fullest:?}");
        assert_eq!(fullest.get(..2), Some(&[line(7), line(99)][..]));
    }
}
