//! Batches and tables to rows.

use super::cell::{Cell, OptionalText, bits, id, number, some, some_id, text};
use super::schema::Table;
use super::value;
use crate::{
    Attribute, Clock, CounterBatch, Definitions, EdgeBatch, EventBatch, Flow, LinkBatch, Note,
    ObjectBatch, Order, Recording, RootBatch, SampleBatch, Sink, SpanBatch, SpanStatus, StringId,
    Timestamp,
};

/// Takes the rows of all tables.
pub trait FlatRows {
    /// Takes a row of the table at this place in [`super::TABLES`], a cell for each of its columns.
    fn row(&mut self, table: usize, cells: &[Cell<'_>]) -> Flow;

    /// A batch has passed: a good moment to hand on what is gathered.
    fn batch(&mut self) -> Flow {
        Flow::Continue(())
    }
}

/// A sink that makes rows.
pub struct Flatten<R> {
    pub(super) to: R,
    pub(super) tables: Recording,
    samples: i64,
    events: i64,
    text: String,
}

impl<R: std::fmt::Debug> std::fmt::Debug for Flatten<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Flatten").field(&self.to).finish()
    }
}

impl<R: FlatRows> Flatten<R> {
    /// Makes rows for `to`.
    pub fn new(to: R) -> Self {
        Self {
            to,
            tables: Recording::default(),
            samples: 0,
            events: 0,
            text: String::new(),
        }
    }

    /// Returns what takes the rows.
    pub fn rows(&mut self) -> &mut R {
        &mut self.to
    }

    /// A time for people: none where nobody knows what it counts from.
    fn time(&self, time: Timestamp) -> Cell<'static> {
        match self.tables.clock {
            Clock::Unix => Cell::Time(time.div_euclid(1_000)),
            Clock::Unknown(_) => Cell::Null,
        }
    }

    pub(super) fn row(&mut self, table: Table, cells: &[Cell<'_>]) -> Flow {
        self.to.row(table as usize, cells)
    }

    pub(super) fn attributes(&mut self, owner: &str, id: i64, attributes: &[Attribute]) -> Flow {
        let mut buffer = std::mem::take(&mut self.text);
        for (position, attribute) in (0_i64..).zip(attributes) {
            buffer.clear();
            value::put_value(&attribute.value, &self.tables, &mut buffer);
            let key = self.tables.attribute_key(attribute.key);
            let key = OptionalText(&self.tables).some(key.map(|key| key.name));
            self.to.row(
                Table::Attributes as usize,
                &[
                    Cell::Text(owner),
                    Cell::I64(id),
                    Cell::I64(position),
                    id!(attribute.key),
                    text(&key),
                    Cell::Text(value::type_name(&attribute.value)),
                    Cell::Text(&buffer),
                    some(attribute.at, Cell::I64),
                    some(attribute.from, |span| bits(span.0)),
                ],
            )?;
        }
        self.text = buffer;
        Flow::Continue(())
    }
}

impl<R: FlatRows> Sink for Flatten<R> {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for span in batch.iter() {
            let id = span.id.0.cast_signed();
            let status = match span.status {
                SpanStatus::Complete => "complete",
                SpanStatus::PartialStart => "partial_start",
                SpanStatus::PartialEnd => "partial_end",
                SpanStatus::Error => "error",
            };
            let context = span.context.map(|context| {
                let (trace, span, parent) = (context.trace, context.span, context.parent);
                [
                    format!("{trace:032x}"),
                    format!("{span:016x}"),
                    format!("{parent:016x}"),
                ]
            });
            let context = context.as_ref().map_or([Cell::Null; 3], |words| {
                words.each_ref().map(|word| Cell::Text(word))
            });
            let time = self.time(span.start);
            let name = span.function.map(|id| self.tables.function_name(id));
            let kind = OptionalText(&self.tables).some(span.kind);
            self.to.row(
                Table::Spans as usize,
                &[
                    Cell::I64(id),
                    some(span.parent, |id| bits(id.0)),
                    number(span.depth),
                    id!(span.track),
                    some_id!(span.function),
                    text(&name),
                    text(&kind),
                    Cell::I64(span.start),
                    time,
                    Cell::I64(span.end),
                    bits(span.duration()),
                    Cell::Text(status),
                    Cell::Bool(span.entry),
                    some_id!(span.exception),
                    context[0],
                    context[1],
                    context[2],
                    some(span.origin, |origin| number(origin.part.0)),
                    some(span.origin, |origin| bits(origin.offset)),
                    some(span.origin, |origin| number(origin.index)),
                ],
            )?;
            for &(value_type, value) in span.counters {
                let cells = [Cell::I64(id), id!(value_type), Cell::I64(value)];
                self.row(Table::SpanCounters, &cells)?;
            }
            self.attributes("spans", id, span.attributes)?;
        }
        self.to.batch()
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let profile = self.tables.profile(batch.profile);
        let columns = profile.map_or_else(Vec::new, |profile| profile.value_types.clone());
        for sample in batch.iter() {
            let id = self.samples;
            self.samples += 1;
            let time = some(sample.time, |time| self.time(time));
            self.row(
                Table::Samples,
                &[
                    Cell::I64(id),
                    id!(batch.profile),
                    some_id!(sample.stack),
                    some(sample.time, Cell::I64),
                    time,
                    some_id!(sample.track),
                    some(sample.span, |id| bits(id.0)),
                ],
            )?;
            for (at, &value) in sample.values.iter().enumerate() {
                let value_type = some_id!(columns.get(at));
                self.row(
                    Table::SampleValues,
                    &[Cell::I64(id), value_type, Cell::I64(value)],
                )?;
            }
            self.attributes("samples", id, sample.labels)?;
        }
        self.to.batch()
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for event in batch.iter() {
            let id = self.events;
            self.events += 1;
            let time = self.time(event.time);
            let name = self.tables.event_type(event.event_type);
            let name = OptionalText(&self.tables).some(name.map(|row| row.name));
            let length = |end: i64| {
                bits(if end > event.time {
                    end.abs_diff(event.time)
                } else {
                    0
                })
            };
            self.to.row(
                Table::Events as usize,
                &[
                    Cell::I64(id),
                    id!(event.event_type),
                    text(&name),
                    some_id!(event.track),
                    Cell::I64(event.time),
                    time,
                    some(event.end, Cell::I64),
                    some(event.end, length),
                    some(event.object, |id| bits(id.0)),
                    some_id!(event.owner),
                    some_id!(event.stack),
                ],
            )?;
            self.attributes("events", id, event.attributes)?;
        }
        self.to.batch()
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        for ((series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            let cells = [
                id!(series),
                Cell::I64(time),
                self.time(time),
                Cell::F64(value),
            ];
            self.row(Table::Counters, &cells)?;
        }
        self.to.batch()
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        for link in batch.links {
            let kind = OptionalText(&self.tables).some(link.kind);
            let cells = [bits(link.from.0), bits(link.to.0), text(&kind)];
            self.to.row(Table::Links as usize, &cells)?;
        }
        self.to.batch()
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        for object in batch.rows {
            let time = some(object.time, |time| self.time(time));
            self.row(
                Table::Objects,
                &[
                    bits(object.id.0),
                    number(object.generation),
                    some_id!(object.class),
                    bits(object.size),
                    Cell::Bool(object.is_array),
                    some(object.time, Cell::I64),
                    time,
                    some_id!(object.site),
                    some_id!(object.thread),
                ],
            )?;
        }
        self.to.batch()
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        for ((&dump, from), to) in batch.dump.iter().zip(&batch.from).zip(&batch.to) {
            self.row(Table::Edges, &[number(dump), bits(from.0), bits(to.0)])?;
        }
        self.to.batch()
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        for ((&dump, object), &kind) in batch.dump.iter().zip(&batch.object).zip(&batch.kind) {
            self.row(Table::Roots, &[number(dump), bits(object.0), number(kind)])?;
        }
        self.to.batch()
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, note: Note) -> Flow {
        self.row(
            Table::Notes,
            &[
                number(note.part.0),
                bits(note.offset),
                Cell::Text(note.level.name()),
                Cell::Text(note.kind),
                bits(note.count),
                Cell::Text(&note.text),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnType, TABLES};
    use super::*;
    use crate::{
        AttributeKey, ElementType, Function, SpanRow, Tables, Track, Unit, Value, ValueType,
    };

    /// Rows as text, each cell checked against its column.
    #[derive(Default)]
    struct Shown(Vec<String>);

    impl FlatRows for Shown {
        fn row(&mut self, table: usize, cells: &[Cell<'_>]) -> Flow {
            let table = &TABLES[table];
            assert_eq!(cells.len(), table.columns.len(), "{}", table.name);
            let mut words = vec![table.name.to_owned()];
            for (cell, column) in cells.iter().zip(table.columns) {
                let kind = match cell {
                    Cell::Null => continue,
                    Cell::I64(_) => ColumnType::I64,
                    Cell::F64(_) => ColumnType::F64,
                    Cell::Bool(_) => ColumnType::Bool,
                    Cell::Text(_) => ColumnType::Text,
                    Cell::Time(_) => ColumnType::Time,
                };
                assert_eq!(kind, column.kind, "{}.{}", table.name, column.name);
                words.push(format!("{}={cell:?}", column.name));
            }
            self.0.push(words.join(" "));
            Flow::Continue(())
        }
    }

    #[test]
    fn a_span_is_a_row_and_so_are_its_attributes_and_counters() {
        let mut tables = Tables::new();
        let buy = tables.string("buy");
        let function = tables.function(Function::named(buy));
        let main = tables.string("main");
        let track = tables.track(Track::thread(main));
        let key = tables.string("order");
        let key = tables.attribute_key(AttributeKey::named(key));
        let cpu = tables.string("cpu");
        let cpu = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
        let list = [Value::U64(u64::MAX), Value::Text(buy), Value::Null];
        let list = Value::List(ElementType::Any, list.into());
        let attributes = [
            Attribute::new(key, Value::Text(buy)),
            Attribute::new(key, list),
        ];
        let id = tables.reserve_span();
        let mut spans = SpanBatch::default();
        spans.push(&SpanRow {
            attributes: &attributes,
            counters: &[(cpu, 7)],
            ..SpanRow::call(id, track, function, 1_500, 4_000)
        });
        let mut flatten = Flatten::new(Shown::default());
        flatten.begin(Order::Nested, Clock::Unix);
        assert!(flatten.define(tables.take_definitions()).is_continue());
        assert!(flatten.spans(spans).is_continue());
        assert!(flatten.complete().is_continue());
        let rows = &flatten.rows().0;
        assert_eq!(
            rows[0],
            "spans span_id=I64(0) depth=I64(0) track_id=I64(0) function_id=I64(0) name=Text(\"buy\") \
             ts_ns=I64(1500) ts=Time(1) end_ns=I64(4000) duration_ns=I64(2500) status=Text(\"complete\") \
             entry=Bool(true)"
        );
        assert_eq!(
            rows[1],
            "span_counters span_id=I64(0) value_type_id=I64(0) value=I64(7)"
        );
        assert!(rows[2].contains("key=Text(\"order\") type=Text(\"text\") value=Text(\"buy\")"));
        let list = "type=Text(\"list\") value=Text(\"[18446744073709551615,\\\"buy\\\",null]\")";
        assert!(rows[3].contains(list), "{}", rows[3]);
        let tables: Vec<&str> = rows[4..]
            .iter()
            .filter_map(|row| row.split(' ').next())
            .collect();
        assert_eq!(
            tables,
            [
                "tracks",
                "functions",
                "value_types",
                "attribute_keys",
                "clock"
            ]
        );
    }

    #[test]
    fn no_two_tables_or_columns_share_a_name() {
        let mut tables: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        tables.sort_unstable();
        tables.dedup();
        assert_eq!(tables.len(), TABLES.len());
        for table in TABLES {
            let mut columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), table.columns.len(), "{}", table.name);
        }
    }
}
