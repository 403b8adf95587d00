//! The text of a trace in pieces: the members of the outermost object, and each event of its array.
//!
//! Files above what memory holds are common, and many end in the middle because the program that wrote
//! them did. So nothing is parsed but where a value ends: an event is handed on when it is whole.

use traceloom_model::{Limit, Limits};

/// What lies at the beginning of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// So many bytes that are no value: brackets, commas, space.
    Text(usize),
    /// An event: where its value begins, and where it ends.
    Event(usize, usize),
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
enum State {
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
pub(super) struct Splitter {
    state: State,
    limit: usize,
    /// The array of events was never closed.
    pub(super) unterminated: bool,
}

/// Bytes around damage that must be seen to find the next event.
const LOOKAHEAD: usize = 4096;

impl Splitter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            state: State::Start,
            limit: limits.size(Limit::String),
            unterminated: false,
        }
    }

    /// Looks at the first bytes of a window; nothing follows it when `eof`.
    pub(super) fn next(&mut self, window: &[u8], eof: bool) -> Piece {
        if window.is_empty() {
            self.unterminated |= eof && matches!(self.state, State::Events { .. } | State::Object);
            return Piece::End;
        }
        let space = window.iter().take_while(|&&byte| is_space(byte)).count();
        let Some(&byte) = window.get(space) else {
            // Space alone: what follows it decides what it belongs to, unless there is much of it.
            return if eof || window.len() >= LOOKAHEAD {
                Piece::Text(window.len().min(LOOKAHEAD))
            } else {
                Piece::Need(window.len() + 1)
            };
        };
        if space > 0 {
            return Piece::Text(space.min(LOOKAHEAD));
        }
        match (self.state, byte) {
            (State::Start, 0xef) if window.starts_with(b"\xef\xbb\xbf") => Piece::Text(3),
            (State::Start, 0xef) if window.len() < 3 && !eof => Piece::Need(3),
            (State::Start, b'[') => self.go(State::Events { bare: true }),
            (State::Start, b'{') => self.go(State::Object),
            (State::Object, b',') | (State::Events { .. }, b',') => Piece::Text(1),
            (State::Object, b'}') => self.go(State::Done),
            (State::Object, b'"') => self.member(window, eof),
            (State::Events { bare: true }, b']') => self.go(State::Done),
            (State::Events { bare: false }, b']') => self.go(State::Object),
            (State::Events { .. }, b'{') => self.event(window, eof),
            (State::Events { .. }, _) => self.lost(window, eof, "unexpected_bytes"),
            (State::Done, _) if !eof && window.len() < LOOKAHEAD => Piece::Need(LOOKAHEAD),
            (State::Done, _) => Piece::Damage(window.len().min(LOOKAHEAD), "bytes_after_document"),
            (State::Start | State::Object, _) => self.lost(window, eof, "unexpected_bytes"),
        }
    }

    fn go(&mut self, state: State) -> Piece {
        self.state = state;
        Piece::Text(1)
    }

    fn event(&mut self, window: &[u8], eof: bool) -> Piece {
        match value_end(window, 0, self.limit) {
            End::At(end) => Piece::Event(0, end),
            End::Cut if !eof => Piece::Need(window.len().saturating_mul(2).max(LOOKAHEAD)),
            End::Cut | End::TooLong => self.lost(window, eof, "truncated_event"),
        }
    }

    fn member(&mut self, window: &[u8], eof: bool) -> Piece {
        let more = Piece::Need(window.len().saturating_mul(2).max(LOOKAHEAD));
        let key_end = match value_end(window, 0, self.limit) {
            End::At(end) => end,
            End::Cut if !eof => return more,
            End::Cut | End::TooLong => return self.lost(window, eof, "truncated_member"),
        };
        let rest = window.get(key_end..).unwrap_or(&[]);
        let gap = |byte: &&u8| is_space(**byte) || **byte == b':';
        let from = key_end + rest.iter().take_while(gap).count();
        let Some(&byte) = window.get(from) else {
            if eof || window.len() > self.limit {
                return self.lost(window, eof, "truncated_member");
            }
            return more;
        };
        if window.get(..key_end) == Some(b"\"traceEvents\"") && byte == b'[' {
            self.state = State::Events { bare: false };
            return Piece::Text(from + 1);
        }
        if matches!(byte, b',' | b'}' | b']') {
            return Piece::Damage(from, "json_key_without_value");
        }
        match value_end(window, from, self.limit) {
            End::At(end) => Piece::Member(0, from, end),
            // A number is whole when something follows it.
            End::Cut if !eof => more,
            End::Cut | End::TooLong => self.lost(window, eof, "truncated_member"),
        }
    }

    /// Steps over bytes up to what looks like the next event, a block at a time.
    fn lost(&mut self, window: &[u8], eof: bool, kind: &'static str) -> Piece {
        if !eof && window.len() < LOOKAHEAD {
            return Piece::Need(LOOKAHEAD);
        }
        let block = window.get(..LOOKAHEAD).unwrap_or(window);
        let starts = |pair: &[u8]| matches!(pair, [b'\n' | b',' | b'[' | b' ', b'{']);
        let found = block.windows(2).skip(1).position(starts);
        match found {
            Some(at) => {
                if matches!(self.state, State::Start | State::Object) {
                    self.state = State::Events { bare: false };
                }
                Piece::Damage(at + 2, kind)
            }
            // The last byte of a block may be the first one of the mark.
            None if block.len() == LOOKAHEAD => Piece::Damage(LOOKAHEAD - 1, kind),
            None => Piece::Damage(block.len(), kind),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

enum End {
    At(usize),
    Cut,
    TooLong,
}

/// Finds where the value that begins at `from` ends.
fn value_end(window: &[u8], from: usize, limit: usize) -> End {
    let mut depth = 0_usize;
    let mut at = from;
    let first = window.get(from).copied();
    let scalar = !matches!(first, Some(b'{' | b'[' | b'"'));
    while let Some(&byte) = window.get(at) {
        if at - from > limit {
            return End::TooLong;
        }
        match byte {
            b'"' => {
                let Some(end) = string_end(window, at) else {
                    let long = window.len() - from > limit;
                    return if long { End::TooLong } else { End::Cut };
                };
                at = end;
                if depth == 0 && !scalar {
                    return End::At(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return End::At(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return End::At(at + 1);
                }
            }
            b',' if depth == 0 => return End::At(at),
            byte if depth == 0 && scalar && is_space(byte) => return End::At(at),
            _ => {}
        }
        at += 1;
    }
    if window.len() - from > limit {
        End::TooLong
    } else {
        End::Cut
    }
}

/// Finds the byte after the closing quote of a string.
fn string_end(window: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        let rest = window.get(at..)?;
        let next = memchr::memchr2(b'"', b'\\', rest)?;
        if rest.get(next) == Some(&b'"') {
            return Some(at + next + 1);
        }
        at += next + 2;
    }
}
