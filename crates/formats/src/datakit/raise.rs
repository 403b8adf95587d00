//! The model to bundles: `event.json`, and a pprof file for each profile, as Datakit's agents send them.
//!
//! Which profiles are of one upload is known when all of them are, so their samples are held in memory until then. Several uploads
//! are a folder each.

use std::collections::HashMap;

use traceloom_model::bounds::row_number;
use traceloom_model::{
    Clock, Definitions, Flow, Note, Order, Profile as ModelProfile, ProfileId, Recording,
    SampleBatch, Sink, StringId, Text, ValueTypeId,
};

use super::event_json::event_json;
use super::grouping::{file_name, is_attachment};
use crate::points::{EventKind, Facts, Language, Profile, grouped, setting, show};
use crate::{Error, Output, RaiseOptions, Target, by_name};

pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    Ok(Box::new(BundleTarget {
        facts: Facts::of(super::FORMAT.name, options.variant.as_deref())?,
        recording: Recording::default(),
        output,
    }))
}

struct BundleTarget<'o> {
    facts: Facts,
    recording: Recording,
    output: &'o mut dyn Output,
}

impl Sink for BundleTarget<'_> {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.recording.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.recording.define(definitions)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.recording.samples(batch)
    }

    fn note(&mut self, _: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for BundleTarget<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut samples: HashMap<ProfileId, Vec<SampleBatch>> = HashMap::new();
        for batch in std::mem::take(&mut self.recording.samples) {
            samples.entry(batch.profile).or_default().push(batch);
        }
        let groups = grouped(&self.recording, false);
        let n_groups = groups.len();
        for (number, group) in (1_usize..).zip(groups) {
            let folder = match n_groups {
                1 => String::new(),
                _ => format!("{number}/"),
            };
            let mut profile = group.profile;
            self.facts.fill(&mut profile);
            "pprof".clone_into(&mut profile.format);
            if self.recording.clock != Clock::Unix {
                profile.unsaid.extend(["start", "end"]);
            }
            let language = Language::resolve(&profile.language);
            let ids = group.rows.iter().copied();
            let ids = ids.filter_map(|row| u32::try_from(row).ok().map(ProfileId::new));
            let ids: Vec<ProfileId> = ids
                .filter(|&id| {
                    let row = self.recording.profile(id);
                    row.is_some_and(|row| !row.value_types.is_empty())
                })
                .collect();
            let mut files: Vec<String> = Vec::new();
            for &id in &ids {
                let Some(row) = self.recording.profile(id) else {
                    continue;
                };
                let base = base_name(&self.recording, row, language, ids.len() == 1);
                let file = unused(&base, &files);
                let definitions = definitions_of(&self.recording, id, row, language, &file);
                let batches = samples.remove(&id).unwrap_or_default();
                self.write_file(&format!("{folder}{file}"), definitions, batches)?;
                files.push(file);
            }
            self.write_event(&format!("{folder}event.json"), &profile, &files)?;
        }
        Ok(())
    }
}

impl BundleTarget<'_> {
    fn write_file(
        &mut self,
        name: &str,
        definitions: Definitions,
        samples: Vec<SampleBatch>,
    ) -> Result<(), Error> {
        let mut file = NamedFile {
            name,
            output: self.output,
        };
        let raise = by_name("pprof").and_then(|format| format.raise);
        let raise = raise.ok_or_else(|| Error::usage("pprof is not written".to_owned()))?;
        let mut writer = raise(&RaiseOptions::default(), &mut file)?;
        writer.begin(Order::None, self.recording.clock);
        // A break is the error that the end returns.
        let _ = writer.define(definitions);
        for batch in samples {
            if writer.samples(batch).is_break() {
                break;
            }
        }
        writer.finish()?;
        drop(writer);
        self.output.end(name)
    }

    fn write_event(
        &mut self,
        name: &str,
        profile: &Profile,
        files: &[String],
    ) -> Result<(), Error> {
        self.output.write(name, &event_json(profile, files))?;
        self.output.end(name)
    }
}

/// A file of the bundle as the only one that its writer knows.
struct NamedFile<'f> {
    name: &'f str,
    output: &'f mut dyn Output,
}

impl Output for NamedFile<'_> {
    fn write(&mut self, _: &str, bytes: &[u8]) -> Result<(), Error> {
        self.output.write(self.name, bytes)
    }
}

/// Returns the names of a profile's columns.
fn columns(recording: &Recording, row: &ModelProfile) -> Vec<(ValueTypeId, String)> {
    let ids = row.value_types.iter();
    let named = ids.filter_map(|&id| Some((id, recording.value_type(id)?)));
    named
        .map(|(id, row)| (id, recording.text(row.name).into_owned()))
        .collect()
}

/// Returns the name of a profile's file: the one it was read from, else what agents of its language call it, else one after its first
/// value.
fn base_name(
    recording: &Recording,
    row: &ModelProfile,
    language: Option<Language>,
    is_only: bool,
) -> String {
    if let Some(name) = setting(recording, row, "attachment") {
        let name = show(recording, name);
        let name = file_name(&name);
        let stem = name.split('.').next().unwrap_or_default();
        if is_plain(stem) && is_attachment(name) {
            return format!("{stem}.pprof");
        }
    }
    let columns = columns(recording, row);
    let names = || columns.iter().map(|(_, name)| name.as_str());
    if let Some(language) = language
        && let Some(name) = names().find_map(|name| agents_file(language, name))
    {
        return name.to_owned();
    }
    let first = names().next().filter(|name| !is_only && is_plain(name));
    format!("{}.pprof", first.unwrap_or("auto"))
}

/// Returns `true` for a name that is a file's on every system.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain)
}

/// Returns the file in which agents of a language send a value, where they have several.
fn agents_file(language: Language, value: &str) -> Option<&'static str> {
    let mut events = EventKind::of_language(language).into_iter();
    let event = events
        .find(|event| event.name == value)
        .or_else(|| EventKind::of(language, "", value, false))?;
    Some(match (language, event.name) {
        (Language::Golang, "cpu-time") => "cpu.pprof",
        (Language::Golang, "mutex") => "delta-mutex.pprof",
        (Language::Golang, "block") => "delta-block.pprof",
        (Language::Golang, "goroutines") => "goroutines.pprof",
        (Language::Golang, _) => "delta-heap.pprof",
        (Language::Nodejs, "cpu-samples") => "cpu.pprof",
        (Language::Nodejs, "heap-live-objects") => "inuse_objects.pprof",
        (Language::Nodejs, "heap-space") => "inuse_space.pprof",
        _ => return None,
    })
}

/// Returns a name that no other file has: readers take `cpu-2.pprof` for a `cpu.pprof`.
fn unused(name: &str, files: &[String]) -> String {
    let stem = name.strip_suffix(".pprof").unwrap_or(name);
    let mut numbered = (2_u64..).map(|number| format!("{stem}-{number}.pprof"));
    let is_free = |name: &String| !files.contains(name);
    let first = Some(name.to_owned()).filter(is_free);
    first.or_else(|| numbered.find(is_free)).unwrap_or_default()
}

/// Returns the tables for one profile's file, with the names of its values as agents write them.
fn definitions_of(
    recording: &Recording,
    id: ProfileId,
    profile: &ModelProfile,
    language: Option<Language>,
    file: &str,
) -> Definitions {
    let columns = columns(recording, profile);
    let is_taken = |name: &str| columns.iter().any(|(_, own)| own == name);
    // What profiles say nothing of stays away.
    let mut all = Definitions {
        resources: Vec::new(),
        profiles: vec![(id, profile.clone())],
        event_types: Vec::new(),
        series: Vec::new(),
        ..recording.definitions()
    };
    let mut next = row_number(recording.strings.len());
    for (id, name) in &columns {
        let source = language.and_then(|language| EventKind::source(language, file, name));
        let Some(source) = source.filter(|source| !is_taken(source)) else {
            continue;
        };
        if let Some((_, row)) = all.value_types.iter_mut().find(|(own, _)| own == id) {
            row.name = StringId::new(next);
            let text = Text::from_bytes(source.as_bytes().to_vec());
            all.strings.push((row.name, text));
            next = next.saturating_add(1);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LowerOptions, SliceSource};
    use std::collections::BTreeMap;
    use traceloom_model::{Frame, Function, SampleRow, Stack, Tables, Unit, ValueType};

    /// Profiles with one sample each, by the name of their value.
    fn written(variant: &str, values: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let options = RaiseOptions {
            variant: Some(variant.to_owned()),
            ..RaiseOptions::default()
        };
        let mut target = raise(&options, &mut files).unwrap();
        target.begin(Order::None, Clock::Unix);
        let mut tables = Tables::new();
        let name = tables.string("work");
        let function = Some(tables.function(Function::named(name)));
        let frame = tables.frame(Frame {
            function,
            ..Frame::default()
        });
        let stack = tables.stack(Stack {
            parent: None,
            frame,
            truncated: false,
        });
        for value in values {
            let name = tables.string(value);
            let value = tables.value_type(ValueType::sum(name, Unit::Nanoseconds));
            let profile = tables.profile(ModelProfile {
                value_types: vec![value],
                time: Some(1_000_000_000),
                duration: Some(5_000_000_000),
                ..ModelProfile::default()
            });
            assert!(target.define(tables.take_definitions()).is_continue());
            let mut batch = SampleBatch::new(profile, 1);
            batch.push(&SampleRow::at(stack, &[7]));
            assert!(target.samples(batch).is_continue());
        }
        target.finish().unwrap();
        drop(target);
        files
    }

    fn names(files: &BTreeMap<String, Vec<u8>>) -> Vec<&str> {
        files.keys().map(String::as_str).collect()
    }

    #[test]
    fn files_and_values_have_the_names_that_agents_give_them() {
        let go = written("language=go,service=shop", &["cpu-time", "mutex", "block"]);
        let expected = [
            "cpu.pprof",
            "delta-block.pprof",
            "delta-mutex.pprof",
            "event.json",
        ];
        assert_eq!(names(&go), expected);
        let value = |file: &str, name: &str| {
            let bytes = go.get(file).unwrap();
            bytes
                .windows(name.len())
                .any(|part| part == name.as_bytes())
        };
        assert!(value("cpu.pprof", "cpu") && !value("cpu.pprof", "cpu-time"));
        assert!(value("delta-mutex.pprof", "delay"));
        let event = String::from_utf8_lossy(go.get("event.json").unwrap());
        assert_eq!(
            event,
            "{\"attachments\":[\"cpu.pprof\",\"delta-mutex.pprof\",\"delta-block.pprof\"],\
             \"tags_profiler\":\"service:shop,language:golang\",\"start\":\"1970-01-01T00:00:01Z\",\
             \"end\":\"1970-01-01T00:00:06Z\",\"family\":\"golang\",\"format\":\"pprof\",\"version\":\"4\"}\n"
        );
        assert_eq!(names(&written("", &["x"])), ["auto.pprof", "event.json"]);
        assert_eq!(
            names(&written("", &["a", "../b"])),
            ["a.pprof", "auto.pprof", "event.json"]
        );
    }

    #[test]
    fn what_is_written_is_read_with_its_values() {
        let files = written("language=go", &["cpu-time", "mutex", "block"]);
        let mut source = SliceSource::default();
        for (name, bytes) in &files {
            let format = match name.as_str() {
                "event.json" => &super::super::EVENT,
                _ => by_name("pprof").unwrap(),
            };
            source = source.with(name, format, bytes);
        }
        let mut read = Recording::default();
        super::super::bundle::lower(&source, &LowerOptions::default(), &mut read).unwrap();
        assert!(read.notes.kept().is_empty(), "{:?}", read.notes);
        let names: Vec<String> = read
            .value_types
            .iter()
            .flatten()
            .map(|row| read.text(row.name).into_owned())
            .collect();
        assert_eq!(names, ["cpu-time", "mutex", "block"]);
        assert_eq!(read.samples.len(), 3);
    }
}
