//! Samples with their stacks written out.

use crate::bounds::subslice;
use crate::{FrameId, FunctionId, ProfileId};

/// What runs at a site: a function, or a frame of which nobody knows the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is the id it has")]
pub enum Spot {
    Function(FunctionId),
    Frame(FrameId),
}

/// Samples of one profile, the places of each in a row instead of in the stack table.
///
/// Who only adds up functions has no use for the table of all stacks, which in a profile of a large program
/// has nearly as many rows as its samples have frames, and costs more than everything else.
///
/// A stack is a run of *sites*: places in the program by numbers of the profile, and what runs there is told once, before
/// or with the first sample that has them. A site where calls were inlined has several [`Spot`]s.
#[derive(Clone, Debug, PartialEq)]
pub struct PathBatch {
    /// The profile all rows belong to; the values of its columns add up, each its innermost frame's.
    pub profile: ProfileId,
    told: Vec<u32>,
    told_ends: Vec<usize>,
    spots: Vec<Spot>,
    /// Sites of all samples, the innermost of each first.
    sites: Vec<u32>,
    ends: Vec<usize>,
    width: usize,
    values: Vec<i64>,
}

impl PathBatch {
    /// An empty batch for a profile of `width` value columns.
    #[must_use]
    pub fn new(profile: ProfileId, width: usize) -> Self {
        Self {
            profile,
            told: Vec::new(),
            told_ends: Vec::new(),
            spots: Vec::new(),
            sites: Vec::new(),
            ends: Vec::new(),
            width,
            values: Vec::new(),
        }
    }

    /// Makes room for so many samples and sites of theirs.
    pub fn reserve(&mut self, samples: usize, sites: usize) {
        self.sites.reserve(sites);
        self.ends.reserve(samples);
        self.values.reserve(samples.saturating_mul(self.width));
    }

    /// Tells what runs at a site of the profile, the innermost first; numbers are small, sinks index by them.
    pub fn tell(&mut self, site: u32, spots: impl IntoIterator<Item = Spot>) {
        self.told.push(site);
        self.spots.extend(spots);
        self.told_ends.push(self.spots.len());
    }

    /// Adds a site of the next sample, a callee before its caller.
    #[inline]
    pub fn push_site(&mut self, site: u32) {
        self.sites.push(site);
    }

    /// Adds sites of the next sample, callees before their callers.
    #[inline]
    pub fn extend_sites(&mut self, sites: impl IntoIterator<Item = u32>) {
        self.sites.extend(sites);
    }

    /// Ends a sample; missing values count as 0, surplus ones are left out.
    pub fn push(&mut self, values: &[i64]) {
        self.ends.push(self.sites.len());
        let end = self.values.len() + self.width;
        self.values.extend(values.iter().take(self.width));
        self.values.resize(end, 0);
    }

    pub(crate) fn spots_mut(&mut self) -> &mut [Spot] {
        &mut self.spots
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Iterates over the sites told in this batch, with what runs there, the innermost first.
    pub fn told(&self) -> impl Iterator<Item = (u32, &[Spot])> {
        let runs = runs(&self.told_ends, &self.spots);
        self.told.iter().copied().zip(runs)
    }

    /// Iterates over the sites, the innermost first, and the values of each sample.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &[i64])> {
        let rows = runs(&self.ends, &self.sites).enumerate();
        rows.map(|(row, sites)| {
            let values = row * self.width..(row + 1) * self.width;
            (sites, subslice(&self.values, values))
        })
    }
}

/// Cuts a column where its runs end.
fn runs<'c, T>(ends: &'c [usize], column: &'c [T]) -> impl Iterator<Item = &'c [T]> {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let ranges = begins.zip(ends);
    ranges.map(|(begin, &end)| subslice(column, begin..end))
}
