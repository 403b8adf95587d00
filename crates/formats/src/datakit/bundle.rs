//! Bundles: the files of one upload lowered to one recording.

use std::collections::HashSet;
use std::ops::ControlFlow;

use traceloom_model::{
    Attribute, Clock, Flow, Note, Order, PartId, Profile as ModelProfile, Recording, Sink, Tables,
    Value,
};

use super::grouping::{file_name, folder, is_attachment, is_config, is_metadata, rank, stored_id};
use super::http;
use super::ingest;
use super::merge::{BundleTracks, RowEdit, merge};
use super::metadata::{INPUT_TAGS, Metadata};
use super::sample_labels::SampleLabels;
use super::{EVENT, INGEST};
use crate::codec::whole;
use crate::points::EventKind;
use crate::points::Profile;
use crate::points::settings;
use crate::{
    Confidence, Error, FORMATS, Format, LowerOptions, Part, Probe, Pull, Source, damage, info, warn,
};

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
        tracks: BundleTracks::default(),
        given: None,
    }
    .run()?;
    Ok(())
}

pub(super) struct Bundle<'s> {
    pub(super) source: &'s dyn Source,
    pub(super) options: &'s LowerOptions,
    pub(super) sink: &'s mut dyn Sink,
    pub(super) tables: Tables,
    pub(super) tracks: BundleTracks,
    /// Metadata that is in none of the parts.
    pub(super) given: Option<Metadata>,
}

fn part_id(part: usize) -> PartId {
    PartId::nth(part)
}

impl Bundle<'_> {
    pub(super) fn run(&mut self) -> Result<Flow, Error> {
        let (mut metadata, documents, mut notes) = match self.given.take() {
            Some(given) => (given, Vec::new(), Vec::new()),
            None => self.metadata()?,
        };
        if metadata.labels_are_tags {
            self.label_tags(&documents, &mut metadata, &mut notes)?;
        }
        let (mut profile, bad_times) = metadata.profile();
        for text in bad_times {
            notes.push(warn("bad_time", 0, format!("`{text}` is no time")));
        }
        for note in notes {
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
        let resource = crate::points::resource(&profile, &mut self.tables);
        let resource = self.tables.resource(resource);
        let mut any = false;
        let mut order: Vec<usize> = (0..self.source.parts().len()).collect();
        order.sort_by_key(|&at| self.source.parts().get(at).map(|part| rank(&part.name)));
        for part in order {
            let config = self.source.parts().get(part).is_some_and(is_config);
            if config || documents.contains(&part) {
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
            settings: settings(profile, &mut self.tables),
            resource: Some(resource),
            ..ModelProfile::default()
        }
    }

    /// Reads the metadata: the older form first, then `event.json`, then queries (SPEC.md §5). Returns
    /// which parts were metadata, and what is wrong with them.
    fn metadata(&self) -> Result<(Metadata, Vec<usize>, Vec<Note>), Error> {
        let mut found: Vec<(u8, usize, Metadata)> = Vec::new();
        let (mut notes, mut input_tags) = (Vec::new(), Vec::new());
        for (at, part) in self.source.parts().iter().enumerate() {
            let Some(format) = part.format.filter(|_| is_metadata(part)) else {
                continue;
            };
            let mut pull = self.source.open(at, 0)?;
            let bytes = whole(pull.as_mut(), &self.options.limits)?.bytes;
            let (rank, metadata) = if format.name == EVENT.name {
                (1, Metadata::from_event(bytes, &self.options.limits))
            } else {
                let mut metadata = Metadata::default();
                for message in &http::messages(bytes) {
                    input_tags.extend(message.header(INPUT_TAGS).map(str::to_owned));
                    if ingest::is_ingest(message) {
                        metadata.fill_from(ingest::metadata(message));
                        let of_part = |note: Note| Note {
                            part: part_id(at),
                            ..note
                        };
                        notes.extend(ingest::notes(message).into_iter().map(of_part));
                    } else {
                        metadata.fill_from(Metadata::from_form(message));
                    }
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
        for tags in &input_tags {
            all.set_tags(tags);
        }
        Ok((all, documents, notes))
    }

    /// Fills the tags from the labels of samples.
    fn label_tags(
        &self,
        documents: &[usize],
        metadata: &mut Metadata,
        notes: &mut Vec<Note>,
    ) -> Result<(), Error> {
        for (at, part) in self.source.parts().iter().enumerate() {
            if documents.contains(&at) {
                continue;
            }
            let FoundPart::Format(format) = recognise(self.source, at)? else {
                continue;
            };
            let mut labels = SampleLabels::default();
            let one = SinglePart::new(self.source, at, part, format);
            // What fails here fails again, with a note, where the file is lowered.
            let lowered = format
                .lower
                .map(|lower| lower(&one, self.options, &mut labels));
            if !matches!(lowered, Some(Ok(()))) {
                continue;
            }
            for label in labels.tags() {
                if label.differs {
                    let text = format!(
                        "label `{}` has several values; the first is the tag",
                        label.key
                    );
                    let note = info("label_values", 0, text);
                    notes.push(Note {
                        part: part_id(at),
                        ..note
                    });
                }
                metadata.fill(&label.key, label.value);
            }
        }
        Ok(())
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
            FoundPart::Format(format) => format,
            FoundPart::Nothing => {
                let text = format!("`{}` is kept and not read", file_name(&name));
                return skip(info("attachment_not_read", 0, text), self.sink);
            }
            FoundPart::Compressed(how) => {
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
        let one = SinglePart::new(self.source, part, row, format);
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
        let folded = format.name == "folded";
        let rename = |value: &str, count: bool| {
            let event = match folded {
                true => EventKind::of_folded(value),
                false => EventKind::of(language?, file, value, count),
            };
            event.map(|event| event.name.to_owned())
        };
        let settings = settings(profile, &mut self.tables);
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
        let change = RowEdit {
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

pub(super) enum FoundPart {
    Format(&'static Format),
    Compressed(&'static str),
    Nothing,
}

/// Returns `true` for formats of attachments. Containers are none: a bundle in a bundle would be lowered by the same
/// functions, as deep as its bytes say.
fn is_attached(format: &Format) -> bool {
    format.lower.is_some() && format.set.is_none() && format.members.is_none()
}

/// Finds a part's format: what the input found, unless the bytes say better.
fn recognise(source: &dyn Source, part: usize) -> Result<FoundPart, Error> {
    let Some(row) = source.parts().get(part) else {
        return Ok(FoundPart::Nothing);
    };
    if let Some(format) = row.format.filter(|format| is_attached(format)) {
        return Ok(FoundPart::Format(format));
    }
    let mut pull = source.open(part, 0)?;
    let chunk = pull.pull(0, 64 << 10)?;
    let (head, eof) = (chunk.bytes, chunk.eof);
    Ok(sniff(&row.name, head, eof))
}

pub(super) fn sniff(name: &str, head: &[u8], whole: bool) -> FoundPart {
    let probe = Probe {
        head,
        whole,
        name,
        siblings: &[],
    };
    let answers = FORMATS.iter().copied().filter(|format| is_attached(format));
    let answers = answers.filter_map(|format| Some(((format.probe)(&probe)?, format)));
    let mut best: Option<(Confidence, &'static Format)> = None;
    for answer in answers {
        if best.is_none_or(|(confidence, _)| answer.0 > confidence) {
            best = Some(answer);
        }
    }
    match (best, head) {
        (Some((Confidence::Certain | Confidence::Likely, format)), _) => FoundPart::Format(format),
        (_, [0x1f, 0x8b, ..]) => FoundPart::Compressed("gzip"),
        (_, [0x04, 0x22, 0x4d, 0x18, ..]) => FoundPart::Compressed("lz4"),
        (_, [b'P', b'K', 3, 4, ..]) => FoundPart::Compressed("zip"),
        (_, [0x28, 0xb5, 0x2f, 0xfd, ..]) => FoundPart::Compressed("zstd"),
        (Some((Confidence::Possible, format)), _) if !head.is_empty() => FoundPart::Format(format),
        _ => FoundPart::Nothing,
    }
}

/// One part of a source as a source of its own.
struct SinglePart<'s> {
    source: &'s dyn Source,
    part: usize,
    row: [Part; 1],
}

impl<'s> SinglePart<'s> {
    fn new(source: &'s dyn Source, part: usize, row: &Part, format: &'static Format) -> Self {
        let row = Part {
            format: Some(format),
            ..row.clone()
        };
        Self {
            source,
            part,
            row: [row],
        }
    }
}

impl Source for SinglePart<'_> {
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
