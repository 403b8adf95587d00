//! Events that refer to no constant that was not looked up before: where only notes are wanted they say nothing new.

use std::ops::ControlFlow;

use super::super::event_head::{EventHead, take_alike};
use super::super::schema::FieldSchema;
use super::kinds::KindTable;
use super::plan::Plan;
use super::quick::{QuickFields, QuickSample};

/// Kinds of a type that are remembered; then it begins anew.
const MOST: usize = 1 << 16;

/// The types of a chunk by their index, with what their events referred to so far.
#[derive(Default)]
pub(super) struct MetReferences {
    types: Vec<TypeReferences>,
    read: QuickSample,
}

#[derive(Default)]
enum TypeReferences {
    #[default]
    NotMet,
    TakenApart,
    Quick(Box<QuickReferences>),
}

struct QuickReferences {
    fields: QuickFields,
    kinds: KindTable<()>,
    /// Events that referred to what one before them did.
    n_alike: usize,
}

impl MetReferences {
    /// Passes over the event at `head` and those behind it that are sound and refer to nothing new, as [`take_alike`] does.
    #[inline]
    pub(super) fn pass(
        &mut self,
        chunk: &[u8],
        head: &EventHead,
        type_index: usize,
    ) -> ControlFlow<usize, usize> {
        let Some(TypeReferences::Quick(of)) = self.types.get_mut(type_index) else {
            return ControlFlow::Break(head.at);
        };
        let read = &mut self.read;
        take_alike(chunk, head, |head| {
            let is_known =
                of.fields.read(chunk, head, read) && of.kinds.find(of.fields.key(read)).is_some();
            of.n_alike += usize::from(is_known);
            is_known
        })
    }

    /// Takes note of what an event that was taken apart refers to.
    pub(super) fn meet(
        &mut self,
        chunk: &[u8],
        head: &EventHead,
        type_index: usize,
        plan: &Plan,
        fields: &[FieldSchema],
    ) {
        if self.types.len() <= type_index {
            self.types
                .resize_with(type_index + 1, TypeReferences::default);
        }
        let Some(known) = self.types.get_mut(type_index) else {
            return;
        };
        if let TypeReferences::NotMet = known {
            *known = match QuickFields::of_references(plan, fields) {
                Some(fields) => TypeReferences::Quick(Box::new(QuickReferences {
                    fields,
                    kinds: KindTable::default(),
                    n_alike: 0,
                })),
                None => TypeReferences::TakenApart,
            };
        }
        let TypeReferences::Quick(of) = known else {
            return;
        };
        if of.fields.read(chunk, head, &mut self.read) {
            of.kinds.insert(of.fields.key(&self.read), ());
        }
        if of.kinds.len() < MOST {
            return;
        }
        // Where most events refer to something of their own, asking takes longer than it saves.
        match of.n_alike < MOST {
            true => *known = TypeReferences::TakenApart,
            false => (of.kinds, of.n_alike) = (KindTable::default(), 0),
        }
    }
}
