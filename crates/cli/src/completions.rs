//! `completions`: scripts that complete commands and flags in a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::Outcome;
use crate::streams;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = "Example: traceloom completions bash > /etc/bash_completion.d/traceloom")]
pub(crate) struct Options {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(options: &Options, mut command: Command) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "traceloom", &mut script);
    streams::raw(&script)?;
    Ok(Outcome::Done)
}
