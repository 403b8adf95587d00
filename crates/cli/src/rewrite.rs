//! Writing recordings again in the format they have: what `slice` and `merge` share.

use clap::Args;
use traceloom_formats::Format;
use traceloom_input::Input;

use crate::Outcome;
use crate::args::Common;
use crate::convert::{Job, JobFlags, inputs_and_output, target};
use crate::lowered::documents;
use crate::pick::Pick;
use crate::usage::Usage;

/// What to read and where to write it.
#[derive(Args)]
pub(crate) struct Rewrite {
    /// Inputs, then the output unless -o names it.
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    job: JobFlags,
    #[command(flatten)]
    pub(crate) pick: Pick,
    #[command(flatten)]
    common: Common,
}

impl Rewrite {
    /// Tells the output from the inputs.
    pub(crate) fn paths(&self, usage: &str) -> anyhow::Result<(&[String], &str)> {
        inputs_and_output(&self.paths, &self.job, usage)
    }

    /// Writes the inputs as what they are, or as `--to` says.
    pub(crate) fn write(&self, inputs: &[String], output: &str) -> anyhow::Result<Outcome> {
        let job = Job {
            inputs,
            output,
            flags: &self.job,
            pick: &self.pick,
            common: &self.common,
        };
        let inputs = job.open()?;
        let (format, variant) = same_or_named(&inputs, self.job.to.as_deref(), output)?;
        job.write(&inputs, format, variant)
    }
}

/// The format to write: `--to`, else the one that all recordings have, else by the output's extension.
fn same_or_named(
    inputs: &[Input],
    to: Option<&str>,
    output: &str,
) -> anyhow::Result<(&'static Format, Option<String>)> {
    if to.is_some() {
        return target(to, output);
    }
    let all = inputs.iter().flat_map(Input::documents);
    let mut formats: Vec<&'static Format> = all
        .filter_map(|document| document.format())
        .filter(|format| format.lower.is_some())
        .collect();
    formats.dedup();
    if formats.is_empty() {
        // The reason why there is none comes before any about the target.
        for input in inputs {
            documents(input)?;
        }
    }
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
