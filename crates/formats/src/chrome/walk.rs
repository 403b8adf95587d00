//! A trace part by part, as everything that reads one walks over it.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limits, Note};

use super::event::TraceEvent;
use super::scout::EventsAhead;
use super::split::{TracePiece, TraceSplitter};
use crate::codec::each_window;
use crate::text::json::{Defect, Document};
use crate::{Chunk, Error, Pull, Step, damage, info};

/// What a walk over a trace meets.
pub(super) enum TracePart<'d> {
    /// Bytes that are no value: brackets, commas, space.
    Text { offset: u64, bytes: &'d [u8] },
    Event {
        offset: u64,
        bytes: &'d [u8],
        event: TraceEvent<'d>,
        defects: &'d [Defect],
    },
    /// A member of the outermost object; its value begins at `from`.
    Member {
        offset: u64,
        bytes: &'d [u8],
        from: usize,
        key: &'d Document<'d>,
        value: &'d Document<'d>,
    },
    /// Bytes that are nothing of the format.
    Damage {
        offset: u64,
        bytes: &'d [u8],
        kind: &'static str,
    },
    /// The trace ends without closing its brackets.
    Unterminated { offset: u64 },
}

impl TracePart<'_> {
    /// Shows what is to be said of it until `note` breaks: of nearly all parts nothing.
    #[inline]
    pub(super) fn each_note(&self, note: &mut dyn FnMut(Note) -> Flow) -> Flow {
        match self {
            Self::Text { .. } | Self::Event { defects: [], .. } => Flow::Continue(()),
            _ => self.each_note_of_damage(note),
        }
    }

    fn each_note_of_damage(&self, note: &mut dyn FnMut(Note) -> Flow) -> Flow {
        match self {
            Self::Text { .. } => Flow::Continue(()),
            Self::Event {
                offset, defects, ..
            } => note_defects(defects, *offset, note),
            Self::Member {
                offset,
                from,
                value,
                ..
            } => note_defects(value.defects(), offset + *from as u64, note),
            Self::Damage {
                offset,
                bytes,
                kind,
            } => {
                let text = "bytes that are no event and no member";
                note(damage(kind, *offset, text).counting(bytes.len() as u64))
            }
            Self::Unterminated { offset } => {
                let text = "the trace ends without closing its brackets, as it may";
                note(info("unterminated", *offset, text))
            }
        }
    }
}

/// Notes each place that is not JSON.
fn note_defects(defects: &[Defect], from: u64, note: &mut dyn FnMut(Note) -> Flow) -> Flow {
    for defect in defects {
        let found = damage(defect.kind, from + defect.offset as u64, defect.text);
        note(found.counting((defect.skipped as u64).max(1)))?;
    }
    Flow::Continue(())
}

impl TraceSplitter {
    /// Shows every part in a chunk until `see` breaks; an event that is known need not be looked through.
    pub(super) fn walk(
        &mut self,
        chunk: Chunk<'_>,
        known: &mut EventsAhead<'_>,
        see: &mut impl FnMut(TracePart<'_>) -> Flow,
    ) -> Step {
        let limits = self.limits;
        let mut at = 0;
        loop {
            // Nearly all that lies between events is a comma and the end of a line.
            if let Some([b',', b'\n', b'{']) = chunk.bytes.get(at..at + 3)
                && self.is_between_events()
            {
                for bytes in [b",", b"\n"] {
                    let offset = chunk.offset + at as u64;
                    if see(TracePart::Text { offset, bytes }).is_break() {
                        return Step::Stop;
                    }
                    at += 1;
                }
            }
            let window = subslice(chunk.bytes, at..);
            let offset = chunk.offset + at as u64;
            if self.is_between_events()
                && window.first() == Some(&b'{')
                && let Some((bytes, event)) = known.event(window, offset)
            {
                let part = TracePart::Event {
                    offset,
                    bytes,
                    event,
                    defects: &[],
                };
                if see(part).is_break() {
                    return Step::Stop;
                }
                at += bytes.len();
                continue;
            }
            let of = |len: usize| window.get(..len).unwrap_or(window);
            let (len, flow) = match self.next(window, chunk.eof) {
                TracePiece::Need(need) => return Step::More { consumed: at, need },
                TracePiece::End => {
                    if self.ends_unterminated()
                        && see(TracePart::Unterminated { offset }).is_break()
                    {
                        return Step::Stop;
                    }
                    return Step::More {
                        consumed: at,
                        need: 1,
                    };
                }
                TracePiece::Text(len) => {
                    let bytes = of(len);
                    (len, see(TracePart::Text { offset, bytes }))
                }
                TracePiece::Event(end) => {
                    let bytes = of(end);
                    let flow = self.event_of(bytes, |event, defects| {
                        if defects.is_empty() {
                            known.learn(offset, bytes, event.places());
                        }
                        see(TracePart::Event {
                            offset,
                            bytes,
                            event,
                            defects,
                        })
                    });
                    (end, flow)
                }
                TracePiece::Member(key, from, end) => {
                    let bytes = of(end);
                    let member = TracePart::Member {
                        offset,
                        bytes,
                        from,
                        key: &Document::parse(subslice(bytes, key..from), &limits),
                        value: &Document::parse(subslice(bytes, from..), &limits),
                    };
                    (end, see(member))
                }
                TracePiece::Damage(len, kind) => {
                    let bytes = of(len);
                    let part = TracePart::Damage {
                        offset,
                        bytes,
                        kind,
                    };
                    (len, see(part))
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
            at += len;
        }
    }
}

/// Shows every part of a trace until `see` breaks, and takes events from a scout as far as `known` has them; returns false when
/// it did.
pub(super) fn each(
    pull: &mut dyn Pull,
    limits: &Limits,
    known: &mut EventsAhead<'_>,
    mut see: impl FnMut(TracePart<'_>) -> Flow,
) -> Result<bool, Error> {
    let mut splitter = TraceSplitter::new(limits);
    each_window(pull, 1, |chunk| splitter.walk(chunk, known, &mut see))
}
