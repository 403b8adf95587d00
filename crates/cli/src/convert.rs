//! `convert`: any format to any other, with what was lost.

mod archive;
mod job;
mod reading;
mod target;

pub(crate) use job::Job;
pub(crate) use target::{inputs_and_output, target};

use clap::Args;

use crate::Outcome;
use crate::args::Common;
use crate::graph::GraphFlags;
use crate::pick::Pick;
use target::{contradiction, inside, list};

/// Write the data in another format, and say what that format cannot hold.
#[derive(Args)]
#[command(
    after_help = "The target's format is --to, or what the output's extension says; in a folder that exists the\n\
    output is named after the input. A line on standard error says what is lost; --losses lists it, --json prints the\n\
    list to standard output. With --filter-file, the time of a method left out falls to its caller. Several inputs go on one clock; one whose clock has no\n\
    known origin needs a --shift. Samples do not become spans, nor spans samples, unless that is asked for.\n\nExamples:\n  \
    traceloom convert dump/ out/ --to cdt-streams\n  \
    traceloom convert capture.tcpdump streams/ --to cdt-streams --deny-loss\n  \
    traceloom convert spans.heph spans.json --losses\n  \
    traceloom convert a.pprof b.pprof -o both.folded\n  \
    traceloom convert dump/ calls.folded --as-samples --filter '+POST' --since +10min\n  \
    traceloom convert dump/ shared.json --redact hosts,addresses,sql,urls,paths\n  \
    traceloom convert app.trcbin app.trcxml --filter-file filters.txt\n  \
    traceloom convert app.jfr alloc.folded --value alloc\n  \
    traceloom convert app.jfr flame.flamegraph.json --dimension package --unit ms\n  \
    traceloom convert bundle/ points.lp --to line-protocol:metrics\n  \
    traceloom convert --to list"
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
    graph: GraphFlags,
    #[command(flatten)]
    common: Common,
}

impl Options {
    /// The conversion that draws a flame graph as JSON.
    pub(crate) fn graph(
        paths: Vec<String>,
        (output, force): (&str, bool),
        pick: Pick,
        graph: GraphFlags,
        common: Common,
    ) -> Self {
        Self {
            paths,
            job: JobFlags {
                to: Some(traceloom_formats::flamejson::FORMAT.name.to_owned()),
                output: Some(output.to_owned()),
                force,
                deny_loss: false,
                losses: false,
                json: false,
            },
            pick,
            graph,
            common,
        }
    }
}

/// What `convert`, `slice` and `merge` write, and where.
#[derive(Args, Clone)]
pub(crate) struct JobFlags {
    /// Format to write, and a variant of it after a colon; `list` prints them.
    #[arg(long, value_name = "NAME[:VARIANT]")]
    pub(crate) to: Option<String>,
    /// Output, `-` for standard output, where a folder is a zip archive.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// Overwrite the output.
    #[arg(long)]
    force: bool,
    /// Fail when anything is lost, and write nothing.
    #[arg(long)]
    deny_loss: bool,
    /// List what is lost and what is changed, entry by entry; a line sums it up otherwise.
    #[arg(long, conflicts_with = "json")]
    losses: bool,
    /// Print the loss report as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.job.to.as_deref() == Some("list") {
        return list();
    }
    let usage = "name an input and an output: convert IN… OUT, or convert IN… -o OUT";
    let (inputs, output) = inputs_and_output(&options.paths, &options.job, usage)?;
    let (target, variant) = target(options.job.to.as_deref(), output)?;
    let variant = options.graph.variant(target, variant)?;
    let inside = inside(inputs, output, target);
    let output = inside.as_deref().unwrap_or(output);
    contradiction(output, target);
    let job = Job {
        inputs,
        output,
        flags: &options.job,
        pick: &options.pick,
        common: &options.common,
    };
    let inputs = job.open()?;
    job.write(&inputs, target, variant)
}
