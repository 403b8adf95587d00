//! Raising a recording, and what a recording says in words: for comparing one with another whose
//! tables are numbered differently.

use traceloom_formats::{Format, RaiseOptions};
use traceloom_model::{
    Definitions, EventBatch, LinkBatch, Recording, SpanBatch, Text, Unit, Value,
};

/// Writes a recording as one file of `format`.
///
/// # Panics
/// When it cannot be written.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn raise(format: &'static Format, recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    let raise = format.raise.expect("a format that raises");
    let mut target = raise(&RaiseOptions::default(), &mut bytes).expect("options");
    target.begin(recording.order, recording.clock);
    let _ = target.define(definitions(recording));
    if !recording.links.is_empty() {
        let _ = target.links(LinkBatch {
            links: recording.links.clone(),
        });
    }
    let mut spans = SpanBatch::default();
    spans.append(recording.spans.clone());
    if !spans.is_empty() {
        let _ = target.spans(spans);
    }
    for batch in &recording.samples {
        let _ = target.samples(batch.clone());
    }
    if !recording.events.is_empty() {
        let mut events = EventBatch::default();
        events.append(recording.events.clone());
        let _ = target.events(events);
    }
    if !recording.counters.time.is_empty() {
        let _ = target.counters(recording.counters.clone());
    }
    target.finish().expect("memory");
    drop(target);
    bytes
}

fn definitions(recording: &Recording) -> Definitions {
    macro_rules! rows {
        ($($table:ident $id:ident)*) => {
            Definitions { $($table: recording.$table.iter().enumerate().filter_map(|(index, row)| {
                let id = traceloom_model::$id::new(u32::try_from(index).unwrap());
                Some((id, row.clone()?))
            }).collect(),)* }
        };
    }
    rows! {
        strings StringId resources ResourceId tracks TrackId classes ClassId functions FunctionId
        mappings MappingId frames FrameId stacks StackId value_types ValueTypeId
        profiles ProfileId event_types EventTypeId series SeriesId exceptions ExceptionId
        attribute_keys AttrKeyId
    }
}

/// What a recording says about its profiles and samples, line by line.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn words(recording: &Recording) -> Vec<String> {
    let text = |id| {
        recording
            .string(id)
            .map_or_else(|| "?".into(), |text: &Text| format!("{text:?}"))
    };
    let unit = |unit| match unit {
        Unit::Other(id) => text(id),
        known => format!("{known:?}"),
    };
    let column = |id| {
        let row = recording.value_type(id).expect("a column");
        format!("{} in {}", text(row.name), unit(row.unit))
    };
    let mut lines = Vec::new();
    for profile in recording.profiles.iter().flatten() {
        lines.push(format!(
            "profile of {:?} default {:?} period {:?} time {:?} for {:?} comments {:?} drop {:?} keep {:?} doc {:?}",
            profile.value_types.iter().map(|&id| column(id)).collect::<Vec<_>>(),
            profile.default.map(column),
            profile.period.map(|(id, amount)| (column(id), amount)),
            profile.time,
            profile.duration,
            profile.comments.iter().map(|&id| text(id)).collect::<Vec<_>>(),
            profile.drop_frames.map(text),
            profile.keep_frames.map(text),
            profile.doc_url.map(text),
        ));
    }
    let mapping = |id| {
        let row: &traceloom_model::Mapping = recording.mapping(id).expect("a mapping");
        format!(
            "{:x}-{:x}+{:x} {:?} {:?}",
            row.start,
            row.limit,
            row.offset,
            row.file.map(text),
            row.build_id.map(text)
        )
    };
    lines.extend(
        recording
            .mappings
            .iter()
            .flatten()
            .map(|row| format!("{:x} {:?}", row.start, row.file.map(text))),
    );
    let function = |id| {
        let row: &traceloom_model::Function = recording.function(id).expect("a function");
        format!(
            "{} {:?} {:?}:{}",
            text(row.name),
            row.system_name.map(text),
            row.file.map(text),
            row.line
        )
    };
    for sample in recording.samples.iter().flat_map(|batch| batch.iter()) {
        let mut line = format!("{:?} {:?}", sample.values, sample.time);
        for frame in crate::top::frames(recording, sample.stack) {
            let row = recording.frame(frame).expect("a frame");
            line += &format!(
                "\n  {:?} :{}:{} @{:?} {:?} {} {:?}",
                row.function.map(function),
                row.line,
                row.column,
                row.address,
                row.mapping.map(mapping),
                row.inlined,
                row.kind
            );
        }
        for label in sample.labels {
            let key = recording.attribute_key(label.key).expect("a key");
            let value = match &label.value {
                Value::Text(id) => text(*id),
                other => format!("{other:?}"),
            };
            line += &format!("\n  {} = {value} {}", text(key.name), unit(key.unit));
        }
        if let Some(track) = sample.track.and_then(|id| recording.track(id)) {
            line += &format!(
                "\n  on {:?} {:?} {:?}",
                track.name.map(text),
                track.id,
                track.os_id
            );
        }
        lines.push(line);
    }
    lines
}
