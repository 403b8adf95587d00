//! Files that views draw.

use std::io::{self, Write as _};
use std::path::Path;

use clap::Args;
use traceloom_formats::Output as _;
use traceloom_input::save::Save;

/// What a drawing is called, and whether it replaces another.
#[derive(Args, Clone, Default)]
pub(crate) struct DrawnFlags {
    /// Overwrite the file.
    #[arg(long)]
    pub(crate) force: bool,
    /// Heading; by default the name of the input.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// Writes a drawing to a file and names it; `-` is standard output, which gets the drawing alone.
pub(crate) fn write(path: &Path, overwrite: bool, text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if path == Path::new("-") {
        out.write_all(text.as_bytes())?;
        return Ok(());
    }
    let mut save = Save::start(path, false, overwrite)?;
    save.write("", text.as_bytes())?;
    save.commit()?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}
