//! `merge`: several recordings in one file.

use clap::Args;

use crate::Outcome;
use crate::rewrite::Rewrite;
use crate::usage::Usage;

/// Write several recordings as one, on one clock.
#[derive(Args)]
#[command(
    after_help = "The format stays what it was where all inputs have the same, or becomes --to. Nothing is moved in\n\
    time without --shift; a clock of unknown origin is not put beside others without it.\n\nExamples:\n  \
    traceloom merge monday.pprof tuesday.pprof -o both.pprof\n  \
    traceloom merge web.trcbin db.trcbin both.json --to chrome --shift db.trcbin=+1.5s"
)]
pub(crate) struct Options {
    #[command(flatten)]
    rewrite: Rewrite,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let usage = "name two inputs or more and an output: merge IN IN… OUT, or merge IN IN… -o OUT";
    let (inputs, output) = options.rewrite.paths(usage)?;
    if inputs.len() < 2 {
        return Err(Usage(usage.to_owned()).into());
    }
    options.rewrite.write(inputs, output)
}
