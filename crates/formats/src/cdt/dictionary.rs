//! Dictionary: words numbered in order of arrival, or with their numbers (§3).

use traceloom_model::{Flow, Limits};

use super::phrase::{Rows, Score, score};
use super::text;
use crate::wire::{Cursor, Utf16, put_u32_varint};
use crate::{Error, Field, Record, RecordSink};

/// One word, borrowed from the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word<'a> {
    /// The number that calls and trace use for it.
    pub id: u32,
    /// A method or the name of a parameter; may be empty and still has a number.
    pub text: Utf16<'a>,
}

/// How a dictionary is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// In phrases.
    pub framed: bool,
    /// Every word carries its number (posDictionary, callsDictionary).
    pub explicit: bool,
}

impl Variant {
    /// Tells the variant from the head of a stream; `None` when it is no dictionary.
    ///
    /// Bytes that read as words in several ways are taken for the way that gives Latin text: words are
    /// methods and names.
    #[must_use]
    pub fn of(head: &[u8], whole: bool) -> Option<Self> {
        let mut best = None;
        for (framed, explicit) in [(true, false), (true, true), (false, false), (false, true)] {
            let read = score(head, whole, framed, |cursor, score| {
                if explicit {
                    cursor.varint32("id")?;
                }
                text::string(cursor, 1 << 20, "word").map(|text| count(score, text))
            });
            let Some(read) = read else { continue };
            // The other variants read frames and numbers as words, mostly empty or odd ones: in the
            // right one nearly every byte belongs to a Latin letter.
            let latin = (read.units - read.odd.min(read.units)) * 2;
            let cost = (read.consumed + 1 - latin) * 1000 / (read.consumed + 1);
            // What fills its phrases has them. Without them long words look like better text wherever a reader begins.
            let cost = (read.filled == 0 || read.rows < 2, cost);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, Self { framed, explicit }));
            }
        }
        best.map(|(_, variant)| variant)
    }
}

/// Counts the code units of a string, and those that are no Latin text.
pub(super) fn count(score: &mut Score, text: Utf16<'_>) {
    score.units += text.units();
    let odd = |&unit: &u16| unit >= 0x250 || (unit < 0x20 && !matches!(unit, 9 | 10 | 13));
    score.odd += text.code_units().filter(odd).count();
}

/// The record reader of words.
#[derive(Clone)]
pub(super) struct Words {
    string_limit: usize,
    explicit: bool,
    next: u32,
}

impl Words {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            string_limit: text::limit(limits),
            explicit: false,
            next: 0,
        }
    }

    /// Reads a word without emitting it.
    pub(super) fn word<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<Word<'a>, Error> {
        let id = if self.explicit {
            cursor.varint32("word id")?
        } else {
            self.next
        };
        let text = text::string(cursor, self.string_limit, "word")?;
        self.next = self.next.saturating_add(1);
        Ok(Word { id, text })
    }
}

impl Rows for Words {
    const WHAT: &'static str = "word";

    fn row(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let word = self.word(cursor)?;
        Ok(out.record(&WordRecord {
            word,
            explicit: self.explicit,
            offset,
            raw: cursor.slice(start, cursor.position()),
            exact: !cursor.take_padded(),
        }))
    }

    fn decide(&mut self, head: &[u8], whole: bool) -> bool {
        let variant = Variant::of(head, whole).unwrap_or(Variant {
            framed: false,
            explicit: false,
        });
        self.explicit = variant.explicit;
        variant.framed
    }
}

struct WordRecord<'a> {
    word: Word<'a>,
    explicit: bool,
    offset: u64,
    raw: &'a [u8],
    exact: bool,
}

impl Record for WordRecord<'_> {
    fn kind(&self) -> &'static str {
        "word"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("id", Field::Id("dictionary", u64::from(self.word.id)));
        show("word", Field::Utf16(self.word.text.0));
    }

    fn write(&self, out: &mut Vec<u8>) {
        if !self.exact {
            return out.extend_from_slice(self.raw);
        }
        if self.explicit {
            put_u32_varint(out, self.word.id);
        }
        text::put(out, self.word.text);
    }
}
