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

mod partial;

use std::fmt;

use crate::Dimension;
use crate::calls::CallsAfter;
use crate::filter::{Filter, FilterError, moment};
pub use partial::PartialRead;

/// Which calls, in which order, or in which shape of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The filter expression (`q`); empty lets everything pass.
    pub filter: String,
    /// Services whose captures are read (`svc`, repeated), by their name or as `NAMESPACE/NAME`; none for all.
    pub services: Vec<String>,
    /// Captures that are read (`capture`, repeated); none for all.
    pub captures: Vec<String>,
    /// Versions of services whose captures are read (`version`, repeated); none for all.
    pub versions: Vec<String>,
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
    /// The place that an earlier page ended with, as [`crate::calls::CallsAfter`] has it (`after`).
    pub after: Option<String>,
    /// Bytes of captures that are read at most, the newest first (`budget`); `None` for what whoever answers goes by.
    pub budget: Option<u64>,
    /// What becomes of stacks and calls where a tree is asked for.
    pub shape: Shape,
}

/// A tree of calls or samples.
///
/// What it is compared with is told by `base`, `base_version`, `base_from` and `base_to`: other captures, another version, another
/// stretch of time, or several of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The value, by the name that `--value` takes (`value`); `None` for the one that the file shows.
    pub value: Option<String>,
    /// What frames are: a word of [`crate::Dimension`], or `thread` (`by`).
    pub by: Option<String>,
    /// A regular expression; stacks without a frame of it are left out (`focus`).
    pub focus: Option<String>,
    /// A regular expression; stacks with a frame of it are left out (`ignore`).
    pub ignore: Option<String>,
    /// A regular expression; its frames are left out, and what they call counts with their callers (`hide`).
    pub hide: Option<String>,
    /// From functions to their callers (`up=1`).
    pub upwards: bool,
    /// Captures that are compared with: they are before, those of the query after (`base`, repeated); none for the same.
    pub base: Vec<String>,
    /// Versions that are compared with (`base_version`, repeated); none for those of the query.
    pub base_versions: Vec<String>,
    /// Unix nanoseconds of the first moment before (`base_from`); where this and the next are `None`, the stretch is that of the
    /// query.
    pub base_from: Option<i64>,
    /// Unix nanoseconds of the moment after the last before (`base_to`).
    pub base_to: Option<i64>,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            filter: String::new(),
            services: Vec::new(),
            captures: Vec::new(),
            versions: Vec::new(),
            from: None,
            to: None,
            sort: Self::BY_START.to_owned(),
            columns: Vec::new(),
            rows: Self::ROWS,
            after: None,
            budget: None,
            shape: Shape::default(),
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
                "version" => query.versions.push(text.to_owned()),
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
                "after" => {
                    text.parse::<CallsAfter>().map_err(wrong)?;
                    query.after = Some(text.to_owned());
                }
                "budget" => {
                    let bytes = text.parse().ok().filter(|&bytes| bytes > 0);
                    let bytes =
                        bytes.ok_or_else(|| wrong(format!("`{text}` is no number of bytes")))?;
                    query.budget = Some(bytes);
                }
                "by" if text != "thread" && Dimension::of_word(text).is_none() => {
                    return Err(wrong(format!(
                        "`{text}` is none of method, line, class, package, library and thread"
                    )));
                }
                "by" => query.shape.by = Some(text.to_owned()),
                "value" => query.shape.value = Some(text.to_owned()),
                "focus" => query.shape.focus = Some(text.to_owned()),
                "ignore" => query.shape.ignore = Some(text.to_owned()),
                "hide" => query.shape.hide = Some(text.to_owned()),
                "up" => query.shape.upwards = text == "1",
                "base" => query.shape.base.push(text.to_owned()),
                "base_version" => query.shape.base_versions.push(text.to_owned()),
                "base_from" => query.shape.base_from = when()?,
                "base_to" => query.shape.base_to = when()?,
                _ => {}
            }
        }
        let shape = &query.shape;
        for (name, other, from, to) in [
            ("to", "from", query.from, query.to),
            ("base_to", "base_from", shape.base_from, shape.base_to),
        ] {
            if from.zip(to).is_some_and(|(from, to)| to <= from) {
                return Err(QueryError {
                    name: name.to_owned(),
                    column: None,
                    message: format!("it is not after `{other}`"),
                });
            }
        }
        Ok(query)
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
        for version in &self.versions {
            add("version", version.clone(), false);
        }
        for (name, time) in [("from", self.from), ("to", self.to)] {
            add(name, time.unwrap_or_default().to_string(), time.is_none());
        }
        add("sort", self.sort.clone(), self.sort == plain.sort);
        add("cols", self.columns.join(","), self.columns.is_empty());
        add("n", self.rows.to_string(), self.rows == plain.rows);
        let budget = self.budget.map(|bytes| bytes.to_string());
        let shape = &self.shape;
        for (name, text) in [
            ("after", &self.after),
            ("budget", &budget),
            ("value", &shape.value),
            ("by", &shape.by),
            ("focus", &shape.focus),
            ("ignore", &shape.ignore),
            ("hide", &shape.hide),
        ] {
            add(name, text.clone().unwrap_or_default(), text.is_none());
        }
        add("up", "1".to_owned(), !shape.upwards);
        for base in &shape.base {
            add("base", base.clone(), false);
        }
        for version in &shape.base_versions {
            add("base_version", version.clone(), false);
        }
        for (name, time) in [("base_from", shape.base_from), ("base_to", shape.base_to)] {
            add(name, time.unwrap_or_default().to_string(), time.is_none());
        }
        pairs
    }
}

impl Shape {
    /// Returns `true` if something is compared with.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        !self.base.is_empty()
            || !self.base_versions.is_empty()
            || self.base_from.is_some()
            || self.base_to.is_some()
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
