//! Which events say what was allocated, and which kinds of samples there are, from all chunks of a recording (SPEC.md §7).

use std::ops::{ControlFlow, Range};

use traceloom_model::{Flow, Limits, Note};

use super::super::frame::{ChunkCutter, ExtentSource, PieceSink};
use super::super::header::{HEADER, Header};
use super::super::read::settle_schema;
use super::super::schema::TypeSchemas;
use super::super::value::SkippedValues;
use super::super::walk::{ChunkStretch, EventWalk, Outline};
use super::met::{MetSamples, RecordingChoice};
use super::profiles::{AllocSource, Rule};
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
    let source = |index: usize| Rule::of(&schema.get(index)?.name)?.alloc_source();
    let met = met.iter().enumerate().filter(|(_, met)| **met);
    let mut found: Vec<AllocSource> = met.filter_map(|(index, _)| source(index)).collect();
    if outline.reached != chunk.len() {
        let mut walk = EventWalk::new(chunk, header, Some(schema), schema, limits);
        while let Some(stretch) = walk.next(&mut SkippedValues) {
            if let ChunkStretch::Event { type_index, .. } = stretch
                && let Some(source) = source(type_index)
                && !found.contains(&source)
            {
                found.push(source);
            }
        }
    }
    found
}

/// Adds the kinds of samples that a chunk has.
pub(super) fn add_met(all: &mut MetSamples, schema: &TypeSchemas, met: &[bool]) {
    let types = schema.types.iter().zip(met).filter(|(_, met)| **met);
    types.for_each(|(found, _)| all.add(&found.name));
}

/// Decides from every chunk of the given parts of a recording.
///
/// # Errors
/// What the source fails with.
pub(in crate::jfr) fn choose(
    source: &dyn Source,
    parts: Range<usize>,
    limits: &Limits,
) -> Result<RecordingChoice, Error> {
    let mut survey = SampleSurvey {
        limits,
        schema: None,
        coverage: Coverage::default(),
        met: MetSamples::default(),
    };
    for part in parts {
        let mut pull = source.open(part, 0)?;
        let mut frames = ChunkCutter::default();
        each_window(pull.as_mut(), 8, |window| {
            frames.feed(window, limits, &mut survey)
        })?;
    }
    Ok(RecordingChoice {
        alloc: survey.coverage.source(),
        met: survey.met,
    })
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

struct SampleSurvey<'l> {
    limits: &'l Limits,
    schema: Option<TypeSchemas>,
    coverage: Coverage,
    met: MetSamples,
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
        self.coverage.add(&seen);
        add_met(&mut self.met, schema, &met);
        ControlFlow::Continue(())
    }

    fn stray(&mut self, _: &[u8], _: u64) -> Flow {
        ControlFlow::Continue(())
    }

    fn note(&mut self, _: Note) -> Flow {
        ControlFlow::Continue(())
    }
}
