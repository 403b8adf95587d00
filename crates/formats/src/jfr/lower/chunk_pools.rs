//! The constant pools of a chunk, from its checkpoints, in any place of it.

use traceloom_model::{Limit, Limits};

use super::super::event_head::{EventHead, head};
use super::super::header::Header;
use super::super::pool::{Checkpoint, Pools};
use super::super::schema::TypeSchemas;
use super::super::value::SkippedValues;
use super::super::walk::{ChunkStretch, EventWalk, Outline, PATIENCE};

/// The types of a chunk: those known, and what stands in for none.
#[derive(Clone, Copy)]
pub(super) struct Types<'c> {
    pub(super) known: Option<&'c TypeSchemas>,
    pub(super) schema: &'c TypeSchemas,
}

/// The constant pools of one chunk.
#[derive(Default)]
pub(super) struct ChunkPools {
    pub(super) pools: Pools,
    /// There were more than the limit on tables allows.
    pub(super) full: bool,
    /// Where checkpoints begin in which nothing is damaged, in order.
    pub(super) sound: Vec<usize>,
}

impl ChunkPools {
    /// Collects the constants of every checkpoint of the chunk, of the types that `wanted` is true for.
    pub(super) fn of(
        chunk: &[u8],
        header: &Header,
        outline: &Outline,
        types: Types<'_>,
        limits: &Limits,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Self {
        let mut walk = EventWalk::new(chunk, header, types.known, types.schema, limits);
        let mut chunk_pools = Self::default();
        let most = limits.of(Limit::Table);
        let rules = walk.rules();
        let mut add = |walk: &EventWalk<'_, '_>, head: &EventHead, checkpoint: &Checkpoint| {
            let body = walk.body(head);
            chunk_pools.full |= !chunk_pools
                .pools
                .add(&rules, body, head.body, checkpoint, most, wanted);
        };
        let mut sound = Vec::new();
        if outline.reached == chunk.len() {
            for &at in &outline.checkpoints {
                let Some(head) = head(chunk, at, header.compressed()) else {
                    continue;
                };
                let mut work = PATIENCE * (head.end - head.at);
                let found = Checkpoint::read(&rules, &mut walk.body(&head), &mut work);
                if let Ok(found) = found {
                    add(&walk, &head, &found);
                    sound.extend(found.damage().next().is_none().then_some(at));
                }
            }
        } else {
            // Sizes cannot be trusted: the walk that recovers finds the checkpoints behind damage.
            while let Some(stretch) = walk.next(&mut SkippedValues) {
                if let ChunkStretch::Checkpoint(head, found) = stretch {
                    add(&walk, &head, &found);
                }
            }
        }
        Self {
            sound,
            ..chunk_pools
        }
    }
}
