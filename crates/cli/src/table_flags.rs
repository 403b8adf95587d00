//! The flags by which commands print rows.

use clap::builder::StyledStr;
use clap::{Arg, Args};

/// How rows are printed.
#[derive(Args, Clone, Default)]
pub(crate) struct TableFlags {
    /// Rows to print; 0 prints all, as without it.
    #[arg(short = 'n', long, value_name = "ROWS")]
    pub(crate) rows: Option<usize>,
    /// Print full names and exact numbers.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Print JSON Lines, one row a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

impl TableFlags {
    /// Returns how many rows are printed, `usize::MAX` for all; `unasked` for people where no number is given.
    pub(crate) fn most(&self, unasked: usize) -> usize {
        match self.rows {
            Some(0) => usize::MAX,
            Some(rows) => rows,
            None if self.is_for_programs() => usize::MAX,
            None => unasked,
        }
    }

    /// Returns `true` if a program reads what is printed.
    pub(crate) const fn is_for_programs(&self) -> bool {
        self.json || self.csv
    }

    /// Returns `true` if cells hold full names and exact numbers.
    pub(crate) const fn is_exact(&self) -> bool {
        self.csv || self.wide
    }
}

/// Help of `wide` where rows are functions.
pub(crate) const SHORTENED: &str = "Print full names instead of shortened ones";

/// Gives a shared flag the help of one command.
pub(crate) fn help(text: impl Into<StyledStr>) -> impl FnOnce(Arg) -> Arg {
    |arg| arg.help(text)
}
