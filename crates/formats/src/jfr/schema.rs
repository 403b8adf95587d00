//! The types a recording describes in its metadata, ready for decoding.

use std::collections::HashMap;
use std::sync::Arc;

use traceloom_model::Limits;

use super::metadata::MetadataEvent;
use super::raw_types::RawType;
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

pub(super) fn runs(fields: &[FieldSchema]) -> Vec<SkippedFields> {
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

/// The type of strings, which have a pool of their own.
pub(super) const STRING: &str = "java.lang.String";

/// The types that are known, of the chunk at hand or the one before; pieces of a recording share them.
pub(super) type KnownTypes = Option<Arc<TypeSchemas>>;

impl TypeSchemas {
    /// Builds the types that the body of a metadata event describes, unless those that are known are the same. Returns none when
    /// it cannot be read to its end, and leaves those that are known.
    pub(super) fn settle<'k>(
        known: &'k mut KnownTypes,
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
            *known = Some(Arc::new(Self::build(&metadata)));
        }
        known.as_deref()
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
        let raw = RawType::all(metadata);
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
        let built = raw.iter().map(|found| found.build(&schema, &names));
        schema.types = built.collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jfr::scan::{compressed_width, put_integer};

    /// A metadata event whose elements are given by name, attributes and children.
    #[derive(Default)]
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

        fn schema(&self) -> Arc<TypeSchemas> {
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
        let mut metadata = MetadataBuilder::default();
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
        let mut metadata = MetadataBuilder::default();
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
