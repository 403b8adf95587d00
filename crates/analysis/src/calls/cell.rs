//! What the list of calls holds in a column.

use std::borrow::Cow;

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{Resource, StringId, Timestamp, Unit, Value};

use super::{Call, CallState, Calls};
use crate::column::{self, Column};
use crate::text::{is_async, of_resource, title, track_name, value_text};

/// What a row holds in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'c> {
    /// Nothing.
    None,
    /// A time in nanoseconds.
    Time(Timestamp),
    /// A duration in nanoseconds.
    Nanoseconds(i64),
    /// A size.
    Bytes(i64),
    /// Any other number.
    Number(i64),
    /// Yes or no.
    Bool(bool),
    /// Text; several values of one name are joined by `, `.
    Text(Cow<'c, str>),
}

/// How a cell sorts: nothing first, numbers before text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SortKey {
    None,
    Number(i64),
    Text(String),
}

impl Cell<'_> {
    pub(super) fn sort_key(&self) -> SortKey {
        match self {
            Cell::None => SortKey::None,
            Cell::Time(number)
            | Cell::Nanoseconds(number)
            | Cell::Bytes(number)
            | Cell::Number(number) => SortKey::Number(*number),
            Cell::Bool(yes) => SortKey::Number(i64::from(*yes)),
            // Attributes of old producers are text even where they count.
            Cell::Text(text) => match text.parse() {
                Ok(number) => SortKey::Number(number),
                Err(_) => SortKey::Text(text.to_string()),
            },
        }
    }
}

impl Calls {
    /// Returns what `call` holds in `column`.
    #[must_use]
    pub fn cell<'c>(&'c self, call: &'c Call, column: &Column) -> Cell<'c> {
        let duration = |ns: u64| Cell::Nanoseconds(saturated_i64(ns));
        match column {
            Column::Start => Cell::Time(call.start),
            Column::End => Cell::Time(call.end),
            Column::Duration => duration(call.duration()),
            Column::Suspended if self.pauses_seen => {
                duration(self.pauses.suspended(call.start, call.end))
            }
            Column::Suspended => Cell::None,
            Column::Service => self.place(call, |row| row.service, &self.sender.service),
            Column::Instance => self.place(call, |row| row.instance, &self.sender.instance),
            Column::Host => self.place(call, |row| row.host, ""),
            Column::Thread => Cell::Text(track_name(&self.tables, call.track)),
            Column::Title => title(&self.tables, &call.attributes).map_or(Cell::None, Cell::Text),
            Column::Method => call
                .function
                .map_or(Cell::None, |id| Cell::Text(self.tables.function_name(id))),
            Column::Error => Cell::Bool(call.failed()),
            Column::Status => Cell::Text(call.state().word().into()),
            Column::Async => Cell::Bool(is_async(&self.tables, call.track)),
            Column::Nested => Cell::Bool(call.nested),
            Column::Component => match (self.named(call, "component"), call.kind) {
                (Cell::None, Some(kind)) => Cell::Text(self.tables.text(kind)),
                (found, _) => found,
            },
            Column::Exception => call.exception.map_or(Cell::None, |id| {
                let exception = Value::Exception(id);
                let text = value_text(&self.tables, &exception);
                Cell::Text(text.into_owned().into())
            }),
            Column::Trace => match call.context {
                Some(context) if context.trace != 0 => {
                    Cell::Text(format!("{:032x}", context.trace).into())
                }
                _ => Cell::None,
            },
            Column::Attributes => self.others(call),
            Column::Uses => call
                .uses
                .map_or(Cell::None, |uses| Cell::Number(saturated_i64(uses.count))),
            Column::UsedTime => call
                .uses
                .map_or(Cell::None, |uses| Cell::Nanoseconds(uses.time)),
            Column::Counter(name) => self.counter(call, name),
            Column::Attribute(name) => self.attribute(call, name),
            counted => counted
                .sources()
                .into_iter()
                .map(|name| self.named(call, name))
                .find(|cell| *cell != Cell::None)
                .unwrap_or(Cell::None),
        }
    }

    /// Returns where a call ran as the recording has it, else as its sender said.
    fn place<'c>(
        &'c self,
        call: &Call,
        field: impl Fn(&Resource) -> Option<StringId>,
        sender: &'c str,
    ) -> Cell<'c> {
        match of_resource(&self.tables, call.track, field) {
            Some(text) => Cell::Text(text),
            None if sender.is_empty() => Cell::None,
            None => Cell::Text(sender.into()),
        }
    }

    fn named<'c>(&'c self, call: &'c Call, name: &str) -> Cell<'c> {
        match self.counter(call, name) {
            Cell::None => self.attribute_amount(call, name),
            counter => counter,
        }
    }

    /// Returns an attribute; as an amount where it is a counter that CDT's agents write as text at the end of a call as well,
    /// which is all that is left of the counter when the call's row is lost.
    fn attribute_amount<'c>(&'c self, call: &'c Call, name: &str) -> Cell<'c> {
        const NS_IN_A_MS: i64 = 1_000_000;
        let text = self.attribute(call, name);
        let amount = match &text {
            Cell::Text(text) => text.parse::<i64>().ok(),
            _ => None,
        };
        match (amount, name) {
            (Some(ms), "time.cpu" | "time.queue.wait") => {
                Cell::Nanoseconds(ms.saturating_mul(NS_IN_A_MS))
            }
            (Some(count), "j2ee.transactions") => Cell::Number(count),
            _ => text,
        }
    }

    fn counter(&self, call: &Call, name: &str) -> Cell<'_> {
        for &(id, value) in &call.counters {
            let Some(row) = self.tables.value_type(id) else {
                continue;
            };
            if self.tables.text(row.name) == name {
                return match row.unit {
                    Unit::Nanoseconds => Cell::Nanoseconds(value),
                    Unit::Bytes => Cell::Bytes(value),
                    _ => Cell::Number(value),
                };
            }
        }
        Cell::None
    }

    /// Returns the values that `call` has under the name of an attribute, in the producer's order.
    pub fn values<'c>(&'c self, call: &'c Call, name: &str) -> impl Iterator<Item = &'c Value> {
        call.attributes.iter().filter_map(move |attribute| {
            let key = self.tables.attribute_key(attribute.key)?;
            (self.tables.text(key.name) == name).then_some(&attribute.value)
        })
    }

    fn attribute<'c>(&'c self, call: &'c Call, name: &str) -> Cell<'c> {
        let texts = self.values(call, name);
        texts
            .map(|value| value_text(&self.tables, value))
            .reduce(|before, value| format!("{before}, {value}").into())
            .map_or(Cell::None, Cell::Text)
    }

    /// The attributes that stand in no column of [`Column::OF_KINDS`] themselves.
    fn others(&self, call: &Call) -> Cell<'_> {
        const ELSEWHERE: [&str; 4] = ["component", "thread.name", "thread.id", "flags"];
        let mut text = String::new();
        for attribute in &call.attributes {
            let Some(key) = self.tables.attribute_key(attribute.key) else {
                continue;
            };
            let name = self.tables.text(key.name);
            if ELSEWHERE.contains(&&*name) {
                continue;
            }
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(&name);
            text.push('=');
            text.push_str(&value_text(&self.tables, &attribute.value));
        }
        if text.is_empty() {
            Cell::None
        } else {
            Cell::Text(text.into())
        }
    }

    /// Returns the columns for people: those of kinds where some call has one, or has attributes and
    /// none of the sums that the others are for.
    #[must_use]
    pub fn first_columns(&self) -> Vec<Column> {
        let filled = |column: &Column| {
            self.rows
                .iter()
                .any(|call| self.cell(call, column) != Cell::None)
        };
        let sums = [
            Column::Cpu,
            Column::Suspended,
            Column::Queue,
            Column::Transactions,
        ];
        let kinds = self
            .rows
            .iter()
            .any(|call| call.kind.is_some() || call.context.is_some());
        let columns = match !kinds && (sums.iter().any(filled) || !filled(&Column::Attributes)) {
            true => &Column::DEFAULT,
            false => &Column::OF_KINDS,
        };
        let shown = |column: &Column| match column {
            Column::Component | Column::Exception | Column::Attributes => filled(column),
            Column::Status => {
                let mut states = self.rows.iter().map(Call::state);
                states.any(CallState::is_partial)
            }
            _ => true,
        };
        columns
            .iter()
            .filter(|column| shown(column))
            .cloned()
            .collect()
    }

    /// Returns the counter or attribute that a name means here; other columns come back as they are.
    #[must_use]
    pub fn resolve(&self, column: Column) -> Column {
        let Column::Named(name) = column else {
            return column;
        };
        let mut types = self.tables.value_types.iter().flatten();
        match types.any(|row| self.tables.text(row.name) == name) {
            true => Column::Counter(name),
            false => Column::Attribute(name),
        }
    }

    /// Returns the unit of the numbers in a column.
    #[must_use]
    pub fn unit(&self, column: &Column) -> Unit {
        match column {
            Column::Start
            | Column::End
            | Column::Duration
            | Column::Cpu
            | Column::Suspended
            | Column::Queue
            | Column::UsedTime => Unit::Nanoseconds,
            Column::Counter(name) => {
                let mut types = self.tables.value_types.iter().flatten();
                let row = types.find(|row| self.tables.text(row.name) == *name);
                row.map_or(Unit::Count, |row| row.unit)
            }
            _ => Unit::Count,
        }
    }

    /// Returns the columns that some call of the list has: the well-known ones, then counters and
    /// attributes by name.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let mut counters = std::collections::BTreeSet::new();
        let mut attributes = std::collections::BTreeSet::new();
        for call in &self.rows {
            for &(id, _) in &call.counters {
                counters.extend(self.tables.value_type(id).map(|row| row.name));
            }
            for attribute in &call.attributes {
                let key = self.tables.attribute_key(attribute.key);
                attributes.extend(key.map(|key| key.name));
            }
        }
        // Of the columns that few formats fill, those that are; the rest of an object is the same for all.
        let filled = |column: &Column| match column {
            Column::Attributes => false,
            Column::Async | Column::Nested => self
                .rows
                .iter()
                .any(|call| self.cell(call, column) == Cell::Bool(true)),
            Column::Uses | Column::UsedTime => self.rows.iter().any(|call| call.uses.is_some()),
            Column::Component
            | Column::Exception
            | Column::Trace
            | Column::Service
            | Column::Instance
            | Column::Host => self
                .rows
                .iter()
                .any(|call| self.cell(call, column) != Cell::None),
            _ => true,
        };
        let known = column::KNOWN
            .iter()
            .map(|(_, column)| column.clone())
            .filter(filled);
        let taken: Vec<String> = known
            .clone()
            .flat_map(|column| {
                let sources = column.sources().into_iter().map(str::to_owned);
                sources.collect::<Vec<_>>()
            })
            .collect();
        let named = |names: std::collections::BTreeSet<_>| {
            let names = names.into_iter();
            let mut names: Vec<String> = names
                .map(|name| self.tables.text(name).into_owned())
                .filter(|name| !taken.contains(name))
                .collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let counters = named(counters).into_iter().map(Column::Counter);
        let attributes = named(attributes).into_iter().map(Column::Attribute);
        known.chain(counters).chain(attributes).collect()
    }
}
