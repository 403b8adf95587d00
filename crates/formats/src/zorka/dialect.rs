//! What the writers of different generations do differently, as data (SPEC.md §8, strict writer).

use super::record::Order;

/// A generation as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Generation {
    S0,
    B2,
    C,
}

/// How one generation is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GenerationDialect {
    pub(crate) generation: Generation,
    /// Order of packed words.
    pub(crate) order: Order,
    /// Tag of attribute maps: 9, or 12 as the seed's text has it.
    pub(crate) attribute_tag: u8,
    pub(crate) begin_tag: u8,
    pub(crate) exception_tag: u8,
    pub(crate) exception_ref_tag: u8,
    /// Symbols carry their type.
    pub(crate) typed_symbols: bool,
    /// A begin names the trace type, and span and parent.
    pub(crate) begin_type: bool,
    pub(crate) begin_spans: bool,
    /// Attributes may be handed to an enclosing trace.
    pub(crate) upward: bool,
    /// Which attribute values are written as they are.
    pub(crate) values: ValueForms,
}

/// Which attribute values a generation is written with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueForms {
    /// Texts; the rest becomes text.
    Texts,
    /// What the writer of the original makes and its reader understands: no fractions, lists or maps, which become text.
    Scalars,
    /// Whatever CBOR holds.
    All,
}

impl GenerationDialect {
    /// Returns the generation as it is written for recordings that came in it: nothing of it is beyond their reader.
    pub(crate) const fn again(self) -> Self {
        Self {
            values: ValueForms::All,
            upward: true,
            ..self
        }
    }
}

const S0: GenerationDialect = GenerationDialect {
    generation: Generation::S0,
    order: Order::Little,
    attribute_tag: 9,
    begin_tag: 0x21,
    exception_tag: 0x22,
    exception_ref_tag: 0x23,
    typed_symbols: true,
    begin_type: true,
    begin_spans: false,
    upward: true,
    values: ValueForms::All,
};

const B2: GenerationDialect = GenerationDialect {
    generation: Generation::B2,
    begin_type: false,
    begin_spans: true,
    upward: false,
    values: ValueForms::Texts,
    ..S0
};

const C: GenerationDialect = GenerationDialect {
    generation: Generation::C,
    attribute_tag: 6,
    begin_tag: 5,
    exception_tag: 7,
    exception_ref_tag: 8,
    typed_symbols: false,
    begin_spans: true,
    values: ValueForms::Scalars,
    ..S0
};

/// Variants of `zorka-s0`, with what they are.
pub(crate) const S0_VARIANTS: [(&str, GenerationDialect); 3] = [
    ("le", S0),
    (
        "be",
        GenerationDialect {
            order: Order::Big,
            ..S0
        },
    ),
    (
        "seed-literal",
        GenerationDialect {
            attribute_tag: 12,
            ..S0
        },
    ),
];

/// Variants of `zorka-b2`; the local tracer wrote big-endian whatever its machine.
pub(crate) const B2_VARIANTS: [(&str, GenerationDialect); 2] = [
    (
        "be",
        GenerationDialect {
            order: Order::Big,
            ..B2
        },
    ),
    ("le", B2),
];

/// Variants of `zorka-c`; the first is the one without a name.
pub(crate) const C_VARIANTS: [(&str, GenerationDialect); 2] = [
    ("agent", C),
    (
        "typed",
        GenerationDialect {
            values: ValueForms::All,
            ..C
        },
    ),
];
