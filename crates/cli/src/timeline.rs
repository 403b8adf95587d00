//! `timeline`: tracks over time, summed up on the terminal or as a page to look into.

mod json;
mod print;
mod read;

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use traceloom_analysis::timeline::{self, MOST_ITEMS, MOST_TRACKS, Timeline};

use crate::Outcome;
use crate::categories::CategoryFlags;
use crate::inputs::ReadFlags;
use crate::numbers::things;
use crate::output_file;
use crate::select::CallFlags;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table_flags::help;
use crate::usage::Usage;

pub(crate) use read::{read, title};

/// Show tracks over time: spans, waits, pauses, counters, lost data; as a page with -o.
#[derive(Args)]
#[command(
    after_help = "Each column of the last heading is an equal stretch of time; the bar says how much of it was busy, for\n\
    samples and events how many there were. Recordings whose clock has no date are drawn from the left,\n\
    each from its own start; --shift places them.\n\nExamples:\n  \
    traceloom timeline dump/\n  \
    traceloom timeline dump/ -o dump.html\n  \
    traceloom timeline app.jfr --since +10s --until +20s -o slow.html\n  \
    traceloom timeline a.bin b.bin --shift b.bin=+1.5s --filter 'duration > 100ms'"
)]
#[command(mut_arg(
    "paths",
    help("Files, folders, archives, or `-`; several are drawn on one axis")
))]
pub(crate) struct Options {
    #[command(flatten)]
    calls: CallFlags,
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    categories: CategoryFlags,
    /// Write a page that zooms, searches and measures, `.html`; `-` writes it to standard output.
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<String>,
    /// Overwrite the file.
    #[arg(long)]
    force: bool,
    /// Heading of the page; by default the name of the input.
    #[arg(long, value_name = "TEXT", requires = "output")]
    title: Option<String>,
    /// Most spans, events and samples that the page holds: what is shorter than they are is drawn together, and
    /// says how much it is [default: 2000000, fewer where the page would have over 40 MB].
    #[arg(long, value_name = "N", requires = "output")]
    most: Option<usize>,
    /// Tracks to print, the busiest; 0 prints all [default: 30 on a terminal, all with --json].
    #[arg(short = 'n', long, value_name = "TRACKS")]
    rows: Option<usize>,
    /// Stretches of time that the recording is divided into.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    columns: u16,
    /// Print full names and exact nanoseconds.
    #[arg(long)]
    wide: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if let Some(output) = &options.output
        && output != "-"
        && !output.ends_with(".html")
        && !output.ends_with(".htm")
    {
        return Err(Usage(format!("-o {output}: end the name in .html")).into());
    }
    if let Some(output) = &options.output {
        output_file::check(output, options.force)?;
    }
    let style = Style::new(&options.read.common)?;
    let mut inputs = options.read.inputs();
    let most = options.most.unwrap_or(MOST_ITEMS).max(MOST_ITEMS);
    let tracks = options.output.as_ref().map(|_| MOST_TRACKS);
    let timeline = read(&options.calls, &options.read, &mut inputs, (most, tracks))?;
    if let Some(output) = &options.output {
        if timeline.is_empty() {
            say_missing(&timeline);
            anyhow::bail!("{output} is not written: there is nothing to draw");
        }
        page(&timeline, &inputs.doubts.join("; "), options, output)?;
    } else {
        let mut out = io::BufWriter::new(stdout());
        if options.json {
            let most = options.rows.unwrap_or(0);
            let object = json::json(&timeline, options.columns.into(), most);
            writeln!(out, "{object}")?;
        } else {
            print::print(&timeline, options, &style, &mut out)?;
        }
        out.flush()?;
    }
    say_missing(&timeline);
    Ok(inputs.outcome())
}

/// Says what is in no row, or in none of its own.
fn say_missing(timeline: &Timeline) {
    if let Some(said) = timeline.left_out() {
        message!("{said}");
    }
    for source in &timeline.sources {
        let title = &source.title;
        if let Some(reason) = timeline::missing(timeline, source) {
            message!("{title}: {reason}");
        }
        if source.unplaced > 0 {
            let places = things(source.unplaced, "place", "places");
            message!("{title}: {places} of damage without a time");
        }
    }
}

fn page(timeline: &Timeline, doubt: &str, options: &Options, output: &str) -> anyhow::Result<()> {
    let first = options.read.paths.first().map_or("", String::as_str);
    let name = output_file::name_of(first);
    let title = options.title.as_deref().unwrap_or(&name);
    let rules = options.categories.rules()?;
    let text = timeline::html(timeline, &rules, (title, doubt), options.most);
    output_file::write(Path::new(output), options.force, &text)
}
