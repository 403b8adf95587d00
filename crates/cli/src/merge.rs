//! `merge`: several recordings in one file.

use clap::Args;

use crate::Outcome;
use crate::args::{Common, Usage};
use crate::convert::{Job, JobFlags, inputs_and_output};
use crate::pick::Pick;
use crate::slice::same_or_named;

/// Write several recordings as one, on one clock.
#[derive(Args)]
#[command(
    after_help = "The format stays what it was where all inputs have the same, or becomes --to. Nothing is moved in\n\
    time without --shift; a clock of unknown origin is not put beside others without it.\n\nExamples:\n  \
    traceloom merge monday.pprof tuesday.pprof -o both.pprof\n  \
    traceloom merge web.trcbin db.trcbin both.json --to chrome --shift db.trcbin=+1.5s"
)]
pub(crate) struct Options {
    /// Inputs, then the output unless -o names it.
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    job: JobFlags,
    #[command(flatten)]
    pick: Pick,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let usage = "name two inputs or more and an output: merge IN IN… OUT, or merge IN IN… -o OUT";
    let (inputs, output) = inputs_and_output(&options.paths, &options.job, usage)?;
    if inputs.len() < 2 {
        return Err(Usage(usage.to_owned()).into());
    }
    let job = Job {
        inputs,
        output,
        flags: &options.job,
        pick: &options.pick,
        common: &options.common,
    };
    let inputs = job.open()?;
    let (format, variant) = same_or_named(&inputs, options.job.to.as_deref(), output)?;
    job.write(&inputs, format, variant)
}
