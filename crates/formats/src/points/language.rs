//! Languages: what producers call them, and the one word for each.

use traceloom_model::{EventType, Function, Recording};

/// A language a profile may come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[expect(missing_docs, reason = "each is the language of its name")]
pub enum Language {
    Java,
    Python,
    Golang,
    Ruby,
    Nodejs,
    Php,
    Dotnet,
    Cpp,
    Rust,
}

use Language::{Cpp, Dotnet, Golang, Java, Nodejs, Php, Python, Ruby, Rust};

/// Names in use, longest first, so that `javascript` is not `java` (`datakit/SPEC.md` §5).
const NAMES: [(&str, Language); 22] = [
    ("pyroscope-rs", Rust),
    ("javascript", Nodejs),
    ("cplusplus", Cpp),
    ("node.js", Nodejs),
    ("python", Python),
    ("dotnet", Dotnet),
    ("kotlin", Java),
    ("nodejs", Nodejs),
    ("csharp", Dotnet),
    ("golang", Golang),
    ("scala", Java),
    ("java", Java),
    ("ruby", Ruby),
    ("node", Nodejs),
    ("rust", Rust),
    (".net", Dotnet),
    ("jvm", Java),
    ("php", Php),
    ("cpp", Cpp),
    ("c++", Cpp),
    ("c#", Dotnet),
    ("go", Golang),
];

const SHORT: usize = 3;

impl Language {
    /// Returns the language of a recording: what its resources say, else what the types of its events or
    /// the files of its functions tell.
    #[must_use]
    pub fn of_recording(recording: &Recording) -> Option<Self> {
        let rows = recording.resources.iter().flatten();
        let told = rows
            .flat_map(|row| [row.language, row.runtime])
            .flatten()
            .find_map(|id| Self::resolve(&recording.text(id)));
        let extension = |row: &Function| {
            let file = recording.text(row.file?).into_owned();
            match file.rsplit_once('.')?.1 {
                "go" => Some(Self::Golang),
                "java" | "kt" | "scala" => Some(Self::Java),
                "py" => Some(Self::Python),
                "js" | "ts" | "mjs" => Some(Self::Nodejs),
                "rb" => Some(Self::Ruby),
                "php" => Some(Self::Php),
                "cs" => Some(Self::Dotnet),
                "rs" => Some(Self::Rust),
                "cpp" | "cc" | "cxx" | "hpp" => Some(Self::Cpp),
                _ => None,
            }
        };
        let java = || {
            let name = |row: &EventType| recording.text(row.name).starts_with("jdk.");
            recording
                .event_types
                .iter()
                .flatten()
                .any(name)
                .then_some(Self::Java)
        };
        told.or_else(java).or_else(|| {
            recording
                .functions
                .iter()
                .flatten()
                .take(4096)
                .find_map(extension)
        })
    }

    /// Returns the word that is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Java => "java",
            Python => "python",
            Golang => "golang",
            Ruby => "ruby",
            Nodejs => "nodejs",
            Php => "php",
            Dotnet => "dotnet",
            Cpp => "cpp",
            Rust => "rust",
        }
    }

    /// Finds the language a producer means: an exact name, else the longest name inside the text, in any
    /// case. Names of up to three bytes have to be words: `django` is not `go`.
    #[must_use]
    pub fn resolve(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "js" {
            return Some(Nodejs);
        }
        let exact = NAMES.iter().find(|(name, _)| *name == text);
        let inside = || NAMES.iter().find(|(name, _)| contains(&text, name));
        exact.or_else(inside).map(|&(_, language)| language)
    }

    /// Returns the language of the first text that names one: `language`, `runtime`, `family`.
    #[must_use]
    pub fn first<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<Self> {
        texts.into_iter().find_map(Self::resolve)
    }
}

fn contains(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|left| left.bytes().next_back());
        let after = text
            .get(at + name.len()..)
            .and_then(|right| right.bytes().next());
        let letter = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic());
        name.len() > SHORT || !letter(before) && !letter(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_use_resolve_and_never_at_random() {
        let vectors = [
            ("CPython", Some(Python)),
            ("jvm", Some(Java)),
            ("javascript", Some(Nodejs)),
            ("C++", Some(Cpp)),
            (".NET", Some(Dotnet)),
            ("go1.22", Some(Golang)),
            ("OpenJDK 64-Bit Server JVM", Some(Java)),
            ("js", Some(Nodejs)),
            ("django", None),
            ("", None),
        ];
        for (text, expected) in vectors {
            assert_eq!(Language::resolve(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_longest_first() {
        assert!(NAMES.is_sorted_by_key(|(name, _)| std::cmp::Reverse(name.len())));
    }

    #[test]
    fn the_first_text_that_resolves_wins() {
        assert_eq!(Language::first(["python", "django"]), Some(Python));
        assert_eq!(Language::first(["", "jvm", "python"]), Some(Java));
        assert_eq!(Language::first(["django"]), None);
    }
}
