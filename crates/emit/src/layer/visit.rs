//! Fields of spans and events as attributes.

use std::fmt;

use tracing_core::field::{Field, Visit};

use crate::value::Value;

/// The field of an event that is its text.
pub const MESSAGE: &str = "message";

/// What attributes are added to.
pub trait FieldSink {
    fn attribute(&mut self, name: &str, value: Value<'_>);

    fn formatted(&mut self, name: &str, value: fmt::Arguments<'_>);
}

/// Adds fields as attributes.
pub struct FieldVisitor<'s, S> {
    sink: &'s mut S,
    takes_message: bool,
}

impl<'s, S: FieldSink> FieldVisitor<'s, S> {
    /// Adds all fields.
    pub fn all(sink: &'s mut S) -> Self {
        Self {
            sink,
            takes_message: true,
        }
    }

    /// Adds the fields but for the text of an event.
    pub fn but_message(sink: &'s mut S) -> Self {
        Self {
            sink,
            takes_message: false,
        }
    }

    fn put(&mut self, field: &Field, value: Value<'_>) {
        if self.takes_message || field.name() != MESSAGE {
            self.sink.attribute(field.name(), value);
        }
    }
}

impl<S: FieldSink> Visit for FieldVisitor<'_, S> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.takes_message || field.name() != MESSAGE {
            self.sink.formatted(field.name(), format_args!("{value:?}"));
        }
    }
}
