//! Types as the elements of metadata describe them, before others are known.

use std::borrow::Cow;
use std::collections::HashMap;

use super::metadata::{MetadataElement, MetadataEvent, Tag};
use super::schema::{
    FieldEncoding, FieldSchema, NumberMeaning, STRING, TypeSchema, TypeSchemas, runs,
};

/// Annotations longer than this are not kept: one string of the metadata may be the value of any number.
const ANNOTATION: usize = 256;

/// A type as the metadata describes it.
pub(super) struct RawType<'m> {
    /// None for a type that nothing can refer to.
    pub(super) id: Option<u64>,
    pub(super) name: Cow<'m, str>,
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
    /// Returns the types that metadata describes.
    pub(super) fn all(metadata: &MetadataEvent<'m>) -> Vec<Self> {
        let mut raw: Vec<Self> = Vec::new();
        for element in &metadata.elements {
            match element.tag {
                Tag::Class => raw.push(Self::new(metadata, element)),
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
        raw
    }

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

    /// Builds the type that decodes; `names` are those of all types.
    pub(super) fn build(&self, schema: &TypeSchemas, names: &HashMap<u64, &str>) -> TypeSchema {
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
