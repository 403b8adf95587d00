//! The text of a trace in pieces: the members of the outermost object, and each event of its array.
//!
//! Files above what memory holds are common, and many end in the middle because the program that wrote
//! them did. So nothing is parsed but where a value ends: an event is handed on when it is whole.

use traceloom_model::bounds::subslice;
use traceloom_model::{Limit, Limits};

use super::event::{EventPlaces, TraceEvent};
use super::shapes::EventShapes;
use crate::text::json::{Defect, JsonTexts, plain_object, quote_or_backslash};

/// What lies at the beginning of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TracePiece {
    /// So many bytes that are no value: brackets, commas, space.
    Text(usize),
    /// An event, and where it ends.
    Event(usize),
    /// A member of the outermost object: where its key begins, where its value does, where it ends.
    Member(usize, usize, usize),
    /// So many bytes that are nothing of the format.
    Damage(usize, &'static str),
    /// The window must hold so many bytes.
    Need(usize),
    /// The window is used up.
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SplitState {
    Start,
    /// Between the members of the outermost object.
    Object,
    /// Between events; the array is a member, or all there is.
    Events {
        bare: bool,
    },
    /// After the outermost value.
    Done,
}

/// Finds the pieces.
#[derive(Clone, Debug)]
pub(super) struct TraceSplitter {
    state: SplitState,
    /// Where an event ends, its parser knows; it keeps the event that was found last.
    texts: JsonTexts,
    /// The members of the event that was found last, where nothing in it is unusual, and where it ends.
    places: EventPlaces,
    plain_end: Option<usize>,
    /// How events look that have come.
    shapes: EventShapes,
    pub(super) limits: Limits,
    limit: usize,
    /// The array of events was never closed.
    unterminated: bool,
    is_end_told: bool,
}

/// Bytes around damage that must be seen to find the next event.
const LOOKAHEAD: usize = 4096;

impl TraceSplitter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            state: SplitState::Start,
            texts: JsonTexts::default(),
            places: EventPlaces::default(),
            plain_end: None,
            shapes: EventShapes::default(),
            limits: *limits,
            // Places in an event have 32 bits.
            limit: limits.size(Limit::String).min(u32::MAX as usize),
            unterminated: false,
            is_end_told: false,
        }
    }

    /// Begins somewhere in the array of events.
    pub(super) fn among_events(limits: &Limits) -> Self {
        Self {
            state: SplitState::Events { bare: false },
            ..Self::new(limits)
        }
    }

    /// Goes on somewhere else in the array of events.
    pub(super) fn go_among_events(&mut self) {
        *self = Self {
            shapes: std::mem::take(&mut self.shapes),
            ..Self::among_events(&self.limits)
        };
    }

    /// Looks at the first bytes of a window; nothing follows it when `eof`.
    pub(super) fn next(&mut self, window: &[u8], eof: bool) -> TracePiece {
        if window.is_empty() {
            self.unterminated |=
                eof && matches!(self.state, SplitState::Events { .. } | SplitState::Object);
            return TracePiece::End;
        }
        let Some(&byte) = window.first().filter(|byte| !is_space(**byte)) else {
            return space(window, eof);
        };
        match (self.state, byte) {
            (SplitState::Start, 0xef) if window.starts_with(b"\xef\xbb\xbf") => TracePiece::Text(3),
            (SplitState::Start, 0xef) if window.len() < 3 && !eof => TracePiece::Need(3),
            (SplitState::Start, b'[') => self.go(SplitState::Events { bare: true }),
            (SplitState::Start, b'{') => self.go(SplitState::Object),
            (SplitState::Object, b',') | (SplitState::Events { .. }, b',') => TracePiece::Text(1),
            (SplitState::Object, b'}') => self.go(SplitState::Done),
            (SplitState::Object, b'"') => self.member(window, eof),
            (SplitState::Events { bare: true }, b']') => self.go(SplitState::Done),
            (SplitState::Events { bare: false }, b']') => self.go(SplitState::Object),
            (SplitState::Events { .. }, b'{') => self.event(window, eof),
            (SplitState::Events { .. }, _) => self.lost(window, eof, "unexpected_bytes"),
            (SplitState::Done, _) if !eof && window.len() < LOOKAHEAD => {
                TracePiece::Need(LOOKAHEAD)
            }
            (SplitState::Done, _) => {
                TracePiece::Damage(window.len().min(LOOKAHEAD), "bytes_after_document")
            }
            (SplitState::Start | SplitState::Object, _) => {
                self.lost(window, eof, "unexpected_bytes")
            }
        }
    }

    /// Returns true if an event or the end of their array is to come.
    pub(super) fn is_between_events(&self) -> bool {
        matches!(self.state, SplitState::Events { .. })
    }

    fn go(&mut self, state: SplitState) -> TracePiece {
        self.state = state;
        TracePiece::Text(1)
    }

    /// Returns true once, when the trace has ended without closing its brackets.
    pub(super) fn ends_unterminated(&mut self) -> bool {
        self.unterminated && !std::mem::replace(&mut self.is_end_told, true)
    }

    /// Shows the event that a piece is, and what in it is not JSON.
    pub(super) fn event_of<T>(
        &mut self,
        text: &[u8],
        see: impl FnOnce(TraceEvent<'_>, &[Defect]) -> T,
    ) -> T {
        if self.plain_end.take() == Some(text.len()) {
            return see(TraceEvent::new(text, &self.places), &[]);
        }
        let places = &mut self.places;
        self.texts.parse(text, &self.limits, |document| {
            *places = document.root().map(EventPlaces::read).unwrap_or_default();
            places.finish(text.len());
            see(TraceEvent::new(text, places), document.defects())
        })
    }

    fn event(&mut self, window: &[u8], eof: bool) -> TracePiece {
        let allowed = window.get(..self.limit).unwrap_or(window);
        let places = &mut self.places;
        let deepest = self.limits.size(Limit::Depth);
        self.plain_end = self.shapes.find(allowed, deepest, places);
        if let Some(end) = self.plain_end {
            return TracePiece::Event(end);
        }
        places.clear();
        self.plain_end = plain_object(allowed, deepest, |key, place| places.put(key, place));
        if let Some(end) = self.plain_end {
            places.finish(end);
            self.shapes.learn(allowed, places);
            return TracePiece::Event(end);
        }
        if let Some(end) = self.texts.hold(allowed, &self.limits) {
            return TracePiece::Event(end);
        }
        match value_end(window, 0, self.limit) {
            TraceEnd::At(end) => TracePiece::Event(end),
            TraceEnd::Cut if !eof => {
                TracePiece::Need(window.len().saturating_mul(2).max(LOOKAHEAD))
            }
            TraceEnd::Cut | TraceEnd::TooLong => self.lost(window, eof, "truncated_event"),
        }
    }

    fn member(&mut self, window: &[u8], eof: bool) -> TracePiece {
        let more = TracePiece::Need(window.len().saturating_mul(2).max(LOOKAHEAD));
        let key_end = match value_end(window, 0, self.limit) {
            TraceEnd::At(end) => end,
            TraceEnd::Cut if !eof => return more,
            TraceEnd::Cut | TraceEnd::TooLong => return self.lost(window, eof, "truncated_member"),
        };
        let rest = subslice(window, key_end..);
        let gap = |byte: &&u8| is_space(**byte) || **byte == b':';
        let from = key_end + rest.iter().take_while(gap).count();
        let Some(&byte) = window.get(from) else {
            if eof || window.len() > self.limit {
                return self.lost(window, eof, "truncated_member");
            }
            return more;
        };
        if window.get(..key_end) == Some(b"\"traceEvents\"") && byte == b'[' {
            self.state = SplitState::Events { bare: false };
            return TracePiece::Text(from + 1);
        }
        if matches!(byte, b',' | b'}' | b']') {
            return TracePiece::Damage(from, "json_key_without_value");
        }
        match value_end(window, from, self.limit) {
            TraceEnd::At(end) => TracePiece::Member(0, from, end),
            // A number is whole when something follows it.
            TraceEnd::Cut if !eof => more,
            TraceEnd::Cut | TraceEnd::TooLong => self.lost(window, eof, "truncated_member"),
        }
    }

    /// Steps over bytes up to what looks like the next event, a block at a time.
    fn lost(&mut self, window: &[u8], eof: bool, kind: &'static str) -> TracePiece {
        if !eof && window.len() < LOOKAHEAD {
            return TracePiece::Need(LOOKAHEAD);
        }
        let block = window.get(..LOOKAHEAD).unwrap_or(window);
        let starts = |pair: &[u8]| matches!(pair, [b'\n' | b',' | b'[' | b' ', b'{']);
        let found = block.windows(2).skip(1).position(starts);
        match found {
            Some(at) => {
                if matches!(self.state, SplitState::Start | SplitState::Object) {
                    self.state = SplitState::Events { bare: false };
                }
                TracePiece::Damage(at + 2, kind)
            }
            // The last byte of a block may be the first one of the mark.
            None if block.len() == LOOKAHEAD => TracePiece::Damage(LOOKAHEAD - 1, kind),
            None => TracePiece::Damage(block.len(), kind),
        }
    }
}

/// Space is a piece of its own; if the window ends in it, what follows decides what it belongs to, unless there is much of it.
fn space(window: &[u8], eof: bool) -> TracePiece {
    let len = window.iter().take_while(|&&byte| is_space(byte)).count();
    match len == window.len() && len < LOOKAHEAD && !eof {
        true => TracePiece::Need(len + 1),
        false => TracePiece::Text(len.min(LOOKAHEAD)),
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

enum TraceEnd {
    At(usize),
    Cut,
    TooLong,
}

/// Finds where the value that begins at `from` ends.
fn value_end(window: &[u8], from: usize, limit: usize) -> TraceEnd {
    let mut depth = 0_usize;
    let mut at = from;
    let first = window.get(from).copied();
    let scalar = !matches!(first, Some(b'{' | b'[' | b'"'));
    while let Some(&byte) = window.get(at) {
        if at - from > limit {
            return TraceEnd::TooLong;
        }
        match byte {
            b'"' => {
                let Some(end) = string_end(window, at) else {
                    let long = window.len() - from > limit;
                    return if long {
                        TraceEnd::TooLong
                    } else {
                        TraceEnd::Cut
                    };
                };
                at = end;
                if depth == 0 && !scalar {
                    return TraceEnd::At(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return TraceEnd::At(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return TraceEnd::At(at + 1);
                }
            }
            b',' if depth == 0 => return TraceEnd::At(at),
            byte if depth == 0 && scalar && is_space(byte) => return TraceEnd::At(at),
            _ => {}
        }
        at += 1;
    }
    if window.len() - from > limit {
        TraceEnd::TooLong
    } else {
        TraceEnd::Cut
    }
}

/// Finds the byte after the closing quote of a string.
fn string_end(window: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        let rest = window.get(at..)?;
        let next = quote_or_backslash(rest)?;
        if rest.get(next) == Some(&b'"') {
            return Some(at + next + 1);
        }
        at += next + 2;
    }
}
