//! Bundles: which parts belong together, and their lowering to one recording.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use traceloom_model::{
    Attribute, Clock, Flow, Note, Order, PartId, Profile as ModelProfile, Recording, Sink, Tables,
    Value,
};

use super::event_type::EventKind;
use super::header;
use super::http;
use super::merge::{Change, Tracks, merge};
use super::metadata::Metadata;
use super::{EVENT, INGEST, Profile, REQUEST};
use crate::gather::whole;
use crate::{
    Confidence, Error, FORMATS, Format, LowerOptions, Part, Probe, Pull, Source, damage, info, warn,
};

fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Metadata documents: `event.json`, and what [`super::members`] cuts out of a recorded request. The
/// recording itself is none: its files are not beside it.
fn is_metadata(part: &Part) -> bool {
    let cut = matches!(file_name(&part.name), "form" | "request");
    part.format.is_some_and(|format| {
        format.name == EVENT.name || cut && [REQUEST.name, INGEST.name].contains(&format.name)
    })
}

/// Names attachments go by (SPEC.md §5).
fn is_attachment(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = ["main", "auto", "prof", "metrics", "metrics.json", "profile"];
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    plain.contains(&name.as_str())
        || ["jfr", "pprof", "pb", "prof", "collapsed", "folded", "zip"].contains(&extension)
}

/// Groups the parts of each folder that holds metadata: the metadata, everything that goes by an
/// attachment's name, and what no format knows. An attachment that was an archive is a folder itself.
pub(super) fn set(parts: &[Part]) -> Vec<Vec<usize>> {
    groups(parts).filter(|group| group.len() > 1).collect()
}

fn groups(parts: &[Part]) -> impl Iterator<Item = Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        if is_metadata(part) {
            groups.entry(folder(&part.name)).or_default().push(at);
        }
    }
    for (at, part) in parts.iter().enumerate() {
        if is_metadata(part) {
            continue;
        }
        let own = folder(&part.name);
        let inside = is_attachment(file_name(own)).then(|| folder(own));
        let belongs =
            part.format.is_none() || is_attachment(file_name(&part.name)) || inside.is_some();
        let group = if groups.contains_key(own) {
            Some(own)
        } else {
            inside
        };
        if let Some(group) = group.and_then(|folder| groups.get_mut(folder))
            && belongs
        {
            group.push(at);
        }
    }
    groups.into_values()
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let _ = Bundle {
        source,
        options,
        sink,
        tables: Tables::new(),
        tracks: Tracks::default(),
    }
    .run()?;
    Ok(())
}

struct Bundle<'s> {
    source: &'s dyn Source,
    options: &'s LowerOptions,
    sink: &'s mut dyn Sink,
    tables: Tables,
    tracks: Tracks,
}

fn part_id(part: usize) -> PartId {
    PartId(u32::try_from(part).unwrap_or(u32::MAX))
}

impl Bundle<'_> {
    fn run(&mut self) -> Result<Flow, Error> {
        let (metadata, documents) = self.metadata()?;
        let (mut profile, bad_times) = metadata.profile();
        for text in bad_times {
            let note = warn("bad_time", 0, format!("`{text}` is no time"));
            if self.sink.note(note).is_break() {
                return Ok(Flow::Break(()));
            }
        }
        if profile.profile_id.is_empty()
            && let Some(id) = self
                .source
                .parts()
                .first()
                .and_then(|part| stored_id(&part.name))
        {
            id.clone_into(&mut profile.profile_id);
        }
        let names = self
            .source
            .parts()
            .iter()
            .map(|part| file_name(&part.name).to_owned());
        let names: HashSet<String> = names.collect();
        for name in metadata.attachments.iter().filter(|name| !name.is_empty()) {
            // An attachment that was an archive is known by the folder of its members.
            let unpacked = |part: &Part| file_name(folder(&part.name)) == name;
            if !names.contains(name) && !self.source.parts().iter().any(unpacked) {
                let note = damage(
                    "missing_attachment",
                    0,
                    format!("`{name}` is not in the bundle"),
                );
                if self.sink.note(note).is_break() {
                    return Ok(Flow::Break(()));
                }
            }
        }
        let resource = header::resource(&profile, &mut self.tables);
        let resource = self.tables.resource(resource);
        let mut any = false;
        for part in 0..self.source.parts().len() {
            if documents.contains(&part) {
                continue;
            }
            match self.attachment(part, &metadata, &profile, resource)? {
                ControlFlow::Continue(lowered) => any |= lowered,
                ControlFlow::Break(()) => return Ok(Flow::Break(())),
            }
        }
        if !any {
            let row = self.bare_profile(&profile, resource);
            self.tables.profile(row);
        }
        let new = self.tables.take_definitions();
        Ok(if new.is_empty() {
            Flow::Continue(())
        } else {
            self.sink.define(new)
        })
    }

    fn bare_profile(
        &mut self,
        profile: &Profile,
        resource: traceloom_model::ResourceId,
    ) -> ModelProfile {
        ModelProfile {
            time: Some(profile.start),
            duration: Some(profile.duration),
            settings: header::settings(profile, &mut self.tables),
            resource: Some(resource),
            ..ModelProfile::default()
        }
    }

    /// Reads the metadata: the older form first, then `event.json`, then queries (SPEC.md §5).
    fn metadata(&mut self) -> Result<(Metadata, Vec<usize>), Error> {
        let mut found: Vec<(u8, usize, Metadata)> = Vec::new();
        for (at, part) in self.source.parts().iter().enumerate() {
            let Some(format) = part.format.filter(|_| is_metadata(part)) else {
                continue;
            };
            let bytes = whole(self.source.open(at, 0)?.as_mut(), &self.options.limits)?;
            let (rank, metadata) = if format.name == EVENT.name {
                (1, Metadata::from_event(&bytes, &self.options.limits))
            } else {
                let messages = http::messages(&bytes);
                let mut metadata = Metadata::default();
                for message in &messages {
                    metadata.fill_from(match super::is_ingest(message) {
                        true => Metadata::from_ingest(message.target),
                        false => Metadata::from_form(message),
                    });
                }
                (if format.name == INGEST.name { 2 } else { 0 }, metadata)
            };
            found.push((rank, at, metadata));
        }
        found.sort_by_key(|(rank, at, _)| (*rank, *at));
        let documents = found.iter().map(|(_, at, _)| *at).collect();
        let mut all = Metadata::default();
        for (_, _, metadata) in found {
            all.fill_from(metadata);
        }
        Ok((all, documents))
    }

    /// Lowers one file; true when profiles came of it.
    fn attachment(
        &mut self,
        part: usize,
        metadata: &Metadata,
        profile: &Profile,
        resource: traceloom_model::ResourceId,
    ) -> Result<ControlFlow<(), bool>, Error> {
        let Some(row) = self.source.parts().get(part) else {
            return Ok(ControlFlow::Continue(false));
        };
        let name = row.name.clone();
        let skip = |note: Note, sink: &mut dyn Sink| {
            let note = Note {
                part: part_id(part),
                ..note
            };
            Ok(sink.note(note).map_continue(|()| false))
        };
        let format = match recognise(self.source, part)? {
            Found::Format(format) => format,
            Found::Nothing => {
                let text = format!("`{}` is kept and not read", file_name(&name));
                return skip(info("attachment_not_read", 0, text), self.sink);
            }
            Found::Compressed(how) => {
                let text = format!(
                    "`{}` is compressed with {how} and was not opened",
                    file_name(&name)
                );
                return skip(damage("attachment_compressed", 0, text), self.sink);
            }
        };
        let Some(lower) = format.lower else {
            let text = format!(
                "`{}` is {} and has no lowering",
                file_name(&name),
                format.name
            );
            return skip(warn("attachment_not_read", 0, text), self.sink);
        };
        let mut recording = Recording::default();
        let one = One {
            source: self.source,
            part,
            row: [Part {
                format: Some(format),
                ..row.clone()
            }],
        };
        if let Err(error) = lower(&one, self.options, &mut recording) {
            let text = format!("`{}`: {error}", file_name(&name));
            return skip(
                damage("attachment_unreadable", error.offset(), text),
                self.sink,
            );
        }
        let profiled = recording.profiles.iter().any(Option::is_some);
        let language = metadata.language();
        let file = if is_attachment(file_name(&name)) {
            file_name(&name)
        } else {
            &name
        };
        let rename = |value: &str, count: bool| {
            EventKind::of(language?, file, value, count).map(|event| event.name.to_owned())
        };
        let settings = header::settings(profile, &mut self.tables);
        let complete = |row: &mut ModelProfile, tables: &mut Tables| {
            row.resource = Some(resource);
            row.time = row.time.or(Some(profile.start).filter(|&start| start != 0));
            row.duration = row
                .duration
                .or(Some(profile.duration).filter(|&length| length != 0));
            row.settings.extend(settings.iter().cloned());
            let key = tables.attribute_named("attachment");
            let value = Value::Text(tables.string(file));
            row.settings.push(Attribute::new(key, value));
        };
        let change = Change {
            resource,
            end: profile.end,
            part: part_id(part),
            rename: &rename,
            complete: &complete,
        };
        let flow = merge(
            recording,
            &change,
            &mut self.tracks,
            &mut self.tables,
            self.sink,
        );
        Ok(flow.map_continue(|()| profiled))
    }
}

/// Finds the id in a path of the stored layout (SPEC.md §12): `day/workspace/xx/id/file`, the third level
/// optional.
fn stored_id(path: &str) -> Option<&str> {
    let folders: Vec<&str> = folder(path).split('/').collect();
    let (&id, above) = folders.split_last()?;
    let is_day = |text: &&str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = id.get(..2)?;
    let fits = match above {
        [.., day, _, two] if *two == prefix => is_day(day),
        [.., day, _] => is_day(day),
        _ => false,
    };
    (fits && id.len() >= 8).then_some(id)
}

enum Found {
    Format(&'static Format),
    Compressed(&'static str),
    Nothing,
}

/// Finds a part's format: what the input found, unless the bytes say better.
fn recognise(source: &dyn Source, part: usize) -> Result<Found, Error> {
    let Some(row) = source.parts().get(part) else {
        return Ok(Found::Nothing);
    };
    if let Some(format) = row.format.filter(|format| format.lower.is_some()) {
        return Ok(Found::Format(format));
    }
    let mut pull = source.open(part, 0)?;
    let chunk = pull.pull(0, 64 << 10)?;
    let (head, eof) = (chunk.bytes, chunk.eof);
    Ok(sniff(&row.name, head, eof))
}

fn sniff(name: &str, head: &[u8], whole: bool) -> Found {
    let probe = Probe {
        head,
        whole,
        name,
        siblings: &[],
    };
    let answers = FORMATS
        .iter()
        .filter(|format| format.lower.is_some() && format.set.is_none());
    let answers = answers.filter_map(|format| Some(((format.probe)(&probe)?, *format)));
    let mut best: Option<(Confidence, &'static Format)> = None;
    for answer in answers {
        if best.is_none_or(|(confidence, _)| answer.0 > confidence) {
            best = Some(answer);
        }
    }
    match (best, head) {
        (Some((Confidence::Certain | Confidence::Likely, format)), _) => Found::Format(format),
        (_, [0x1f, 0x8b, ..]) => Found::Compressed("gzip"),
        (_, [0x04, 0x22, 0x4d, 0x18, ..]) => Found::Compressed("lz4"),
        (_, [b'P', b'K', 3, 4, ..]) => Found::Compressed("zip"),
        (_, [0x28, 0xb5, 0x2f, 0xfd, ..]) => Found::Compressed("zstd"),
        (Some((Confidence::Possible, format)), _) if !head.is_empty() => Found::Format(format),
        _ => Found::Nothing,
    }
}

/// One part of a source as a source of its own.
struct One<'s> {
    source: &'s dyn Source,
    part: usize,
    row: [Part; 1],
}

impl Source for One<'_> {
    fn parts(&self) -> &[Part] {
        &self.row
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        if part > 0 {
            return Err(Error::usage(format!("there is no part {part}")));
        }
        self.source.open(self.part, offset)
    }
}

/// Lowers a recorded request by itself: its parts are lowered as the bundle they are.
pub(super) fn lower_request(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let bytes = whole(source.open(0, 0)?.as_mut(), &options.limits)?;
    let members = super::members::of_recording(&bytes);
    let texts: Vec<(String, Vec<u8>)> = members
        .into_iter()
        .map(|member| {
            let piece = |&(offset, length): &(u64, u32)| {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                bytes
                    .get(start..start.saturating_add(length as usize))
                    .unwrap_or(&[])
            };
            let content: Vec<u8> = member.pieces.iter().flat_map(piece).copied().collect();
            (member.name, content)
        })
        .collect();
    let mut parts = Vec::new();
    for (name, content) in &texts {
        let format = sniff_metadata(name, content).or_else(|| match sniff(name, content, true) {
            Found::Format(format) => Some(format),
            _ => None,
        });
        parts.push(Part {
            name: name.clone(),
            format,
            size: Some(content.len() as u64),
        });
    }
    sink.begin(Order::None, Clock::Unix);
    let (mut tables, mut tracks) = (Tables::new(), Tracks::default());
    for group in groups(&parts) {
        let of = |at: &usize| Some((parts.get(*at)?.clone(), texts.get(*at)?.1.as_slice()));
        let (parts, bytes) = group.iter().filter_map(of).unzip();
        let memory = Memory { parts, bytes };
        let mut bundle = Bundle {
            source: &memory,
            options,
            sink: &mut *sink,
            tables,
            tracks,
        };
        if bundle.run()?.is_break() {
            break;
        }
        (tables, tracks) = (bundle.tables, bundle.tracks);
    }
    Ok(())
}

fn sniff_metadata(name: &str, content: &[u8]) -> Option<&'static Format> {
    let probe = Probe {
        head: content,
        whole: true,
        name,
        siblings: &[],
    };
    let formats = [&EVENT, &INGEST, &REQUEST];
    formats
        .into_iter()
        .find(|format| (format.probe)(&probe) > Some(Confidence::Possible))
}

struct Memory<'m> {
    parts: Vec<Part>,
    bytes: Vec<&'m [u8]>,
}

impl Source for Memory<'_> {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let bytes = self.bytes.get(part);
        let bytes = bytes.ok_or_else(|| Error::usage(format!("there is no part {part}")))?;
        Ok(Box::new(crate::SlicePull::new(bytes, offset)))
    }
}
