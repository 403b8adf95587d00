//! The dictionary of a message that is being written: a row is written when it is first used.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, FrameId, FrameKind, FunctionId, MappingId, Recording, StackId, StringId, Unit, Value,
};

use super::code::{FRAME_TYPE, FRAME_TYPES};
use super::value::{put_value, unit_text};
use crate::profile::SingleFrameLocations;
use crate::protobuf::{put_bytes, put_number, put_packed};

/// Frames of a stack at most: parents that go round in a circle end here.
const DEEPEST: usize = 1 << 20;

/// Rows written so far and where they are. Position 0 of every table stands for none.
#[derive(Debug)]
pub(super) struct DictionaryWriter {
    pub(super) tables: Recording,
    /// The fields of the dictionary.
    pub(super) bytes: Vec<u8>,
    strings: HashMap<Box<[u8]>, u64, RandomState>,
    attributes: HashMap<Box<[u8]>, u64, RandomState>,
    locations: HashMap<Box<[FrameId]>, u64, RandomState>,
    plain: SingleFrameLocations,
    functions: HashMap<FunctionId, u64, RandomState>,
    mappings: HashMap<MappingId, u64, RandomState>,
    links: HashMap<(u128, u64), u64, RandomState>,
    stacks: HashMap<StackId, u64, RandomState>,
    /// Stacks by what is written of them.
    paths: HashMap<Box<[u8]>, u64, RandomState>,
    /// The locations of one stack after the other.
    path: Vec<u64>,
    n_locations: u64,
    n_stacks: u64,
}

impl DictionaryWriter {
    pub(super) fn new() -> Self {
        let mut bytes = Vec::new();
        for table in 1..=7 {
            put_bytes(&mut bytes, table, &[]);
        }
        Self {
            tables: Recording::default(),
            bytes,
            strings: HashMap::default(),
            attributes: HashMap::default(),
            locations: HashMap::default(),
            plain: SingleFrameLocations::default(),
            functions: HashMap::default(),
            mappings: HashMap::default(),
            links: HashMap::default(),
            stacks: HashMap::default(),
            paths: HashMap::default(),
            path: Vec::new(),
            n_locations: 0,
            n_stacks: 0,
        }
    }

    /// Returns the position of a text; an empty one is none.
    pub(super) fn string(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&known) = self.strings.get(text.as_bytes()) {
            return known;
        }
        let index = self.strings.len() as u64 + 1;
        self.strings.insert(text.as_bytes().into(), index);
        put_bytes(&mut self.bytes, 5, text.as_bytes());
        index
    }

    fn named(&mut self, id: Option<StringId>) -> u64 {
        let text = id.map_or_else(String::new, |id| self.tables.text(id).into_owned());
        self.string(&text)
    }

    /// Encodes a `ValueType`.
    pub(super) fn value_type(&mut self, name: &str, unit: Unit) -> Vec<u8> {
        let name = self.string(name);
        let spelling = unit_text(unit, &self.tables);
        let unit = self.string(&spelling);
        let mut body = Vec::new();
        put_number(&mut body, 1, name);
        put_number(&mut body, 2, unit);
        body
    }

    /// Returns the position of an attribute.
    pub(super) fn attribute(&mut self, name: &str, value: &Value, unit: Unit) -> u64 {
        let key = self.string(name);
        let unit = match unit {
            Unit::Count => 0,
            other => {
                let text = unit_text(other, &self.tables);
                self.string(&text)
            }
        };
        let mut any = Vec::new();
        put_value(&mut any, value, &self.tables);
        let mut body = Vec::new();
        put_number(&mut body, 1, key);
        put_bytes(&mut body, 2, &any);
        put_number(&mut body, 3, unit);
        if let Some(&known) = self.attributes.get(body.as_slice()) {
            return known;
        }
        let index = self.attributes.len() as u64 + 1;
        put_bytes(&mut self.bytes, 6, &body);
        self.attributes.insert(body.into(), index);
        index
    }

    /// Returns the position of an attribute of the model.
    pub(super) fn label(&mut self, label: &Attribute) -> u64 {
        let key = self.tables.attribute_key(label.key).copied();
        let name = key.map_or_else(
            || format!("#{}", label.key.raw()),
            |key| self.tables.text(key.name).into_owned(),
        );
        let unit = key.map_or(Unit::Count, |key| key.unit);
        self.attribute(&name, &label.value, unit)
    }

    /// Returns the position of a link.
    pub(super) fn link(&mut self, trace: u128, span: u64) -> u64 {
        let next = self.links.len() as u64 + 1;
        let bytes = &mut self.bytes;
        *self.links.entry((trace, span)).or_insert_with(|| {
            let mut body = Vec::new();
            put_bytes(&mut body, 1, &trace.to_be_bytes());
            put_bytes(&mut body, 2, &span.to_be_bytes());
            put_bytes(bytes, 4, &body);
            next
        })
    }

    /// Returns the position of a stack.
    pub(super) fn stack(&mut self, stack: StackId) -> u64 {
        if let Some(&known) = self.stacks.get(&stack) {
            return known;
        }
        self.path.clear();
        let mut group: Vec<FrameId> = Vec::new();
        let mut next = Some(stack);
        let mut seen = 0;
        while let Some(row) = next.and_then(|id| self.tables.stack(id)).copied() {
            seen += 1;
            next = row.parent.filter(|_| seen < DEEPEST);
            if group.is_empty()
                && let Some(location) = self.plain.get(row.frame)
            {
                self.path.push(location);
                continue;
            }
            group.push(row.frame);
            let frame = self.tables.frame(row.frame);
            let caller = next
                .and_then(|id| self.tables.stack(id))
                .and_then(|row| self.tables.frame(row.frame));
            // Inlined frames share a location with the one that holds them, where they agree on it.
            let inline = frame.zip(caller).is_some_and(|(frame, caller)| {
                frame.inlined && (frame.address, frame.mapping) == (caller.address, caller.mapping)
            });
            if !inline {
                let location = self.location(&group);
                self.path.push(location);
                group.clear();
            }
        }
        let index = self.path();
        self.stacks.insert(stack, index);
        index
    }

    /// Returns the position of the stack of these locations.
    fn path(&mut self) -> u64 {
        let mut body = Vec::new();
        put_packed(&mut body, 1, self.path.iter().copied());
        if let Some(&known) = self.paths.get(body.as_slice()) {
            return known;
        }
        self.n_stacks += 1;
        put_bytes(&mut self.bytes, 7, &body);
        self.paths.insert(body.into(), self.n_stacks);
        self.n_stacks
    }

    fn location(&mut self, frames: &[FrameId]) -> u64 {
        if let Some(&known) = self.locations.get(frames) {
            return known;
        }
        let mut body = Vec::new();
        let mut lines = Vec::new();
        for (inner, &id) in frames.iter().enumerate() {
            let Some(frame) = self.tables.frame(id).cloned() else {
                continue;
            };
            if inner == 0 {
                let mapping = frame.mapping.map_or(0, |mapping| self.mapping(mapping));
                put_number(&mut body, 1, mapping);
                // Runtimes without addresses put a position in the byte code in their place.
                let native = !matches!(
                    frame.kind,
                    FrameKind::Interpreted
                        | FrameKind::Jit
                        | FrameKind::JitTier1
                        | FrameKind::Inlined
                );
                let address = frame.address.filter(|_| native);
                put_number(&mut body, 2, address.unwrap_or(0));
            }
            if frame.function.is_none() && frame.line == 0 && frames.len() == 1 {
                continue;
            }
            let mut line = Vec::new();
            let function = match frame.function {
                Some(function) => self.function(Some(function)),
                None => 0,
            };
            put_number(&mut line, 1, function);
            put_number(&mut line, 2, u64::from(frame.line));
            put_number(&mut line, 3, u64::from(frame.column));
            put_bytes(&mut lines, 3, &line);
        }
        body.extend_from_slice(&lines);
        let first = frames.first().and_then(|&id| self.tables.frame(id));
        let kind = first.map_or_else(Default::default, |frame| frame.kind);
        if let Some((word, _)) = FRAME_TYPES.iter().find(|(_, known)| *known == kind) {
            let index = self.frame_type(word);
            put_packed(&mut body, 4, std::iter::once(index));
        }
        put_bytes(&mut self.bytes, 2, &body);
        self.n_locations += 1;
        self.locations.insert(frames.into(), self.n_locations);
        self.plain.learn(frames, &self.tables, self.n_locations);
        self.n_locations
    }

    fn frame_type(&mut self, word: &str) -> u64 {
        let key = self.string(&String::from_utf8_lossy(FRAME_TYPE));
        self.text_attribute(key, word)
    }

    fn text_attribute(&mut self, key: u64, text: &str) -> u64 {
        let mut any = Vec::new();
        put_bytes(&mut any, 1, text.as_bytes());
        let mut body = Vec::new();
        put_number(&mut body, 1, key);
        put_bytes(&mut body, 2, &any);
        if let Some(&known) = self.attributes.get(body.as_slice()) {
            return known;
        }
        let index = self.attributes.len() as u64 + 1;
        put_bytes(&mut self.bytes, 6, &body);
        self.attributes.insert(body.into(), index);
        index
    }

    fn function(&mut self, id: Option<FunctionId>) -> u64 {
        let Some(id) = id else { return 0 };
        if let Some(&known) = self.functions.get(&id) {
            return known;
        }
        let row = self.tables.function(id).cloned();
        let mut body = Vec::new();
        match row {
            Some(row) => {
                let name = self.named(Some(row.name));
                let system_name = self.named(row.system_name);
                let file = self.named(row.file);
                put_number(&mut body, 1, name);
                put_number(&mut body, 2, system_name);
                put_number(&mut body, 3, file);
                put_number(&mut body, 4, u64::from(row.line));
            }
            None => {
                let name = self.string(&format!("#{}", id.raw()));
                put_number(&mut body, 1, name);
            }
        }
        put_bytes(&mut self.bytes, 3, &body);
        let index = self.functions.len() as u64 + 1;
        self.functions.insert(id, index);
        index
    }

    fn mapping(&mut self, id: MappingId) -> u64 {
        if let Some(&known) = self.mappings.get(&id) {
            return known;
        }
        let row = self.tables.mapping(id).cloned().unwrap_or_default();
        let file = self.named(row.file);
        let mut body = Vec::new();
        put_number(&mut body, 1, row.start);
        put_number(&mut body, 2, row.limit);
        put_number(&mut body, 3, row.offset);
        put_number(&mut body, 4, file);
        if let Some(build_id) = row.build_id {
            let key = self.string("process.executable.build_id.gnu");
            let text = self.tables.text(build_id).into_owned();
            let index = self.text_attribute(key, &text);
            put_packed(&mut body, 5, std::iter::once(index));
        }
        put_bytes(&mut self.bytes, 1, &body);
        let index = self.mappings.len() as u64 + 1;
        self.mappings.insert(id, index);
        index
    }
}
