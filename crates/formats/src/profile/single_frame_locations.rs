//! Locations of frames that share theirs with no other.

use traceloom_model::{FrameId, Recording};

/// The location of each frame that is not inlined, which nearly all are; one walks through as many of them as the stacks
/// of all samples are deep.
#[derive(Debug, Default)]
pub(crate) struct SingleFrameLocations(Vec<u32>);

impl SingleFrameLocations {
    #[inline]
    pub(crate) fn get(&self, frame: FrameId) -> Option<u64> {
        match self.0.get(frame.index()) {
            Some(&known @ 1..) => Some(u64::from(known)),
            _ => None,
        }
    }

    /// Keeps the location of frames, when they are one that is not inlined.
    pub(crate) fn learn(&mut self, frames: &[FrameId], tables: &Recording, location: u64) {
        let inlined = |frame| tables.frame(frame).is_some_and(|row| row.inlined);
        if let [frame] = *frames
            && !inlined(frame)
        {
            self.set(frame, location);
        }
    }

    /// 0 is no location, and one beyond 32 bits has to be found again each time.
    fn set(&mut self, frame: FrameId, location: u64) {
        if self.0.len() <= frame.index() {
            self.0.resize(frame.index() + 1, 0);
        }
        if let Some(slot) = self.0.get_mut(frame.index()) {
            *slot = u32::try_from(location).unwrap_or(0);
        }
    }
}
