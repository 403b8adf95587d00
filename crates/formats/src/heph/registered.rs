//! Attribute types and options that the specification leaves open, as the author of a writer describes them (SPEC.md §1.2, §1.3).

use std::sync::OnceLock;

use crate::DescriptionError;

/// Described once for a process: readers of all threads see the same.
static REGISTERED: OnceLock<DescribedTypes> = OnceLock::new();

/// Most options of a description.
const MOST_OPTIONS: usize = 4096;
/// Set in the type byte of a list.
const LIST: u8 = 0x80;

/// How a value lies in its bytes; integers and floats are big-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A byte, 0 or 1.
    Bool,
    /// A byte.
    Byte,
    /// Four bytes, unsigned.
    Int,
    /// Four bytes, two's complement.
    Signed,
    /// Eight bytes, unsigned.
    Long,
    /// Four bytes, binary32.
    Float,
    /// UTF-8 after its length in two bytes; that of an option ends with its packet.
    Text,
    /// Bytes after their length in two bytes; those of an option end with its packet.
    Bytes,
}

/// One value of a described type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DescribedValue<'a> {
    /// Of [`Encoding::Bool`].
    Bool(bool),
    /// Of [`Encoding::Byte`], [`Encoding::Int`] and [`Encoding::Long`].
    U64(u64),
    /// Of [`Encoding::Signed`].
    I64(i64),
    /// Of [`Encoding::Float`].
    F64(f64),
    /// Of [`Encoding::Text`]; should be UTF-8.
    Text(&'a [u8]),
    /// Of [`Encoding::Bytes`].
    Bytes(&'a [u8]),
}

/// The value of an attribute whose type is described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Described<'a> {
    /// Its type byte.
    pub type_byte: u8,
    /// How it, or each element of the list, lies in the bytes.
    pub encoding: Encoding,
    /// How many there are; none for a single value.
    pub count: Option<u16>,
    /// The bytes of all.
    pub bytes: &'a [u8],
}

impl<'a> Described<'a> {
    /// Iterates over the single value or the elements of the list.
    pub fn values(self) -> impl Iterator<Item = DescribedValue<'a>> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (value, left) = self.encoding.split(rest)?;
            rest = left;
            Some(value)
        })
    }
}

impl Encoding {
    /// Reads the value that `bytes` begin with.
    fn split(self, bytes: &[u8]) -> Option<(DescribedValue<'_>, &[u8])> {
        Some(match self {
            Self::Bool => match bytes.split_first()? {
                (0, rest) => (DescribedValue::Bool(false), rest),
                (1, rest) => (DescribedValue::Bool(true), rest),
                _ => return None,
            },
            Self::Byte => {
                let (&byte, rest) = bytes.split_first()?;
                (DescribedValue::U64(u64::from(byte)), rest)
            }
            Self::Int => {
                let (&raw, rest) = bytes.split_first_chunk()?;
                (
                    DescribedValue::U64(u64::from(u32::from_be_bytes(raw))),
                    rest,
                )
            }
            Self::Signed => {
                let (&raw, rest) = bytes.split_first_chunk()?;
                (
                    DescribedValue::I64(i64::from(i32::from_be_bytes(raw))),
                    rest,
                )
            }
            Self::Long => {
                let (&raw, rest) = bytes.split_first_chunk()?;
                (DescribedValue::U64(u64::from_be_bytes(raw)), rest)
            }
            Self::Float => {
                let (&raw, rest) = bytes.split_first_chunk()?;
                (
                    DescribedValue::F64(f64::from(f32::from_be_bytes(raw))),
                    rest,
                )
            }
            Self::Text | Self::Bytes => {
                let (&length, rest) = bytes.split_first_chunk()?;
                let length = usize::from(u16::from_be_bytes(length));
                let (text, rest) = rest.split_at_checked(length)?;
                (self.whole(text)?, rest)
            }
        })
    }

    /// Reads a value that is all of `bytes`.
    fn whole(self, bytes: &[u8]) -> Option<DescribedValue<'_>> {
        match self {
            Self::Text => Some(DescribedValue::Text(bytes)),
            Self::Bytes => Some(DescribedValue::Bytes(bytes)),
            _ => match self.split(bytes)? {
                (value, []) => Some(value),
                _ => None,
            },
        }
    }

    /// Appends a value that is all of a packet's end; false if it is of another type.
    fn put(self, value: DescribedValue<'_>, out: &mut Vec<u8>) -> bool {
        use DescribedValue as Is;
        match (self, value) {
            (Self::Bool, Is::Bool(value)) => out.push(u8::from(value)),
            (Self::Byte, Is::U64(value)) => match u8::try_from(value) {
                Ok(value) => out.push(value),
                Err(_) => return false,
            },
            (Self::Int, Is::U64(value)) => match u32::try_from(value) {
                Ok(value) => out.extend_from_slice(&value.to_be_bytes()),
                Err(_) => return false,
            },
            (Self::Signed, Is::I64(value)) => match i32::try_from(value) {
                Ok(value) => out.extend_from_slice(&value.to_be_bytes()),
                Err(_) => return false,
            },
            (Self::Long, Is::U64(value)) => out.extend_from_slice(&value.to_be_bytes()),
            (Self::Float, Is::F64(value)) => {
                let Some(narrow) = narrow(value) else {
                    return false;
                };
                out.extend_from_slice(&narrow.to_be_bytes());
            }
            (Self::Text, Is::Text(bytes)) | (Self::Bytes, Is::Bytes(bytes)) => {
                out.extend_from_slice(bytes);
            }
            _ => return false,
        }
        true
    }
}

/// Returns a float that was widened as it was before.
fn narrow(value: f64) -> Option<f32> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what does not widen to the same bits is refused"
    )]
    let narrow = value as f32;
    (f64::from(narrow).to_bits() == value.to_bits()).then_some(narrow)
}

/// What is described.
#[derive(Debug, Default)]
pub(crate) struct DescribedTypes {
    types: Vec<(u8, Encoding)>,
    options: Vec<(String, Encoding)>,
}

/// Has readers and the writer know more attribute types and options than the specification has, from now on in this process.
///
/// Each line describes one: `heph type BYTE ENCODING` for values of attributes, whose lists have the type with its highest bit set,
/// or `heph option NAME ENCODING`. An encoding is `bool`, `byte`, `int`, `signed`, `long`, `float`, `text` or `bytes`, as
/// [`Encoding`] has them. Blank lines and lines that begin with `#` are left out.
///
/// ```
/// use traceloom_formats::{heph, Records, read_slice};
/// use traceloom_model::Limits;
///
/// heph::register("heph type 0x05 bool")?;
/// let mut bytes = b"\xc1\xfc\x1f\xb7\0\0\0\x31".to_vec();
/// bytes.extend([0; 34]);
/// bytes.extend(b"\0\x03hit\x05\x01");
/// let mut records = Records::default();
/// read_slice(&mut heph::Reader::new(&Limits::default()), &bytes, &mut records);
/// assert_eq!(records.written(), bytes);
/// # Ok::<(), traceloom_formats::DescriptionError>(())
/// ```
///
/// # Errors
/// The first line that describes nothing, or what is there already; or something is described already in this process.
pub fn register(description: &str) -> Result<(), DescriptionError> {
    set(described(description)?)
}

/// Returns what a description has.
pub(crate) fn described(description: &str) -> Result<DescribedTypes, DescriptionError> {
    let mut all = DescribedTypes::default();
    for (at, line) in description.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |text| DescriptionError { line: at + 1, text };
        all.line(line).map_err(wrong)?;
    }
    Ok(all)
}

/// Has readers and the writer know this.
pub(crate) fn set(all: DescribedTypes) -> Result<(), DescriptionError> {
    let done = REGISTERED.set(all);
    done.map_err(|_| DescriptionError {
        line: 0,
        text: "types of Heph are described already in this process".to_owned(),
    })
}

impl DescribedTypes {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.as_slice() {
            ["heph", "type", byte, encoding] => {
                let type_byte = type_byte(byte)?;
                if self.types.iter().any(|one| one.0 == type_byte) {
                    return Err(format!("type {byte} is there already"));
                }
                self.types.push((type_byte, self::encoding(encoding)?));
            }
            ["heph", "option", name, encoding] => {
                if name == "epoch" || self.options.iter().any(|one| one.0 == name) {
                    return Err(format!("option {name} is there already"));
                }
                if self.options.len() >= MOST_OPTIONS {
                    return Err(format!("more than {MOST_OPTIONS} options"));
                }
                let encoding = self::encoding(encoding)?;
                self.options.push((name.to_owned(), encoding));
            }
            _ => {
                return Err(format!(
                    "`{line}` is neither `heph type BYTE ENCODING` nor `heph option NAME ENCODING`"
                ));
            }
        }
        Ok(())
    }
}

/// Types 1 to 4 are known, and the highest bit is that of lists.
fn type_byte(word: &str) -> Result<u8, String> {
    let number = match (word.strip_prefix("0x"), word.strip_prefix("0b")) {
        (Some(digits), _) => u8::from_str_radix(digits, 16),
        (_, Some(digits)) => u8::from_str_radix(digits, 2),
        _ => word.parse(),
    };
    number
        .ok()
        .filter(|byte| (0x05..LIST).contains(byte))
        .ok_or_else(|| format!("`{word}` is no type of one's own: 0x05 to 0x7f"))
}

fn encoding(word: &str) -> Result<Encoding, String> {
    Ok(match word {
        "bool" => Encoding::Bool,
        "byte" => Encoding::Byte,
        "int" => Encoding::Int,
        "signed" => Encoding::Signed,
        "long" => Encoding::Long,
        "float" => Encoding::Float,
        "text" => Encoding::Text,
        "bytes" => Encoding::Bytes,
        _ => {
            return Err(format!(
                "`{word}` is no encoding: bool, byte, int, signed, long, float, text, bytes"
            ));
        }
    })
}

/// Reads the value that `bytes` begin with; none when its type is not described or it does not fit.
#[inline(never)]
pub(super) fn value(type_byte: u8, bytes: &[u8]) -> Option<(Described<'_>, &[u8])> {
    let mut types = REGISTERED.get()?.types.iter();
    let &(_, encoding) = types.find(|one| one.0 == type_byte & !LIST)?;
    let (count, values) = match type_byte & LIST {
        0 => (None, bytes),
        _ => {
            let (&count, values) = bytes.split_first_chunk()?;
            (Some(u16::from_be_bytes(count)), values)
        }
    };
    let mut rest = values;
    for _ in 0..count.unwrap_or(1) {
        (_, rest) = encoding.split(rest)?;
    }
    let bytes = values.get(..values.len() - rest.len())?;
    let described = Described {
        type_byte,
        encoding,
        count,
        bytes,
    };
    Some((described, rest))
}

/// Reads the value of an option; none when it is not described or does not fit.
pub(super) fn option<'a>(name: &[u8], value: &'a [u8]) -> Option<DescribedValue<'a>> {
    option_encoding(name)?.whole(value)
}

/// Appends the value of an option as it is described; false when it is not, or of another type.
pub(super) fn put_option(name: &[u8], value: DescribedValue<'_>, out: &mut Vec<u8>) -> bool {
    option_encoding(name).is_some_and(|encoding| encoding.put(value, out))
}

fn option_encoding(name: &[u8]) -> Option<Encoding> {
    let mut options = REGISTERED.get()?.options.iter();
    let (_, encoding) = options.find(|one| one.0.as_bytes() == name)?;
    Some(*encoding)
}

/// Returns the bytes of an attribute's value after its name, its type first, in the first described type of this encoding.
///
/// Values beyond the lengths that their fields can say are not written so.
pub(super) fn written(
    encoding: Encoding,
    values: &[DescribedValue<'_>],
    is_list: bool,
) -> Option<(u8, Vec<u8>)> {
    let mut types = REGISTERED.get()?.types.iter();
    let &(type_byte, _) = types.find(|one| one.1 == encoding)?;
    let mut out = Vec::new();
    if is_list {
        out.extend_from_slice(&u16::try_from(values.len()).ok()?.to_be_bytes());
    }
    for value in values {
        if let DescribedValue::Text(bytes) | DescribedValue::Bytes(bytes) = value {
            out.extend_from_slice(&u16::try_from(bytes.len()).ok()?.to_be_bytes());
        }
        if !encoding.put(*value, &mut out) {
            return None;
        }
    }
    let list = if is_list { LIST } else { 0 };
    Some((type_byte | list, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            (
                "heph type 4 bool",
                "`4` is no type of one's own: 0x05 to 0x7f",
            ),
            (
                "heph type 0x85 bool",
                "`0x85` is no type of one's own: 0x05 to 0x7f",
            ),
            (
                "heph type 5 double",
                "`double` is no encoding: bool, byte, int, signed, long, float, text, bytes",
            ),
            (
                "heph type 5 bool\nheph type 0b101 int",
                "type 0b101 is there already",
            ),
            ("heph option epoch long", "option epoch is there already"),
            (
                "heph option a int\nheph option a byte",
                "option a is there already",
            ),
            (
                "heph stream 5",
                "`heph stream 5` is neither `heph type BYTE ENCODING` nor `heph option NAME ENCODING`",
            ),
        ];
        for (lines, expected) in cases {
            let error = described(lines).unwrap_err();
            assert_eq!(
                (error.line, &*error.text),
                (lines.lines().count(), expected)
            );
        }
    }

    #[test]
    fn a_value_is_written_as_it_was_read() {
        let cases: [(Encoding, &[u8]); 6] = [
            (Encoding::Bool, &[1]),
            (Encoding::Byte, &[255]),
            (Encoding::Int, &[255, 0, 0, 1]),
            (Encoding::Signed, &[255, 255, 255, 254]),
            (Encoding::Long, &[128, 0, 0, 0, 0, 0, 0, 1]),
            (Encoding::Float, &[0x3d, 0xcc, 0xcc, 0xcd]),
        ];
        for (encoding, bytes) in cases {
            let mut out = Vec::new();
            assert!(encoding.put(encoding.whole(bytes).unwrap(), &mut out));
            assert_eq!(out, bytes, "{encoding:?}");
            assert_eq!(encoding.whole(bytes.get(1..).unwrap()), None);
        }
        assert_eq!(Encoding::Bool.whole(&[2]), None);
        assert!(!Encoding::Float.put(DescribedValue::F64(0.1), &mut Vec::new()));
    }
}
