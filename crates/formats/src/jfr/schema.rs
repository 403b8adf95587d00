//! The types a recording describes in its metadata, ready for decoding.

use std::collections::HashMap;

use super::metadata::{Element, Metadata, Tag};

/// How a value is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Bool,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    Str,
    /// The fields of this type, in place.
    Struct(usize),
    /// A key into the constant pool of this type.
    Ref(usize),
    /// A type the metadata does not define: nothing after it can be read.
    Unknown,
}

/// What a number means, by its annotations (SPEC.md §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Meaning {
    #[default]
    Plain,
    /// A point in time, in ticks of the chunk's clock.
    TicksTime,
    /// A point in time: nanoseconds in one unit since the Unix epoch.
    Time(i64),
    /// A length of time in ticks.
    TicksSpan,
    /// A length of time: nanoseconds in one unit.
    Span(i64),
    Bytes,
    Bits,
    /// 0 to 1.
    Fraction,
    Hertz,
    Address,
}

/// A field of a type.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) array: bool,
    pub(super) meaning: Meaning,
    pub(super) unsigned: bool,
    pub(super) label: Option<String>,
    /// The unit as `dump` shows it.
    pub(super) unit: Option<String>,
    /// Annotations with their values, but for those that are prose.
    pub(super) annotations: Vec<(String, String)>,
}

/// A type of the recording: an event, a structure or a primitive.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Type {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) label: Option<String>,
    /// All declared fields.
    pub(super) fields: Vec<Field>,
    /// Instances have no bytes: structures of nothing.
    pub(super) empty: bool,
    /// The fields again, as they are stepped over when integers are compressed.
    pub(super) runs: Vec<Run>,
}

/// Fields in a row that are stepped over alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Run {
    /// So many compressed integers.
    Varints(u32),
    /// So many bytes.
    Bytes(usize),
    /// The field at this index.
    Other(usize),
}

fn runs(fields: &[Field]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let run = match field.kind {
            _ if field.array => Run::Other(at),
            Kind::Short | Kind::Char | Kind::Int | Kind::Long | Kind::Ref(_) => Run::Varints(1),
            Kind::Bool | Kind::Byte => Run::Bytes(1),
            Kind::Float => Run::Bytes(4),
            Kind::Double => Run::Bytes(8),
            Kind::Str | Kind::Struct(_) | Kind::Unknown => Run::Other(at),
        };
        match (runs.last_mut(), run) {
            (Some(Run::Varints(count)), Run::Varints(more)) => *count += more,
            (Some(Run::Bytes(count)), Run::Bytes(more)) => *count += more,
            _ => runs.push(run),
        }
    }
    runs
}

/// The types of a chunk by id.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Schema {
    pub(super) types: Vec<Type>,
    by_id: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// Indices of ids below [`DENSE`], plus one; 0 for none.
    dense: Vec<u32>,
    /// Index of `java.lang.String`.
    pub(super) string: Option<usize>,
}

const DENSE: usize = 4096;

/// Annotations longer than this are not kept: one string of the metadata may be the value of any number.
const ANNOTATION: usize = 256;

/// The type of strings, which have a pool of their own.
pub(super) const STRING: &str = "java.lang.String";

impl Schema {
    /// Builds the types from metadata.
    pub(super) fn build(metadata: &Metadata<'_>) -> Self {
        let mut schema = Self::default();
        let mut raw: Vec<RawType> = Vec::new();
        for element in &metadata.elements {
            match element.tag {
                Tag::Class => raw.push(RawType::new(metadata, element)),
                Tag::Field => {
                    if let Some(owner) = raw.last_mut() {
                        owner.settings = false;
                        owner.fields.push(RawField::new(metadata, element));
                    }
                }
                Tag::Annotation => {
                    if let Some(owner) = raw.last_mut() {
                        owner.annotate(metadata, element);
                    }
                }
                Tag::Other => {
                    if let Some(owner) = raw.last_mut() {
                        owner.settings = true;
                    }
                }
            }
        }
        for (index, found) in raw.iter().enumerate() {
            // A later definition of an id replaces an earlier one.
            schema.by_id.insert(found.id, index);
            if found.name == STRING {
                schema.string = Some(index);
            }
        }
        schema.dense = vec![0; DENSE];
        for (&id, &index) in &schema.by_id {
            let slot = usize::try_from(id)
                .ok()
                .and_then(|id| schema.dense.get_mut(id));
            if let Some(slot) = slot {
                *slot = u32::try_from(index + 1).unwrap_or(0);
            }
        }
        let names: HashMap<u64, &str> = raw.iter().map(|t| (t.id, t.name.as_str())).collect();
        let built: Vec<Type> = raw
            .iter()
            .map(|found| found.build(&schema, &names))
            .collect();
        schema.types = built;
        schema.mark_empty();
        schema
    }

    /// Returns the index of the type with this id.
    #[inline]
    pub(super) fn index(&self, id: u64) -> Option<usize> {
        match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(0) => None,
            Some(&index) => Some(index as usize - 1),
            None => self.by_id.get(&id).copied(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Type> {
        self.types.get(index)
    }

    pub(super) fn fields(&self, index: usize) -> &[Field] {
        self.types.get(index).map_or(&[], |found| &found.fields)
    }

    /// Returns of how many integers a value of `kind` consists, none when of anything else.
    pub(super) fn integers(&self, kind: Kind) -> Option<u64> {
        match kind {
            Kind::Short | Kind::Char | Kind::Int | Kind::Long | Kind::Ref(_) => Some(1),
            Kind::Struct(inner) => match self.types.get(inner)?.runs.as_slice() {
                &[Run::Varints(count)] => Some(u64::from(count)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_empty_type(&self, index: usize) -> bool {
        self.types.get(index).is_none_or(|found| found.empty)
    }

    /// Finds the structures without bytes: a structure is empty when all its fields are structures that
    /// are. A structure that holds itself directly is not; decoding it fails at the depth limit.
    fn mark_empty(&mut self) {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.types.len()];
        let mut solid: Vec<usize> = Vec::new();
        let mut waiting: Vec<usize> = vec![0; self.types.len()];
        for (index, found) in self.types.iter().enumerate() {
            for field in &found.fields {
                match field.kind {
                    Kind::Struct(inner) if !field.array => {
                        if let Some(list) = users.get_mut(inner) {
                            list.push(index);
                        }
                        if let Some(count) = waiting.get_mut(index) {
                            *count += 1;
                        }
                    }
                    _ => solid.push(index),
                }
            }
        }
        let mut is_solid = vec![false; self.types.len()];
        for &index in &solid {
            if let Some(slot) = is_solid.get_mut(index) {
                *slot = true;
            }
        }
        let mut empty: Vec<usize> = (0..self.types.len())
            .filter(|&index| is_solid.get(index) == Some(&false) && waiting.get(index) == Some(&0))
            .collect();
        while let Some(index) = empty.pop() {
            if let Some(found) = self.types.get_mut(index) {
                found.empty = true;
            }
            for &user in users.get(index).map_or(&[][..], Vec::as_slice) {
                let Some(count) = waiting.get_mut(user) else {
                    continue;
                };
                *count -= 1;
                if *count == 0 && is_solid.get(user) == Some(&false) {
                    empty.push(user);
                }
            }
        }
    }
}

struct RawType {
    id: u64,
    name: String,
    depth: u32,
    /// The last child was a setting, whose annotations are no field's.
    settings: bool,
    label: Vec<Note>,
    fields: Vec<RawField>,
}

struct RawField {
    name: String,
    class: u64,
    depth: u32,
    constant_pool: bool,
    array: bool,
    annotations: Vec<Note>,
}

/// An annotation before its type's name is known.
struct Note {
    class: u64,
    value: Option<String>,
}

impl RawType {
    fn new(metadata: &Metadata<'_>, element: &Element) -> Self {
        Self {
            id: metadata.number(element, "id").unwrap_or(u64::MAX),
            name: metadata.text(element, "name").unwrap_or_default(),
            depth: element.depth,
            settings: false,
            label: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Gives an annotation to the class, or to its last field when it is nested in that.
    fn annotate(&mut self, metadata: &Metadata<'_>, element: &Element) {
        let note = Note {
            class: metadata.number(element, "class").unwrap_or(u64::MAX),
            value: metadata
                .text(element, "value")
                .or_else(|| metadata.text(element, "value-0")),
        };
        if element.depth == self.depth + 1 {
            self.label.push(note);
        } else if !self.settings
            && let Some(field) = self.fields.last_mut()
            && element.depth == field.depth + 1
        {
            field.annotations.push(note);
        }
    }

    fn build(&self, schema: &Schema, names: &HashMap<u64, &str>) -> Type {
        let fields: Vec<Field> = self
            .fields
            .iter()
            .map(|field| field.build(schema, names))
            .collect();
        Type {
            id: self.id,
            name: self.name.clone(),
            label: label(&self.label, names),
            runs: runs(&fields),
            fields,
            empty: false,
        }
    }
}

fn label(notes: &[Note], names: &HashMap<u64, &str>) -> Option<String> {
    let found = notes
        .iter()
        .find(|note| short(names, note.class) == "Label")?;
    found.value.clone()
}

/// Returns the last word of a type's name: annotations moved between packages with JDK 11.
fn short<'n>(names: &HashMap<u64, &'n str>, class: u64) -> &'n str {
    let name = names.get(&class).copied().unwrap_or_default();
    name.rsplit('.').next().unwrap_or(name)
}

impl RawField {
    fn new(metadata: &Metadata<'_>, element: &Element) -> Self {
        Self {
            name: metadata.text(element, "name").unwrap_or_default(),
            class: metadata.number(element, "class").unwrap_or(u64::MAX),
            depth: element.depth,
            constant_pool: metadata.is(element, "constantPool", "true"),
            array: metadata
                .number(element, "dimension")
                .is_some_and(|dimension| dimension > 0),
            annotations: Vec::new(),
        }
    }

    fn build(&self, schema: &Schema, names: &HashMap<u64, &str>) -> Field {
        let kind = match (schema.index(self.class), names.get(&self.class)) {
            (Some(index), _) if self.constant_pool => Kind::Ref(index),
            (Some(index), Some(&name)) => primitive(name).unwrap_or(Kind::Struct(index)),
            _ => Kind::Unknown,
        };
        let mut field = Field {
            name: self.name.clone(),
            kind,
            array: self.array,
            meaning: Meaning::Plain,
            unsigned: false,
            label: label(&self.annotations, names),
            unit: None,
            annotations: Vec::new(),
        };
        for note in &self.annotations {
            let value = note.value.as_deref().unwrap_or_default();
            let name = short(names, note.class);
            if !matches!(name, "Label" | "Description") && name.len() + value.len() <= ANNOTATION {
                field.annotations.push((name.to_owned(), value.to_owned()));
            }
            let meaning = match short(names, note.class) {
                "Unsigned" => {
                    field.unsigned = true;
                    continue;
                }
                "Timestamp" => match value {
                    "TICKS" => Meaning::TicksTime,
                    "NANOSECONDS_SINCE_EPOCH" => Meaning::Time(1),
                    _ => Meaning::Time(1_000_000),
                },
                "Timespan" => match value {
                    "TICKS" => Meaning::TicksSpan,
                    "SECONDS" => Meaning::Span(1_000_000_000),
                    "MILLISECONDS" => Meaning::Span(1_000_000),
                    "MICROSECONDS" => Meaning::Span(1_000),
                    _ => Meaning::Span(1),
                },
                "DataAmount" | "MemoryAmount" => match value {
                    "BITS" => Meaning::Bits,
                    _ => Meaning::Bytes,
                },
                "Percentage" => Meaning::Fraction,
                "Frequency" => Meaning::Hertz,
                "MemoryAddress" => Meaning::Address,
                _ => continue,
            };
            // `Frequency` qualifies a rate whose amount another annotation names.
            if field.meaning == Meaning::Plain || meaning != Meaning::Hertz {
                field.meaning = meaning;
            }
            field.unit = Some(match value {
                "" => short(names, note.class).to_lowercase(),
                value => value.to_lowercase(),
            });
        }
        field
    }
}

fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "boolean" => Kind::Bool,
        "byte" => Kind::Byte,
        "short" => Kind::Short,
        "char" => Kind::Char,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        STRING => Kind::Str,
        _ => return None,
    })
}
