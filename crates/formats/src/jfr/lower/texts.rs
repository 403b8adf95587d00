//! What the ids of a chunk stand for, as text: for `dump --resolve`.

use std::cell::RefCell;

use traceloom_model::{Limits, Recording, Sink, StackId, Tables};

use super::super::header::Header;
use super::super::record::Resolve;
use super::super::value::DecodingRules;
use super::super::walk::Outline;
use super::chunk_pools::{ChunkPools, Types};
use super::constants::Constants;

/// The constants of one chunk, collected when somebody asks for one.
pub(in super::super) struct ChunkConstants<'c> {
    chunk: &'c [u8],
    header: &'c Header,
    rules: DecodingRules<'c>,
    limits: &'c Limits,
    told: RefCell<Option<DefinedConstants<'c>>>,
}

impl<'c> ChunkConstants<'c> {
    pub(in super::super) fn new(
        chunk: &'c [u8],
        header: &'c Header,
        rules: DecodingRules<'c>,
        limits: &'c Limits,
    ) -> Self {
        Self {
            chunk,
            header,
            rules,
            limits,
            told: RefCell::default(),
        }
    }

    fn collect(&self) -> DefinedConstants<'c> {
        let compressed = self.header.compressed();
        let schema = self.rules.schema;
        let types = Types {
            known: (!schema.types.is_empty()).then_some(schema),
            schema,
        };
        let outline = Outline::of(self.chunk, compressed, &mut |_| false);
        let all = |_| true;
        let chunk_pools =
            ChunkPools::of(self.chunk, self.header, &outline, types, self.limits, &all);
        let clock = self.header.clock();
        DefinedConstants {
            constants: Constants::new(self.rules, clock, self.chunk, compressed, chunk_pools.pools),
            tables: Tables::new(),
            rows: Recording::default(),
        }
    }
}

impl Resolve for ChunkConstants<'_> {
    fn resolve(&self, table: &str, id: u64) -> Option<String> {
        let mut told = self.told.try_borrow_mut().ok()?;
        told.get_or_insert_with(|| self.collect()).find(table, id)
    }
}

/// What was told so far.
struct DefinedConstants<'c> {
    constants: Constants<'c>,
    tables: Tables,
    /// Rows of stacks and frames, which tables do not give back.
    rows: Recording,
}

impl DefinedConstants<'_> {
    /// Returns the text of constant `key` of the type called `table`; of several types of that name, of the
    /// one whose pool has it.
    fn find(&mut self, table: &str, key: u64) -> Option<String> {
        let types = self.constants.schema().types.iter().enumerate();
        let mut named = types
            .filter(|(_, found)| found.name == table)
            .map(|(index, _)| index);
        let index = named.find(|&index| self.constants.pools.find(index, key).is_some())?;
        if self.constants.schema().last_word(index) == "StackTrace" {
            let stack = self.constants.stack(index, key, &mut self.tables)?;
            let _ = self.rows.define(self.tables.take_definitions());
            return Some(self.stack(stack));
        }
        let text = self.constants.text(index, key, &mut self.tables)?;
        Some(String::from_utf8_lossy(self.tables.string_bytes(text)).into_owned())
    }

    /// Frames, innermost first, each with the line it is at.
    fn stack(&self, stack: StackId) -> String {
        let mut frames = Vec::new();
        let mut next = Some(stack);
        let mut truncated = false;
        while let Some(row) = next.and_then(|id| self.rows.stack(id)) {
            truncated |= row.truncated;
            let frame = self.rows.frame(row.frame);
            let function = frame.and_then(|frame| frame.function);
            let name = function.map_or("?".into(), |id| self.rows.function_name(id));
            frames.push(match frame.map_or(0, |frame| frame.line) {
                0 => name.into_owned(),
                line => format!("{name}:{line}"),
            });
            next = row.parent;
        }
        if truncated {
            frames.push("\u{2026}".to_owned());
        }
        frames.join(" < ")
    }
}
