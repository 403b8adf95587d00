//! `slice`: a part of a recording, in the format it had.

use clap::Args;

use crate::Outcome;
use crate::rewrite::Rewrite;
use crate::usage::Usage;

/// Write a part of a recording: a stretch of time, some calls, a fraction of them.
#[derive(Args)]
#[command(
    after_help = "The format stays what it was, or becomes --to. `top` of a slice is `top` of the whole with the\n\
    same flags.\n\nExamples:\n  \
    traceloom slice dump/ slow/ --min-duration 2s\n  \
    traceloom slice run.trcbin cut.trcbin --since +10s --until +20s\n  \
    traceloom slice spans.heph some.heph --sample 1/100"
)]
pub(crate) struct Options {
    #[command(flatten)]
    rewrite: Rewrite,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let usage = "name an input and an output: slice IN OUT, or slice IN -o OUT";
    let (inputs, output) = options.rewrite.paths(usage)?;
    if inputs.len() > 1 {
        return Err(Usage(format!("{usage}; `traceloom convert` takes several inputs")).into());
    }
    if !options.rewrite.pick.selects() {
        let flags = "--since, --until, --filter, --min-duration, --errors or --sample";
        return Err(Usage(format!("say what to keep: {flags}")).into());
    }
    options.rewrite.write(inputs, output)
}
