//! What a recording holds, in numbers that are compared with those of what comes back.

use std::collections::{BTreeMap, BTreeSet};

use traceloom_model::{
    Asks, Definitions, EventBatch, Flow, Level, Merge, Note, ProfileId, Recording, SampleBatch,
    Scope, Sink, SpanBatch, SpanStatus, StackId, TrackKind,
};

/// What a recording holds, in numbers.
#[derive(Default)]
pub(super) struct Totals {
    tables: Recording,
    /// Spans without a parent, and those marked as entries.
    pub(super) calls: u64,
    /// Spans without a parent on tracks that `top` counts: track, duration, whether it was recorded whole.
    roots: Vec<(usize, u64, bool)>,
    pub(super) spans: u64,
    pub(super) samples: u64,
    pub(super) timed: u64,
    columns: BTreeMap<ProfileId, Vec<i128>>,
    /// Sums of the values of each stack.
    of_stacks: BTreeMap<(ProfileId, Option<StackId>), Vec<i128>>,
    /// Kinds of notes that make `check` exit with 1.
    pub(super) bad: BTreeSet<&'static str>,
}

impl Sink for Totals {
    fn asks(&self) -> Asks {
        Asks {
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.spans += batch.len() as u64;
        for span in batch.iter() {
            self.calls += u64::from(span.entry || span.parent.is_none());
            if span.parent.is_none() {
                let partial = [SpanStatus::PartialStart, SpanStatus::PartialEnd];
                let whole = !partial.contains(&span.status);
                self.roots
                    .push((span.track.index(), span.duration(), whole));
            }
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.samples += batch.len() as u64;
        self.timed += batch.time.iter().flatten().count() as u64;
        let sums = self.columns.entry(batch.profile).or_default();
        sums.resize(batch.width().max(sums.len()), 0);
        for row in batch.iter() {
            let of_stack = self
                .of_stacks
                .entry((batch.profile, row.stack))
                .or_default();
            of_stack.resize(sums.len(), 0);
            for (at, &value) in row.values.iter().enumerate() {
                sums[at] += i128::from(value);
                of_stack[at] += i128::from(value);
            }
        }
        Flow::Continue(())
    }

    fn events(&mut self, _: EventBatch) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        if note.level > Level::Info {
            self.bad.insert(note.kind);
        }
        Flow::Continue(())
    }
}

impl Totals {
    /// Number and time of the roots that `top` counts.
    pub(super) fn roots(&self, partial: bool) -> (u64, i128) {
        let beside = |track: usize| {
            let row = self.tables.tracks.get(track);
            let kind = row.and_then(Option::as_ref).map(|row| row.kind);
            matches!(kind, Some(TrackKind::Async | TrackKind::Lane))
        };
        let (mut count, mut time) = (0, 0);
        for &(track, duration, whole) in &self.roots {
            if !beside(track) {
                count += 1;
                time += if whole || partial {
                    i128::from(duration)
                } else {
                    0
                };
            }
        }
        (count, time)
    }

    /// The columns of a profile that are compared, with their names.
    fn compared(&self, profile: ProfileId, columns: Columns<'_>) -> Vec<(usize, String)> {
        let Some(row) = self.tables.profile(profile) else {
            return Vec::new();
        };
        let shown = self.tables.shown_column(row, &[]);
        let mut compared = Vec::new();
        for (at, &id) in row.value_types.iter().enumerate() {
            let column = self.tables.value_type(id);
            let name = column.map(|column| self.tables.text(column.name).into_owned());
            let name = name.unwrap_or_default();
            let is_own =
                column.is_some_and(|row| row.scope == Scope::Own && row.merge == Merge::Sum);
            if match columns {
                Columns::All => true,
                Columns::Shown => shown == Some(at),
                Columns::Without(left_out) => is_own && !left_out.contains(&name),
            } {
                compared.push((at, name));
            }
        }
        compared
    }

    /// Sums by the names on the stack, but for zeros.
    pub(super) fn stacks(&self, columns: Columns<'_>) -> BTreeMap<Vec<String>, i128> {
        let mut stacks = BTreeMap::new();
        for (&(profile, stack), sums) in &self.of_stacks {
            let compared = self.compared(profile, columns).into_iter();
            let sum: i128 = compared.filter_map(|(at, _)| sums.get(at)).sum();
            let mut names = Vec::new();
            let mut next = stack;
            while let Some(row) = next.and_then(|id| self.tables.stack(id)) {
                let frame = self.tables.frame(row.frame).cloned().unwrap_or_default();
                let name = frame.function.map(|id| {
                    // Some formats keep the class apart from the name.
                    let class = self.tables.function(id).and_then(|function| function.class);
                    let class = class.and_then(|id| self.tables.class(id));
                    let class = class.map(|class| self.tables.text(class.name));
                    let name = self.tables.function_name(id);
                    format!("{} {name}", class.unwrap_or_default())
                });
                let address = || {
                    frame
                        .address
                        .map_or_else(String::new, |at| format!("{at:#x}"))
                };
                names.push(name.unwrap_or_else(address));
                next = row.parent;
            }
            *stacks.entry(names).or_insert(0) += sum;
        }
        stacks.retain(|_, sum| *sum != 0);
        stacks
    }

    /// Sums of the columns, sorted, but for zeros; those of one name are one where all are compared.
    pub(super) fn values(&self, columns: Columns<'_>) -> Vec<i128> {
        let mut values: BTreeMap<_, i128> = BTreeMap::new();
        for (&profile, sums) in &self.columns {
            for (at, name) in self.compared(profile, columns) {
                let name = matches!(columns, Columns::All).then_some(name);
                *values.entry(name).or_default() += sums.get(at).copied().unwrap_or(0);
            }
        }
        let mut values: Vec<i128> = values.into_values().filter(|&sum| sum != 0).collect();
        values.sort_unstable();
        values
    }
}

/// Which columns of a profile are compared.
#[derive(Clone, Copy)]
pub(super) enum Columns<'l> {
    All,
    /// The one that is shown.
    Shown,
    /// Those that a target of one column did not leave out.
    Without(&'l BTreeSet<String>),
}
