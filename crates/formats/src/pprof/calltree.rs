//! Which stack a path of locations is.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::StackId;

/// Paths of locations, and the stack that each ends in.
///
/// Every location of every sample is looked up here, and in the profile of a large program nearly every
/// path is new. A table with an entry for each would miss the cache each time. So what a sample adds is
/// kept in one run, outermost location first, and a path is followed by comparing neighbours; only where
/// a path leaves a run is there an entry that leads to another one. There are fewer runs than samples.
#[derive(Debug, Default)]
pub(super) struct LocationTree {
    /// The locations of all runs, [`END`] between them.
    locations: Vec<u32>,
    stacks: Vec<Option<StackId>>,
    branches: HashMap<(Place, u32), u32, RandomState>,
}

/// A position in the runs, none before the outermost location.
pub(super) type Place = Option<u32>;

/// Ends a run; no row of a table has this number.
const END: u32 = u32::MAX;

impl LocationTree {
    /// Returns how many stacks are known.
    pub(super) fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Returns the stack at a place.
    pub(super) fn stack(&self, place: Place) -> Option<StackId> {
        *self.stacks.get(place? as usize)?
    }

    /// Goes on from a place to a location, where a path did so before.
    #[inline]
    pub(super) fn follow(&self, place: Place, location: u32) -> Place {
        if let Some(at) = place
            && self.locations.get(at as usize + 1) == Some(&location)
        {
            return Some(at + 1);
        }
        self.branches.get(&(place, location)).copied()
    }

    /// Begins the run that leaves `place` for `location`, before they are added.
    pub(super) fn branch(&mut self, place: Place, location: u32) {
        self.add(END, None);
        let start = u32::try_from(self.locations.len()).unwrap_or(END);
        self.branches.insert((place, location), start);
    }

    /// Adds the next location of the last run and its stack.
    #[inline]
    pub(super) fn add(&mut self, location: u32, stack: Option<StackId>) {
        self.locations.push(location);
        self.stacks.push(stack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_have_one_stack() {
        let mut tree = LocationTree::default();
        let mut made = 0;
        let mut walk = |tree: &mut LocationTree, path: &[u32]| {
            let mut place = None;
            let mut rest = path.iter();
            while let Some(&location) = rest.next() {
                if let Some(next) = tree.follow(place, location) {
                    place = Some(next);
                    continue;
                }
                tree.branch(place, location);
                for &location in std::iter::once(&location).chain(rest) {
                    tree.add(location, Some(StackId::new(made)));
                    made += 1;
                }
                return (tree.stacks.last().copied().flatten(), made);
            }
            (tree.stack(place), made)
        };
        let id = |index| Some(StackId::new(index));
        assert_eq!(walk(&mut tree, &[1, 2, 3]), (id(2), 3));
        assert_eq!(walk(&mut tree, &[1, 2, 3]), (id(2), 3));
        assert_eq!(walk(&mut tree, &[1, 2]), (id(1), 3));
        assert_eq!(walk(&mut tree, &[1, 2, 3, 4]), (id(3), 4));
        assert_eq!(walk(&mut tree, &[1, 5, 3]), (id(5), 6));
        assert_eq!(walk(&mut tree, &[1, 5, 3, 3]), (id(6), 7));
        assert_eq!(walk(&mut tree, &[2, 3]), (id(8), 9));
        for path in [
            &[1, 2, 3, 4][..],
            &[1, 5, 3],
            &[1, 5, 3, 3],
            &[2],
            &[2, 3],
            &[],
        ] {
            assert_eq!(walk(&mut tree, path).1, 9, "{path:?}");
        }
    }
}
