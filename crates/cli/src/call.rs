//! `call`: one call, unmerged, in time order, with what other processes did for it.

mod exceptions;
mod find;
mod json;
mod print;
mod tree;

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use traceloom_analysis::names::ShortNames;
use traceloom_model::SpanId;

use crate::Outcome;
use crate::inputs::ReadFlags;
use crate::streams::stdout;
use crate::style::Style;
use crate::usage::Usage;
use find::find;
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
    /// Leave out spans shorter than this.
    #[arg(long, value_name = "DURATION", value_parser = crate::select::duration)]
    min_duration: Option<u64>,
    /// Print full names and whole stacks.
    #[arg(long)]
    wide: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What was asked for.
enum Id {
    Origin {
        part: usize,
        offset: u64,
        index: u32,
    },
    Span(SpanId),
    Trace(u128),
}

fn parse(id: &str) -> Option<Id> {
    if let Some(number) = id.strip_prefix('#') {
        return Some(Id::Span(SpanId(number.parse().ok()?)));
    }
    if !id.contains('.') {
        let digits = id.replace('-', "");
        // Producers that count their traces tell the number; others have 64 or 128 bits in hex.
        let trace = match digits.len() {
            16 | 32 => u128::from_str_radix(&digits, 16).ok(),
            _ => id.parse().ok(),
        };
        return trace.filter(|&trace| trace != 0).map(Id::Trace);
    }
    let mut numbers = id.split('.');
    let part = numbers.next()?.parse().ok()?;
    let offset = numbers.next()?.parse().ok()?;
    let index = numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some(Id::Origin {
        part,
        offset,
        index,
    })
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let paths = options.read.paths.join(" ");
    let wanted = parse(&options.id).ok_or_else(|| {
        Usage(format!(
            "`{}` is no call id; `traceloom calls {paths}` prints them",
            options.id
        ))
    })?;
    let style = Style::new(&options.read.common)?;
    let mut inputs = options.read.inputs();
    let found = find(&inputs.all()?, &wanted, &options.read.common)?;
    options.read.check_names()?;
    let found = found.with_context(|| match wanted {
        Id::Trace(_) => format!("{paths}: there is no call of trace {}", options.id),
        _ => format!("{paths}: there is no call {}", options.id),
    })?;
    let names: Vec<_> = found.recording.function_names().collect();
    let names = ShortNames::new(names.iter().map(AsRef::as_ref));
    let tree = PrintedTree::of(&found, &options.read.methods.rules()?, names);
    let mut out = io::BufWriter::new(stdout());
    if options.json {
        writeln!(out, "{}", tree.json())?;
    } else {
        tree.print(options, &style, &mut out)?;
    }
    out.flush()?;
    Ok(inputs.outcome())
}
