//! What is known of each object that lives, by its id.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::ObjectId;

/// An object that lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AliveObject {
    pub class: u32,
    /// Collections there had been when it was born.
    pub born: u32,
    pub size: u64,
}

/// Most rows of a block.
const BLOCK: usize = 1024;

/// Rows of a block from which on another may follow it before it is full.
const LEAST: usize = 64;

/// The class of a row whose object is gone.
const GONE: u32 = u32::MAX;

/// An object in a block.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its id, counted from the first one of the block.
    offset: u32,
    class: u32,
    born: u32,
    size: u32,
}

impl Row {
    fn object(&self) -> Option<AliveObject> {
        (self.class != GONE).then_some(AliveObject {
            class: self.class,
            born: self.born,
            size: self.size.into(),
        })
    }
}

/// Objects whose ids ascend.
#[derive(Debug)]
struct Block {
    first: u64,
    rows: Vec<Row>,
}

/// The objects that live.
///
/// Most producers count ids up: such objects take 16 bytes each, in blocks that never move. Objects that end leave a gap, and
/// once there are more gaps than objects the blocks are written again. Objects whose ids come in no order, as addresses do, are
/// in a hash table, as are objects of 4 GB and more.
#[derive(Debug, Default)]
pub(super) struct AliveObjects {
    blocks: Vec<Block>,
    /// Rows of all blocks, and those of them whose objects are gone.
    rows: usize,
    gone: usize,
    others: HashMap<ObjectId, AliveObject, RandomState>,
}

impl AliveObjects {
    pub fn len(&self) -> usize {
        self.rows - self.gone + self.others.len()
    }

    pub fn get(&self, id: ObjectId) -> Option<AliveObject> {
        let row = self.place(id).and_then(|(block, row)| {
            let block = self.blocks.get(block)?;
            block.rows.get(row)?.object()
        });
        row.or_else(|| self.others.get(&id).copied())
    }

    /// Adds an object, whose id stands for none that lives.
    pub fn insert(&mut self, id: ObjectId, object: AliveObject) {
        if !self.append(id, object) {
            self.others.insert(id, object);
        }
    }

    pub fn remove(&mut self, id: ObjectId) -> Option<AliveObject> {
        let row = self.place(id).and_then(|(block, row)| {
            let block = self.blocks.get_mut(block)?;
            block.rows.get_mut(row)
        });
        let Some((row, object)) = row.and_then(|row| row.object().map(|object| (row, object)))
        else {
            return self.others.remove(&id);
        };
        row.class = GONE;
        self.gone += 1;
        if self.gone > BLOCK && self.gone > self.rows / 2 {
            self.close_gaps();
        }
        Some(object)
    }

    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, AliveObject)> {
        let others = self.others.iter().map(|(&id, &object)| (id, object));
        self.blocks.iter().flat_map(Block::objects).chain(others)
    }

    /// Returns the block and the row of an id, which may be one that is gone.
    fn place(&self, ObjectId(id): ObjectId) -> Option<(usize, usize)> {
        // Of most ids that are looked up, the object has just been born, or is not yet.
        let last = self.blocks.last()?;
        let block = match last.first <= id {
            true => self.blocks.len() - 1,
            false => {
                let after = self.blocks.partition_point(|block| block.first <= id);
                after.checked_sub(1)?
            }
        };
        let found = self.blocks.get(block)?;
        let offset = u32::try_from(id - found.first).ok()?;
        if found.rows.last()?.offset < offset {
            return None;
        }
        let row = found.rows.binary_search_by_key(&offset, |row| row.offset);
        Some((block, row.ok()?))
    }

    /// Adds an object to the blocks; returns false if it belongs to the others.
    fn append(&mut self, ObjectId(id): ObjectId, object: AliveObject) -> bool {
        let Ok(size) = u32::try_from(object.size) else {
            return false;
        };
        if object.class == GONE {
            return false;
        }
        let row = Row {
            offset: 0,
            class: object.class,
            born: object.born,
            size,
        };
        let mut room = LEAST;
        if let Some(last) = self.blocks.last_mut() {
            let end = last.rows.last().map_or(0, |row| u64::from(row.offset));
            let offset = id.checked_sub(last.first).filter(|&offset| offset > end);
            let Some(offset) = offset else {
                return false;
            };
            match u32::try_from(offset) {
                Ok(offset) if last.rows.len() < BLOCK => {
                    last.rows.push(Row { offset, ..row });
                    self.rows += 1;
                    return true;
                }
                // Ids far from each other are no reason for a block each.
                _ if last.rows.len() < LEAST => return false,
                _ => {}
            }
            room = last.rows.len();
            last.rows.shrink_to_fit();
        }
        let mut rows = Vec::with_capacity(room);
        rows.push(row);
        self.blocks.push(Block { first: id, rows });
        self.rows += 1;
        true
    }

    /// Writes the blocks again without what is gone.
    #[cold]
    fn close_gaps(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        (self.rows, self.gone) = (0, 0);
        for block in blocks {
            for (id, object) in block.objects() {
                self.insert(id, object);
            }
        }
    }
}

impl Block {
    fn objects(&self) -> impl Iterator<Item = (ObjectId, AliveObject)> {
        self.rows.iter().filter_map(|row| {
            let id = ObjectId(self.first + u64::from(row.offset));
            Some((id, row.object()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(size: u64) -> AliveObject {
        AliveObject {
            class: 3,
            born: 7,
            size,
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_a_hash_table_does(
            steps in prop::collection::vec((0..4_u8, any::<u64>(), 0..70_u32), 0..6000),
        ) {
            let mut alive = AliveObjects::default();
            let mut expected: HashMap<ObjectId, AliveObject> = HashMap::new();
            let mut next = 1_u64;
            for (kind, number, shift) in steps {
                let id = match kind {
                    // Counted up, mostly by one.
                    0 | 1 => {
                        let gap = if shift > 60 { number >> (shift - 30) } else { 1 };
                        next = next.saturating_add(gap);
                        next
                    }
                    _ => number % next,
                };
                let id = ObjectId(id);
                if kind == 3 || expected.contains_key(&id) {
                    prop_assert_eq!(alive.remove(id), expected.remove(&id));
                } else {
                    let object = object(number >> shift.min(63));
                    alive.insert(id, object);
                    expected.insert(id, object);
                }
                prop_assert_eq!(alive.len(), expected.len());
                prop_assert_eq!(alive.get(id), expected.get(&id).copied());
            }
            for (&id, &object) in &expected {
                prop_assert_eq!(alive.get(id), Some(object));
            }
            let all: HashMap<ObjectId, AliveObject> = alive.iter().collect();
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn what_is_gone_takes_no_room() {
        let mut alive = AliveObjects::default();
        for id in 0..1_000_000 {
            alive.insert(ObjectId(id), object(16));
            // One in a hundred lives on.
            if let Some(ended) = id.checked_sub(500).filter(|ended| ended % 100 != 0) {
                assert_eq!(alive.remove(ObjectId(ended)), Some(object(16)));
            }
        }
        let room: usize = alive.blocks.iter().map(|block| block.rows.capacity()).sum();
        assert!(alive.others.is_empty());
        assert!(
            room < 2 * alive.len() + 2 * BLOCK,
            "room for {room} rows holds {}",
            alive.len()
        );
    }
}
