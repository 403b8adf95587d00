//! The columns of a table of events: what every event has, and the fields of its type.

use traceloom_model::{Clock, EventRow, StackId, TrackId, Unit};

use super::collect::EventCollector;
use super::value::{AmountUnit, PrintedValue};
use crate::usage::{Usage, nearest};

/// What the name of a field has in front in CSV, and may have where columns are typed.
const FIELD: &str = "attr.";

/// What every event has, by the name of its column.
const COMMON: [(&str, CommonUnit); 8] = [
    ("time", CommonUnit::Time),
    ("end", CommonUnit::End),
    ("duration", CommonUnit::Duration),
    ("type", CommonUnit::Type),
    ("thread", CommonUnit::Thread),
    ("owner", CommonUnit::Owner),
    ("object", CommonUnit::Object),
    ("stack", CommonUnit::Stack),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CommonUnit {
    Time,
    End,
    Duration,
    Type,
    Thread,
    Owner,
    Object,
    Stack,
}

/// One column.
#[derive(Debug)]
pub(super) struct PrintedColumn {
    name: String,
    what: ColumnContent,
}

#[derive(Debug)]
enum ColumnContent {
    Common(CommonUnit),
    /// A field by its name, and the way into its value.
    Field(String, Vec<String>),
}

impl PrintedColumn {
    fn common(what: CommonUnit) -> Self {
        let name = COMMON.iter().find(|(_, known)| *known == what);
        Self {
            name: name.map_or("", |(name, _)| name).to_owned(),
            what: ColumnContent::Common(what),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the name is the capture's own.
    pub(super) fn is_field(&self) -> bool {
        matches!(self.what, ColumnContent::Field(..))
    }

    /// Returns the heading in CSV: names of the capture with a prefix, numbers with their unit.
    pub(super) fn heading(&self, events: &EventCollector) -> String {
        let prefix = if self.is_field() { FIELD } else { "" };
        match self.unit(events) {
            Some(unit) => format!("{prefix}{} ({unit})", self.name),
            None => format!("{prefix}{}", self.name),
        }
    }

    /// Returns the word of the unit that exact numbers of the column are in.
    pub(super) fn unit(&self, events: &EventCollector) -> Option<String> {
        match &self.what {
            ColumnContent::Common(CommonUnit::Time | CommonUnit::End | CommonUnit::Duration) => {
                Some("ns".to_owned())
            }
            ColumnContent::Common(_) => None,
            ColumnContent::Field(name, path) if path.is_empty() => {
                let keys = &events.tables.attribute_keys;
                let named = keys
                    .iter()
                    .flatten()
                    .find(|key| key.unit != Unit::Count && events.tables.text(key.name) == **name);
                let text = |id| events.tables.text(id).into_owned();
                named.map(|key| crate::info::unit_name(key.unit, &text))
            }
            ColumnContent::Field(..) => None,
        }
    }

    /// Returns the value of the event at `row`.
    pub(super) fn cell(&self, events: &EventCollector, row: usize) -> PrintedValue {
        let Some(event) = events.events.row(row) else {
            return PrintedValue::Nothing;
        };
        match &self.what {
            ColumnContent::Common(what) => common(*what, &event, events),
            ColumnContent::Field(name, path) => {
                let tables = &events.tables;
                let found = event.attributes.iter().find(|attribute| {
                    let key = tables.attribute_key(attribute.key);
                    key.is_some_and(|key| tables.text(key.name) == *name)
                });
                found.map_or(PrintedValue::Nothing, |attribute| {
                    let amount = AmountUnit::of(events.unit_of(attribute.key), tables);
                    PrintedValue::of(&attribute.value, &amount, tables).at(path)
                })
            }
        }
    }
}

fn common(what: CommonUnit, event: &EventRow<'_>, events: &EventCollector) -> PrintedValue {
    let tables = &events.tables;
    let dated = tables.clock == Clock::Unix;
    let thread = |id: Option<TrackId>| {
        let row = id.and_then(|id| tables.track(id));
        row.map_or(PrintedValue::Nothing, |row| {
            PrintedValue::Text(match (row.name, row.os_id.or(row.id)) {
                (Some(name), _) => tables.text(name).into_owned(),
                (None, Some(id)) => format!("#{id}"),
                (None, None) => String::new(),
            })
        })
    };
    match what {
        CommonUnit::Time => PrintedValue::Time(event.time, dated),
        CommonUnit::End => event
            .end
            .map_or(PrintedValue::Nothing, |end| PrintedValue::Time(end, dated)),
        CommonUnit::Duration => event.end.map_or(PrintedValue::Nothing, |end| {
            let length = i128::from(end) - i128::from(event.time);
            PrintedValue::Integer(length, AmountUnit::Nanoseconds)
        }),
        CommonUnit::Type => {
            let row = tables.event_type(event.event_type);
            row.map_or(PrintedValue::Nothing, |row| {
                PrintedValue::Text(tables.text(row.name).into_owned())
            })
        }
        CommonUnit::Thread => thread(event.track),
        CommonUnit::Owner => thread(event.owner),
        CommonUnit::Object => event.object.map_or(PrintedValue::Nothing, |id| {
            PrintedValue::Text(format!("{:#x}", id.0))
        }),
        CommonUnit::Stack => event.stack.map_or(PrintedValue::Nothing, |stack| {
            PrintedValue::Stack(frames(stack, events))
        }),
    }
}

fn frames(stack: StackId, events: &EventCollector) -> Vec<String> {
    let tables = &events.tables;
    let mut frames = Vec::new();
    let mut next = Some(stack);
    while let Some(row) = next.and_then(|id| tables.stack(id)) {
        // No stack has more frames than there are stacks: a circle ends here.
        if frames.len() > tables.stacks.len() {
            break;
        }
        let frame = tables.frame(row.frame);
        let name = frame.and_then(|frame| frame.function).map_or_else(
            || format!("{:#x}", frame.and_then(|frame| frame.address).unwrap_or(0)),
            |function| tables.function_name(function).into_owned(),
        );
        let line = frame.map_or(0, |frame| frame.line);
        frames.push(if line > 0 {
            format!("{name}:{line}")
        } else {
            name
        });
        next = row.parent;
    }
    frames
}

/// The columns to print.
pub(super) struct PrintedColumns(Vec<PrintedColumn>);

impl PrintedColumns {
    /// Takes the columns that were named, else all that any event fills.
    pub(super) fn choose(events: &EventCollector, named: &[String]) -> anyhow::Result<Self> {
        if named.is_empty() {
            return Ok(Self::filled(events));
        }
        let columns: anyhow::Result<_> = named
            .iter()
            .map(|name| Self::one(events, name.trim()))
            .collect();
        columns.map(Self)
    }

    pub(super) fn list(&self) -> &[PrintedColumn] {
        &self.0
    }

    fn filled(events: &EventCollector) -> Self {
        let batch = &events.events;
        let mut columns = vec![PrintedColumn::common(CommonUnit::Time)];
        let types: std::collections::BTreeSet<_> = batch.event_type.iter().collect();
        let mut add = |filled: bool, what| {
            if filled {
                columns.push(PrintedColumn::common(what));
            }
        };
        add(batch.end.iter().any(Option::is_some), CommonUnit::Duration);
        let names = types.iter().filter_map(|id| events.tables.event_type(**id));
        let names: std::collections::BTreeSet<_> = names.map(|row| row.name).collect();
        add(names.len() > 1, CommonUnit::Type);
        add(batch.track.iter().any(Option::is_some), CommonUnit::Thread);
        add(batch.owner.iter().any(Option::is_some), CommonUnit::Owner);
        add(batch.object.iter().any(Option::is_some), CommonUnit::Object);
        let stacks = batch.stack.iter().any(Option::is_some);
        for name in fields(events) {
            columns.push(PrintedColumn {
                what: ColumnContent::Field(name.clone(), Vec::new()),
                name,
            });
        }
        if stacks {
            columns.push(PrintedColumn::common(CommonUnit::Stack));
        }
        Self(columns)
    }

    /// Finds a column by its name.
    ///
    /// # Errors
    /// When there is none, with the nearest one that is.
    pub(super) fn one(events: &EventCollector, name: &str) -> anyhow::Result<PrintedColumn> {
        let plain = name.strip_prefix(FIELD).or(name.strip_prefix('.'));
        if plain.is_none()
            && let Some((_, what)) = COMMON.iter().find(|(known, _)| *known == name)
        {
            return Ok(PrintedColumn::common(*what));
        }
        let wanted = plain.unwrap_or(name);
        let fields = fields(events);
        // Names of fields may have dots themselves: the longest one that is a field counts.
        let ends = wanted.match_indices('.').map(|(at, _)| at);
        for end in std::iter::once(wanted.len()).chain(ends.rev()) {
            let (field, rest) = wanted.split_at(end);
            if fields.iter().any(|known| known == field) {
                let path = rest.split('.').skip(1).map(str::to_owned).collect();
                return Ok(PrintedColumn {
                    name: wanted.to_owned(),
                    what: ColumnContent::Field(field.to_owned(), path),
                });
            }
        }
        let known = fields
            .iter()
            .map(String::as_str)
            .chain(COMMON.iter().map(|(name, _)| *name));
        let hint = nearest(wanted, known.clone()).map_or_else(
            || {
                let known: Vec<_> = known.collect();
                format!("; there are {}", known.join(", "))
            },
            |near| format!("; did you mean `{near}`?"),
        );
        Err(Usage(format!("there is no column `{name}`{hint}")).into())
    }
}

/// The fields of the types that the events are of, in their order.
fn fields(events: &EventCollector) -> Vec<String> {
    let types: std::collections::BTreeSet<_> = events.events.event_type.iter().collect();
    let mut names = Vec::new();
    let rows = types
        .into_iter()
        .filter_map(|id| events.tables.event_type(*id));
    let declared = rows.flat_map(|row| row.fields.iter().copied());
    // Types that declare nothing show what their events carry.
    let carried = events.events.attributes.all().iter().map(|row| row.key);
    let mut seen = std::collections::BTreeSet::new();
    for key in declared.chain(carried) {
        if seen.insert(key) {
            let name = events.field_name(key);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}
