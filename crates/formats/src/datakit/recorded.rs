//! A recorded request on its own: its files are lowered as the bundles they are.

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Clock, Order, Sink, Tables};

use super::bundle::{Bundle, FoundPart, sniff};
use super::grouping::groups;
use super::http::messages;
use super::merge::BundleTracks;
use super::push::{PushRequest, is_push};
use super::{CONFIG, EVENT, INGEST, REQUEST};
use crate::codec::whole;
use crate::{Confidence, Error, Format, LowerOptions, Part, Probe, Pull, Source, damage};

/// Lowers the files of a recording.
pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut pull = source.open(0, 0)?;
    let bytes = whole(pull.as_mut(), &options.limits)?.bytes;
    let members = super::members::of_recording(bytes);
    let texts: Vec<(String, Vec<u8>)> = members
        .into_iter()
        .map(|member| {
            let piece = |&(offset, length): &(u64, u32)| {
                let start = in_memory(offset);
                subslice(bytes, start..start.saturating_add(length as usize))
            };
            let content: Vec<u8> = member.pieces.iter().flat_map(piece).copied().collect();
            (member.name, content)
        })
        .collect();
    let mut parts = Vec::new();
    for (name, content) in &texts {
        let format = sniff_metadata(name, content).or_else(|| match sniff(name, content, true) {
            FoundPart::Format(format) => Some(format),
            _ => None,
        });
        parts.push(Part {
            name: name.clone(),
            format,
            size: Some(content.len() as u64),
        });
    }
    sink.begin(Order::None, Clock::Unix);
    if groups(&parts).next().is_none()
        && let Some((name, content)) = texts.first()
        && let FoundPart::Compressed(how) = sniff(name, content, true)
    {
        let text = format!("the body is compressed with {how} and was not opened");
        let _ = sink.note(damage("attachment_compressed", 0, text));
        return Ok(());
    }
    let (mut tables, mut tracks) = (Tables::new(), BundleTracks::default());
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
            given: None,
        };
        if bundle.run()?.is_break() {
            return Ok(());
        }
        (tables, tracks) = (bundle.tables, bundle.tracks);
    }
    pushes(bytes, options, sink, tables, tracks)
}

/// Lowers the profiles of pushes, each with the labels of its series.
fn pushes(
    bytes: &[u8],
    options: &LowerOptions,
    sink: &mut dyn Sink,
    mut tables: Tables,
    mut tracks: BundleTracks,
) -> Result<(), Error> {
    for message in messages(bytes).iter().filter(|message| is_push(message)) {
        let content_type = message.header("content-type").unwrap_or("");
        let request = match PushRequest::read(content_type, &message.body) {
            Ok(request) => request,
            Err(text) => {
                let note = damage("bad_push", message.head.start as u64, text);
                if sink.note(note).is_break() {
                    return Ok(());
                }
                continue;
            }
        };
        for series in &request.series {
            for profile in &series.profiles {
                let name = "auto.pprof";
                let format = match sniff(name, &profile.bytes, true) {
                    FoundPart::Format(format) => Some(format),
                    _ => None,
                };
                let part = Part {
                    name: name.to_owned(),
                    format,
                    size: Some(profile.bytes.len() as u64),
                };
                let memory = Memory {
                    parts: vec![part],
                    bytes: vec![&profile.bytes],
                };
                let mut bundle = Bundle {
                    source: &memory,
                    options,
                    sink: &mut *sink,
                    tables,
                    tracks,
                    given: Some(series.metadata()),
                };
                if bundle.run()?.is_break() {
                    return Ok(());
                }
                (tables, tracks) = (bundle.tables, bundle.tracks);
            }
        }
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
    let formats = [&EVENT, &INGEST, &REQUEST, &CONFIG];
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
