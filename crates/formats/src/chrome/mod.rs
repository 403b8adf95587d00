//! c
use traceloom_model::Capabilities;
use crate::Format;
/// The row of the registry.
pub const CHROME: Format = Format { name: "chrome", title: "Chrome trace JSON", extensions: &["json"], probe: |_| None, reader: None, members: None, set: None, lower: None, raise: None, holds: Capabilities::NONE, sample: None };
