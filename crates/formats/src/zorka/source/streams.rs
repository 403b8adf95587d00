//! Parts as streams: chunks in the order of their numbers, cut anywhere.

use super::super::parts::PartName;
use super::super::{Reader, TwoItems, Visit};
use super::{PartRole, role};
use crate::codec::each_window;
use crate::{Chunk, Error, Source, Step};

/// Parts that are one stream.
#[derive(Debug)]
pub(super) struct StreamParts {
    pub(super) parts: Vec<usize>,
}

impl StreamParts {
    pub(super) fn first(&self) -> usize {
        self.parts.first().copied().unwrap_or(0)
    }
}

/// Joins the chunks of a capture in the order of their numbers, unless the whole is there too.
///
/// Request dumps come first: other files of the folder may be copies of their bodies.
pub(super) fn streams(source: &dyn Source) -> Vec<StreamParts> {
    let parts = source.parts();
    let mut all: Vec<StreamParts> = Vec::new();
    let mut chunks: Vec<(PartName<'_>, Vec<(u64, usize)>)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let name = PartName::of(&part.name);
        let Some(number) = name.chunk else {
            all.push(StreamParts { parts: vec![at] });
            continue;
        };
        let same = |known: &PartName<'_>| known.folder == name.folder && known.stem == name.stem;
        match chunks.iter_mut().find(|(known, _)| same(known)) {
            Some((_, list)) => list.push((number, at)),
            None => chunks.push((name, vec![(number, at)])),
        }
    }
    for (_, mut list) in chunks {
        list.sort_unstable();
        let parts = list.into_iter().map(|(_, at)| at).collect();
        all.push(StreamParts { parts });
    }
    all.sort_by_key(|stream| {
        let first = stream.first();
        (role(source, first) != PartRole::Requests, first)
    });
    all
}

/// Reads a stream to a visitor, part after part.
pub(super) fn visit(
    source: &dyn Source,
    parts: &[usize],
    stream: &mut Reader,
    visitor: &mut impl Visit,
) -> Result<bool, Error> {
    if let &[only] = parts {
        let mut pull = source.open(only, 0)?;
        return each_window(pull.as_mut(), 1, |chunk| stream.read(chunk, visitor));
    }
    let mut carry = Carry::default();
    for (at, &part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let mut pull = source.open(part, 0)?;
        let fed = each_window(pull.as_mut(), 1, |chunk| {
            match carry.feed(stream, chunk.bytes, chunk.eof && last, visitor) {
                true => Step::More {
                    consumed: chunk.bytes.len(),
                    need: 1,
                },
                false => Step::Stop,
            }
        })?;
        if !fed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes that an item left for the next piece of its stream.
#[derive(Debug, Default)]
pub(super) struct Carry {
    pub(super) bytes: Vec<u8>,
    offset: u64,
    need: usize,
}

impl Carry {
    /// Bytes that nothing was read of yet.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    pub(super) fn feed(
        &mut self,
        stream: &mut Reader,
        bytes: &[u8],
        eof: bool,
        visitor: &mut impl Visit,
    ) -> bool {
        self.bytes.extend_from_slice(bytes);
        // Looked at only when there is as much as the item asked for: else a long one costs its square.
        if self.bytes.len() < self.need && !eof {
            return true;
        }
        let chunk = Chunk {
            bytes: &self.bytes,
            offset: self.offset,
            eof,
        };
        let Step::More { consumed, need } = stream.read(chunk, visitor) else {
            return false;
        };
        self.bytes.drain(..consumed.min(self.bytes.len()));
        self.offset += consumed as u64;
        self.need = need;
        true
    }
}

pub(super) fn begin_of(source: &dyn Source, part: usize) -> TwoItems {
    let format = source.parts().get(part).and_then(|part| part.format);
    match format.map_or("", |format| format.name) {
        "zorka-s0" | "zorka-s0b" => TwoItems::Type,
        _ => TwoItems::Guess,
    }
}

pub(super) fn size(source: &dyn Source, part: usize) -> Result<u64, Error> {
    if let Some(size) = source.parts().get(part).and_then(|part| part.size) {
        return Ok(size);
    }
    let mut size = 0;
    each_piece(source, part, |bytes| size += bytes.len() as u64)?;
    Ok(size)
}

/// Shows the bytes of a part piece by piece.
pub(super) fn each_piece(
    source: &dyn Source,
    part: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Error> {
    each_window(source.open(part, 0)?.as_mut(), 1, |window| {
        take(window.bytes);
        Step::More {
            consumed: window.bytes.len(),
            need: 1,
        }
    })?;
    Ok(())
}

/// Tells contents apart, however they are cut into windows (FNV-1a and the length).
#[derive(Debug)]
pub(super) struct Fingerprint {
    state: u64,
    len: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self {
            state: 0xcbf2_9ce4_8422_2325,
            len: 0,
        }
    }
}

impl Fingerprint {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.state = (self.state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.len += bytes.len() as u64;
    }

    pub(super) const fn value(&self) -> u64 {
        self.state ^ self.len.rotate_left(32)
    }
}
