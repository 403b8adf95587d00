//! What formats of profiles share: spellings of units, the table of strings, locations of one frame, profiles of V8.

mod single_frame_locations;
mod strings;
pub(crate) mod unit;
pub(crate) mod v8;

pub(crate) use single_frame_locations::SingleFrameLocations;
pub use strings::Strings;
