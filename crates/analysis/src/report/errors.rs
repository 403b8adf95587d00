//! Errors as a report tells them: what was thrown, by what it was caused, and where.

use traceloom_model::{Attribute, ExceptionId, Recording, StackId, Value};

use crate::exceptions::{chain, heading, stack};
use crate::text::value_text;

/// Lines of a stack that are kept.
const FRAMES: usize = 40;

/// Characters of a heading that are kept.
const LONGEST: usize = 2_000;

/// Attributes that tell of an exception, its stack first.
pub(super) const WORDS: [&str; 4] = [
    "exception.stacktrace",
    "exception",
    "exception.type",
    "exception.message",
];

/// What was thrown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Error {
    /// `class: message`, and those of its causes.
    pub headings: Vec<String>,
    /// Lines of the stacks, with the headings of causes among them.
    pub stack: Vec<String>,
}

impl Error {
    /// Reads an exception with its causes, but not its stacks.
    pub(super) fn of_exception(tables: &Recording, id: ExceptionId) -> Self {
        let chain = chain(tables, id).into_iter();
        Self {
            headings: chain.map(|id| cut(&heading(tables, id))).collect(),
            stack: Vec::new(),
        }
    }

    /// Adds the stacks of the exception that it was read from.
    pub(super) fn with_stacks(mut self, tables: &Recording, id: ExceptionId) -> Self {
        for (at, id) in chain(tables, id).into_iter().enumerate() {
            let heading = self.headings.get(at).filter(|_| at > 0);
            let cause = heading.map(|heading| format!("Caused by: {heading}"));
            self.stack.extend(cause);
            if let Some(stack) = tables.exception(id).and_then(|row| row.stack) {
                self.add_stack(tables, stack);
            }
        }
        self
    }

    /// Adds the frames of a stack.
    pub(super) fn add_stack(&mut self, tables: &Recording, id: StackId) {
        let frames = stack(tables, id);
        let lines = frames.iter().take(FRAMES).map(|at| format!("    at {at}"));
        self.stack.extend(lines);
    }

    /// Reads a stack as Java prints it, or any text of which the first line says what happened.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let mut error = Self {
            headings: vec![cut(lines.next()?.trim())],
            stack: Vec::new(),
        };
        for line in lines {
            if let Some(cause) = line.trim_start().strip_prefix("Caused by: ") {
                error.headings.push(cut(cause));
            }
            if error.stack.len() < FRAMES {
                error.stack.push(cut(line));
            }
        }
        Some(error)
    }

    /// Looks for an exception among attributes: one by id, or a text that a producer calls so.
    pub(super) fn of_attributes(tables: &Recording, attributes: &[Attribute]) -> Option<Self> {
        let named = |wanted: &str| {
            attributes.iter().find_map(|attribute| {
                let key = tables.attribute_key(attribute.key)?;
                (tables.text(key.name) == wanted).then_some(&attribute.value)
            })
        };
        let ids = attributes
            .iter()
            .find_map(|attribute| match attribute.value {
                Value::Exception(id) => {
                    Some(Self::of_exception(tables, id).with_stacks(tables, id))
                }
                _ => None,
            });
        let [stack, short, class, message] = WORDS;
        let stack = || named(stack).or_else(|| named(short));
        ids.or_else(|| Self::of_text(&value_text(tables, stack()?)))
            .or_else(|| {
                let class = value_text(tables, named(class)?).into_owned();
                let message = named(message).map(|value| value_text(tables, value));
                let message = message.filter(|message| !message.is_empty());
                let heading =
                    message.map_or(class.clone(), |message| format!("{class}: {message}"));
                Self::of_text(&heading)
            })
    }

    /// What errors of one kind have in common: their headings, whatever numbers are in them.
    pub(super) fn key(&self) -> String {
        let mut key = String::new();
        for heading in &self.headings {
            let mut digits = false;
            for c in heading.chars() {
                if !c.is_ascii_digit() {
                    key.push(c);
                } else if !digits {
                    key.push('#');
                }
                digits = c.is_ascii_digit();
            }
            key.push('\n');
        }
        key
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_read_from_a_printed_stack() {
        let text = "a.B: no item 17\n\tat a.C.d(C.java:3)\nCaused by: java.io.IOException: gone\n\t... 3 more\n";
        let error = Error::of_text(text).unwrap();
        assert_eq!(
            error.headings,
            ["a.B: no item 17", "java.io.IOException: gone"]
        );
        assert_eq!(error.stack.len(), 3);
        let other = Error::of_text(&text.replace("17", "4")).unwrap();
        assert_eq!(error.key(), other.key());
        assert_ne!(
            error.key(),
            Error::of_text("a.B: no item 17").unwrap().key()
        );
        assert_eq!(Error::of_text(" \n"), None);
    }
}
