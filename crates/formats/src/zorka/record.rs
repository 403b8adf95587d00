//! Native records: the tagged items of a Zorka stream, one variant a construct (SPEC.md §1 to §4).
//!
//! All generations share these: what differs between them (tag numbers, packed words or plain integers,
//! where a symbol is tagged) is kept as the form an item was written in.

use super::cbor::{Cbor, CborFault, CborValue};
use super::session::Base;

/// The order of the bytes in a packed word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Low byte first: the streaming tracer on any machine in use.
    #[default]
    Little,
    /// High byte first: the local tracer of B.
    Big,
}

/// How a record begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartForm {
    /// S0: a record tag, an indefinite array, an untagged word. 10 and 11 take two bytes, 6 and 7 one.
    Seed {
        /// 10 or 6 big-endian, 11 or 7 little-endian.
        tag: u8,
    },
    /// S0b and B: tag 8, a tagged word.
    Tagged,
    /// Tag 8 without a word: processed traces, whose facts follow as [`Item::Info`].
    Bare,
    /// C: tag 3, time and method as integers.
    Nanos,
    /// The 2.0.3 streaming tracer: tag 3 on a definite array, method before time.
    Stream,
}

/// A record begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// How it is written.
    pub form: StartForm,
    /// Order of its word; little where there is none.
    pub order: Order,
    /// Ticks of 65,536 ns, or nanoseconds in C.
    pub time: i64,
    /// Method id.
    pub method: i64,
}

/// How a record ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndForm {
    /// S0 and S0b: an untagged word or pair of words.
    Untagged,
    /// B: tags 12 and 13.
    Tagged,
    /// C: tag 4.
    Nanos,
}

/// A record ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// How it is written.
    pub form: EndForm,
    /// Order of its words.
    pub order: Order,
    /// Calls are a word of their own.
    pub long: bool,
    /// The record's array is closed right after.
    pub closed: bool,
    /// Ticks of 65,536 ns, or nanoseconds in C.
    pub time: i64,
    /// Instrumented calls including itself, also those whose records were dropped.
    pub calls: u64,
    /// Flags of a marked record (C).
    pub flags: Option<i64>,
}

/// A record is marked as a trace (SPEC.md §1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Begin {
    /// C's tag 5 instead of 33.
    pub nanos: bool,
    /// Milliseconds since 1970.
    pub clock_ms: i64,
    /// Symbol of the trace type.
    pub ttype: Option<i64>,
    /// Span id.
    pub span_id: Option<i64>,
    /// Span id of the parent.
    pub parent_id: Option<i64>,
}

/// How attributes are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeForm {
    /// A map under tag 9, or 12 in the seed's text.
    Map {
        /// 9 or 12.
        tag: u8,
    },
    /// S0's upward attribute: tag 38 inside the attribute tag, map in map.
    MapUpward {
        /// 9 or 12.
        tag: u8,
    },
    /// B's upward attribute: tag 38 on type and map.
    Upward,
    /// C: tag 6 on symbol and value, with a type before them when upward.
    Nanos,
}

/// Attributes of the record they lie in, or of one that encloses it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Attributes<'a> {
    /// How they are written.
    pub form: AttributeForm,
    /// The trace type they are for, 0 for the nearest of any; none when they stay here.
    pub upward: Option<i64>,
    /// Number of pairs.
    pub count: u64,
    /// The last value was left out by the writer.
    pub missing: bool,
    body: &'a [u8],
}

impl<'a> Attributes<'a> {
    pub(crate) const fn new(form: AttributeForm, body: &'a [u8]) -> Self {
        Self {
            form,
            upward: None,
            count: 1,
            missing: false,
            body,
        }
    }

    #[inline]
    pub(crate) const fn of(
        form: AttributeForm,
        upward: Option<i64>,
        count: u64,
        body: &'a [u8],
    ) -> Self {
        Self {
            form,
            upward,
            count,
            missing: false,
            body,
        }
    }

    /// Iterates over keys and values in their order.
    #[inline]
    pub fn pairs(&self) -> impl Iterator<Item = (CborValue<'a>, CborValue<'a>)> + use<'a> {
        let mut keys = self.keys();
        std::iter::from_fn(move || Some((keys.next_key()?, keys.value()?)))
    }

    /// Returns the keys, whose values are read where they are wanted.
    #[inline]
    pub(crate) fn keys(&self) -> AttributeKeys<'a> {
        AttributeKeys {
            cbor: Cbor::checked(self.body),
            left: self.count,
            missing: self.missing,
            is_unread: false,
        }
    }
}

/// The pairs of attributes, key by key.
pub(crate) struct AttributeKeys<'a> {
    cbor: Cbor<'a>,
    left: u64,
    missing: bool,
    /// The value of the last key was not read.
    is_unread: bool,
}

impl<'a> AttributeKeys<'a> {
    /// Reads the next key.
    #[inline]
    pub(crate) fn next_key(&mut self) -> Option<CborValue<'a>> {
        self.left = self.left.checked_sub(1)?;
        if self.is_unread {
            self.cbor.value().ok()?;
        }
        self.is_unread = true;
        self.cbor.value().ok()
    }

    /// Reads the value of the key.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<CborValue<'a>> {
        self.is_unread = false;
        match self.missing && self.left == 0 {
            true => Some(CborValue::Missing),
            false => self.cbor.value().ok(),
        }
    }

    /// Returns true if the value of the key may hold others.
    #[inline]
    pub(crate) fn is_container(&self) -> bool {
        let first = self.cbor.peek();
        first.is_ok_and(|first| matches!(first >> 5, 4..=6) || first & 0x1f == 31)
    }
}

/// A run of values: the fields of an exception or of chunk metadata.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueRun<'a> {
    /// How many.
    pub count: u64,
    body: &'a [u8],
}

impl<'a> ValueRun<'a> {
    pub(crate) const fn new(count: u64, body: &'a [u8]) -> Self {
        Self { count, body }
    }

    /// Iterates over the values.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = CborValue<'a>> + use<'a> {
        let mut cbor = Cbor::checked(self.body);
        (0..self.count).map_while(move |_| cbor.value().ok())
    }

    /// Opens an array, or a map as keys and values in turn; nothing when it is something else.
    #[must_use]
    pub fn elements(raw: &'a [u8]) -> Vec<CborValue<'a>> {
        Self::array(raw).collect()
    }

    /// Iterates over what [`ValueRun::elements`] collects.
    pub fn array(raw: &'a [u8]) -> impl Iterator<Item = CborValue<'a>> + use<'a> {
        let mut cbor = Cbor::checked(raw);
        let head = cbor.head().ok().filter(|head| matches!(head.major, 4 | 5));
        let indefinite = head.is_some_and(|head| head.info == 31);
        let mut left = match head {
            None => 0,
            Some(_) if indefinite => u64::MAX,
            Some(head) => head.value << (head.major & 1),
        };
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            if indefinite && cbor.next_is(0xff) == Some(true) {
                left = 0;
                return None;
            }
            cbor.value().ok()
        })
    }
}

/// An exception that left a record (SPEC.md §1.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Exception<'a> {
    /// 0x22, or 7 in C.
    pub tag: u8,
    /// The fields as they lie: 5, or 6 with attributes.
    pub values: ValueRun<'a>,
}

/// The fields of an exception by name, whichever order its generation has them in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExceptionFields<'a> {
    /// Identity of the object.
    pub id: CborValue<'a>,
    /// Class: symbol, reference or text.
    pub class: CborValue<'a>,
    /// Message.
    pub message: CborValue<'a>,
    /// An id in B and C, an exception under its tag in S0, or null.
    pub cause: CborValue<'a>,
    /// An array of frames of four.
    pub stack: CborValue<'a>,
    /// Attributes, which no known writer emits (C).
    pub attributes: Option<CborValue<'a>>,
}

/// Returns true of the stack of an exception: no cause is an array.
fn is_stack(value: &CborValue<'_>) -> bool {
    matches!(value, CborValue::Raw([first, ..]) if first >> 5 == 4)
}

impl<'a> Exception<'a> {
    /// Returns the cause, as [`Exception::fields`] does.
    pub(crate) fn cause(&self) -> Option<CborValue<'a>> {
        let mut values = self.values.iter().skip(3);
        let fourth = values.next()?;
        match is_stack(&fourth) {
            true => values.next(),
            false => Some(fourth),
        }
    }

    /// Names the fields: the fourth is the stack in S0 and the cause in B and C, told apart by type.
    #[must_use]
    pub fn fields(&self) -> Option<ExceptionFields<'a>> {
        let mut values = self.values.iter();
        let (id, class, message) = (values.next()?, values.next()?, values.next()?);
        let (fourth, fifth) = (values.next()?, values.next()?);
        let (cause, stack) = if is_stack(&fourth) {
            (fifth, fourth)
        } else {
            (fourth, fifth)
        };
        Some(ExceptionFields {
            id,
            class,
            message,
            cause,
            stack,
            attributes: values.next(),
        })
    }
}

/// A symbol: `[id, text]`, with a type in B (SPEC.md §3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Symbol<'a> {
    /// Symbol id.
    pub id: i64,
    /// Text, or null.
    pub text: CborValue<'a>,
    /// B's type: 0 plain, 4 keyword, 5 class, 6 method, 7 uuid, 8 signature.
    pub symbol_type: Option<i64>,
}

/// A method: ids of class, name and signature (SPEC.md §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method {
    /// Method id: a number space of its own.
    pub id: i64,
    /// Symbol of the class.
    pub class: i64,
    /// Symbol of the name.
    pub name: i64,
    /// Symbol of the signature.
    pub signature: i64,
}

/// One item of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Item<'a> {
    /// A record begins.
    Start(Start),
    /// A tagged word that is not where its record began.
    Prolog(Start),
    /// A record ends.
    End(End),
    /// A bare `ff`.
    Break,
    /// The record is a trace.
    Begin(Begin),
    /// Attributes.
    Attributes(Attributes<'a>),
    /// An exception.
    Exception(Exception<'a>),
    /// The exception of an earlier record.
    ExceptionRef {
        /// 0x23, or 8 in C.
        tag: u8,
        /// Its id.
        id: u64,
    },
    /// Flags of a trace (B).
    Flags(u64),
    /// A fact of a processed trace.
    Info {
        /// Which.
        key: i64,
        /// Its value.
        value: CborValue<'a>,
    },
    /// A symbol is defined.
    Symbol(Symbol<'a>),
    /// A method is defined.
    Method(Method),
    /// Metadata of a chunk in a store: integers and two maps.
    Chunk(ValueRun<'a>),
    /// A tag of unknown meaning with a well-formed value.
    Unknown,
    /// Bytes that are no item.
    Damage,
}

/// An item with its place.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Offset in the decoded part.
    pub offset: u64,
    /// The bytes it was read from.
    pub bytes: &'a [u8],
    /// They are what `super::write::item` makes of the fields.
    pub canonical: bool,
    /// What it says.
    pub item: &'a Item<'a>,
    /// Where the clock stands, once a begin was seen.
    pub(crate) base: Option<&'a Base>,
}

impl Record<'_> {
    /// Returns when it happened, in nanoseconds since 1970: begins, and ends after one.
    #[must_use]
    pub fn wall_time(&self) -> Option<i64> {
        let base = self.base?;
        match self.item {
            Item::Begin(_) => Some(base.clock_ns),
            Item::End(end) => Some(base.wall(end.time)),
            _ => None,
        }
    }
}

/// Reads the inline exception that is an S0 cause.
pub(crate) fn inline_exception(raw: &[u8]) -> Result<Item<'_>, CborFault> {
    let mut cbor = Cbor::checked(raw);
    super::read::item(&mut cbor, &super::read::Context::default())
}
