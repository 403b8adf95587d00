//! A profile decoded into columns: what lowering works on, and the fast path.
//!
//! Everything but the samples is a table that is held whole; samples come in blocks. Values are what
//! the messages hold: ids and positions in the string table are not looked up here.

use std::ops::Range;

use crate::protobuf::{delimited, packed, skip, tag, varint};

/// Type and unit of a value column, positions in the string table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ValueType {
    /// Its name.
    pub r#type: i64,
    /// Its unit.
    pub unit: i64,
}

/// A mapped binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields of the message `Mapping`")]
pub struct Mapping {
    pub id: u64,
    pub memory_start: u64,
    pub memory_limit: u64,
    pub file_offset: u64,
    pub filename: i64,
    pub build_id: i64,
    pub has_functions: bool,
    pub has_filenames: bool,
    pub has_line_numbers: bool,
    pub has_inline_frames: bool,
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields of the message `Location`")]
pub struct Location {
    pub id: u64,
    pub mapping_id: u64,
    pub address: u64,
    /// Rows of [`Tables::lines`], the innermost function first.
    pub line: Range<usize>,
    pub is_folded: bool,
}

/// A function at a line, inlined into the next one of its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields of the message `Line`")]
pub struct Line {
    pub function_id: u64,
    pub line: i64,
    pub column: i64,
}

/// A function; texts are positions in the string table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields of the message `Function`")]
pub struct Function {
    pub id: u64,
    pub name: i64,
    pub system_name: i64,
    pub filename: i64,
    pub start_line: i64,
}

/// A label of a sample; texts are positions in the string table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields of the message `Label`")]
pub struct Label {
    pub key: i64,
    pub str: i64,
    pub num: i64,
    pub num_unit: i64,
}

/// Everything of a profile but its samples.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields of the message `Profile`")]
pub struct Tables {
    pub sample_type: Vec<ValueType>,
    /// Stretches of the part that hold the samples.
    pub sample: Vec<Range<u64>>,
    pub mapping: Vec<Mapping>,
    pub location: Vec<Location>,
    /// The lines of all locations.
    pub lines: Vec<Line>,
    pub function: Vec<Function>,
    pub strings: crate::profile::Strings,
    pub drop_frames: i64,
    pub keep_frames: i64,
    pub time_nanos: i64,
    pub duration_nanos: i64,
    pub period_type: Option<ValueType>,
    pub period: i64,
    pub comment: Vec<i64>,
    pub default_sample_type: i64,
    pub doc_url: i64,
}

/// Samples, each a run of rows in three columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Samples {
    /// Where the records lie in the part.
    pub offsets: Vec<u64>,
    /// Location ids of all samples, the innermost of each first.
    pub location_id: Vec<u64>,
    /// Values of all samples.
    pub value: Vec<i64>,
    /// Labels of all samples.
    pub label: Vec<Label>,
    ends: Vec<(usize, usize, usize)>,
}

/// One sample of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields of the message `Sample`")]
pub struct Sample<'a> {
    pub location_id: &'a [u64],
    pub value: &'a [i64],
    pub label: &'a [Label],
}

impl Samples {
    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets the samples and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.location_id.clear();
        self.value.clear();
        self.label.clear();
        self.ends.clear();
    }

    /// Returns the sample at `row`.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Sample<'_>> {
        let &(locations, values, labels) = self.ends.get(row)?;
        let before = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let &(from_locations, from_values, from_labels) = before.unwrap_or(&(0, 0, 0));
        Some(Sample {
            location_id: self.location_id.get(from_locations..locations)?,
            value: self.value.get(from_values..values)?,
            label: self.label.get(from_labels..labels)?,
        })
    }

    /// Decodes the body of a `Sample` that lies at `offset`.
    ///
    /// Returns whether fields were stepped over, because the schema does not know them or their wire
    /// type is not its own; none when the body is no message, and then nothing is added.
    pub fn push(&mut self, offset: u64, body: &[u8]) -> Option<bool> {
        let sizes = (self.location_id.len(), self.value.len(), self.label.len());
        let stepped = self.decode(body);
        if stepped.is_some() {
            self.offsets.push(offset);
            let ends = (self.location_id.len(), self.value.len(), self.label.len());
            self.ends.push(ends);
        } else {
            self.location_id.truncate(sizes.0);
            self.value.truncate(sizes.1);
            self.label.truncate(sizes.2);
        }
        stepped
    }

    #[inline]
    fn decode(&mut self, body: &[u8]) -> Option<bool> {
        let mut stepped = false;
        let mut at = 0;
        while at < body.len() {
            let (field, next) = varint(body, at)?;
            at = next;
            match field {
                0x0a => {
                    let (run, next) = delimited(body, at)?;
                    packed(run, &mut self.location_id, |id| id)?;
                    at = next;
                }
                0x08 => {
                    let (id, next) = varint(body, at)?;
                    self.location_id.push(id);
                    at = next;
                }
                0x12 => {
                    let (run, next) = delimited(body, at)?;
                    packed(run, &mut self.value, u64::cast_signed)?;
                    at = next;
                }
                0x10 => {
                    let (value, next) = varint(body, at)?;
                    self.value.push(value.cast_signed());
                    at = next;
                }
                0x1a => {
                    let (label, next) = delimited(body, at)?;
                    let mut row = [0; 4];
                    stepped |= numbers(label, &mut row)?;
                    let [key, str, num, num_unit] = row.map(u64::cast_signed);
                    self.label.push(Label {
                        key,
                        str,
                        num,
                        num_unit,
                    });
                    at = next;
                }
                other => {
                    at = skip(body, at, tag(other)?.1)?;
                    stepped = true;
                }
            }
        }
        Some(stepped)
    }
}

/// Decodes a message whose fields are all single integers: `fields[n]` takes field number n + 1.
///
/// Returns whether fields were stepped over; none when the body is no message.
#[inline]
fn numbers<const N: usize>(body: &[u8], fields: &mut [u64; N]) -> Option<bool> {
    let mut stepped = false;
    let mut at = 0;
    while at < body.len() {
        let (raw, next) = varint(body, at)?;
        let slot = usize::try_from(raw >> 3).ok()?.wrapping_sub(1);
        match fields.get_mut(slot) {
            Some(field) if raw & 7 == 0 => (*field, at) = varint(body, next)?,
            _ => {
                at = skip(body, next, tag(raw)?.1)?;
                stepped = true;
            }
        }
    }
    Some(stepped)
}

impl Tables {
    /// Makes room for what so many bytes of a profile hold: growing step by step copies every row
    /// twice. A row takes more bytes than this in every profile seen, and room not used costs nothing.
    pub(super) fn reserve(&mut self, bytes: usize) {
        let bytes = bytes.min(256 << 20);
        self.location.reserve(bytes / 100);
        self.lines.reserve(bytes / 60);
        self.function.reserve(bytes / 100);
        self.strings.reserve(bytes / 100, bytes / 3);
    }

    /// Decodes a `ValueType`.
    pub(super) fn value_type(body: &[u8]) -> Option<(ValueType, bool)> {
        let mut row = [0; 2];
        let stepped = numbers(body, &mut row)?;
        let [r#type, unit] = row.map(u64::cast_signed);
        Some((ValueType { r#type, unit }, stepped))
    }

    /// Decodes a `Mapping` and adds it; none when the body is no message.
    pub(super) fn push_mapping(&mut self, body: &[u8]) -> Option<bool> {
        let mut row = [0; 10];
        let stepped = numbers(body, &mut row)?;
        let [id, start, limit, offset, filename, build_id, flags @ ..] = row;
        let [
            has_functions,
            has_filenames,
            has_line_numbers,
            has_inline_frames,
        ] = flags.map(|flag| flag != 0);
        self.mapping.push(Mapping {
            id,
            memory_start: start,
            memory_limit: limit,
            file_offset: offset,
            filename: filename.cast_signed(),
            build_id: build_id.cast_signed(),
            has_functions,
            has_filenames,
            has_line_numbers,
            has_inline_frames,
        });
        Some(stepped)
    }

    /// Decodes a `Function` and adds it; none when the body is no message.
    pub(super) fn push_function(&mut self, body: &[u8]) -> Option<bool> {
        let mut row = [0; 5];
        let stepped = numbers(body, &mut row)?;
        let [id, rest @ ..] = row;
        let [name, system_name, filename, start_line] = rest.map(u64::cast_signed);
        self.function.push(Function {
            id,
            name,
            system_name,
            filename,
            start_line,
        });
        Some(stepped)
    }

    /// Decodes a `Location` and adds it; none when the body is no message.
    pub(super) fn push_location(&mut self, body: &[u8]) -> Option<bool> {
        let first = self.lines.len();
        let mut location = Location::default();
        let stepped = self.location_fields(body, &mut location);
        if stepped.is_some() {
            location.line = first..self.lines.len();
            self.location.push(location);
        } else {
            self.lines.truncate(first);
        }
        stepped
    }

    #[inline]
    fn location_fields(&mut self, body: &[u8], location: &mut Location) -> Option<bool> {
        let mut stepped = false;
        let mut at = 0;
        while at < body.len() {
            let (field, next) = varint(body, at)?;
            at = next;
            match field {
                0x08 => (location.id, at) = varint(body, at)?,
                0x10 => (location.mapping_id, at) = varint(body, at)?,
                0x18 => (location.address, at) = varint(body, at)?,
                0x22 => {
                    let (line, next) = delimited(body, at)?;
                    let mut row = [0; 3];
                    stepped |= numbers(line, &mut row)?;
                    let [function_id, line, column] = row;
                    self.lines.push(Line {
                        function_id,
                        line: line.cast_signed(),
                        column: column.cast_signed(),
                    });
                    at = next;
                }
                0x28 => {
                    let flag;
                    (flag, at) = varint(body, at)?;
                    location.is_folded = flag != 0;
                }
                other => {
                    at = skip(body, at, tag(other)?.1)?;
                    stepped = true;
                }
            }
        }
        Some(stepped)
    }
}
