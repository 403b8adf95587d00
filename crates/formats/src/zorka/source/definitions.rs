//! What is known of a source before it is lowered: its definitions, and whether it has a wall clock.

use std::collections::HashMap;

use traceloom_model::{Flow, Limits, Note};

use super::super::parts::PartName;
use super::super::record::{Item, Record};
use super::super::requests::symbols;
use super::super::session::SessionSymbols;
use super::super::{Reader, TwoItems, Visit};
use super::streams::{StreamParts, visit};
use super::{PartRole, role};
use crate::{Error, Source};

/// Stops at the first begin: the source has a wall clock.
struct FirstBegin(bool);

impl Visit for FirstBegin {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        self.0 = matches!(
            record.item,
            Item::Begin(_) | Item::Info { key: 5, .. } | Item::Chunk(_)
        );
        if self.0 {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Returns true if any record of the source has a wall clock.
pub(super) fn clock(
    source: &dyn Source,
    streams: &[StreamParts],
    limits: &Limits,
) -> Result<bool, Error> {
    let mut found = FirstBegin(false);
    for stream in streams {
        match role(source, stream.first()) {
            // Posts and blocks are made of marked traces.
            PartRole::Requests | PartRole::Store => return Ok(true),
            PartRole::Definitions => {}
            PartRole::Items => {
                let mut items = Reader::new(limits, TwoItems::Guess);
                visit(
                    source,
                    &stream.parts,
                    &mut items,
                    &mut (&mut found as &mut dyn Visit),
                )?;
            }
        }
        if found.0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the dictionaries of a folder define, all together and by the captures they belong to.
#[derive(Debug, Default)]
pub(super) struct CaptureDefinitions {
    pub(super) union: SessionSymbols,
    pub(super) by_stem: HashMap<String, SessionSymbols>,
}

struct DefinitionCollector<'c> {
    union: &'c mut SessionSymbols,
    own: &'c mut SessionSymbols,
    limits: Limits,
}

impl Visit for DefinitionCollector<'_> {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        // A full table is noted where the part is lowered.
        match record.item {
            Item::Symbol(symbol) => {
                let _ = self.union.define(symbol, &self.limits);
                let _ = self.own.define(symbol, &self.limits);
            }
            Item::Method(method) => {
                let _ = self.union.define_method(method, &self.limits);
                let _ = self.own.define_method(method, &self.limits);
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

pub(super) fn stem(source: &dyn Source, part: usize) -> String {
    let name = source.parts().get(part).map_or("", |part| &part.name);
    let name = PartName::of(name);
    format!("{}{}", name.folder, name.stem)
}

impl CaptureDefinitions {
    pub(super) fn read(
        source: &dyn Source,
        streams: &[StreamParts],
        limits: &Limits,
    ) -> Result<Self, Error> {
        let mut all = Self::default();
        for stream in streams {
            let part = stream.first();
            if role(source, part) != PartRole::Definitions {
                continue;
            }
            let own = all.by_stem.entry(stem(source, part)).or_default();
            let mut collect = DefinitionCollector {
                union: &mut all.union,
                own,
                limits: *limits,
            };
            if let Some(table) = json_table(source, part, limits)? {
                for (id, text) in table {
                    let _ = collect.union.define_text(id, text.as_bytes(), true, limits);
                    let _ = collect.own.define_text(id, text.as_bytes(), true, limits);
                }
                continue;
            }
            let mut items = Reader::new(limits, TwoItems::Guess);
            visit(
                source,
                &stream.parts,
                &mut items,
                &mut (&mut collect as &mut dyn Visit),
            )?;
        }
        Ok(all)
    }
}

/// Reads a part that is a table of symbols in JSON; none when it is anything else.
pub(super) fn json_table(
    source: &dyn Source,
    part: usize,
    limits: &Limits,
) -> Result<Option<Vec<(u64, String)>>, Error> {
    let most = limits.size(traceloom_model::Limit::Record);
    let mut pull = source.open(part, 0)?;
    let mut need = 1;
    loop {
        let chunk = pull.pull(0, need)?;
        if chunk.bytes.first().is_some_and(|&byte| byte != b'{') || chunk.bytes.len() > most {
            return Ok(None);
        }
        if chunk.eof {
            return Ok(symbols(chunk.bytes));
        }
        need = chunk.bytes.len().saturating_mul(2).max(4096);
    }
}
