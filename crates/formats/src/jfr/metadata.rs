//! The metadata event: strings, and a tree of elements that describes every type.

use std::borrow::Cow;

use traceloom_model::bounds::{in_memory, row_number, subslice};
use traceloom_model::{Limit, Limits};

use super::scan::{Bad, Scan, Str};
use super::value::ValueVisitor;

/// Rows that there is room for at once.
const RESERVED: usize = 1 << 14;

/// What an element is, as far as decoding cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    Class,
    Field,
    Annotation,
    Other,
}

/// One element of the tree, in document order.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetadataElement {
    pub(super) tag: Tag,
    /// Elements around it.
    pub(super) depth: u32,
    /// String index of its name.
    pub(super) name: u32,
    /// Its attributes are those from one to another.
    attributes: (u32, u32),
}

/// A metadata event (SPEC.md §4).
#[derive(Debug, Default)]
pub(super) struct MetadataEvent<'a> {
    pub(super) start: u64,
    pub(super) duration: u64,
    pub(super) id: u64,
    /// All that follows, which describes the types: many chunks have the same.
    pub(super) description: &'a [u8],
    pub(super) is_compressed: bool,
    pub(super) strings: Vec<Str<'a>>,
    pub(super) elements: Vec<MetadataElement>,
    /// String indices of keys and values.
    attributes: Vec<(u32, u32)>,
}

impl<'a> MetadataEvent<'a> {
    /// Reads the event's body; elements nest in data, not on the stack.
    ///
    /// What it reads it also hands to `emit`, in order, so that the bytes can be written from it.
    pub(super) fn read<E: ValueVisitor>(
        scan: &mut Scan<'a>,
        limits: &Limits,
        emit: &mut E,
    ) -> Result<Self, Bad> {
        let mut metadata = Self {
            start: emit.long(scan)?,
            duration: emit.long(scan)?,
            id: emit.long(scan)?,
            is_compressed: scan.compressed,
            ..Self::default()
        };
        let described = *scan;
        let longest = limits.size(Limit::String);
        let count = emit.int(scan)?;
        if count > limits.of(Limit::Table) {
            return Err(Bad::Limit(Limit::Table));
        }
        metadata
            .strings
            .reserve(in_memory(count).min(scan.left()).min(RESERVED));
        for _ in 0..count {
            metadata.strings.push(emit.string(scan, longest)?);
        }
        // As the JDK writes them.
        metadata.elements.reserve((scan.left() / 12).min(RESERVED));
        metadata.attributes.reserve((scan.left() / 4).min(RESERVED));
        let known: Vec<Tag> = metadata.strings.iter().map(|&name| tag(name)).collect();
        // Children still to come at each depth.
        let mut open = vec![1_u64];
        while let Some(left) = open.last_mut() {
            if *left == 0 {
                open.pop();
                continue;
            }
            *left -= 1;
            let name = index(emit.int(scan)?, known.len())?;
            let count = emit.int(scan)?;
            let first = row_number(metadata.attributes.len());
            for _ in 0..count {
                let key = index(emit.int(scan)?, known.len())?;
                let value = index(emit.int(scan)?, known.len())?;
                metadata.attributes.push((key, value));
            }
            metadata.elements.push(MetadataElement {
                tag: get(&known, name).unwrap_or(Tag::Other),
                depth: row_number(open.len()),
                name,
                attributes: (first, row_number(metadata.attributes.len())),
            });
            open.push(emit.int(scan)?);
        }
        metadata.description = described.between(described.at(), scan.at());
        Ok(metadata)
    }

    /// Iterates over the attributes of an element, as string indices.
    pub(super) fn attributes(&self, element: &MetadataElement) -> &[(u32, u32)] {
        let (first, end) = element.attributes;
        subslice(&self.attributes, first as usize..end as usize)
    }

    /// Returns a string of the event's table.
    pub(super) fn string(&self, index: u32) -> Cow<'a, [u8]> {
        let string = get(&self.strings, index).unwrap_or(Str::Null);
        string.text().unwrap_or(Cow::Borrowed(&[]))
    }

    fn value(&self, element: &MetadataElement, key: &str) -> Option<Cow<'a, [u8]>> {
        let (_, value) = self
            .attributes(element)
            .iter()
            .find(|&&(name, _)| *self.string(name) == *key.as_bytes())?;
        Some(self.string(*value))
    }

    /// Returns the attribute `key` as text.
    pub(super) fn text(&self, element: &MetadataElement, key: &str) -> Option<Cow<'a, str>> {
        Some(match self.value(element, key)? {
            Cow::Borrowed(value) => String::from_utf8_lossy(value),
            Cow::Owned(value) => Cow::Owned(String::from_utf8_lossy(&value).into_owned()),
        })
    }

    /// Returns the attribute `key` as a number; ids may be written with a sign.
    pub(super) fn number(&self, element: &MetadataElement, key: &str) -> Option<u64> {
        let value = self.value(element, key)?;
        let digits = std::str::from_utf8(&value).ok()?;
        let signed = digits.parse::<i64>().ok().map(i64::cast_unsigned);
        signed.or_else(|| digits.parse().ok())
    }

    /// Returns true if the attribute `key` is `value`.
    pub(super) fn is(&self, element: &MetadataElement, key: &str, value: &str) -> bool {
        self.value(element, key)
            .is_some_and(|found| *found == *value.as_bytes())
    }
}

fn tag(name: Str<'_>) -> Tag {
    match name.text().as_deref() {
        Some(b"class") => Tag::Class,
        Some(b"field") => Tag::Field,
        Some(b"annotation") => Tag::Annotation,
        _ => Tag::Other,
    }
}

fn index(value: u64, len: usize) -> Result<u32, Bad> {
    let index = u32::try_from(value).map_err(|_| Bad::Undefined)?;
    if (index as usize) < len {
        Ok(index)
    } else {
        Err(Bad::Undefined)
    }
}

fn get<T: Copy>(rows: &[T], index: u32) -> Option<T> {
    rows.get(index as usize).copied()
}
