//! `slice`: a part of a recording, in the format it had.

use clap::Args;
use traceloom_formats::Format;
use traceloom_input::Input;

use crate::Outcome;
use crate::args::{Common, Usage};
use crate::convert::{Job, JobFlags, inputs_and_output, target};
use crate::pick::Pick;

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
    /// Input, then the output unless -o names it.
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
    let usage = "name an input and an output: slice IN OUT, or slice IN -o OUT";
    let (inputs, output) = inputs_and_output(&options.paths, &options.job, usage)?;
    if inputs.len() > 1 {
        return Err(Usage(format!("{usage}; `traceloom convert` takes several inputs")).into());
    }
    if !options.pick.selects() {
        let flags = "--since, --until, --filter, --min-duration, --errors or --sample";
        return Err(Usage(format!("say what to keep: {flags}")).into());
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

/// The format to write: `--to`, else the one that all recordings have, else by the output's extension.
pub(crate) fn same_or_named(
    inputs: &[Input],
    to: Option<&str>,
    output: &str,
) -> anyhow::Result<(&'static Format, Option<String>)> {
    if to.is_some() {
        return target(to, output);
    }
    let documents = inputs.iter().flat_map(Input::documents);
    let mut formats: Vec<&'static Format> = documents
        .filter_map(|document| document.format())
        .filter(|format| format.lower.is_some())
        .collect();
    formats.dedup();
    match formats.as_slice() {
        [format] if format.raise.is_some() => Ok((format, None)),
        _ => target(None, output).map_err(|error| match formats.as_slice() {
            [format] => {
                let name = format.name;
                Usage(format!(
                    "`{name}` is read, not written; choose a format with --to"
                ))
                .into()
            }
            _ => error,
        }),
    }
}
