use traceloom_model::{
    AttrKeyId, Attribute, Clock, Definitions, Frame, FrameId, Function, FunctionId, Level, Note,
    Order, Profile, ProfileId, Recording, SampleBatch, SampleRow, Sink as _, SpanBatch, Stack,
    StackId, StringId, Text, Track, TrackId, Unit, Value, ValueType, ValueTypeId,
};

use super::*;
use crate::captures::{CaptureId, ContentHash, DataFolder};

fn parts() -> Vec<String> {
    vec!["1-7/cpu.jfr".to_owned()]
}

fn definitions() -> Definitions {
    let string = StringId::new;
    let texts = ["work", "samples", "worker", "an event's text"];
    let file = Function {
        file: Some(string(2)),
        line: 7,
        ..Function::named(string(0))
    };
    Definitions {
        strings: (0..)
            .zip(texts)
            .map(|(id, text)| (string(id), Text::from(text)))
            .collect(),
        tracks: vec![(TrackId::new(1), Track::thread(string(2)))],
        functions: vec![(FunctionId::new(0), file)],
        frames: vec![(FrameId::new(0), Frame::of(FunctionId::new(0)))],
        stacks: vec![(StackId::new(0), Stack::under(None, FrameId::new(0)))],
        value_types: vec![(ValueTypeId::new(0), ValueType::sum(string(1), Unit::Count))],
        profiles: vec![(
            ProfileId::new(0),
            Profile {
                value_types: vec![ValueTypeId::new(0)],
                duration: Some(12),
                ..Profile::default()
            },
        )],
        ..Definitions::default()
    }
}

fn samples(labels: &[Attribute]) -> SampleBatch {
    let mut batch = SampleBatch::new(ProfileId::new(0), 1);
    for (time, value) in [(Some(1_000), 3), (Some(900), -1), (None, i64::MAX)] {
        batch.push(&SampleRow {
            stack: Some(StackId::new(0)),
            values: &[value],
            time,
            track: Some(TrackId::new(1)),
            span: None,
            labels,
        });
    }
    batch
}

fn folder(scratch: &tempfile::TempDir) -> DataFolder {
    DataFolder::create(&scratch.path().join("data")).unwrap()
}

/// Writes an index of what `push` pushes.
fn written(folder: &DataFolder, push: impl FnOnce(&mut RecordingProfiler<'_>)) -> ContentHash {
    let of = ContentHash::of(b"manifest");
    let mut writer = ProfileIndexWriter::new(folder, CaptureId::new(1, 7), of);
    let mut sink = writer.recording(parts());
    sink.begin(Order::Nested, Clock::Unix);
    push(&mut sink);
    sink.finish().unwrap();
    writer.finish().unwrap();
    of
}

fn read(folder: &DataFolder, of: ContentHash) -> Option<Recording> {
    let index = ProfileIndex::open(folder, CaptureId::new(1, 7), of)?;
    let names = parts();
    let recording = index.recording(names.iter().map(String::as_str))?;
    let mut whole = Recording::default();
    index.decode(recording)?.push(&mut whole);
    Some(whole)
}

#[test]
fn samples_come_back_without_labels_and_with_what_they_refer_to() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(&scratch);
    let label = Attribute::new(AttrKeyId::new(0), Value::Text(StringId::new(3)));
    let of = written(&folder, |sink| {
        let _ = sink.define(definitions());
        let _ = sink.samples(samples(&[label]));
        let _ = sink.note(Note::new(Level::Damage, "lost", 5, "lost").counting(4));
        let _ = sink.note(Note::new(Level::Info, "chosen", 5, "chosen"));
    });
    let whole = read(&folder, of).unwrap();
    assert_eq!(whole.samples, [samples(&[])]);
    let expected = Definitions {
        strings: definitions().strings[..3].to_vec(),
        ..definitions()
    };
    assert_eq!(whole.definitions(), expected);
    let notes = whole.notes.kept();
    assert_eq!(notes.len(), 1);
    assert_eq!((notes[0].level, notes[0].count), (Level::Damage, 4));
    assert!(read(&folder, ContentHash::of(b"another")).is_none());
}

#[test]
fn no_cut_and_no_flipped_bit_gives_other_samples() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(&scratch);
    let of = written(&folder, |sink| {
        let _ = sink.define(definitions());
        let _ = sink.samples(samples(&[]));
    });
    let path = folder.profile_index(CaptureId::new(1, 7));
    let bytes = std::fs::read(&path).unwrap();
    assert!(read(&folder, of).is_some());
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(read(&folder, of).is_none(), "{length}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        assert!(read(&folder, of).is_none(), "{at}");
    }
}

#[test]
fn what_an_index_cannot_hold_has_none() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder(&scratch);
    let has = |push: &dyn Fn(&mut RecordingProfiler<'_>)| {
        let of = written(&folder, |sink| {
            let _ = sink.define(definitions());
            let _ = sink.samples(samples(&[]));
            push(sink);
        });
        let is_there = folder.profile_index(CaptureId::new(1, 7)).exists();
        assert_eq!(read(&folder, of).is_some(), is_there);
        is_there
    };
    assert!(has(&|_| {}));
    assert!(!has(&|sink| {
        let _ = sink.spans(SpanBatch::default());
    }));
    assert!(!has(&|sink| {
        let label = Text::from("pprof::base");
        let _ = sink.define(Definitions {
            strings: vec![(StringId::new(9), label)],
            ..Definitions::default()
        });
    }));
    assert!(!has(&|sink| {
        let _ = sink.note(Note::new(Level::Damage, "unreadable", 0, "the disk failed"));
    }));
    assert!(!has(&|sink| {
        for _ in 0..=MOST_NOTES {
            let _ = sink.note(Note::new(Level::Warn, "odd", 0, "odd"));
        }
    }));
    assert!(!has(&|sink| sink.begin(Order::Nested, Clock::Unknown(None))));
}
