//! The shapes of the statements that spans ran.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{AttrKeyId, Recording, SpanRow, StringId, Value};

use crate::calltree::STATEMENTS;
use crate::shape;
use crate::text::value_text;

/// Shapes of texts that are remembered at once.
const MOST_KNOWN: usize = 4_096;

/// Finds shapes; remembers which attributes are statements, and the shapes of texts that come again.
#[derive(Debug, Default)]
pub(super) struct StatementShapes {
    /// By attribute key.
    keys: HashMap<AttrKeyId, bool, RandomState>,
    known: HashMap<StringId, Box<str>, RandomState>,
    /// The shape of what is not remembered: a number, or a text that is empty or not defined yet.
    other: String,
}

impl StatementShapes {
    /// Returns the shape of the statement that a span ran, if it ran one that has any.
    pub(super) fn of_span(&mut self, tables: &Recording, row: &SpanRow<'_>) -> Option<&str> {
        let mut attributes = row.attributes.iter();
        let statement = attributes.find(|attribute| self.is_statement(tables, attribute.key))?;
        let shape = self.of_value(tables, &statement.value);
        (!shape.is_empty()).then_some(shape)
    }

    fn is_statement(&mut self, tables: &Recording, key: AttrKeyId) -> bool {
        if let Some(&known) = self.keys.get(&key) {
            return known;
        }
        // What is not defined yet may be when it is met again.
        let Some(row) = tables.attribute_key(key) else {
            return false;
        };
        let name = tables.text(row.name);
        let is_statement = STATEMENTS.iter().any(|one| name.eq_ignore_ascii_case(one));
        if !name.is_empty() {
            self.keys.insert(key, is_statement);
        }
        is_statement
    }

    fn of_value(&mut self, tables: &Recording, value: &Value) -> &str {
        let text = value_text(tables, value);
        let id = match value {
            Value::Text(id) if !text.is_empty() => *id,
            _ => {
                self.other = shape::of_sql(&text);
                return &self.other;
            }
        };
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&id) {
            self.known.clear();
        }
        let known = self.known.entry(id);
        known.or_insert_with(|| shape::of_sql(&text).into_boxed_str())
    }

    /// Drops the shapes of texts whose ids may come to stand for others.
    pub(super) fn forget(&mut self, strings: &[StringId]) {
        for id in strings {
            self.known.remove(id);
        }
    }
}
