//! The constant pools of a chunk, from its checkpoints wherever they stand.

use traceloom_model::{Limit, Limits};

use super::super::header::Header;
use super::super::pool::{Checkpoint, Pools};
use super::super::schema::Schema;
use super::super::value::Skip;
use super::super::walk::{Head, Outline, PATIENCE, Stretch, Walk, head};

/// The types of a chunk: those known, and what stands in for none.
#[derive(Clone, Copy)]
pub(super) struct Types<'c> {
    pub(super) known: Option<&'c Schema>,
    pub(super) schema: &'c Schema,
}

/// The constants of a chunk.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) pools: Pools,
    /// There were more than the limit on tables allows.
    pub(super) full: bool,
}

impl Gathered {
    /// Collects the constants of every checkpoint of the chunk.
    pub(super) fn of(
        chunk: &[u8],
        header: &Header,
        outline: &Outline,
        types: Types<'_>,
        limits: &Limits,
    ) -> Self {
        let mut walk = Walk::new(chunk, header, types.known, types.schema, limits);
        let mut gathered = Self::default();
        let most = limits.of(Limit::Table);
        let rules = walk.rules();
        let mut add = |walk: &Walk<'_, '_>, head: &Head, checkpoint: &Checkpoint| {
            let body = walk.body(head);
            gathered.full |= !gathered
                .pools
                .add(&rules, body, head.body, checkpoint, most);
        };
        if outline.reached == chunk.len() {
            for &at in &outline.checkpoints {
                let Some(head) = head(chunk, at, header.compressed()) else {
                    continue;
                };
                let mut work = PATIENCE * (head.end - head.at);
                if let Ok(found) = Checkpoint::read(&rules, &mut walk.body(&head), &mut work) {
                    add(&walk, &head, &found);
                }
            }
        } else {
            // Sizes cannot be trusted: the walk that recovers finds the checkpoints behind damage.
            while let Some(stretch) = walk.next(&mut Skip) {
                if let Stretch::Checkpoint(head, found) = stretch {
                    add(&walk, &head, &found);
                }
            }
        }
        gathered
    }
}
