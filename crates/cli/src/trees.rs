//! The call trees of inputs: what `top`, `tree` and `flame` all start from.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use traceloom_analysis::{
    Adjustment, CallTree, Functions, GroupBy, Measure, MeasureUnit, TreeBuilder, TreeOptions,
    TreeSource, Trees, adjust,
};
use traceloom_formats::Source;
use traceloom_formats::datakit::{EventKind, Language, value_names};
use traceloom_input::{Document, piped, piped_halves};
use traceloom_model::{Feature, Recording, Sink, Timestamp};

use crate::args::Common;
use crate::groups;
use crate::lowered::{documents, mention};
use crate::open::{Among, with_progress};
use crate::select::{AdjustFlags, CallFlags, FrameFlags, MethodFlags};
use crate::style::{self, count};
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
    pub(crate) methods: MethodFlags,
    #[command(flatten)]
    pub(crate) adjust: AdjustFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// The sampled value to show: its own name, Datakit's (`cpu-time`), or `cpu`, `wall`, `alloc`, `lock`,
    /// `live`, `exceptions`.
    #[arg(long, value_name = "TYPE")]
    pub(crate) value: Option<String>,
    /// Count async tracks and lanes too.
    #[arg(long = "async")]
    pub(crate) lanes: bool,
    /// How long calls took is wanted too, where a command has `--percentiles`.
    #[arg(skip)]
    pub(crate) durations: bool,
    /// What the roots are groups of, where a command has `--by`.
    #[arg(skip)]
    pub(crate) by: Option<GroupBy>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl TreeFlags {
    /// Returns the inputs.
    pub(crate) fn inputs(&self) -> Among<'_> {
        Among::new(&self.paths, &self.common)
    }
}

/// Reads all inputs into trees, frames selected.
pub(crate) fn read(flags: &TreeFlags, among: &mut Among<'_>) -> anyhow::Result<Vec<CallTree>> {
    let trees = selected(flags, among, Table::Trees)?;
    let trees = found(flags, trees.into_trees().collect())?;
    if let Some(by) = &flags.by {
        groups::mention(by, &trees);
    }
    Ok(trees)
}

/// Reads all inputs into trees as [`read`] does, where they have anything for one.
pub(crate) fn read_any(flags: &TreeFlags, among: &mut Among<'_>) -> anyhow::Result<Vec<CallTree>> {
    Ok(selected(flags, among, Table::Trees)?.into_trees().collect())
}

/// The trees of a recording, and what else of it matters to a comparison.
#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) trees: Vec<CallTree>,
    /// Functions in place of a tree's nodes, by tree.
    pub(crate) functions: Vec<Option<Functions>>,
    /// Seconds it lasted, where that is known.
    pub(crate) seconds: Option<f64>,
    /// The value between two samples, by tree.
    pub(crate) periods: Vec<Option<i64>>,
}

/// Reads all inputs to be compared: into trees, or where nobody asks for those, samples into functions, which takes a
/// fraction of the memory.
pub(crate) fn read_recorded(flags: &TreeFlags, wants_trees: bool) -> anyhow::Result<Recorded> {
    let plain = flags.adjust.is_empty() && flags.frames.filter(&flags.methods.rules()?).is_empty();
    let table = match wants_trees || !plain {
        true => Table::Trees,
        false => Table::Alike,
    };
    let mut functions: Vec<Functions> = Vec::new();
    let mut lasted = None::<(Timestamp, Timestamp)>;
    let mut periods: BTreeMap<String, i64> = BTreeMap::new();
    let mut among = flags.inputs();
    let (trees, events) = selected_with(flags, &mut among, table, |builder| {
        if let Some((start, end)) = builder.lasted() {
            lasted = Some(lasted.map_or((start, end), |all| (all.0.min(start), all.1.max(end))));
        }
        let said: Vec<(String, i64)> = builder.periods().collect();
        periods.extend(said);
        let (trees, own) = builder.finish_both();
        own.into_iter()
            .for_each(|one| one.merge_into(&mut functions));
        trees
    })?;
    let mut samples = trees.samples.iter();
    if samples.any(|tree| {
        functions
            .iter()
            .any(|of| of.measure.name == tree.measure.name)
    }) {
        // One value from readers of both kinds: only trees add up.
        return read_recorded(flags, true);
    }
    let seconds =
        lasted.map(|(start, end)| Duration::from_nanos(end.abs_diff(start)).as_secs_f64());
    let mut trees: Vec<CallTree> = trees.into_trees().collect();
    let mut tables: Vec<Option<Functions>> = trees.iter().map(|_| None).collect();
    for mut of in functions {
        named(&events, &mut of.measure);
        trees.push(CallTree {
            total: of.total,
            ..CallTree::empty(of.measure.clone())
        });
        tables.push(Some(of));
    }
    let trees = found(flags, trees)?;
    let period = |tree: &CallTree| periods.get(&tree.measure.name).copied();
    Ok(Recorded {
        seconds: seconds.filter(|&seconds| seconds > 0.0),
        periods: trees.iter().map(period).collect(),
        functions: tables,
        trees,
    })
}

/// Tables of functions, and the other columns of statistics as tables of their own.
pub(crate) type Tables = [Vec<Functions>; 2];

/// Reads all inputs into tables of functions; who called whom matters only where frames are selected.
pub(crate) fn read_functions(flags: &TreeFlags, among: &mut Among<'_>) -> anyhow::Result<Tables> {
    let [mut all, mut beside] = Tables::default();
    let plain = !flags.durations && flags.adjust.is_empty();
    if plain && flags.frames.filter(&flags.methods.rules()?).is_empty() {
        let events = each(flags, among, Table::Functions, |builder| {
            let [own, others] = builder.finish_functions();
            own.into_iter().for_each(|one| one.merge_into(&mut all));
            let others = others.into_iter();
            others.for_each(|one| one.merge_into(&mut beside));
        })?;
        for table in all.iter_mut().chain(&mut beside) {
            named(&events, &mut table.measure);
        }
        // Wall time first, as with trees.
        all.sort_by_key(|table| table.measure.source != TreeSource::Spans);
    } else {
        let mut trees = selected(flags, among, Table::Statistics)?;
        let others = std::mem::take(&mut trees.beside).into_iter();
        beside = others.map(Functions::of).collect();
        all = trees.into_trees().map(Functions::of).collect();
    }
    Ok([found(flags, all)?, beside])
}

/// What builders are to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Trees,
    /// Trees, and those of the other columns of statistics.
    Statistics,
    Functions,
    /// Trees, and functions of samples that need no tree, those named alike as one.
    Alike,
}

fn selected(flags: &TreeFlags, among: &mut Among<'_>, table: Table) -> anyhow::Result<Trees> {
    let (trees, _) = selected_with(flags, among, table, TreeBuilder::finish)?;
    Ok(trees)
}

fn selected_with(
    flags: &TreeFlags,
    among: &mut Among<'_>,
    table: Table,
    mut finish: impl FnMut(TreeBuilder) -> Trees,
) -> anyhow::Result<(Trees, Events)> {
    let mut all = Trees::default();
    let events = each(flags, among, table, |builder| all.merge(finish(builder)))?;
    let samples = all.samples.iter_mut().chain(&mut all.beside);
    samples.for_each(|tree| named(&events, &mut tree.measure));
    let adjustments = flags.adjust.rules()?;
    if !adjustments.is_empty() {
        about(&adjustments, &all);
        all = all.map(|tree| adjust(tree, &adjustments));
    }
    let methods = flags.methods.rules()?;
    let filter = flags.frames.filter(&methods);
    if filter.is_empty() {
        return Ok((all, events));
    }
    let nodes = |trees: &Trees| -> usize { trees.iter().map(|tree| tree.nodes.len()).sum() };
    let before = nodes(&all);
    let left = all.map(|tree| tree.select(&filter));
    if before > 0 && nodes(&left) == 0 {
        eprintln!(
            "traceloom: nothing is left of {before} paths of calls: the filters take all of them"
        );
    }
    Ok((left, events))
}

/// Says so when nothing is adjusted: a name may be mistyped.
fn about(adjustments: &[Adjustment], trees: &Trees) {
    for one in adjustments {
        let mut symbols = trees.iter().flat_map(|tree| &tree.symbols);
        if !symbols.any(|symbol| one.is_about(symbol)) {
            eprintln!("traceloom: --adjust {one}: no method matches");
        }
    }
}

/// Datakit's names of sampled values, by the producer's; none where two recordings mean different things.
type Events = BTreeMap<String, Option<&'static str>>;

/// Notes what Datakit calls the values of a recording whose first part is `file`.
fn name_events(recording: &Recording, file: &str, events: &mut Events) {
    let language = Language::of_recording(recording);
    for column in recording.value_types.iter().flatten() {
        let event = EventKind::of_column(recording, language, file, column).map(|kind| kind.name);
        let name = recording.text(column.name).into_owned();
        let known = events.entry(name).or_insert(event);
        *known = known.filter(|known| Some(*known) == event);
    }
}

fn named(events: &Events, measure: &mut Measure) {
    if measure.source == TreeSource::Samples {
        measure.event = events.get(&measure.name).copied().flatten();
    }
}

/// Shows what each recording of all inputs was built into to `take`; says what its values are called.
fn each(
    flags: &TreeFlags,
    among: &mut Among<'_>,
    table: Table,
    mut take: impl FnMut(TreeBuilder),
) -> anyhow::Result<Events> {
    let mut events = Events::new();
    let (mut samples, mut taken, mut refused) = (false, 0, 0);
    let selection = flags.calls.selection()?;
    while let Some((number, input)) = among.next()? {
        let timing = Timing::of(
            &flags.time,
            &flags.common,
            number,
            std::slice::from_ref(&input),
        )?;
        let mut notes = Vec::new();
        with_progress(&input, "reading", || {
            for document in documents(&input)? {
                let file = document.parts().first().map_or("", |part| &part.name);
                let value = flags.value.as_deref();
                let values = value.map_or_else(Vec::new, |word| value_names(word, file));
                let builder = || {
                    TreeBuilder::new(TreeOptions {
                        lanes: flags.lanes,
                        values: values.clone(),
                        functions: matches!(table, Table::Functions | Table::Alike),
                        alike: table == Table::Alike,
                        beside: matches!(table, Table::Statistics | Table::Functions),
                        durations: flags.durations,
                        by: flags.by.clone(),
                        calls: (!selection.is_empty()).then(|| selection.clone()),
                    })
                };
                let (mut first, mut second) = (builder(), builder());
                let options = flags.common.lower_options()?;
                let read = |sink: &mut dyn Sink| timing.lower(0, &input, &document, &options, sink);
                // Calls are selected by rows that come after their steps, to one builder; samples are cheap to
                // add up, and two builders would hold every definition twice.
                notes.push(if selection.is_empty() && has_spans(&document) {
                    piped_halves(&mut first, &mut second, read)?
                } else if is_short(&document) {
                    read(&mut first)?
                } else {
                    piped(&mut first, read)?
                });
                name_events(first.definitions(), file, &mut events);
                for builder in [&first, &second] {
                    samples |= builder.saw_samples();
                    let chosen = builder.chosen_samples();
                    taken += chosen.0;
                    refused += chosen.1;
                }
                take(first);
                take(second);
            }
            Ok(())
        })?;
        mention(input.path(), &notes);
    }
    flags.time.check_names()?;
    if samples && (selection.min_duration > 0 || selection.errors) {
        eprintln!(
            "traceloom: --min-duration and --errors choose calls; samples have neither length nor outcome and count \
             all the same"
        );
    }
    if refused > 0 && taken == 0 {
        eprintln!(
            "traceloom: the filter takes none of {} samples",
            count(refused)
        );
    }
    Ok(events)
}

/// Tells whether a recording is so short that handing its samples to another thread takes as long as adding them up.
fn is_short(document: &Document<'_>) -> bool {
    const SHORT: u64 = 4 << 20;
    let stored = document.members().map(|(_, part)| part.stored_size());
    stored.sum::<u64>() < SHORT
}

/// Tells whether a recording may have spans; what a format can be written with, it can hold.
fn has_spans(document: &Document<'_>) -> bool {
    document
        .format()
        .is_none_or(|format| format.raise.is_none() || format.holds.holds(Feature::Spans))
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
