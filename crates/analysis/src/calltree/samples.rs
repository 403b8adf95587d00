//! Samples into trees: summed by stack as they pass, made a tree at the end.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, AttributeKey, FrameId, Merge, PathBatch, ProfileId, Recording, SampleBatch, Scope,
    StackId, Value, ValueType,
};

use super::arena::{Arena, NONE, ROOT};
use super::functions::FunctionSums;
use super::ground::Grounds;
use super::path_tree::{GrownPaths, PathTree};
use super::stack_rows::StackRows;
use super::top::Functions;
use crate::measure::{Measure, MeasureUnit, Tracks, TreeSource};
use crate::symbol::{NO_STACK, key_of_frame, key_of_line};

/// The label that pprof puts on samples of the base of a difference.
const BASE_LABEL: &str = "pprof::base";

/// One value column of one profile, by stack.
///
/// A sample is two additions in a row found by its stack's number; frames are walked once a stack, not
/// once a sample, and only when every definition has come.
#[derive(Debug)]
struct StackColumn {
    value_type: ValueType,
    at: usize,
    rows: StackRows,
    values: Vec<(Option<StackId>, i64, u64)>,
    without_stack: Option<u32>,
    /// What samples of a base came to, without signs.
    base: i64,
    /// Groups of the rows, where samples are grouped.
    groups: Vec<u32>,
    of_group: HashMap<(u32, Option<StackId>), u32, RandomState>,
}

/// The columns that samples came for.
#[derive(Debug, Default)]
pub(super) struct SampleColumns {
    wanted: Vec<String>,
    /// Statistics are wanted with all their columns.
    beside: bool,
    /// The column shown, and those beside it.
    columns: HashMap<ProfileId, Vec<StackColumn>, RandomState>,
    order: Vec<ProfileId>,
    /// Batches of profiles that are not defined yet.
    early: Vec<SampleBatch>,
    paths: Vec<OfProfile>,
    alike: bool,
    /// Most nodes of a tree of samples that come with their stacks written out; nothing where these are added up function by
    /// function.
    path_nodes: Option<usize>,
    zeros: HashMap<ProfileId, ZeroColumn, RandomState>,
}

#[derive(Debug)]
struct OfProfile {
    profile: ProfileId,
    /// The column shown.
    at: usize,
    /// None where the profile lacks the value asked for.
    sums: Option<PathSums>,
}

/// What samples with their stacks written out come to.
#[derive(Debug)]
enum PathSums {
    Functions(FunctionSums),
    Tree(PathTree),
}

/// Names of values that say most, where the usual one is zero.
const TELLING: [&str; 4] = ["cpu-time", "cpu", "wall-time", "wall"];

/// A column that has been zero so far, and which others have not.
#[derive(Debug)]
struct ZeroColumn {
    is_zero: bool,
    others: Vec<bool>,
}

impl Default for ZeroColumn {
    fn default() -> Self {
        Self {
            is_zero: true,
            others: Vec::new(),
        }
    }
}

impl ZeroColumn {
    /// Looks at the values of samples, while those of the column at `at` are all zero.
    fn see<'v>(&mut self, at: usize, mut samples: impl Iterator<Item = &'v [i64]>) {
        if !self.is_zero {
            return;
        }
        self.is_zero = samples.all(|values| {
            self.others
                .resize(values.len().max(self.others.len()), false);
            for (seen, &value) in self.others.iter_mut().zip(values) {
                *seen |= value != 0;
            }
            values.get(at).is_none_or(|&value| value == 0)
        });
    }
}

impl SampleColumns {
    pub fn new(wanted: Vec<String>, beside: bool, alike: bool) -> Self {
        Self {
            wanted,
            beside,
            alike,
            ..Self::default()
        }
    }

    /// Makes trees of so many nodes of samples that come with their stacks written out.
    pub fn with_path_trees(self, most: usize) -> Self {
        Self {
            path_nodes: Some(most),
            ..self
        }
    }

    /// Returns true if anything came.
    pub fn any(&self) -> bool {
        !(self.columns.is_empty() && self.early.is_empty() && self.paths.is_empty())
    }

    /// Adds up what samples with their stacks written out say of each function or, where trees are wanted, of each path.
    pub fn take_paths(&mut self, tables: &Recording, batch: &PathBatch) {
        let known = self.paths.iter().position(|of| of.profile == batch.profile);
        let at = known.unwrap_or_else(|| {
            let columns = self.choose(tables, batch.profile).unwrap_or_default();
            let sums = columns.first().map(|column| {
                let measure = measure(tables, &column.value_type);
                match self.path_nodes {
                    Some(most) => PathSums::Tree(PathTree::new(measure, column.at, most)),
                    None => {
                        let sums = FunctionSums::new(measure, column.at, self.alike);
                        PathSums::Functions(sums)
                    }
                }
            });
            self.paths.push(OfProfile {
                profile: batch.profile,
                at: columns.first().map_or(0, |column| column.at),
                sums,
            });
            self.paths.len() - 1
        });
        if self.wanted.is_empty()
            && let Some(of) = self.paths.get(at)
        {
            let zero = self.zeros.entry(batch.profile).or_default();
            zero.see(of.at, batch.iter().map(|(_, values)| values));
        }
        match self.paths.get_mut(at).and_then(|of| of.sums.as_mut()) {
            Some(PathSums::Functions(sums)) => sums.take(tables, batch),
            Some(PathSums::Tree(tree)) => tree.take(tables, batch),
            None => {}
        }
    }

    /// Returns the trees of what [`SampleColumns::take_paths`] took, in the order profiles came.
    pub fn finish_path_trees(&mut self) -> Vec<GrownPaths> {
        let grown = self.paths.iter_mut().filter_map(|of| {
            let is_tree = |sums: &mut PathSums| matches!(sums, PathSums::Tree(_));
            match of.sums.take_if(is_tree)? {
                PathSums::Tree(tree) => Some(tree.finish()),
                PathSums::Functions(_) => None,
            }
        });
        grown.collect()
    }

    /// Returns what [`SampleColumns::take_paths`] added up, in the order profiles came.
    pub fn finish_paths(&mut self, tables: Arc<Recording>) -> impl Iterator<Item = Functions> {
        let paths = std::mem::take(&mut self.paths).into_iter();
        paths.filter_map(move |of| match of.sums? {
            PathSums::Functions(sums) => Some(sums.finish(&tables)),
            PathSums::Tree(_) => None,
        })
    }

    pub fn take(&mut self, tables: &Recording, batch: SampleBatch, grounds: Option<&mut Grounds>) {
        if !self.columns.contains_key(&batch.profile) {
            if tables.profile(batch.profile).is_none() {
                self.early.push(batch);
                return;
            }
            let columns = self.choose(tables, batch.profile).unwrap_or_default();
            self.order.push(batch.profile);
            self.columns.insert(batch.profile, columns);
        }
        let base = base_rows(tables, &batch);
        let columns = self.columns.get_mut(&batch.profile);
        let columns = columns.map(Vec::as_mut_slice).unwrap_or_default();
        if self.wanted.is_empty()
            && let Some(shown) = columns.first()
        {
            let zero = self.zeros.entry(batch.profile).or_default();
            zero.see(shown.at, (0..batch.len()).map(|row| batch.values(row)));
        }
        for column in &mut *columns {
            column.take_base(&batch, &base);
        }
        let Some(grounds) = grounds else {
            columns.iter_mut().for_each(|column| column.take(&batch));
            return;
        };
        let rows = batch.iter();
        let groups: Vec<u32> = rows
            .map(|row| grounds.of_sample(tables, batch.profile, &row))
            .collect();
        for column in columns {
            column.take_groups(&batch, &groups);
        }
    }

    /// Returns the name of a value that is not zero, if all that are shown are.
    pub fn telling(&self, tables: &Recording) -> Option<String> {
        if self.zeros.values().any(|zero| !zero.is_zero) {
            return None;
        }
        let mut profiles: Vec<_> = self.zeros.iter().collect();
        profiles.sort_unstable_by_key(|(profile, _)| **profile);
        let names = profiles.into_iter().flat_map(|(&profile, zero)| {
            let types = tables.profile(profile).into_iter();
            let types = types.flat_map(|profile| &profile.value_types);
            let some = types.zip(&zero.others).filter(|(_, is_some)| **is_some);
            some.filter_map(|(&id, _)| Some(tables.text(tables.value_type(id)?.name).into_owned()))
        });
        let names: Vec<String> = names.collect();
        let first = TELLING
            .iter()
            .find(|name| names.iter().any(|one| one == *name));
        first
            .map(|name| (*name).to_owned())
            .or(names.into_iter().next())
    }

    /// Chooses the column ([`Recording::shown_column`]).
    ///
    /// A profile with minima or maxima is a statistic: its other columns stand beside the chosen one.
    fn choose(&self, tables: &Recording, profile: ProfileId) -> Option<Vec<StackColumn>> {
        let profile = tables.profile(profile)?;
        let at = tables.shown_column(profile, &self.wanted)?;
        let column = |at: usize| {
            Some(StackColumn {
                value_type: *tables.value_type(*profile.value_types.get(at)?)?,
                at,
                rows: StackRows::default(),
                values: Vec::new(),
                without_stack: None,
                base: 0,
                groups: Vec::new(),
                of_group: HashMap::default(),
            })
        };
        let mut columns = vec![column(at)?];
        if self.beside && self.wanted.is_empty() {
            let others = (0..profile.value_types.len()).filter(|&other| other != at);
            let others: Vec<StackColumn> = others.filter_map(column).collect();
            if others
                .iter()
                .any(|other| other.value_type.merge != Merge::Sum)
            {
                columns.extend(others);
            }
        }
        Some(columns)
    }

    /// Builds a tree for each measure, in the order profiles came; equal measures share one. The second
    /// list is of the columns beside, the third of those of the first by lines, where `lines` asks for them.
    pub fn finish(
        &mut self,
        tables: &Recording,
        mut grounds: Option<&mut Grounds>,
        lines: bool,
    ) -> [Vec<(Measure, Arena, i64)>; 3] {
        for batch in std::mem::take(&mut self.early) {
            self.take(tables, batch, grounds.as_deref_mut());
        }
        self.early.clear();
        let is_grouped = grounds.is_some();
        let [mut shown, mut beside, mut by_line] = [Vec::new(), Vec::new(), Vec::new()];
        for profile in std::mem::take(&mut self.order) {
            let columns = self.columns.remove(&profile).into_iter().flatten();
            for (at, column) in columns.enumerate() {
                let trees = if at == 0 { &mut shown } else { &mut beside };
                column.join((tables, key_of_frame), trees, is_grouped);
                if at == 0 && lines {
                    column.join((tables, key_of_line), &mut by_line, is_grouped);
                }
            }
        }
        [shown, beside, by_line].map(|trees| trees.into_iter().map(GrownTree::settle).collect())
    }
}

/// The growing tree of a measure.
struct GrownTree<'t> {
    measure: Measure,
    arena: Arena,
    stacks: GroundStacks<'t>,
}

impl<'t> GrownTree<'t> {
    fn new(measure: Measure, (tables, key): (&'t Recording, FrameKey), is_grouped: bool) -> Self {
        // Where values add up it does not matter that two stacks may be the same functions at other lines: they are joined
        // when names are known.
        let adds_up = (measure.merge, measure.scope) == (Merge::Sum, Scope::Own);
        let child = if adds_up { Arena::append } else { Arena::child };
        let stacks = GroundStacks::new(tables, child, is_grouped);
        Self {
            measure,
            arena: Arena::new(),
            stacks: GroundStacks { key, ..stacks },
        }
    }

    fn settle(mut self) -> (Measure, Arena, i64) {
        let total = settle(&mut self.arena, &self.measure);
        (self.measure, self.arena, total)
    }
}

impl StackColumn {
    /// Grows the tree of this measure.
    fn join<'t>(
        &self,
        of: (&'t Recording, FrameKey),
        trees: &mut Vec<GrownTree<'t>>,
        is_grouped: bool,
    ) {
        let measure = measure(of.0, &self.value_type);
        let known = trees.iter().position(|known| known.measure == measure);
        let at = known.unwrap_or_else(|| {
            trees.push(GrownTree::new(measure, of, is_grouped));
            trees.len() - 1
        });
        if let Some(tree) = trees.get_mut(at) {
            tree.arena.base = tree.arena.base.saturating_add(self.base);
            self.grow(tree);
        }
    }

    /// Adds up the values of samples of a base.
    fn take_base(&mut self, batch: &SampleBatch, rows: &[usize]) {
        for &row in rows {
            let value = batch.values(row).get(self.at).copied().unwrap_or(0);
            self.base = self.base.saturating_add(value.saturating_abs());
        }
    }

    fn take(&mut self, batch: &SampleBatch) {
        for (row, &stack) in batch.stack.iter().enumerate() {
            let value = batch.values(row).get(self.at).copied().unwrap_or(0);
            let slot = self.slot(stack);
            self.add(slot, value, batch.count(row));
        }
    }

    fn take_groups(&mut self, batch: &SampleBatch, groups: &[u32]) {
        for (row, (&stack, &group)) in batch.stack.iter().zip(groups).enumerate() {
            let value = batch.values(row).get(self.at).copied().unwrap_or(0);
            let next = u32::try_from(self.values.len()).unwrap_or(NONE);
            let slot = *self.of_group.entry((group, stack)).or_insert(next);
            if slot == next {
                self.values.push((stack, 0, 0));
                self.groups.push(group);
            }
            self.add(slot, value, batch.count(row));
        }
    }

    #[inline(always)]
    fn add(&mut self, slot: u32, value: i64, n_samples: u64) {
        let merge = self.value_type.merge;
        if let Some((_, sum, count)) = self.values.get_mut(slot as usize) {
            *sum = match merge {
                Merge::Sum => sum.saturating_add(value),
                _ if *count == 0 => value,
                Merge::Min => (*sum).min(value),
                Merge::Max => (*sum).max(value),
            };
            *count += n_samples;
        }
    }

    #[inline(always)]
    fn slot(&mut self, stack: Option<StackId>) -> u32 {
        let next = u32::try_from(self.values.len()).unwrap_or(NONE);
        let slot = match stack {
            None => *self.without_stack.get_or_insert(next),
            Some(stack) => self.rows.row(stack, next),
        };
        if slot == next {
            self.values.push((stack, 0, 0));
        }
        slot
    }

    /// Hangs the stacks into the tree.
    ///
    /// Stacks are a tree already, each of its nodes met once for each ground.
    fn grow(&self, tree: &mut GrownTree<'_>) {
        let GrownTree {
            measure,
            arena,
            stacks,
        } = tree;
        if self.groups.is_empty() {
            stacks.hang(arena, ROOT, self.values.iter(), measure.merge);
            return;
        }
        let mut rows: Vec<_> = self.groups.iter().zip(&self.values).collect();
        rows.sort_by_key(|(group, _)| **group);
        for rows in rows.chunk_by(|a, b| a.0 == b.0) {
            let group = rows.first().map_or(NONE, |(group, _)| **group);
            let ground = arena.child(ROOT, group);
            let values = rows.iter().map(|(_, value)| *value);
            stacks.hang(arena, ground, values, measure.merge);
            stacks.forget();
        }
    }
}

/// Returns the rows whose label says that they are of the base of a difference, as pprof marks them.
fn base_rows(tables: &Recording, batch: &SampleBatch) -> Vec<usize> {
    if batch.labels.all().is_empty() {
        return Vec::new();
    }
    let is_base = |key: &AttributeKey| tables.text(key.name) == BASE_LABEL;
    let mut keys = tables.attribute_keys.iter();
    let Some(key) = keys.position(|key| key.as_ref().is_some_and(is_base)) else {
        return Vec::new();
    };
    let says = |label: &Attribute| {
        let text = match label.value {
            Value::Text(text) => tables.text(text),
            _ => return false,
        };
        label.key.index() == key && text == "true"
    };
    let rows = 0..batch.len();
    rows.filter(|&row| batch.labels.row(row).iter().any(says))
        .collect()
}

/// What frames stand for: the key of a frame.
type FrameKey = fn(&Recording, FrameId) -> u32;

/// Nodes of the stacks that were met on one ground.
pub(super) struct GroundStacks<'t> {
    tables: &'t Recording,
    child: fn(&mut Arena, u32, u32) -> u32,
    pub(super) key: FrameKey,
    known: Vec<u32>,
    path: Vec<(usize, u32)>,
    /// Stacks that have a node, where another ground may follow.
    met: Option<Vec<usize>>,
}

impl<'t> GroundStacks<'t> {
    pub fn new(
        tables: &'t Recording,
        child: fn(&mut Arena, u32, u32) -> u32,
        grounds: bool,
    ) -> Self {
        Self {
            tables,
            child,
            key: key_of_frame,
            known: vec![NONE; tables.stacks.len()],
            path: Vec::new(),
            met: grounds.then(Vec::new),
        }
    }

    fn hang<'v>(
        &mut self,
        arena: &mut Arena,
        ground: u32,
        values: impl Iterator<Item = &'v (Option<StackId>, i64, u64)>,
        merge: Merge,
    ) {
        for &(stack, value, count) in values {
            let at = self.node(arena, ground, stack);
            arena.combine(at, value, count, merge);
        }
    }

    /// Finds the node of a sample.
    pub fn node(&mut self, arena: &mut Arena, ground: u32, stack: Option<StackId>) -> u32 {
        match stack {
            Some(stack) => self.node_of(arena, ground, stack),
            None => arena.child(ground, NO_STACK),
        }
    }

    /// Finds the node of a stack, adding it and its callers; a circle of callers is cut where it closes.
    fn node_of(&mut self, arena: &mut Arena, ground: u32, stack: StackId) -> u32 {
        self.path.clear();
        let mut next = Some(stack);
        let mut node = ground;
        while let Some(stack) = next {
            let known = self.known.get(stack.index());
            if let Some(&found) = known.filter(|&&node| node != NONE) {
                node = found;
                break;
            }
            let Some(row) = self.tables.stack(stack) else {
                self.path.push((usize::MAX, NO_STACK));
                break;
            };
            if self.path.len() > self.known.len() {
                break;
            }
            let key = (self.key)(self.tables, row.frame);
            self.path.push((stack.index(), key));
            next = row.parent;
        }
        while let Some((stack, key)) = self.path.pop() {
            node = (self.child)(arena, node, key);
            if let Some(slot) = self.known.get_mut(stack) {
                *slot = node;
                if let Some(met) = &mut self.met {
                    met.push(stack);
                }
            }
        }
        node
    }

    /// Goes on to another ground.
    fn forget(&mut self) {
        for stack in self.met.iter_mut().flat_map(|met| met.drain(..)) {
            if let Some(slot) = self.known.get_mut(stack) {
                *slot = NONE;
            }
        }
    }
}

/// Computes totals and own values from what was recorded, and returns the whole.
pub(crate) fn settle(arena: &mut Arena, measure: &Measure) -> i64 {
    // Callees have greater numbers than their callers: nothing moves in an arena of samples.
    let numbers = (1..u32::try_from(arena.len()).unwrap_or(NONE)).rev();
    let join = |a: i64, b: i64, fresh: bool| match measure.merge {
        Merge::Sum => a.saturating_add(b),
        _ if fresh => b,
        Merge::Min => a.min(b),
        Merge::Max => a.max(b),
    };
    // What the children came to, and whether there was any.
    let mut below = vec![(0_i64, true); arena.len()];
    for number in numbers {
        let (children, none) = below.get(number as usize).copied().unwrap_or((0, true));
        let row = arena.node_mut(number);
        let recorded = row.count > 0;
        (row.total, row.own) = match (measure.scope, measure.merge) {
            (Scope::Own, _) if !recorded => (children, 0),
            (Scope::Own, _) => (join(children, row.own, none), row.own),
            (Scope::Inclusive, _) if !recorded => (children, 0),
            (Scope::Inclusive, Merge::Sum) => (row.own, row.own.saturating_sub(children).max(0)),
            (Scope::Inclusive, _) => (row.own, row.own),
        };
        let (total, parent) = (row.total, row.parent);
        if let Some((sum, fresh)) = below.get_mut(parent as usize) {
            *sum = join(*sum, total, *fresh);
            *fresh = false;
        }
    }
    below.first().map_or(0, |&(total, _)| total)
}

pub(super) fn measure(tables: &Recording, value_type: &ValueType) -> Measure {
    Measure {
        name: tables.text(value_type.name).into_owned(),
        unit: MeasureUnit::of(value_type.unit, tables),
        source: TreeSource::Samples,
        merge: value_type.merge,
        scope: value_type.scope,
        event: None,
        adjusted: None,
        tracks: Tracks::Threads,
    }
}
