//! Heap objects, what refers to what, and roots.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{Attribute, EventRow, Flow, ObjectId, ObjectRow, Stack, Value};

use super::Lowering;
use super::names::DefinitionIds;
use crate::tptp::call::{either, key};
use crate::tptp::message::Message;

/// How often the ids of objects were given out. Agents count them up: 64 of those take sixteen bytes.
#[derive(Debug, Default)]
struct Generations {
    /// What an id is without its last six bits, and which ids those are, ascending.
    ascending: Vec<(u64, u64)>,
    /// The last of them.
    last: Option<u64>,
    count: usize,
    /// The generation of ids that came in no order, or again.
    others: HashMap<u64, u32, RandomState>,
}

impl Generations {
    fn len(&self) -> usize {
        self.count + self.others.len()
    }

    /// Returns the generation that an id is in.
    fn of(&self, id: u64) -> Option<u32> {
        if let Some(&known) = self.others.get(&id) {
            return Some(known);
        }
        if self.is_next(id) {
            return None;
        }
        let (all, bit) = word(id);
        let found = self.ascending.binary_search_by_key(&all, |&(all, _)| all);
        let &(_, bits) = self.ascending.get(found.ok()?)?;
        (bits & bit != 0).then_some(0)
    }

    /// Returns true if an id is above all those that were counted up.
    fn is_next(&self, id: u64) -> bool {
        self.last.is_none_or(|last| last < id)
    }

    fn set(&mut self, id: u64, generation: u32) {
        if generation > 0 || !self.is_next(id) {
            self.others.insert(id, generation);
            return;
        }
        let (all, bit) = word(id);
        match self.ascending.last_mut() {
            Some((last, bits)) if *last == all => *bits |= bit,
            _ => self.ascending.push((all, bit)),
        }
        self.last = Some(id);
        self.count += 1;
    }
}

/// Returns an id without its last six bits, and the bit that those stand for.
const fn word(id: u64) -> (u64, u64) {
    (id >> 6, 1 << (id & 63))
}

/// Objects by how often their ids were given out, dumps by id, root kinds by name.
#[derive(Debug, Default)]
pub(super) struct Heap {
    objects: Generations,
    dumps: HashMap<u64, u32, RandomState>,
    n_dumps: u32,
    root_kinds: HashMap<String, u32>,
    crowded: bool,
}

impl Heap {
    pub fn dump(&mut self, message: &Message<'_>) {
        self.dumps
            .insert(message.number("heapDumpId"), self.n_dumps);
        self.n_dumps += 1;
    }

    /// Roots name no dump: they belong to the last one (SPEC.md §2.8).
    fn last_dump(&self) -> u32 {
        self.n_dumps.saturating_sub(1)
    }
}

impl Lowering<'_> {
    pub(super) fn alloc(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        // The one layout of it is the table's.
        let at = |place| message.number_at(place);
        let id = either(at(5), at(4));
        let time = self.now(at(2), offset);
        let thread = self.track_by_key(key(at(1), at(0)));
        let class = either(at(10), at(9));
        let (method, line) = (at(8), at(7));
        let site = (method != 0).then(|| {
            let function = self.names.method_of(&mut self.tables, method, 0);
            let frame = DefinitionIds::frame(&mut self.tables, function, line);
            self.tables.stack(Stack {
                parent: None,
                frame,
                truncated: false,
            })
        });
        let known = self.heap.objects.of(id);
        let generation = known.map_or(0, |known| known.saturating_add(1));
        if known.is_some() || self.heap.objects.len() < self.limit_table {
            self.heap.objects.set(id, generation);
        } else if !std::mem::replace(&mut self.heap.crowded, true) {
            self.limit(
                "limit_table",
                offset,
                "too many objects: ids given out again are taken for the same",
            )?;
        }
        let class = self.names.class_of(&mut self.tables, class);
        self.batches.objects.rows.push(ObjectRow {
            id: ObjectId(id),
            generation,
            class,
            size: at(6),
            is_array: at(3) != 0,
            time: Some(time),
            site,
            thread,
        });
        Flow::Continue(())
    }

    pub(super) fn root(&mut self, message: &Message<'_>) {
        let id = message.number("objIdRef");
        let kind = message.text("type").into_owned();
        let next = row_number(self.heap.root_kinds.len());
        let known = self.heap.root_kinds.get(&kind).copied();
        let number = known.unwrap_or(next);
        if known.is_none() && self.heap.root_kinds.len() < self.limit_table {
            self.name_root_kind(&kind, number);
            self.heap.root_kinds.insert(kind, number);
        }
        let class = message.number("classIdRef");
        if class != 0 && self.heap.objects.of(id).is_none() {
            let class = self.names.class_of(&mut self.tables, class);
            self.heap.objects.set(id, 0);
            self.batches.objects.rows.push(ObjectRow {
                id: ObjectId(id),
                generation: 0,
                class,
                size: 0,
                is_array: false,
                time: None,
                site: None,
                thread: None,
            });
        }
        let roots = &mut self.batches.roots;
        roots.dump.push(self.heap.last_dump());
        roots.object.push(ObjectId(id));
        roots.kind.push(number);
    }

    /// Roots carry numbers for their kinds; the names go into an event each.
    fn name_root_kind(&mut self, name: &str, number: u32) {
        let event_type = self.event_type("root_kind");
        let keys = ["number", "name"].map(|key| self.tables.attribute_named(key));
        let name = self.tables.string(name);
        let attributes = [
            Attribute::new(keys[0], Value::U64(number.into())),
            Attribute::new(keys[1], Value::Text(name)),
        ];
        let time = self.now(0, 0);
        self.batches.events.push(&EventRow {
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    pub(super) fn edge(&mut self, message: &Message<'_>) {
        let dump = self
            .heap
            .dumps
            .get(&message.number("heapDumpIdRef"))
            .copied();
        let dump = dump.unwrap_or_else(|| self.heap.last_dump());
        let edges = &mut self.batches.edges;
        edges.dump.push(dump);
        edges.from.push(ObjectId(message.number("srcIdRef")));
        edges.to.push(ObjectId(message.number("targetIdRef")));
    }
}
