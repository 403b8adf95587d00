//! Which calls count.

use std::borrow::Cow;

use traceloom_model::{Recording, SpanRow, SpanStatus, ValueTypeId};

use super::{CallView, Filter};
use crate::column::Column;
use crate::text::{of_resource, service_name, title, track_name, value_text};

/// What `calls`, `top`, `tree` and `flame` select by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Words and parameters.
    pub filter: Filter,
    /// Least duration, in nanoseconds.
    pub min_duration: u64,
    /// Failed calls only.
    pub errors: bool,
}

impl Selection {
    /// Returns true if every call passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty() && self.min_duration == 0 && !self.errors
    }

    /// Returns true if `call` passes.
    #[must_use]
    pub fn accepts(&self, call: &dyn CallView) -> bool {
        call.duration().unwrap_or(0) >= self.min_duration
            && (!self.errors || call.failed())
            && self.filter.accepts(call)
    }
}

/// A call as its row in a span batch.
#[derive(Clone, Copy, Debug)]
pub struct CallOfRow<'a> {
    tables: &'a Recording,
    row: &'a SpanRow<'a>,
}

impl<'a> CallOfRow<'a> {
    /// Looks at a row; ids are resolved in `tables`.
    #[must_use]
    pub const fn new(tables: &'a Recording, row: &'a SpanRow<'a>) -> Self {
        Self { tables, row }
    }
}

impl CallView for CallOfRow<'_> {
    fn method(&self) -> Cow<'_, str> {
        self.row
            .function
            .map_or(Cow::Borrowed(""), |id| self.tables.function_name(id))
    }

    fn title(&self) -> Option<Cow<'_, str>> {
        title(self.tables, self.row.attributes)
    }

    fn params(&self, each: &mut dyn FnMut(&str, &str) -> bool) -> bool {
        self.row.attributes.iter().any(|attribute| {
            let key = self.tables.attribute_key(attribute.key);
            let name = match key {
                Some(key) => self.tables.text(key.name),
                None => format!("#{}", attribute.key.raw()).into(),
            };
            each(&name, &value_text(self.tables, &attribute.value))
        })
    }

    fn duration(&self) -> Option<u64> {
        Some(self.row.duration())
    }

    fn time(&self) -> Option<i64> {
        Some(self.row.start)
    }

    fn failed(&self) -> bool {
        self.row.status == SpanStatus::Error || self.row.exception.is_some()
    }

    fn thread(&self) -> Option<Cow<'_, str>> {
        Some(track_name(self.tables, self.row.track))
    }

    fn service(&self) -> Option<Cow<'_, str>> {
        service_name(self.tables, self.tables.track(self.row.track)?.resource)
    }

    fn host(&self) -> Option<Cow<'_, str>> {
        of_resource(self.tables, self.row.track, |row| row.host)
    }

    fn kind(&self) -> Option<Cow<'_, str>> {
        self.row.kind.map(|kind| self.tables.text(kind))
    }

    fn trace(&self) -> Option<String> {
        let context = self.row.context.filter(|context| context.trace != 0);
        context.map(|context| format!("{:032x}", context.trace))
    }

    fn counter(&self, name: &str) -> Option<i64> {
        let Ok(column) = name.parse::<Column>();
        column.sources().into_iter().find_map(|name| {
            let mut counters = self.row.counters.iter();
            let named = |&&(id, _): &&(ValueTypeId, i64)| {
                let row = self.tables.value_type(id);
                row.is_some_and(|row| self.tables.text(row.name).eq_ignore_ascii_case(name))
            };
            counters.find(named).map(|&(_, value)| value)
        })
    }
}
