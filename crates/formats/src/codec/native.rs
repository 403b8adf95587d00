//! Conversions record by record, without the model in between.

use traceloom_model::{Flow, Limits, Note};

use crate::{Error, Output, Pull};

/// Rewrites one part of a format as another; notes about the input go to the last argument.
pub type NativeConvert = fn(
    &mut dyn Pull,
    &Limits,
    &mut dyn Output,
    &mut dyn FnMut(Note) -> Flow,
) -> Result<Vec<Change>, Error>;

/// What a conversion could not keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// It is gone, not only written in another way.
    pub lost: bool,
    /// Kind of the record it belonged to.
    pub kind: &'static str,
    /// The part of the record.
    pub field: &'static str,
    /// How often.
    pub count: u64,
    /// Where it happened first.
    pub offset: u64,
}
