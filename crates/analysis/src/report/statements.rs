//! The shapes of the statements that spans ran.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Recording, StringId, Value};

use crate::shape;
use crate::text::value_text;

/// Shapes of texts that are remembered at once.
const MOST_KNOWN: usize = 4_096;

/// Finds shapes; remembers those of texts that come again.
#[derive(Debug, Default)]
pub(super) struct StatementShapes {
    known: HashMap<StringId, Box<str>, RandomState>,
    /// The shape of what is not remembered: a number, or a text that is empty or not defined yet.
    other: String,
}

impl StatementShapes {
    /// Returns the shape of a statement, if it has any.
    pub(super) fn of_value(&mut self, tables: &Recording, value: &Value) -> Option<&str> {
        let text = value_text(tables, value);
        let shape = match value {
            Value::Text(id) if !text.is_empty() => {
                if self.known.len() >= MOST_KNOWN && !self.known.contains_key(id) {
                    self.known.clear();
                }
                let known = self.known.entry(*id);
                known.or_insert_with(|| shape::of_sql(&text).into_boxed_str())
            }
            _ => {
                self.other = shape::of_sql(&text);
                self.other.as_str()
            }
        };
        (!shape.is_empty()).then_some(shape)
    }

    /// Drops the shapes of texts whose ids may come to stand for others.
    pub(super) fn forget(&mut self, strings: &[StringId]) {
        for id in strings {
            self.known.remove(id);
        }
    }
}
