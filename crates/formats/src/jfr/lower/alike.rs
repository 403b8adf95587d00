//! Samples of a chunk that are alike, differing in time and amount alone: added up, not taken apart.

use super::super::header::ChunkClock;
use super::super::scan::squeeze;
use super::super::schema::FieldSchema;
use super::super::walk::EventHead;
use super::amounts::AmountFields;
use super::plan::Plan;
use super::profiles::{Profiles, Rule, SumPlace};
use super::quick::{QuickFields, QuickSample};

/// Slots that are looked at for a key: a recording may be made so that many keys want the same.
const PROBES: usize = 16;

/// The types of a chunk by their index, with the samples met so far.
#[derive(Default)]
pub(super) struct AlikeSamples {
    types: Vec<TypeReading>,
    read: QuickSample,
    /// Kinds of samples, and how many samples were of a kind that was met before.
    n_kinds: usize,
    n_alike: usize,
}

#[derive(Default)]
enum TypeReading {
    #[default]
    NotMet,
    TakenApart,
    Quick(Box<QuickType>),
}

struct QuickType {
    fields: QuickFields,
    rule: Rule,
    amounts: AmountFields,
    /// Each sample counts once and is what its amount says.
    is_as_said: bool,
    kinds: KindTable,
}

/// Where samples of a kind are added up, and what one interval of its clock stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct KindPlace {
    pub(super) place: SumPlace,
    pub(super) interval: i64,
}

/// The samples of a kind but for the first.
struct Kind {
    mixed: u64,
    at: KindPlace,
    values: [i64; 2],
    n_samples: u64,
    /// When the first and the last began, in ticks, as they are read.
    ticks: (u64, u64),
}

impl AlikeSamples {
    /// Reads the samples of a plan no further than they are needed from here on, where that can be done.
    pub(super) fn learn(&mut self, type_index: usize, plan: &Plan, fields: &[FieldSchema]) {
        if self.types.len() <= type_index {
            self.types.resize_with(type_index + 1, TypeReading::default);
        }
        let (Some(reading @ TypeReading::NotMet), Some(rule)) =
            (self.types.get_mut(type_index), plan.rule)
        else {
            return;
        };
        *reading = match QuickFields::of(plan, fields) {
            Some(fields) => TypeReading::Quick(Box::new(QuickType {
                is_as_said: plan.amounts.is_as_said(rule) && fields.has_amount(),
                fields,
                rule,
                amounts: plan.amounts,
                kinds: KindTable::default(),
            })),
            None => TypeReading::TakenApart,
        };
    }

    /// Adds an event to the samples like it; returns false if it has to be taken apart.
    #[inline]
    pub(super) fn add(
        &mut self,
        chunk: &[u8],
        head: &EventHead,
        type_index: usize,
        clock: &ChunkClock,
        profiles: &mut Profiles,
    ) -> bool {
        let Some(TypeReading::Quick(of)) = self.types.get_mut(type_index) else {
            return false;
        };
        let (fields, read) = (&mut of.fields, &mut self.read);
        if !fields.read(chunk, head, read) {
            return false;
        }
        let Some(kind) = of.kinds.find(fields.key(read)) else {
            return false;
        };
        let [count, amount] = match of.is_as_said {
            true => [1, read.amount().max(0)],
            false => {
                let said = (fields.amount(read), fields.size(read));
                let nanoseconds = |meaning, value| clock.nanoseconds(meaning, value);
                let amounts = &of.amounts;
                let amount = amounts.of_values(of.rule, said.0, said.1, nanoseconds);
                amount.values(kind.at.interval)
            }
        };
        // Who counts the samples that have a value counts none of these.
        if amount == 0 {
            return false;
        }
        let [sum_of_counts, sum] = &mut kind.values;
        *sum_of_counts = sum_of_counts.saturating_add(count);
        *sum = sum.saturating_add(amount);
        let (first, last) = kind.ticks;
        kind.ticks = (first.min(read.start), last.max(read.start));
        kind.n_samples += 1;
        self.n_alike += 1;
        profiles.count(kind.at.place);
        true
    }

    /// Returns true if events like this one can be added up.
    pub(super) fn can_add(&mut self, chunk: &[u8], head: &EventHead, type_index: usize) -> bool {
        match self.types.get_mut(type_index) {
            Some(TypeReading::Quick(of)) => of.fields.read(chunk, head, &mut self.read),
            _ => false,
        }
    }

    /// Adds samples like the event that [`AlikeSamples::can_add`] was asked about to those of a row from here on.
    pub(super) fn meet(&mut self, type_index: usize, at: KindPlace) {
        if let Some(TypeReading::Quick(of)) = self.types.get_mut(type_index) {
            let start = self.read.start;
            of.kinds.insert(of.fields.key(&self.read), at, start);
            self.n_kinds += 1;
        }
    }

    /// Hands on what was added up and begins anew; if most samples were of kinds of their own, all are taken apart from
    /// here on.
    pub(super) fn end(&mut self, clock: &ChunkClock, profiles: &mut Profiles) {
        let worth = self.n_alike >= self.n_kinds;
        (self.n_alike, self.n_kinds) = (0, 0);
        for reading in &mut self.types {
            if let TypeReading::Quick(of) = reading {
                for kind in of.kinds.rows.drain(..) {
                    let time = |ticks| clock.time(squeeze(ticks).cast_signed());
                    let times = (time(kind.ticks.0), time(kind.ticks.1));
                    profiles.add_up(kind.at.place, kind.values, kind.n_samples, times);
                }
                of.kinds = KindTable::default();
            }
            if !worth {
                *reading = TypeReading::TakenApart;
            }
        }
    }
}

/// Kinds of samples of a type by what tells them apart.
#[derive(Default)]
struct KindTable {
    rows: Vec<Kind>,
    /// The keys of the rows, one behind the other.
    keys: Vec<u64>,
    /// Rows from 1, by their mixed keys; 0 for none. There are a power of two of them.
    slots: Vec<u32>,
}

impl KindTable {
    #[inline]
    fn find(&mut self, key: &[u64]) -> Option<&mut Kind> {
        let mixed = mixed(key);
        for slot in probes(mixed, self.slots.len()) {
            let row = (*self.slots.get(slot)? as usize).checked_sub(1)?;
            if self.rows.get(row)?.mixed == mixed {
                let from = row * key.len();
                // Of a single number the mixed one is another name.
                let is_known = match key {
                    [_] => true,
                    _ => self.keys.get(from..from + key.len()) == Some(key),
                };
                if is_known {
                    return self.rows.get_mut(row);
                }
            }
        }
        None
    }

    /// Adds a kind; where all slots for it are taken it is not found again.
    fn insert(&mut self, key: &[u64], at: KindPlace, start: u64) {
        if self.rows.len() * 2 >= self.slots.len() {
            self.slots = vec![0; (self.slots.len() * 2).max(256)];
            for row in 0..self.rows.len() {
                self.put(row);
            }
        }
        self.rows.push(Kind {
            mixed: mixed(key),
            at,
            values: [0; 2],
            n_samples: 0,
            ticks: (start, start),
        });
        self.keys.extend_from_slice(key);
        self.put(self.rows.len() - 1);
    }

    fn put(&mut self, row: usize) {
        let Some(kind) = self.rows.get(row) else {
            return;
        };
        let mut free = probes(kind.mixed, self.slots.len());
        if let Some(slot) = free.find(|&slot| self.slots.get(slot) == Some(&0))
            && let Some(slot) = self.slots.get_mut(slot)
        {
            *slot = traceloom_model::bounds::row_number(row + 1);
        }
    }
}

#[inline]
fn probes(mixed: u64, n_slots: usize) -> impl Iterator<Item = usize> {
    let last = n_slots.wrapping_sub(1);
    let first = usize::try_from(mixed >> 32).unwrap_or(0);
    (0..PROBES).map(move |probe| first.wrapping_add(probe) & last)
}

#[inline]
fn mixed(key: &[u64]) -> u64 {
    key.iter().fold(0_u64, |mixed, &field| {
        (mixed.rotate_left(5) ^ field).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}
