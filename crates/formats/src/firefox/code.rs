//! A thread's tables of code: strings, functions, frames, stacks, and the libraries of all threads.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{FrameId, FrameKind, FunctionId, MappingId, Recording, StackId, StringId};

use super::column::{column, index, length, repeated, some_index, text};
use super::numbers::FirstUseNumbers;
use crate::codec::Buffered;
use crate::text::label;
use crate::text::scalars;

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

/// Texts of all threads, each once, and as JSON: most threads have the same ones.
#[derive(Default)]
struct StringArray {
    known: HashMap<Box<[u8]>, u32, RandomState>,
    rows: Vec<Box<[u8]>>,
}

impl StringArray {
    fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let number = row_number(self.rows.len());
        let mut row = Vec::with_capacity(text.len() + 2);
        super::column::text(text, &mut row);
        self.rows.push(row.into());
        self.known.insert(text.into(), number);
        number
    }
}

/// A function, its texts and its place by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FuncRow {
    name: u32,
    file: Option<u32>,
    line: u32,
    place: Option<u32>,
}

#[derive(Clone, Copy)]
struct FrameRow {
    function: u32,
    address: Option<u64>,
    line: u32,
    column: u32,
    inlined: bool,
    category: u32,
}

/// Where a function's code lies: a mapped binary, or what its producer calls a library.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum CodeResource {
    Mapping(MappingId),
    Library(StringId),
}

/// Rows that are told apart by what they are, numbered for all threads.
struct Distinct<R> {
    known: HashMap<R, u32, RandomState>,
    rows: Vec<R>,
}

impl<R> Default for Distinct<R> {
    fn default() -> Self {
        Self {
            known: HashMap::default(),
            rows: Vec::new(),
        }
    }
}

impl<R: Copy + Eq + Hash> Distinct<R> {
    fn number(&mut self, row: R) -> u32 {
        let next = row_number(self.rows.len());
        let number = *self.known.entry(row).or_insert(next);
        if number == next {
            self.rows.push(row);
        }
        number
    }
}

/// What is known of code, and the tables of one thread after the other.
///
/// Frames, functions and texts are made once, and a thread numbers those that it has.
pub(super) struct CodeTables<'r> {
    tables: &'r Recording,
    texts: StringArray,
    places: Distinct<CodeResource>,
    functions: Distinct<FuncRow>,
    /// By frame.
    frames: Vec<Option<FrameRow>>,
    /// The texts of functions' names: of none, then by function.
    names: Vec<Option<u32>>,
    libs: FirstUseNumbers,
    thread: ThreadTables,
    /// What is missing of a stack, innermost first.
    missing: Vec<(StackId, FrameId)>,
}

/// The numbers of one thread.
#[derive(Default)]
struct ThreadTables {
    texts: FirstUseNumbers,
    places: FirstUseNumbers,
    functions: FirstUseNumbers,
    frames: FirstUseNumbers,
    stacks: FirstUseNumbers,
    // Rows, which refer to each other by the numbers of the thread.
    frame_rows: Vec<FrameRow>,
    function_rows: Vec<FuncRow>,
    /// Library and name.
    place_rows: Vec<(Option<u32>, u32)>,
    /// Caller and frame.
    stack_rows: Vec<(Option<u32>, u32)>,
}

impl<'r> CodeTables<'r> {
    pub fn new(tables: &'r Recording) -> Self {
        Self {
            tables,
            texts: StringArray::default(),
            places: Distinct::default(),
            functions: Distinct::default(),
            frames: Vec::new(),
            names: Vec::new(),
            libs: FirstUseNumbers::default(),
            thread: ThreadTables::default(),
            missing: Vec::new(),
        }
    }

    /// Begins the tables of the next thread.
    pub fn begin(&mut self) {
        let thread = &mut self.thread;
        thread.texts.clear();
        thread.places.clear();
        thread.functions.clear();
        thread.frames.clear();
        thread.stacks.clear();
        thread.frame_rows.clear();
        thread.function_rows.clear();
        thread.place_rows.clear();
        thread.stack_rows.clear();
    }

    /// Returns the number that a text has for all threads.
    pub fn text(&mut self, text: &[u8]) -> u32 {
        self.texts.number(text)
    }

    /// Returns the number that a text has in the thread.
    #[inline]
    pub fn string(&mut self, text: u32) -> u32 {
        self.thread.texts.number(text).0
    }

    /// Returns the number that a function's name has in the thread.
    #[inline]
    pub fn name(&mut self, id: Option<FunctionId>) -> u32 {
        let at = id.map_or(0, |id| id.index() + 1);
        match self.names.get(at) {
            Some(&Some(text)) => self.string(text),
            _ => self.new_name(id, at),
        }
    }

    fn new_name(&mut self, id: Option<FunctionId>, at: usize) -> u32 {
        let text = self.texts.number(&label::function(self.tables, id));
        if self.names.len() <= at {
            self.names.resize(at + 1, None);
        }
        if let Some(slot) = self.names.get_mut(at) {
            *slot = Some(text);
        }
        self.string(text)
    }

    fn new_frame(&mut self, id: FrameId) -> FrameRow {
        let tables = self.tables;
        let row = tables.frame(id).cloned().unwrap_or_default();
        let function = row.function.and_then(|id| tables.function(id));
        let name = self.texts.number(&label::frame(tables, id));
        let file = function.and_then(|row| row.file);
        let file = file.map(|id| self.texts.number(&label::text(tables, id)));
        let library = function
            .and_then(|row| row.library)
            .map(CodeResource::Library);
        let place = row.mapping.map(CodeResource::Mapping).or(library);
        let function = FuncRow {
            name,
            file,
            line: function.map_or(0, |row| row.line),
            place: place.map(|place| self.places.number(place)),
        };
        // Addresses of a binary count from where it begins.
        let mapping = row.mapping.and_then(|id| tables.mapping(id));
        let address = row.address.map(|address| match mapping {
            Some(mapping) if address >= mapping.start => {
                (address - mapping.start).saturating_add(mapping.offset)
            }
            _ => address,
        });
        FrameRow {
            function: self.functions.number(function),
            address,
            line: row.line,
            column: row.column,
            inlined: row.inlined,
            category: category(row.kind),
        }
    }

    /// Returns the number that a frame has in the thread.
    fn frame(&mut self, id: FrameId) -> u32 {
        let (number, new) = self.thread.frames.number(id.raw());
        if !new {
            return number;
        }
        let frame = match self.frames.get(id.index()) {
            Some(&Some(frame)) => frame,
            _ => {
                let frame = self.new_frame(id);
                if self.frames.len() <= id.index() {
                    self.frames.resize(id.index() + 1, None);
                }
                if let Some(slot) = self.frames.get_mut(id.index()) {
                    *slot = Some(frame);
                }
                frame
            }
        };
        let function = self.function(frame.function);
        self.thread.frame_rows.push(FrameRow { function, ..frame });
        number
    }

    /// Returns the number that a function has in the thread.
    fn function(&mut self, function: u32) -> u32 {
        let (number, new) = self.thread.functions.number(function);
        if let (Some(&row), true) = (self.functions.rows.get(function as usize), new) {
            let row = FuncRow {
                name: self.string(row.name),
                file: row.file.map(|text| self.string(text)),
                place: row.place.map(|place| self.place(place)),
                ..row
            };
            self.thread.function_rows.push(row);
        }
        number
    }

    /// Returns the number that a place has in the thread.
    fn place(&mut self, place: u32) -> u32 {
        let (number, new) = self.thread.places.number(place);
        if let (Some(&row), true) = (self.places.rows.get(place as usize), new) {
            let tables = self.tables;
            let (name, lib) = match row {
                CodeResource::Library(id) => (label::text(tables, id), None),
                CodeResource::Mapping(id) => {
                    let file = tables.mapping(id).and_then(|row| row.file);
                    let path =
                        file.map_or_else(|| b"[unknown]".to_vec(), |id| label::text(tables, id));
                    let name = file_name(&path);
                    (name.to_vec(), Some(self.libs.number(id.raw()).0))
                }
            };
            let name = self.texts.number(&name);
            let name = self.string(name);
            self.thread.place_rows.push((lib, name));
        }
        number
    }

    /// Returns the number that a stack has in the thread. Callers have smaller ids, so that a loop ends.
    pub fn stack(&mut self, id: StackId) -> Option<u32> {
        let mut next = Some(id);
        let mut prefix = None;
        while let Some(id) = next {
            if let Some(known) = self.thread.stacks.known(id.raw()) {
                prefix = Some(known);
                break;
            }
            let Some(row) = self.tables.stack(id) else {
                break;
            };
            self.missing.push((id, row.frame));
            next = row.parent.filter(|&parent| parent < id);
        }
        while let Some((id, frame)) = self.missing.pop() {
            let frame = self.frame(frame);
            self.thread.stack_rows.push((prefix, frame));
            prefix = Some(self.thread.stacks.number(id.raw()).0);
        }
        prefix
    }

    /// Writes the tables, each with a comma behind it; strings come last, when all are known.
    pub fn put(&self, out: &mut Buffered<'_>) {
        let rows = &self.thread.frame_rows;
        out.text("\"frameTable\":{");
        column(out, "address", rows, |row, out| match row.address {
            Some(address) => scalars::digits(address, out),
            None => out.extend_from_slice(b"-1"),
        });
        column(out, "inlineDepth", rows, |row, out| {
            index(u32::from(row.inlined), out)
        });
        column(out, "category", rows, |row, out| index(row.category, out));
        repeated(out, "subcategory", rows.len(), "0");
        column(out, "func", rows, |row, out| index(row.function, out));
        repeated(out, "nativeSymbol", rows.len(), "null");
        repeated(out, "innerWindowID", rows.len(), "0");
        let known = |number: u32| (number > 0).then_some(number);
        column(out, "line", rows, |row, out| {
            some_index(known(row.line), out)
        });
        column(out, "column", rows, |row, out| {
            some_index(known(row.column), out)
        });
        length(out, rows.len());

        let rows = &self.thread.function_rows;
        out.text("},\"funcTable\":{");
        column(out, "name", rows, |row, out| index(row.name, out));
        repeated(out, "isJS", rows.len(), "false");
        repeated(out, "relevantForJS", rows.len(), "false");
        column(out, "resource", rows, |row, out| match row.place {
            Some(place) => index(place, out),
            None => out.extend_from_slice(b"-1"),
        });
        column(out, "fileName", rows, |row, out| some_index(row.file, out));
        column(out, "lineNumber", rows, |row, out| {
            some_index(known(row.line), out)
        });
        repeated(out, "columnNumber", rows.len(), "null");
        length(out, rows.len());

        let rows = &self.thread.place_rows;
        out.text("},\"resourceTable\":{");
        column(out, "lib", rows, |row, out| some_index(row.0, out));
        column(out, "name", rows, |row, out| index(row.1, out));
        repeated(out, "host", rows.len(), "null");
        column(out, "type", rows, |row, out| {
            index(u32::from(row.0.is_some()), out)
        });
        length(out, rows.len());

        out.text("},\"nativeSymbols\":{");
        for name in ["libIndex", "address", "name", "functionSize"] {
            column(out, name, 0..0, index);
        }
        length(out, 0);

        let rows = &self.thread.stack_rows;
        out.text("},\"stackTable\":{");
        column(out, "prefix", rows, |row, out| some_index(row.0, out));
        column(out, "frame", rows, |row, out| index(row.1, out));
        length(out, rows.len());
        out.text("},");
    }

    pub fn put_strings(&self, out: &mut Buffered<'_>) {
        let texts = self.thread.texts.ids().iter();
        let texts = texts.filter_map(|&text| self.texts.rows.get(text as usize));
        column(out, "stringArray", texts, |text, out| {
            out.extend_from_slice(text)
        });
    }

    /// Writes the libraries of all threads: mapped binaries that functions come from.
    pub fn put_libs(&self, out: &mut Buffered<'_>) {
        let tables = self.tables;
        column(out, "libs", self.libs.ids(), |&id, out| {
            let row = tables.mapping(MappingId::new(id));
            let words = |id: Option<StringId>| id.map(|id| label::text(tables, id));
            let path = words(row.and_then(|row| row.file)).unwrap_or_default();
            let name = file_name(&path);
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

/// Returns the last part of a path.
fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
