//! What a frame says in each property of the flame graph.

use traceloom_model::{FrameId, FunctionId, Recording, StringId};

use crate::points::{Language, NameParts};

/// The properties of a frame; empty where nobody knows them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct FrameProperties {
    pub(super) method: String,
    pub(super) line: u32,
    pub(super) start_line: u32,
    pub(super) source_file: String,
    pub(super) modifier: String,
    pub(super) library: String,
    pub(super) package: String,
    pub(super) class: String,
}

/// Modifier words of Java, lowest bit first; words that share a bit with others are of fields.
const MODIFIERS: [(u32, &str); 9] = [
    (0x1, "public"),
    (0x2, "private"),
    (0x4, "protected"),
    (0x400, "abstract"),
    (0x8, "static"),
    (0x10, "final"),
    (0x20, "synchronized"),
    (0x100, "native"),
    (0x800, "strictfp"),
];

/// Returns the words of JVM modifier bits, in the order Java writes them.
pub(super) fn modifier_words(bits: u32) -> String {
    let words = MODIFIERS
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, word)| *word);
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the bits of modifier words.
pub(super) fn modifier_bits(words: &str) -> u32 {
    let bit = |word: &str| {
        MODIFIERS
            .iter()
            .find(|(_, known)| *known == word)
            .map_or(0, |(bit, _)| *bit)
    };
    words
        .split_whitespace()
        .map(bit)
        .fold(0, |bits, bit| bits | bit)
}

impl FrameProperties {
    /// Collects what the model knows of a frame, completed by its language's habits of naming.
    pub(super) fn of(recording: &Recording, id: FrameId, language: Option<Language>) -> Self {
        let Some(frame) = recording.frame(id) else {
            return Self {
                method: format!("#{}", id.raw()),
                ..Self::default()
            };
        };
        let mapping = frame.mapping.and_then(|id| recording.mapping(id));
        let binary = mapping.and_then(|mapping| mapping.file);
        let binary = binary.map_or_else(String::new, |id| recording.text(id).into_owned());
        let Some(id) = frame.function else {
            let at = frame
                .address
                .map_or_else(|| "?".to_owned(), |at| format!("{at:#x}"));
            let module = binary.rsplit('/').next().unwrap_or("").to_owned();
            return Self {
                method: if module.is_empty() {
                    at
                } else {
                    format!("{module}+{at}")
                },
                library: binary,
                ..Self::default()
            };
        };
        let mut facts = Self::of_function(recording, id, language);
        if frame.line > 0 {
            facts.line = frame.line;
        }
        if facts.library.is_empty() {
            facts.library = binary;
        }
        facts
    }

    /// Collects what the model knows of a function.
    pub(super) fn of_function(
        recording: &Recording,
        id: FunctionId,
        language: Option<Language>,
    ) -> Self {
        let text = |id: Option<StringId>| {
            id.map(|id| recording.text(id).into_owned())
                .unwrap_or_default()
        };
        let Some(function) = recording.function(id) else {
            return Self {
                method: format!("#{}", id.raw()),
                ..Self::default()
            };
        };
        let name = recording.text(function.name);
        let class = function.class.and_then(|id| recording.class(id));
        let class = text(class.map(|class| class.name));
        let parts = NameParts::of(language, &name);
        let (package, class) = match class.rsplit_once('.') {
            Some((package, class)) => (package.to_owned(), class.to_owned()),
            None if class.is_empty() => (parts.package.into_owned(), parts.class.into_owned()),
            None => (parts.package.into_owned(), class),
        };
        let known = |told: String, guessed: String| if told.is_empty() { guessed } else { told };
        Self {
            method: parts.method.into_owned(),
            line: parts.line,
            start_line: if function.line > 0 {
                function.line
            } else {
                parts.line
            },
            source_file: known(text(function.file), parts.file.into_owned()),
            modifier: modifier_words(function.modifiers),
            library: known(text(function.library), parts.library.into_owned()),
            package: known(text(function.package), package),
            class,
        }
    }
}
