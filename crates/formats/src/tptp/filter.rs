//! Filters of methods: `class method INCLUDE|EXCLUDE`, first match wins (SPEC.md §7).

use crate::Error;

/// What a rule does with the methods it matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Keep them.
    Include,
    /// Leave them out.
    Exclude,
}

/// A name with at most one `*`, at an end or alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    text: String,
    open_start: bool,
    open_end: bool,
}

impl Pattern {
    /// Reads a pattern; `*` counts at the start and at the end, elsewhere it is a character.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        let (open_start, rest) = match pattern.strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (open_end, rest) = match rest.strip_suffix('*') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        // A lone star is open on both sides.
        let open_end = open_end || (open_start && rest.is_empty());
        Self {
            text: dotted(rest),
            open_start,
            open_end,
        }
    }

    /// Tells whether a name matches; packages may be written with `.` or `/`.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let name = dotted(name);
        match (self.open_start, self.open_end) {
            (true, true) => name.contains(&self.text),
            (true, false) => name.ends_with(&self.text),
            (false, true) => name.starts_with(&self.text),
            (false, false) => name == self.text,
        }
    }
}

fn dotted(name: &str) -> String {
    name.replace('/', ".")
        .replace("-clinit-", "<clinit>")
        .replace("-init-", "<init>")
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Which classes.
    pub class: Pattern,
    /// Which of their methods.
    pub method: Pattern,
    /// What to do with them.
    pub mode: Mode,
}

/// Rules in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    rules: Vec<Rule>,
}

impl Filters {
    /// Reads a filter file: one rule a line, empty lines and lines that start with `#` left out.
    ///
    /// # Errors
    /// `Invalid` with the offset of a line that is no rule.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut rules = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let rule = line.trim();
            if !rule.is_empty() && !rule.starts_with('#') {
                rules.push(parse_rule(rule, offset)?);
            }
            offset += line.len() as u64;
        }
        Ok(Self { rules })
    }

    /// Adds a rule after the others.
    pub fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Returns the rules in order.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Tells whether a method stays: as the first rule that matches says, and if none does it stays.
    #[must_use]
    pub fn admits(&self, class: &str, method: &str) -> bool {
        let mut rules = self.rules.iter();
        let first = rules.find(|rule| rule.class.matches(class) && rule.method.matches(method));
        first.is_none_or(|rule| rule.mode == Mode::Include)
    }

    /// As [`Filters::admits`], for a qualified name such as `com.acme.Shop.buy`.
    #[must_use]
    pub fn admits_function(&self, name: &str) -> bool {
        let name = name.split_once('(').map_or(name, |(name, _)| name);
        let (class, method) = name.rsplit_once(['.', '/']).unwrap_or(("", name));
        self.admits(class, method)
    }
}

fn parse_rule(line: &str, offset: u64) -> Result<Rule, Error> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let &[class, method, mode] = words.as_slice() else {
        let text =
            format!("filter `{line}`: expected `class method INCLUDE` or `class method EXCLUDE`");
        return Err(Error::invalid(offset, text));
    };
    let mode = match mode.to_ascii_uppercase().as_str() {
        "INCLUDE" => Mode::Include,
        "EXCLUDE" => Mode::Exclude,
        _ => {
            let text = format!("filter mode `{mode}`: there are INCLUDE and EXCLUDE");
            return Err(Error::invalid(offset, text));
        }
    };
    Ok(Rule {
        class: Pattern::new(class),
        method: Pattern::new(method),
        mode,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_wins() {
        let text = "com.acme.Shop buy* INCLUDE\r\n\n# rest\ncom/acme/* * EXCLUDE\n*Test * exclude\n* -init- EXCLUDE";
        let filters = Filters::parse(text).unwrap();
        assert_eq!(filters.rules().len(), 4);
        for (class, method, stays) in [
            ("com.acme.Shop", "buyNow", true),
            ("com/acme/Shop", "buy", true),
            ("com.acme.Shop", "sell", false),
            ("com.acme.Till", "buy", false),
            ("org.example.Shop", "buy", true),
            ("org.example.ShopTest", "buy", false),
            ("org.example.Shop", "<init>", false),
        ] {
            assert_eq!(filters.admits(class, method), stays, "{class} {method}");
        }
        assert!(filters.admits_function("com.acme.Shop.buyNow(I)V"));
        assert!(!filters.admits_function("com.acme.Shop.sell"));
        assert!(Filters::default().admits("a", "b"));
    }

    #[test]
    fn lines_that_are_no_rules() {
        let error = Filters::parse("* * INCLUDE\n* EXCLUDE\n").unwrap_err();
        assert_eq!(error.offset(), 12);
        let error = Filters::parse("* * MAYBE").unwrap_err();
        assert!(error.message().contains("INCLUDE and EXCLUDE"), "{error}");
    }
}
