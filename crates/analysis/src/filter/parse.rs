//! From text to syntax tree; docs/filter.md tells users the same.
//!
//! ```text
//! filter     = [ or ]
//! or         = and { "or" and }
//! and        = unary { "and" unary }
//! unary      = "not" unary | words
//! words      = { [ "+" | "-" ] primary }
//! primary    = "(" or ")" | comparison | phrase | "$" name "=" ( phrase | word ) | word
//! comparison = ( field | name ) operator ( phrase | word )
//! operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
//! phrase     = "'" text "'" | '"' text '"'
//! ```
//!
//! A word ends at white space. Signs, `$`, `(` and quotes mean something at the start of a term only, so
//! `a-b`, `run()` and `don't` are words. An operator is one behind a field's name, where a space is on one side of
//! it, and behind any other name where a number follows `<`, `<=`, `>` or `>=`, or the operator is `!=` or `!~`.
//! `x=1` and `x~1` may be either, a word or a comparison. Terms without sign are alternatives: one of them must match.

use std::borrow::Cow;
use std::str::FromStr;

use super::compare::{Comparison, ExactDecimal, Field, Operand, Operator};
use super::{Filter, FilterError, Needle};

/// Parentheses and `not` within each other.
const DEEPEST: usize = 64;

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = FilterParser::new(text, false);
        let filter = parser.filter()?;
        // On its own it is a word that people look for; among conditions it is one.
        if parser.conditions && parser.lone_error {
            return FilterParser::new(text, true).filter();
        }
        Ok(filter)
    }
}

struct FilterParser<'t> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
    /// Something of the text is more than words and phrases.
    conditions: bool,
    /// The word `error` stood where a condition may.
    lone_error: bool,
    error_is_condition: bool,
}

impl<'t> FilterParser<'t> {
    fn new(text: &'t str, error_is_condition: bool) -> Self {
        Self {
            text,
            rest: text,
            depth: 0,
            conditions: false,
            lone_error: false,
            error_is_condition,
        }
    }

    fn filter(&mut self) -> Result<Filter, FilterError> {
        self.space();
        if self.rest.is_empty() {
            return Ok(Filter::default());
        }
        let filter = self.or()?;
        if self.rest.is_empty() {
            Ok(filter)
        } else {
            Err(self.error("nothing is open that this closes"))
        }
    }

    fn or(&mut self) -> Result<Filter, FilterError> {
        let mut terms = vec![self.and()?];
        while self.keyword("or") {
            terms.push(self.and()?);
        }
        Ok(one_or(terms, Filter::Any))
    }

    fn and(&mut self) -> Result<Filter, FilterError> {
        let mut terms = vec![self.unary()?];
        while self.keyword("and") {
            terms.push(self.unary()?);
        }
        Ok(one_or(terms, Filter::All))
    }

    fn unary(&mut self) -> Result<Filter, FilterError> {
        if !self.keyword("not") {
            return self.words();
        }
        self.deeper()?;
        let term = self.unary()?;
        self.depth -= 1;
        Ok(Filter::Not(Box::new(term)))
    }

    fn words(&mut self) -> Result<Filter, FilterError> {
        let (mut alternatives, mut all) = (Vec::new(), Vec::new());
        let begin = self.rest;
        loop {
            self.space();
            let next = self.peek_word();
            if self.rest.is_empty() || self.closes() || matches!(next, "and" | "or") {
                break;
            }
            if next == "not" {
                return Err(self.error("write `and` or `or` before `not`, or '-' before the word"));
            }
            if self.take('+') {
                all.push(self.primary()?);
            } else if self.take('-') {
                all.push(Filter::Not(Box::new(self.primary()?)));
            } else {
                alternatives.push(self.primary()?);
            }
        }
        if alternatives.is_empty() && all.is_empty() {
            let message = if self.rest.is_empty() {
                "a condition is missing at the end"
            } else {
                "a condition is missing here"
            };
            return Err(self.error(message));
        }
        let words = begin.len() - self.rest.len();
        if begin.get(..words).map(str::trim) == Some("error") {
            self.lone_error = true;
            if self.error_is_condition {
                return Ok(Filter::Failed);
            }
        }
        if alternatives.len() == 1 {
            all.append(&mut alternatives);
        } else if !alternatives.is_empty() {
            all.push(Filter::Any(alternatives));
        }
        Ok(Filter::All(all))
    }

    fn primary(&mut self) -> Result<Filter, FilterError> {
        if self.take('$') {
            return self.param();
        }
        if self.rest.starts_with('(') {
            return self.group();
        }
        if let Some(phrase) = self.phrase()? {
            return Ok(Filter::Text(Needle::new(&phrase)));
        }
        if let Some(comparison) = self.comparison()? {
            return Ok(comparison);
        }
        let word = self.word();
        if word.is_empty() {
            return Err(self.error("expected a word or a 'phrase' after the sign"));
        }
        Ok(Filter::Text(Needle::new(word)))
    }

    fn group(&mut self) -> Result<Filter, FilterError> {
        self.conditions = true;
        let before = self.rest;
        self.deeper()?;
        self.take('(');
        let filter = self.or()?;
        if !self.take(')') {
            self.rest = before;
            return Err(self.error("this parenthesis is never closed"));
        }
        self.depth -= 1;
        Ok(filter)
    }

    fn param(&mut self) -> Result<Filter, FilterError> {
        let name = self.until(|c| c == '=' || c.is_whitespace() || "<>~!".contains(c));
        if name.is_empty() {
            return Err(self.error("expected the name of a parameter after $"));
        }
        // Directly behind the name, `=` asks for a part of the value, as it does on the profiler's page.
        if self.take('=') {
            let value = match self.phrase()? {
                Some(phrase) => phrase,
                None => self.word().to_owned(),
            };
            return Ok(Filter::Param {
                name: name.to_lowercase(),
                value: Needle::new(&value),
            });
        }
        self.space();
        match self.operator() {
            Some(operator) => self.compared(Field::Attribute(name.to_lowercase()), operator),
            None => Err(self.error("expected = after the name of the parameter")),
        }
    }

    /// A comparison where one begins: a field and an operator, or any other name and what can only be an operator.
    fn comparison(&mut self) -> Result<Option<Filter>, FilterError> {
        let before = self.rest;
        let name = self.until(|c| c.is_whitespace() || "=!<>~()'\"".contains(c));
        let touching = !self.rest.starts_with(char::is_whitespace);
        self.space();
        let sign = self.rest;
        let Some(operator) = self.operator() else {
            self.rest = before;
            return Ok(None);
        };
        if let Some(field) = Field::known(&name) {
            return self.compared(field, operator).map(Some);
        }
        let blank = self.rest.is_empty() || self.rest.starts_with(char::is_whitespace);
        if name.is_empty() {
            self.rest = sign;
            return match blank {
                true => Err(self.error("expected a field, such as duration, before the operator")),
                false => {
                    self.rest = before;
                    Ok(None)
                }
            };
        }
        let field = Field::Named(name.to_lowercase());
        let apart = !touching && blank;
        if apart || is_name(&name) && self.is_operator(operator, touching, blank) {
            return self.compared(field, operator).map(Some);
        }
        if is_name(&name)
            && matches!(operator, Operator::Equal | Operator::Matches)
            && let Ok(Filter::Compare(comparison)) = self.compared(field, operator)
        {
            let taken = before.len() - self.rest.len();
            let word = before.get(..taken).unwrap_or(before);
            return Ok(Some(Filter::WordOrComparison(
                Needle::new(word),
                comparison,
            )));
        }
        self.rest = before;
        Ok(None)
    }

    /// Returns `true` if what was taken behind a name is no part of a word, with blanks before or behind it or none.
    fn is_operator(&mut self, operator: Operator, touching: bool, blank: bool) -> bool {
        let before = self.rest;
        self.space();
        let value = self.peek_word();
        self.rest = before;
        match operator {
            Operator::Less | Operator::AtMost | Operator::More | Operator::AtLeast => {
                ExactDecimal::parse(value).is_some()
            }
            Operator::NotEqual | Operator::MatchesNot => !value.is_empty(),
            Operator::Equal | Operator::Matches => !value.is_empty() && (!touching || blank),
        }
    }

    fn compared(&mut self, field: Field, operator: Operator) -> Result<Filter, FilterError> {
        self.conditions = true;
        self.space();
        let before = self.rest;
        let (value, quoted) = match self.phrase()? {
            Some(phrase) => (phrase, true),
            None => (self.word().to_owned(), false),
        };
        if value.is_empty() && !quoted {
            return Err(self.error("expected a value after the operator"));
        }
        Operand::new(&field, operator, &value)
            .map(|operand| Filter::Compare(Comparison::new(field, operator, operand)))
            .map_err(|message| {
                self.rest = before;
                self.error(message)
            })
    }

    fn operator(&mut self) -> Option<Operator> {
        let (operator, length) = Operator::at(self.rest)?;
        self.rest = self.rest.get(length..).unwrap_or("");
        Some(operator)
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

    /// Takes a word: up to white space, or to the parenthesis that closes a group around it.
    fn word(&mut self) -> &'t str {
        let mut open = 0_usize;
        let inside = self.depth > 0;
        let end = self.rest.find(|c: char| match c {
            '(' => {
                open += 1;
                false
            }
            ')' if open > 0 => {
                open -= 1;
                false
            }
            ')' => inside,
            c => c.is_whitespace(),
        });
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn peek_word(&mut self) -> &'t str {
        let before = self.rest;
        let word = self.word();
        self.rest = before;
        word
    }

    fn keyword(&mut self, word: &str) -> bool {
        self.space();
        let found = self.peek_word() == word;
        if found {
            self.word();
            self.conditions = true;
        }
        found
    }

    /// Returns true if a parenthesis closes here.
    fn closes(&self) -> bool {
        self.rest.starts_with(')') && self.depth > 0
    }

    fn deeper(&mut self) -> Result<(), FilterError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("more conditions within each other than anybody reads"));
        }
        Ok(())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
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

    fn error(&self, message: impl Into<Cow<'static, str>>) -> FilterError {
        let consumed = self.text.len() - self.rest.len();
        let before = self.text.get(..consumed).unwrap_or(self.text);
        FilterError {
            column: before.chars().count() + 1,
            message: message.into(),
            expression: self.text.to_owned(),
        }
    }
}

/// Returns `true` for what counters and parameters are called: `cpu`, `http.status`, `web/url`.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ':' | '@'))
}

fn one_or(mut terms: Vec<Filter>, many: fn(Vec<Filter>) -> Filter) -> Filter {
    match (terms.len(), terms.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            terms.extend(last);
            many(terms)
        }
    }
}
