//! What is found out about a recording before its pieces are lowered.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What [`crate::Format::split`] found out about the pieces; only its format can read it. Equal are a value and its clones.
#[derive(Clone)]
pub struct Surveyed(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Surveyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surveyed")
    }
}

impl PartialEq for Surveyed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Surveyed {}

impl Surveyed {
    pub(crate) fn new<T: Send + Sync + 'static>(found: T) -> Self {
        Self(Arc::new(found))
    }

    /// Returns what was found, where it is of this form.
    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}
