//! Which events say what was allocated, and which kinds of samples there are, from all chunks of a recording (SPEC.md §7).

use std::ops::{ControlFlow, Range};

use traceloom_model::{Flow, Limits, Note};

use super::super::frame::{ChunkCutter, ExtentSource, PieceSink};
use super::super::header::{HEADER, Header};
use super::super::read::settle_schema;
use super::super::schema::{KnownTypes, TypeSchemas};
use super::super::split::PartView;
use super::super::value::SkippedValues;
use super::super::walk::{ChunkStretch, EventWalk, Outline};
use super::met::{MetSamples, RecordingChoice};
use super::places::{ChunkPlaces, SurveyedChunks, early_types};
use super::profiles::{AllocSource, Rule};
use super::sound::{WHOLE, sound_header, sound_schema, walk_sizes};
use crate::codec::each_window;
use crate::{Error, Source};

/// The number of chunks that have events of each source.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Coverage([u64; 3]);

impl Coverage {
    const RANKED: [AllocSource; 3] = [AllocSource::Object, AllocSource::Tlab, AllocSource::Sample];

    /// Counts a chunk with the sources that it has events of.
    pub(super) fn add(&mut self, seen: &[AllocSource]) {
        for (source, n_chunks) in Self::RANKED.iter().zip(&mut self.0) {
            *n_chunks += u64::from(seen.contains(source));
        }
    }

    /// Returns the source in most chunks; of those in as many, the one that says most. The buffers'
    /// events come when all of a buffer is used, samples only now and then.
    pub(super) fn source(self) -> AllocSource {
        let most = self.0.iter().copied().max().unwrap_or(0);
        let mut covered = Self::RANKED.into_iter().zip(self.0);
        let found = covered.find(|&(_, n_chunks)| n_chunks == most && most > 0);
        found.map_or(AllocSource::default(), |(source, _)| source)
    }
}

/// Returns the sources of which a chunk has events. Behind damage, sizes do not lead from event to event: there the
/// walk that recovers looks.
pub(super) fn seen(
    chunk: &[u8],
    header: &Header,
    schema: &TypeSchemas,
    outline: &Outline,
    met: &[bool],
    limits: &Limits,
) -> Vec<AllocSource> {
    let mut found = met_sources(schema, met);
    if outline.reached != chunk.len() {
        let mut walk = EventWalk::new(chunk, header, Some(schema), schema, limits);
        while let Some(stretch) = walk.next(&mut SkippedValues) {
            if let ChunkStretch::Event { type_index, .. } = stretch
                && let Some(source) = source_of(schema, type_index)
                && !found.contains(&source)
            {
                found.push(source);
            }
        }
    }
    found
}

/// Returns the sources that types which are met are of.
pub(super) fn met_sources(schema: &TypeSchemas, met: &[bool]) -> Vec<AllocSource> {
    let met = met.iter().enumerate().filter(|(_, met)| **met);
    met.filter_map(|(index, _)| source_of(schema, index))
        .collect()
}

fn source_of(schema: &TypeSchemas, index: usize) -> Option<AllocSource> {
    Rule::of(&schema.get(index)?.name)?.alloc_source()
}

/// Adds the kinds of samples that a chunk has.
pub(super) fn add_met(all: &mut MetSamples, schema: &TypeSchemas, met: &[bool]) {
    let types = schema.types.iter().zip(met).filter(|(_, met)| **met);
    types.for_each(|(found, _)| all.add(&found.name));
}

/// Decides from every chunk of the given parts of a recording; of one that nothing is wrong with, the types of the last chunk are
/// known then, and, of a single part, what was met where.
///
/// # Errors
/// What the source fails with.
pub(in crate::jfr) fn choose(
    source: &dyn Source,
    parts: Range<usize>,
    limits: &Limits,
    known: &mut KnownTypes,
) -> Result<(RecordingChoice, SurveyedChunks), Error> {
    if let Some(chosen) = choose_by_sizes(source, parts.clone(), limits, known)? {
        return Ok(chosen);
    }
    *known = None;
    let mut survey = SampleSurvey {
        limits,
        schema: None,
        found: Found::default(),
    };
    for part in parts {
        survey.take(source, part)?;
    }
    Ok((survey.found.choice(), SurveyedChunks::default()))
}

/// Decides without holding a chunk, and tells what was met where in long chunks; none where sizes do not lead from event to event
/// and from chunk to chunk.
fn choose_by_sizes(
    source: &dyn Source,
    parts: Range<usize>,
    limits: &Limits,
    known: &mut KnownTypes,
) -> Result<Option<(RecordingChoice, SurveyedChunks)>, Error> {
    let mut found = Found::default();
    let (mut chunks, is_one_part) = (Vec::new(), parts.len() == 1);
    for part in parts {
        let mut pull = source.open(part, 0)?;
        let mut view = PartView::new(source, part);
        let (mut offset, mut consumed) = (0, 0);
        loop {
            let window = pull.pull(consumed, HEADER)?;
            if window.bytes.is_empty() {
                break;
            }
            let Some(header) = sound_header(window.bytes, limits) else {
                return Ok(None);
            };
            let pull = pull.as_mut();
            let schema = sound_schema(pull, &mut view, offset, &header, limits, known)?;
            let Some(schema) = schema else {
                return Ok(None);
            };
            let begin = pull.pull(0, HEADER)?.offset;
            let early = early_types(schema);
            let mut places = ChunkPlaces::new(begin, schema.types.len());
            let walked = walk_sizes(pull, &header, |window, head| {
                places.meet(window, head, (schema, &early))
            })?;
            let Some(walked) = walked else {
                return Ok(None);
            };
            let met = &places.met;
            found.add(schema, met, &met_sources(schema, met));
            // Others are lowered from memory.
            if is_one_part && places.is_described && header.chunk_size > WHOLE {
                chunks.push(places);
            }
            offset += header.chunk_size;
            consumed = walked;
        }
    }
    Ok(Some((
        found.choice(),
        SurveyedChunks::new(chunks, known.clone()),
    )))
}

/// Returns `true` if the recording has one chunk, which can be decided on when it is lowered.
///
/// # Errors
/// What the source fails with.
pub(super) fn is_one_chunk(source: &dyn Source) -> Result<bool, Error> {
    if source.parts().len() != 1 {
        return Ok(false);
    }
    let size = {
        let mut pull = source.open(0, 0)?;
        let header = Header::read(pull.pull(0, HEADER)?.bytes);
        header
            .filter(Header::finished)
            .map(|header| header.chunk_size)
    };
    match size {
        Some(size) => Ok(source.open(0, size)?.pull(0, 1)?.bytes.is_empty()),
        None => Ok(false),
    }
}

/// What was found in the chunks so far.
#[derive(Default)]
struct Found {
    coverage: Coverage,
    met: MetSamples,
}

impl Found {
    /// Adds a chunk: which of its types are met, and which sources.
    fn add(&mut self, schema: &TypeSchemas, met: &[bool], seen: &[AllocSource]) {
        self.coverage.add(seen);
        add_met(&mut self.met, schema, met);
    }

    fn choice(self) -> RecordingChoice {
        RecordingChoice {
            alloc: self.coverage.source(),
            met: self.met,
        }
    }
}

struct SampleSurvey<'l> {
    limits: &'l Limits,
    schema: KnownTypes,
    found: Found,
}

impl SampleSurvey<'_> {
    /// Looks at every chunk of a part.
    fn take(&mut self, source: &dyn Source, part: usize) -> Result<(), Error> {
        let mut pull = source.open(part, 0)?;
        let mut frames = ChunkCutter::default();
        each_window(pull.as_mut(), 8, |window| {
            frames.feed(window, self.limits, self)
        })?;
        Ok(())
    }
}

impl PieceSink for SampleSurvey<'_> {
    fn chunk(&mut self, bytes: &[u8], offset: u64, header: &Header, _: ExtentSource) -> Flow {
        // Its notes are told when the chunk is lowered.
        settle_schema(
            &mut self.schema,
            bytes,
            offset,
            header,
            self.limits,
            &mut |_| ControlFlow::Continue(()),
        )?;
        let Some(schema) = &self.schema else {
            return ControlFlow::Continue(());
        };
        let mut names = schema.types.iter().map(|found| &found.name);
        if !names.any(|name| Rule::of(name).is_some()) {
            return ControlFlow::Continue(());
        }
        let mut met = vec![false; schema.types.len()];
        let outline = Outline::of(bytes, header.compressed(), |id| {
            if let Some(met) = schema.index(id).and_then(|index| met.get_mut(index)) {
                *met = true;
            }
            false
        });
        let seen = seen(bytes, header, schema, &outline, &met, self.limits);
        self.found.add(schema, &met, &seen);
        ControlFlow::Continue(())
    }

    fn stray(&mut self, _: &[u8], _: u64) -> Flow {
        ControlFlow::Continue(())
    }

    fn note(&mut self, _: Note) -> Flow {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::FORMAT;
    use super::*;
    use crate::SliceSource;
    use traceloom_samples::jfr::sample;

    /// Chunks of several recordings, walked over by sizes and as a whole, lead to the same choice; damage leaves it to the
    /// walk that recovers.
    #[test]
    fn both_walks_choose_the_same() {
        let mut bytes = Vec::new();
        for seed in 0..6 {
            sample(seed, 20_000, &mut |piece| bytes.extend_from_slice(piece));
        }
        let limits = Limits::default();
        let slow = |bytes: &[u8]| {
            let mut survey = SampleSurvey {
                limits: &limits,
                schema: None,
                found: Found::default(),
            };
            let source = SliceSource::default().with("a.jfr", &FORMAT, bytes);
            survey.take(&source, 0).unwrap();
            survey.found.choice()
        };
        let quick = |bytes: &[u8]| {
            let source = SliceSource::default().with("a.jfr", &FORMAT, bytes);
            let chosen = choose_by_sizes(&source, 0..1, &limits, &mut None).unwrap();
            chosen.map(|(choice, _)| choice)
        };
        assert_eq!(quick(&bytes), Some(slow(&bytes)));
        let mut n_walked = 0;
        for at in (0..bytes.len()).step_by(bytes.len() / 97) {
            let mut damaged = bytes.clone();
            *damaged.get_mut(at).unwrap() ^= 0x15;
            if let Some(choice) = quick(&damaged) {
                assert_eq!(choice, slow(&damaged), "damage at {at}");
                n_walked += 1;
            }
        }
        assert!(n_walked > 0);
        assert_eq!(quick(bytes.get(..bytes.len() - 7).unwrap()), None);
    }
}
