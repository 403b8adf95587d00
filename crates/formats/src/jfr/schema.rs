//! The types a recording describes in its metadata, ready for decoding.

use std::borrow::Cow;
use std::collections::HashMap;

use traceloom_model::Limits;

use super::metadata::{MetadataElement, MetadataEvent, Tag};
use super::scan::Scan;
use super::value::SkippedValues;

/// How a value is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldEncoding {
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
pub(super) enum NumberMeaning {
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
pub(super) struct FieldSchema {
    pub(super) name: String,
    pub(super) kind: FieldEncoding,
    pub(super) array: bool,
    pub(super) meaning: NumberMeaning,
    pub(super) unsigned: bool,
    pub(super) label: Option<String>,
    /// The unit as `dump` shows it.
    pub(super) unit: Option<String>,
    /// Annotations with their values, but for those that are prose.
    pub(super) annotations: Vec<(String, String)>,
}

/// A type of the recording: an event, a structure or a primitive.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TypeSchema {
    pub(super) name: String,
    pub(super) label: Option<String>,
    /// All declared fields.
    pub(super) fields: Vec<FieldSchema>,
    /// Instances have no bytes: structures of nothing.
    pub(super) empty: bool,
    /// The fields again, as they are stepped over when integers are compressed.
    pub(super) runs: Vec<SkippedFields>,
}

/// Fields in a row that are stepped over alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SkippedFields {
    /// So many compressed integers.
    Varints(u32),
    /// So many bytes.
    Bytes(usize),
    /// The field at this index.
    Other(usize),
}

fn runs(fields: &[FieldSchema]) -> Vec<SkippedFields> {
    let mut runs: Vec<SkippedFields> = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let run = match field.kind {
            _ if field.array => SkippedFields::Other(at),
            FieldEncoding::Short
            | FieldEncoding::Char
            | FieldEncoding::Int
            | FieldEncoding::Long
            | FieldEncoding::Ref(_) => SkippedFields::Varints(1),
            FieldEncoding::Bool | FieldEncoding::Byte => SkippedFields::Bytes(1),
            FieldEncoding::Float => SkippedFields::Bytes(4),
            FieldEncoding::Double => SkippedFields::Bytes(8),
            FieldEncoding::Str | FieldEncoding::Struct(_) | FieldEncoding::Unknown => {
                SkippedFields::Other(at)
            }
        };
        match (runs.last_mut(), run) {
            (Some(SkippedFields::Varints(count)), SkippedFields::Varints(more)) => *count += more,
            (Some(SkippedFields::Bytes(count)), SkippedFields::Bytes(more)) => *count += more,
            _ => runs.push(run),
        }
    }
    runs
}

/// The types of a chunk by id.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TypeSchemas {
    /// What of a metadata event they were built from.
    description: Box<[u8]>,
    is_compressed: bool,
    pub(super) types: Vec<TypeSchema>,
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

impl TypeSchemas {
    /// Builds the types that the body of a metadata event describes, unless those that are known are the same. Returns none when
    /// it cannot be read to its end, and leaves those that are known.
    pub(super) fn settle<'k>(
        known: &'k mut Option<Self>,
        body: Scan<'_>,
        limits: &Limits,
    ) -> Option<&'k Self> {
        if !known
            .as_ref()
            .is_some_and(|known| known.is_described_by(body))
        {
            let mut scan = body;
            let metadata = MetadataEvent::read(&mut scan, limits, &mut SkippedValues).ok()?;
            if scan.left() > 0 {
                return None;
            }
            *known = Some(Self::build(&metadata));
        }
        known.as_ref()
    }

    /// Returns true if the body of a metadata event is that which these types were built from, but for its times and number.
    pub(super) fn is_described_by(&self, mut body: Scan<'_>) -> bool {
        (0..3).all(|_| body.long().is_ok())
            && self.is_compressed == body.compressed
            && !self.description.is_empty()
            && *self.description == *body.rest()
    }

    /// Builds the types from metadata.
    pub(super) fn build(metadata: &MetadataEvent<'_>) -> Self {
        let mut schema = Self {
            description: metadata.description.into(),
            is_compressed: metadata.is_compressed,
            ..Self::default()
        };
        let mut raw: Vec<RawType<'_>> = Vec::new();
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
            if let Some(id) = found.id {
                schema.by_id.insert(id, index);
            }
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
        let names: HashMap<u64, &str> = raw
            .iter()
            .filter_map(|raw| Some((raw.id?, raw.name.as_ref())))
            .collect();
        let built: Vec<TypeSchema> = raw
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

    /// Returns true if there is a type of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.types.iter().any(|found| found.name == name)
    }

    pub(super) fn get(&self, index: usize) -> Option<&TypeSchema> {
        self.types.get(index)
    }

    pub(super) fn fields(&self, index: usize) -> &[FieldSchema] {
        self.types.get(index).map_or(&[], |found| &found.fields)
    }

    /// Returns of how many integers a value of `kind` consists, none when of anything else.
    pub(super) fn integers(&self, kind: FieldEncoding) -> Option<u64> {
        match kind {
            FieldEncoding::Short
            | FieldEncoding::Char
            | FieldEncoding::Int
            | FieldEncoding::Long
            | FieldEncoding::Ref(_) => Some(1),
            FieldEncoding::Struct(inner) => match self.types.get(inner)?.runs.as_slice() {
                &[SkippedFields::Varints(count)] => Some(u64::from(count)),
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
                    FieldEncoding::Struct(inner) if !field.array => {
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

struct RawType<'m> {
    /// None for a type that nothing can refer to.
    id: Option<u64>,
    name: Cow<'m, str>,
    depth: u32,
    /// The last child was a setting, whose annotations are no field's.
    settings: bool,
    label: Vec<RawAnnotation<'m>>,
    fields: Vec<RawField<'m>>,
}

struct RawField<'m> {
    name: Cow<'m, str>,
    class: Option<u64>,
    depth: u32,
    constant_pool: bool,
    array: bool,
    annotations: Vec<RawAnnotation<'m>>,
}

/// An annotation before its type's name is known.
struct RawAnnotation<'m> {
    class: Option<u64>,
    value: Option<Cow<'m, str>>,
}

impl<'m> RawType<'m> {
    fn new(metadata: &MetadataEvent<'m>, element: &MetadataElement) -> Self {
        Self {
            id: metadata.number(element, "id"),
            name: metadata.text(element, "name").unwrap_or_default(),
            depth: element.depth,
            settings: false,
            label: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Gives an annotation to the class, or to its last field when it is nested in that.
    fn annotate(&mut self, metadata: &MetadataEvent<'m>, element: &MetadataElement) {
        let note = RawAnnotation {
            class: metadata.number(element, "class"),
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

    fn build(&self, schema: &TypeSchemas, names: &HashMap<u64, &str>) -> TypeSchema {
        let fields: Vec<FieldSchema> = self
            .fields
            .iter()
            .map(|field| field.build(schema, names))
            .collect();
        TypeSchema {
            name: self.name.to_string(),
            label: label(&self.label, names),
            runs: runs(&fields),
            fields,
            empty: false,
        }
    }
}

fn label(notes: &[RawAnnotation<'_>], names: &HashMap<u64, &str>) -> Option<String> {
    let found = notes
        .iter()
        .find(|note| short(names, note.class) == "Label")?;
    found.value.as_deref().map(str::to_owned)
}

/// Returns the last word of a type's name: annotations moved between packages with JDK 11.
fn short<'n>(names: &HashMap<u64, &'n str>, class: Option<u64>) -> &'n str {
    let name = class.and_then(|class| names.get(&class).copied());
    let name = name.unwrap_or_default();
    name.rsplit('.').next().unwrap_or(name)
}

impl<'m> RawField<'m> {
    fn new(metadata: &MetadataEvent<'m>, element: &MetadataElement) -> Self {
        Self {
            name: metadata.text(element, "name").unwrap_or_default(),
            class: metadata.number(element, "class"),
            depth: element.depth,
            constant_pool: metadata.is(element, "constantPool", "true"),
            array: metadata
                .number(element, "dimension")
                .is_some_and(|dimension| dimension > 0),
            annotations: Vec::new(),
        }
    }

    fn build(&self, schema: &TypeSchemas, names: &HashMap<u64, &str>) -> FieldSchema {
        let index = self.class.and_then(|class| schema.index(class));
        let name = self.class.and_then(|class| names.get(&class));
        let kind = match (index, name) {
            (Some(index), _) if self.constant_pool => FieldEncoding::Ref(index),
            (Some(index), Some(&name)) => primitive(name).unwrap_or(FieldEncoding::Struct(index)),
            _ => FieldEncoding::Unknown,
        };
        let mut field = FieldSchema {
            name: self.name.to_string(),
            kind,
            array: self.array,
            meaning: NumberMeaning::Plain,
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
                    "TICKS" => NumberMeaning::TicksTime,
                    "NANOSECONDS_SINCE_EPOCH" => NumberMeaning::Time(1),
                    _ => NumberMeaning::Time(1_000_000),
                },
                "Timespan" => match value {
                    "TICKS" => NumberMeaning::TicksSpan,
                    "SECONDS" => NumberMeaning::Span(1_000_000_000),
                    "MILLISECONDS" => NumberMeaning::Span(1_000_000),
                    "MICROSECONDS" => NumberMeaning::Span(1_000),
                    _ => NumberMeaning::Span(1),
                },
                "DataAmount" | "MemoryAmount" => match value {
                    "BITS" => NumberMeaning::Bits,
                    _ => NumberMeaning::Bytes,
                },
                "Percentage" => NumberMeaning::Fraction,
                "Frequency" => NumberMeaning::Hertz,
                "MemoryAddress" => NumberMeaning::Address,
                _ => continue,
            };
            // `Frequency` qualifies a rate whose amount another annotation names.
            if field.meaning == NumberMeaning::Plain || meaning != NumberMeaning::Hertz {
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

fn primitive(name: &str) -> Option<FieldEncoding> {
    Some(match name {
        "boolean" => FieldEncoding::Bool,
        "byte" => FieldEncoding::Byte,
        "short" => FieldEncoding::Short,
        "char" => FieldEncoding::Char,
        "int" => FieldEncoding::Int,
        "long" => FieldEncoding::Long,
        "float" => FieldEncoding::Float,
        "double" => FieldEncoding::Double,
        STRING => FieldEncoding::Str,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jfr::scan::{compressed_width, put_integer};

    /// A metadata event whose elements are given by name, attributes and children.
    struct MetadataBuilder {
        strings: Vec<&'static str>,
        elements: Vec<u8>,
    }

    impl MetadataBuilder {
        fn int(out: &mut Vec<u8>, value: usize) {
            put_integer(out, true, value as u64, compressed_width(value as u64));
        }

        fn string(&mut self, text: &'static str) {
            Self::int(&mut self.elements, self.strings.len());
            self.strings.push(text);
        }

        fn element(
            &mut self,
            name: &'static str,
            attributes: &[(&'static str, &'static str)],
            children: usize,
        ) {
            self.string(name);
            Self::int(&mut self.elements, attributes.len());
            for &(key, value) in attributes {
                self.string(key);
                self.string(value);
            }
            Self::int(&mut self.elements, children);
        }

        /// The body of an event with these numbers before what describes the types.
        fn body(&self, numbers: [u8; 3]) -> Vec<u8> {
            let mut body = numbers.to_vec();
            Self::int(&mut body, self.strings.len());
            for text in &self.strings {
                body.push(3);
                Self::int(&mut body, text.len());
                body.extend_from_slice(text.as_bytes());
            }
            body.extend_from_slice(&self.elements);
            body
        }

        fn schema(&self) -> TypeSchemas {
            let mut found = None;
            TypeSchemas::settle(
                &mut found,
                Scan::new(&self.body([0; 3]), true),
                &Limits::default(),
            );
            found.unwrap()
        }
    }

    #[test]
    fn types_that_are_described_again_are_known() {
        let mut metadata = MetadataBuilder {
            strings: Vec::new(),
            elements: Vec::new(),
        };
        metadata.element("root", &[], 1);
        metadata.element("class", &[("name", "acme.Sale"), ("id", "7")], 0);
        let schema = metadata.schema();
        let again = metadata.body([5, 6, 7]);
        let is_known =
            |body: &[u8], compressed| schema.is_described_by(Scan::new(body, compressed));
        assert!(is_known(&again, true));
        // Written in another way, cut short, longer, of other types, and nothing at all.
        assert!(!is_known(&again, false));
        assert!(!is_known(again.get(..again.len() - 1).unwrap(), true));
        assert!(!is_known(&[&again[..], &[0]].concat(), true));
        let other: Vec<u8> = again
            .iter()
            .map(|&byte| if byte == b'7' { b'8' } else { byte })
            .collect();
        assert!(!is_known(&other, true));
        assert!(!is_known(&[], true));
        assert!(!TypeSchemas::default().is_described_by(Scan::new(&[0; 3], true)));
        // What cannot be read leaves what is known.
        let (mut known, cut) = (Some(schema.clone()), Scan::new(&[0; 3], true));
        assert_eq!(
            TypeSchemas::settle(&mut known, cut, &Limits::default()),
            None
        );
        assert_eq!(known, Some(schema));
    }

    #[test]
    fn a_field_without_a_class_is_not_of_a_class_without_an_id() {
        let mut metadata = MetadataBuilder {
            strings: Vec::new(),
            elements: Vec::new(),
        };
        metadata.element("root", &[], 3);
        metadata.element("class", &[("name", "long")], 0);
        metadata.element("class", &[("name", "int"), ("id", "-1")], 0);
        metadata.element("class", &[("name", "acme.Sale"), ("id", "7")], 2);
        metadata.element("field", &[("name", "total")], 0);
        metadata.element("field", &[("name", "count"), ("class", "-1")], 0);
        let schema = metadata.schema();
        let sale = schema.get(schema.index(7).unwrap()).unwrap();
        let kinds: Vec<_> = sale.fields.iter().map(|field| field.kind).collect();
        assert_eq!(kinds, [FieldEncoding::Unknown, FieldEncoding::Int]);
    }
}
