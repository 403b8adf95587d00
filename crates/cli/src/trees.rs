//! The call trees of inputs: what `top`, `tree` and `flame` all start from.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use traceloom_analysis::{
    AsyncCalls, CallTree, FoundAdjustment, Functions, GroupBy, Measure, MeasureUnit, MergeStack,
    Tracks, TreeBuilder, TreeOptions, TreeSource, Trees, TreesSum, adjust, choose_tracks,
};
use traceloom_formats::datakit::{EventKind, Language, value_names};
use traceloom_input::{Document, piped, piped_halves};
use traceloom_model::{Feature, Notes, Recording, Timestamp, printable};

use crate::groups::{self, GroupFlags};
use crate::inputs::{Inputs, OpenInput, ReadFlags};
use crate::numbers::{self, count};
use crate::read_plan::RecordingReader;
use crate::select::{AdjustFlags, CallFlags, FrameFlags};
use crate::streams::message;
use crate::table::Table;
use crate::table_flags::help;
use crate::values::WantedValues;

/// Nodes of calls that a table of functions needs no more of, and a page to mail has room for.
pub(crate) const MOST_NODES: usize = 250_000;
/// Nodes of the sum of several recordings of which a page is made: of more, half are left, which is what a page has room for.
const MOST_ADDED_UP: usize = 2 * MOST_NODES;
/// Nodes of a picture of stacks that are written out, beside which nothing else is held.
const MOST_WRITTEN_OUT: usize = 1_000_000;

/// Flags of the views over call trees.
#[derive(Args, Clone, Default)]
#[command(mut_arg(
    "paths",
    help("Files, folders, archives, or `-`; several are added together")
))]
pub(crate) struct TreeFlags {
    #[command(flatten)]
    pub(crate) calls: CallFlags,
    #[command(flatten)]
    pub(crate) frames: FrameFlags,
    #[command(flatten)]
    pub(crate) adjust: AdjustFlags,
    #[command(flatten)]
    pub(crate) read: ReadFlags,
    /// The value to show: a sampled one by its own name, Datakit's (`cpu-time`), or `cpu`, `wall`, `alloc`, `lock`,
    /// `live`, `exceptions`. Calls have `wall` alone.
    #[arg(long, value_name = "TYPE")]
    pub(crate) value: Option<String>,
    /// Count async tracks and lanes too. Without it they count where there is nothing on thread tracks, and where they
    /// come to more than 2 % of those the view says so.
    #[arg(long = "async")]
    pub(crate) lanes: bool,
    /// How long calls took is wanted too, where a command has `--percentiles`.
    #[arg(skip)]
    pub(crate) durations: bool,
    /// What the roots are groups of, where a command has `--by`.
    #[arg(skip)]
    pub(crate) by: Option<GroupBy>,
    /// Trees by lines are wanted too.
    #[arg(skip)]
    pub(crate) lines: bool,
    /// It is one of two recordings that are compared, whose functions may be named otherwise.
    #[arg(skip)]
    pub(crate) compared: bool,
    /// A picture is drawn of the trees: of too many nodes the narrowest need not be there.
    #[arg(skip)]
    pub(crate) drawn: bool,
}

impl TreeFlags {
    /// Returns these flags for trees whose roots are groups.
    pub(crate) fn grouped(&self, groups: &GroupFlags) -> Self {
        Self {
            by: groups.by.clone(),
            ..self.clone()
        }
    }
}

/// Reads all inputs into trees, frames selected.
pub(crate) fn read(flags: &TreeFlags, inputs: &mut Inputs<'_>) -> anyhow::Result<Vec<CallTree>> {
    let [trees, _] = read_lines(flags, inputs)?;
    Ok(trees)
}

/// Reads all inputs into trees, and those of samples by lines where the flags ask for them.
pub(crate) fn read_lines(
    flags: &TreeFlags,
    inputs: &mut Inputs<'_>,
) -> anyhow::Result<[Vec<CallTree>; 2]> {
    let mut trees = selected(flags, inputs, TreeView::Trees)?;
    let mut lines = std::mem::take(&mut trees.lines);
    lines.sort_by_key(|tree| tree.measure.rank());
    let trees = found(flags, trees.into_trees().collect(), CallTree::is_empty)?;
    let [trees, lines] = [trees, lines].map(|trees| zeros_last(trees, |tree| tree.total));
    if let Some(by) = &flags.by {
        groups::mention(by, &trees);
    }
    Ok([trees, lines])
}

/// Lowers a recording into a builder, and into whatever else the same reading is for;
/// without a builder, where trees are made by a reading of their own.
pub(crate) type LowerBeside<'l> = &'l mut dyn FnMut(
    &OpenInput<'_>,
    &RecordingReader<'_>,
    Option<&mut TreeBuilder>,
) -> anyhow::Result<Notes>;

/// Reads all inputs into trees as [`read`] does, where they have anything for one; `lower` reads each recording, where
/// something else is made of it too.
pub(crate) fn read_any(
    flags: &TreeFlags,
    inputs: &mut Inputs<'_>,
    lower: Option<LowerBeside<'_>>,
) -> anyhow::Result<Vec<CallTree>> {
    let trees = selected_with(flags, inputs, (TreeView::Trees, lower), TreeBuilder::finish)?;
    let trees = trees.into_trees().collect();
    Ok(zeros_last(trees, |tree| tree.total))
}

/// Puts measures that come to nothing behind the others, so that the first one tells something.
fn zeros_last<T>(mut measures: Vec<T>, total: impl Fn(&T) -> i64) -> Vec<T> {
    measures.sort_by_key(|measure| total(measure) == 0);
    measures
}

/// The trees of a recording, and what else of it matters to a comparison.
#[derive(Default)]
pub(crate) struct RecordingTrees {
    pub(crate) trees: Vec<CallTree>,
    /// Functions in place of a tree's nodes, by tree.
    pub(crate) functions: Vec<Option<Functions>>,
    /// Seconds it lasted, where that is known.
    pub(crate) seconds: Option<f64>,
    /// The value between two samples, by tree.
    pub(crate) periods: Vec<Option<i64>>,
    /// What is wrong with it.
    pub(crate) doubts: Vec<String>,
}

/// Reads all inputs to be compared: into trees, or where nobody asks for those into functions, those named alike as
/// one, which takes a fraction of the memory.
pub(crate) fn read_recorded(
    flags: &TreeFlags,
    wants_trees: bool,
) -> anyhow::Result<RecordingTrees> {
    let plain = flags.adjust.is_empty() && flags.frames.is_empty();
    let mut facts = RecordingFacts::default();
    let mut inputs = flags.read.inputs();
    let (trees, functions) = if wants_trees || !plain {
        let trees = selected_with(flags, &mut inputs, (TreeView::Trees, None), |builder| {
            facts.see(&builder);
            builder.finish()
        })?;
        let trees: Vec<CallTree> = trees.into_trees().collect();
        let functions = trees.iter().map(|_| None).collect();
        (trees, functions)
    } else {
        let [functions, _] = summed(flags, &mut inputs, TreeView::Alike, |builder| {
            facts.see(builder);
        })?;
        let bare = |of: &Functions| CallTree {
            total: of.total,
            whole: of.whole,
            base: of.base,
            ..CallTree::empty(of.measure.clone())
        };
        let trees = functions.iter().map(bare).collect();
        (trees, functions.into_iter().map(Some).collect())
    };
    let trees = found(flags, trees, |tree| tree.total == 0 && tree.is_empty())?;
    let period = |tree: &CallTree| facts.periods.get(&tree.measure.name).copied();
    Ok(RecordingTrees {
        seconds: facts.seconds().filter(|&seconds| seconds > 0.0),
        periods: trees.iter().map(period).collect(),
        functions,
        trees,
        doubts: inputs.doubts,
    })
}

/// What builders met besides calls and samples.
#[derive(Default)]
struct RecordingFacts {
    lasted: Option<(Timestamp, Timestamp)>,
    periods: BTreeMap<String, i64>,
}

impl RecordingFacts {
    fn see(&mut self, builder: &TreeBuilder) {
        if let Some((start, end)) = builder.lasted() {
            let lasted = self.lasted.get_or_insert((start, end));
            *lasted = (lasted.0.min(start), lasted.1.max(end));
        }
        self.periods.extend(builder.periods());
    }

    fn seconds(&self) -> Option<f64> {
        let (start, end) = self.lasted?;
        Some(Duration::from_nanos(end.abs_diff(start)).as_secs_f64())
    }
}

/// Tables of functions, and the other columns of statistics as tables of their own.
pub(crate) type Tables = [Vec<Functions>; 2];

/// Reads all inputs into tables of functions; who called whom matters only where frames are selected.
pub(crate) fn read_functions(flags: &TreeFlags, inputs: &mut Inputs<'_>) -> anyhow::Result<Tables> {
    let (all, beside);
    let plain = !flags.durations && flags.adjust.is_empty();
    if plain && flags.frames.is_empty() {
        [all, beside] = summed(flags, inputs, TreeView::Functions, |_| {})?;
    } else {
        let [trees, others] = statistics(flags, inputs)?;
        beside = others.into_iter().map(Functions::of).collect();
        all = trees.into_iter().map(Functions::of).collect();
    }
    let all = zeros_last(all, |table| table.total);
    Ok([found(flags, all, |table| table.rows.is_empty())?, beside])
}

/// Reads all inputs into tables of functions; `see` looks at each builder.
fn summed(
    flags: &TreeFlags,
    inputs: &mut Inputs<'_>,
    view: TreeView,
    mut see: impl FnMut(&TreeBuilder),
) -> anyhow::Result<Tables> {
    let merge = |sums: &mut Tables, more: Tables| {
        for (sums, more) in sums.iter_mut().zip(more) {
            more.into_iter().for_each(|one| one.merge_into(sums));
        }
    };
    let mut sums = MergeStack::default();
    let (events, left) = each(flags, inputs, (view, None), |halves| {
        for half in halves {
            see(&half);
            sums.push(half.finish_functions(), merge);
        }
    })?;
    let [mut all, mut beside] = sums.finish(merge).unwrap_or_default();
    for table in all.iter_mut().chain(&mut beside) {
        named(&events, &mut table.measure);
    }
    choose_tracks(&mut all, left);
    all.sort_by_key(|table| table.measure.rank());
    Ok([all, beside])
}

/// Reads all inputs into trees, and the other columns of statistics into trees of their own.
pub(crate) fn read_statistics(
    flags: &TreeFlags,
    inputs: &mut Inputs<'_>,
) -> anyhow::Result<[Vec<CallTree>; 2]> {
    let [trees, beside] = statistics(flags, inputs)?;
    let trees = zeros_last(trees, |tree| tree.total);
    Ok([found(flags, trees, CallTree::is_empty)?, beside])
}

fn statistics(flags: &TreeFlags, inputs: &mut Inputs<'_>) -> anyhow::Result<[Vec<CallTree>; 2]> {
    let mut trees = selected(flags, inputs, TreeView::Statistics)?;
    let beside = std::mem::take(&mut trees.beside);
    Ok([trees.into_trees().collect(), beside])
}

/// What builders are to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeView {
    Trees,
    /// Trees, and those of the other columns of statistics.
    Statistics,
    Functions,
    /// Functions, those named alike as one.
    Alike,
}

fn selected(flags: &TreeFlags, inputs: &mut Inputs<'_>, view: TreeView) -> anyhow::Result<Trees> {
    selected_with(flags, inputs, (view, None), TreeBuilder::finish)
}

fn selected_with(
    flags: &TreeFlags,
    inputs: &mut Inputs<'_>,
    (view, lower): (TreeView, Option<LowerBeside<'_>>),
    mut finish: impl FnMut(TreeBuilder) -> Trees,
) -> anyhow::Result<Trees> {
    let is_plain = flags.adjust.is_empty() && flags.frames.is_empty() && flags.by.is_none();
    let mut sum = match is_plain && (flags.drawn || lower.is_some()) {
        true => TreesSum::thinned(MOST_ADDED_UP),
        false => TreesSum::new(),
    };
    let (events, left) = each(flags, inputs, (view, lower), |halves| {
        let [mut trees, others] = halves.map(&mut finish);
        trees.merge(others);
        sum.push(trees);
    })?;
    let mut all = sum.finish();
    all.choose_tracks(left);
    let samples = all.samples.iter_mut().chain(&mut all.beside);
    let samples = samples.chain(&mut all.lines);
    samples.for_each(|tree| named(&events, &mut tree.measure));
    if !flags.adjust.is_empty() {
        let names: Vec<&str> = all.iter().flat_map(CallTree::function_names).collect();
        let adjustments = flags.adjust.find(&names, flags.compared)?;
        about(&adjustments, &all);
        all = all.map(|tree| adjust(tree, &adjustments));
    }
    if flags.frames.is_empty() {
        return Ok(all);
    }
    let names: Vec<&str> = all.iter().flat_map(CallTree::function_names).collect();
    let filter = flags.frames.filter(&names, flags.compared)?;
    let nodes = |trees: &Trees| -> usize { trees.iter().map(|tree| tree.nodes.len()).sum() };
    let before = nodes(&all);
    let left = all.map(|tree| tree.select(&filter));
    if before > 0 && nodes(&left) == 0 {
        message!("nothing is left of {before} paths of calls: the filters take all of them");
    }
    Ok(left)
}

/// Says so when nothing is adjusted: a name may be mistyped.
fn about(adjustments: &[FoundAdjustment], trees: &Trees) {
    for one in adjustments {
        let mut symbols = trees.iter().flat_map(|tree| &tree.symbols);
        if !symbols.any(|symbol| one.is_about(symbol)) {
            message!("--adjust {one}: no method matches");
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

/// Shows what each recording of all inputs was built into to `take`, as two halves; says what its values are called.
fn each(
    flags: &TreeFlags,
    inputs: &mut Inputs<'_>,
    (view, mut lower): (TreeView, Option<LowerBeside<'_>>),
    mut take: impl FnMut([TreeBuilder; 2]),
) -> anyhow::Result<(Events, AsyncCalls)> {
    let mut left = AsyncCalls::default();
    let mut events = Events::new();
    let (mut samples, mut taken, mut refused) = (false, 0, 0);
    let mut there = WantedValues::default();
    let common = &flags.read.common;
    let selection = flags.calls.selection(common)?;
    if let Some(by) = &flags.by {
        common.asked.group(by);
    }
    while let Some(input) = inputs.next()? {
        let notes = input.read(|recording| {
            let (document, file) = (&recording.document, recording.file());
            let value = flags.value.as_deref();
            let values = value.map_or_else(Vec::new, |word| value_names(word, file));
            let is_plain = flags.adjust.is_empty() && flags.frames.is_empty();
            let is_summed = matches!(view, TreeView::Functions | TreeView::Alike);
            let is_bounded = is_summed || lower.is_some() || flags.drawn;
            let is_all = selection.is_empty() && flags.by.is_none();
            let is_drawn = is_plain && is_bounded && !is_summed && is_all;
            // Of such stacks no table is needed; pprof's are cheaper to table until there are too many.
            let is_written_out = is_of(document, "folded") && !flags.lines && lower.is_none();
            let mut paths = is_drawn && is_written_out;
            let has_paths = is_drawn && is_of(document, "pprof");
            let most = match is_plain && is_bounded {
                true if paths => MOST_WRITTEN_OUT,
                true => MOST_NODES,
                false => 0,
            };
            // Steps come to functions faster than they are decoded.
            let is_flat = is_summed && is_all && !flags.durations;
            let builder_of = |values: Vec<String>, paths: bool| {
                TreeBuilder::new(TreeOptions {
                    lanes: flags.lanes,
                    values,
                    functions: is_summed,
                    most,
                    paths,
                    stops: has_paths && !paths,
                    lines: flags.lines,
                    alike: view == TreeView::Alike,
                    beside: matches!(view, TreeView::Statistics | TreeView::Functions),
                    durations: flags.durations,
                    by: flags.by.clone(),
                    calls: (!selection.is_empty()).then(|| selection.clone()),
                })
            };
            let builder = || builder_of(values.clone(), paths);
            let (mut first, mut second) = (builder(), builder());
            // Functions of all recordings come as paths or none do, which an index has not.
            let is_plain = selection.is_empty() && flags.by.is_none() && view != TreeView::Alike;
            // Calls are selected by rows that come after their steps, to one builder; samples are cheap to
            // add up, and two builders would hold every definition twice.
            let is_apart = has_paths && lower.is_some();
            if let Some(lower) = lower.as_mut().filter(|_| is_apart) {
                lower(&input, recording, None)?;
            }
            let mut notes = if let Some(lower) = lower.as_mut().filter(|_| !is_apart) {
                lower(&input, recording, Some(&mut first))?
            } else if selection.is_empty() && has_spans(document) && !is_flat {
                piped_halves(&mut first, &mut second, |sink| {
                    recording.lower_sampled(is_plain, sink)
                })?
            } else if is_short(document) {
                recording.lower_sampled(is_plain, &mut first)?
            } else {
                piped(&mut first, |sink| recording.lower_sampled(is_plain, sink))?
            };
            if first.has_too_many_stacks() {
                paths = true;
                first = builder_of(values.clone(), paths);
                notes = piped(&mut first, |sink| recording.lower_sampled(is_plain, sink))?;
            }
            // Two recordings that are compared show one value.
            let is_chosen = value.is_some() || flags.compared || second.saw_samples();
            if let Some(name) = first.telling_value().filter(|_| !is_chosen) {
                message!(
                    "{}: the usual value is zero, this is {}; --value shows another",
                    input.path(),
                    printable(&name)
                );
                first = builder_of(vec![name], paths);
                piped(&mut first, |sink| recording.lower_sampled(is_plain, sink))?;
            }
            name_events(first.definitions(), file, &mut events);
            if let Some(value) = value {
                there.take(first.definitions(), &values);
                if first.saw_spans() || second.saw_spans() {
                    there.take_spans(value);
                }
            }
            for builder in [&first, &second] {
                samples |= builder.saw_samples();
                left.add(builder.passed_over());
                let chosen = builder.chosen_samples();
                taken += chosen.0;
                refused += chosen.1;
            }
            take([first, second]);
            Ok(notes)
        })?;
        inputs.doubt(&input.input, &notes);
    }
    flags.read.check_names()?;
    if let Some(value) = &flags.value {
        there.check(value)?;
    }
    if samples && (selection.min_duration > 0 || selection.errors) {
        message!(
            "--min-duration and --errors choose calls; samples have neither length nor outcome and count \
             all the same"
        );
    }
    if refused > 0 && taken == 0 {
        message!("the filter takes none of {} samples", count(refused));
    }
    Ok((events, left))
}

/// Returns true if a recording is so short that handing its samples to another thread takes as long as adding them up.
fn is_short(document: &Document<'_>) -> bool {
    const SHORT: u64 = 4 << 20;
    let stored = document.members().map(|(_, part)| part.stored_size());
    stored.sum::<u64>() < SHORT
}

/// Returns true if a recording is of a format.
pub(crate) fn is_of(document: &Document<'_>, name: &str) -> bool {
    document.format().is_some_and(|format| format.name == name)
}

/// Returns true if a recording may have spans; what a format can be written with, it can hold.
fn has_spans(document: &Document<'_>) -> bool {
    document
        .format()
        .is_none_or(|format| format.raise.is_none() || format.holds.holds(Feature::Spans))
}

/// Says why there is nothing, where there is nothing.
fn found<T>(
    flags: &TreeFlags,
    views: Vec<T>,
    is_empty: impl Fn(&T) -> bool,
) -> anyhow::Result<Vec<T>> {
    if !views.is_empty() && !flags.calls.is_empty() && views.iter().all(is_empty) {
        flags.read.common.asked.say_none_passes();
    }
    if views.is_empty() && !flags.read.methods.is_empty() {
        message!("nothing is left of the calls and samples with this --filter-file");
    } else if views.is_empty() {
        message!("no calls and no samples here; `traceloom info` says what there is");
    }
    Ok(views)
}

/// A value with its unit, for people.
pub(crate) fn amount(unit: &MeasureUnit, value: i64) -> String {
    match unit {
        MeasureUnit::Nanoseconds => {
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{}", numbers::duration(value.unsigned_abs()))
        }
        MeasureUnit::Bytes if value >= 0 => numbers::size(value.unsigned_abs()),
        _ => value.to_string(),
    }
}

/// Says in JSON which tracks spans are of, where it is not thread tracks alone that matter.
pub(crate) fn tracks_json(measure: &Measure, object: &mut serde_json::Value) {
    match measure.tracks {
        Tracks::Threads => {}
        Tracks::Async => object["tracks"] = "async".into(),
        Tracks::ThreadsWithout(left) => {
            object["async_left_out"] =
                serde_json::json!({ "calls": left.calls, "total": left.total });
        }
    }
}

/// The tables of several measures as one in CSV, which has one row of headings.
#[derive(Default)]
pub(crate) struct Measures(Vec<(String, String, Table)>);

impl Measures {
    pub(crate) fn add(&mut self, measure: &Measure, table: Table) {
        let unit = measure.unit.word().to_owned();
        self.0.push((measure.name.clone(), unit, table));
    }

    /// Writes one table as it is. Several have the measure and its unit in columns of their own, and their numbers under
    /// headings without unit.
    pub(crate) fn csv(mut self, out: &mut impl Write) -> io::Result<()> {
        if let [(.., table)] = self.0.as_slice() {
            return table.csv(out);
        }
        for (_, unit, table) in &mut self.0 {
            let unit = format!(" ({unit})");
            table.rename(|heading| heading.strip_suffix(&*unit));
        }
        let labels = ["measure", "unit"];
        let parts = self.0.into_iter();
        let parts = parts.map(|(measure, unit, table)| (vec![measure, unit], table));
        Table::joined(&labels, parts).csv(out)
    }
}

/// A heading in CSV: what it is of, and the unit of its numbers.
pub(crate) fn heading_of(name: &str, unit: &MeasureUnit) -> String {
    match unit {
        MeasureUnit::Count => name.to_owned(),
        unit => format!("{name} ({})", unit.word()),
    }
}

/// A share of the whole in CSV: percent, with two digits.
pub(crate) fn share_number(percent: Option<f64>) -> String {
    percent.map_or_else(String::new, |percent| format!("{percent:.2}"))
}

/// A share of the whole, with two digits.
pub(crate) fn share(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2}%"))
}
