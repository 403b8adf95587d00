//! `report`: one page about inputs that a person can mail.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use clap::Args;
use traceloom_analysis::filter::Filter;
use traceloom_analysis::report::{CallCollector, Collector, Findings, Report, Source, html};
use traceloom_analysis::stage::Tee;
use traceloom_analysis::timeline::{self as tracks, Timeline};
use traceloom_analysis::{CallTree, OverTime, mailed};
use traceloom_input::{Document, Input};
use traceloom_model::{Clock, Note, Notes, Sink, Timestamp};

use crate::Outcome;
use crate::calls;
use crate::categories::CategoryFlags;
use crate::groups::GroupFlags;
use crate::info::shell_word;
use crate::inputs::{Inputs, ReadFlags};
use crate::numbers::size;
use crate::output_file::{self, OutputFileFlags};
use crate::over_time;
use crate::read_plan::RecordingReader;
use crate::style::Style;
use crate::timeline;
use crate::trees::{self, LowerBeside, MOST_NODES, TreeFlags};
use crate::usage::Usage;

/// Write one page to mail: overview, slowest calls, hot functions, flame graph, timeline, pauses, errors, SQL, notes.
#[derive(Args)]
#[command(
    after_help = "The page needs no network, prints, and holds what the flags let through, so that it can be mailed.\n\n\
    Examples:\n  \
    traceloom report dump/ -o monday.html\n  \
    traceloom report dump/ --errors -o errors.html\n  \
    traceloom report app.jfr --since +10s --until +70s -n 20 -o slow-minute.html"
)]
pub(crate) struct Options {
    #[command(flatten)]
    tree: TreeFlags,
    /// File to write, `.html`; by default the name of the input with `.report.html`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    drawn: OutputFileFlags,
    /// Most rows of each table; 0 writes all that are kept.
    #[arg(short = 'n', long, value_name = "ROWS", default_value_t = 50)]
    rows: usize,
    #[command(flatten)]
    categories: CategoryFlags,
    #[command(flatten)]
    groups: GroupFlags,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let flags = &options.tree;
    let first = flags.read.paths.first().map_or("", String::as_str);
    let name = output_file::name_of(first);
    let output = match &options.output {
        Some(output) => output.clone(),
        None => format!("{name}.report.html"),
    };
    if !(output.ends_with(".html") || output.ends_with(".htm") || output == "-") {
        return Err(Usage(format!("-o {output}: end the name in .html")).into());
    }
    output_file::check(&output, options.drawn.force)?;
    let categories = options.categories.rules()?;
    let style = Style::new(&flags.read.common)?;

    let mut inputs = flags.read.inputs();
    let mut read = read(options, &mut inputs)?;
    let mut tree_flags = flags.grouped(&options.groups);
    tree_flags.read.unopened.clone_from(&read.unopened);
    let PageViews {
        trees,
        over_time,
        timeline,
    } = PageViews::read(options, &tree_flags, &mut read)?;
    if timeline.is_empty() && trees.iter().all(CallTree::is_empty) {
        anyhow::bail!("{output} is not written: there is nothing to report");
    }

    let title = match (&options.drawn.title, flags.read.paths.len()) {
        (Some(title), _) => title.clone(),
        (None, 1) => name.clone(),
        (None, more) => format!("{name} and {} more", more - 1),
    };
    // With its flags: a page of a choice must not look as if it were of everything.
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words
        .map(|word| shell_word(&mailed(&word.to_string_lossy())))
        .collect();
    let made = format!(
        "traceloom {}: {}",
        env!("CARGO_PKG_VERSION"),
        words.join(" ")
    );
    let when = |time: Timestamp| style.when(read.dated, time);
    // Those of recordings read apart came first.
    let sources = read.sources.iter().enumerate().rev();
    let places: HashMap<&str, usize> = sources
        .map(|(place, source)| (source.path.as_str(), place))
        .collect();
    read.notes
        .sort_by_key(|(path, _)| places.get(path.as_str()).copied());
    let page = html(&Report {
        title: &title,
        made: &made,
        sources: &read.sources,
        findings: &read.findings,
        trees: &trees,
        over_time: &over_time,
        timeline: &timeline,
        notes: (&read.notes, read.notes_dropped),
        categories: &categories,
        rows: options.rows(),
        when: &when,
    });
    output_file::write(Path::new(&*output), options.drawn.force, &page)?;
    Ok(inputs.outcome())
}

impl Options {
    fn rows(&self) -> usize {
        match self.rows {
            0 => usize::MAX,
            rows => rows,
        }
    }

    /// Calls and pauses that are kept: what a table shows, and at most what a page can hold.
    fn most(&self) -> usize {
        const MOST: usize = 10_000;
        self.rows().min(MOST)
    }
}

/// What was read of all inputs.
struct ReadInputs {
    sources: Vec<Source>,
    /// Places of the paths that could not be opened, which was told.
    unopened: Vec<usize>,
    findings: Findings,
    notes: Vec<(String, Note)>,
    notes_dropped: u64,
    /// Times are dates: those of every recording.
    dated: bool,
}

/// What a page says in tables, of one recording while it is read.
struct RecordingFindings {
    calls: CallCollector,
    rest: Collector,
}

impl RecordingFindings {
    /// Takes the calls that the flags choose, without the methods that `methods` does not admit.
    fn new(options: &Options, methods: Filter) -> anyhow::Result<Self> {
        let flags = &options.tree;
        let mut selection = flags.calls.selection(&flags.read.common)?;
        selection.filter = selection.filter.and(methods);
        Ok(Self {
            calls: CallCollector::new(selection, options.most()),
            rest: Collector::new(options.most()),
        })
    }
}

impl ReadInputs {
    /// Takes what was found in a recording of the input at `path`.
    fn take(
        &mut self,
        options: &Options,
        (path, recording): (&str, &RecordingReader<'_>),
        found: RecordingFindings,
        notes: &Notes,
    ) -> anyhow::Result<()> {
        /// Notes that are kept; a page of more would say no more.
        const NOTES: usize = 1_000;
        let id = |call: &_| (path.to_owned(), calls::id(&recording.document, call));
        self.findings.add(found.calls.finish(id), options.most());
        self.dated &= recording.clock()? == Clock::Unix;
        self.findings.add(found.rest.finish(), options.most());
        let room = NOTES.saturating_sub(self.notes.len());
        let kept = notes.kept().iter().take(room);
        self.notes
            .extend(kept.map(|note| (path.to_owned(), note.clone())));
        let rest = notes.kept().len().saturating_sub(room) as u64;
        self.notes_dropped += notes.dropped() + rest;
        Ok(())
    }
}

/// Returns true if what a page says in tables needs a reading of its own: there, samples of JFR are events too, calls of hidden
/// methods are listed, and relative times of several inputs have one zero.
fn is_read_apart(read: &ReadFlags, recording: &RecordingReader<'_>) -> bool {
    trees::is_of(&recording.document, "jfr") || recording.hides_methods() || counts_apart(read)
}

/// Returns true if borders in time of trees count from each input's own.
fn counts_apart(read: &ReadFlags) -> bool {
    read.time.is_relative() && read.paths.len() > 1
}

/// Opens all inputs, and reads those recordings that are [read apart](is_read_apart).
fn read(options: &Options, inputs: &mut Inputs<'_>) -> anyhow::Result<ReadInputs> {
    let flags = &options.tree;
    let mut read = ReadInputs {
        sources: Vec::new(),
        unopened: Vec::new(),
        findings: Findings::default(),
        notes: Vec::new(),
        notes_dropped: 0,
        dated: true,
    };
    // Once: the file of the rules may be a pipe.
    let methods = flags.read.methods.rules()?;
    let all = inputs.all()?;
    let open: HashSet<usize> = all.iter().map(|input| input.number - 1).collect();
    let paths = 0..flags.read.paths.len();
    read.unopened = paths.filter(|at| !open.contains(at)).collect();
    for input in all {
        let path = input.path();
        let recordings = input.recordings()?;
        read.sources.push(source(&input.input, &recordings));
        if !recordings.iter().any(|it| is_read_apart(&flags.read, it)) {
            continue;
        }
        input.read(|recording| {
            if !is_read_apart(&flags.read, recording) {
                return Ok(Notes::default());
            }
            let mut found = RecordingFindings::new(options, methods.clone())?;
            let RecordingFindings { calls, rest } = &mut found;
            let notes = if recording.hides_methods() {
                recording.lower_every_method(&flags.read.common.lower_options()?, calls)?;
                recording.lower_chosen(&flags.calls, rest)?
            } else {
                recording.lower_both(&flags.calls, calls, rest)?
            };
            read.take(options, (path, recording), found, &notes)?;
            Ok(notes)
        })?;
    }
    Ok(read)
}

/// Rows of a timeline that are held one by one: five for each that the page of a report draws.
const MOST_ROWS: usize = 500_000;

/// Tracks of a recording that have a line of their own.
const MOST_TRACKS: usize = 500;

/// What a page draws, all of one reading, and the findings of recordings that are not [read apart](is_read_apart).
struct PageViews {
    trees: Vec<CallTree>,
    over_time: Vec<OverTime>,
    timeline: Timeline,
}

impl PageViews {
    fn read(options: &Options, flags: &TreeFlags, found: &mut ReadInputs) -> anyhow::Result<Self> {
        let read = &flags.read;
        if counts_apart(read) {
            // Each tree counts from the borders of its own input, all else from those of all inputs.
            let trees = trees::read_any(flags, &mut read.inputs(), None)?;
            let over_time = over_time::read(flags)?;
            let mut again = read.clone();
            again.common.again = true;
            let mut inputs = again.inputs();
            let room = (MOST_ROWS, Some(MOST_TRACKS));
            let timeline = timeline::read(&flags.calls, &again, &mut inputs, room)?;
            return Ok(Self {
                trees,
                over_time,
                timeline,
            });
        }
        let mut over_time = Vec::new();
        let mut timeline = Timeline::holding(MOST_ROWS);
        let windowed = read.time.is_bounded() || !flags.calls.is_empty();
        let mut inputs = read.inputs();
        let lower: LowerBeside<'_> = &mut |input, recording, builder| {
            let times = over_time::collector(flags, recording, &over_time);
            let mut times = times.map(|times| times.holding(MOST_NODES));
            let spans = tracks::Collector::holding(MOST_ROWS);
            let mut spans = spans.with_tracks(MOST_TRACKS);
            let mut tables = match is_read_apart(&options.tree.read, recording) {
                true => None,
                false => Some(RecordingFindings::new(options, Filter::default())?),
            };
            let mut chosen: Vec<&mut (dyn Sink + Send)> = vec![&mut spans];
            let mut every: Vec<&mut (dyn Sink + Send)> = Vec::new();
            every.extend(builder.map(|builder| builder as &mut (dyn Sink + Send)));
            // Each of both is told on a thread of its own, and a timeline is most of the work.
            match flags.calls.is_empty() && !every.is_empty() {
                true => every.extend(times.as_mut().map(|times| times as &mut (dyn Sink + Send))),
                false => chosen.extend(times.as_mut().map(|times| times as &mut (dyn Sink + Send))),
            }
            if let Some(RecordingFindings { calls, rest }) = &mut tables {
                every.push(calls);
                chosen.push(rest);
            }
            let chosen = &mut Tee::new(chosen);
            let notes = match every.is_empty() {
                true => recording.lower_chosen(&flags.calls, chosen)?,
                false => recording.lower_both(&flags.calls, &mut Tee::new(every), chosen)?,
            };
            if let Some(tables) = tables {
                found.take(options, (input.path(), recording), tables, &notes)?;
            }
            times
                .into_iter()
                .for_each(|times| times.finish(&mut over_time));
            timeline.add(timeline::title(input, recording), spans, windowed);
            Ok(notes)
        };
        let trees = trees::read_any(flags, &mut inputs, Some(lower))?;
        Ok(Self {
            trees,
            over_time,
            timeline,
        })
    }
}

fn source(input: &Input, recordings: &[RecordingReader<'_>]) -> Source {
    let mut formats: Vec<&str> = Vec::new();
    let documents = recordings.iter().map(|recording| &recording.document);
    for format in documents.filter_map(Document::format) {
        if !formats.contains(&format.title) {
            formats.push(format.title);
        }
    }
    Source {
        path: input.path().to_owned(),
        formats: formats.join(", "),
        parts: input.parts().len(),
        size: size(input.stored_size()),
    }
}
