//! What the numbers of folded stacks mean.

use traceloom_model::{Merge, Recording, Scope, Unit, ValueTypeId};

/// The path of samples without a stack: flame graph tools ignore a line without a name.
pub(super) const NO_STACK: &[u8] = b"(no stack)";

/// The value of a line with one number.
pub(super) const SAMPLES: &str = "samples";

/// The values of a line with two: those of the base and of what is compared with it.
pub(super) const BEFORE: &str = "before";
pub(super) const AFTER: &str = "after";

/// A value that lines can hold. Columns of several profiles with the same name and unit are the same value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LineValue {
    pub(super) name: String,
    unit: Unit,
}

impl LineValue {
    /// Returns the value of a column; `None` for one that covers callees or has no sum, because every reader of
    /// folded stacks adds up lines.
    pub(super) fn of(tables: &Recording, id: ValueTypeId) -> Option<Self> {
        let row = tables.value_type(id)?;
        let own = row.merge == Merge::Sum && row.scope == Scope::Own;
        own.then(|| Self {
            name: tables.text(row.name).into_owned(),
            unit: row.unit,
        })
    }
}
