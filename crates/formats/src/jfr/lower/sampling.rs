//! Events that are samples: of what, how much, and with which labels.

use std::ops::ControlFlow;

use traceloom_model::{Attribute, Flow, SampleRow, StringId, Value};

use super::alike::{AlikeSamples, KindPlace};
use super::amounts::{SampleAmount, is_on_cpu};
use super::constants::Constants;
use super::plan::Plan;
use super::profiles::{Rule, Subject, setting};
use super::rows::EventRowParts;
use super::{Lowering, met};
use crate::jfr::value::DecodedValue;

impl Lowering<'_> {
    /// Makes a sample of an event; where it is the first of its kind, returns where others of the kind are added up.
    pub(super) fn sample(
        &mut self,
        rule: Rule,
        plan: &Plan,
        cells: &[DecodedValue<'_>],
        is_first: bool,
        constants: &Constants<'_>,
        row: &mut EventRowParts,
    ) -> ControlFlow<(), Option<KindPlace>> {
        let nanoseconds = |meaning, value| constants.nanoseconds(meaning, value);
        let amount = plan.amounts.of(rule, cells, nanoseconds);
        let (subject, interval) = match amount {
            SampleAmount::Interval => self.execution(plan, row.state),
            SampleAmount::Intervals(subject, _) => (subject, self.context.interval(subject)),
            SampleAmount::Known(subject, _) => (subject, 0),
        };
        let values = amount.values(interval);
        self.link(row);
        let sample = SampleRow {
            stack: row.stack,
            values: &values,
            time: Some(row.time),
            track: row.track,
            span: None,
            labels: &[],
        };
        let (labels, tables) = (&mut row.labels, &mut self.tables);
        let mut kind = None;
        let [_, amount] = values;
        if is_first && amount != 0 {
            let place = self.profiles.push_sum(subject, &sample, labels, tables);
            kind = place.map(|place| KindPlace { place, interval });
        } else if let Some(full) = self.profiles.push(subject, &sample, labels, tables) {
            self.define()?;
            self.sink.samples(full)?;
        }
        self.count_samples(1);
        ControlFlow::Continue(kind)
    }

    pub(super) fn count_samples(&mut self, n_samples: u64) {
        let before = self.n_samples;
        self.n_samples += n_samples;
        if before < met::SAMPLES && self.n_samples >= met::SAMPLES {
            self.announce();
        }
    }

    /// Hands on the samples that were added up.
    pub(super) fn end_sums(&mut self, alike: &mut AlikeSamples, constants: &Constants<'_>) -> Flow {
        alike.end(&constants.clock, &mut self.profiles);
        for batch in self.profiles.sums() {
            self.define()?;
            self.sink.samples(batch)?;
        }
        ControlFlow::Continue(())
    }

    /// Makes the profiles of all kinds of samples that the recording has.
    fn announce(&mut self) {
        let met = self.choice.map_or(self.met, |choice| choice.met);
        let of_clock = self.context.execution(false, None).0;
        let of_clock = met.has_execution().then_some(of_clock);
        for subject in met.subjects().chain(of_clock) {
            let admitted = match subject {
                Subject::Alloc(source) => self.context.adds_up(source),
                _ => true,
            };
            if admitted {
                self.profiles.announce(subject, &mut self.tables);
            }
        }
    }

    /// Tells CPU from wall clock samples (SPEC.md §7).
    fn execution(&mut self, plan: &Plan, state: Option<StringId>) -> (Subject, i64) {
        let tables = &self.tables;
        let says = state.and_then(|state| {
            let known = self.on_cpu.entry(state);
            *known.or_insert_with(|| is_on_cpu(tables.string_bytes(state)))
        });
        self.context.execution(plan.amounts.native, says)
    }

    /// Adds the endpoint of a sample's span to its labels.
    fn link(&mut self, row: &mut EventRowParts) {
        if self.context.endpoints.is_empty() {
            return;
        }
        let root = self.tables.attribute_named("local root span id");
        let root = row
            .labels
            .iter()
            .find(|label| label.key == root)
            .map(|label| &label.value);
        let root = match root {
            Some(&Value::U64(root)) => root,
            Some(&Value::I64(root)) => root.cast_unsigned(),
            _ => return,
        };
        if let Some(&endpoint) = self.context.endpoints.get(&root) {
            let key = self.tables.attribute_named("trace endpoint");
            row.labels.push(Attribute::new(key, Value::Text(endpoint)));
        }
    }

    /// Gives profiles the settings of the events they are made of.
    pub(super) fn settings(&mut self) {
        let settings = std::mem::take(&mut self.context.settings);
        let subjects = self.profiles.next_chunk();
        for found in &settings {
            let of = found.of.as_str();
            let name = match Rule::of(of) {
                Some(_) => format!("{of}#{}", found.name),
                None => found.name.clone(),
            };
            // Settings of async-profiler itself hang on the recording; the JDK's there are the event's own.
            let own = matches!(found.name.as_str(), "enabled" | "threshold" | "stackTrace");
            let common = of.is_empty() || (of.ends_with("ActiveRecording") && !own);
            for &subject in &subjects {
                let meant = match Rule::of(of) {
                    Some(Rule::Execution) => {
                        let native = of.ends_with("NativeMethodSample");
                        match subject {
                            Subject::Native => native,
                            Subject::Cpu | Subject::Wall | Subject::Counted(_) => !native,
                            _ => false,
                        }
                    }
                    Some(Rule::Weighted(of) | Rule::Scaled(of) | Rule::Amount(of, _)) => {
                        of == subject
                    }
                    Some(Rule::CpuTime) => subject == Subject::Cpu,
                    Some(Rule::WallRun) => subject == Subject::Wall,
                    None => common,
                };
                if meant {
                    let value = Value::Text(found.value);
                    self.profiles
                        .set(subject, &setting(&name, value, &mut self.tables));
                }
            }
        }
        self.profiles.period(Subject::Cpu, self.context.cpu);
        self.profiles.period(Subject::Native, self.context.native);
        self.profiles.period(Subject::Wall, self.context.wall);
    }
}
