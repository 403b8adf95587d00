//! `formats`: what can be read and written.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use traceloom_formats::{FORMATS, Format};
use traceloom_model::Feature;

use crate::Outcome;
use crate::streams::stdout;
use crate::table::Table;

mod matrix;
mod pages;

/// List the formats and what can be done with each.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    traceloom formats\n  \
    traceloom formats --json | jq -r '.[] | select(.write).name'")]
pub(crate) struct Options {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the table of the README.
    #[arg(long)]
    markdown: bool,
    /// Print docs/formats.md: what each target holds and loses.
    #[arg(long)]
    matrix: bool,
    /// Write a page for each format to a folder: what is read and written, kept and lost.
    #[arg(long, value_name = "FOLDER")]
    pages: Option<PathBuf>,
}

/// What a target holds, in the words of loss reports.
fn held(format: &Format) -> Vec<&'static str> {
    let features = Feature::ALL.iter().copied();
    let held = features.filter(|&feature| format.holds.holds(feature));
    held.map(Feature::name).collect()
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut out = stdout();
    if let Some(folder) = &options.pages {
        return pages::write(folder).map(|()| Outcome::Done);
    }
    if options.matrix {
        return matrix::print(&mut out).map(|()| Outcome::Done);
    }
    if options.json {
        let rows: Vec<_> = FORMATS
            .iter()
            .map(|format| {
                json!({
                    "name": format.name,
                    "title": format.title,
                    "extensions": format.extensions,
                    "records": format.reader.is_some(),
                    "lower": format.lower.is_some(),
                    "write": format.raise.is_some(),
                    "holds": held(format),
                })
            })
            .collect();
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
    } else if options.csv {
        let mut table = Table::new(&["name", "title", "extensions", "records", "lower", "write"]);
        for format in FORMATS {
            table.row([
                format.name.to_owned(),
                format.title.to_owned(),
                format.extensions.join(" "),
                format.reader.is_some().to_string(),
                format.lower.is_some().to_string(),
                format.raise.is_some().to_string(),
            ]);
        }
        table.csv(&mut out)?;
    } else if options.markdown {
        writeln!(out, "| format | what it is | records | model | written |")?;
        writeln!(out, "|---|---|---|---|---|")?;
        for format in FORMATS {
            let mark = |yes: bool| if yes { "yes" } else { "" };
            writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                format.name,
                format.title,
                mark(format.reader.is_some()),
                mark(format.lower.is_some()),
                mark(format.raise.is_some())
            )?;
        }
    } else {
        let width = FORMATS
            .iter()
            .map(|format| format.name.len())
            .max()
            .unwrap_or(0);
        for format in FORMATS {
            let mut can = Vec::new();
            if format.reader.is_some() || format.lower.is_some() {
                can.push("read");
            }
            if format.raise.is_some() {
                can.push("write");
            }
            writeln!(
                out,
                "{:width$}  {:10}  {}",
                format.name,
                can.join(" "),
                format.title
            )?;
        }
    }
    Ok(Outcome::Done)
}
