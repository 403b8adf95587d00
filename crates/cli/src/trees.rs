//! The call trees of inputs: what `top`, `tree` and `flame` all start from.

use clap::Args;
use traceloom_analysis::{CallTree, MeasureUnit, TreeBuilder, TreeOptions, Trees};
use traceloom_formats::LowerOptions;
use traceloom_input::piped;

use crate::args::Common;
use crate::lowered::{documents, mention};
use crate::open::{open, with_progress};
use crate::select::{CallFlags, FrameFlags};
use crate::style;
use crate::timing::{TimeFlags, Timing};

/// Flags of the views over call trees.
#[derive(Args, Clone, Default)]
pub(crate) struct TreeFlags {
    /// Files, folders, archives, or `-`; several are added together.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
    #[command(flatten)]
    pub(crate) calls: CallFlags,
    #[command(flatten)]
    pub(crate) frames: FrameFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// The sampled value to show, such as `cpu` or `alloc_space`.
    #[arg(long, value_name = "TYPE")]
    pub(crate) value: Option<String>,
    /// Count async tracks and lanes too.
    #[arg(long = "async")]
    pub(crate) lanes: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Reads all inputs into trees, frames selected.
pub(crate) fn read(flags: &TreeFlags) -> anyhow::Result<Vec<CallTree>> {
    let selection = flags.calls.selection()?;
    let mut all = Trees::default();
    for (number, path) in (1..).zip(&flags.paths) {
        let input = open(path, &flags.common)?;
        let timing = Timing::of(
            &flags.time,
            &flags.common,
            number,
            std::slice::from_ref(&input),
        )?;
        let mut notes = Vec::new();
        with_progress(&input, "reading", || {
            for document in documents(&input)? {
                let mut builder = TreeBuilder::new(TreeOptions {
                    lanes: flags.lanes,
                    value: flags.value.clone(),
                    calls: (!selection.is_empty()).then(|| selection.clone()),
                });
                let options = LowerOptions {
                    limits: flags.common.limits()?,
                    ..LowerOptions::default()
                };
                notes.push(piped(&mut builder, |sink| {
                    timing.lower(0, &input, &document, &options, sink)
                })?);
                all.merge(builder.finish());
            }
            Ok(())
        })?;
        mention(path, &notes);
    }
    flags.time.check_names()?;
    let filter = flags.frames.filter();
    let trees: Vec<_> = all.iter().map(|tree| tree.select(&filter)).collect();
    if trees.is_empty() {
        anyhow::bail!(match &flags.value {
            Some(value) => format!(
                "no spans and no samples with a value `{value}`; `traceloom info` lists the values"
            ),
            None => "no spans and no samples here".to_owned(),
        });
    }
    Ok(trees)
}

/// A value with its unit, for people.
pub(crate) fn amount(unit: &MeasureUnit, value: i64) -> String {
    match unit {
        MeasureUnit::Nanoseconds => {
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{}", style::duration(value.unsigned_abs()))
        }
        MeasureUnit::Bytes if value >= 0 => style::size(value.unsigned_abs()),
        _ => value.to_string(),
    }
}

/// The unit's word in JSON.
pub(crate) fn unit_word(unit: &MeasureUnit) -> &str {
    match unit {
        MeasureUnit::Nanoseconds => "ns",
        MeasureUnit::Bytes => "bytes",
        MeasureUnit::Count => "count",
        MeasureUnit::Chars => "chars",
        MeasureUnit::Percent => "percent",
        MeasureUnit::Other(name) => name,
    }
}

/// A share of the whole, with two digits.
pub(crate) fn share(tree: &CallTree, value: i64) -> String {
    tree.percent(value)
        .map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2}%"))
}
