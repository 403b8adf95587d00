//! The names in a filter that only the data can know.

use super::Filter;

/// A counter, parameter or label that a filter names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedName<'f> {
    /// The name in lower case.
    pub name: &'f str,
    /// It is compared with a number that has no unit.
    pub bare: bool,
    /// It may as well be the beginning of a word to look for: `x=1`.
    pub word: bool,
}

impl Filter {
    /// Returns the counters, parameters and labels that are named, in the order of the text.
    ///
    /// ```
    /// use traceloom_analysis::filter::Filter;
    /// let filter: Filter = "duration > 1s and cpu>5 and $web.url=/orders".parse().unwrap();
    /// let names: Vec<_> = filter.asked_names().into_iter().map(|asked| (asked.name, asked.bare)).collect();
    /// assert_eq!(names, [("cpu", true), ("web.url", false)]);
    /// ```
    #[must_use]
    pub fn asked_names(&self) -> Vec<AskedName<'_>> {
        let mut names = Vec::new();
        let mut work = vec![self];
        while let Some(filter) = work.pop() {
            match filter {
                Self::All(terms) | Self::Any(terms) => work.extend(terms.iter().rev()),
                Self::Not(term) => work.push(term),
                Self::First(rules) => work.extend(rules.iter().rev().map(|(when, _)| when)),
                Self::Param { name, .. } => names.push(AskedName {
                    name,
                    bare: false,
                    word: false,
                }),
                Self::Compare(comparison) => names.extend(comparison.asked(false)),
                Self::WordOrComparison(_, comparison) => names.extend(comparison.asked(true)),
                Self::Text(_) | Self::Method { .. } | Self::Failed => {}
            }
        }
        names
    }
}
