//! Detection: which generation a head is of, by reading it (SPEC.md §0.2).

use std::ops::ControlFlow;

use traceloom_model::{Flow, Level, Limits, Note};

use super::cbor::Cbor;
use super::parts::PartName;
use super::record::{EndForm, Item, Record, StartForm};
use super::{Reader, TwoItems, Visit};
use crate::{Chunk, Confidence, Probe};

/// What a stream turns out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamKind {
    S0,
    S0b,
    B1,
    B2,
    C,
    Definitions,
}

/// Items that are looked at besides definitions, of which any number may stand before the first record.
const LOOKED_AT: u32 = 4096;

/// Definitions alone are agent data, and not the beginning of a stream, once there are so many bytes of them.
const AGENT_DATA: usize = 16 << 20;

#[derive(Default)]
struct StreamTraits {
    items: u32,
    seed: bool,
    tagged: bool,
    nanos: bool,
    processed: bool,
    definitions: bool,
    untagged_end: bool,
    tagged_end: bool,
    small_begin: bool,
    starts: bool,
    damaged_first: bool,
    damage: bool,
}

impl Visit for StreamTraits {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        match record.item {
            Item::Start(start) => {
                self.starts = true;
                match start.form {
                    StartForm::Seed { .. } => self.seed = true,
                    StartForm::Tagged => self.tagged = true,
                    StartForm::Bare => self.processed = true,
                    StartForm::Nanos | StartForm::Stream => self.nanos = true,
                }
            }
            Item::End(end) => match end.form {
                EndForm::Untagged => self.untagged_end = true,
                EndForm::Tagged => self.tagged_end = true,
                EndForm::Nanos => self.nanos = true,
            },
            Item::Begin(begin) => self.small_begin |= begin.ttype.is_some() && !begin.nanos,
            Item::Symbol(_) | Item::Method(_) => {
                self.definitions = true;
                return Flow::Continue(());
            }
            Item::Chunk(_) | Item::Info { .. } => self.processed = true,
            Item::Damage => {
                self.damaged_first |= self.items == 0 && !self.definitions;
                self.damage = true;
            }
            _ => {}
        }
        self.items += 1;
        if self.items < LOOKED_AT {
            Flow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn note(&mut self, note: Note) -> Flow {
        self.damage |= note.level == Level::Damage;
        Flow::Continue(())
    }
}

impl StreamTraits {
    fn kind(&self) -> Option<StreamKind> {
        let plain = self.starts || self.processed || self.tagged_end || self.nanos;
        Some(match self {
            Self { seed: true, .. } => StreamKind::S0,
            Self { nanos: true, .. } => StreamKind::C,
            // An epilog without tag alone is any nine bytes that begin with an H.
            Self {
                untagged_end: true,
                tagged: false,
                tagged_end: false,
                ..
            } => StreamKind::S0,
            Self {
                untagged_end: true, ..
            } => StreamKind::S0b,
            _ if plain && self.small_begin => StreamKind::B1,
            _ if plain => StreamKind::B2,
            Self {
                definitions: true, ..
            } => StreamKind::Definitions,
            _ => return None,
        })
    }
}

/// Reads the head of a part and says what it is.
pub(crate) fn kind(probe: &Probe<'_>) -> Option<(StreamKind, Confidence)> {
    let fragment = PartName::of(probe.name).chunk.is_some();
    let first = *probe.head.first()?;
    let may_begin = matches!(first, 0xc1..=0xc3 | 0xc6..=0xcd | 0xce | 0xd8 | 0xff);
    if !fragment && !may_begin {
        return None;
    }
    let mut facts = StreamTraits::default();
    let chunk = Chunk {
        bytes: probe.head,
        offset: 0,
        eof: probe.whole,
    };
    Reader::new(&Limits::default(), TwoItems::Guess)
        .read(chunk, &mut (&mut facts as &mut dyn Visit));
    if fragment {
        // A piece that is the middle of a string is known by its neighbours only: see `parts::set`.
        return facts.kind().map(|kind| (kind, Confidence::Likely));
    }
    let open_ended = !probe.whole && probe.head.len() < AGENT_DATA;
    let Some(kind) = facts.kind() else {
        let begins = open_ended && !facts.definitions && begins_with_a_symbol(probe.head);
        return begins.then_some((StreamKind::Definitions, Confidence::Possible));
    };
    if kind == StreamKind::Definitions && open_ended {
        return Some((kind, Confidence::Possible));
    }
    if facts.damaged_first || !(facts.starts || facts.definitions || facts.processed) {
        return (facts.items > 2).then_some((kind, Confidence::Possible));
    }
    let confidence = if facts.damage {
        Confidence::Likely
    } else {
        Confidence::Certain
    };
    Some((kind, confidence))
}

/// Returns true if the head is the beginning of a symbol whose text is longer than it.
fn begins_with_a_symbol(head: &[u8]) -> bool {
    let &[0xc1, 0x82 | 0x83, ref rest @ ..] = head else {
        return false;
    };
    let mut cbor = Cbor::checked(rest);
    let is_number = cbor.value().is_ok_and(|id| id.int().is_some());
    let text = rest.get(cbor.position()..).unwrap_or_default();
    let (head, len) = match *text {
        [0x79, a, b, ..] => (3, u64::from(u16::from_be_bytes([a, b]))),
        [0x7a, a, b, c, d, ..] => (5, u64::from(u32::from_be_bytes([a, b, c, d]))),
        [0x7b, a, b, c, d, e, f, g, h, ..] => (9, u64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => return false,
    };
    is_number && len > text.len().saturating_sub(head) as u64
}
