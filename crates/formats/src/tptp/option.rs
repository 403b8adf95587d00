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

/// Adds `format=binary` to the options of the profiler's agent on a Java command line; returns `false` if the command
/// loads no such agent. A format that is there already is replaced (SPEC.md §7).
pub fn with_binary(command: &mut [String]) -> bool {
    let mut found = false;
    for argument in command {
        let is_loader =
            argument.starts_with("-agentlib:JPIBootLoader") || is_path_of_loader(argument);
        let Some((loader, agent)) = argument.split_once('=').filter(|_| is_loader) else {
            continue;
        };
        // The agent's own options end where those of its profiler begin.
        let (agent, profiler) = match agent.split_once(';') {
            Some((agent, profiler)) => (agent, format!(";{profiler}")),
            None => (agent, String::new()),
        };
        let (name, options) = agent.split_once(':').unwrap_or((agent, ""));
        let kept = options
            .split(',')
            .filter(|option| !option.is_empty() && !option.trim().starts_with("format="));
        let options: Vec<&str> = kept.chain(["format=binary"]).collect();
        *argument = format!("{loader}={name}:{}{profiler}", options.join(","));
        found = true;
    }
    found
}

fn is_path_of_loader(argument: &str) -> bool {
    let path = argument.strip_prefix("-agentpath:");
    let path = path.and_then(|path| path.split('=').next());
    path.is_some_and(|path| path.contains("JPIBootLoader"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_form_is_asked_of_the_agent_and_nobody_else() {
        for (given, expected) in [
            (
                "-agentlib:JPIBootLoader=JPIAgent:server=controlled;CGProf:execdetails=true",
                "-agentlib:JPIBootLoader=JPIAgent:server=controlled,format=binary;CGProf:execdetails=true",
            ),
            (
                "-agentlib:JPIBootLoader=JPIAgent;HeapProf",
                "-agentlib:JPIBootLoader=JPIAgent:format=binary;HeapProf",
            ),
            (
                "-agentpath:/opt/ac/libJPIBootLoader.so=JPIAgent:format=xml,file=a=b",
                "-agentpath:/opt/ac/libJPIBootLoader.so=JPIAgent:file=a=b,format=binary",
            ),
        ] {
            let mut command = ["java".to_owned(), given.to_owned(), "Main".to_owned()];
            assert!(with_binary(&mut command));
            assert_eq!(command, ["java", expected, "Main"]);
        }
        for other in [
            "-agentlib:jdwp=server=y",
            "-agentpath:/x/libother.so=JPIBootLoader",
        ] {
            let mut command = [other.to_owned()];
            assert!(!with_binary(&mut command));
            assert_eq!(command, [other]);
        }
    }

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
