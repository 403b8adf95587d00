//! What is kept of a chunk that is read window by window.

use std::ops::Range;

use traceloom_model::bounds::subslice;
use traceloom_model::{Limit, Limits};

use super::super::pool::{Checkpoint, Pools};
use super::super::scan::Scan;
use super::super::value::DecodingRules;

/// Events that say something about others, and constants.
#[derive(Default)]
pub(super) struct KeptBytes {
    pub(super) bytes: Vec<u8>,
    /// Events by their types, and where their fields are.
    events: Vec<(usize, Range<usize>)>,
    pub(super) pools: Pools,
}

impl KeptBytes {
    /// Keeps the fields of an event of the type at `index`; none where there are more events than the limit on tables allows.
    pub(super) fn event(&mut self, index: usize, body: Scan<'_>, limits: &Limits) -> Option<()> {
        if self.events.len() as u64 >= limits.of(Limit::Table) {
            return None;
        }
        let from = self.bytes.len();
        self.bytes.extend_from_slice(body.rest());
        self.events.push((index, from..self.bytes.len()));
        Some(())
    }

    /// Keeps the constants of a checkpoint, of the types that `wanted` is true for; none where anything of it is damaged, or
    /// there are more than the limit on tables allows.
    pub(super) fn checkpoint(
        &mut self,
        rules: &DecodingRules<'_>,
        body: Scan<'_>,
        limits: &Limits,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Option<()> {
        let checkpoint = Checkpoint::read(rules, &mut body.clone(), &mut 0).ok()?;
        if checkpoint.damage().next().is_some() {
            return None;
        }
        let most = limits.of(Limit::Table);
        let (pools, bytes) = (&mut self.pools, &mut self.bytes);
        let fit = pools.keep(rules, body, &checkpoint, most, wanted, bytes);
        fit.then_some(())
    }

    /// Iterates over the events: the index of the type of each, and its fields.
    pub(super) fn events(&self, compressed: bool) -> impl Iterator<Item = (usize, Scan<'_>)> {
        self.events.iter().map(move |(index, fields)| {
            let fields = subslice(&self.bytes, fields.clone());
            (*index, Scan::new(fields, compressed))
        })
    }
}
