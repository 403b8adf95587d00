//! Samples that are only added up: of their events no more is read than tells them apart.

use super::super::event_head::EventHead;
use super::super::schema::{FieldEncoding, FieldSchema};
use super::super::value::DecodedValue;
use super::super::words::{HIGHEST, after_varints, groups_at, groups_of, squeeze};
use super::amounts::AmountFields;
use super::plan::{FieldRole, Plan};
use super::profiles::Rule;

/// Fields that may tell samples of a type apart.
const KEYS: usize = 6;

/// What is read of an event; of what its type does not have, what another type left. Integers are in [groups](groups_at).
#[derive(Debug, Default)]
pub(super) struct QuickSample {
    pub(super) start: u64,
    key: [u64; KEYS],
    amount: u64,
    weight: f32,
    size: u64,
}

impl QuickSample {
    /// Returns the amount, where it is an integer.
    #[inline]
    pub(super) fn amount(&self) -> i64 {
        squeeze(self.amount).cast_signed()
    }
}

/// How events of a type are read.
#[derive(Debug)]
pub(super) struct QuickFields {
    steps: Vec<QuickStep>,
    n_keys: usize,
    layouts: Layouts,
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
        let size = plan.amounts.size.filter(|_| is_scaled);
        let of_steps = Self::of_steps(plan, fields, |at, role, field, n_keys| {
            step(&plan.amounts, size, at, role, field, n_keys)
        });
        of_steps.filter(|quick| quick.steps.contains(&QuickStep::Start))
    }

    /// Returns how events of a plan are read of which nothing is wanted but the constants that they refer to; none where they
    /// have fields of other kinds than are read here.
    pub(super) fn of_references(plan: &Plan, fields: &[FieldSchema]) -> Option<Self> {
        Self::of_steps(plan, fields, |_, role, field, n_keys| match field.kind {
            FieldEncoding::Ref(_) if role != FieldRole::Unused => Some(QuickStep::Key(n_keys)),
            kind => unwanted(kind),
        })
    }

    /// Returns how events are read by what is done with each field: with the one at an index, behind so many of the key.
    fn of_steps(
        plan: &Plan,
        fields: &[FieldSchema],
        step: impl Fn(usize, FieldRole, &FieldSchema, usize) -> Option<QuickStep>,
    ) -> Option<Self> {
        let mut steps = Vec::new();
        let mut n_keys = 0;
        for (at, (role, field)) in plan.roles.iter().zip(fields).enumerate() {
            if field.array {
                return None;
            }
            let step = step(at, *role, field, n_keys)?;
            n_keys += usize::from(matches!(step, QuickStep::Key(_) | QuickStep::KeyByte(_)));
            match (steps.last_mut(), step) {
                (Some(QuickStep::Integers(count)), QuickStep::Integers(more)) => *count += more,
                (Some(QuickStep::Bytes(count)), QuickStep::Bytes(more)) => *count += more,
                _ => steps.push(step),
            }
        }
        let has = AmountParts {
            amount: steps.contains(&QuickStep::Amount),
            weight: steps.contains(&QuickStep::Weight),
            size: steps.contains(&QuickStep::Size),
        };
        (n_keys <= KEYS).then_some(Self {
            steps,
            n_keys,
            layouts: Layouts::default(),
            has,
        })
    }

    /// Reads the fields of the event at `head`; returns false unless they end where it does and more of the chunk follows.
    #[inline(always)]
    pub(super) fn read(&mut self, chunk: &[u8], head: &EventHead, into: &mut QuickSample) -> bool {
        let Some(fields) = ShortFields::of(chunk, head) else {
            return self.end(chunk, head.body, into) == Some(head.end);
        };
        if let Some(layout) = self.layouts.get(fields.ends) {
            return self.read_as(layout, fields.bytes, into).is_some();
        }
        let is_read = self.end(chunk, head.body, into) == Some(head.end);
        if is_read && let Some(layout) = self.layout(fields.ends) {
            self.layouts.keep(layout);
        }
        is_read
    }

    #[inline(always)]
    fn read_as(
        &self,
        layout: &Layout,
        fields: &[u8; SHORT + 8],
        into: &mut QuickSample,
    ) -> Option<()> {
        into.start = layout.start.read(fields)?;
        for key in 0..self.n_keys {
            *into.key.get_mut(key)? = layout.keys.get(key)?.read(fields)?;
        }
        into.amount = layout.amount.read(fields)?;
        if self.has.size {
            into.size = layout.size.read(fields)?;
        }
        Some(())
    }

    /// Returns where the fields are if integers end at these bytes; none where fields are of other kinds, or too long.
    #[cold]
    fn layout(&self, ends: Ends) -> Option<Layout> {
        let mut layout = Layout {
            ends,
            ..Layout::default()
        };
        let (mut at, mut left) = (0, ends.by_byte());
        let mut next = || {
            let length = left.trailing_zeros() + 1;
            let groups = groups_of(length)?;
            let place = Place { at, groups };
            at += length as usize;
            left >>= length;
            Some(place)
        };
        for &step in &self.steps {
            match step {
                QuickStep::Integers(count) => {
                    for _ in 0..count {
                        next()?;
                    }
                }
                QuickStep::Start => layout.start = next()?,
                QuickStep::Key(key) => *layout.keys.get_mut(key)? = next()?,
                QuickStep::Amount => layout.amount = next()?,
                QuickStep::Size => layout.size = next()?,
                QuickStep::Bytes(_) | QuickStep::KeyByte(_) | QuickStep::Weight => return None,
            }
        }
        Some(layout)
    }

    #[inline(always)]
    fn end(&self, chunk: &[u8], mut at: usize, into: &mut QuickSample) -> Option<usize> {
        for &step in &self.steps {
            match step {
                QuickStep::Integers(count) => at = after_varints(chunk, at, count)?,
                QuickStep::Bytes(count) => at += count,
                QuickStep::Start => (into.start, at) = groups_at(chunk, at)?,
                QuickStep::Key(key) => (*into.key.get_mut(key)?, at) = groups_at(chunk, at)?,
                QuickStep::KeyByte(key) => {
                    *into.key.get_mut(key)? = u64::from(*chunk.get(at)?);
                    at += 1;
                }
                QuickStep::Amount => (into.amount, at) = groups_at(chunk, at)?,
                QuickStep::Weight => {
                    let bytes = *chunk.get(at..)?.first_chunk()?;
                    into.weight = f32::from_be_bytes(bytes);
                    at += bytes.len();
                }
                QuickStep::Size => (into.size, at) = groups_at(chunk, at)?,
            }
        }
        Some(at)
    }

    /// Returns what tells the sample apart from others of its type.
    #[inline]
    pub(super) fn key<'r>(&self, read: &'r QuickSample) -> &'r [u64] {
        read.key.get(..self.n_keys).unwrap_or(&read.key)
    }

    /// Returns true if samples have an amount, which is an integer.
    pub(super) fn has_amount(&self) -> bool {
        self.has.amount
    }

    /// Returns the amount of the sample.
    #[inline]
    pub(super) fn amount(&self, read: &QuickSample) -> Option<DecodedValue<'static>> {
        if self.has.amount {
            return Some(DecodedValue::Int(read.amount()));
        }
        self.has.weight.then_some(DecodedValue::Float(read.weight))
    }

    /// Returns the size of one of the things that it stands for.
    #[inline]
    pub(super) fn size(&self, read: &QuickSample) -> Option<i64> {
        self.has.size.then(|| squeeze(read.size).cast_signed())
    }
}

/// Bytes of fields that are looked at together.
const SHORT: usize = 24;

/// The fields of a short event.
struct ShortFields<'c> {
    /// Their bytes, and what follows.
    bytes: &'c [u8; SHORT + 8],
    ends: Ends,
}

impl<'c> ShortFields<'c> {
    #[inline(always)]
    fn of(chunk: &'c [u8], head: &EventHead) -> Option<Self> {
        let length = head.end - head.body;
        let bytes: &[u8; SHORT + 8] = chunk.get(head.body..)?.first_chunk()?;
        let ends = Ends::of(bytes, length)?;
        Some(Self { bytes, ends })
    }
}

/// Which of the bytes end an integer, and how many bytes there are: bit `at % 8 * 8 + at / 8` is of the byte `at`, which takes the
/// three lowest bits of each byte here, and their number is in the five highest bits of the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ends(u64);

impl Default for Ends {
    /// What no bytes have: there would be 31.
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl Ends {
    #[inline(always)]
    fn of(bytes: &[u8; SHORT + 8], length: usize) -> Option<Self> {
        let ([first, second, third, _], _) = bytes.as_chunks() else {
            return None;
        };
        let inside = *INSIDE.get(length)?;
        let ends_in = |bytes: &[u8; 8]| !u64::from_le_bytes(*bytes) & HIGHEST;
        let ends = ends_in(first) >> 7 | ends_in(second) >> 6 | ends_in(third) >> 5;
        Some(Self(ends & inside | (length as u64) << 3))
    }

    /// Returns a bit for each byte that ends an integer, the lowest for the first, and one behind the last byte.
    fn by_byte(self) -> u32 {
        let is_end = |at: &usize| self.0 >> (at % 8 * 8 + at / 8) & 1 == 1;
        let ends: u32 = (0..SHORT).filter(is_end).map(|at| 1 << at).sum();
        ends | 1 << (self.0 >> 3 & 0x1f)
    }
}

/// For each number of bytes, the bits of [`Ends`] that are theirs.
#[expect(
    clippy::indexing_slicing,
    reason = "up to the last number, while compiling"
)]
const INSIDE: [u64; SHORT + 1] = {
    let mut inside = [0; SHORT + 1];
    let mut length = 0;
    while length < SHORT {
        inside[length + 1] = inside[length] | 1 << (length % 8 * 8 + length / 8);
        length += 1;
    }
    inside
};

/// An integer of at most eight bytes: where it begins, and which bits of the word there are its groups.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    at: usize,
    groups: u64,
}

impl Place {
    #[inline(always)]
    fn read(&self, fields: &[u8; SHORT + 8]) -> Option<u64> {
        let word = u64::from_le_bytes(*fields.get(self.at..)?.first_chunk()?);
        Some(word & self.groups)
    }
}

/// Where the fields are in events whose integers end at the same bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    ends: Ends,
    start: Place,
    keys: [Place; KEYS],
    amount: Place,
    size: Place,
}

/// The layouts that were met last: integers of one field are mostly of one length or of two.
#[derive(Debug, Default)]
struct Layouts(Vec<Layout>);

impl Layouts {
    const SLOTS: usize = 64;

    #[inline(always)]
    fn get(&self, ends: Ends) -> Option<&Layout> {
        let found = self.0.get(Self::slot(ends))?;
        (found.ends == ends).then_some(found)
    }

    #[cold]
    fn keep(&mut self, layout: Layout) {
        self.0.resize(Self::SLOTS, Layout::default());
        if let Some(slot) = self.0.get_mut(Self::slot(layout.ends)) {
            *slot = layout;
        }
    }

    #[inline(always)]
    fn slot(ends: Ends) -> usize {
        (ends.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
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
    use FieldEncoding::{Bool, Byte, Char, Float, Int, Long, Ref, Short};
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
        kind => return unwanted(kind),
    })
}

/// Returns how a field that nobody wants is stepped over; none where that is not done here.
fn unwanted(kind: FieldEncoding) -> Option<QuickStep> {
    use FieldEncoding::{Bool, Byte, Char, Double, Float, Int, Long, Ref, Short};
    Some(match kind {
        Long | Int | Short | Char | Ref(_) => QuickStep::Integers(1),
        Bool | Byte => QuickStep::Bytes(1),
        Float => QuickStep::Bytes(4),
        Double => QuickStep::Bytes(8),
        FieldEncoding::Str | FieldEncoding::Struct(_) | FieldEncoding::Unknown => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::QuickStep::{Amount, Bytes, Integers, Key, KeyByte, Size, Start};
    use super::*;
    use traceloom_samples::Random;

    /// Bytes of up to eight integers of all lengths; most are short.
    fn integers(random: &mut Random) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..=random.below(7) {
            let most = if random.per_mille(100) { 9 } else { 3 };
            for _ in 0..random.skewed(most) {
                bytes.push(0x80 | random.bits().to_le_bytes()[0]);
            }
            bytes.push(0x7f & random.bits().to_le_bytes()[0]);
        }
        bytes
    }

    /// What the layout of an event before finds is what is found one by one.
    #[test]
    fn layouts_read_what_steps_read() {
        let mut random = Random::new(7);
        for steps in [
            vec![Start, Integers(1), Key(0), Key(1), Amount],
            vec![Key(0), Start, Integers(2), Key(1), Amount, Size],
            vec![Start, Key(0), KeyByte(1), Bytes(1), Amount],
        ] {
            let has = AmountParts {
                amount: true,
                weight: false,
                size: steps.contains(&Size),
            };
            let mut quick = QuickFields {
                steps,
                n_keys: 2,
                layouts: Layouts::default(),
                has,
            };
            let mut n_by_layout = 0;
            for _ in 0..20_000 {
                let mut chunk = vec![0xff; 3];
                chunk.extend(integers(&mut random));
                let end = chunk.len() + usize::from(random.per_mille(200));
                let head = EventHead {
                    at: 0,
                    body: 3,
                    end,
                    type_id: 7,
                };
                chunk.extend([0x81; SHORT + 8]);
                let layout = ShortFields::of(&chunk, &head);
                let layout = layout.and_then(|fields| quick.layouts.get(fields.ends));
                n_by_layout += u32::from(layout.is_some());
                let (mut read, mut wanted) = (QuickSample::default(), QuickSample::default());
                let is_whole = quick.end(&chunk, head.body, &mut wanted) == Some(head.end);
                assert_eq!(quick.read(&chunk, &head, &mut read), is_whole);
                if is_whole {
                    let all = |read: &QuickSample| (read.start, read.key, read.amount, read.size);
                    assert_eq!(all(&read), all(&wanted));
                }
            }
            let is_integers = !quick.steps.contains(&KeyByte(1));
            assert_eq!(n_by_layout > 100, is_integers, "{n_by_layout}");
        }
    }
}
