//! The call trees of inputs: what `top`, `tree` and `flame` all start from.

use clap::Args;
use traceloom_analysis::{
    CallTree, Functions, MeasureUnit, TreeBuilder, TreeOptions, TreeSource, Trees,
};
use traceloom_input::piped;

use crate::args::Common;
use crate::lowered::{documents, lower, mention};
use crate::open::{open, with_progress};
use crate::select::{CallFlags, FrameFlags};
use crate::style;

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
    let mut all = Trees::default();
    each(flags, false, |builder| all.merge(builder.finish()))?;
    let filter = flags.frames.filter();
    let trees: Vec<_> = if filter.is_empty() {
        all.into_trees().collect()
    } else {
        all.iter().map(|tree| tree.select(&filter)).collect()
    };
    found(flags, trees)
}

/// Reads all inputs into tables of functions; who called whom matters only where frames are selected.
pub(crate) fn read_functions(flags: &TreeFlags) -> anyhow::Result<Vec<Functions>> {
    if !flags.frames.filter().is_empty() {
        return Ok(read(flags)?.into_iter().map(Functions::of).collect());
    }
    let mut all = Vec::new();
    each(flags, true, |builder| {
        let tables = builder.finish_functions().into_iter();
        tables.for_each(|table| table.merge_into(&mut all));
    })?;
    // Wall time first, as with trees.
    all.sort_by_key(|table| table.measure.source != TreeSource::Spans);
    found(flags, all)
}

/// Shows what each recording of all inputs was built into to `take`.
fn each(
    flags: &TreeFlags,
    functions: bool,
    mut take: impl FnMut(TreeBuilder),
) -> anyhow::Result<()> {
    let selection = flags.calls.selection()?;
    for path in &flags.paths {
        let input = open(path, &flags.common)?;
        let mut notes = Vec::new();
        with_progress(&input, "reading", || {
            for document in documents(&input)? {
                let mut builder = TreeBuilder::new(TreeOptions {
                    lanes: flags.lanes,
                    value: flags.value.clone(),
                    functions,
                    calls: (!selection.is_empty()).then(|| selection.clone()),
                });
                let options = flags.common.lower_options()?;
                notes.push(piped(&mut builder, |sink| {
                    lower(&document, &options, &flags.common, sink)
                })?);
                take(builder);
            }
            Ok(())
        })?;
        mention(path, &notes);
    }
    Ok(())
}

fn found<T>(flags: &TreeFlags, views: Vec<T>) -> anyhow::Result<Vec<T>> {
    if views.is_empty() {
        anyhow::bail!(match &flags.value {
            Some(value) => format!(
                "no spans and no samples with a value `{value}`; `traceloom info` lists the values"
            ),
            None => "no spans and no samples here".to_owned(),
        });
    }
    Ok(views)
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
pub(crate) fn share(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2}%"))
}
