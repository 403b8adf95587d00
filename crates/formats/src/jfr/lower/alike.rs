//! Samples of a chunk that are alike, differing in time and amount alone: added up, not taken apart.

use std::ops::ControlFlow;

use traceloom_model::bounds::{in_memory, saturated_i64};

use super::super::event_head::{EventHead, take_alike};
use super::super::header::ChunkClock;
use super::super::schema::FieldSchema;
use super::super::words::squeeze;
use super::amounts::AmountFields;
use super::kinds::KindTable;
use super::plan::Plan;
use super::profiles::{Profiles, Rule, SumPlace};
use super::quick::{QuickFields, QuickSample};

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
    kinds: KindTable<Kind>,
}

/// Where samples of a kind are added up, and what one interval of its clock stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct KindPlace {
    pub(super) place: SumPlace,
    pub(super) interval: i64,
}

/// The samples of a kind but for the first.
struct Kind {
    at: KindPlace,
    /// How many they stand for, and what they come to; the first is 0 of samples that count once each.
    values: [i64; 2],
    n_samples: u64,
    /// When the first and the last began, in ticks, as they are read.
    ticks: (u64, u64),
}

impl QuickType {
    /// Adds a sample to those of its kind; returns false if it has to be taken apart.
    #[inline(always)]
    fn add(&mut self, read: &QuickSample, clock: &ChunkClock, profiles: &mut Profiles) -> bool {
        let fields = &self.fields;
        let Some(kind) = self.kinds.find(fields.key(read)) else {
            return false;
        };
        let [sum_of_counts, sum] = &mut kind.values;
        let amount = if self.is_as_said {
            // Each counts once: see `Kind::values`.
            read.amount().max(0)
        } else {
            let said = (fields.amount(read), fields.size(read));
            let nanoseconds = |meaning, value| clock.nanoseconds(meaning, value);
            let amount = self
                .amounts
                .of_values(self.rule, said.0, said.1, nanoseconds);
            let [count, amount] = amount.values(kind.at.interval);
            if amount != 0 {
                *sum_of_counts = sum_of_counts.saturating_add(count);
            }
            amount
        };
        // Who counts the samples that have a value counts none of these.
        if amount == 0 {
            return false;
        }
        *sum = sum.saturating_add(amount);
        let (first, last) = kind.ticks;
        kind.ticks = (first.min(read.start), last.max(read.start));
        kind.n_samples += 1;
        profiles.count(kind.at.place);
        true
    }
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

    /// Adds the event at `head` and those behind it to the samples like them, as [`take_alike`] does, up to one that has to be taken
    /// apart; returns how many it added, too.
    #[inline]
    pub(super) fn add(
        &mut self,
        chunk: &[u8],
        head: &EventHead,
        type_index: usize,
        clock: &ChunkClock,
        profiles: &mut Profiles,
    ) -> (u64, ControlFlow<usize, usize>) {
        let Some(TypeReading::Quick(of)) = self.types.get_mut(type_index) else {
            return (0, ControlFlow::Break(head.at));
        };
        let read = &mut self.read;
        let mut n_added = 0;
        let reached = take_alike(chunk, head, |head| {
            let added = of.fields.read(chunk, head, read) && of.add(read, clock, profiles);
            n_added += u64::from(added);
            added
        });
        self.n_alike += in_memory(n_added);
        (n_added, reached)
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
            let kind = Kind {
                at,
                values: [0; 2],
                n_samples: 0,
                ticks: (start, start),
            };
            of.kinds.insert(of.fields.key(&self.read), kind);
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
                for kind in of.kinds.drain() {
                    let time = |ticks| clock.time(squeeze(ticks).cast_signed());
                    let times = (time(kind.ticks.0), time(kind.ticks.1));
                    let [sum_of_counts, sum] = kind.values;
                    let values = match of.is_as_said {
                        true => [saturated_i64(kind.n_samples), sum],
                        false => [sum_of_counts, sum],
                    };
                    profiles.add_up(kind.at.place, values, kind.n_samples, times);
                }
            }
            if !worth {
                *reading = TypeReading::TakenApart;
            }
        }
    }
}
