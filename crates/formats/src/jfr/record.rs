//! Native records: the chunk's header, and its events as the recording describes them.

use super::event::Value;
use super::event_head::EventHead;
use super::header::{HEADER, Header};
use super::metadata::MetadataEvent;
use super::pool::{Checkpoint, CheckpointPiece, segment};
use super::scan::{Bad, Scan, put_integer};
use super::schema::{NumberMeaning, TypeSchema, TypeSchemas};
use super::shown::ValueTree;
use super::value::{DecodedValue, DecodingRules, SkippedValues, ValueVisitor};
use crate::{Field, Record};
use traceloom_model::Limits;
use traceloom_model::bounds::subslice;

/// A chunk's header as a record.
#[derive(Clone, Copy, Debug)]
pub struct ChunkRecord {
    /// Offset of its first byte in the part.
    pub offset: u64,
    /// The header.
    pub header: Header,
}

impl Record for ChunkRecord {
    fn kind(&self) -> &str {
        "chunk"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        HEADER as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let header = &self.header;
        show("major", Field::U64(header.major.into()));
        show("minor", Field::U64(header.minor.into()));
        show("chunk_size", Field::U64(header.chunk_size));
        show(
            "constant_pool_offset",
            Field::U64(header.constant_pool_offset),
        );
        show("metadata_offset", Field::U64(header.metadata_offset));
        show("start_time_ns", Field::I64(header.start_time_ns));
        show("duration_ns", Field::I64(header.duration_ns));
        show("start_ticks", Field::I64(header.start_ticks));
        show("ticks_per_second", Field::U64(header.ticks_per_second));
        show("file_state", Field::U64(header.file_state.into()));
        show("capabilities", Field::Bytes(&header.capabilities));
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.header.write(out);
    }

    fn time(&self) -> Option<(i64, i64)> {
        let start = self.header.start_time_ns;
        Some((start, start.saturating_add(self.header.duration_ns.max(0))))
    }
}

/// Knows what ids of a chunk stand for.
pub(super) trait Resolve {
    /// Returns the text of row `id` of the pool of the type called `table`.
    fn resolve(&self, table: &str, id: u64) -> Option<String>;
}

/// What the records of a chunk's events share.
#[derive(Clone, Copy)]
pub(super) struct ChunkContext<'a> {
    pub(super) chunk: &'a [u8],
    /// Offset of the chunk in the part.
    pub(super) offset: u64,
    pub(super) header: &'a Header,
    pub(super) rules: DecodingRules<'a>,
    pub(super) limits: &'a Limits,
    /// What ids of the chunk stand for.
    pub(super) texts: Option<&'a dyn Resolve>,
}

impl<'a> ChunkContext<'a> {
    /// What the events of `chunk`, which begins at `offset` of the part, share where no ids are looked up.
    pub(super) fn new(
        (chunk, offset): (&'a [u8], u64),
        header: &'a Header,
        rules: DecodingRules<'a>,
        limits: &'a Limits,
    ) -> Self {
        Self {
            chunk,
            offset,
            header,
            rules,
            limits,
            texts: None,
        }
    }

    pub(super) fn body(&self, head: &EventHead) -> Scan<'a> {
        let bytes = subslice(self.chunk, head.body..head.end);
        Scan::new(bytes, self.header.compressed())
    }

    /// Writes an event's size and type from their values, in the widths they have.
    fn write_head(&self, head: &EventHead, out: &mut Vec<u8>) {
        let mut scan = Scan::new(self.chunk, self.header.compressed());
        scan.seek(head.at);
        let size = (head.end - head.at) as u64;
        if let Ok((_, width)) = scan.integer(4) {
            put_integer(out, scan.compressed, size, width);
        }
        if let Ok((_, width)) = scan.integer(8) {
            put_integer(out, scan.compressed, head.type_id, width);
        }
    }

    fn time(&self, start: i64, duration: i64) -> (i64, i64) {
        let clock = self.header.clock();
        let begin = clock.time(start);
        (
            begin,
            clock.time(start.saturating_add(duration.max(0))).max(begin),
        )
    }
}

/// A record of a chunk: an event, metadata, a checkpoint.
#[derive(Clone, Copy)]
pub struct ChunkPart<'a, 'k> {
    pub(super) place: &'k ChunkContext<'a>,
    pub(super) head: EventHead,
    pub(super) what: ChunkRecordKind<'k>,
}

/// What a record of a chunk is.
#[derive(Clone, Copy)]
pub(super) enum ChunkRecordKind<'k> {
    /// An event of a type that the metadata describes; its fields end at `used`.
    Event {
        type_index: usize,
        used: usize,
    },
    /// An event of a type that no metadata describes.
    Unknown,
    Metadata,
    /// Constant pools.
    Checkpoint(&'k Checkpoint),
}

impl Record for ChunkPart<'_, '_> {
    fn kind(&self) -> &str {
        match self.what {
            ChunkRecordKind::Event { type_index, .. } => {
                self.found(type_index).map_or("event", |found| &found.name)
            }
            ChunkRecordKind::Unknown => "event",
            ChunkRecordKind::Metadata => "jdk.Metadata",
            ChunkRecordKind::Checkpoint(_) => "jdk.CheckPoint",
        }
    }

    fn offset(&self) -> u64 {
        self.place.offset + self.head.at as u64
    }

    fn len(&self) -> u64 {
        (self.head.end - self.head.at) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        match self.what {
            ChunkRecordKind::Event { type_index, used } => self.show_event(type_index, used, show),
            ChunkRecordKind::Unknown => {
                show("type_id", Field::U64(self.head.type_id));
                show("body", Field::Bytes(self.place.body(&self.head).rest()));
            }
            ChunkRecordKind::Metadata => self.show_metadata(show),
            ChunkRecordKind::Checkpoint(checkpoint) => self.show_checkpoint(checkpoint, show),
        }
    }

    fn resolve(&self, table: &str, id: u64) -> Option<String> {
        self.place.texts?.resolve(table, id)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.place.write_head(&self.head, out);
        let mut scan = self.place.body(&self.head);
        // The walk has decoded all this before; what follows it is carried along.
        let _ = match self.what {
            ChunkRecordKind::Event { type_index, .. } => {
                self.place.rules.pass(&mut scan, type_index, out)
            }
            ChunkRecordKind::Unknown => Ok(()),
            ChunkRecordKind::Metadata => {
                MetadataEvent::read(&mut scan, self.place.limits, out).map(drop)
            }
            ChunkRecordKind::Checkpoint(checkpoint) => {
                let _ = write_checkpoint(&self.place.rules, &mut scan, checkpoint, out);
                return;
            }
        };
        out.extend_from_slice(scan.rest());
    }

    fn time(&self) -> Option<(i64, i64)> {
        let ChunkRecordKind::Event { type_index, .. } = self.what else {
            return None;
        };
        let mut scan = self.place.body(&self.head);
        let mut cells = Vec::new();
        self.place
            .rules
            .cells(&mut scan, type_index, &mut cells)
            .ok()?;
        let (mut start, mut duration) = (None, 0);
        for (field, cell) in self.found(type_index)?.fields.iter().zip(cells) {
            match (field.name.as_str(), cell) {
                ("startTime", DecodedValue::Int(ticks)) if is_ticks(field.meaning) => {
                    start = Some(ticks)
                }
                ("duration", DecodedValue::Int(ticks)) if is_ticks(field.meaning) => {
                    duration = ticks
                }
                _ => {}
            }
        }
        Some(self.place.time(start?, duration))
    }
}

impl<'a> ChunkPart<'a, '_> {
    fn found(&self, type_index: usize) -> Option<&'a TypeSchema> {
        let schema: &'a TypeSchemas = self.place.rules.schema;
        schema.get(type_index)
    }

    fn show_event(&self, type_index: usize, used: usize, show: &mut dyn FnMut(&str, Field<'_>)) {
        let mut scan = self.place.body(&self.head);
        if let Ok(values) = self.place.rules.values(&mut scan, type_index, 0) {
            for (name, value) in values {
                show(name, ValueTree::from(value).lend());
            }
        }
        let fields = self
            .found(type_index)
            .map_or(&[][..], |found| &found.fields);
        let units: Vec<_> = fields
            .iter()
            .filter_map(|field| Some((Field::Str(&field.name), Field::Str(field.unit.as_ref()?))))
            .collect();
        if !units.is_empty() {
            show("units", Field::Map(&units));
        }
        self.show_annotations(type_index, show);
        if used < self.head.end {
            let extra = subslice(self.place.chunk, used..self.head.end);
            show("extra", Field::Bytes(extra));
        }
    }

    /// Shows what the metadata says of the fields besides name and type.
    fn show_annotations(&self, type_index: usize, show: &mut dyn FnMut(&str, Field<'_>)) {
        let fields = self
            .found(type_index)
            .map_or(&[][..], |found| &found.fields);
        let annotated = fields.iter().filter(|field| !field.annotations.is_empty());
        let rows: Vec<(&str, Vec<_>)> = annotated
            .map(|field| {
                let pairs = field.annotations.iter();
                let pairs = pairs.map(|(name, value)| (Field::Str(name), Field::Str(value)));
                (field.name.as_str(), pairs.collect())
            })
            .collect();
        let maps: Vec<_> = rows
            .iter()
            .map(|(name, pairs)| (Field::Str(name), Field::Map(pairs)))
            .collect();
        if !maps.is_empty() {
            show("annotations", Field::Map(&maps));
        }
    }

    fn show_metadata(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let mut scan = self.place.body(&self.head);
        let Ok(metadata) = MetadataEvent::read(&mut scan, self.place.limits, &mut SkippedValues)
        else {
            return;
        };
        show("start_ticks", Field::I64(metadata.start.cast_signed()));
        show(
            "duration_ticks",
            Field::I64(metadata.duration.cast_signed()),
        );
        show("metadata_id", Field::U64(metadata.id));
        show("strings", Field::U64(metadata.strings.len() as u64));
        let text = |index: u32| {
            let string = metadata.strings.get(index as usize).copied();
            ValueTree::from(string.map_or(Value::Null, Value::of))
        };
        let elements = metadata.elements.iter().map(|element| {
            let attributes = metadata.attributes(element).iter();
            ValueTree::map(vec![
                (
                    ValueTree::Leaf(Field::Str("depth")),
                    ValueTree::Leaf(Field::U64(element.depth.into())),
                ),
                (ValueTree::Leaf(Field::Str("element")), text(element.name)),
                (
                    ValueTree::Leaf(Field::Str("attributes")),
                    ValueTree::map(
                        attributes
                            .map(|&(key, value)| (text(key), text(value)))
                            .collect(),
                    ),
                ),
            ])
        });
        let elements = ValueTree::list(elements.collect());
        show("elements", elements.lend());
    }

    fn show_checkpoint(&self, checkpoint: &Checkpoint, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("start_ticks", Field::I64(checkpoint.start.cast_signed()));
        show(
            "duration_ticks",
            Field::I64(checkpoint.duration.cast_signed()),
        );
        show("delta", Field::I64(checkpoint.delta.cast_signed()));
        show("mask", Field::U64(checkpoint.mask.into()));
        let mut pieces = Vec::new();
        for piece in &checkpoint.pieces {
            match piece {
                CheckpointPiece::Pool(pool) => pieces.extend(self.pool(pool)),
                CheckpointPiece::Hole(range, _) => {
                    let lost = self.place.body(&self.head).between(range.start, range.end);
                    pieces.push(ValueTree::map(vec![(
                        ValueTree::Leaf(Field::Str("damage")),
                        ValueTree::Leaf(Field::Bytes(lost)),
                    )]));
                }
            }
        }
        let pools = ValueTree::list(pieces);
        show("pools", pools.lend());
    }

    fn pool(&self, pool: &super::pool::PoolSegment) -> Result<ValueTree<'a>, Bad> {
        let rules = self.place.rules;
        let mut scan = self.place.body(&self.head);
        scan.seek(pool.entries.start);
        let mut entries = Vec::new();
        for _ in 0..pool.count {
            let key = scan.long()?;
            let mut pairs = vec![(
                ValueTree::Leaf(Field::Str("key")),
                ValueTree::Leaf(Field::U64(key)),
            )];
            if rules.schema.string == Some(pool.type_index) {
                let string = scan.string(rules.longest)?;
                pairs.push((
                    ValueTree::Leaf(Field::Str("string")),
                    Value::of(string).into(),
                ));
            } else {
                for (name, value) in rules.values(&mut scan, pool.type_index, 0)? {
                    pairs.push((ValueTree::Leaf(Field::Str(name)), value.into()));
                }
            }
            entries.push(ValueTree::map(pairs));
        }
        let schema: &'a TypeSchemas = rules.schema;
        let name = schema.get(pool.type_index).map_or("", |found| &found.name);
        Ok(ValueTree::map(vec![
            (
                ValueTree::Leaf(Field::Str("type")),
                ValueTree::Leaf(Field::Str(name)),
            ),
            (
                ValueTree::Leaf(Field::Str("constants")),
                ValueTree::list(entries),
            ),
        ]))
    }
}

/// Returns true if a start or duration is in ticks: writers that leave the annotation out mean ticks too.
pub(super) fn is_ticks(meaning: NumberMeaning) -> bool {
    matches!(
        meaning,
        NumberMeaning::TicksTime | NumberMeaning::TicksSpan | NumberMeaning::Plain
    )
}

fn write_checkpoint(
    rules: &DecodingRules<'_>,
    scan: &mut Scan<'_>,
    checkpoint: &Checkpoint,
    out: &mut Vec<u8>,
) -> Result<(), Bad> {
    out.long(scan)?;
    out.long(scan)?;
    out.long(scan)?;
    out.bytes(scan, 1)?;
    out.int(scan)?;
    for piece in &checkpoint.pieces {
        match piece {
            CheckpointPiece::Pool(_) => segment(rules, scan, out).map(drop)?,
            CheckpointPiece::Hole(range, _) => out.bytes(scan, range.len())?,
        }
    }
    Ok(())
}
