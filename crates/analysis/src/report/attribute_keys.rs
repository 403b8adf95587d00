//! Which attributes a report reads: those of most spans say nothing to it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{AttrKeyId, Attribute, Recording, Value};

use super::errors;
use crate::calltree::STATEMENTS;

/// What attributes are for, by their key.
#[derive(Debug, Default)]
pub(super) struct AttributeKeys {
    known: HashMap<AttrKeyId, Reading, RandomState>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    Statement,
    Error,
    None,
}

/// What the attributes of a span tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToldByAttributes<'a> {
    /// The statement that it ran.
    pub(super) statement: Option<&'a Value>,
    /// Some say what was thrown.
    pub(super) has_error: bool,
}

impl AttributeKeys {
    /// Looks for what attributes tell.
    pub(super) fn told<'a>(
        &mut self,
        tables: &Recording,
        attributes: &'a [Attribute],
    ) -> ToldByAttributes<'a> {
        let mut told = ToldByAttributes::default();
        for attribute in attributes {
            match self.reading(tables, attribute.key) {
                Reading::Statement if told.statement.is_none() => {
                    told.statement = Some(&attribute.value);
                }
                Reading::Error => told.has_error = true,
                Reading::Statement | Reading::None => {}
            }
            told.has_error |= matches!(attribute.value, Value::Exception(_));
        }
        told
    }

    fn reading(&mut self, tables: &Recording, key: AttrKeyId) -> Reading {
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        // What is not defined yet may be when it is met again.
        let Some(row) = tables.attribute_key(key) else {
            return Reading::None;
        };
        let name = tables.text(row.name);
        let reading = if STATEMENTS.iter().any(|one| name.eq_ignore_ascii_case(one)) {
            Reading::Statement
        } else if errors::WORDS.contains(&&*name) {
            Reading::Error
        } else {
            Reading::None
        };
        if !name.is_empty() {
            self.known.insert(key, reading);
        }
        reading
    }
}
