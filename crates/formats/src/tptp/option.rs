//! The profiler's option string: `server=standalone,file=trace.trcbin,format=binary` (SPEC.md §7).

use crate::Error;

/// The two forms of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// The XML form: what everybody understands.
    #[default]
    Xml,
    /// The binary form.
    Binary,
}

impl Encoding {
    /// Returns its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Binary => "binary",
        }
    }

    /// Reads its word, in any case.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let choices = [Self::Xml, Self::Binary];
        choices
            .into_iter()
            .find(|choice| word.trim().eq_ignore_ascii_case(choice.word()))
    }
}

/// Options in the order they were given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The form of the trace; XML when none was asked for.
    pub format: Encoding,
    pairs: Vec<(String, String)>,
}

impl Options {
    /// Reads `key=value` pairs between commas; a key alone has an empty value.
    ///
    /// # Errors
    /// `Usage` for a `format` that is neither `binary` nor `xml`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        for pair in text
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if key == "format" {
                options.format = Encoding::of(value).ok_or_else(|| {
                    Error::usage(format!(
                        "format={value}: the choices are `binary` and `xml`"
                    ))
                })?;
            }
            options.pairs.push((key.to_owned(), value.to_owned()));
        }
        Ok(options)
    }

    /// Returns the value of the last option called `key`.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter().rev();
        pairs.find(|pair| pair.0 == key).map(|pair| pair.1.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_the_rest() {
        let options =
            Options::parse("server=standalone, file=a=b.trcbin,format=Binary,help").unwrap();
        assert_eq!(options.format, Encoding::Binary);
        assert_eq!(options.value("file"), Some("a=b.trcbin"));
        assert_eq!(options.value("help"), Some(""));
        assert_eq!(options.value("profile"), None);
        assert_eq!(Options::parse("").unwrap().format, Encoding::Xml);
        let error = Options::parse("format=json").unwrap_err();
        assert_eq!(
            error.to_string(),
            "format=json: the choices are `binary` and `xml`"
        );
    }
}
