//! A page for each format, from the registry: what is read and written, and what a target keeps and loses.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use traceloom_formats::{FORMATS, Format};
use traceloom_model::Feature;

use super::matrix::mark;

/// Writes `NAME.md` for each format to a folder.
pub(super) fn write(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for format in FORMATS {
        let path = folder.join(format!("{}.md", format.name));
        fs::write(&path, page(format)?).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn page(format: &Format) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let name = format.name;
    writeln!(out, "# {name}: {}\n", format.title)?;
    let reads = match (format.reader.is_some(), format.lower.is_some()) {
        (true, true) => "Read: record by record (`dump`, `check`) and by every view.",
        (true, false) => "Read record by record (`dump`, `check`); no view shows it.",
        (false, true) => "Read by every view.",
        (false, false) => "Not read.",
    };
    writeln!(out, "{reads}\n")?;
    if !format.extensions.is_empty() {
        let names: Vec<String> = format
            .extensions
            .iter()
            .map(|name| format!("`.{name}`"))
            .collect();
        writeln!(
            out,
            "Usual names of files: {}. Content decides, not the name.\n",
            names.join(", ")
        )?;
    }
    if format.raise.is_none() {
        writeln!(out, "Not written.")?;
        return Ok(out);
    }
    writeln!(
        out,
        "Written with `traceloom convert INPUT OUTPUT --to {name}`.\n"
    )?;
    let variants = format.holds.variants();
    if !variants.is_empty() {
        writeln!(out, "| variant | what it means |\n|---|---|")?;
        for variant in variants {
            writeln!(
                out,
                "| `--to {name}:{}` | {} |",
                variant.name, variant.about
            )?;
        }
        writeln!(out)?;
    }
    for (wanted, title) in [
        ("●", "Keeps"),
        ("○", "Keeps in a coarser form"),
        ("", "Loses"),
    ] {
        let mut features = Feature::ALL
            .iter()
            .copied()
            .filter(|&feature| mark(format.holds, feature) == wanted)
            .peekable();
        if features.peek().is_none() {
            continue;
        }
        writeln!(out, "## {title}\n")?;
        for feature in features {
            writeln!(out, "- `{}`: {}", feature.name(), feature.about())?;
        }
        writeln!(out)?;
    }
    Ok(out)
}
