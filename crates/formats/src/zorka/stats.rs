//! Statistics per method: the seed leaves them to the collector (SPEC.md §4.1).

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    BATCH_ROWS, Frame, FunctionId, Merge, Profile, SampleBatch, SampleRow, Scope, Stack, Tables,
    Unit, ValueType,
};

/// What is known of one method over everything that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MethodStatistics {
    records: i64,
    errors: i64,
    own: i64,
    sum: i64,
    min: i64,
    max: i64,
}

/// One row a method; rows of several chunks and posts merge by sum, minimum and maximum.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    rows: Vec<Option<MethodStatistics>>,
}

impl Statistics {
    /// Counts one record, of whose `duration` the records inside it took all but `own`.
    #[inline]
    pub(crate) fn add(&mut self, function: FunctionId, duration: u64, own: u64, failed: bool) {
        let index = function.index();
        if self.rows.len() <= index {
            self.rows.resize(index + 1, None);
        }
        let Some(slot) = self.rows.get_mut(index) else {
            return;
        };
        let duration = saturated_i64(duration);
        let own = saturated_i64(own);
        let row = slot.get_or_insert(MethodStatistics {
            records: 0,
            errors: 0,
            own: 0,
            sum: 0,
            min: i64::MAX,
            max: 0,
        });
        row.records += 1;
        row.errors += i64::from(failed);
        row.own = row.own.saturating_add(own);
        row.sum = row.sum.saturating_add(duration);
        row.min = row.min.min(duration);
        row.max = row.max.max(duration);
    }

    /// Makes a profile of the rows: a sample a method.
    pub(crate) fn samples(&self, tables: &mut Tables) -> Vec<SampleBatch> {
        if self.rows.iter().all(Option::is_none) {
            return Vec::new();
        }
        let mut column = |name: &str, unit, merge, scope| {
            let name = tables.string(name);
            tables.value_type(ValueType {
                name,
                unit,
                merge,
                scope,
            })
        };
        let value_types = vec![
            column("records", Unit::Count, Merge::Sum, Scope::Own),
            column("errors", Unit::Count, Merge::Sum, Scope::Own),
            column("wall", Unit::Nanoseconds, Merge::Sum, Scope::Own),
            column("duration", Unit::Nanoseconds, Merge::Sum, Scope::Inclusive),
            column(
                "duration_min",
                Unit::Nanoseconds,
                Merge::Min,
                Scope::Inclusive,
            ),
            column(
                "duration_max",
                Unit::Nanoseconds,
                Merge::Max,
                Scope::Inclusive,
            ),
        ];
        let width = value_types.len();
        let comment = tables.string("method statistics");
        let profile = tables.profile(Profile {
            default: value_types.get(2).copied(),
            value_types,
            comments: vec![comment],
            ..Profile::default()
        });
        let mut batches = Vec::new();
        let mut batch = SampleBatch::new(profile, width);
        for (index, row) in self.rows.iter().enumerate() {
            let (Some(row), Ok(index)) = (row, u32::try_from(index)) else {
                continue;
            };
            let frame = tables.frame(Frame {
                function: Some(FunctionId::new(index)),
                ..Frame::default()
            });
            let stack = tables.stack(Stack {
                parent: None,
                frame,
                truncated: false,
            });
            batch.push(&SampleRow {
                stack: Some(stack),
                values: &[row.records, row.errors, row.own, row.sum, row.min, row.max],
                time: None,
                track: None,
                span: None,
                labels: &[],
            });
            if batch.len() == BATCH_ROWS {
                batches.push(std::mem::replace(
                    &mut batch,
                    SampleBatch::new(profile, width),
                ));
            }
        }
        if !batch.is_empty() {
            batches.push(batch);
        }
        batches
    }
}
