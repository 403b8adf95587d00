//! Values by their types: stepping over them, copying them, taking them apart.
//!
//! Types nest in the recording's own way, so decoding follows them with calls that are at most
//! [`DEPTH`] deep: what is nested deeper is damage, not a reason to run out of stack.

use super::event::Value;
use super::scan::{Bad, Scan, Str, put_integer};
use super::schema::{FieldEncoding, FieldSchema, NumberMeaning, SkippedFields, TypeSchemas};
use traceloom_model::{Limit, Limits};

/// Structures and arrays inside one another, at most.
pub(super) const DEPTH: u32 = 64;

/// Takes what is stepped over.
pub(super) trait ValueVisitor {
    /// Nothing is kept, so that runs of integers can be stepped over in one go.
    const SKIPS: bool = false;

    fn integer(&mut self, compressed: bool, value: u64, width: usize);
    fn raw(&mut self, bytes: &[u8]);

    /// Passes an `int` on.
    #[inline]
    fn int(&mut self, scan: &mut Scan<'_>) -> Result<u64, Bad> {
        let (value, width) = scan.integer(4)?;
        self.integer(scan.compressed, value, width);
        Ok(value & 0xffff_ffff)
    }

    /// Passes a `long` on.
    #[inline]
    fn long(&mut self, scan: &mut Scan<'_>) -> Result<u64, Bad> {
        let (value, width) = scan.integer(8)?;
        self.integer(scan.compressed, value, width);
        Ok(value)
    }

    /// Passes bytes on.
    #[inline]
    fn bytes(&mut self, scan: &mut Scan<'_>, len: usize) -> Result<(), Bad> {
        self.raw(scan.take(len)?);
        Ok(())
    }

    /// Passes a string on.
    fn string<'a>(&mut self, scan: &mut Scan<'a>, longest: usize) -> Result<Str<'a>, Bad>;
}

/// Keeps nothing.
pub(super) struct SkippedValues;

impl ValueVisitor for SkippedValues {
    const SKIPS: bool = true;

    #[inline]
    fn integer(&mut self, _compressed: bool, _value: u64, _width: usize) {}

    #[inline]
    fn raw(&mut self, _bytes: &[u8]) {}

    #[inline]
    fn string<'a>(&mut self, scan: &mut Scan<'a>, longest: usize) -> Result<Str<'a>, Bad> {
        scan.string(longest)
    }
}

/// Writes everything again, from the values.
impl ValueVisitor for Vec<u8> {
    fn integer(&mut self, compressed: bool, value: u64, width: usize) {
        put_integer(self, compressed, value, width);
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn string<'a>(&mut self, scan: &mut Scan<'a>, longest: usize) -> Result<Str<'a>, Bad> {
        let mut head = *scan;
        let string = scan.string(longest)?;
        self.push(head.u8()?);
        match string {
            Str::Null | Str::Empty => {}
            Str::Pool(_) => {
                self.long(&mut head)?;
            }
            Str::Utf8(bytes) | Str::Latin1(bytes) => {
                self.int(&mut head)?;
                self.raw(bytes);
            }
            Str::Chars { .. } => {
                let count = self.int(&mut head)?;
                for _ in 0..count {
                    let (unit, width) = head.integer(2)?;
                    put_integer(self, head.compressed, unit, width);
                }
            }
        }
        Ok(string)
    }
}

/// What decoding values needs to know besides the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodingRules<'s> {
    pub(super) schema: &'s TypeSchemas,
    pub(super) longest: usize,
    pub(super) most: u64,
}

impl<'s> DecodingRules<'s> {
    pub(super) fn new(schema: &'s TypeSchemas, limits: &Limits) -> Self {
        Self {
            schema,
            longest: limits.size(Limit::String),
            most: limits.of(Limit::Values),
        }
    }

    /// Steps over the fields of type `index`, keeping nothing.
    #[inline]
    pub(super) fn skip(&self, scan: &mut Scan<'_>, index: usize) -> Result<(), Bad> {
        let Some(found) = self.schema.get(index) else {
            return Err(Bad::Undefined);
        };
        if !scan.compressed {
            return self.pass(scan, index, &mut SkippedValues);
        }
        for &run in &found.runs {
            match run {
                SkippedFields::Varints(count) => scan.skip_varints(u64::from(count))?,
                SkippedFields::Bytes(count) => scan.take(count).map(drop)?,
                SkippedFields::Other(at) => {
                    let Some(field) = found.fields.get(at) else {
                        return Err(Bad::Undefined);
                    };
                    if field.array {
                        self.pass_array(scan, field.kind, &mut SkippedValues, 0)?;
                    } else {
                        self.pass_one(scan, field.kind, &mut SkippedValues, 0)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes the fields of type `index` on.
    #[inline]
    pub(super) fn pass<E: ValueVisitor>(
        &self,
        scan: &mut Scan<'_>,
        index: usize,
        emit: &mut E,
    ) -> Result<(), Bad> {
        self.pass_at(scan, index, emit, 0)
    }

    #[inline]
    fn pass_at<E: ValueVisitor>(
        &self,
        scan: &mut Scan<'_>,
        index: usize,
        emit: &mut E,
        depth: u32,
    ) -> Result<(), Bad> {
        for field in self.schema.fields(index) {
            if field.array {
                self.pass_array(scan, field.kind, emit, depth)?;
            } else {
                self.pass_one(scan, field.kind, emit, depth)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn pass_one<E: ValueVisitor>(
        &self,
        scan: &mut Scan<'_>,
        kind: FieldEncoding,
        emit: &mut E,
        depth: u32,
    ) -> Result<(), Bad> {
        match kind {
            FieldEncoding::Long | FieldEncoding::Ref(_) => emit.long(scan).map(drop),
            FieldEncoding::Int => emit.int(scan).map(drop),
            FieldEncoding::Short | FieldEncoding::Char => {
                let (value, width) = scan.integer(2)?;
                emit.integer(scan.compressed, value, width);
                Ok(())
            }
            FieldEncoding::Bool | FieldEncoding::Byte => emit.bytes(scan, 1),
            FieldEncoding::Float => emit.bytes(scan, 4),
            FieldEncoding::Double => emit.bytes(scan, 8),
            FieldEncoding::Str => emit.string(scan, self.longest).map(drop),
            FieldEncoding::Struct(inner) => self.pass_struct(scan, inner, emit, depth),
            FieldEncoding::Unknown => Err(Bad::Undefined),
        }
    }

    fn pass_struct<E: ValueVisitor>(
        &self,
        scan: &mut Scan<'_>,
        inner: usize,
        emit: &mut E,
        depth: u32,
    ) -> Result<(), Bad> {
        if self.schema.is_empty_type(inner) {
            return Ok(());
        }
        if depth >= DEPTH {
            return Err(Bad::Depth);
        }
        self.pass_at(scan, inner, emit, depth + 1)
    }

    fn pass_array<E: ValueVisitor>(
        &self,
        scan: &mut Scan<'_>,
        kind: FieldEncoding,
        emit: &mut E,
        depth: u32,
    ) -> Result<(), Bad> {
        let count = self.elements(emit.int(scan)?, kind, scan.left())?;
        if E::SKIPS
            && scan.compressed
            && depth + 1 < DEPTH
            && let Some(integers) = self.schema.integers(kind)
        {
            return scan.skip_varints(count.saturating_mul(integers));
        }
        for _ in 0..count {
            self.pass_one(scan, kind, emit, depth + 1)?;
        }
        Ok(())
    }

    /// Reads how many elements an array of `kind` has.
    pub(super) fn length(&self, scan: &mut Scan<'_>, kind: FieldEncoding) -> Result<u64, Bad> {
        self.elements(scan.int()?, kind, scan.left())
    }

    /// Returns how many elements of an array to visit: none when they have no bytes.
    fn elements(&self, count: u64, kind: FieldEncoding, left: usize) -> Result<u64, Bad> {
        if let FieldEncoding::Struct(inner) = kind
            && self.schema.is_empty_type(inner)
        {
            return Ok(0);
        }
        if count > left as u64 {
            return Err(Bad::Short);
        }
        if count > self.most {
            return Err(Bad::Limit(Limit::Values));
        }
        Ok(count)
    }

    /// Takes the fields of type `index` apart into `cells`, in their order.
    pub(super) fn cells<'a>(
        &self,
        scan: &mut Scan<'a>,
        index: usize,
        cells: &mut Vec<DecodedValue<'a>>,
    ) -> Result<(), Bad> {
        cells.clear();
        // A copy of the scan stays in registers, where the caller's would be stored for every field.
        let mut here = *scan;
        let fields = self.schema.fields(index);
        cells.reserve(fields.len());
        for field in fields {
            cells.push(match field.kind {
                _ if field.array => {
                    let from = here;
                    self.pass_array(&mut here, field.kind, &mut SkippedValues, 0)?;
                    DecodedValue::Array(from)
                }
                FieldEncoding::Long => DecodedValue::Int(here.long()?.cast_signed()),
                FieldEncoding::Ref(_) => DecodedValue::Ref(here.long()?),
                FieldEncoding::Int => {
                    DecodedValue::Int(i64::from(low32(here.int()?).cast_signed()))
                }
                _ => {
                    let (cell, at) = self.other_cell(here, field)?;
                    here.seek(at);
                    cell
                }
            });
        }
        *scan = here;
        Ok(())
    }

    /// Takes one of the rarer kinds of fields apart; returns where it ends.
    #[inline(never)]
    fn other_cell<'a>(
        &self,
        mut scan: Scan<'a>,
        field: &FieldSchema,
    ) -> Result<(DecodedValue<'a>, usize), Bad> {
        let cell = self.cell(&mut scan, field, 0)?;
        Ok((cell, scan.at()))
    }

    fn cell<'a>(
        &self,
        scan: &mut Scan<'a>,
        field: &FieldSchema,
        depth: u32,
    ) -> Result<DecodedValue<'a>, Bad> {
        Ok(match field.kind {
            FieldEncoding::Long => DecodedValue::Int(scan.long()?.cast_signed()),
            FieldEncoding::Ref(_) => DecodedValue::Ref(scan.long()?),
            FieldEncoding::Int => DecodedValue::Int(i64::from(low32(scan.int()?).cast_signed())),
            FieldEncoding::Short => {
                DecodedValue::Int(i64::from(low16(scan.integer(2)?.0).cast_signed()))
            }
            FieldEncoding::Char => DecodedValue::Int(i64::from(low16(scan.integer(2)?.0))),
            FieldEncoding::Byte => DecodedValue::Int(i64::from(scan.u8()?.cast_signed())),
            FieldEncoding::Bool => DecodedValue::Bool(scan.u8()?),
            FieldEncoding::Float => DecodedValue::Float(f32::from_be_bytes(array(scan)?)),
            FieldEncoding::Double => DecodedValue::Double(f64::from_be_bytes(array(scan)?)),
            FieldEncoding::Str => DecodedValue::Str(scan.string(self.longest)?),
            FieldEncoding::Struct(inner) => {
                let from = *scan;
                self.pass_struct(scan, inner, &mut SkippedValues, depth)?;
                DecodedValue::Struct(from)
            }
            FieldEncoding::Unknown => return Err(Bad::Undefined),
        })
    }

    /// Visits the elements of an array cell whose elements are `field`'s.
    pub(super) fn each<'a>(
        &self,
        mut scan: Scan<'a>,
        field: &FieldSchema,
        visit: &mut dyn FnMut(DecodedValue<'a>),
    ) -> Result<(), Bad> {
        for _ in 0..self.length(&mut scan, field.kind)? {
            visit(self.cell(&mut scan, field, 1)?);
        }
        Ok(())
    }
}

impl<'t> DecodingRules<'t> {
    /// Decodes the fields of type `index`, with what is nested in them.
    pub(super) fn values(
        &self,
        scan: &mut Scan<'t>,
        index: usize,
        depth: u32,
    ) -> Result<Vec<(&'t str, Value<'t>)>, Bad> {
        let schema: &'t TypeSchemas = self.schema;
        let mut cells = Vec::new();
        self.cells(scan, index, &mut cells)?;
        let mut values = Vec::with_capacity(cells.len());
        for (field, cell) in schema.fields(index).iter().zip(cells) {
            values.push((field.name.as_str(), self.value(field, cell, depth)?));
        }
        Ok(values)
    }

    fn value(
        &self,
        field: &'t FieldSchema,
        cell: DecodedValue<'t>,
        depth: u32,
    ) -> Result<Value<'t>, Bad> {
        if depth >= DEPTH {
            return Err(Bad::Depth);
        }
        Ok(match cell {
            DecodedValue::Bool(byte @ 0..=1) => Value::Bool(byte == 1),
            DecodedValue::Bool(byte) => Value::Unsigned(u64::from(byte)),
            DecodedValue::Int(value) if field.is_unsigned() => {
                Value::Unsigned(unsigned(field.kind, value))
            }
            DecodedValue::Int(value) => Value::Int(value),
            DecodedValue::Float(value) => Value::Float(f64::from(value)),
            DecodedValue::Double(value) => Value::Float(value),
            DecodedValue::Ref(key) => Value::Constant {
                table: self.table(field.kind),
                key,
            },
            DecodedValue::Str(string) => Value::of(string),
            DecodedValue::Struct(mut scan) => match field.kind {
                FieldEncoding::Struct(inner) if !self.schema.is_empty_type(inner) => {
                    Value::Struct(self.values(&mut scan, inner, depth + 1)?)
                }
                _ => Value::Struct(Vec::new()),
            },
            DecodedValue::Array(scan) => {
                let mut items = Vec::new();
                let mut failed = None;
                self.each(
                    scan,
                    field,
                    &mut |cell| match self.value(field, cell, depth + 1) {
                        Ok(value) => items.push(value),
                        Err(bad) => failed = Some(bad),
                    },
                )?;
                if let Some(bad) = failed {
                    return Err(bad);
                }
                Value::Array(items)
            }
        })
    }

    /// Returns the type whose pool a reference points into.
    fn table(&self, kind: FieldEncoding) -> &'t str {
        let schema: &'t TypeSchemas = self.schema;
        match kind {
            FieldEncoding::Ref(index) => schema.get(index).map_or("", |found| &found.name),
            _ => "",
        }
    }
}

impl FieldSchema {
    /// Returns true if integers of the field have no sign.
    pub(super) fn is_unsigned(&self) -> bool {
        self.unsigned || self.meaning == NumberMeaning::Address || self.kind == FieldEncoding::Char
    }
}

/// Returns the bits of an integer of `kind` without sign.
pub(super) fn unsigned(kind: FieldEncoding, value: i64) -> u64 {
    let bits = value.cast_unsigned();
    match kind {
        FieldEncoding::Byte => bits & 0xff,
        FieldEncoding::Short | FieldEncoding::Char => bits & 0xffff,
        FieldEncoding::Int => bits & 0xffff_ffff,
        _ => bits,
    }
}

/// A decoded value; structures and arrays are positions at which to go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum DecodedValue<'a> {
    Bool(u8),
    Int(i64),
    Float(f32),
    Double(f64),
    Str(Str<'a>),
    Ref(u64),
    Struct(Scan<'a>),
    Array(Scan<'a>),
}

#[expect(clippy::cast_possible_truncation, reason = "wider writers sign-extend")]
fn low32(value: u64) -> u32 {
    value as u32
}

#[expect(clippy::cast_possible_truncation, reason = "wider writers sign-extend")]
fn low16(value: u64) -> u16 {
    value as u16
}

fn array<const N: usize>(scan: &mut Scan<'_>) -> Result<[u8; N], Bad> {
    scan.rest()
        .first_chunk::<N>()
        .copied()
        .ok_or(Bad::Short)
        .inspect(|_| scan.seek(scan.at() + N))
}
