//! The dictionary that all profiles of a message share: tables referred to by position.

use std::ops::Range;

use traceloom_model::{Limit, Limits};

use super::value::{id, span_id};
use crate::profile::Strings;
use crate::protobuf::{fields, packed_varints};

/// A mapped binary.
#[derive(Clone, Copy, Debug, Default)]
pub struct DictionaryMapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub limit: u64,
    /// Offset in the file of the first address.
    pub offset: u64,
    /// Its file, in the table of strings.
    pub file: u64,
    /// The first of its attributes that names a build.
    pub attributes: Option<u64>,
}

/// A place in the program.
#[derive(Clone, Debug, Default)]
pub struct DictionaryLocation {
    /// The mapping it lies in.
    pub mapping: u64,
    /// The address.
    pub address: u64,
    /// Its rows of [`ProfilesDictionary::lines`], inlined functions first.
    pub lines: Range<usize>,
    /// The first of its attributes.
    pub attribute: Option<u64>,
}

/// A function at a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionLine {
    /// The function.
    pub function: u64,
    /// The line; 0 for none.
    pub line: u64,
    /// The column; 0 for none.
    pub column: u64,
}

/// A function; texts are positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct DictionaryFunction {
    /// The name.
    pub name: u64,
    /// The name in the binary.
    pub system_name: u64,
    /// The file of the source.
    pub file: u64,
    /// The line it begins at; 0 for none.
    pub start_line: u64,
}

/// An attribute with its unit; the value is not decoded.
#[derive(Clone, Debug, Default)]
pub struct UnitAttribute {
    /// The name, in the table of strings.
    pub key: u64,
    /// The body of its `AnyValue`.
    pub value: Box<[u8]>,
    /// The unit, in the table of strings.
    pub unit: u64,
}

/// The tables.
#[derive(Debug, Default)]
pub struct ProfilesDictionary {
    pub(super) strings: Strings,
    /// Mapped binaries.
    pub mappings: Vec<DictionaryMapping>,
    /// Places in the program.
    pub locations: Vec<DictionaryLocation>,
    /// Functions at lines, of all locations.
    pub lines: Vec<FunctionLine>,
    /// Functions.
    pub functions: Vec<DictionaryFunction>,
    /// Trace and span.
    pub links: Vec<(u128, u64)>,
    /// Attributes.
    pub attributes: Vec<UnitAttribute>,
    /// Stacks: rows of [`ProfilesDictionary::stack_locations`], callees first.
    pub stacks: Vec<Range<usize>>,
    /// Locations of all stacks.
    pub stack_locations: Vec<u64>,
}

impl ProfilesDictionary {
    /// Takes one row: the field number of its table and its body.
    ///
    /// Returns false when the table is full.
    pub(super) fn take(&mut self, table: u32, body: &[u8], limits: &Limits) -> bool {
        let rows = match table {
            1 => self.mappings.len(),
            2 => self.locations.len() + self.lines.len(),
            3 => self.functions.len(),
            4 => self.links.len(),
            5 => self.strings.len(),
            6 => self.attributes.len(),
            7 => self.stacks.len() + self.stack_locations.len(),
            _ => 0,
        };
        if rows >= limits.size(Limit::Table) {
            return false;
        }
        match table {
            1 => self.mapping(body),
            2 => self.location(body),
            3 => self.function(body),
            4 => {
                let mut link = (0, 0);
                for (number, value) in fields(body) {
                    match number {
                        1 => link.0 = id(value.bytes()),
                        2 => link.1 = span_id(value.bytes()),
                        _ => {}
                    }
                }
                self.links.push(link);
            }
            5 if body.len() > limits.size(Limit::String) => {
                self.strings.push(&[]);
                return false;
            }
            5 => self.strings.push(body),
            6 => {
                let mut row = UnitAttribute::default();
                for (number, value) in fields(body) {
                    match number {
                        1 => row.key = value.number(),
                        2 => row.value = value.bytes().into(),
                        3 => row.unit = value.number(),
                        _ => {}
                    }
                }
                self.attributes.push(row);
            }
            7 => {
                let from = self.stack_locations.len();
                for (_, value) in fields(body).filter(|&(number, _)| number == 1) {
                    packed_varints(value, &mut self.stack_locations);
                }
                self.stacks.push(from..self.stack_locations.len());
            }
            _ => {}
        }
        true
    }

    fn mapping(&mut self, body: &[u8]) {
        let mut row = DictionaryMapping::default();
        let mut attributes = Vec::new();
        for (number, value) in fields(body) {
            match number {
                1 => row.start = value.number(),
                2 => row.limit = value.number(),
                3 => row.offset = value.number(),
                4 => row.file = value.number(),
                5 => packed_varints(value, &mut attributes),
                _ => {}
            }
        }
        row.attributes = attributes.first().copied();
        self.mappings.push(row);
    }

    fn location(&mut self, body: &[u8]) {
        let mut row = DictionaryLocation::default();
        let mut attributes = Vec::new();
        let from = self.lines.len();
        for (number, value) in fields(body) {
            match number {
                1 => row.mapping = value.number(),
                2 => row.address = value.number(),
                3 => {
                    let mut line = FunctionLine::default();
                    for (number, value) in fields(value.bytes()) {
                        match number {
                            1 => line.function = value.number(),
                            2 => line.line = value.number(),
                            3 => line.column = value.number(),
                            _ => {}
                        }
                    }
                    self.lines.push(line);
                }
                4 => packed_varints(value, &mut attributes),
                _ => {}
            }
        }
        row.attribute = attributes.first().copied();
        row.lines = from..self.lines.len();
        self.locations.push(row);
    }

    fn function(&mut self, body: &[u8]) {
        let mut row = DictionaryFunction::default();
        for (number, value) in fields(body) {
            match number {
                1 => row.name = value.number(),
                2 => row.system_name = value.number(),
                3 => row.file = value.number(),
                4 => row.start_line = value.number(),
                _ => {}
            }
        }
        self.functions.push(row);
    }

    /// Returns a text; an empty one where there is none.
    #[must_use]
    pub fn text(&self, index: u64) -> &[u8] {
        let index = i64::try_from(index).unwrap_or(-1);
        self.strings.get(index).unwrap_or(&[])
    }
}
