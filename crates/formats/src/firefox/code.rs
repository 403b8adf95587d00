//! A thread's tables of code: strings, functions, frames, stacks, and the libraries of all threads.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use traceloom_model::{FrameId, FrameKind, MappingId, Recording, StackId, StringId};

use super::column::{column, constant, index, length, some_index, text};
use crate::chrome::json;
use crate::label;
use crate::output::Buffered;

/// Rows that are told apart by a key, in the order of their first use.
pub(super) struct Table<K, R> {
    known: HashMap<K, u32, RandomState>,
    pub rows: Vec<R>,
}

impl<K, R> Default for Table<K, R> {
    fn default() -> Self {
        Self {
            known: HashMap::default(),
            rows: Vec::new(),
        }
    }
}

impl<K: Hash + Eq, R> Table<K, R> {
    fn number(&mut self, key: K, row: impl FnOnce() -> R) -> u32 {
        let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.rows.push(row());
        }
        number
    }
}

/// What a frame's category says, which is how it was executed; the first is the one of everything else.
pub(super) const CATEGORIES: [(&str, &str); 8] = [
    ("Other", "grey"),
    ("Interpreted", "yellow"),
    ("JIT tier 1", "lightblue"),
    ("JIT", "blue"),
    ("Inlined", "purple"),
    ("Native", "green"),
    ("C++", "brown"),
    ("Kernel", "orange"),
];

fn category(kind: FrameKind) -> u32 {
    match kind {
        FrameKind::Unknown => 0,
        FrameKind::Interpreted => 1,
        FrameKind::JitTier1 => 2,
        FrameKind::Jit => 3,
        FrameKind::Inlined => 4,
        FrameKind::Native => 5,
        FrameKind::Cpp => 6,
        FrameKind::Kernel => 7,
    }
}

/// Libraries that functions come from: mapped binaries.
#[derive(Default)]
pub(super) struct Libs(Table<MappingId, MappingId>);

impl Libs {
    fn number(&mut self, id: MappingId) -> u32 {
        self.0.number(id, || id)
    }

    pub fn put(&self, tables: &Recording, out: &mut Buffered<'_>) {
        column(out, "libs", &self.0.rows, |&id, out| {
            let row = tables.mapping(id);
            let words = |id: Option<StringId>| id.map(|id| label::text(tables, id));
            let path = words(row.and_then(|row| row.file)).unwrap_or_default();
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&[]);
            let build_id = words(row.and_then(|row| row.build_id)).unwrap_or_default();
            out.extend_from_slice(b"{\"arch\":\"\"");
            for (member, value) in [
                ("name", name),
                ("debugName", name),
                ("path", &path),
                ("debugPath", &path),
            ] {
                out.extend_from_slice(format!(",\"{member}\":").as_bytes());
                text(value, out);
            }
            // An ELF build id becomes Breakpad's with an age of nought; symbols are not looked up by us.
            let mut breakpad = build_id.to_ascii_uppercase();
            breakpad.retain(u8::is_ascii_hexdigit);
            breakpad.truncate(32);
            if !breakpad.is_empty() {
                breakpad.push(b'0');
            }
            out.extend_from_slice(b",\"breakpadId\":");
            text(&breakpad, out);
            out.extend_from_slice(b",\"codeId\":");
            if build_id.is_empty() {
                out.extend_from_slice(b"null");
            } else {
                text(&build_id, out);
            }
            out.push(b'}');
        });
    }
}

struct Function {
    name: u32,
    file: Option<u32>,
    line: u32,
    resource: Option<u32>,
}

struct Frame {
    function: u32,
    address: Option<u64>,
    line: u32,
    column: u32,
    inlined: bool,
    category: u32,
}

struct Resource {
    name: u32,
    lib: Option<u32>,
}

/// Where a function's code lies: a mapped binary, or what its producer calls a library.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Mapping(MappingId),
    Library(StringId),
}

/// The tables of one thread.
#[derive(Default)]
pub(super) struct Code {
    strings: Table<Box<[u8]>, Box<[u8]>>,
    functions: Table<(u32, Option<u32>, u32, Option<u32>), Function>,
    frames: Table<FrameId, Frame>,
    stacks: Table<StackId, (Option<u32>, u32)>,
    resources: Table<Place, Resource>,
}

impl Code {
    pub fn string(&mut self, text: &[u8]) -> u32 {
        self.strings.number(text.into(), || text.into())
    }

    fn resource(&mut self, place: Place, tables: &Recording, libs: &mut Libs) -> u32 {
        if let Some(&known) = self.resources.known.get(&place) {
            return known;
        }
        let (name, lib) = match place {
            Place::Library(id) => (label::text(tables, id), None),
            Place::Mapping(id) => {
                let file = tables.mapping(id).and_then(|row| row.file);
                let path = file.map_or_else(|| b"[unknown]".to_vec(), |id| label::text(tables, id));
                let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&[]);
                (name.to_vec(), Some(libs.number(id)))
            }
        };
        let name = self.string(&name);
        self.resources.number(place, || Resource { name, lib })
    }

    fn frame(&mut self, id: FrameId, tables: &Recording, libs: &mut Libs) -> u32 {
        if let Some(&known) = self.frames.known.get(&id) {
            return known;
        }
        let row = tables.frame(id).cloned().unwrap_or_default();
        let function = row.function.and_then(|id| tables.function(id));
        let name = self.string(&label::frame(tables, id));
        let file = function.and_then(|row| row.file);
        let file = file.map(|id| self.string(&label::text(tables, id)));
        let library = function.and_then(|row| row.library).map(Place::Library);
        let place = row.mapping.map(Place::Mapping).or(library);
        let resource = place.map(|place| self.resource(place, tables, libs));
        let line = function.map_or(0, |row| row.line);
        let function = self
            .functions
            .number((name, file, line, resource), || Function {
                name,
                file,
                line,
                resource,
            });
        // Addresses of a binary count from where it begins.
        let mapping = row.mapping.and_then(|id| tables.mapping(id));
        let address = row.address.map(|address| match mapping {
            Some(mapping) if address >= mapping.start => {
                (address - mapping.start).saturating_add(mapping.offset)
            }
            _ => address,
        });
        self.frames.number(id, || Frame {
            function,
            address,
            line: row.line,
            column: row.column,
            inlined: row.inlined,
            category: category(row.kind),
        })
    }

    /// Returns the number of a stack. Callers have smaller ids, so that a loop ends.
    pub fn stack(&mut self, id: StackId, tables: &Recording, libs: &mut Libs) -> Option<u32> {
        let mut missing = Vec::new();
        let mut next = Some(id);
        let mut prefix = None;
        while let Some(id) = next {
            if let Some(&known) = self.stacks.known.get(&id) {
                prefix = Some(known);
                break;
            }
            let Some(row) = tables.stack(id) else { break };
            missing.push((id, row.frame));
            next = row.parent.filter(|&parent| parent < id);
        }
        for (id, frame) in missing.into_iter().rev() {
            let frame = self.frame(frame, tables, libs);
            prefix = Some(self.stacks.number(id, || (prefix, frame)));
        }
        prefix
    }

    /// Writes the tables, each with a comma behind it; strings come last, when all are known.
    pub fn put(&self, out: &mut Buffered<'_>) {
        let all = |count: usize| 0..u32::try_from(count).unwrap_or(u32::MAX);
        let rows = &self.frames.rows;
        out.text("\"frameTable\":{");
        column(out, "address", rows, |row, out| match row.address {
            Some(address) => json::digits(address, out),
            None => out.extend_from_slice(b"-1"),
        });
        column(out, "inlineDepth", rows, |row, out| {
            index(u32::from(row.inlined), out)
        });
        column(out, "category", rows, |row, out| index(row.category, out));
        column(out, "subcategory", all(rows.len()), constant("0"));
        column(out, "func", rows, |row, out| index(row.function, out));
        column(out, "nativeSymbol", all(rows.len()), constant("null"));
        column(out, "innerWindowID", all(rows.len()), constant("0"));
        let known = |number: u32| (number > 0).then_some(number);
        column(out, "line", rows, |row, out| {
            some_index(known(row.line), out)
        });
        column(out, "column", rows, |row, out| {
            some_index(known(row.column), out)
        });
        length(out, rows.len());

        let rows = &self.functions.rows;
        out.text("},\"funcTable\":{");
        column(out, "name", rows, |row, out| index(row.name, out));
        column(out, "isJS", all(rows.len()), constant("false"));
        column(out, "relevantForJS", all(rows.len()), constant("false"));
        column(out, "resource", rows, |row, out| match row.resource {
            Some(resource) => index(resource, out),
            None => out.extend_from_slice(b"-1"),
        });
        column(out, "fileName", rows, |row, out| some_index(row.file, out));
        column(out, "lineNumber", rows, |row, out| {
            some_index(known(row.line), out)
        });
        column(out, "columnNumber", all(rows.len()), constant("null"));
        length(out, rows.len());

        let rows = &self.resources.rows;
        out.text("},\"resourceTable\":{");
        column(out, "lib", rows, |row, out| some_index(row.lib, out));
        column(out, "name", rows, |row, out| index(row.name, out));
        column(out, "host", all(rows.len()), constant("null"));
        column(out, "type", rows, |row, out| {
            index(u32::from(row.lib.is_some()), out)
        });
        length(out, rows.len());

        out.text("},\"nativeSymbols\":{");
        for name in ["libIndex", "address", "name", "functionSize"] {
            column(out, name, 0..0, index);
        }
        length(out, 0);

        let rows = &self.stacks.rows;
        out.text("},\"stackTable\":{");
        column(out, "prefix", rows, |row, out| some_index(row.0, out));
        column(out, "frame", rows, |row, out| index(row.1, out));
        length(out, rows.len());
        out.text("},");
    }

    pub fn put_strings(&self, out: &mut Buffered<'_>) {
        column(out, "stringArray", &self.strings.rows, text);
    }
}
