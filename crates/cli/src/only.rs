//! One value of the samples and no other, on its way to a target.

use traceloom_formats::datakit::value_names;
use traceloom_model::{Asks, Batch, Definitions, Flow, Recording, SampleBatch, Sink, Stage};

use crate::values::WantedValues;

/// A sink that passes on one value column of each profile that has it, and no other profile.
pub(crate) struct Only<'s> {
    to: &'s mut dyn Sink,
    /// Names of the column, the best first.
    names: Vec<String>,
    /// Strings, value types and profiles as they came.
    tables: Recording,
    /// Batches of profiles that are not defined yet.
    early: Vec<SampleBatch>,
}

impl<'s> Only<'s> {
    /// A sink for a recording whose first part is `file`.
    pub(crate) fn new(to: &'s mut dyn Sink, value: &str, file: &str) -> Self {
        Self {
            to,
            names: value_names(value, file),
            tables: Recording::default(),
            early: Vec::new(),
        }
    }

    /// Returns which values there were.
    pub(crate) fn finish(&self) -> WantedValues {
        let mut values = WantedValues::default();
        values.take(&self.tables, &self.names);
        values
    }

    fn narrow(&mut self, mut batch: SampleBatch) -> Flow {
        let profile = self.tables.profile(batch.profile);
        let Some(at) = profile.and_then(|profile| self.tables.shown_column(profile, &self.names))
        else {
            return Flow::Continue(());
        };
        batch.narrow(at);
        self.to.samples(batch)
    }

    fn define_narrow(&mut self, mut new: Definitions) -> Flow {
        let _ = self.tables.define(Definitions {
            strings: new.strings.clone(),
            value_types: new.value_types.clone(),
            profiles: new.profiles.clone(),
            ..Definitions::default()
        });
        for (_, profile) in &mut new.profiles {
            let column = self.tables.shown_column(profile, &self.names);
            let column = column.and_then(|at| profile.value_types.get(at).copied());
            profile.value_types = column.into_iter().collect();
            profile.default = column;
            profile.period = profile.period.filter(|(of, _)| Some(*of) == column);
        }
        new.profiles
            .retain(|(_, profile)| !profile.value_types.is_empty());
        self.to.define(new)?;
        let tables = &self.tables;
        let defined = |batch: &mut SampleBatch| tables.profile(batch.profile).is_some();
        let ready: Vec<_> = self.early.extract_if(.., defined).collect();
        ready.into_iter().try_for_each(|batch| self.narrow(batch))
    }
}

impl Stage for Only<'_> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Define(new) => self.define_narrow(new),
            Batch::Samples(batch) if self.tables.profile(batch.profile).is_none() => {
                self.early.push(batch);
                Flow::Continue(())
            }
            Batch::Samples(batch) => self.narrow(batch),
            other => other.push(self.to),
        }
    }
}
