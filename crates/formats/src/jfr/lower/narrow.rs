//! A source with short windows, for tests.

use std::cell::Cell;

use traceloom_model::bounds::subslice;

use super::super::FORMAT;
use crate::{Chunk, Error, Part, Pull, Source};

/// A source whose windows hold a few bytes more than is asked for.
pub(super) struct Narrow<'b> {
    parts: [Part; 1],
    bytes: &'b [u8],
    spare: usize,
    /// The most bytes that were asked for at once.
    pub(super) most: Cell<usize>,
}

struct NarrowPull<'n>(&'n Narrow<'n>, usize);

impl<'b> Narrow<'b> {
    pub(super) fn new(bytes: &'b [u8], spare: usize) -> Self {
        Self {
            parts: [Part {
                name: "a.jfr".to_owned(),
                format: Some(&FORMAT),
                size: Some(bytes.len() as u64),
            }],
            bytes,
            spare,
            most: Cell::default(),
        }
    }
}

impl Source for Narrow<'_> {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn open(&self, _part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let at = usize::try_from(offset).unwrap();
        Ok(Box::new(NarrowPull(self, at)))
    }
}

impl Pull for NarrowPull<'_> {
    fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, Error> {
        let Self(of, at) = self;
        of.most.set(of.most.get().max(need));
        *at = (*at + consumed).min(of.bytes.len());
        let end = (*at + need + of.spare).min(of.bytes.len());
        Ok(Chunk {
            bytes: subslice(of.bytes, *at..end),
            offset: *at as u64,
            eof: end == of.bytes.len(),
        })
    }
}
