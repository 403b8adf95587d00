//! What recordings hold beside what their specifications name, as the author of an agent describes it.

use crate::{DescriptionError, heph, tptp};

/// Has readers and writers know what a schema describes, from now on in this process.
///
/// A line that begins with a number is a message of TPTP, as [`tptp::register`] takes it. A line that begins with `heph` is an
/// attribute type or an option of Heph, as [`heph::register`] takes it. Blank lines and lines that begin with `#` are left out.
///
/// ```
/// use traceloom_formats::{DescriptionError, register_schema};
///
/// register_schema("1500 cacheMiss time:ticks region:text\nheph type 0x05 bool\nheph option build text")?;
/// // One schema for a process.
/// assert!(register_schema("heph type 6 byte").is_err());
/// # Ok::<(), DescriptionError>(())
/// ```
///
/// # Errors
/// The first line that is wrong, of which nothing is then known; or something is described already in this process.
pub fn register_schema(schema: &str) -> Result<(), DescriptionError> {
    let is_heph = |line: &str| line.split_whitespace().next() == Some("heph");
    // Lines of the other format are blank, so that all keep their numbers.
    let of = |wanted: bool| {
        let lines = schema.lines();
        let lines = lines.map(|line| if is_heph(line) == wanted { line } else { "" });
        lines.collect::<Vec<_>>().join("\n")
    };
    match (tptp::messages(&of(false)), heph::described(&of(true))) {
        (Ok(messages), Ok(types)) => {
            tptp::set(messages)?;
            heph::set(types)
        }
        (Err(one), Err(other)) if other.line < one.line => Err(other),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}
