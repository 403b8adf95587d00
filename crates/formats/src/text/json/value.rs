//! A value of a parsed text.

use std::borrow::Cow;

use traceloom_model::bounds::subslice;

use super::parse::{Document, JsonNode};
use super::plain::TokenPlace;
use super::text::unescape;
use super::token::{Token, scale, short_key, short_key_of};

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, kept as text.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object; keys keep their order and may repeat.
    Object,
}

/// A value and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    row: usize,
    node: &'d JsonNode,
}

impl<'d> Value<'d> {
    pub(super) fn new(document: &'d Document<'_>, row: usize, node: &'d JsonNode) -> Self {
        Self {
            document,
            row,
            node,
        }
    }

    /// Returns what it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.node.kind
    }

    /// Returns the offset of its first byte in the text.
    #[must_use]
    pub fn start(self) -> usize {
        self.node.start as usize
    }

    /// Returns the offset after its last byte.
    #[must_use]
    pub fn end(self) -> usize {
        self.node.end as usize
    }

    /// Returns its row in the document: equal rows are equal values.
    #[must_use]
    pub fn row(self) -> usize {
        self.row
    }

    /// Returns its bytes as they stand in the text.
    #[must_use]
    pub fn raw(self) -> &'d [u8] {
        self.slice(self.start(), self.end())
    }

    fn slice(self, start: usize, end: usize) -> &'d [u8] {
        subslice(self.document.bytes, start..end)
    }

    /// Returns its key in the enclosing object.
    #[must_use]
    pub fn key(self) -> Option<Cow<'d, [u8]>> {
        let (start, end) = self.node.key;
        let raw = self.slice(start as usize, end as usize);
        self.node.keyed.then(|| match self.node.is_key_escaped {
            true => unescape(raw),
            false => Cow::Borrowed(raw),
        })
    }

    /// Returns its key as [`short_key`] packs it, if it has at most eight bytes and no escapes.
    #[inline]
    pub(crate) fn short_key(self) -> Option<u64> {
        let (start, end) = self.node.key;
        let len = end.checked_sub(start).filter(|len| *len <= 8)?;
        let (start, end) = (start as usize, end as usize);
        if !self.node.keyed || self.node.is_key_escaped {
            return None;
        }
        let Some(word) = self
            .document
            .bytes
            .get(start..)
            .and_then(<[u8]>::first_chunk)
        else {
            return Some(short_key(self.slice(start, end)));
        };
        Some(short_key_of(u64::from_le_bytes(*word), len))
    }

    /// Iterates over the elements of an array or the members of an object; over nothing for others.
    pub fn items(self) -> impl Iterator<Item = Self> + 'd {
        let end = self.node.next as usize;
        let mut row = self.row + 1;
        std::iter::from_fn(move || {
            if row >= end {
                return None;
            }
            let value = self.document.value(row)?;
            row = value.node.next as usize;
            Some(value)
        })
    }

    /// Returns the member `key` of an object; the last one when it repeats.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        if self.kind() != Kind::Object {
            return None;
        }
        self.items()
            .filter(|item| item.key().is_some_and(|found| *found == *key.as_bytes()))
            .last()
    }

    /// Returns where it is in the text.
    #[inline]
    pub(crate) fn place(self) -> TokenPlace {
        TokenPlace {
            start: self.node.start,
            end: self.node.end,
            is_escaped: self.node.is_escaped,
        }
    }

    /// Returns it as it stands in the text.
    #[inline]
    pub(crate) fn token(self) -> Token<'d> {
        Token::new(self.kind(), self.raw(), self.node.is_escaped)
    }

    /// Returns the bytes of a string, escapes resolved; lone surrogates in their three-byte form.
    #[must_use]
    pub fn bytes(self) -> Option<Cow<'d, [u8]>> {
        self.token().bytes()
    }

    /// Returns a string for people: invalid sequences become U+FFFD.
    #[must_use]
    pub fn text(self) -> Option<Cow<'d, str>> {
        self.token().text()
    }

    /// Returns the word that tells one id from another: its text, whatever its type.
    pub(crate) fn word(self) -> Cow<'d, [u8]> {
        self.token().word()
    }

    /// Returns its word in memory of its own.
    pub(crate) fn owned_word(self) -> Box<[u8]> {
        self.word().into()
    }

    /// Returns the text of a number as it is written.
    #[must_use]
    pub fn number(self) -> Option<&'d str> {
        self.token().number()
    }

    /// Returns a whole number that fits; `3.0` and `1e3` count as whole.
    #[must_use]
    pub fn i64(self) -> Option<i64> {
        let text = self.number()?;
        if let Ok(whole) = text.parse() {
            return Some(whole);
        }
        let float: f64 = text.parse().ok()?;
        // Above 2^53 a float no longer says which whole number was meant.
        let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within 2^53 by the line above"
        )]
        exact.then_some(float as i64)
    }

    /// Returns a whole number that is not negative and fits.
    #[must_use]
    pub fn u64(self) -> Option<u64> {
        let text = self.number()?;
        text.parse()
            .ok()
            .or_else(|| self.i64().and_then(|whole| u64::try_from(whole).ok()))
    }

    /// Returns a number as a float.
    #[must_use]
    pub fn f64(self) -> Option<f64> {
        self.number()?.parse().ok()
    }

    /// Returns a number times `factor`, rounded down, exactly: never through a float.
    ///
    /// None for other values and for results outside `i64`.
    #[must_use]
    pub fn scaled(self, factor: i64) -> Option<i64> {
        scale(self.number()?, factor)
    }
}
