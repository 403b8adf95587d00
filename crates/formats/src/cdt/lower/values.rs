//! Big values: strings of the sql and xml streams, read where tags point to (§7).

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::in_memory;
use traceloom_model::{Limits, Note, PartId, StringId, Tables};

use crate::cdt::text;
use crate::cdt::trace::ValueReference;
use crate::wire::Cursor;
use crate::{ErrorKind, Pull, Source};

/// Which stream a value is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Big {
    Xml,
    Sql,
}

impl Big {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Sql => "sql",
        }
    }
}

/// A stream that is open where the last value ended: most references go forward.
struct OpenValueStream<'s> {
    part: usize,
    pull: Box<dyn Pull + 's>,
    at: u64,
    consumed: usize,
}

/// Resolves references, remembering those that repeat.
pub(super) struct Values<'s> {
    source: &'s dyn Source,
    sql: BTreeMap<u32, usize>,
    xml: BTreeMap<u32, usize>,
    /// Statements, which trees share: those met lately, and those met before them.
    known: HashMap<ValueReference, StringId, RandomState>,
    older: HashMap<ValueReference, StringId, RandomState>,
    /// Bytes of the texts that were met lately.
    known_bytes: usize,
    /// References that were looked at without keeping what they refer to.
    seen: HashSet<(Big, ValueReference), RandomState>,
    open: [Option<OpenValueStream<'s>>; 2],
    missing: HashSet<(Big, u32), RandomState>,
    string_limit: usize,
}

/// Bytes of texts remembered at once, and what remembering one costs besides.
const KNOWN: usize = 2 << 20;
const KNOWN_COST: usize = 64;
/// Bytes stepped over rather than opening a part again.
const NEAR: u64 = 1 << 20;
/// Bytes kept behind the last value: threads write their values as their blocks are written, so that references in
/// the order of time go back a little.
const BEHIND: usize = 256 << 10;

impl<'s> Values<'s> {
    pub(super) fn new(
        source: &'s dyn Source,
        sql: BTreeMap<u32, usize>,
        xml: BTreeMap<u32, usize>,
        limits: &Limits,
    ) -> Self {
        Self {
            source,
            sql,
            xml,
            known: HashMap::default(),
            older: HashMap::default(),
            known_bytes: 0,
            seen: HashSet::default(),
            open: [None, None],
            missing: HashSet::default(),
            string_limit: text::limit(limits),
        }
    }

    /// Returns the text at a place that the tag `from` names, a part and an offset; a marker and a note when
    /// there is none.
    pub(super) fn text(
        &mut self,
        big: Big,
        place: ValueReference,
        from: (u32, u64),
        tables: &mut Tables,
    ) -> (StringId, Option<Note>) {
        if big == Big::Sql {
            if let Some(&id) = self.known.get(&place) {
                return (id, None);
            }
            if let Some(id) = self.older.remove(&place) {
                self.known.insert(place, id);
                return (id, None);
            }
        }
        let (text, note) = match self.read(big, place, from) {
            Ok(text) => (text, None),
            Err(note) => {
                let marker = format!("#{} {}:{}", big.name(), place.file_index, place.offset);
                (marker.into_bytes(), note)
            }
        };
        let id = tables.value(&text);
        // A long value is a call's own.
        if big == Big::Sql {
            if self.known_bytes > KNOWN {
                self.older = std::mem::take(&mut self.known);
                self.known_bytes = 0;
            }
            self.known_bytes += text.len() + KNOWN_COST;
            self.known.insert(place, id);
        }
        (id, note)
    }

    /// Looks whether there is a text at a place that the tag `from` names, and keeps nothing of it; a note
    /// when there is none.
    pub(super) fn check(
        &mut self,
        big: Big,
        place: ValueReference,
        from: (u32, u64),
    ) -> Option<Note> {
        if self.seen.len() * KNOWN_COST > 2 * KNOWN {
            self.seen.clear();
        }
        if !self.seen.insert((big, place)) {
            return None;
        }
        self.read(big, place, from).err().flatten()
    }

    /// Returns the texts that are remembered.
    pub(super) fn known(&self) -> impl Iterator<Item = StringId> {
        self.known.values().chain(self.older.values()).copied()
    }

    fn read(
        &mut self,
        big: Big,
        place: ValueReference,
        (part, offset): (u32, u64),
    ) -> Result<Vec<u8>, Option<Note>> {
        let files = match big {
            Big::Sql => &self.sql,
            Big::Xml => &self.xml,
        };
        if let Some(&part) = files.get(&place.file_index) {
            return self.read_part(big, part, place).map_err(Some);
        }
        let new = self.missing.insert((big, place.file_index));
        let text = format!(
            "{} file {} is missing: values in it stay unresolved",
            big.name(),
            place.file_index
        );
        let note = || Note {
            part: PartId(part),
            ..crate::warn("missing_values", offset, text)
        };
        Err(new.then(note))
    }

    fn read_part(&mut self, big: Big, part: usize, place: ValueReference) -> Result<Vec<u8>, Note> {
        let offset = u64::from(place.offset);
        let slot = match big {
            Big::Xml => 0,
            Big::Sql => 1,
        };
        let here = PartId::nth(part);
        let fail = |text: String| Note {
            part: here,
            ..crate::warn("bad_value_reference", offset, text)
        };
        let held = self.open.get_mut(slot).and_then(Option::take);
        let near =
            held.filter(|open| open.part == part && open.at <= offset && offset - open.at <= NEAR);
        let mut open = match near {
            Some(open) => open,
            None => OpenValueStream {
                part,
                pull: self
                    .source
                    .open(part, offset)
                    .map_err(|error| fail(error.to_string()))?,
                at: offset,
                consumed: 0,
            },
        };
        let mut need = 1;
        let text = loop {
            let chunk = open
                .pull
                .pull(open.consumed, need)
                .map_err(|error| fail(error.to_string()))?;
            open.at = chunk.offset;
            open.consumed = 0;
            let ahead = in_memory(offset - chunk.offset);
            let Some(bytes) = chunk.bytes.get(ahead..).filter(|bytes| !bytes.is_empty()) else {
                if chunk.eof {
                    return Err(fail(format!(
                        "{} has no value there: it ends before",
                        big.name()
                    )));
                }
                need = ahead.saturating_add(1);
                continue;
            };
            let mut cursor = Cursor::new(bytes, offset);
            match text::string(&mut cursor, self.string_limit, "value") {
                Ok(text) => {
                    open.consumed = (ahead + cursor.position()).saturating_sub(BEHIND);
                    open.at = chunk.offset + open.consumed as u64;
                    break text.to_wtf8();
                }
                Err(error) => match error.kind() {
                    ErrorKind::Truncated { need: more } if !chunk.eof => {
                        need = chunk.bytes.len().saturating_add(more);
                    }
                    _ => return Err(fail(error.to_string())),
                },
            }
        };
        if let Some(slot) = self.open.get_mut(slot) {
            *slot = Some(open);
        }
        Ok(text)
    }
}
