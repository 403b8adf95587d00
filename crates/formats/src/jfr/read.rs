//! Bytes to native records.

use std::ops::ControlFlow;

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limits, Note};

use super::event::Visit;
use super::frame::{ChunkCutter, ExtentSource, PieceSink};
use super::header::{HEADER, Header};
use super::lower::ChunkConstants;
use super::record::{ChunkContext, ChunkPart, ChunkRecord, ChunkRecordKind};
use super::schema::{KnownTypes, TypeSchemas};
use super::value::SkippedValues;
use super::walk::{ChunkStretch, EventWalk, find_schema, named_metadata};
use crate::{Chunk, Opaque, RecordSink, Step, damage, info, warn};

/// Reads recordings: chunk by chunk, each as a whole, because its types stand at its end.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    limits: Limits,
    frames: ChunkCutter,
    /// Types of the last chunk that had any.
    schema: KnownTypes,
}

impl Reader {
    /// Builds a reader at the beginning of a recording.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            ..Self::default()
        }
    }

    /// Reads every whole chunk of the window, with the types of its records.
    pub fn read<V: Visit>(&mut self, chunk: Chunk<'_>, out: &mut V) -> Step {
        let mut records = ChunkRecordSink {
            limits: &self.limits,
            schema: &mut self.schema,
            out,
        };
        self.frames.feed(chunk, &self.limits, &mut records)
    }
}

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        Self::read(self, chunk, &mut RecordForwarder(out))
    }
}

struct RecordForwarder<'o>(&'o mut dyn RecordSink);

impl Visit for RecordForwarder<'_> {
    fn chunk(&mut self, chunk: &ChunkRecord) -> Flow {
        self.0.record(chunk)
    }

    fn part(&mut self, part: &ChunkPart<'_, '_>) -> Flow {
        self.0.record(part)
    }

    fn opaque(&mut self, bytes: &Opaque<'_>) -> Flow {
        self.0.record(bytes)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.note(note)
    }
}

struct ChunkRecordSink<'r, V> {
    limits: &'r Limits,
    schema: &'r mut KnownTypes,
    out: &'r mut V,
}

impl<V: Visit> PieceSink for ChunkRecordSink<'_, V> {
    fn chunk(&mut self, bytes: &[u8], offset: u64, header: &Header, end: ExtentSource) -> Flow {
        self.out.chunk(&ChunkRecord {
            offset,
            header: *header,
        })?;
        let nothing = TypeSchemas::default();
        settle_schema(
            self.schema,
            bytes,
            offset,
            header,
            self.limits,
            &mut |note| self.out.note(note),
        )?;
        let mut walk = EventWalk::new(bytes, header, self.schema.as_deref(), &nothing, self.limits);
        let texts = ChunkConstants::new(bytes, header, walk.rules(), self.limits);
        let rules = walk.rules();
        let place = ChunkContext {
            texts: Some(&texts),
            ..ChunkContext::new((bytes, offset), header, rules, self.limits)
        };
        // Lent, not moved: a move waits for the stores of its parts, for a third of the loop.
        while let Some(stretch) = &walk.next(&mut SkippedValues) {
            if let Some(note) = note_of(stretch, &place, end) {
                self.out.note(note)?;
            }
            let opaque = |from: usize, to: usize| {
                Opaque::damage(offset + from as u64, subslice(bytes, from..to))
            };
            let (head, what) = match stretch {
                &ChunkStretch::Event {
                    head,
                    type_index,
                    used,
                } => (head, ChunkRecordKind::Event { type_index, used }),
                ChunkStretch::Metadata(head) => (*head, ChunkRecordKind::Metadata),
                ChunkStretch::Checkpoint(head, checkpoint) => {
                    (*head, ChunkRecordKind::Checkpoint(checkpoint))
                }
                ChunkStretch::Unknown(head) => (*head, ChunkRecordKind::Unknown),
                ChunkStretch::Bad(head, _) => {
                    self.out.opaque(&opaque(head.at, head.end))?;
                    continue;
                }
                &ChunkStretch::Lost(from, to) => {
                    self.out.opaque(&opaque(from, to))?;
                    continue;
                }
            };
            self.out.part(&ChunkPart {
                place: &place,
                head,
                what,
            })?;
        }
        ControlFlow::Continue(())
    }

    fn stray(&mut self, bytes: &[u8], offset: u64) -> Flow {
        self.out.opaque(&Opaque::damage(offset, bytes))
    }

    fn note(&mut self, note: Note) -> Flow {
        self.out.note(note)
    }
}

/// Finds a chunk's types; those of the chunk before stand in when they were lost.
pub(super) fn settle_schema(
    schema: &mut KnownTypes,
    bytes: &[u8],
    offset: u64,
    header: &Header,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Flow {
    if header.ticks_per_second == 0 {
        note(warn(
            "clock_rate",
            offset,
            "the clock has no rate; ticks are taken as nanoseconds",
        ))?;
    }
    // Most chunks of a recording have the same types.
    let named = named_metadata(bytes, header);
    if let (Some(known), Some(named)) = (&schema, named)
        && known.is_described_by(named)
    {
        return ControlFlow::Continue(());
    }
    match find_schema(bytes, header, limits) {
        Some(found) => *schema = Some(found),
        None if bytes.len() == HEADER => {}
        None if schema.is_some() => note(warn(
            "metadata_missing",
            offset,
            "the chunk's metadata is lost; the types of the chunk before stand in",
        ))?,
        None => note(damage(
            "metadata_missing",
            offset,
            "the chunk's metadata is lost; its events cannot be decoded",
        ))?,
    }
    ControlFlow::Continue(())
}

/// Returns the note a stretch deserves.
#[inline]
pub(super) fn note_of(
    stretch: &ChunkStretch,
    place: &ChunkContext<'_>,
    end: ExtentSource,
) -> Option<Note> {
    match stretch {
        // Nearly all there is.
        ChunkStretch::Event { head, used, .. } if *used >= head.end => None,
        _ => note_of_other(stretch, place, end),
    }
}

fn note_of_other(
    stretch: &ChunkStretch,
    place: &ChunkContext<'_>,
    end: ExtentSource,
) -> Option<Note> {
    let at = |at: usize| place.offset + at as u64;
    Some(match stretch {
        ChunkStretch::Event { head, used, .. } => {
            let extra = head.end - used;
            let text = format!("{extra} bytes follow the fields of an event");
            info("extra_bytes", at(*used), text).counting(extra as u64)
        }
        ChunkStretch::Metadata(_) => return None,
        ChunkStretch::Checkpoint(head, checkpoint) => {
            let (range, bad) = checkpoint.damage().next()?;
            let lost: usize = checkpoint.damage().map(|(range, _)| range.len()).sum();
            let text = format!("{lost} bytes of constants are lost: {bad}");
            damage("lost_constants", at(head.body + range.start), text).counting(lost as u64)
        }
        // Without any metadata one note has said so for all events.
        ChunkStretch::Unknown(_) if place.rules.schema.types.is_empty() => return None,
        ChunkStretch::Unknown(head) => warn(
            "unknown_type",
            at(head.at),
            format!("no metadata describes event type {}", head.type_id),
        ),
        ChunkStretch::Bad(head, bad) => {
            let kind = place.rules.schema.index(head.type_id);
            let kind = kind.and_then(|index| place.rules.schema.get(index));
            let name = kind.map_or("event", |found| found.name.as_str());
            damage(
                bad.note_kind(),
                at(head.at),
                format!("undecodable {name}: {bad}"),
            )
        }
        ChunkStretch::Lost(from, to) => {
            let count = (to - from) as u64;
            if *to == place.chunk.len()
                && matches!(end, ExtentSource::Unfinished | ExtentSource::Cut { .. })
            {
                let text = format!("the last event is not whole: {count} bytes of it are there");
                warn("partial_event", at(*from), text).counting(count)
            } else {
                let text = format!("{count} bytes are no event");
                damage("lost_bytes", at(*from), text).counting(count)
            }
        }
    })
}
