//! Constants of one chunk as rows of the model: text, classes, functions, stacks, threads.
//!
//! A constant is resolved when the first event needs it and remembered, so references may point
//! forwards, and a constant nobody uses costs nothing. References between constants can run in
//! circles; each kind of row follows only the references its meaning has: stack, method, class, symbol.

use std::collections::HashMap;

use traceloom_model::{
    Class, ClassId, Function, FunctionId, ResourceId, StackId, StringId, Tables, Track, TrackId,
    Value,
};

use super::super::header::ChunkClock;
use super::super::pool::Pools;
use super::super::scan::{Scan, Str};
use super::super::schema::{FieldEncoding, FieldSchema, TypeSchemas};
use super::super::value::{DecodedValue, DecodingRules};
use super::frames::FrameReading;
use super::memo::Memo;
use super::stacks::StackPath;

/// Class names up to this many bytes become part of their methods' names: a hostile recording could
/// otherwise repeat one long name for every method.
const OWNER: usize = 1_000;

pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// What identifies a thread: its ids, and its name where it has no id of its own.
type Identity = (u64, u64, Option<StringId>);

/// Threads by what identifies them, over all chunks, each with the name it had last.
#[derive(Debug, Default)]
pub(super) struct ThreadRegistry {
    tracks: HashMap<Identity, (TrackId, Option<StringId>)>,
}

/// The constants of one chunk, and what became of them.
pub(super) struct Constants<'c> {
    pub(super) rules: DecodingRules<'c>,
    pub(super) clock: ChunkClock,
    pub(super) chunk: &'c [u8],
    compressed: bool,
    pub(super) pools: Pools,
    texts: Map<(usize, u64), Option<StringId>>,
    pub(super) values: Memo<Value>,
    classes: Map<u64, Option<(ClassId, StringId)>>,
    pub(super) symbols: Map<u64, bool>,
    pub(super) frame_reading: Option<Box<FrameReading>>,
    /// Of methods in a class, and of those outside.
    functions: [Memo<Option<FunctionId>>; 2],
    pub(super) stacks: Memo<Option<StackId>>,
    /// The frames of the stack that was built last, with what they are the innermost of; the outermost first.
    pub(super) last_path: StackPath,
    threads: Memo<Option<TrackId>>,
    /// References to constants that no pool has.
    pub(super) dangling: u64,
}

/// What values are resolved into.
pub(super) struct Into<'m> {
    pub(super) tables: &'m mut Tables,
    pub(super) threads: &'m mut ThreadRegistry,
    pub(super) resource: Option<ResourceId>,
}

impl<'c> Constants<'c> {
    pub(super) fn new(
        rules: DecodingRules<'c>,
        clock: ChunkClock,
        chunk: &'c [u8],
        compressed: bool,
        pools: Pools,
    ) -> Self {
        Self {
            rules,
            clock,
            chunk,
            compressed,
            pools,
            texts: Map::default(),
            values: Memo::default(),
            classes: Map::default(),
            symbols: Map::default(),
            frame_reading: None,
            functions: [Memo::default(), Memo::default()],
            stacks: Memo::default(),
            last_path: StackPath::default(),
            threads: Memo::default(),
            dangling: 0,
        }
    }

    pub(super) fn schema(&self) -> &'c TypeSchemas {
        self.rules.schema
    }

    /// Returns where the value of a constant stands; key 0 means none unless a pool has it.
    pub(super) fn find(&mut self, type_index: usize, key: u64) -> Option<Scan<'c>> {
        let Some(at) = self.pools.find(type_index, key) else {
            self.dangling += u64::from(key != 0);
            return None;
        };
        let mut scan = Scan::new(self.chunk, self.compressed);
        scan.seek(at);
        Some(scan)
    }

    /// Returns the fields of a constant by name.
    pub(super) fn constant(&mut self, type_index: usize, key: u64) -> Option<ConstantFields<'c>> {
        let mut scan = self.find(type_index, key)?;
        let mut cells = Vec::new();
        self.rules.cells(&mut scan, type_index, &mut cells).ok()?;
        Some(ConstantFields {
            fields: self.schema().fields(type_index),
            cells,
        })
    }

    /// Returns the bytes of a string, following a reference into the string pool.
    pub(super) fn bytes(&mut self, string: Str<'c>) -> Option<std::borrow::Cow<'c, [u8]>> {
        let Str::Pool(key) = string else {
            return string.text();
        };
        let index = self.schema().string?;
        let mut scan = self.find(index, key)?;
        // A pool of strings refers to no pool: one step is enough.
        scan.string(self.rules.longest).ok()?.text()
    }

    /// Returns a string of the model.
    pub(super) fn string(&mut self, string: Str<'_>, tables: &mut Tables) -> Option<StringId> {
        match (string, self.schema().string) {
            (Str::Pool(key), Some(index)) => self.text(index, key, tables),
            _ => string.text().map(|text| tables.bytes(&text)),
        }
    }

    /// Returns what a constant is called: the text of symbols and of types with one string, the name of
    /// classes, methods, threads, packages, modules, loaders and groups.
    pub(super) fn text(
        &mut self,
        type_index: usize,
        key: u64,
        tables: &mut Tables,
    ) -> Option<StringId> {
        if let Some(&known) = self.texts.get(&(type_index, key)) {
            return known;
        }
        // A name that leads back to itself has none.
        self.texts.insert((type_index, key), None);
        let found = self.name(type_index, key, tables);
        self.texts.insert((type_index, key), found);
        found
    }

    fn name(&mut self, type_index: usize, key: u64, tables: &mut Tables) -> Option<StringId> {
        if self.schema().string == Some(type_index) {
            let mut scan = self.find(type_index, key)?;
            let text = scan.string(self.rules.longest).ok()?.text()?;
            return Some(tables.bytes(&text));
        }
        match self.schema().last_word(type_index) {
            "Class" => {
                let class = self.class(type_index, key, tables)?;
                return Some(class.1);
            }
            "Method" => {
                let constant = self.constant(type_index, key)?;
                return Some(self.method_name(&constant, tables, false)?.0);
            }
            "Thread" => {
                let constant = self.constant(type_index, key)?;
                return self
                    .field_text(&constant, "javaName", tables)
                    .or_else(|| self.field_text(&constant, "osName", tables));
            }
            _ => {}
        }
        let constant = self.constant(type_index, key)?;
        match constant.fields {
            [only] => self.cell_text(only, *constant.cells.first()?, tables),
            _ => self.field_text(&constant, "name", tables),
        }
    }

    fn field_text(
        &mut self,
        constant: &ConstantFields<'c>,
        name: &str,
        tables: &mut Tables,
    ) -> Option<StringId> {
        let (field, cell) = constant.get(name)?;
        let text = self.cell_text(field, cell, tables)?;
        (!tables.string_bytes(text).is_empty()).then_some(text)
    }

    /// Returns the text of a value that is a string or a symbol.
    pub(super) fn cell_text(
        &mut self,
        field: &FieldSchema,
        cell: DecodedValue<'_>,
        tables: &mut Tables,
    ) -> Option<StringId> {
        match (cell, field.kind) {
            (DecodedValue::Str(string), _) => self.string(string, tables),
            // Names of names: symbols. What leads on further is no name.
            (DecodedValue::Ref(key), FieldEncoding::Ref(index)) if self.schema().is_text(index) => {
                self.text(index, key, tables)
            }
            _ => None,
        }
    }

    /// Returns a class and its name with dots.
    fn class(
        &mut self,
        type_index: usize,
        key: u64,
        tables: &mut Tables,
    ) -> Option<(ClassId, StringId)> {
        if let Some(&known) = self.classes.get(&key) {
            return known;
        }
        let found = self.build_class(type_index, key, tables);
        self.classes.insert(key, found);
        found
    }

    fn build_class(
        &mut self,
        type_index: usize,
        key: u64,
        tables: &mut Tables,
    ) -> Option<(ClassId, StringId)> {
        let constant = self.constant(type_index, key)?;
        let raw = self.field_text(&constant, "name", tables)?;
        let name = class_name(&String::from_utf8_lossy(tables.string_bytes(raw)));
        let name = tables.string(&name);
        let loader = match constant.get("classLoader") {
            Some((field, DecodedValue::Ref(key))) => match field.kind {
                FieldEncoding::Ref(index) => self.text(index, key, tables),
                _ => None,
            },
            _ => None,
        };
        let id = tables.class(Class {
            name,
            superclass: None,
            loader,
            file: None,
        });
        Some((id, name))
    }

    /// Returns a method's name, its class, and the class's name. Native frames have the library in
    /// place of the class.
    fn method_name(
        &mut self,
        constant: &ConstantFields<'c>,
        tables: &mut Tables,
        native: bool,
    ) -> Option<(StringId, Option<ClassId>, Option<StringId>)> {
        let name = self.field_text(constant, "name", tables);
        let class = constant.get("type").and_then(|(field, cell)| {
            let (DecodedValue::Ref(key), FieldEncoding::Ref(index)) = (cell, field.kind) else {
                return None;
            };
            self.class(index, key, tables)
        });
        match (name, class) {
            (Some(name), Some((_, library))) if native => Some((name, None, Some(library))),
            (Some(name), Some((id, class))) if tables.string_bytes(class).len() > OWNER => {
                Some((name, Some(id), None))
            }
            (Some(name), Some((id, class))) => {
                let name = [tables.string_bytes(class), tables.string_bytes(name)].join(&b'.');
                Some((tables.bytes(&name), Some(id), Some(class)))
            }
            (Some(name), None) => Some((name, None, None)),
            // async-profiler names the class an object was allocated of by a method without name.
            (None, Some((id, class))) => Some((class, Some(id), Some(class))),
            (None, None) => None,
        }
    }

    pub(super) fn function(
        &mut self,
        type_index: usize,
        key: u64,
        native: bool,
        tables: &mut Tables,
    ) -> Option<FunctionId> {
        if let Some(known) = self.functions_of(native).get(type_index, key) {
            return known;
        }
        let function = self.constant(type_index, key).and_then(|constant| {
            let (name, class, owner) = self.method_name(&constant, tables, native)?;
            let mut function = Function::named(name);
            function.class = class;
            if native {
                function.library = owner;
            } else if let Some(owner) = owner {
                let owner = String::from_utf8_lossy(tables.string_bytes(owner)).into_owned();
                function.package = owner
                    .rsplit_once('.')
                    .map(|(package, _)| tables.string(package));
                function.signature = self.field_text(&constant, "descriptor", tables);
            }
            if let Some((_, DecodedValue::Int(bits))) = constant.get("modifiers") {
                function.modifiers = u32::try_from(bits).unwrap_or(0);
            }
            Some(tables.function(function))
        });
        self.functions_of(native).insert(type_index, key, function);
        function
    }

    fn functions_of(&mut self, native: bool) -> &mut Memo<Option<FunctionId>> {
        let [inside, outside] = &mut self.functions;
        if native { outside } else { inside }
    }

    /// Returns the track of a thread.
    pub(super) fn thread(
        &mut self,
        type_index: usize,
        key: u64,
        into: &mut Into<'_>,
    ) -> Option<TrackId> {
        if let Some(known) = self.threads.get(type_index, key) {
            return known;
        }
        let track = self.constant(type_index, key).map(|constant| {
            let number = |name: &str| match constant.get(name) {
                Some((_, DecodedValue::Int(id))) => u64::try_from(id).ok().filter(|&id| id > 0),
                _ => None,
            };
            let (os_id, id) = (number("osThreadId"), number("javaThreadId"));
            let name = self
                .field_text(&constant, "javaName", into.tables)
                .or_else(|| self.field_text(&constant, "osName", into.tables));
            let track = Track {
                resource: into.resource,
                name,
                os_id,
                id,
                ..Track::default()
            };
            // A Java thread is itself whatever it is called; numbers of native threads are reused.
            let identity = match id {
                Some(id) => (os_id.unwrap_or(0), id, None),
                None => (os_id.unwrap_or(0), 0, name),
            };
            match into.threads.tracks.get_mut(&identity) {
                Some((known, last)) => {
                    if *last != name {
                        *last = name;
                        into.tables.redefine_track(*known, track);
                    }
                    *known
                }
                None => {
                    let new = into.tables.new_track(track);
                    into.threads.tracks.insert(identity, (new, name));
                    new
                }
            }
        });
        self.threads.insert(type_index, key, track);
        track
    }
}

/// The fields of a constant.
pub(super) struct ConstantFields<'c> {
    pub(super) fields: &'c [FieldSchema],
    pub(super) cells: Vec<DecodedValue<'c>>,
}

impl<'c> ConstantFields<'c> {
    pub(super) fn get(&self, name: &str) -> Option<(&'c FieldSchema, DecodedValue<'c>)> {
        let at = self.fields.iter().position(|field| field.name == name)?;
        Some((self.fields.get(at)?, *self.cells.get(at)?))
    }
}

impl TypeSchemas {
    /// Returns the last word of a type's name.
    pub(super) fn last_word(&self, index: usize) -> &str {
        let name = self.get(index).map_or("", |found| &found.name);
        name.rsplit('.').next().unwrap_or(name)
    }
}

impl TypeSchemas {
    /// Returns true if a type is nothing but one string, such as a symbol.
    fn is_text(&self, index: usize) -> bool {
        let only_text =
            matches!(self.fields(index), [only] if only.kind == FieldEncoding::Str && !only.array);
        only_text || self.string == Some(index)
    }
}

/// Turns the virtual machine's name of a class into the language's: dots, and brackets behind arrays.
fn class_name(raw: &str) -> String {
    let element = raw.trim_start_matches('[');
    let dimensions = raw.len() - element.len();
    let element = match element {
        _ if dimensions == 0 => element,
        "Z" => "boolean",
        "B" => "byte",
        "S" => "short",
        "C" => "char",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => element
            .strip_prefix('L')
            .and_then(|class| class.strip_suffix(';'))
            .unwrap_or(element),
    };
    element.replace('/', ".") + &"[]".repeat(dimensions.min(255))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_of_the_language() {
        assert_eq!(class_name("java/lang/Thread"), "java.lang.Thread");
        assert_eq!(class_name("[[I"), "int[][]");
        assert_eq!(class_name("[Lcom/acme/Shop$Item;"), "com.acme.Shop$Item[]");
        assert_eq!(class_name("I"), "I");
        assert_eq!(class_name("libjvm.so"), "libjvm.so");
    }
}
