//! Processed traces and stores: facts of records, and the index's rows of marked ones (SPEC.md §4).

use traceloom_model::{
    Attribute, SpanContext, SpanRow, SpanStatus, Track, TrackId, Value as ModelValue,
};

use super::cbor::CborValue;
use super::lower::Lowering;
use super::record::{Record, ValueRun};

impl Lowering<'_, '_> {
    /// Takes a fact of a processed trace (SPEC.md §4.1).
    pub(super) fn fact(&mut self, key: i64, value: CborValue<'_>) {
        let Some(int) = value.int() else { return };
        let method = if key == 14 { self.function(int) } else { None };
        if matches!(key, 12 | 13) {
            self.seen(int);
        }
        let id = self.trace.id;
        let Some(top) = self.trace.open.last_mut() else {
            return;
        };
        match key {
            12 => {
                top.raw = int;
                top.timed = true;
            }
            14 => top.method = method,
            _ => {}
        }
        if matches!(key, 5 | 9 | 11 | 13 | 17 | 18)
            && let Some(details) = self.trace.details()
        {
            let (ending, mark) = (&mut details.ending, &mut details.mark);
            match key {
                5 => {
                    let mark = mark.get_or_insert_default();
                    mark.clock_ms = int;
                    mark.trace = id;
                }
                9 => ending.calls = Some(int.cast_unsigned()),
                11 => ending.flags = Some(int),
                13 => ending.stop = Some(int),
                17 => mark.get_or_insert_default().parent = int.cast_unsigned(),
                _ => mark.get_or_insert_default().span = int.cast_unsigned(),
            }
        }
        let top = self.trace.open.last();
        let is_tied = top.is_some_and(|top| top.timed && top.mark().is_some());
        if is_tied && matches!(key, 5 | 12) {
            self.rebase();
        }
    }

    /// Lowers chunk metadata: what a store's index says of one marked record.
    pub(super) fn chunk(&mut self, values: &ValueRun<'_>, record: &Record<'_>) {
        // Its row is none of the open call, whose rows wait for steps.
        if self.trace.steps.are_beside_rows() {
            self.trace.steps.leave();
        }
        let all: Vec<CborValue<'_>> = values.iter().collect();
        let int = |at: usize| all.get(at).and_then(|value| value.int()).unwrap_or(0);
        let trace = u128::from(int(0).cast_unsigned()) << 64 | u128::from(int(1).cast_unsigned());
        let mut attributes = Vec::new();
        for at in [17, 18] {
            let Some(CborValue::Raw(raw)) = all.get(at) else {
                continue;
            };
            let parts = ValueRun::elements(raw);
            for pair in parts.chunks_exact(2) {
                let &[key, value] = pair else { continue };
                // A number's type stands in bits 30 and 31 of its key (SPEC.md §4.1).
                let id = key.symbol().unwrap_or(0);
                let (id, kind) = if at == 18 {
                    (id & 0x3fff_ffff, id >> 30)
                } else {
                    (id, 4)
                };
                let tables = &mut self.shared.tables;
                let key = self.session.key(self.union, id, tables);
                let number = value.int().unwrap_or(0);
                let value = match kind {
                    0 => ModelValue::I64(number),
                    1 => ModelValue::F64(f64::from_bits(number.cast_unsigned())),
                    2 => ModelValue::Bool(number != 0),
                    3 => ModelValue::Null,
                    _ => {
                        let id = number.cast_unsigned();
                        ModelValue::Text(self.session.string(self.union, id, tables))
                    }
                };
                attributes.push(Attribute::new(key, value));
            }
        }
        let track: TrackId = self.shared.tables.new_track(Track {
            resource: self.resource,
            ..Track::default()
        });
        let flags = int(5);
        let row = SpanRow {
            id: self.shared.tables.reserve_span(),
            parent: None,
            depth: 0,
            track,
            function: None,
            kind: None,
            start: int(6),
            end: int(6).saturating_add(int(7).max(0)),
            status: if flags & 8 != 0 || int(13) > 0 {
                SpanStatus::Error
            } else {
                SpanStatus::Complete
            },
            entry: true,
            counters: &[(self.shared.calls(), int(12))],
            attributes: &attributes,
            exception: None,
            context: Some(SpanContext {
                trace,
                span: int(3).cast_unsigned(),
                parent: int(2).cast_unsigned(),
            }),
            origin: Some(self.place.origin(record.offset, 0)),
        };
        self.shared.push(&row);
    }
}
