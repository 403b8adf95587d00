//! Native records: the chunk's header, and its events as the recording describes them.

use super::header::{HEADER, Header};
use super::metadata::Metadata;
use super::pool::{Checkpoint, Piece, segment};
use super::scan::{Bad, Scan, put_integer};
use super::schema::{Meaning, Schema, Type};
use super::value::{Cell, Emit, Rules, Skip, Tree};
use super::walk::Head;
use crate::{Field, Record};
use traceloom_model::Limits;

/// A chunk's header as a record.
pub(super) struct ChunkRecord {
    pub(super) offset: u64,
    pub(super) header: Header,
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

/// What the records of a chunk's events share.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) chunk: &'a [u8],
    /// Offset of the chunk in the part.
    pub(super) offset: u64,
    pub(super) header: &'a Header,
    pub(super) rules: Rules<'a>,
    pub(super) limits: &'a Limits,
}

impl<'a> Place<'a> {
    fn body(&self, head: &Head) -> Scan<'a> {
        let bytes = self.chunk.get(head.body..head.end).unwrap_or(&[]);
        Scan::new(bytes, self.header.compressed())
    }

    /// Writes an event's size and type from their values, in the widths they have.
    fn write_head(&self, head: &Head, out: &mut Vec<u8>) {
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

/// An event of a type that the metadata describes.
pub(super) struct EventRecord<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) head: Head,
    pub(super) type_index: usize,
    pub(super) used: usize,
}

impl<'a> EventRecord<'a> {
    fn found(&self) -> Option<&'a Type> {
        let schema: &'a Schema = self.place.rules.schema;
        schema.get(self.type_index)
    }
}

impl Record for EventRecord<'_> {
    fn kind(&self) -> &str {
        self.found().map_or("event", |found| &found.name)
    }

    fn offset(&self) -> u64 {
        self.place.offset + self.head.at as u64
    }

    fn len(&self) -> u64 {
        (self.head.end - self.head.at) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let mut scan = self.place.body(&self.head);
        if let Ok(shown) = self.place.rules.show(&mut scan, self.type_index, 0) {
            for (name, tree) in &shown {
                show(name, tree.lend());
            }
        }
        let fields = self.found().map_or(&[][..], |found| &found.fields);
        let units: Vec<_> = fields
            .iter()
            .filter_map(|field| Some((Field::Str(&field.name), Field::Str(field.unit.as_ref()?))))
            .collect();
        if !units.is_empty() {
            show("units", Field::Map(&units));
        }
        if self.used < self.head.end {
            let extra = self.place.chunk.get(self.used..self.head.end);
            show("extra", Field::Bytes(extra.unwrap_or(&[])));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.place.write_head(&self.head, out);
        let mut scan = self.place.body(&self.head);
        // The walk has decoded these fields before; what follows them is carried along.
        let _ = self.place.rules.pass(&mut scan, self.type_index, out);
        out.extend_from_slice(scan.rest());
    }

    fn time(&self) -> Option<(i64, i64)> {
        let mut scan = self.place.body(&self.head);
        let mut cells = Vec::new();
        self.place
            .rules
            .cells(&mut scan, self.type_index, &mut cells)
            .ok()?;
        let (mut start, mut duration) = (None, 0);
        for (field, cell) in self.found()?.fields.iter().zip(cells) {
            match (field.name.as_str(), cell) {
                ("startTime", Cell::Int(ticks)) if is_ticks(field.meaning) => start = Some(ticks),
                ("duration", Cell::Int(ticks)) if is_ticks(field.meaning) => duration = ticks,
                _ => {}
            }
        }
        Some(self.place.time(start?, duration))
    }
}

/// Tells whether a start or duration is in ticks: writers that leave the annotation out mean ticks too.
pub(super) fn is_ticks(meaning: Meaning) -> bool {
    matches!(
        meaning,
        Meaning::TicksTime | Meaning::TicksSpan | Meaning::Plain
    )
}

/// An event of a type that no metadata describes.
pub(super) struct UnknownRecord<'a> {
    pub(super) place: Place<'a>,
    pub(super) head: Head,
}

impl Record for UnknownRecord<'_> {
    fn kind(&self) -> &str {
        "event"
    }

    fn offset(&self) -> u64 {
        self.place.offset + self.head.at as u64
    }

    fn len(&self) -> u64 {
        (self.head.end - self.head.at) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("type_id", Field::U64(self.head.type_id));
        show("body", Field::Bytes(self.place.body(&self.head).rest()));
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.place.write_head(&self.head, out);
        out.extend_from_slice(self.place.body(&self.head).rest());
    }
}

/// A metadata event.
pub(super) struct MetadataRecord<'a> {
    pub(super) place: Place<'a>,
    pub(super) head: Head,
}

impl Record for MetadataRecord<'_> {
    fn kind(&self) -> &str {
        "jdk.Metadata"
    }

    fn offset(&self) -> u64 {
        self.place.offset + self.head.at as u64
    }

    fn len(&self) -> u64 {
        (self.head.end - self.head.at) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let mut scan = self.place.body(&self.head);
        let Ok(metadata) = Metadata::read(&mut scan, self.place.limits, &mut Skip) else {
            return;
        };
        show("start_ticks", Field::I64(metadata.start.cast_signed()));
        show(
            "duration_ticks",
            Field::I64(metadata.duration.cast_signed()),
        );
        show("metadata_id", Field::U64(metadata.id));
        show("strings", Field::U64(metadata.strings.len() as u64));
        let text = |index: usize| {
            Tree::of(
                metadata
                    .strings
                    .get(index)
                    .copied()
                    .unwrap_or(super::scan::Str::Null),
            )
        };
        let elements = metadata.elements.iter().map(|element| {
            let attributes = metadata.attributes(element).iter();
            Tree::map(vec![
                (
                    Tree::Leaf(Field::Str("depth")),
                    Tree::Leaf(Field::U64(element.depth.into())),
                ),
                (Tree::Leaf(Field::Str("element")), text(element.name)),
                (
                    Tree::Leaf(Field::Str("attributes")),
                    Tree::map(
                        attributes
                            .map(|&(key, value)| (text(key), text(value)))
                            .collect(),
                    ),
                ),
            ])
        });
        let elements = Tree::list(elements.collect());
        show("elements", elements.lend());
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.place.write_head(&self.head, out);
        let mut scan = self.place.body(&self.head);
        let _ = Metadata::read(&mut scan, self.place.limits, out);
        out.extend_from_slice(scan.rest());
    }
}

/// A checkpoint event: constant pools.
pub(super) struct CheckpointRecord<'a> {
    pub(super) place: Place<'a>,
    pub(super) head: Head,
    pub(super) checkpoint: &'a Checkpoint,
}

impl<'a> CheckpointRecord<'a> {
    fn pool(&self, pool: &super::pool::Segment) -> Result<Tree<'a>, Bad> {
        let rules = self.place.rules;
        let mut scan = self.place.body(&self.head);
        scan.seek(pool.entries.start);
        let mut entries = Vec::new();
        for _ in 0..pool.count {
            let key = scan.long()?;
            let mut pairs = vec![(Tree::Leaf(Field::Str("key")), Tree::Leaf(Field::U64(key)))];
            if rules.schema.string == Some(pool.type_index) {
                let string = scan.string(rules.longest)?;
                pairs.push((Tree::Leaf(Field::Str("string")), Tree::of(string)));
            } else {
                for (name, tree) in rules.show(&mut scan, pool.type_index, 0)? {
                    pairs.push((Tree::Leaf(Field::Str(name)), tree));
                }
            }
            entries.push(Tree::map(pairs));
        }
        let schema: &'a Schema = rules.schema;
        let name = schema.get(pool.type_index).map_or("", |found| &found.name);
        Ok(Tree::map(vec![
            (Tree::Leaf(Field::Str("type")), Tree::Leaf(Field::Str(name))),
            (Tree::Leaf(Field::Str("constants")), Tree::list(entries)),
        ]))
    }
}

impl Record for CheckpointRecord<'_> {
    fn kind(&self) -> &str {
        "jdk.CheckPoint"
    }

    fn offset(&self) -> u64 {
        self.place.offset + self.head.at as u64
    }

    fn len(&self) -> u64 {
        (self.head.end - self.head.at) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let checkpoint = self.checkpoint;
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
                Piece::Pool(pool) => pieces.extend(self.pool(pool)),
                Piece::Hole(range, _) => {
                    let lost = self.place.body(&self.head).between(range.start, range.end);
                    pieces.push(Tree::map(vec![(
                        Tree::Leaf(Field::Str("damage")),
                        Tree::Leaf(Field::Bytes(lost)),
                    )]));
                }
            }
        }
        let pools = Tree::list(pieces);
        show("pools", pools.lend());
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.place.write_head(&self.head, out);
        let mut scan = self.place.body(&self.head);
        let _ = write_checkpoint(&self.place.rules, &mut scan, self.checkpoint, out);
    }
}

fn write_checkpoint(
    rules: &Rules<'_>,
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
            Piece::Pool(_) => segment(rules, scan, out).map(drop)?,
            Piece::Hole(range, _) => out.bytes(scan, range.len())?,
        }
    }
    Ok(())
}
