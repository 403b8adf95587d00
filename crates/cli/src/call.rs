//! `call`: one call, unmerged, in time order, with what other processes did for it.

mod exceptions;
mod find;
mod json;
mod print;
mod tree;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use traceloom_analysis::names::ShortNames;
use traceloom_input::captures::{CaptureId, ChosenCaptures, DataFolder};
use traceloom_model::SpanId;

use crate::Outcome;
use crate::categories::CategoryFlags;
use crate::inputs::ReadFlags;
use crate::streams::stdout;
use crate::style::Style;
use crate::usage::Usage;
use find::find;
use json::SpansWanted;
use tree::PrintedTree;

/// Print one call with everything in it, in time order.
///
/// Spans of other processes that name a span of the call as their parent hang below it, each with the
/// session and file that it comes from.
#[derive(Args)]
#[command(
    after_help = "The id is the first column of `traceloom calls`, or a trace id of 16 or 32 hex digits\n\
    (column `trace`), or its number. Of several paths the call is looked for in each; all of them are searched for\n\
    the rest of its trace.\n\nExamples:\n  \
    traceloom call dump/ 5.4320.0\n  \
    traceloom call dump/ 5.4320.0 --min-duration 10ms\n  \
    traceloom call shop.jsonl stock.jsonl 6cea28287df5a54cf3200c7e17ae39e8"
)]
pub(crate) struct Options {
    #[command(flatten)]
    read: ReadFlags,
    /// The call's id, or a trace id.
    #[arg(value_name = "ID", required = true)]
    id: String,
    #[command(flatten)]
    categories: CategoryFlags,
    /// Leave out spans shorter than this.
    #[arg(long, value_name = "DURATION", value_parser = crate::select::duration)]
    min_duration: Option<u64>,
    /// Print full names and whole stacks.
    #[arg(long)]
    wide: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// With --json: only the span of this `index`, and those below it.
    #[arg(long, value_name = "INDEX", requires = "json", default_value_t = 0)]
    below: usize,
    /// With --json: only so many levels below that span.
    #[arg(long, value_name = "LEVELS", requires = "json")]
    depth: Option<usize>,
    /// With --json: at most so many spans; `left_out` says how many more there are.
    #[arg(long, value_name = "N", requires = "json")]
    spans: Option<usize>,
}

/// What was asked for.
enum AskedCall {
    Origin {
        part: usize,
        offset: u64,
        index: u32,
    },
    Span(SpanId),
    Trace(u128),
}

fn parse(id: &str) -> Option<AskedCall> {
    if let Some(number) = id.strip_prefix('#') {
        return Some(AskedCall::Span(SpanId(number.parse().ok()?)));
    }
    if !id.contains('.') {
        let digits = id.replace('-', "");
        // Producers that count their traces tell the number; others have 64 or 128 bits in hex.
        let trace = match digits.len() {
            16 | 32 => u128::from_str_radix(&digits, 16).ok(),
            _ => id.parse().ok(),
        };
        return trace.filter(|&trace| trace != 0).map(AskedCall::Trace);
    }
    let mut numbers = id.split('.');
    let part = numbers.next()?.parse().ok()?;
    let offset = numbers.next()?.parse().ok()?;
    let index = numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some(AskedCall::Origin {
        part,
        offset,
        index,
    })
}

/// Returns where the call is, and its id there: `1-7:6.8.0` of a data folder is the call `6.8.0` of its capture `1-7`.
fn within_capture(options: &Options) -> Option<(Vec<String>, &str)> {
    let (capture, id) = options.id.split_once(':')?;
    capture.parse::<CaptureId>().ok()?;
    let [path] = options.read.paths.as_slice() else {
        return None;
    };
    let chosen = ChosenCaptures::of(path).map(|chosen| chosen.folder);
    let whole = || Some(PathBuf::from(path)).filter(|path| DataFolder::is_at(path));
    let folder = chosen.or_else(whole)?;
    Some((vec![format!("{}#{capture}", folder.display())], id))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let (of_paths, id) = within_capture(options)
        .unwrap_or_else(|| (options.read.paths.clone(), options.id.as_str()));
    let read = ReadFlags {
        paths: of_paths,
        ..options.read.clone()
    };
    let paths = read.paths.join(" ");
    let wanted = parse(id).ok_or_else(|| {
        Usage(format!(
            "`{id}` is no call id; `traceloom calls {paths}` prints them"
        ))
    })?;
    let style = Style::new(&options.read.common)?;
    let mut inputs = read.inputs();
    let found = find(&inputs.all()?, &wanted, &options.read.common)?;
    options.read.check_names()?;
    let found = found.with_context(|| match wanted {
        AskedCall::Trace(_) => format!("{paths}: there is no call of trace {id}"),
        _ => format!("{paths}: there is no call {id}"),
    })?;
    let names: Vec<_> = found.recording.function_names().collect();
    let names = ShortNames::new(names.iter().map(AsRef::as_ref));
    let tree = PrintedTree::of(&found, &options.read.methods.rules()?, names);
    let mut out = io::BufWriter::new(stdout());
    if options.json {
        let part = SpansWanted {
            below: options.below,
            depth: options.depth,
            most: options.spans,
        };
        writeln!(out, "{}", tree.json(&part, &options.categories.rules()?))?;
    } else {
        tree.print(options, &style, &mut out)?;
    }
    out.flush()?;
    Ok(inputs.outcome())
}
