//! The records of a binary stream.

use traceloom_model::bounds::saturated_i64;

use super::{DESCRIPTOR, HEADER, Shape, write};
use crate::tptp::charset::Charset;
use crate::tptp::message::{Message, Slot};
use crate::tptp::seconds;
use crate::tptp::table::{Kind, Layout, Schema};
use crate::{Field, Record};

/// The twelve bytes at the start (SPEC.md §1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// `0TBF`, or the same with NUL for the digit.
    pub magic: [u8; 4],
    /// Major version; this reader knows 1.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
    /// 0 for a 32-bit process, 1 for a 64-bit one.
    pub platform: u8,
    /// 0 for big-endian numbers, 1 for little-endian ones.
    pub endianness: u8,
    /// Where messages begin, from the first byte of the descriptor.
    pub offset_to_data: u32,
}

impl Record for Descriptor {
    fn kind(&self) -> &'static str {
        "descriptor"
    }

    fn offset(&self) -> u64 {
        0
    }

    fn len(&self) -> u64 {
        DESCRIPTOR as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("magic", Field::Text(&self.magic));
        show("version_major", Field::U64(self.major.into()));
        show("version_minor", Field::U64(self.minor.into()));
        show("platform", Field::U64(self.platform.into()));
        show("endianness", Field::U64(self.endianness.into()));
        show("offset_to_data", Field::U64(self.offset_to_data.into()));
    }

    fn write(&self, out: &mut Vec<u8>) {
        let shape = Shape {
            big: self.endianness == 0,
            ..Shape::default()
        };
        out.extend_from_slice(&self.magic);
        out.extend_from_slice(&[self.major, self.minor, self.platform, self.endianness]);
        shape.put_u32(self.offset_to_data, out);
    }
}

/// System message 1: the charset of the strings after it.
#[derive(Clone, Copy, Debug)]
pub struct Encoding<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its name, as written.
    pub name: &'a [u8],
    /// What holds for the strings after it.
    pub charset: Charset,
    /// It has a size field.
    pub sized: bool,
    pub(super) shape: Shape,
}

impl Record for Encoding<'_> {
    fn kind(&self) -> &'static str {
        "encoding"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        (if self.sized { HEADER } else { 2 } + self.name.len() + 1) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("charset", Field::Text(self.name));
        show("sized", Field::Bool(self.sized));
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::system(self.shape, 1, self.sized, out, |out| {
            out.extend_from_slice(self.name);
            out.push(0);
        });
    }
}

/// System message 2: ticks per second.
#[derive(Clone, Copy, Debug)]
pub struct Frequency {
    /// Where it begins.
    pub offset: u64,
    /// Its eight bytes as an integer.
    pub bits: u64,
    /// They are those of a double.
    pub as_double: bool,
    /// It has a size field.
    pub sized: bool,
    pub(super) shape: Shape,
}

impl Frequency {
    /// Takes eight bytes for an integer, or for a double where the integer is no frequency and the
    /// double is one (SPEC.md §1.3).
    #[must_use]
    pub fn new(offset: u64, bits: u64, sized: bool, shape: Shape) -> Self {
        let double = f64::from_bits(bits);
        Self {
            offset,
            bits,
            as_double: bits > 1_000_000_000_000 && (1e6..=1e11).contains(&double),
            sized,
            shape,
        }
    }

    /// Returns the ticks per second; a double is rounded down.
    #[must_use]
    pub fn ticks_per_second(&self) -> u64 {
        if !self.as_double {
            return self.bits;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "as_double says it lies between 1e6 and 1e11"
        )]
        let whole = f64::from_bits(self.bits) as u64;
        whole
    }
}

impl Record for Frequency {
    fn kind(&self) -> &'static str {
        "frequency"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        if self.sized { 14 } else { 10 }
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("ticks_per_second", Field::U64(self.ticks_per_second()));
        show("sized", Field::Bool(self.sized));
        if self.as_double {
            show("as_double", Field::F64(f64::from_bits(self.bits)));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::system(self.shape, 2, self.sized, out, |out| {
            self.shape.put_u64(self.bits, out);
        });
    }
}

/// A data message of the table.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its fields.
    pub message: Message<'a>,
    /// Bytes behind the last field: fields of a later version, or arrays nobody can read.
    pub trailing: &'a [u8],
    /// The size field, where it contradicts the length.
    pub declared: Option<u32>,
    /// Ticks per second so far, 0 when none were declared.
    pub ticks_per_second: u64,
    pub(super) shape: Shape,
}

impl Data<'_> {
    /// Returns what its stream decided for all messages.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

impl Record for Data<'_> {
    fn kind(&self) -> &'static str {
        self.message.schema.kind
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        self.message.show(show);
        if !self.trailing.is_empty() {
            show("trailing", Field::Bytes(self.trailing));
        }
        if let Some(declared) = self.declared {
            show("declared_size", Field::U64(declared.into()));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.shape
            .header(self.message.schema.id, self.declared, out, |out| {
                write::payload(&self.message, self.shape, out);
                out.extend_from_slice(self.trailing);
            });
    }

    fn time(&self) -> Option<(i64, i64)> {
        time_of(&self.message, self.ticks_per_second)
    }
}

/// Returns true if a message carries a time.
pub(super) fn has_time(schema: &'static Schema) -> bool {
    let fields = schema.fields(Layout::Table);
    fields.iter().any(|field| field.kind == Kind::Ticks)
}

/// The first `time` of a message in nanoseconds.
pub(in crate::tptp) fn time_of(message: &Message<'_>, ticks_per_second: u64) -> Option<(i64, i64)> {
    let fields = message.fields();
    let at = fields
        .iter()
        .position(|field| field.kind == Kind::Ticks && field.attribute == "time")?;
    let Some(&Slot::Number(ticks)) = message.values.get(at) else {
        return None;
    };
    let per_second = if ticks_per_second == 0 {
        seconds::NANOS
    } else {
        ticks_per_second
    };
    let nanos = u128::from(ticks) * u128::from(seconds::NANOS) / u128::from(per_second);
    let nanos = saturated_i64(nanos);
    (ticks != 0).then_some((nanos, nanos))
}

/// A message whose id no table has.
#[derive(Clone, Copy, Debug)]
pub struct Unknown<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its id.
    pub id: u16,
    /// Its bytes behind the header.
    pub payload: &'a [u8],
    pub(super) shape: Shape,
}

impl Record for Unknown<'_> {
    fn kind(&self) -> &'static str {
        "unknown"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        (HEADER + self.payload.len()) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("id", Field::U64(self.id.into()));
        show("payload", Field::Bytes(self.payload));
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.shape.header(self.id, None, out, |out| {
            out.extend_from_slice(self.payload)
        });
    }
}
