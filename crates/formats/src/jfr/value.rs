//! Values by their types: stepping over them, copying them, taking them apart and showing them.
//!
//! Types nest in the recording's own way, so decoding follows them with calls that are at most
//! [`DEPTH`] deep: what is nested deeper is damage, not a reason to run out of stack.

use std::cell::OnceCell;

use super::scan::{Bad, Scan, Str, put_integer};
use super::schema::{Field, Kind, Meaning, Run, Schema};
use crate::Field as Shown;
use traceloom_model::Limit;

/// Structures and arrays inside one another, at most.
pub(super) const DEPTH: u32 = 64;

/// Takes what is stepped over.
pub(super) trait Emit {
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
pub(super) struct Skip;

impl Emit for Skip {
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
impl Emit for Vec<u8> {
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
pub(super) struct Rules<'s> {
    pub(super) schema: &'s Schema,
    pub(super) longest: usize,
    pub(super) most: u64,
}

impl Rules<'_> {
    /// Steps over the fields of type `index`, keeping nothing.
    #[inline]
    pub(super) fn skip(&self, scan: &mut Scan<'_>, index: usize) -> Result<(), Bad> {
        let Some(found) = self.schema.get(index) else {
            return Err(Bad::Undefined);
        };
        if !scan.compressed {
            return self.pass(scan, index, &mut Skip);
        }
        for &run in &found.runs {
            match run {
                Run::Varints(count) => scan.skip_varints(u64::from(count))?,
                Run::Bytes(count) => scan.take(count).map(drop)?,
                Run::Other(at) => {
                    let Some(field) = found.fields.get(at) else {
                        return Err(Bad::Undefined);
                    };
                    if field.array {
                        self.pass_array(scan, field.kind, &mut Skip, 0)?;
                    } else {
                        self.pass_one(scan, field.kind, &mut Skip, 0)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes the fields of type `index` on.
    #[inline]
    pub(super) fn pass<E: Emit>(
        &self,
        scan: &mut Scan<'_>,
        index: usize,
        emit: &mut E,
    ) -> Result<(), Bad> {
        self.pass_at(scan, index, emit, 0)
    }

    #[inline]
    fn pass_at<E: Emit>(
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
    fn pass_one<E: Emit>(
        &self,
        scan: &mut Scan<'_>,
        kind: Kind,
        emit: &mut E,
        depth: u32,
    ) -> Result<(), Bad> {
        match kind {
            Kind::Long | Kind::Ref(_) => emit.long(scan).map(drop),
            Kind::Int => emit.int(scan).map(drop),
            Kind::Short | Kind::Char => {
                let (value, width) = scan.integer(2)?;
                emit.integer(scan.compressed, value, width);
                Ok(())
            }
            Kind::Bool | Kind::Byte => emit.bytes(scan, 1),
            Kind::Float => emit.bytes(scan, 4),
            Kind::Double => emit.bytes(scan, 8),
            Kind::Str => emit.string(scan, self.longest).map(drop),
            Kind::Struct(inner) => self.pass_struct(scan, inner, emit, depth),
            Kind::Unknown => Err(Bad::Undefined),
        }
    }

    fn pass_struct<E: Emit>(
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

    fn pass_array<E: Emit>(
        &self,
        scan: &mut Scan<'_>,
        kind: Kind,
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
    pub(super) fn length(&self, scan: &mut Scan<'_>, kind: Kind) -> Result<u64, Bad> {
        self.elements(scan.int()?, kind, scan.left())
    }

    /// Returns how many elements of an array to visit: none when they have no bytes.
    fn elements(&self, count: u64, kind: Kind, left: usize) -> Result<u64, Bad> {
        if let Kind::Struct(inner) = kind
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
        cells: &mut Vec<Cell<'a>>,
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
                    self.pass_array(&mut here, field.kind, &mut Skip, 0)?;
                    Cell::Array(from)
                }
                Kind::Long => Cell::Int(here.long()?.cast_signed()),
                Kind::Ref(_) => Cell::Ref(here.long()?),
                Kind::Int => Cell::Int(i64::from(low32(here.int()?).cast_signed())),
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
    fn other_cell<'a>(&self, mut scan: Scan<'a>, field: &Field) -> Result<(Cell<'a>, usize), Bad> {
        let cell = self.cell(&mut scan, field, 0)?;
        Ok((cell, scan.at()))
    }

    fn cell<'a>(&self, scan: &mut Scan<'a>, field: &Field, depth: u32) -> Result<Cell<'a>, Bad> {
        Ok(match field.kind {
            Kind::Long => Cell::Int(scan.long()?.cast_signed()),
            Kind::Ref(_) => Cell::Ref(scan.long()?),
            Kind::Int => Cell::Int(i64::from(low32(scan.int()?).cast_signed())),
            Kind::Short => Cell::Int(i64::from(low16(scan.integer(2)?.0).cast_signed())),
            Kind::Char => Cell::Int(i64::from(low16(scan.integer(2)?.0))),
            Kind::Byte => Cell::Int(i64::from(scan.u8()?.cast_signed())),
            Kind::Bool => Cell::Bool(scan.u8()?),
            Kind::Float => Cell::Float(f32::from_be_bytes(array(scan)?)),
            Kind::Double => Cell::Double(f64::from_be_bytes(array(scan)?)),
            Kind::Str => Cell::Str(scan.string(self.longest)?),
            Kind::Struct(inner) => {
                let from = *scan;
                self.pass_struct(scan, inner, &mut Skip, depth)?;
                Cell::Struct(from)
            }
            Kind::Unknown => return Err(Bad::Undefined),
        })
    }

    /// Visits the elements of an array cell whose elements are `field`'s.
    pub(super) fn each<'a>(
        &self,
        mut scan: Scan<'a>,
        field: &Field,
        visit: &mut dyn FnMut(Cell<'a>),
    ) -> Result<(), Bad> {
        for _ in 0..self.length(&mut scan, field.kind)? {
            visit(self.cell(&mut scan, field, 1)?);
        }
        Ok(())
    }
}

impl<'t> Rules<'t> {
    /// Builds what `dump` shows of a type's fields.
    pub(super) fn show(
        &self,
        scan: &mut Scan<'t>,
        index: usize,
        depth: u32,
    ) -> Result<Vec<(&'t str, Tree<'t>)>, Bad> {
        let schema: &'t Schema = self.schema;
        let mut cells = Vec::new();
        self.cells(scan, index, &mut cells)?;
        let mut shown = Vec::with_capacity(cells.len());
        for (field, cell) in schema.fields(index).iter().zip(cells) {
            shown.push((field.name.as_str(), self.tree(field, cell, depth)?));
        }
        Ok(shown)
    }

    fn tree(&self, field: &'t Field, cell: Cell<'t>, depth: u32) -> Result<Tree<'t>, Bad> {
        if depth >= DEPTH {
            return Err(Bad::Depth);
        }
        Ok(match cell {
            Cell::Bool(byte @ 0..=1) => Tree::Leaf(Shown::Bool(byte == 1)),
            Cell::Bool(byte) => Tree::Leaf(Shown::U64(u64::from(byte))),
            Cell::Int(value) if field.is_unsigned() => {
                Tree::Leaf(Shown::U64(unsigned(field.kind, value)))
            }
            Cell::Int(value) => Tree::Leaf(Shown::I64(value)),
            Cell::Float(value) => Tree::Leaf(Shown::F64(f64::from(value))),
            Cell::Double(value) => Tree::Leaf(Shown::F64(value)),
            Cell::Ref(key) => Tree::Leaf(Shown::Id(self.table(field.kind), key)),
            Cell::Str(string) => Tree::of(string),
            Cell::Struct(mut scan) => {
                let mut pairs = Vec::new();
                if let Kind::Struct(inner) = field.kind
                    && !self.schema.is_empty_type(inner)
                {
                    for (name, tree) in self.show(&mut scan, inner, depth + 1)? {
                        pairs.push((Tree::Leaf(Shown::Str(name)), tree));
                    }
                }
                Tree::map(pairs)
            }
            Cell::Array(scan) => {
                let mut items = Vec::new();
                let mut failed = None;
                self.each(
                    scan,
                    field,
                    &mut |cell| match self.tree(field, cell, depth + 1) {
                        Ok(tree) => items.push(tree),
                        Err(bad) => failed = Some(bad),
                    },
                )?;
                if let Some(bad) = failed {
                    return Err(bad);
                }
                Tree::list(items)
            }
        })
    }

    /// Returns the type whose pool a reference points into.
    fn table(&self, kind: Kind) -> &'t str {
        let schema: &'t Schema = self.schema;
        match kind {
            Kind::Ref(index) => schema.get(index).map_or("", |found| &found.name),
            _ => "",
        }
    }
}

impl Field {
    /// Returns true if integers of the field have no sign.
    pub(super) fn is_unsigned(&self) -> bool {
        self.unsigned || self.meaning == Meaning::Address || self.kind == Kind::Char
    }
}

/// Returns the bits of an integer of `kind` without sign.
pub(super) fn unsigned(kind: Kind, value: i64) -> u64 {
    let bits = value.cast_unsigned();
    match kind {
        Kind::Byte => bits & 0xff,
        Kind::Short | Kind::Char => bits & 0xffff,
        Kind::Int => bits & 0xffff_ffff,
        _ => bits,
    }
}

/// A decoded value; structures and arrays are positions at which to go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Bool(u8),
    Int(i64),
    Float(f32),
    Double(f64),
    Str(Str<'a>),
    Ref(u64),
    Struct(Scan<'a>),
    Array(Scan<'a>),
}

/// A value on its way to `dump`, which borrows lists from it.
#[derive(Debug)]
pub(super) enum Tree<'t> {
    Leaf(Shown<'t>),
    Text(Vec<u8>),
    List(Vec<Tree<'t>>, OnceCell<Vec<Shown<'t>>>),
    Map(
        Vec<(Tree<'t>, Tree<'t>)>,
        OnceCell<Vec<(Shown<'t>, Shown<'t>)>>,
    ),
}

impl<'t> Tree<'t> {
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(items, OnceCell::new())
    }

    pub(super) fn map(pairs: Vec<(Self, Self)>) -> Self {
        Self::Map(pairs, OnceCell::new())
    }

    /// Takes a string; references stay references.
    pub(super) fn of(string: Str<'t>) -> Self {
        match string {
            Str::Null => Self::Leaf(Shown::Null),
            Str::Pool(key) => Self::Leaf(Shown::Id(super::schema::STRING, key)),
            _ => match string.text() {
                Some(std::borrow::Cow::Borrowed(text)) => Self::Leaf(Shown::Text(text)),
                Some(std::borrow::Cow::Owned(text)) => Self::Text(text),
                None => Self::Leaf(Shown::Null),
            },
        }
    }

    /// Lends the value in the form that records show.
    pub(super) fn lend(&'t self) -> Shown<'t> {
        match self {
            Self::Leaf(leaf) => leaf.clone(),
            Self::Text(text) => Shown::Text(text),
            Self::List(items, lent) => {
                Shown::List(lent.get_or_init(|| items.iter().map(Self::lend).collect()))
            }
            Self::Map(pairs, lent) => Shown::Map(lent.get_or_init(|| {
                pairs
                    .iter()
                    .map(|(key, value)| (key.lend(), value.lend()))
                    .collect()
            })),
        }
    }
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
