//! A question about recordings in one form, whoever asks it: flags, the address of a page, a program.
//!
//! A query is pairs of a name and a text, the same in an address (`q=duration%20%3E%201s&svc=shop`), in JSON (an object of
//! texts) and behind flags. What each name means and which texts it takes is decided here alone.
//!
//! ```
//! use traceloom_analysis::query::Query;
//!
//! let query = Query::of([("svc", "shop"), ("q", "duration > 1s"), ("sort", "-duration")])?;
//! assert_eq!(query.services, ["shop"]);
//! assert_eq!(Query::of(query.pairs().iter().map(|(name, text)| (*name, text.as_str())))?, query);
//! # Ok::<(), traceloom_analysis::query::QueryError>(())
//! ```

use std::fmt;

use crate::filter::{Filter, FilterError, moment};

/// Which calls, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The filter expression (`q`); empty lets everything pass.
    pub filter: String,
    /// Services whose captures are read (`svc`, repeated); none for all.
    pub services: Vec<String>,
    /// Captures that are read (`capture`, repeated); none for all.
    pub captures: Vec<String>,
    /// Unix nanoseconds of the first moment (`from`).
    pub from: Option<i64>,
    /// Unix nanoseconds of the moment after the last (`to`).
    pub to: Option<i64>,
    /// The column to sort by, `-` before it for falling order (`sort`).
    pub sort: String,
    /// Columns (`cols`, with commas between); none for those of the view.
    pub columns: Vec<String>,
    /// Most rows (`n`).
    pub rows: usize,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            filter: String::new(),
            services: Vec::new(),
            captures: Vec::new(),
            from: None,
            to: None,
            sort: Self::BY_START.to_owned(),
            columns: Vec::new(),
            rows: Self::ROWS,
        }
    }
}

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The name in front of the text that is wrong.
    pub name: String,
    /// Column of the character at fault, from 1, in a filter.
    pub column: Option<usize>,
    /// A sentence.
    pub message: String,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)?;
        self.column
            .map_or(Ok(()), |column| write!(f, " (column {column})"))
    }
}

impl std::error::Error for QueryError {}

impl Query {
    /// Rows where nobody says how many.
    pub const ROWS: usize = 200;
    /// Most rows that can be asked for.
    pub const MOST_ROWS: usize = 10_000;
    /// The order where nobody says which: the newest first.
    const BY_START: &str = "-start";

    /// Reads a query from pairs. Names that are not its own are passed over: an address has others as well.
    ///
    /// # Errors
    /// For the first text that its name does not take.
    pub fn of<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for (name, text) in pairs {
            let wrong = |message: String| QueryError {
                name: name.to_owned(),
                column: None,
                message,
            };
            let when = || {
                moment(text)
                    .map(Some)
                    .ok_or_else(|| wrong(not_a_moment(text)))
            };
            match name {
                "q" => {
                    check_filter(text)?;
                    text.clone_into(&mut query.filter);
                }
                "svc" => query.services.push(text.to_owned()),
                "capture" => query.captures.push(text.to_owned()),
                "from" => query.from = when()?,
                "to" => query.to = when()?,
                "sort" if text.trim_start_matches('-').is_empty() => {
                    return Err(wrong("the name of a column is missing".to_owned()));
                }
                "sort" => text.clone_into(&mut query.sort),
                "cols" => {
                    let names = text.split(',').filter(|name| !name.is_empty());
                    query.columns = names.map(str::to_owned).collect();
                }
                "n" => {
                    let rows = text.parse().ok();
                    let rows = rows.filter(|rows| (1..=Self::MOST_ROWS).contains(rows));
                    query.rows = rows.ok_or_else(|| {
                        wrong(format!(
                            "`{text}` is no number from 1 to {}",
                            Self::MOST_ROWS
                        ))
                    })?;
                }
                _ => {}
            }
        }
        match (query.from, query.to) {
            (Some(from), Some(to)) if to <= from => Err(QueryError {
                name: "to".to_owned(),
                column: None,
                message: "it is not after `from`".to_owned(),
            }),
            _ => Ok(query),
        }
    }

    /// Returns the pairs that [`Query::of`] reads, without those that are as nobody said anything.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let plain = Self::default();
        let mut pairs = Vec::new();
        let mut add = |name, text: String, is_plain: bool| {
            if !is_plain {
                pairs.push((name, text));
            }
        };
        add("q", self.filter.clone(), self.filter.is_empty());
        for service in &self.services {
            add("svc", service.clone(), false);
        }
        for capture in &self.captures {
            add("capture", capture.clone(), false);
        }
        for (name, time) in [("from", self.from), ("to", self.to)] {
            add(name, time.unwrap_or_default().to_string(), time.is_none());
        }
        add("sort", self.sort.clone(), self.sort == plain.sort);
        add("cols", self.columns.join(","), self.columns.is_empty());
        add("n", self.rows.to_string(), self.rows == plain.rows);
        pairs
    }
}

fn check_filter(text: &str) -> Result<(), QueryError> {
    let filter: Result<Filter, FilterError> = text.parse();
    filter.map(drop).map_err(|error| QueryError {
        name: "q".to_owned(),
        column: Some(error.column),
        message: error.message.into_owned(),
    })
}

fn not_a_moment(text: &str) -> String {
    format!(
        "`{text}` is no date such as 2026-03-01T12:00:00Z, and no number of nanoseconds since 1970"
    )
}

#[cfg(test)]
mod tests;
