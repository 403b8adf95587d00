//! The filter language: one syntax tree, one parser, one meaning for every command.
//!
//! ```
//! use traceloom_analysis::filter::{CallView, Filter};
//!
//! struct Request;
//! impl CallView for Request {
//!     fn method(&self) -> std::borrow::Cow<'_, str> { "com.acme.Shop.buy".into() }
//!     fn params(&self, each: &mut dyn FnMut(&str, &str) -> bool) -> bool { each("web.url", "/orders/7") }
//! }
//!
//! let filter: Filter = "orders invoices -'Shop.sell' $web.url=/7".parse().unwrap();
//! assert!(filter.accepts(&Request));
//! let filter: Filter = "not duration > 1ms and (class ~ 'acme.*Shop' or error)".parse().unwrap();
//! assert!(filter.accepts(&Request));
//! ```

mod asked;
mod compare;
mod hide;
mod parse;
mod rules;
mod sample;
mod selection;
mod time;

pub use asked::AskedName;
pub use compare::{Comparison, Field, Operator};
pub use hide::{Hide, HideSurvey};
pub(crate) use rules::class_and_method;
pub use rules::{Pattern, RuleError, rules};
pub(crate) use sample::{EventFilter, SampleFilter};
pub use selection::{CallOfRow, Selection};
pub use time::{is_timestamp, moment};

use std::borrow::Cow;
use std::fmt;

/// What a filter can ask of a call or of a sample.
pub trait CallView {
    /// Returns the name of the method that was called.
    fn method(&self) -> Cow<'_, str>;

    /// Hands out the names of all methods that are known of it until `each` returns true; returns whether it did.
    ///
    /// A call has one; a sample those on its stack.
    fn methods(&self, each: &mut dyn FnMut(&str) -> bool) -> bool {
        each(&self.method())
    }

    /// Hands out the names of the classes it is of until `each` returns true; returns whether it did.
    fn classes(&self, each: &mut dyn FnMut(&str) -> bool) -> bool {
        self.methods(&mut |name| each(rules::class_and_method(name).0))
    }

    /// Returns what the call did, in words, where the producer says.
    fn title(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Hands out name and value of each parameter until `each` returns true; returns whether it did.
    fn params(&self, _each: &mut dyn FnMut(&str, &str) -> bool) -> bool {
        false
    }

    /// Returns how long it took, in nanoseconds.
    fn duration(&self) -> Option<u64> {
        None
    }

    /// Returns when it began, in nanoseconds.
    fn time(&self) -> Option<i64> {
        None
    }

    /// Returns true if it failed.
    fn failed(&self) -> bool {
        false
    }

    /// Returns the name of the track it ran on.
    fn thread(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the service it belongs to.
    fn service(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the machine it ran on.
    fn host(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the producer's word for its kind.
    fn kind(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns its trace across processes, in hexadecimal.
    fn trace(&self) -> Option<String> {
        None
    }

    /// Returns what the producer counted under this name, which is in lower case.
    fn counter(&self, _name: &str) -> Option<i64> {
        None
    }
}

/// A filter as a syntax tree.
///
/// Both the words of the CDT page and the rules of TPTP's filter files parse to this; a new kind of
/// condition is a new variant and an arm in [`Filter::accepts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Every one of these; nothing to ask when empty.
    All(Vec<Filter>),
    /// At least one of these; nothing passes when empty.
    Any(Vec<Filter>),
    /// Not this.
    Not(Box<Filter>),
    /// The text occurs in the method, the title or a parameter value, in any case.
    Text(Needle),
    /// The text occurs in a value of the parameter of this name.
    Param {
        /// Name, in any case.
        name: String,
        /// What its value holds.
        value: Needle,
    },
    /// The class and the name of the method match.
    Method {
        /// The class, with its package.
        class: Pattern,
        /// The method.
        method: Pattern,
    },
    /// A field compares as asked.
    Compare(Comparison),
    /// The text occurs as for [`Filter::Text`], or the field it may name compares as asked: `x=1` without spaces.
    WordOrComparison(Needle, Comparison),
    /// It failed.
    Failed,
    /// What the first of these says whose condition holds; everything passes that none holds for.
    First(Vec<(Filter, bool)>),
}

/// Text to look for in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    /// In lower case.
    lower: String,
}

impl Needle {
    /// Builds a needle.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            lower: text.to_lowercase(),
        }
    }

    /// Returns the text in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.lower
    }

    /// Returns `true` if a method, the title or the value of a parameter holds it.
    fn occurs(&self, call: &dyn CallView) -> bool {
        call.methods(&mut |name| self.is_in(name))
            || call.title().is_some_and(|title| self.is_in(&title))
            || call.params(&mut |_, value| self.is_in(value))
    }

    /// Returns true if `text` holds it.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        if !self.lower.is_ascii() || !text.is_ascii() {
            return text.to_lowercase().contains(&self.lower);
        }
        let needle = self.lower.as_bytes();
        needle.is_empty()
            || text
                .as_bytes()
                .windows(needle.len())
                .any(|window| window.eq_ignore_ascii_case(needle))
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// Returns true if every call passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::All(terms) => terms.is_empty(),
            Self::First(rules) => rules.is_empty(),
            _ => false,
        }
    }

    /// Returns true if a method of this name passes, where nothing else is known of the call.
    #[must_use]
    pub fn admits(&self, method: &str) -> bool {
        struct NamedRule<'n>(&'n str);
        impl CallView for NamedRule<'_> {
            fn method(&self) -> Cow<'_, str> {
                self.0.into()
            }
        }
        self.accepts(&NamedRule(method))
    }

    /// Returns true if more than names, threads and parameters is asked for: a time, or what was counted.
    pub(crate) fn asks_for_values(&self) -> bool {
        match self {
            Self::All(terms) | Self::Any(terms) => terms.iter().any(Self::asks_for_values),
            Self::Not(term) => term.asks_for_values(),
            Self::First(rules) => rules.iter().any(|(when, _)| when.asks_for_values()),
            Self::Compare(comparison) | Self::WordOrComparison(_, comparison) => {
                comparison.asks_for_values()
            }
            Self::Text(_) | Self::Param { .. } | Self::Method { .. } | Self::Failed => false,
        }
    }

    /// Returns the filter that passes what both do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Self::All(vec![self, other]),
        }
    }

    /// Returns true if `call` passes.
    #[must_use]
    pub fn accepts(&self, call: &dyn CallView) -> bool {
        match self {
            Self::All(terms) => terms.iter().all(|term| term.accepts(call)),
            Self::Any(terms) => terms.iter().any(|term| term.accepts(call)),
            Self::Not(term) => !term.accepts(call),
            Self::Text(needle) => needle.occurs(call),
            Self::WordOrComparison(needle, comparison) => {
                needle.occurs(call) || comparison.accepts(call)
            }
            Self::Param { name, value } => {
                call.params(&mut |known, held| known.to_lowercase() == *name && value.is_in(held))
            }
            Self::Method { class, method } => call.methods(&mut |name| {
                let (of, called) = rules::class_and_method(name);
                class.matches(of) && method.matches(called)
            }),
            Self::Compare(comparison) => comparison.accepts(call),
            Self::Failed => call.failed(),
            Self::First(rules) => {
                let first = rules.iter().find(|(when, _)| when.accepts(call));
                first.is_none_or(|&(_, keep)| keep)
            }
        }
    }
}

/// Why an expression is no filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Column of the character at fault, from 1.
    pub column: usize,
    /// What was expected.
    pub message: Cow<'static, str>,
    expression: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (column {})", self.message, self.column)?;
        writeln!(f, "  {}", self.expression)?;
        // A width in braces is at most 65,535.
        write!(f, "  {}^", " ".repeat(self.column.saturating_sub(1)))
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests;
