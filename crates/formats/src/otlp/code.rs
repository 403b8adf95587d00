//! Stacks of a dictionary to stacks of the model.

use traceloom_model::bounds::{in_memory, saturated_u32, subslice};
use traceloom_model::{
    Frame, FrameId, FrameKind, Function, FunctionId, Level, Mapping, MappingId, Stack, StackId,
    Tables,
};

use super::dictionary::ProfilesDictionary;
use crate::codec::CountedNotes;

/// What was lowered of a dictionary, by position.
#[derive(Debug, Default)]
pub(super) struct Code {
    stacks: Vec<Option<Option<StackId>>>,
    locations: Vec<Option<Box<[FrameId]>>>,
    functions: Vec<Option<FunctionId>>,
    mappings: Vec<Option<MappingId>>,
}

/// Attributes of a mapping that name its build.
const BUILD: [&[u8]; 3] = [
    b"process.executable.build_id.gnu",
    b"process.executable.build_id.go",
    b"process.executable.build_id.htlhash",
];

fn narrow(value: u64) -> u32 {
    match value.cast_signed().is_negative() {
        true => 0,
        false => saturated_u32(value),
    }
}

impl Code {
    pub(super) fn new(
        dictionary: &ProfilesDictionary,
        tables: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Self {
        let mut code = Self {
            stacks: vec![None; dictionary.stacks.len()],
            locations: vec![None; dictionary.locations.len()],
            functions: vec![None; dictionary.functions.len()],
            mappings: vec![None; dictionary.mappings.len()],
        };
        let invalid = dictionary.strings.invalid();
        if invalid > 0 {
            tally.add_many(Level::Warn, "invalid_text", 0, invalid, || {
                "strings are not valid UTF-8, their bytes are kept".to_owned()
            });
        }
        for (slot, row) in code.mappings.iter_mut().zip(&dictionary.mappings).skip(1) {
            let text = |index| Some(dictionary.text(index)).filter(|text| !text.is_empty());
            let file = text(row.file).map(|text| tables.bytes(text));
            let build = row.attributes.and_then(|index| {
                let row = dictionary.attributes.get(usize::try_from(index).ok()?)?;
                BUILD.contains(&dictionary.text(row.key)).then_some(row)
            });
            let build_id = build.and_then(|row| {
                let mut texts = crate::protobuf::fields(&row.value);
                let (_, text) = texts.find(|&(number, _)| number == 1)?;
                Some(tables.bytes(text.bytes()))
            });
            *slot = Some(tables.mapping(Mapping {
                start: row.start,
                limit: row.limit,
                offset: row.offset,
                file,
                build_id,
            }));
        }
        code
    }

    /// Returns a stack; position 0 stands for none.
    pub(super) fn stack(
        &mut self,
        dictionary: &ProfilesDictionary,
        index: u64,
        offset: u64,
        tables: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Option<StackId> {
        let slot = usize::try_from(index).ok()?;
        if let Some(&Some(known)) = self.stacks.get(slot) {
            return known;
        }
        let Some(range) = dictionary.stacks.get(slot) else {
            if index != 0 {
                tally.add(Level::Damage, "stack_index", offset, || {
                    format!("stack {index} is referred to and does not exist")
                });
            }
            return None;
        };
        let mut stack = None;
        let locations = subslice(&dictionary.stack_locations, range.clone());
        for &location in locations.iter().rev() {
            for &frame in self.frames(dictionary, location, offset, tables, tally) {
                stack = Some(tables.stack(Stack {
                    parent: stack,
                    frame,
                    truncated: false,
                }));
            }
        }
        if let Some(entry) = self.stacks.get_mut(slot) {
            *entry = Some(stack);
        }
        stack
    }

    /// Returns the frames of a location, the outermost first.
    fn frames(
        &mut self,
        dictionary: &ProfilesDictionary,
        index: u64,
        offset: u64,
        tables: &mut Tables,
        tally: &mut CountedNotes,
    ) -> &[FrameId] {
        let slot = in_memory(index);
        if !matches!(self.locations.get(slot), Some(Some(_))) {
            let frames = self.lower(dictionary, slot, offset, tables, tally);
            match self.locations.get_mut(slot) {
                Some(entry) => *entry = Some(frames),
                None => {
                    tally.add(Level::Damage, "location_index", offset, || {
                        format!("location {index} is referred to and does not exist")
                    });
                    return &[];
                }
            }
        }
        let found = self.locations.get(slot).and_then(Option::as_deref);
        found.unwrap_or(&[])
    }

    fn lower(
        &mut self,
        dictionary: &ProfilesDictionary,
        slot: usize,
        offset: u64,
        tables: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Box<[FrameId]> {
        let Some(location) = dictionary.locations.get(slot) else {
            return Box::default();
        };
        let mapping = usize::try_from(location.mapping).ok();
        let mapping = mapping.and_then(|slot| self.mappings.get(slot).copied().flatten());
        let address = Some(location.address).filter(|&address| address != 0);
        let kind = self.kind(dictionary, location.attribute);
        let plain = Frame {
            address,
            mapping,
            kind,
            ..Frame::default()
        };
        let lines = subslice(&dictionary.lines, location.lines.clone());
        if lines.is_empty() {
            return [tables.frame(plain)].into();
        }
        let mut frames = Vec::with_capacity(lines.len());
        for (inner, line) in lines.iter().enumerate().rev() {
            let function = self.function(dictionary, line.function, offset, tables, tally);
            frames.push(tables.frame(Frame {
                function,
                line: narrow(line.line),
                column: narrow(line.column),
                inlined: inner + 1 < lines.len(),
                ..plain.clone()
            }));
        }
        frames.into()
    }

    /// How a location was executed, where an attribute says so.
    fn kind(&self, dictionary: &ProfilesDictionary, attribute: Option<u64>) -> FrameKind {
        let row = attribute.and_then(|index| usize::try_from(index).ok());
        let row = row.and_then(|slot| dictionary.attributes.get(slot));
        let Some(row) = row.filter(|row| dictionary.text(row.key) == FRAME_TYPE) else {
            return FrameKind::Unknown;
        };
        let mut texts = crate::protobuf::fields(&row.value);
        let text = texts.find(|&(number, _)| number == 1);
        let text = text.map_or(&[][..], |(_, text)| text.bytes());
        let known = FRAME_TYPES.iter().find(|(word, _)| word.as_bytes() == text);
        known.map_or(FrameKind::Unknown, |&(_, kind)| kind)
    }

    fn function(
        &mut self,
        dictionary: &ProfilesDictionary,
        index: u64,
        offset: u64,
        tables: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Option<FunctionId> {
        let slot = usize::try_from(index).ok()?;
        if index == 0 {
            return None;
        }
        if let Some(&Some(known)) = self.functions.get(slot) {
            return Some(known);
        }
        let Some(row) = dictionary.functions.get(slot) else {
            tally.add(Level::Damage, "function_index", offset, || {
                format!("function {index} is referred to and does not exist")
            });
            return None;
        };
        let text = |index| Some(dictionary.text(index)).filter(|text| !text.is_empty());
        let name = text(row.name).map(|text| tables.bytes(text));
        let system_name = text(row.system_name).map(|text| tables.bytes(text));
        let file = text(row.file).map(|text| tables.bytes(text));
        let shown = name.or(system_name).unwrap_or_else(|| tables.string(""));
        let id = tables.function(Function {
            system_name: system_name.filter(|&system_name| system_name != shown),
            file,
            line: narrow(row.start_line),
            ..Function::named(shown)
        });
        if let Some(entry) = self.functions.get_mut(slot) {
            *entry = Some(id);
        }
        Some(id)
    }
}

/// The attribute of a location that says how it was executed.
pub(super) const FRAME_TYPE: &[u8] = b"profile.frame.type";

/// Its values that the model has words for.
pub(super) const FRAME_TYPES: [(&str, FrameKind); 2] =
    [("native", FrameKind::Native), ("kernel", FrameKind::Kernel)];
