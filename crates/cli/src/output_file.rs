//! Files that views draw.

use std::io::Write as _;
use std::path::Path;

use crate::streams::{self, stdout};
use clap::Args;
use traceloom_formats::Output as _;
use traceloom_input::save::{self, Save};
use traceloom_model::printable;

/// What a drawing is called, and whether it replaces another.
#[derive(Args, Clone, Default)]
pub(crate) struct OutputFileFlags {
    /// Overwrite the file.
    #[arg(long)]
    pub(crate) force: bool,
    /// Heading; by default the name of the input.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// Returns what the drawing of an input is called, unless somebody says so.
pub(crate) fn name_of(input: &str) -> String {
    match Path::new(input).file_name() {
        _ if input == "-" => "stdin".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => {
            // A folder named by dots, such as `..`.
            let whole = std::fs::canonicalize(input).ok();
            let name = whole.as_deref().and_then(Path::file_name);
            name.map_or_else(
                || "root".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            )
        }
    }
}

/// Refuses a name that [`write()`] would refuse, before the inputs are read.
pub(crate) fn check(output: &str, overwrite: bool) -> anyhow::Result<()> {
    if output != "-" {
        save::check(Path::new(output), false, overwrite)?;
    }
    Ok(())
}

/// Writes a drawing to a file and names it; `-` is standard output, which gets the drawing alone.
pub(crate) fn write(path: &Path, overwrite: bool, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        streams::raw(text.as_bytes())?;
        return Ok(());
    }
    let mut save = Save::start(path, false, overwrite)?;
    save.write("", text.as_bytes())?;
    save.commit()?;
    writeln!(stdout(), "{}", printable(&path.to_string_lossy()))?;
    Ok(())
}
