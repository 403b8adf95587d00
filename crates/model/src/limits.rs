//! Limits: how much a reader is willing to believe.

use std::fmt;

use crate::bounds::in_memory;

/// One limit; [`Limits`] holds a value for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Bytes of one string.
    String,
    /// Nesting depth of spans or values.
    Depth,
    /// Entries of one table (dictionary, constant pool, symbol table).
    Table,
    /// Spans open at once.
    OpenSpans,
    /// Values, parameters or attributes of one record.
    Values,
    /// Bytes of one record or message.
    Record,
    /// Bytes that one part decodes to.
    PartBytes,
    /// Bytes that all parts of an input decode to.
    TotalBytes,
    /// Decoded bytes for each stored one, above 256 MiB.
    Ratio,
}

impl Limit {
    /// Returns the name that sets it.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }
}

const TABLE: [(Limit, &str, u64, &str); 9] = [
    (Limit::String, "string", 16 << 20, "bytes of one string"),
    (
        Limit::Depth,
        "depth",
        1 << 20,
        "nesting depth of spans or values",
    ),
    (Limit::Table, "table", 64 << 20, "entries of one table"),
    (
        Limit::OpenSpans,
        "open_spans",
        1 << 20,
        "spans open at once",
    ),
    (Limit::Values, "values", 1 << 20, "values of one record"),
    (Limit::Record, "record", 1 << 30, "bytes of one record"),
    (
        Limit::PartBytes,
        "part_bytes",
        1 << 40,
        "bytes that one compressed part, member or stream decodes to",
    ),
    (
        Limit::TotalBytes,
        "total_bytes",
        4 << 40,
        "bytes that all of an input decode to",
    ),
    (
        Limit::Ratio,
        "ratio",
        1000,
        "decoded bytes for each stored one, above 256 MiB",
    ),
];

/// The limits in force. A hit is a `damage` note `limit_…` and reading goes on at the next unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    values: [u64; TABLE.len()],
}

/// `--limit` named a limit that does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownLimit(pub String);

impl fmt::Display for UnknownLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown limit `{}`; there are", self.0)?;
        for (_, name, _, _) in TABLE {
            write!(f, " {name}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownLimit {}

impl Default for Limits {
    fn default() -> Self {
        Self {
            values: TABLE.map(|(_, _, value, _)| value),
        }
    }
}

impl Limits {
    /// Returns the value of `limit`.
    #[must_use]
    pub fn of(&self, limit: Limit) -> u64 {
        self.values[limit as usize]
    }

    /// Returns the value of `limit` for comparing with lengths in memory.
    #[must_use]
    pub fn size(&self, limit: Limit) -> usize {
        in_memory(self.of(limit))
    }

    /// Sets the limit called `name`.
    ///
    /// # Errors
    /// [`UnknownLimit`] when there is none of that name.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), UnknownLimit> {
        let found = TABLE.iter().find(|(_, known, _, _)| *known == name);
        let &(limit, ..) = found.ok_or_else(|| UnknownLimit(name.to_owned()))?;
        self.values[limit as usize] = value;
        Ok(())
    }

    /// Iterates over name, value in force and meaning of each limit.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, u64, &'static str)> {
        TABLE
            .iter()
            .map(|&(limit, name, _, meaning)| (name, self.of(limit), meaning))
    }
}
