//! Checkpoint events: the constant pools that events refer to.

use std::collections::HashMap;
use std::ops::Range;

use super::scan::{Bad, Scan};
use super::value::{DecodingRules, SkippedValues, ValueVisitor};

/// The entries of one type that one checkpoint brings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PoolSegment {
    /// Index of the type.
    pub(super) type_index: usize,
    pub(super) count: u64,
    /// Its entries, as positions in the checkpoint's body.
    pub(super) entries: Range<usize>,
}

/// A piece of a checkpoint's body, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CheckpointPiece {
    Pool(PoolSegment),
    /// Bytes that are no pool: one bad byte costs the pool it is in.
    Hole(Range<usize>, Bad),
}

/// A checkpoint (SPEC.md §5.3).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) start: u64,
    pub(super) duration: u64,
    /// Distance to the checkpoint before it, negative; 0 for none.
    pub(super) delta: u64,
    pub(super) mask: u8,
    pub(super) pools: u64,
    pub(super) pieces: Vec<CheckpointPiece>,
}

impl Checkpoint {
    /// Reads a checkpoint's body, whatever state its pools are in.
    ///
    /// `work` is what may still be spent on finding pools behind damage, in bytes.
    pub(super) fn read(
        rules: &DecodingRules<'_>,
        scan: &mut Scan<'_>,
        work: &mut usize,
    ) -> Result<Self, Bad> {
        let mut checkpoint = Self {
            start: scan.long()?,
            duration: scan.long()?,
            delta: scan.long()?,
            mask: scan.u8()?,
            pools: scan.int()?,
            pieces: Vec::new(),
        };
        let mut left = checkpoint.pools;
        while left > 0 {
            let from = scan.at();
            match segment(rules, scan, &mut SkippedValues) {
                Ok(pool) => {
                    left -= 1;
                    checkpoint.pieces.push(CheckpointPiece::Pool(pool));
                }
                Err(bad) => {
                    let stuck = scan.at();
                    let found = resume(rules, *scan, from + 1, left - 1, work);
                    let (to, lost) = found.unwrap_or((stuck + scan.left(), left));
                    scan.seek(to);
                    left -= lost;
                    checkpoint.pieces.push(CheckpointPiece::Hole(from..to, bad));
                }
            }
        }
        if scan.left() > 0 {
            let from = scan.at();
            scan.seek(from + scan.left());
            checkpoint
                .pieces
                .push(CheckpointPiece::Hole(from..scan.at(), Bad::Extra));
        }
        Ok(checkpoint)
    }

    /// Iterates over the damage in it.
    pub(super) fn damage(&self) -> impl Iterator<Item = (&Range<usize>, Bad)> {
        self.pieces.iter().filter_map(|piece| match piece {
            CheckpointPiece::Hole(range, bad) => Some((range, *bad)),
            CheckpointPiece::Pool(_) => None,
        })
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = &PoolSegment> {
        self.pieces.iter().filter_map(|piece| match piece {
            CheckpointPiece::Pool(pool) => Some(pool),
            CheckpointPiece::Hole(..) => None,
        })
    }
}

/// Passes one pool on: its type, its count, and each entry's key and value.
pub(super) fn segment<E: ValueVisitor>(
    rules: &DecodingRules<'_>,
    scan: &mut Scan<'_>,
    emit: &mut E,
) -> Result<PoolSegment, Bad> {
    let id = emit.long(scan)?;
    let type_index = rules.schema.index(id).ok_or(Bad::Undefined)?;
    let count = emit.int(scan)?;
    if count > scan.left() as u64 {
        return Err(Bad::Short);
    }
    let from = scan.at();
    for _ in 0..count {
        emit.long(scan)?;
        entry(rules, scan, type_index, emit)?;
    }
    Ok(PoolSegment {
        type_index,
        count,
        entries: from..scan.at(),
    })
}

/// Passes the value of a constant on. Strings of the pool are written as strings, not as structures.
fn entry<E: ValueVisitor>(
    rules: &DecodingRules<'_>,
    scan: &mut Scan<'_>,
    type_index: usize,
    emit: &mut E,
) -> Result<(), Bad> {
    if rules.schema.string == Some(type_index) {
        return emit.string(scan, rules.longest).map(drop);
    }
    if E::SKIPS {
        return rules.skip(scan, type_index);
    }
    rules.pass(scan, type_index, emit)
}

/// Finds the pools behind damage: a place from which whole pools reach exactly to the end of the
/// checkpoint, as many as are missing after the damaged one or fewer.
///
/// Returns the place and how many pools were lost.
fn resume(
    rules: &DecodingRules<'_>,
    scan: Scan<'_>,
    from: usize,
    missing: u64,
    work: &mut usize,
) -> Option<(usize, u64)> {
    let end = scan.at() + scan.left();
    for at in from..end {
        let mut trial = scan;
        trial.seek(at);
        let mut pools = 0;
        while trial.left() > 0 && pools < missing {
            if segment(rules, &mut trial, &mut SkippedValues).is_err() {
                break;
            }
            pools += 1;
        }
        let spent = (trial.at() - at).max(1);
        *work = work.checked_sub(spent)?;
        if trial.left() == 0 && pools > 0 {
            return Some((at, missing + 1 - pools));
        }
    }
    None
}

/// Where each constant of a chunk stands.
#[derive(Debug, Default)]
pub(super) struct Pools {
    by_type: Vec<HashMap<u64, usize, foldhash::fast::RandomState>>,
    entries: u64,
}

impl Pools {
    /// Adds the constants of a checkpoint whose body begins at `base` of the chunk, of the types that `wanted`
    /// is true for; the last definition of a key is the one that counts. Returns false when the table is full.
    pub(super) fn add(
        &mut self,
        rules: &DecodingRules<'_>,
        body: Scan<'_>,
        base: usize,
        checkpoint: &Checkpoint,
        most: u64,
        wanted: &dyn Fn(usize) -> bool,
    ) -> bool {
        checkpoint
            .pools()
            .filter(|pool| wanted(pool.type_index))
            .all(|pool| {
                let mut scan = body;
                scan.seek(pool.entries.start);
                self.add_pool(rules, scan, base, pool, most)
            })
    }

    /// Adds constants as [`Self::add`] does, from copies of their bytes at the end of `kept`.
    pub(super) fn keep(
        &mut self,
        rules: &DecodingRules<'_>,
        body: Scan<'_>,
        checkpoint: &Checkpoint,
        most: u64,
        wanted: &dyn Fn(usize) -> bool,
        kept: &mut Vec<u8>,
    ) -> bool {
        checkpoint
            .pools()
            .filter(|pool| wanted(pool.type_index))
            .all(|pool| {
                let bytes = body.between(pool.entries.start, pool.entries.end);
                let base = kept.len();
                kept.extend_from_slice(bytes);
                let scan = Scan::new(bytes, body.compressed);
                self.add_pool(rules, scan, base, pool, most)
            })
    }

    /// Adds the entries of a pool, which `scan` is at; its beginning is at `base`.
    fn add_pool(
        &mut self,
        rules: &DecodingRules<'_>,
        mut scan: Scan<'_>,
        base: usize,
        pool: &PoolSegment,
        most: u64,
    ) -> bool {
        if self.by_type.len() <= pool.type_index {
            self.by_type
                .resize_with(pool.type_index + 1, HashMap::default);
        }
        let Some(map) = self.by_type.get_mut(pool.type_index) else {
            return true;
        };
        for _ in 0..pool.count {
            let Ok(key) = scan.long() else { break };
            if self.entries >= most {
                return false;
            }
            self.entries += 1;
            map.insert(key, base + scan.at());
            if entry(rules, &mut scan, pool.type_index, &mut SkippedValues).is_err() {
                break;
            }
        }
        true
    }

    /// Returns where in the chunk the constant's value begins.
    pub(super) fn find(&self, type_index: usize, key: u64) -> Option<usize> {
        self.by_type.get(type_index)?.get(&key).copied()
    }
}
