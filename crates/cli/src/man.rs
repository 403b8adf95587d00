//! `man`: manual pages made from the same declarations as `--help`.

mod markdown;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;

use crate::Outcome;
use crate::streams;

/// Print the manual page, or write one page a command to a folder.
#[derive(Args)]
#[command(after_help = "Example: traceloom man -o /usr/local/share/man/man1")]
pub(crate) struct Options {
    /// Folder to write `traceloom.1` and a page for each command to.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print every command as one page of Markdown.
    #[arg(long, conflicts_with = "output")]
    markdown: bool,
}

pub(crate) fn run(options: &Options, command: Command) -> anyhow::Result<Outcome> {
    if options.markdown {
        streams::raw(markdown::page(command)?.as_bytes())?;
        return Ok(Outcome::Done);
    }
    match &options.output {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            streams::raw(&page)?;
        }
        Some(folder) => write_pages(command, folder)?,
    }
    Ok(Outcome::Done)
}

fn write_pages(command: Command, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let pages = command.get_subcommands().map(|sub| {
        let name = format!("traceloom-{}", sub.get_name());
        sub.clone().name(name)
    });
    for page in pages.chain([command.clone()]) {
        let path = folder.join(format!("{}.1", page.get_name()));
        let mut text = Vec::new();
        Man::new(page).render(&mut text)?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
