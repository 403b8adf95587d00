//! A profile's facts to the model and back: resource, profile, samples.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use traceloom_model::{
    Attribute, AttributeKey, ElementType, Profile as ModelProfile, ProfileId, Recording, Resource,
    ResourceId, SampleBatch, SampleRow, Stack, StackId, Tables, Timestamp, Unit, Value, ValueType,
};

use super::EventKind;
use super::profile::{EXTRA, Profile};
use super::quantity::model_unit;
use super::sample::{Sample, SampleValue, TraceFunc};
use super::span_link::SpanLink;

/// Attribute names of what a resource has no column for.
const TEXTS: [&str; 5] = [
    "profile_id",
    "agent_ver",
    "endpoint",
    "format",
    "language_ver",
];

fn text_attribute(tables: &mut Tables, key: &str, value: &str) -> Attribute {
    let key = tables.attribute_named(key);
    Attribute::new(key, Value::Text(tables.string(value)))
}

/// Builds the resource of a profile.
pub(crate) fn resource(profile: &Profile, tables: &mut Tables) -> Resource {
    let mut attributes = Vec::new();
    let texts = [
        &profile.profile_id,
        &profile.agent_ver,
        &profile.endpoint,
        &profile.format,
        &profile.language_ver,
    ];
    for (key, value) in TEXTS.into_iter().zip(texts) {
        if !value.is_empty() {
            attributes.push(text_attribute(tables, key, value));
        }
    }
    for (key, value) in &profile.extra {
        attributes.push(text_attribute(tables, key, value));
    }
    let pid = profile.pid.parse().ok();
    let spelled = pid.map(|pid: u64| pid.to_string());
    if !profile.pid.is_empty() && spelled.as_ref() != Some(&profile.pid) {
        attributes.push(text_attribute(tables, "pid", &profile.pid));
    }
    if let Some(size) = profile.file_size {
        attributes.push(Attribute::new(
            tables.attribute_named("__file_size"),
            Value::I64(size),
        ));
    }
    if !profile.oss_path.is_empty() {
        let paths = profile
            .oss_path
            .iter()
            .map(|path| Value::Text(tables.string(path)))
            .collect();
        let list = Value::List(ElementType::Text, paths);
        attributes.push(Attribute::new(tables.attribute_named("oss_path"), list));
    }
    if !profile.metrics.is_empty() {
        let mut entry = |(key, value): (&String, &String)| {
            (
                Value::Text(tables.string(key)),
                Value::Text(tables.string(value)),
            )
        };
        let map = Value::Map(profile.metrics.iter().map(&mut entry).collect());
        attributes.push(Attribute::new(tables.attribute_named("metrics"), map));
    }
    for (key, value) in &profile.tags {
        let key = AttributeKey {
            index: true,
            ..AttributeKey::named(tables.string(key))
        };
        let value = Value::Text(tables.string(value));
        attributes.push(Attribute::new(tables.attribute_key(key), value));
    }
    let mut known = |text: &str| (!text.is_empty()).then(|| tables.string(text));
    Resource {
        service: known(&profile.service),
        host: known(&profile.host),
        language: known(&profile.language),
        runtime: known(&profile.runtime),
        os: known(&profile.runtime_os),
        arch: known(&profile.runtime_arch),
        version: known(&profile.version),
        env: known(&profile.env),
        pid: pid.filter(|_| spelled.as_ref() == Some(&profile.pid)),
        attributes,
        ..Resource::default()
    }
}

/// Settings that hold the times of the upload: a file of it may cover less, or say nothing.
pub(crate) fn settings(profile: &Profile, tables: &mut Tables) -> Vec<Attribute> {
    let mut settings = Vec::new();
    let times = [profile.start, profile.end, profile.duration];
    for (name, time) in TIMES.into_iter().zip(times) {
        let value = match profile.unsaid.contains(name) {
            true => Value::Null,
            false => Value::I64(time),
        };
        settings.push(Attribute::new(tables.attribute_named(name), value));
    }
    if profile.unsaid.contains(TIME) {
        settings.push(Attribute::new(tables.attribute_named(TIME), Value::Null));
    }
    settings
}

const TIMES: [&str; 3] = ["start", "end", "duration"];

/// The time of the point itself.
const TIME: &str = "time";

/// Lowers an index point: a profile for each event type of its samples, or one without, of the resource `of`, or
/// of one of its own.
pub(crate) fn lower_profile(
    profile: &Profile,
    of: Option<ResourceId>,
    tables: &mut Tables,
) -> (ResourceId, Vec<SampleBatch>) {
    let resource = of.unwrap_or_else(|| {
        let row = resource(profile, tables);
        tables.resource(row)
    });
    let said = |name| !profile.unsaid.contains(name);
    let settings = settings(profile, tables);
    let base = ModelProfile {
        resource: Some(resource),
        time: (said("start") || said(TIME)).then_some(profile.start),
        duration: said("duration").then_some(profile.duration),
        settings,
        ..ModelProfile::default()
    };
    if profile.samples.is_empty() {
        tables.profile(base);
        return (resource, Vec::new());
    }
    let mut batches = Vec::new();
    for (event, samples) in &profile.samples {
        let mut row = base.clone();
        row.settings
            .push(text_attribute(tables, "event_type", event));
        batches.push(event_samples(row, samples, tables));
    }
    (resource, batches)
}

fn event_samples(mut row: ModelProfile, samples: &[Sample], tables: &mut Tables) -> SampleBatch {
    let mut columns: Vec<(&str, &str, i64)> = Vec::new();
    for value in samples.iter().flat_map(|sample| &sample.values) {
        if !columns
            .iter()
            .any(|(kind, unit, _)| *kind == value.kind && *unit == value.unit)
        {
            let (unit, factor) = model_unit(&value.unit, tables);
            let kind = ValueType::sum(tables.string(&value.kind), unit);
            row.value_types.push(tables.value_type(kind));
            columns.push((&value.kind, &value.unit, factor));
        }
    }
    row.default = row.value_types.first().copied();
    let width = columns.len();
    let profile: ProfileId = tables.profile(row);
    let mut batch = SampleBatch::new(profile, width);
    for sample in samples {
        let mut values = vec![0_i64; width];
        for value in &sample.values {
            let place = columns.iter().zip(&mut values);
            for ((kind, unit, factor), slot) in place {
                if *kind == value.kind && *unit == value.unit {
                    *slot = slot.saturating_add(value.value.saturating_mul(*factor));
                }
            }
        }
        let mut labels = Vec::new();
        for (key, value) in [
            ("span id", &sample.span_id),
            ("local root span id", &sample.root_span_id),
            ("trace endpoint", &sample.trace_endpoint),
        ] {
            if !value.is_empty() {
                labels.push(text_attribute(tables, key, value));
            }
        }
        for (key, value) in &sample.labels {
            labels.push(text_attribute(tables, key, value));
        }
        batch.push(&SampleRow {
            stack: stack(&sample.stack_trace, tables),
            values: &values,
            time: None,
            track: None,
            span: None,
            labels: &labels,
        });
    }
    batch
}

fn stack(frames: &[TraceFunc], tables: &mut Tables) -> Option<StackId> {
    let mut parent = None;
    for frame in frames.iter().rev() {
        let file = (!frame.file.is_empty()).then(|| tables.string(&frame.file));
        let name = tables.string(&frame.name);
        let function = tables.function(traceloom_model::Function {
            file,
            ..traceloom_model::Function::named(name)
        });
        let frame = tables.frame(traceloom_model::Frame {
            function: Some(function),
            line: u32::try_from(frame.line).unwrap_or(0),
            ..traceloom_model::Frame::default()
        });
        parent = Some(tables.stack(Stack {
            parent,
            frame,
            truncated: false,
        }));
    }
    parent
}

/// Builds the Datakit profiles of a recording: one for each resource that profiles belong to, or one in
/// all. `with_samples` says whether their samples are filled in.
#[must_use]
pub fn profiles(recording: &Recording, with_samples: bool) -> Vec<Profile> {
    let grouped = grouped(recording, with_samples);
    grouped.into_iter().map(|group| group.profile).collect()
}

/// A profile, and what of the recording it is made of.
pub(crate) struct GroupedProfile {
    pub(crate) profile: Profile,
    /// Its resource, where there is one.
    pub(super) owner: Option<usize>,
    /// Its model profiles.
    pub(crate) rows: Vec<usize>,
}

pub(crate) fn grouped(recording: &Recording, with_samples: bool) -> Vec<GroupedProfile> {
    let mut groups: BTreeMap<(Option<usize>, usize), Vec<usize>> = BTreeMap::new();
    let only = (recording.resources.len() == 1).then_some(0);
    let mut without_owner = UnownedProfiles::default();
    for (at, row) in recording.profiles.iter().enumerate() {
        let Some(row) = row else { continue };
        let owner = row.resource.map(ResourceId::index).or(only);
        let number = match owner {
            Some(_) => 0,
            None => without_owner.number(recording, row),
        };
        groups.entry((owner, number)).or_default().push(at);
    }
    let build = |((owner, _), rows): ((Option<usize>, usize), Vec<usize>)| {
        let at = owner.or_else(|| recording.resources.iter().position(Option::is_some));
        let owner = at.and_then(|at| recording.resources.get(at)?.as_ref());
        let mut profile = owner.map(|row| facts(recording, row)).unwrap_or_default();
        span(recording, &rows, &mut profile);
        if with_samples {
            let language = super::Language::resolve(&profile.language)
                .or_else(|| super::Language::of_recording(recording));
            profile.samples = samples(recording, &rows, language);
        }
        GroupedProfile {
            profile,
            owner: at,
            rows,
        }
    };
    groups.into_iter().map(build).collect()
}

/// Profiles that nobody owns: those of the same time that follow each other and have other values go into one.
#[derive(Default)]
struct UnownedProfiles<'r> {
    number: usize,
    is_any_met: bool,
    time: Option<Timestamp>,
    /// The names of the values so far.
    names: HashSet<Cow<'r, str>>,
}

impl<'r> UnownedProfiles<'r> {
    /// Returns the number of the one that the next profile goes into.
    fn number(&mut self, recording: &'r Recording, row: &ModelProfile) -> usize {
        let types = row.value_types.iter();
        let types = types.filter_map(|&id| recording.value_type(id));
        let own: Vec<_> = types.map(|row| recording.text(row.name)).collect();
        let is_other = self.time != row.time || own.iter().any(|name| self.names.contains(name));
        if self.is_any_met && is_other {
            self.number += 1;
            self.names.clear();
        }
        self.is_any_met = true;
        self.time = row.time;
        self.names.extend(own);
        self.number
    }
}

/// Returns the value of a profile's setting.
pub(crate) fn setting<'r>(
    recording: &'r Recording,
    row: &'r ModelProfile,
    name: &str,
) -> Option<&'r Value> {
    let found = row
        .settings
        .iter()
        .find(|attribute| key_is(recording, attribute, name));
    Some(&found?.value)
}

fn key_is(recording: &Recording, attribute: &Attribute, name: &str) -> bool {
    let key = recording.attribute_key(attribute.key);
    key.is_some_and(|key| recording.text(key.name) == name)
}

/// Fills start, end and duration: as the upload says, else from the first start to the last end of its
/// model profiles.
fn span(recording: &Recording, rows: &[usize], profile: &mut Profile) {
    let rows = || {
        rows.iter()
            .filter_map(|&at| recording.profiles.get(at)?.as_ref())
    };
    let told = |name| rows().find_map(|row| setting(recording, row, name));
    let [start, end, duration] = TIMES.map(|name| match told(name) {
        Some(Value::I64(time)) => Some(*time),
        _ => None,
    });
    let all = TIMES.into_iter().chain([TIME]);
    let unsaid = all.filter(|name| told(name) == Some(&Value::Null));
    profile.unsaid = unsaid.collect();
    if !profile.unsaid.is_empty() {
        let first = rows().find_map(|row| row.time);
        profile.start = start.or(first).unwrap_or(0);
        profile.duration = duration.unwrap_or(0);
        profile.end = end.unwrap_or(profile.start.saturating_add(profile.duration));
        return;
    }
    let known = start
        .zip(end)
        .filter(|&(start, end)| start != 0 || end != 0);
    if let (Some((start, end)), Some(duration)) = (known, duration) {
        (profile.start, profile.end, profile.duration) = (start, end, duration);
        return;
    }
    profile.start = rows().filter_map(|row| row.time).min().unwrap_or(0);
    let last = rows().filter_map(|row| Some(row.time?.saturating_add(row.duration?)));
    profile.end = last.max().unwrap_or(profile.start);
    profile.duration = rows().filter_map(|row| row.duration).max().unwrap_or(0);
    if rows().all(|row| row.time.is_none()) {
        profile.unsaid.extend(["start", "end", TIME]);
    }
    if rows().all(|row| row.duration.is_none()) {
        profile.unsaid.insert("duration");
    }
}

fn facts(recording: &Recording, row: &Resource) -> Profile {
    let text = |id: Option<traceloom_model::StringId>| {
        id.map(|id| recording.text(id).into_owned())
            .unwrap_or_default()
    };
    let mut profile = Profile {
        service: text(row.service),
        host: text(row.host),
        language: text(row.language),
        runtime: text(row.runtime),
        runtime_os: text(row.os),
        runtime_arch: text(row.arch),
        version: text(row.version),
        env: text(row.env),
        pid: row.pid.map(|pid| pid.to_string()).unwrap_or_default(),
        ..Profile::default()
    };
    for attribute in &row.attributes {
        let Some(key) = recording.attribute_key(attribute.key) else {
            continue;
        };
        let name = recording.text(key.name).into_owned();
        match (&attribute.value, name.as_str()) {
            (Value::I64(size), "__file_size") => profile.file_size = Some(*size),
            (Value::List(_, items), "oss_path") => {
                profile.oss_path = items.iter().map(|item| show(recording, item)).collect();
            }
            (Value::Map(entries), "metrics") => {
                let entry =
                    |(key, value): &(Value, Value)| (show(recording, key), show(recording, value));
                profile.metrics = entries.iter().map(entry).collect();
            }
            (value, _) => {
                let value = show(recording, value);
                match name.as_str() {
                    "profile_id" => profile.profile_id = value,
                    "agent_ver" => profile.agent_ver = value,
                    "endpoint" => profile.endpoint = value,
                    "format" => profile.format = value,
                    "language_ver" => profile.language_ver = value,
                    "pid" => profile.pid = value,
                    extra if EXTRA.contains(&extra) => {
                        profile.extra.insert(name, value);
                    }
                    // What a producer says of its process, such as its arguments, is no tag.
                    _ if key.index => {
                        profile.tags.insert(name, value);
                    }
                    _ => {
                        profile.extra.insert(name, value);
                    }
                }
            }
        }
    }
    profile
}

/// Shows a value as text; numbers in decimal.
pub(crate) fn show(recording: &Recording, value: &Value) -> String {
    match value {
        Value::Null | Value::Exception(_) => String::new(),
        Value::I64(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Text(id) => recording.text(*id).into_owned(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::List(_, items) => {
            let items: Vec<String> = items.iter().map(|item| show(recording, item)).collect();
            items.join(",")
        }
        Value::Map(entries) => {
            let entry = |(key, value): &(Value, Value)| {
                format!("{}:{}", show(recording, key), show(recording, value))
            };
            entries.iter().map(entry).collect::<Vec<_>>().join(",")
        }
    }
}

fn samples(
    recording: &Recording,
    rows: &[usize],
    language: Option<super::Language>,
) -> BTreeMap<String, Vec<Sample>> {
    let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    for batch in recording
        .samples
        .iter()
        .filter(|batch| rows.contains(&batch.profile.index()))
    {
        let Some(row) = recording.profile(batch.profile) else {
            continue;
        };
        let event = setting(recording, row, "event_type").map(|value| show(recording, value));
        let columns: Vec<(String, &'static str)> = row
            .value_types
            .iter()
            .map(|&id| match recording.value_type(id) {
                Some(kind) => (recording.text(kind.name).into_owned(), unit_name(kind.unit)),
                None => (format!("#{}", id.raw()), "count"),
            })
            .collect();
        // Values that Datakit has no event type for go by their own names.
        let event_of = |(&id, (name, _)): (&traceloom_model::ValueTypeId, &(String, _))| {
            let row = recording.value_type(id);
            let kind = row.and_then(|row| EventKind::of_column(recording, language, "", row));
            kind.map_or_else(|| name.clone(), |kind| kind.name.to_owned())
        };
        let events: Vec<String> = row.value_types.iter().zip(&columns).map(event_of).collect();
        for sample in batch.iter() {
            let value = |((kind, unit), &value): (&(String, &'static str), &i64)| SampleValue {
                kind: kind.clone(),
                value,
                unit: (*unit).to_owned(),
            };
            let values: Vec<SampleValue> = columns.iter().zip(sample.values).map(value).collect();
            let plain = plain_sample(recording, &sample);
            match &event {
                Some(event) => {
                    samples
                        .entry(event.clone())
                        .or_default()
                        .push(Sample { values, ..plain });
                }
                None => {
                    for (value, event) in values.into_iter().zip(&events) {
                        if value.value == 0 {
                            continue;
                        }
                        let entry = samples.entry(event.clone()).or_default();
                        entry.push(Sample {
                            values: vec![value],
                            ..plain.clone()
                        });
                    }
                }
            }
        }
    }
    samples
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Percent => "percent",
        _ => "count",
    }
}

fn plain_sample(recording: &Recording, sample: &SampleRow<'_>) -> Sample {
    let link = SpanLink::of(recording, sample.labels);
    let mut labels = BTreeMap::new();
    for label in sample.labels {
        let Some(key) = recording.attribute_key(label.key) else {
            continue;
        };
        let name = recording.text(key.name).into_owned();
        if !SpanLink::is_key(&name) {
            labels.insert(name, show(recording, &label.value));
        }
    }
    Sample {
        values: Vec::new(),
        span_id: link.span_id,
        root_span_id: link.root_span_id,
        trace_endpoint: link.trace_endpoint,
        labels,
        stack_trace: frames(recording, sample.stack),
    }
}

fn frames(recording: &Recording, mut stack: Option<StackId>) -> Vec<TraceFunc> {
    let mut frames = Vec::new();
    // A chain longer than the table would be a cycle.
    while let Some(row) = stack.and_then(|id| recording.stack(id)) {
        if frames.len() > recording.stacks.len() {
            break;
        }
        stack = row.parent;
        let Some(frame) = recording.frame(row.frame) else {
            continue;
        };
        let function = frame.function.and_then(|id| recording.function(id));
        frames.push(TraceFunc {
            name: frame.function.map_or_else(
                || {
                    frame
                        .address
                        .map(|at| format!("{at:#x}"))
                        .unwrap_or_default()
                },
                |id| recording.function_name(id).into_owned(),
            ),
            file: function
                .and_then(|function| function.file)
                .map(|file| recording.text(file).into_owned())
                .unwrap_or_default(),
            line: i64::from(frame.line),
        });
    }
    frames
}
