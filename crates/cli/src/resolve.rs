//! What ids in records stand for: `dump --resolve`.

use std::collections::HashMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use traceloom_formats::{Field, Record, RecordSink};
use traceloom_input::Input;
use traceloom_model::{Flow, Note};

use crate::args::Common;
use crate::fields::{Json, plain, text_of};

/// Records that define nothing in a row, after which a part is taken to define nothing more.
const PATIENCE: u32 = 1_000_000;

/// Ids that lead on to other ids, at most: location, function, string.
const STEPS: u32 = 4;

/// What a row says: its text, or the row that has it.
enum RowMeaning {
    Text(String),
    Row(String, u64),
}

/// Rows by table and number.
#[derive(Default)]
pub(crate) struct RowTable(HashMap<String, HashMap<u64, RowMeaning>>);

impl RowTable {
    fn text(&self, table: &str, id: u64) -> Option<&str> {
        let mut at = (table, id);
        for _ in 0..STEPS {
            match self.0.get(at.0)?.get(&at.1)? {
                RowMeaning::Text(text) => return Some(text),
                RowMeaning::Row(table, id) => at = (table, *id),
            }
        }
        None
    }
}

/// Texts of ids, by document.
#[derive(Default)]
pub(crate) struct DocumentTexts {
    tables: Vec<RowTable>,
    of_part: HashMap<usize, usize>,
}

impl DocumentTexts {
    /// Reads every part once for the rows that its records define.
    pub(crate) fn of(input: &Input, common: &Common) -> anyhow::Result<Self> {
        let limits = common.limits()?;
        let mut names = Self::default();
        for document in input.documents() {
            let mut defined = Defined::default();
            for (at, part) in document.members() {
                names.of_part.insert(at, names.tables.len());
                let Some(reader) = part.part.format.and_then(|format| format.reader) else {
                    continue;
                };
                defined.undefining = 0;
                input.read(at, 0, reader(&limits).as_mut(), &mut defined)?;
            }
            names.tables.push(defined.table);
        }
        Ok(names)
    }

    pub(crate) fn of_part(&self, part: usize) -> Option<&RowTable> {
        self.tables.get(*self.of_part.get(&part)?)
    }
}

/// Collects rows: a record whose field `id` or `index` numbers it defines a row of that table, or of the
/// table called as the record is. What the row says is its first text, else its name, else the first row
/// that a list in it refers to.
#[derive(Default)]
struct Defined {
    table: RowTable,
    undefining: u32,
}

impl RecordSink for Defined {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let mut id: Option<(String, u64)> = None;
        let mut text = None;
        let mut row: Option<(u8, RowMeaning)> = None;
        let mut first = true;
        let mut refer = |rank: u8, table: &str, id: u64| {
            if row.as_ref().is_none_or(|(known, _)| rank < *known) {
                row = Some((rank, RowMeaning::Row(table.to_owned(), id)));
            }
        };
        record.fields(&mut |name, field| {
            let numbers = std::mem::take(&mut first) && matches!(name, "id" | "index");
            match &field {
                Field::Id(table, number) if numbers => id = Some(((*table).to_owned(), *number)),
                Field::U64(number) if numbers => id = Some((record.kind().to_owned(), *number)),
                Field::I64(number) if numbers => {
                    let number = u64::try_from(*number).ok();
                    id = number.map(|number| (record.kind().to_owned(), number));
                }
                Field::Id(table, number) if matches!(name, "name" | "filename" | "method") => {
                    refer(0, table, *number);
                }
                Field::List(items) if id.is_some() => {
                    if let Some((table, number)) = first_id(items) {
                        refer(1, table, number);
                    }
                }
                _ if id.is_some() && text.is_none() => text = text_of(&field),
                _ => {}
            }
        });
        let said = text.map(RowMeaning::Text).or(row.map(|(_, said)| said));
        match (id, said) {
            (Some((table, number)), Some(said)) => {
                self.table.0.entry(table).or_default().insert(number, said);
                self.undefining = 0;
            }
            _ => self.undefining += 1,
        }
        if self.undefining > PATIENCE {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn first_id<'f>(items: &'f [Field<'f>]) -> Option<(&'f str, u64)> {
    items.iter().find_map(|item| match item {
        Field::Id(table, id) => Some((*table, *id)),
        Field::Map(pairs) => pairs.iter().find_map(|(_, value)| match value {
            Field::Id(table, id) => Some((*table, *id)),
            _ => None,
        }),
        _ => None,
    })
}

/// The texts that ids of one record stand for.
pub(crate) struct RecordTexts<'r> {
    pub(crate) record: &'r dyn Record,
    pub(crate) names: Option<&'r RowTable>,
}

impl RecordTexts<'_> {
    fn text(&self, table: &str, id: u64) -> Option<String> {
        let known = self.names.and_then(|names| names.text(table, id));
        let known = known.map(str::to_owned);
        known.or_else(|| self.record.resolve(table, id))
    }

    /// Writes a field, and behind an id or a list of ids `NAME_text`.
    pub(crate) fn entry<M: SerializeMap>(
        &self,
        name: &str,
        field: &Field<'_>,
        object: &mut M,
    ) -> Result<(), M::Error> {
        object.serialize_entry(name, &Resolved(self, field))?;
        let key = || format!("{name}_text");
        match field {
            Field::Id(table, id) => match self.text(table, *id) {
                Some(text) => object.serialize_entry(&key(), &text),
                None => Ok(()),
            },
            Field::List(items) if matches!(items.first(), Some(Field::Id(..))) => {
                let texts: Vec<_> = items
                    .iter()
                    .map(|item| match item {
                        Field::Id(table, id) => self.text(table, *id),
                        _ => None,
                    })
                    .collect();
                object.serialize_entry(&key(), &texts)
            }
            _ => Ok(()),
        }
    }

    /// Prints a field for a terminal, ids with their texts.
    pub(crate) fn plain(&self, field: &Field<'_>) -> String {
        match field {
            Field::Id(table, id) => match self.text(table, *id) {
                Some(text) => format!("#{id} {text:?}"),
                None => plain(field),
            },
            Field::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.plain(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Field::Map(pairs) => {
                let pair = |(key, value): &(Field<'_>, Field<'_>)| {
                    format!("{}: {}", plain(key), self.plain(value))
                };
                let pairs: Vec<_> = pairs.iter().map(pair).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            _ => plain(field),
        }
    }
}

/// A field as JSON in which maps have the texts of their ids.
struct Resolved<'r>(&'r RecordTexts<'r>, &'r Field<'r>);

impl Serialize for Resolved<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(texts, field) = self;
        match field {
            Field::List(items) => to.collect_seq(items.iter().map(|item| Resolved(texts, item))),
            Field::Map(pairs) => {
                let keys: Option<Vec<_>> = pairs.iter().map(|(key, _)| text_of(key)).collect();
                let keys = keys.filter(|keys| {
                    let mut sorted: Vec<_> = keys.iter().collect();
                    sorted.sort();
                    sorted.windows(2).all(|pair| pair.first() != pair.last())
                });
                // Keys that repeat or are no texts make a list of pairs, which has no place for more.
                let Some(keys) = keys else {
                    return Json(field).serialize(to);
                };
                let mut object = to.serialize_map(None)?;
                for (key, (_, value)) in keys.iter().zip(*pairs) {
                    texts.entry(key, value, &mut object)?;
                }
                object.end()
            }
            _ => Json(field).serialize(to),
        }
    }
}
