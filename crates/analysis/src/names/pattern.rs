//! How a person names functions: as a table prints them, or by a regular expression.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use regex_lite::Regex;

use super::short::{has_ends, printed};
use super::{alike, shorten};

/// A name of a function, or a regular expression for names.
///
/// A text that is a function's name as a table prints it means that function: its full name, its short name, or either
/// with `…` where a narrow terminal cut it. Any other text is a regular expression and means every function whose full
/// or short name it matches.
#[derive(Clone, Debug)]
pub struct FunctionPattern {
    text: String,
    regex: Result<Regex, String>,
}

/// The functions that a pattern means among those of a view.
#[derive(Clone, Debug)]
pub enum FunctionMatch {
    /// The function of this full name.
    Name(String),
    /// The functions whose names are like this one, see [`alike`].
    Alike(String),
    /// The functions that match.
    Regex(Regex),
    /// None: the text is no regular expression either.
    Nothing,
}

/// Why a pattern means no functions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The name may be any of these functions; sorted.
    Ambiguous(String, Vec<String>),
    /// No function has the name, and it is no regular expression.
    Invalid(String, String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        match self {
            Self::Ambiguous(text, names) => {
                let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
                let more = match names.len().saturating_sub(SHOWN) {
                    0 => String::new(),
                    more => format!(" or {more} more"),
                };
                write!(
                    f,
                    "`{text}` may be {}{more}; write one of them",
                    shown.join(" or ")
                )
            }
            Self::Invalid(text, reason) => write!(
                f,
                "`{text}` is neither the name of a function here nor a regular expression: {reason}"
            ),
        }
    }
}

impl std::error::Error for PatternError {}

impl FromStr for FunctionPattern {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self {
            text: text.to_owned(),
            regex: Regex::new(text).map_err(|error| error.to_string()),
        })
    }
}

impl fmt::Display for FunctionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FunctionPattern {
    /// Finds what is meant among the names of a view.
    ///
    /// # Errors
    /// When the text is the short or cut name of several functions, or no function's and no regular expression.
    pub fn find<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<FunctionMatch, PatternError> {
        if let Some(name) = literal(&self.text, names, str::to_owned)? {
            return Ok(FunctionMatch::Name(name.to_owned()));
        }
        match &self.regex {
            Ok(regex) => Ok(FunctionMatch::Regex(regex.clone())),
            Err(reason) => Err(PatternError::Invalid(self.text.clone(), reason.clone())),
        }
    }

    /// Finds what is meant among the names of one of two recordings that are compared: functions whose names are
    /// alike are one, and one that the other recording alone has is no mistake.
    ///
    /// # Errors
    /// When the text is the short or cut name of several functions.
    pub fn find_alike<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str> + Clone,
    ) -> Result<FunctionMatch, PatternError> {
        if let Some(name) = find_alike(&self.text, names)? {
            return Ok(FunctionMatch::Alike(alike(name).into_owned()));
        }
        let regex = self.regex.clone().map(FunctionMatch::Regex);
        Ok(regex.unwrap_or(FunctionMatch::Nothing))
    }
}

/// Returns a name that is meant by `text`, where functions whose names are alike are one.
///
/// # Errors
/// When the text is the short or cut name of several functions.
pub(crate) fn find_alike<'n>(
    text: &str,
    names: impl IntoIterator<Item = &'n str> + Clone,
) -> Result<Option<&'n str>, PatternError> {
    let key = |name: &str| alike(name).into_owned();
    if let Some(name) = literal(text, names.clone(), key)? {
        return Ok(Some(name));
    }
    let wanted = alike(text);
    Ok(names.into_iter().find(|name| alike(name) == wanted))
}

/// Returns the name that `text` is as a table prints it; names of one `key` are one function's.
fn literal<'n>(
    text: &str,
    names: impl IntoIterator<Item = &'n str>,
    key: impl Fn(&str) -> String,
) -> Result<Option<&'n str>, PatternError> {
    let text = text.trim();
    let ends = text.split_once('…');
    let mut full: BTreeMap<String, &str> = BTreeMap::new();
    let mut short: BTreeMap<String, &str> = BTreeMap::new();
    let mut cut: BTreeMap<String, &str> = BTreeMap::new();
    for name in names {
        let whole = printed(name);
        let brief = shorten(name);
        let brief = printed(&brief);
        if name == text || whole == text {
            full.insert(key(name), name);
        } else if brief == text {
            short.insert(key(name), name);
        } else if let Some((head, tail)) = ends
            && (has_ends(&whole, head, tail) || has_ends(&brief, head, tail))
        {
            cut.insert(key(name), name);
        }
    }
    for found in [full, short, cut] {
        match found.len() {
            0 => {}
            1 => return Ok(found.into_values().next()),
            _ => {
                let names: BTreeSet<String> = found
                    .into_values()
                    .map(|name| printed(name).into_owned())
                    .collect();
                let names = names.into_iter().collect();
                return Err(PatternError::Ambiguous(text.to_owned(), names));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbol;

    const NAMES: [&str; 6] = [
        "com.acme.Order.buy(int)",
        "com.ajax.Order.buy",
        "com.acme.Order.sell",
        "main",
        "main.(*Server).Serve",
        "domain\n",
    ];

    fn meant(text: &str) -> Result<Vec<&'static str>, PatternError> {
        let pattern: FunctionPattern = text.parse().unwrap();
        let found = pattern.find(NAMES)?;
        let names = NAMES.into_iter();
        Ok(names
            .filter(|name| found.is_match(&Symbol::named(*name)))
            .collect())
    }

    #[test]
    fn a_printed_name_is_one_function_and_anything_else_a_regular_expression() {
        let one = |text| meant(text).unwrap();
        assert_eq!(one("main"), ["main"]);
        assert_eq!(one("c.a.Order.sell"), ["com.acme.Order.sell"]);
        assert_eq!(one("com.acme.Order.buy(int)"), ["com.acme.Order.buy(int)"]);
        assert_eq!(one("main.(*Server).Serve"), ["main.(*Server).Serve"]);
        assert_eq!(one(r"domain\n"), ["domain\n"]);
        assert_eq!(one("com.ac…sell"), ["com.acme.Order.sell"]);
        assert_eq!(one("main$"), ["main"]);
        assert_eq!(one("^c.a.Order.buy$").len(), 2);
        assert_eq!(one("Order"), NAMES[..3]);
    }

    #[test]
    fn a_name_of_several_functions_lists_them() {
        let error = meant("c.a.Order.buy").unwrap_err().to_string();
        assert_eq!(
            error,
            "`c.a.Order.buy` may be com.acme.Order.buy(int) or com.ajax.Order.buy; write one of them"
        );
        let error = meant("c.a…buy").unwrap_err().to_string();
        assert!(error.contains("com.ajax.Order.buy"), "{error}");
        let error = meant("main.(*Client").unwrap_err().to_string();
        assert!(error.contains("neither the name of a function"), "{error}");
    }

    #[test]
    fn in_a_comparison_functions_that_are_alike_are_one() {
        let names = ["a.B$$Lambda$14.run", "a.B$$Lambda$15.run", "a.C.run(int)"];
        let pattern: FunctionPattern = "a.B$$Lambda$99.run".parse().unwrap();
        let found = pattern.find_alike(names).unwrap();
        let meant = |name: &&str| found.is_match(&Symbol::named(*name));
        assert_eq!(names.iter().filter(|name| meant(name)).count(), 2);
        let pattern: FunctionPattern = "gone.(*T".parse().unwrap();
        assert!(matches!(
            pattern.find_alike(names),
            Ok(FunctionMatch::Nothing)
        ));
    }
}
