//! A borrowed pull decoder for CBOR with tag semantics off (SPEC.md §0.1, §2).
//!
//! Zorka gives registered tag numbers meanings of its own, so a tag here is a number and nothing else.
//! Nothing recurses: values nest as deep as their bytes allow.

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Limit, Limits};

/// Why an item cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CborFault {
    /// The window ends first; it must hold at least this many bytes from its beginning.
    Short(usize),
    /// Bytes that are no CBOR, or not what the format says.
    Bad(&'static str),
    /// A length above a limit in force; the word is the note's kind.
    Limit(&'static str),
}

/// How much of an item is believed.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    string: usize,
    values: u64,
    depth: usize,
}

impl Bounds {
    /// For bytes that were read under bounds before.
    pub const CHECKED: Self = Self {
        string: usize::MAX,
        values: u64::MAX >> 1,
        depth: usize::MAX,
    };

    /// Takes the bounds from the limits in force.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            string: limits.size(Limit::String),
            values: limits.of(Limit::Values),
            depth: limits.size(Limit::Depth),
        }
    }

    /// Returns how long a string may be.
    #[must_use]
    #[inline]
    pub const fn string(&self) -> usize {
        self.string
    }

    /// Returns how many entries a container may say it has.
    #[must_use]
    #[inline]
    pub const fn values(&self) -> u64 {
        self.values
    }
}

/// The first byte of an item with the integer that follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ItemHead {
    /// Major type, 0 to 7.
    pub major: u8,
    /// Low five bits; 31 means indefinite or break.
    pub info: u8,
    /// The integer: a value, a length or a tag.
    pub value: u64,
}

/// A scalar, or a container as the bytes it was read from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CborValue<'a> {
    /// `f6`
    Null,
    /// `f7`
    Undefined,
    /// `f4`, `f5`
    Bool(bool),
    /// Any integer that fits.
    Int(i64),
    /// An unsigned integer above `i64::MAX`.
    Big(u64),
    /// `-1 - n` below `i64::MIN`.
    NegativeBig(u64),
    /// A string, not necessarily UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Half float, by its bits.
    F16(u16),
    /// Single float, by its bits.
    F32(u32),
    /// Double float, by its bits.
    F64(u64),
    /// Tag 6 on an unsigned integer: a symbol.
    Ref(u64),
    /// Another simple value.
    Simple(u8),
    /// A container, an indefinite string or another tag, as its bytes.
    Raw(&'a [u8]),
    /// The value an S0 writer left out (SPEC.md §1.2).
    Missing,
}

impl CborValue<'_> {
    /// Returns the integer, whatever its sign.
    #[must_use]
    pub const fn int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Big(value) => Some(value.cast_signed()),
            _ => None,
        }
    }

    /// Returns the symbol this names: a plain integer or a reference.
    #[must_use]
    pub const fn symbol(self) -> Option<u64> {
        match self {
            Self::Int(id) if id >= 0 => Some(id.cast_unsigned()),
            Self::Ref(id) => Some(id),
            _ => None,
        }
    }
}

/// Returns the least value that needs `width` bytes behind its head: 1, 2, 4 or 8.
#[inline]
const fn least(width: u32) -> u64 {
    match width {
        1 => 24,
        _ => 1 << (4 * width),
    }
}

/// Reads items from a window.
#[derive(Clone, Debug)]
pub struct Cbor<'a> {
    bytes: &'a [u8],
    at: usize,
    bounds: Bounds,
    canonical: bool,
}

impl<'a> Cbor<'a> {
    /// Reads `bytes` from `at` on.
    #[must_use]
    #[inline]
    pub const fn new(bytes: &'a [u8], at: usize, bounds: Bounds) -> Self {
        Self {
            bytes,
            at,
            bounds,
            canonical: true,
        }
    }

    /// Reads bytes that were read under bounds before.
    #[must_use]
    #[inline]
    pub const fn checked(bytes: &'a [u8]) -> Self {
        Self::new(bytes, 0, Bounds::CHECKED)
    }

    /// Returns the position in the window.
    #[must_use]
    #[inline]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns true if every head so far was the shortest there is.
    #[must_use]
    #[inline]
    pub const fn canonical(&self) -> bool {
        self.canonical
    }

    /// Says that what was read cannot be written again from its fields.
    #[inline]
    pub const fn not_canonical(&mut self) {
        self.canonical = false;
    }

    /// Says whether what was read is the one form a writer gives it.
    #[inline]
    pub(crate) const fn set_canonical(&mut self, canonical: bool) {
        self.canonical = canonical;
    }

    /// Returns the bounds in force.
    #[must_use]
    #[inline]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns bytes of the window that were read.
    #[must_use]
    #[inline]
    pub fn since(&self, from: usize) -> &'a [u8] {
        subslice(self.bytes, from..self.at)
    }

    /// Returns the next byte without taking it.
    ///
    /// # Errors
    /// `Short` at the end of the window.
    #[inline]
    pub fn peek(&self) -> Result<u8, CborFault> {
        self.peek_at(0)
    }

    /// Returns the byte `ahead` of the next.
    ///
    /// # Errors
    /// `Short` past the end of the window.
    #[inline]
    pub fn peek_at(&self, ahead: usize) -> Result<u8, CborFault> {
        match self.bytes.get(self.at + ahead) {
            Some(&byte) => Ok(byte),
            None => Err(CborFault::Short(self.at + ahead + 1)),
        }
    }

    /// Returns the next byte, none at the end of the window.
    #[inline]
    pub fn next_is(&self, byte: u8) -> Option<bool> {
        self.bytes.get(self.at).map(|&next| next == byte)
    }

    /// Takes `len` bytes after `skipped` ones, where there are as many and a string may be as long.
    #[inline]
    fn after(&mut self, skipped: usize, len: usize) -> Option<&'a [u8]> {
        let from = self.at + skipped;
        let body = self.bytes.get(from..from + len)?;
        if len > self.bounds.string {
            return None;
        }
        self.at = from + len;
        Some(body)
    }

    /// Steps over one byte that was peeked at.
    #[inline]
    pub const fn step(&mut self) {
        self.at += 1;
    }

    /// Returns the next bytes without taking them, where there are as many.
    #[inline]
    pub fn window<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.at..)?.first_chunk()
    }

    /// Reads a fixed number of bytes.
    ///
    /// # Errors
    /// `Short` when the window holds fewer.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CborFault> {
        let rest = subslice(self.bytes, self.at..);
        match rest.first_chunk::<N>() {
            Some(array) => {
                self.at += N;
                Ok(*array)
            }
            None => Err(CborFault::Short(self.at + N)),
        }
    }

    /// Reads a head.
    ///
    /// # Errors
    /// `Short`, or `Bad` for the three reserved forms.
    #[inline]
    pub fn head(&mut self) -> Result<ItemHead, CborFault> {
        let first = self.peek()?;
        let (major, info) = (first >> 5, first & 0x1f);
        if info < 24 {
            self.at += 1;
            return Ok(ItemHead {
                major,
                info,
                value: u64::from(info),
            });
        }
        if matches!(first, 0xff | 0x9f) {
            self.at += 1;
            return Ok(ItemHead {
                major,
                info,
                value: 0,
            });
        }
        // One load and a shift for the four widths, where eight bytes are there.
        if info < 28
            && let Some(&[_, ref wide @ ..]) = self.window::<9>()
        {
            let width = 1_u32 << (info - 24);
            let value = u64::from_be_bytes(*wide) >> (64 - 8 * width);
            let shortest = value >= least(width);
            self.canonical &= shortest | (major == 7);
            self.at += 1 + width as usize;
            return Ok(ItemHead { major, info, value });
        }
        self.long_head(major, info)
    }

    #[cold]
    fn long_head(&mut self, major: u8, info: u8) -> Result<ItemHead, CborFault> {
        let start = self.at;
        self.at += 1;
        let read = match info {
            24 => self.array::<1>().map(|[byte]| u64::from(byte)),
            25 => self.array().map(|b| u64::from(u16::from_be_bytes(b))),
            26 => self.array().map(|b| u64::from(u32::from_be_bytes(b))),
            27 => self.array().map(u64::from_be_bytes),
            31 if !matches!(major, 0 | 1 | 6) => {
                return Ok(ItemHead {
                    major,
                    info,
                    value: 0,
                });
            }
            _ => Err(CborFault::Bad("reserved CBOR head")),
        };
        match read {
            Ok(value) => {
                self.canonical &= value >= least(1 << (info & 3)) || major == 7;
                Ok(ItemHead { major, info, value })
            }
            Err(fault) => {
                self.at = start;
                Err(fault)
            }
        }
    }

    /// Reads an integer of either sign; those beyond `i64` wrap, as Java's would.
    ///
    /// # Errors
    /// `Bad` when the next item is something else.
    #[inline]
    pub fn int(&mut self) -> Result<i64, CborFault> {
        if let Some(&[first, ref wide @ ..]) = self.window::<9>() {
            // The two commonest by far: ids below 24, times and span ids of 8 bytes.
            if first < 24 {
                self.at += 1;
                return Ok(i64::from(first));
            }
            let value = u64::from_be_bytes(*wide);
            if first == 0x1b && (1 << 32..1 << 63).contains(&value) {
                self.at += 9;
                return Ok(value.cast_signed());
            }
        }
        self.any_int()
    }

    fn any_int(&mut self) -> Result<i64, CborFault> {
        let head = self.head()?;
        if head.value > i64::MAX.cast_unsigned() {
            self.canonical = false;
        }
        match head.major {
            0 => Ok(head.value.cast_signed()),
            1 => Ok(-1 - (head.value & i64::MAX.cast_unsigned()).cast_signed()),
            _ => Err(CborFault::Bad("expected an integer")),
        }
    }

    /// Reads the head of a definite array.
    ///
    /// # Errors
    /// `Bad` when the next item is something else.
    #[inline]
    pub fn definite_array(&mut self) -> Result<u64, CborFault> {
        let head = self.head()?;
        if head.major == 4 && head.info != 31 {
            Ok(head.value)
        } else {
            Err(CborFault::Bad("expected an array"))
        }
    }

    /// Steps over `len` bytes of a string.
    #[inline]
    fn string(&mut self, len: u64) -> Result<&'a [u8], CborFault> {
        let wanted = in_memory(len);
        if wanted > self.bounds.string {
            return Err(CborFault::Limit("limit_string"));
        }
        let end = self.at.saturating_add(wanted);
        match self.bytes.get(self.at..end) {
            Some(slice) => {
                self.at = end;
                Ok(slice)
            }
            None => Err(CborFault::Short(end)),
        }
    }

    /// Reads a value: scalars decoded, containers as bytes.
    ///
    /// # Errors
    /// What [`Cbor::skip`] fails with.
    #[inline]
    pub fn value(&mut self) -> Result<CborValue<'a>, CborFault> {
        // Small numbers, references and texts are most of what there is.
        if let Some(&[first, second]) = self.window::<2>() {
            let (skipped, len) = match (first, second) {
                (0..24, _) => {
                    self.at += 1;
                    return Ok(CborValue::Int(i64::from(first)));
                }
                (0xc6, 0..24) => {
                    self.at += 2;
                    return Ok(CborValue::Ref(u64::from(second)));
                }
                (0x60..0x78, _) => (1, usize::from(first & 0x1f)),
                (0x78, 24..) => (2, usize::from(second)),
                _ => return self.any_value(),
            };
            if let Some(text) = self.after(skipped, len) {
                return Ok(CborValue::Text(text));
            }
        }
        self.any_value()
    }

    fn any_value(&mut self) -> Result<CborValue<'a>, CborFault> {
        let (start, canonical) = (self.at, self.canonical);
        let head = self.head()?;
        let (major, info, value) = (head.major, head.info, head.value);
        match major {
            0 if value <= i64::MAX.cast_unsigned() => Ok(CborValue::Int(value.cast_signed())),
            0 => Ok(CborValue::Big(value)),
            1 if value <= i64::MAX.cast_unsigned() => Ok(CborValue::Int(-1 - value.cast_signed())),
            1 => Ok(CborValue::NegativeBig(value)),
            3 if info != 31 => self.string(value).map(CborValue::Text),
            2 if info != 31 => self.string(value).map(CborValue::Bytes),
            6 if value == 6 && self.peek()? >> 5 == 0 => Ok(CborValue::Ref(self.head()?.value)),
            7 => match info {
                20 => Ok(CborValue::Bool(false)),
                21 => Ok(CborValue::Bool(true)),
                22 => Ok(CborValue::Null),
                23 => Ok(CborValue::Undefined),
                25 => Ok(CborValue::F16(u16::try_from(value).unwrap_or(0))),
                26 => Ok(CborValue::F32(u32::try_from(value).unwrap_or(0))),
                27 => Ok(CborValue::F64(value)),
                31 => Err(CborFault::Bad("expected a value, found a break")),
                _ => {
                    self.canonical &= (info == 24) == (value >= 24);
                    Ok(CborValue::Simple(u8::try_from(value).unwrap_or(0)))
                }
            },
            _ => {
                self.at = start;
                self.skip()?;
                // The bytes are kept, so the form of what is inside does not matter.
                self.canonical = canonical;
                Ok(CborValue::Raw(self.since(start)))
            }
        }
    }

    /// Steps over one item, however deep.
    ///
    /// Definite containers need a counter only; each open indefinite one takes a row on the heap.
    ///
    /// # Errors
    /// `Short`, `Bad`, and `Limit` for lengths and depths above the limits.
    pub fn skip(&mut self) -> Result<(), CborFault> {
        struct OpenContainer {
            outer: u64,
            items: u64,
            map: bool,
        }
        let mut left = 1_u64;
        let mut open: Vec<OpenContainer> = Vec::new();
        loop {
            if left > 0 {
                left -= 1;
            } else {
                let Some(container) = open.last_mut() else {
                    return Ok(());
                };
                if self.peek()? == 0xff {
                    if container.map && container.items % 2 == 1 {
                        return Err(CborFault::Bad("a map ends after a key"));
                    }
                    self.at += 1;
                    left = container.outer;
                    open.pop();
                    continue;
                }
                container.items += 1;
            }
            let head = self.head()?;
            match (head.major, head.info) {
                (0 | 1, _) => {}
                (2 | 3, 31) => self.pieces(head.major)?,
                (2 | 3, _) => {
                    self.string(head.value)?;
                }
                (4 | 5, 31) => {
                    if open.len() >= self.bounds.depth {
                        return Err(CborFault::Limit("limit_depth"));
                    }
                    open.push(OpenContainer {
                        outer: left,
                        items: 0,
                        map: head.major == 5,
                    });
                    left = 0;
                }
                (4 | 5, _) => {
                    if head.value > self.bounds.values {
                        return Err(CborFault::Limit("limit_values"));
                    }
                    left = left.saturating_add(head.value << (head.major & 1));
                }
                (6, _) => left = left.saturating_add(1),
                (_, 31) => return Err(CborFault::Bad("a break outside of an indefinite item")),
                _ => {}
            }
        }
    }

    /// Steps over the pieces of an indefinite string and its break.
    fn pieces(&mut self, major: u8) -> Result<(), CborFault> {
        loop {
            if self.peek()? == 0xff {
                self.at += 1;
                return Ok(());
            }
            let piece = self.head()?;
            if piece.major != major || piece.info == 31 {
                return Err(CborFault::Bad("a piece of another type in a string"));
            }
            self.string(piece.value)?;
        }
    }

    /// Joins the pieces of an indefinite string that [`Cbor::value`] gave as bytes; none for others.
    #[must_use]
    pub fn joined(raw: &[u8]) -> Option<(bool, Vec<u8>)> {
        let mut cbor = Cbor::checked(raw);
        let head = cbor.head().ok()?;
        if !matches!((head.major, head.info), (2 | 3, 31)) {
            return None;
        }
        let mut whole = Vec::new();
        while cbor.next_is(0xff) == Some(false) {
            let len = cbor.head().ok()?.value;
            whole.extend_from_slice(cbor.string(len).ok()?);
        }
        Some((head.major == 3, whole))
    }
}

/// Steps over every item of `bytes`, breaks included, and returns how many there are.
///
/// What a decoder of this format is measured against: it does nothing but find boundaries.
#[must_use]
pub fn skip_all(bytes: &[u8], limits: &Limits) -> u64 {
    let mut cbor = Cbor::new(bytes, 0, Bounds::new(limits));
    let mut items = 0;
    while let Ok(head) = cbor.head() {
        items += 1;
        if matches!(head.major, 2 | 3) && head.info != 31 && cbor.string(head.value).is_err() {
            break;
        }
    }
    items
}
