//! Rows of the model as bytes, and back.

use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, ClassId, Clock, Definitions, ElementType, EventType,
    EventTypeId, Exception, ExceptionId, FrameId, Function, FunctionId, MappingId, Merge, Order,
    Origin, PartId, ProfileId, Resource, ResourceId, Scope, SpanBatch, SpanContext, SpanId,
    SpanRow, SpanStatus, StackId, StringId, Text, Track, TrackId, TrackKind, Unit, Value,
    ValueType, ValueTypeId,
};

/// Values within each other; a call that has more is not written.
const DEEPEST: u8 = 32;
/// Rows of a table: an id beyond them is damage.
const MOST_ROWS: u32 = 1 << 28;

/// Something that has bytes in an index.
pub(in crate::captures) trait Stored: Sized {
    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads them; `None` where they are no such thing.
    fn take(from: &mut StoredFields<'_>) -> Option<Self>;
}

/// Fields behind each other.
pub(in crate::captures) struct StoredFields<'a> {
    pub(in crate::captures) bytes: &'a [u8],
    /// Values around the one that is read.
    depth: u8,
}

impl<'a> StoredFields<'a> {
    pub(in crate::captures) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, depth: 0 }
    }

    pub(in crate::captures) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    pub(in crate::captures) fn slice(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u64::take(self)?).ok()?;
        let (slice, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(slice)
    }
}

/// Returns `true` if a value is within as few others as an index holds.
pub(super) fn is_shallow(value: &Value) -> bool {
    let mut left = vec![(value, 0)];
    while let Some((value, depth)) = left.pop() {
        if depth >= DEEPEST {
            return false;
        }
        match value {
            Value::List(_, items) => left.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Map(pairs) => {
                let both = pairs.iter().flat_map(|(key, value)| [key, value]);
                left.extend(both.map(|item| (item, depth + 1)));
            }
            _ => {}
        }
    }
    true
}

impl Stored for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            out.push(left.to_le_bytes()[0] | 0x80);
            left >>= 7;
        }
        out.push(left.to_le_bytes()[0]);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        let mut value = 0_u64;
        for shift in (0..Self::BITS).step_by(7) {
            let byte = from.byte()?;
            value |= Self::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl Stored for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        let raw = u64::take(from)?;
        Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }
}

impl Stored for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl Stored for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        from.byte()
    }
}

impl Stored for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        from.byte().map(|byte| byte != 0)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(match bool::take(from)? {
            true => Some(T::take(from)?),
            false => None,
        })
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

fn put_list<'t, T: Stored + 't>(list: impl ExactSizeIterator<Item = &'t T>, out: &mut Vec<u8>) {
    (list.len() as u64).put(out);
    list.for_each(|item| item.put(out));
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self.iter(), out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        let length = u64::take(from)?;
        // Nothing is allocated from a length: every item has a byte at least.
        (0..length).map(|_| T::take(from)).collect()
    }
}

macro_rules! stored_ids {
    ($($id:ident)*) => {$(
        impl Stored for $id {
            fn put(&self, out: &mut Vec<u8>) {
                self.raw().put(out);
            }

            fn take(from: &mut StoredFields<'_>) -> Option<Self> {
                let row = u32::take(from)?;
                (row < MOST_ROWS).then(|| Self::new(row))
            }
        }
    )*};
}

stored_ids! { ClassId FrameId MappingId ProfileId StackId StringId ResourceId TrackId FunctionId ValueTypeId ExceptionId AttrKeyId EventTypeId }

/// Enumerations of which each value has a number.
macro_rules! stored_words {
    ($($name:ident { $($word:ident = $number:literal),* })*) => {$(
        impl Stored for $name {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(match self {
                    $(Self::$word => $number,)*
                });
            }

            fn take(from: &mut StoredFields<'_>) -> Option<Self> {
                match from.byte()? {
                    $($number => Some(Self::$word),)*
                    _ => None,
                }
            }
        }
    )*};
}

stored_words! {
    Merge { Sum = 0, Min = 1, Max = 2 }
    Scope { Own = 0, Inclusive = 1 }
    Order { Nested = 0, Finish = 1, None = 2 }
    TrackKind { Thread = 0, Stream = 1, Async = 2, Lane = 3 }
    SpanStatus { Complete = 0, PartialStart = 1, PartialEnd = 2, Error = 3 }
    ElementType { I64 = 0, U64 = 1, F64 = 2, Bool = 3, Text = 4, Bytes = 5, Any = 6 }
}

/// Structures, field by field; those that an index leaves out have their defaults.
macro_rules! stored_rows {
    ($($name:ident { $($field:ident),* } $(= $rest:expr)?;)*) => {$(
        impl Stored for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take(from: &mut StoredFields<'_>) -> Option<Self> {
                $(let $field = Stored::take(from)?;)*
                Some(Self { $($field,)* $(..$rest)? })
            }
        }
    )*};
}
pub(in crate::captures) use stored_rows;

stored_rows! {
    AttributeKey { name, unit, order, list, index, signature };
    ValueType { name, unit, merge, scope };
    Track { kind, resource, lane, name, os_id, id } = Track::default();
    Resource { parent, service, instance, host, namespace, pid, language, runtime, os, arch, version, env } = Resource::default();
    Exception { class, message, cause } = NO_STACK;
}

const NO_STACK: Exception = Exception {
    class: None,
    message: None,
    stack: None,
    cause: None,
};

impl Stored for i32 {
    fn put(&self, out: &mut Vec<u8>) {
        i64::from(*self).put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        i64::take(from)?.try_into().ok()
    }
}

impl Stored for Function {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        StringId::take(from).map(Self::named)
    }
}

impl Stored for EventType {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(Self {
            name: Stored::take(from)?,
            label: None,
            fields: Vec::new(),
        })
    }
}

impl Stored for Text {
    fn put(&self, out: &mut Vec<u8>) {
        let bytes = self.as_bytes();
        (bytes.len() as u64).put(out);
        out.extend_from_slice(bytes);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        from.slice().map(|bytes| Self::from_bytes(bytes.to_vec()))
    }
}

impl Stored for Unit {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Count => out.push(0),
            Self::Nanoseconds => out.push(1),
            Self::Bytes => out.push(2),
            Self::Chars => out.push(3),
            Self::Percent => out.push(4),
            Self::Other(name) => {
                out.push(5);
                name.put(out);
            }
        }
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Count,
            1 => Self::Nanoseconds,
            2 => Self::Bytes,
            3 => Self::Chars,
            4 => Self::Percent,
            5 => Self::Other(StringId::take(from)?),
            _ => return None,
        })
    }
}

impl Stored for Clock {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Unix => out.push(0),
            Self::Unknown(name) => {
                out.push(1);
                name.put(out);
            }
        }
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Unix,
            1 => Self::Unknown(Stored::take(from)?),
            _ => return None,
        })
    }
}

impl Stored for Value {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::I64(number) => {
                out.push(1);
                number.put(out);
            }
            Self::U64(number) => {
                out.push(2);
                number.put(out);
            }
            Self::F64(number) => {
                out.push(3);
                out.extend(number.to_bits().to_le_bytes());
            }
            Self::Bool(yes) => out.push(4 + u8::from(*yes)),
            Self::Text(id) => {
                out.push(6);
                id.put(out);
            }
            Self::Bytes(bytes) => {
                out.push(7);
                put_list(bytes.iter(), out);
            }
            Self::List(kind, items) => {
                out.push(8);
                kind.put(out);
                put_list(items.iter(), out);
            }
            Self::Map(pairs) => {
                out.push(9);
                put_list(pairs.iter(), out);
            }
            Self::Exception(id) => {
                out.push(10);
                id.put(out);
            }
        }
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        if from.depth >= DEEPEST {
            return None;
        }
        from.depth += 1;
        let value = match from.byte()? {
            0 => Self::Null,
            1 => Self::I64(Stored::take(from)?),
            2 => Self::U64(Stored::take(from)?),
            3 => {
                let (bits, rest) = from.bytes.split_first_chunk()?;
                from.bytes = rest;
                Self::F64(f64::from_bits(u64::from_le_bytes(*bits)))
            }
            4 => Self::Bool(false),
            5 => Self::Bool(true),
            6 => Self::Text(Stored::take(from)?),
            7 => Self::Bytes(from.slice()?.into()),
            8 => {
                let kind = Stored::take(from)?;
                Self::List(kind, Vec::take(from)?.into())
            }
            9 => Self::Map(Vec::take(from)?.into()),
            10 => Self::Exception(Stored::take(from)?),
            _ => return None,
        };
        from.depth -= 1;
        Some(value)
    }
}

impl Stored for Attribute {
    fn put(&self, out: &mut Vec<u8>) {
        self.key.put(out);
        self.value.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        let (key, value) = (Stored::take(from)?, Stored::take(from)?);
        Some(Self::new(key, value))
    }
}

/// The tables that a list of calls looks into.
impl Stored for Definitions {
    fn put(&self, out: &mut Vec<u8>) {
        self.strings.put(out);
        self.resources.put(out);
        self.tracks.put(out);
        self.functions.put(out);
        self.value_types.put(out);
        self.exceptions.put(out);
        self.attribute_keys.put(out);
        self.event_types.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(Self {
            strings: Stored::take(from)?,
            resources: Stored::take(from)?,
            tracks: Stored::take(from)?,
            functions: Stored::take(from)?,
            value_types: Stored::take(from)?,
            exceptions: Stored::take(from)?,
            attribute_keys: Stored::take(from)?,
            event_types: Stored::take(from)?,
            ..Self::default()
        })
    }
}

/// What of a row is there.
mod has {
    pub(super) const FUNCTION: u8 = 1;
    pub(super) const KIND: u8 = 2;
    pub(super) const PARENT: u8 = 4;
    pub(super) const ENTRY: u8 = 8;
    pub(super) const EXCEPTION: u8 = 16;
    pub(super) const CONTEXT: u8 = 32;
    pub(super) const ORIGIN: u8 = 64;
}

/// Appends a row whose origin has the number of a part within its capture. Times and ids are told from those of the row before.
pub(super) fn put_row(row: &SpanRow<'_>, before: (i64, u64), out: &mut Vec<u8>) {
    let flag = |is_there: bool, flag: u8| if is_there { flag } else { 0 };
    out.push(
        flag(row.function.is_some(), has::FUNCTION)
            | flag(row.kind.is_some(), has::KIND)
            | flag(row.parent.is_some(), has::PARENT)
            | flag(row.entry, has::ENTRY)
            | flag(row.exception.is_some(), has::EXCEPTION)
            | flag(row.context.is_some(), has::CONTEXT)
            | flag(row.origin.is_some(), has::ORIGIN),
    );
    row.status.put(out);
    row.start.wrapping_sub(before.0).put(out);
    row.end.wrapping_sub(row.start).put(out);
    row.id.0.wrapping_sub(before.1).cast_signed().put(out);
    row.track.put(out);
    row.function.iter().for_each(|id| id.put(out));
    row.kind.iter().for_each(|id| id.put(out));
    row.parent.iter().for_each(|id| id.0.put(out));
    row.exception.iter().for_each(|id| id.put(out));
    if let Some(context) = row.context {
        out.extend(context.trace.to_le_bytes());
        out.extend(context.span.to_le_bytes());
        out.extend(context.parent.to_le_bytes());
    }
    if let Some(origin) = row.origin {
        origin.part.0.put(out);
        origin.offset.put(out);
        origin.index.put(out);
    }
    put_list(row.counters.iter(), out);
    put_list(row.attributes.iter(), out);
}

fn take_context(from: &mut StoredFields<'_>) -> Option<SpanContext> {
    let (trace, rest) = from.bytes.split_first_chunk()?;
    let (span, rest) = rest.split_first_chunk()?;
    let (parent, rest) = rest.split_first_chunk()?;
    from.bytes = rest;
    Some(SpanContext {
        trace: u128::from_le_bytes(*trace),
        span: u64::from_le_bytes(*span),
        parent: u64::from_le_bytes(*parent),
    })
}

fn take_origin(from: &mut StoredFields<'_>) -> Option<Origin> {
    Some(Origin {
        part: PartId(Stored::take(from)?),
        offset: Stored::take(from)?,
        index: Stored::take(from)?,
    })
}

/// Reads the rest of a field that a flag says is there.
#[expect(clippy::option_option, reason = "what is not there is not damage")]
fn where_flagged<T>(flags: u8, flag: u8, take: impl FnOnce() -> Option<T>) -> Option<Option<T>> {
    match flags & flag != 0 {
        true => take().map(Some),
        false => Some(None),
    }
}

/// Reads as many rows as there are.
pub(super) fn take_rows(from: &mut StoredFields<'_>, n_rows: usize) -> Option<SpanBatch> {
    let mut batch = SpanBatch::default();
    let mut before = (0_i64, 0_u64);
    let mut counters = Vec::new();
    let mut attributes = Vec::new();
    for _ in 0..n_rows {
        let flags = from.byte()?;
        let status = Stored::take(from)?;
        let start = before.0.wrapping_add(Stored::take(from)?);
        let end = start.wrapping_add(Stored::take(from)?);
        let id = before.1.wrapping_add_signed(Stored::take(from)?);
        before = (start, id);
        let track = Stored::take(from)?;
        let function = where_flagged(flags, has::FUNCTION, || Stored::take(from))?;
        let kind = where_flagged(flags, has::KIND, || Stored::take(from))?;
        let parent = where_flagged(flags, has::PARENT, || u64::take(from).map(SpanId))?;
        let exception = where_flagged(flags, has::EXCEPTION, || Stored::take(from))?;
        let context = where_flagged(flags, has::CONTEXT, || take_context(from))?;
        let origin = where_flagged(flags, has::ORIGIN, || take_origin(from))?;
        counters.clear();
        for _ in 0..u64::take(from)? {
            counters.push(Stored::take(from)?);
        }
        attributes.clear();
        for _ in 0..u64::take(from)? {
            attributes.push(Stored::take(from)?);
        }
        let row = SpanRow {
            id: SpanId(id),
            parent,
            depth: 0,
            track,
            function,
            kind,
            start,
            end,
            status,
            entry: flags & has::ENTRY != 0,
            counters: &counters,
            attributes: &[],
            exception,
            context,
            origin,
        };
        batch.push_with(&row, &mut attributes);
    }
    Some(batch)
}
