//! From text to syntax tree.
//!
//! ```text
//! filter = { term }
//! term   = [ "+" | "-" ] ( phrase | "$" name "=" ( phrase | word ) | word )
//! phrase = "'" text "'" | '"' text '"'
//! ```
//!
//! A word ends at white space. Signs, `$` and quotes mean something at the start of a term only, so
//! `a-b`, `x=1` and `don't` are words. Terms without sign are alternatives: one of them must match.

use std::str::FromStr;

use super::{Filter, FilterError, Needle};

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Parser { text, rest: text }.filter()
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
}

impl Parser<'_> {
    fn filter(mut self) -> Result<Filter, FilterError> {
        let mut alternatives = Vec::new();
        let mut all = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() {
                break;
            }
            if self.take('+') {
                all.push(self.term()?);
            } else if self.take('-') {
                all.push(Filter::Not(Box::new(self.term()?)));
            } else {
                alternatives.push(self.term()?);
            }
        }
        if alternatives.len() == 1 {
            all.append(&mut alternatives);
        } else if !alternatives.is_empty() {
            all.push(Filter::Any(alternatives));
        }
        Ok(Filter::All(all))
    }

    fn term(&mut self) -> Result<Filter, FilterError> {
        if self.take('$') {
            return self.param();
        }
        if let Some(phrase) = self.phrase()? {
            return Ok(Filter::Text(Needle::new(&phrase)));
        }
        let word = self.until(char::is_whitespace);
        if word.is_empty() {
            return Err(self.error("expected a word or a 'phrase' after the sign"));
        }
        Ok(Filter::Text(Needle::new(&word)))
    }

    fn param(&mut self) -> Result<Filter, FilterError> {
        let name = self.until(|c| c == '=' || c.is_whitespace());
        if name.is_empty() {
            return Err(self.error("expected the name of a parameter after $"));
        }
        if !self.take('=') {
            return Err(self.error("expected = after the name of the parameter"));
        }
        let value = match self.phrase()? {
            Some(phrase) => phrase,
            None => self.until(char::is_whitespace),
        };
        Ok(Filter::Param {
            name: name.to_lowercase(),
            value: Needle::new(&value),
        })
    }

    fn phrase(&mut self) -> Result<Option<String>, FilterError> {
        let before = self.rest;
        let quote = match before.chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Ok(None),
        };
        self.take(quote);
        let phrase = self.until(|c| c == quote);
        if !self.take(quote) {
            self.rest = before;
            return Err(self.error("this quote is never closed"));
        }
        if phrase.is_empty() {
            self.rest = before;
            return Err(self.error("an empty phrase is everywhere"));
        }
        Ok(Some(phrase))
    }

    fn take(&mut self, sign: char) -> bool {
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn until(&mut self, stop: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }

    fn error(&self, message: &'static str) -> FilterError {
        let consumed = self.text.len() - self.rest.len();
        let before = self.text.get(..consumed).unwrap_or(self.text);
        FilterError {
            column: before.chars().count() + 1,
            message,
            expression: self.text.to_owned(),
        }
    }
}
