//! Samples that are only added up: of their events no more is read than tells them apart.

use super::super::scan::{after_varints, varint_at};
use super::super::schema::{FieldEncoding, FieldSchema};
use super::super::value::DecodedValue;
use super::super::walk::EventHead;
use super::amounts::AmountFields;
use super::plan::{FieldRole, Plan};
use super::profiles::Rule;

/// Fields that may tell samples of a type apart.
const KEYS: usize = 6;

/// What is read of an event; of what its type does not have, what another type left.
#[derive(Debug, Default)]
pub(super) struct QuickSample {
    pub(super) start: i64,
    key: [u64; KEYS],
    amount: i64,
    weight: f32,
    size: i64,
}

/// How events of a type are read.
#[derive(Debug)]
pub(super) struct QuickFields {
    steps: Vec<QuickStep>,
    n_keys: usize,
    /// Which fields there are of those that say how much a sample is.
    has: AmountParts,
}

#[derive(Clone, Copy, Debug, Default)]
struct AmountParts {
    amount: bool,
    weight: bool,
    size: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QuickStep {
    /// So many integers that nobody wants.
    Integers(u32),
    /// So many bytes that nobody wants.
    Bytes(usize),
    Start,
    /// An integer of the key.
    Key(usize),
    /// A byte of the key.
    KeyByte(usize),
    Amount,
    /// The amount, as a float.
    Weight,
    Size,
}

impl QuickFields {
    /// Returns how samples of a plan are read; none where they have fields of other kinds than are read here, or no time.
    pub(super) fn of(plan: &Plan, fields: &[FieldSchema]) -> Option<Self> {
        let is_scaled = matches!(plan.rule?, Rule::Scaled(_));
        let mut steps = Vec::new();
        let mut n_keys = 0;
        for (at, (role, field)) in plan.roles.iter().zip(fields).enumerate() {
            if field.array {
                return None;
            }
            let size = plan.amounts.size.filter(|_| is_scaled);
            let step = step(&plan.amounts, size, at, *role, field, n_keys)?;
            n_keys += usize::from(matches!(step, QuickStep::Key(_) | QuickStep::KeyByte(_)));
            match (steps.last_mut(), step) {
                (Some(QuickStep::Integers(count)), QuickStep::Integers(more)) => *count += more,
                (Some(QuickStep::Bytes(count)), QuickStep::Bytes(more)) => *count += more,
                _ => steps.push(step),
            }
        }
        let fits = n_keys <= KEYS && steps.contains(&QuickStep::Start);
        let has = AmountParts {
            amount: steps.contains(&QuickStep::Amount),
            weight: steps.contains(&QuickStep::Weight),
            size: steps.contains(&QuickStep::Size),
        };
        fits.then_some(Self { steps, n_keys, has })
    }

    /// Reads the fields of the event at `head`; returns false unless they end where it does and more of the chunk follows.
    #[inline(always)]
    pub(super) fn read(&self, chunk: &[u8], head: &EventHead, into: &mut QuickSample) -> bool {
        self.end(chunk, head.body, into) == Some(head.end)
    }

    #[inline(always)]
    fn end(&self, chunk: &[u8], mut at: usize, into: &mut QuickSample) -> Option<usize> {
        for &step in &self.steps {
            match step {
                QuickStep::Integers(count) => at = after_varints(chunk, at, count)?,
                QuickStep::Bytes(count) => at += count,
                QuickStep::Start => {
                    let (start, end) = varint_at(chunk, at)?;
                    (into.start, at) = (start.cast_signed(), end);
                }
                QuickStep::Key(key) => (*into.key.get_mut(key)?, at) = varint_at(chunk, at)?,
                QuickStep::KeyByte(key) => {
                    *into.key.get_mut(key)? = u64::from(*chunk.get(at)?);
                    at += 1;
                }
                QuickStep::Amount => {
                    let (amount, end) = varint_at(chunk, at)?;
                    (into.amount, at) = (amount.cast_signed(), end);
                }
                QuickStep::Weight => {
                    let bytes = *chunk.get(at..)?.first_chunk()?;
                    into.weight = f32::from_be_bytes(bytes);
                    at += bytes.len();
                }
                QuickStep::Size => {
                    let (size, end) = varint_at(chunk, at)?;
                    (into.size, at) = (size.cast_signed(), end);
                }
            }
        }
        Some(at)
    }

    /// Returns what tells the sample apart from others of its type.
    #[inline]
    pub(super) fn key<'r>(&self, read: &'r QuickSample) -> &'r [u64] {
        read.key.get(..self.n_keys).unwrap_or(&read.key)
    }

    /// Returns the amount of the sample.
    #[inline]
    pub(super) fn amount(&self, read: &QuickSample) -> Option<DecodedValue<'static>> {
        if self.has.amount {
            return Some(DecodedValue::Int(read.amount));
        }
        self.has.weight.then_some(DecodedValue::Float(read.weight))
    }

    /// Returns the size of one of the things that it stands for.
    #[inline]
    pub(super) fn size(&self, read: &QuickSample) -> Option<i64> {
        self.has.size.then_some(read.size)
    }
}

/// Returns what is done with the field at `at`; none where it is of a kind that is not read here.
fn step(
    amounts: &AmountFields,
    size: Option<usize>,
    at: usize,
    role: FieldRole,
    field: &FieldSchema,
    key: usize,
) -> Option<QuickStep> {
    use FieldEncoding::{Bool, Byte, Char, Double, Float, Int, Long, Ref, Short};
    let is_amount = amounts.amount == Some(at);
    let is_state = amounts.state == Some(at);
    let tells = match role {
        FieldRole::Thread(_) | FieldRole::Stack(_) => true,
        FieldRole::Attribute {
            counter: Some(_), ..
        }
        | FieldRole::Owner(..) => return None,
        FieldRole::Attribute { label, .. } => is_state || label.is_some(),
        FieldRole::Start | FieldRole::Duration(_) | FieldRole::Unused => false,
    };
    Some(match field.kind {
        Long if role == FieldRole::Start => QuickStep::Start,
        Long if is_amount => QuickStep::Amount,
        Float if is_amount => QuickStep::Weight,
        _ if is_amount => return None,
        Long if size == Some(at) => QuickStep::Size,
        _ if size == Some(at) => return None,
        Long | Int | Short | Char | Ref(_) if tells => QuickStep::Key(key),
        Bool | Byte if tells => QuickStep::KeyByte(key),
        _ if tells => return None,
        Long | Int | Short | Char | Ref(_) => QuickStep::Integers(1),
        Bool | Byte => QuickStep::Bytes(1),
        Float => QuickStep::Bytes(4),
        Double => QuickStep::Bytes(8),
        FieldEncoding::Str | FieldEncoding::Struct(_) | FieldEncoding::Unknown => return None,
    })
}
