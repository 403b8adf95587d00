//! The dictionary of a profile that is being written: strings, functions, locations, mappings.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Frame, FrameId, FrameKind, FunctionId, MappingId, Recording, StackId, StringId, Unit,
};

use super::put_labels::LabelStrings;
use crate::profile::SingleFrameLocations;
use crate::profile::unit;
use crate::protobuf::{put_bytes, put_number};

/// Writes rows when they are first used and remembers their ids.
#[derive(Default)]
pub(super) struct SymbolWriter {
    /// The tables of the model as far as they are defined; no rows but those of tables.
    pub(super) tables: Recording,
    /// What is written and not yet handed to the output.
    pub(super) bytes: Vec<u8>,
    strings: HashMap<Box<[u8]>, u64, RandomState>,
    /// Location of each group of frames, by the frames, the innermost first.
    locations: HashMap<Box<[FrameId]>, u64, RandomState>,
    plain: SingleFrameLocations,
    n_locations: u64,
    /// How many stacks, from the first on, are known to lead to rows that are all defined.
    n_defined: usize,
    functions: Vec<bool>,
    mapped: Vec<MappingSymbols>,
    pub(super) label_strings: LabelStrings,
}

/// What is known of the symbols of a mapping.
#[derive(Clone, Copy, Default)]
struct MappingSymbols {
    functions: bool,
    files: bool,
    lines: bool,
    inlines: bool,
}

/// Frames that share a location at most.
const GROUP: usize = 1 << 20;

/// Frames of a stack at most: parents that go round in a circle end here.
pub(super) const DEEPEST: usize = 64 << 20;

impl SymbolWriter {
    pub(super) fn new() -> Self {
        let mut symbols = Self::default();
        // Index 0 stands for "nothing" everywhere, so it must be the empty string.
        put_bytes(&mut symbols.bytes, 6, b"");
        symbols
    }

    /// Returns the index of a string; an empty one is nothing.
    pub(super) fn string(&mut self, text: &[u8]) -> u64 {
        if text.is_empty() {
            return 0;
        }
        self.entry(text)
    }

    pub(super) fn entry(&mut self, text: &[u8]) -> u64 {
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = self.strings.len() as u64 + 1;
        self.strings.insert(text.into(), index);
        put_bytes(&mut self.bytes, 6, text);
        index
    }

    pub(super) fn named(&mut self, id: Option<StringId>) -> u64 {
        let text = id.map_or_else(Vec::new, |id| self.text(id));
        self.string(&text)
    }

    pub(super) fn value_type(&mut self, name: &[u8], unit: Unit) -> Vec<u8> {
        let name = self.string(name);
        let unit = match unit::spell(unit) {
            Ok(spelling) => self.string(spelling.as_bytes()),
            Err(text) => self.named(Some(text)),
        };
        let mut body = Vec::new();
        put_number(&mut body, 1, name);
        put_number(&mut body, 2, unit);
        body
    }

    /// Returns the innermost location of a stack and the stack that called it.
    ///
    /// Inlined frames share a location with the frame that holds them, as long as they agree on where
    /// that is.
    pub(super) fn place(&mut self, stack: StackId) -> (u64, Option<StackId>) {
        if let Some(&row) = self.tables.stack(stack)
            && let Some(location) = self.plain.get(row.frame)
        {
            // A stack is younger than its caller; one that is not would go round for ever.
            return (location, row.parent.filter(|&parent| parent != stack));
        }
        let mut group = Vec::new();
        let mut caller = Some(stack);
        let mut address = None;
        while let Some(row) = caller.and_then(|id| self.tables.stack(id)) {
            let frame = self.tables.frame(row.frame);
            let at = frame.map(|frame| (frame.address, frame.mapping));
            if !group.is_empty() && at != address {
                break;
            }
            address = at;
            group.push(row.frame);
            caller = row
                .parent
                .filter(|&parent| parent != stack && group.len() < GROUP);
            if !frame.is_some_and(|frame| frame.inlined) {
                break;
            }
        }
        if group.is_empty() {
            // A stack that nobody defined.
            caller = None;
        }
        (self.location(&group), caller)
    }

    fn location(&mut self, frames: &[FrameId]) -> u64 {
        if let Some(&id) = self.locations.get(frames) {
            return id;
        }
        let id = self.next_location();
        let mut body = Vec::new();
        put_number(&mut body, 1, id);
        let mut lines = Vec::new();
        let n_frames = frames.len();
        for (inner, &frame) in frames.iter().enumerate() {
            let Some(frame) = self.tables.frame(frame).cloned() else {
                continue;
            };
            if inner == 0 {
                let mapping = frame.mapping.map_or(0, |mapping| mapping.raw() + 1);
                put_number(&mut body, 2, u64::from(mapping));
                // Runtimes without addresses put a position in the byte code in their place.
                let native = !matches!(
                    frame.kind,
                    FrameKind::Interpreted
                        | FrameKind::Jit
                        | FrameKind::JitTier1
                        | FrameKind::Inlined
                );
                put_number(&mut body, 3, frame.address.filter(|_| native).unwrap_or(0));
            }
            if frame.function.is_none() && frame.line == 0 && n_frames == 1 {
                continue;
            }
            let function = self.function(frame.function);
            let mut line = Vec::new();
            put_number(&mut line, 1, function);
            put_number(&mut line, 2, u64::from(frame.line));
            put_number(&mut line, 3, u64::from(frame.column));
            put_bytes(&mut lines, 4, &line);
            self.note_symbols(&frame, n_frames > 1);
        }
        body.extend_from_slice(&lines);
        put_bytes(&mut self.bytes, 4, &body);
        self.locations.insert(frames.into(), id);
        self.plain.learn(frames, &self.tables, id);
        id
    }

    fn note_symbols(&mut self, frame: &Frame, inlines: bool) {
        let Some(mapping) = frame.mapping else { return };
        if self.mapped.len() <= mapping.index() {
            self.mapped
                .resize(mapping.index() + 1, MappingSymbols::default());
        }
        let function = frame.function.and_then(|id| self.tables.function(id));
        if let Some(known) = self.mapped.get_mut(mapping.index()) {
            known.functions |= function.is_some();
            known.files |= function.is_some_and(|function| function.file.is_some());
            known.lines |= frame.line != 0;
            known.inlines |= inlines;
        }
    }

    /// Returns the id of a function, written when it is first used; readers refuse a line without one,
    /// so that none is a function without a name.
    fn function(&mut self, id: Option<FunctionId>) -> u64 {
        let number = id.map_or(0, |id| id.index() + 1);
        if self.functions.len() <= number {
            self.functions.resize(number + 1, false);
        }
        let written = self
            .functions
            .get_mut(number)
            .map(|seen| std::mem::replace(seen, true));
        let number = number as u64 + 1;
        if written == Some(false) {
            let row = id.and_then(|id| self.tables.function(id)).cloned();
            let mut body = Vec::new();
            put_number(&mut body, 1, number);
            match (row, id) {
                (Some(row), _) => {
                    let name = self.named(Some(row.name));
                    let system_name = match row.system_name {
                        Some(system_name) => self.named(Some(system_name)),
                        None => name,
                    };
                    let file = self.named(row.file);
                    put_number(&mut body, 2, name);
                    put_number(&mut body, 3, system_name);
                    put_number(&mut body, 4, file);
                    put_number(&mut body, 5, u64::from(row.line));
                }
                (None, Some(id)) => {
                    let name = self.string(format!("#{}", id.raw()).as_bytes());
                    put_number(&mut body, 2, name);
                    put_number(&mut body, 3, name);
                }
                (None, None) => {}
            }
            put_bytes(&mut self.bytes, 5, &body);
        }
        number
    }

    fn next_location(&mut self) -> u64 {
        self.n_locations += 1;
        self.n_locations
    }

    /// Writes the mappings; what is known of their symbols is known at the end.
    pub(super) fn mappings(&mut self) {
        for index in (0..u32::MAX).take(self.tables.mappings.len()) {
            let id = MappingId::new(index);
            let Some(mapping) = self.tables.mapping(id).cloned() else {
                continue;
            };
            let known = self.mapped.get(id.index()).copied().unwrap_or_default();
            let mut body = Vec::new();
            put_number(&mut body, 1, u64::from(id.raw()) + 1);
            put_number(&mut body, 2, mapping.start);
            put_number(&mut body, 3, mapping.limit);
            put_number(&mut body, 4, mapping.offset);
            let file = self.named(mapping.file);
            put_number(&mut body, 5, file);
            let build_id = self.named(mapping.build_id);
            put_number(&mut body, 6, build_id);
            put_number(&mut body, 7, u64::from(known.functions));
            put_number(&mut body, 8, u64::from(known.files));
            put_number(&mut body, 9, u64::from(known.lines));
            put_number(&mut body, 10, u64::from(known.inlines));
            put_bytes(&mut self.bytes, 3, &body);
        }
    }

    /// Returns true if these stacks can be written: every row they lead to is defined.
    pub(super) fn defined(&mut self, stacks: &[Option<StackId>]) -> bool {
        while let Some(Some(row)) = self.tables.stacks.get(self.n_defined) {
            let caller = row.parent.is_none_or(|id| id.index() < self.n_defined);
            if !caller || !self.frame_defined(row.frame) {
                break;
            }
            self.n_defined += 1;
        }
        stacks.iter().flatten().all(|&stack| {
            let mut next = Some(stack);
            let mut steps = 0_usize;
            while let Some(id) = next.filter(|id| id.index() >= self.n_defined) {
                steps += 1;
                let Some(row) = self.tables.stack(id).filter(|_| steps <= DEEPEST) else {
                    return false;
                };
                if !self.frame_defined(row.frame) {
                    return false;
                }
                next = row.parent;
            }
            true
        })
    }

    fn frame_defined(&self, id: FrameId) -> bool {
        if self.plain.get(id).is_some() {
            return true;
        }
        let function = self.tables.frame(id).map(|frame| frame.function);
        function.is_some_and(|function| {
            let row = function.map(|id| self.tables.function(id));
            row.is_none_or(|row| row.is_some_and(|row| self.tables.string(row.name).is_some()))
        })
    }

    /// Returns the bytes of a string of the model, `#id` when it was never defined.
    pub(super) fn text(&self, id: StringId) -> Vec<u8> {
        match self.tables.string(id) {
            Some(text) => text.as_bytes().to_vec(),
            None => format!("#{}", id.raw()).into_bytes(),
        }
    }
}
