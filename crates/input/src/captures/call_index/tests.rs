use traceloom_model::{
    Asks, AttrKeyId, Attribute, AttributeKey, Batch, Clock, Definitions, ElementType, EventBatch,
    EventRow, EventType, EventTypeId, Exception, ExceptionId, Flow, Function, FunctionId, Order,
    Origin, PartId, Recording, Resource, ResourceId, Sink, SpanBatch, SpanContext, SpanId, SpanRow,
    SpanStatus, Stage, StringId, Text, Track, TrackId, TrackKind, Unit, Value, ValueType,
    ValueTypeId,
};

use super::*;
use crate::captures::{CaptureId, ContentHash, DataFolder};

fn string(id: u32) -> StringId {
    StringId::new(id)
}

/// Notes what is forgotten.
#[derive(Default)]
struct ForgottenTexts(Vec<StringId>);

impl Stage for ForgottenTexts {
    fn asks(&self) -> Asks {
        Asks::default()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        if let Batch::Forget(strings) = batch {
            self.0.extend(strings);
        }
        Flow::Continue(())
    }
}

/// Definitions of every table that an index holds, and strings `s0` to `s19`.
fn definitions() -> Definitions {
    let strings = (0..20).map(|id| (string(id), Text::from(format!("s{id}").as_str())));
    Definitions {
        strings: strings.collect(),
        resources: vec![
            (
                ResourceId::new(0),
                Resource {
                    service: Some(string(1)),
                    ..Resource::default()
                },
            ),
            (
                ResourceId::new(1),
                Resource {
                    parent: Some(ResourceId::new(0)),
                    host: Some(string(2)),
                    ..Resource::default()
                },
            ),
        ],
        tracks: vec![(
            TrackId::new(3),
            Track {
                kind: TrackKind::Lane,
                resource: Some(ResourceId::new(1)),
                name: Some(string(3)),
                id: Some(u64::MAX),
                ..Track::default()
            },
        )],
        functions: vec![(FunctionId::new(9), Function::named(string(4)))],
        value_types: vec![(
            ValueTypeId::new(0),
            ValueType::sum(string(5), Unit::Other(string(6))),
        )],
        exceptions: vec![(
            ExceptionId::new(2),
            Exception {
                class: Some(string(7)),
                message: Some(string(8)),
                stack: None,
                cause: None,
            },
        )],
        attribute_keys: vec![(AttrKeyId::new(1), AttributeKey::named(string(9)))],
        event_types: vec![(
            EventTypeId::new(0),
            EventType {
                name: string(10),
                label: None,
                fields: Vec::new(),
            },
        )],
        ..Definitions::default()
    }
}

fn values() -> Vec<Attribute> {
    let list = [Value::Text(string(11)), Value::Bool(true), Value::F64(-0.0)];
    let map = [(Value::Text(string(12)), Value::Bytes([0, 255].into()))];
    [
        Value::Null,
        Value::I64(i64::MIN),
        Value::U64(u64::MAX),
        Value::F64(f64::NAN),
        Value::List(ElementType::Any, list.into()),
        Value::Map(map.into()),
        Value::Exception(ExceptionId::new(2)),
    ]
    .map(|value| Attribute::new(AttrKeyId::new(1), value))
    .into()
}

fn row(number: u64, attributes: &[Attribute]) -> SpanRow<'_> {
    let start = i64::MAX - number.cast_signed() * 3;
    SpanRow {
        parent: (number % 3 == 1).then_some(SpanId(number * 2)),
        kind: number.is_multiple_of(2).then(|| string(13)),
        status: [
            SpanStatus::Complete,
            SpanStatus::PartialEnd,
            SpanStatus::Error,
        ][number as usize % 3],
        counters: const { &[(ValueTypeId::new(0), -7)] },
        attributes,
        exception: Some(ExceptionId::new(2)),
        context: Some(SpanContext {
            trace: u128::MAX - 5,
            span: 6,
            parent: 7,
        }),
        origin: Some(Origin {
            part: PartId(1),
            offset: number << 33,
            index: 4,
        }),
        ..SpanRow::call(
            SpanId(number),
            TrackId::new(3),
            FunctionId::new(9),
            start,
            i64::MAX,
        )
    }
}

/// Writes an index of some calls, with a track that is named again after half of them.
fn written(folder: &DataFolder, n: u64) -> (CaptureId, ContentHash) {
    let (id, manifest) = (CaptureId::new(1, 7), ContentHash::of(b"manifest"));
    let mut writer = CallIndexWriter::new(folder, id, manifest).unwrap();
    let part = |part: PartId| part.0.checked_add(10);
    let mut sink = writer.recording(part, false, |name| name == "s10");
    sink.begin(Order::Finish, Clock::Unix);
    let _ = sink.define(definitions());
    let mut events = EventBatch::default();
    events.push(&EventRow::of_process(EventTypeId::new(0), 5, Some(9)));
    events.push(&EventRow::of_process(EventTypeId::new(0), 9, None));
    let _ = sink.events(events);
    let attributes = values();
    for half in [0..n / 2, n / 2..n] {
        let mut batch = SpanBatch::default();
        half.for_each(|number| batch.push(&row(number, &attributes)));
        assert!(sink.spans(batch).is_continue());
        // The texts of values are gone from the reader's tables before the next rows.
        sink.forget(&[string(11), string(12)]);
        let _ = sink.define(Definitions {
            strings: [3, 11, 12]
                .map(|id| (string(id), Text::from(format!("s{id}").as_str())))
                .into(),
            tracks: vec![(TrackId::new(3), Track::thread(string(14)))],
            ..Definitions::default()
        });
    }
    sink.finish().unwrap();
    writer.finish().unwrap();
    (id, manifest)
}

#[test]
fn rows_are_read_as_they_were_written() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
    let (id, manifest) = written(&folder, 5000);
    let index = CallIndex::open(&folder, id, manifest).unwrap();
    let [recording] = index.recordings() else {
        panic!("one recording");
    };
    assert_eq!(
        (recording.clock, recording.order),
        (Clock::Unix, Order::Finish)
    );
    let mut whole = Recording::default();
    let mut calls = index.reader(recording);
    let _ = calls.begin(&mut whole);
    assert_eq!(
        (&whole.events.time[..], &whole.events.end[..]),
        (&[5][..], &[Some(9)][..])
    );
    let first = whole.events.event_type[0];
    assert_eq!(whole.text(whole.event_type(first).unwrap().name), "s10");
    for chunk in &recording.chunks {
        let before = whole.spans.len();
        let _ = calls.chunk(chunk, &mut whole).unwrap();
        let rows = before..whole.spans.len();
        assert_eq!(rows.len(), chunk.n_calls as usize);
        // Chosen by what was known of it then: the name before it was named again.
        let is_first = before < 2500;
        let name = whole.track(TrackId::new(3)).and_then(|track| track.name);
        assert_eq!(name, Some(string(if is_first { 3 } else { 14 })));
        let starts: Vec<i64> = rows
            .clone()
            .filter_map(|row| Some(whole.spans.row(row)?.start))
            .collect();
        assert_eq!(Some(chunk.starts.0), starts.iter().min().copied());
        assert_eq!(Some(chunk.starts.1), starts.iter().max().copied());
    }
    let _ = calls.end(&mut whole);
    assert_eq!(whole.spans.len(), 5000);
    let attributes = values();
    for (number, read) in (0..).zip(whole.spans.iter()) {
        let expected = row(number, &attributes);
        let origin = expected.origin.map(|origin| Origin {
            part: PartId(11),
            ..origin
        });
        assert_eq!(read, SpanRow { origin, ..expected });
    }
    for (id, text) in [
        (4, "s4"),
        (9, "s9"),
        (8, "s8"),
        (14, "s14"),
        (1, "s1"),
        (2, "s2"),
        (6, "s6"),
    ] {
        assert_eq!(whole.text(string(id)), text);
    }
    // Only texts of values are forgotten.
    let mut forgotten = ForgottenTexts::default();
    let _ = index
        .reader(recording)
        .chunk(&recording.chunks[0], &mut forgotten)
        .unwrap();
    forgotten.0.sort_unstable();
    assert_eq!(forgotten.0, [string(11), string(12)]);
    let last = whole.track(TrackId::new(3)).and_then(|track| track.name);
    assert_eq!(last, Some(string(14)));
    let n_calls: u32 = recording.chunks.iter().map(|chunk| chunk.n_calls).sum();
    let n_async: u32 = recording.chunks.iter().map(|chunk| chunk.n_async).sum();
    assert_eq!((n_calls, n_async), (5000, 2500));
}

#[test]
fn no_cut_and_no_flipped_bit_gives_other_rows() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
    let (id, manifest) = written(&folder, 40);
    let path = folder.call_index(id);
    let bytes = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| -> Option<Recording> {
        std::fs::write(&path, bytes).unwrap();
        let index = CallIndex::open(&folder, id, manifest)?;
        let mut whole = Recording::default();
        for recording in index.recordings() {
            let mut calls = index.reader(recording);
            let _ = calls.begin(&mut whole);
            for chunk in &recording.chunks {
                let _ = calls.chunk(chunk, &mut whole).ok()?;
            }
            let _ = calls.end(&mut whole);
        }
        Some(whole)
    };
    assert_eq!(read(&bytes).map(|whole| whole.spans.len()), Some(40));
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_none(), "{length}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(read(&damaged).is_none(), "{at}");
    }
    assert!(CallIndex::open(&folder, id, ContentHash::of(b"another")).is_none());
}

#[test]
fn a_call_that_nothing_tells_from_others_leaves_the_index_without_calls() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
    let (id, manifest) = (CaptureId::new(1, 7), ContentHash::of(b"manifest"));
    for is_whole in [false, true] {
        let mut writer = CallIndexWriter::new(&folder, id, manifest).unwrap();
        let mut sink = writer.recording(|_| None, is_whole, |_| false);
        sink.begin(Order::Nested, Clock::Unix);
        let mut batch = SpanBatch::default();
        batch.push(&SpanRow {
            origin: None,
            ..row(1, &[])
        });
        let _ = sink.spans(batch);
        sink.finish().unwrap();
        writer.finish().unwrap();
        assert!(CallIndex::is_made(&folder, id, manifest));
        assert_eq!(CallIndex::open(&folder, id, manifest).is_some(), is_whole);
    }
}
