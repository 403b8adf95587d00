//! `convert`: any format to any other, with what was lost.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use traceloom_analysis::filter::{Hide, Survey};
use traceloom_analysis::loss::{Loss, Losses, Lost};
use traceloom_analysis::stage::{AsSamples, AsSpans, Redact, Redaction};
use traceloom_formats::{
    FORMATS, Format, LowerOptions, Output, RaiseOptions, Source, native_conversion,
};
use traceloom_input::save::{Save, Stdout};
use traceloom_input::{Document, Input, piped};
use traceloom_model::{
    Asks, Batch, Capabilities, Clock, Concat, Feature, Flow, Level, Limit, Note, Notes, Sink,
    Stage, Wants,
};

use crate::Outcome;
use crate::args::{Common, Usage, nearest};
use crate::columnar;
use crate::graph::GraphFlags;
use crate::lowered::{documents, lower, mention};
use crate::only::{Only, Values};
use crate::open::{open, with_progress};
use crate::pick::{Pick, Tell};
use crate::style::{Style, count, size};
use crate::timing::Timing;

/// Write the data in another format, and say what that format cannot hold.
#[derive(Args)]
#[command(
    after_help = "The target's format is --to, or what the output's extension says; in a folder that exists the\n\
    output is named after the input. The loss report goes to standard error, or to standard output with\n\
    --json. With --filter-file, the time of a method left out falls to its caller. Several inputs go on one clock; one whose clock has no\n\
    known origin needs a --shift. Samples do not become spans, nor spans samples, unless that is asked for.\n\nExamples:\n  \
    traceloom convert dump/ out/ --to cdt-streams\n  \
    traceloom convert capture.tcpdump streams/ --to cdt-streams --deny-loss\n  \
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
    /// Output, `-` for standard output.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// Overwrite the output.
    #[arg(long)]
    force: bool,
    /// Fail when anything is lost, and write nothing.
    #[arg(long)]
    deny_loss: bool,
    /// Print the loss report as JSON.
    #[arg(long)]
    json: bool,
}

/// One conversion.
pub(crate) struct Job<'o> {
    pub(crate) inputs: &'o [String],
    pub(crate) output: &'o str,
    pub(crate) flags: &'o JobFlags,
    pub(crate) pick: &'o Pick,
    pub(crate) common: &'o Common,
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

fn list() -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    for format in FORMATS.iter().filter(|format| format.raise.is_some()) {
        let extension = format
            .extensions
            .first()
            .map_or_else(String::new, |e| format!(".{e}"));
        writeln!(out, "{:18} {extension:12} {}", format.name, format.title)?;
    }
    Ok(Outcome::Done)
}

/// Tells the output from the inputs.
pub(crate) fn inputs_and_output<'o>(
    paths: &'o [String],
    job: &'o JobFlags,
    usage: &str,
) -> anyhow::Result<(&'o [String], &'o str)> {
    let (inputs, output) = match (&job.output, paths) {
        (Some(output), inputs @ [_, ..]) => (inputs, output),
        (None, [inputs @ .., output]) if !inputs.is_empty() => (inputs, output),
        _ => return Err(Usage(usage.to_owned()).into()),
    };
    if output == "-" && job.json {
        return Err(Usage("--json and an output of - both want standard output".to_owned()).into());
    }
    Ok((inputs, output))
}

/// Chooses the format to write by `--to`, else by the output's extension.
pub(crate) fn target(
    to: Option<&str>,
    output: &str,
) -> anyhow::Result<(&'static Format, Option<String>)> {
    let writable = || {
        FORMATS
            .iter()
            .copied()
            .filter(|format| format.raise.is_some())
    };
    if let Some(to) = to {
        let (name, variant) = to.split_once(':').map_or((to, None), |(name, variant)| {
            (name, Some(variant.to_owned()))
        });
        if let Some(format) = writable().find(|format| format.name == name) {
            return Ok((format, variant));
        }
        let known = FORMATS.iter().any(|format| format.name == name);
        let near = nearest(name, writable().map(|format| format.name));
        let reason = match near {
            _ if known => format!("`{name}` is read, not written; `--to list` prints the targets"),
            Some(near) => format!("there is no target `{name}`; did you mean `{near}`?"),
            None => format!("there is no target `{name}`; `--to list` prints them"),
        };
        return Err(Usage(reason).into());
    }
    let plain = output.strip_suffix(".gz").unwrap_or(output);
    // The longest extension says most; among equals the format whose own it is comes first.
    let fit = |format: &'static Format| {
        let fits = |extension: &&str| plain.ends_with(&format!(".{extension}"));
        let found = format.extensions.iter().position(fits)?;
        let length = format.extensions.get(found)?.len();
        Some((std::cmp::Reverse(length), found))
    };
    let found = writable()
        .filter_map(|format| Some((fit(format)?, format)))
        .min_by_key(|(fit, _)| *fit)
        .map(|(_, format)| format);
    let reason = || {
        Usage(format!(
            "no target has the extension of `{output}`; choose one with --to"
        ))
    };
    found
        .map(|format| (format, None))
        .ok_or_else(|| reason().into())
}

/// Names a file in the folder that was given as output, where the target is one file.
fn inside(inputs: &[String], output: &str, target: &Format) -> Option<String> {
    if target.set.is_some() || !Path::new(output).is_dir() {
        return None;
    }
    let input = inputs.first().filter(|input| *input != "-")?;
    let mut name = Path::new(input).file_name()?.to_str()?;
    for wrapper in [".gz", ".zst", ".lz4", ".zip"] {
        name = name.strip_suffix(wrapper).unwrap_or(name);
    }
    let known = FORMATS.iter().flat_map(|format| format.extensions);
    let ending = known.filter_map(|extension| name.strip_suffix(extension)?.strip_suffix('.'));
    let stem = ending
        .filter(|stem| !stem.is_empty())
        .min_by_key(|stem| stem.len());
    let stem = stem.unwrap_or(name);
    let extension = target.extensions.first()?;
    let path = Path::new(output).join(format!("{stem}.{extension}"));
    Some(path.to_str()?.to_owned())
}

/// Warns when the output's name says another format than it will hold.
fn contradiction(output: &str, target: &Format) {
    let plain = output.strip_suffix(".gz").unwrap_or(output);
    let says = |format: &Format| {
        let mut extensions = format.extensions.iter();
        extensions.any(|extension| {
            plain
                .strip_suffix(extension)
                .is_some_and(|stem| stem.ends_with('.'))
        })
    };
    if says(target) {
        return;
    }
    if let Some(other) = FORMATS.iter().find(|format| says(format)) {
        let extension = target.extensions.first();
        let extension = extension.map_or_else(String::new, |ending| {
            format!("; its files end in .{ending}")
        });
        eprintln!(
            "traceloom: warning: {output} is named like {}, and will hold {}{extension}",
            other.name, target.name
        );
    }
}

/// What was lost, and the formats it came from.
type Written = (Losses, Vec<&'static str>);

impl Job<'_> {
    pub(crate) fn open(&self) -> anyhow::Result<Vec<Input>> {
        self.inputs
            .iter()
            .map(|path| open(path, self.common))
            .collect()
    }

    /// Writes `inputs` as `target` and reports what was lost.
    pub(crate) fn write(
        &self,
        inputs: &[Input],
        target: &'static Format,
        variant: Option<String>,
    ) -> anyhow::Result<Outcome> {
        let raise = RaiseOptions { variant };
        let (losses, from) = if self.output == "-" {
            let mut out = Stdout::default();
            let done = self.convert(inputs, target, &raise, &mut out)?;
            self.refuse(target, &done.0)?;
            out.flush()?;
            done
        } else {
            let folder = target.set.is_some();
            let mut save = Save::start(Path::new(self.output), folder, self.flags.force)?;
            let done = self.convert(inputs, target, &raise, &mut save)?;
            self.refuse(target, &done.0)?;
            let written = save.written();
            save.commit()?;
            if !self.flags.json {
                eprintln!("{}: {} as {}", self.output, size(written), target.name);
            }
            done
        };
        self.report(&from, target, &losses)?;
        Ok(Outcome::Done)
    }

    fn convert(
        &self,
        inputs: &[Input],
        target: &'static Format,
        raise: &RaiseOptions,
        out: &mut (dyn Output + Send),
    ) -> anyhow::Result<Written> {
        self.pick.check(target)?;
        if let [input] = inputs
            && self.pick.is_empty()
            && raise.variant.is_none()
            && let Some(done) = self.rewrite(input, target, out)?
        {
            return Ok(done);
        }
        let timing = Timing::of(&self.pick.time, self.common, 1, inputs)?;
        let recordings = inputs
            .iter()
            .map(|input| input.documents().count())
            .sum::<usize>();
        if recordings > 1 {
            self.check_clocks(inputs, target, &timing)?;
        }
        let redaction = self.redaction(inputs)?;
        let make = columnar::raise_of(target)
            .ok_or_else(|| anyhow::anyhow!("`{}` is not written", target.name))?;
        let mut writer = make(raise, out)?;
        let mut all = Concat::new(writer.as_mut());
        if recordings > 1 {
            all = all.of_many();
        }
        let mut done = Written::default();
        let mut told = Told::default();
        for (at, input) in inputs.iter().enumerate() {
            let mut notes: Vec<Notes> = Vec::new();
            with_progress(input, "converting", || {
                for document in documents(input)? {
                    done.1.extend(document.format().map(|format| format.name));
                    let reading = Reading {
                        job: self,
                        timing: &timing,
                        redaction: &redaction,
                        target,
                        input: (at, input),
                        document: &document,
                    };
                    notes.push(reading.pass(&mut all, &mut done.0, &mut told)?);
                    all.next_recording(document.parts().len());
                }
                Ok(())
            })?;
            mention(input.path(), &notes);
        }
        self.pick.time.check_names()?;
        told.check(self.pick, target, self.inputs)?;
        writer.finish()?;
        done.1.sort_unstable();
        done.1.dedup();
        Ok(done)
    }

    /// Refuses to put recordings beside each other whose distance in time nobody knows.
    fn check_clocks(
        &self,
        inputs: &[Input],
        target: &Format,
        timing: &Timing<'_>,
    ) -> anyhow::Result<()> {
        const TIMED: [Feature; 4] = [
            Feature::Spans,
            Feature::SampleTimes,
            Feature::Events,
            Feature::Counters,
        ];
        if !TIMED.into_iter().any(|feature| target.holds.holds(feature)) {
            return Ok(());
        }
        for (at, input) in inputs.iter().enumerate() {
            let documents = documents(input)?;
            for document in &documents {
                if timing.clock(at, input, document)? == Clock::Unix {
                    continue;
                }
                let part = document
                    .parts()
                    .first()
                    .map_or("", |part| part.name.as_str());
                let name = if documents.len() > 1 {
                    part
                } else {
                    input.path()
                };
                anyhow::bail!(
                    "{name}: its clock counts from a time nobody recorded, so it cannot be put beside the others; \
                     say where it belongs with --shift '{name}=+0s', or write it by itself"
                );
            }
        }
        Ok(())
    }

    /// Learns from every input what is to be taken out, before the first byte is written.
    fn redaction(&self, inputs: &[Input]) -> anyhow::Result<Redaction> {
        let mut redaction = self.pick.redaction()?;
        if redaction.is_empty() {
            return Ok(redaction);
        }
        let options = self.common.lower_options()?;
        for input in inputs {
            with_progress(input, "looking for names", || {
                for document in documents(input)? {
                    lower(&document, &options, self.common, &mut redaction.learn())?;
                }
                Ok(())
            })?;
        }
        Ok(redaction)
    }

    /// Rewrites record by record, without the model, where the two formats hold the same records.
    fn rewrite(
        &self,
        input: &Input,
        target: &'static Format,
        out: &mut (dyn Output + Send),
    ) -> anyhow::Result<Option<Written>> {
        let documents: Vec<_> = input.documents().collect();
        let [document] = documents.as_slice() else {
            return Ok(None);
        };
        let Some(format) = document.format() else {
            return Ok(None);
        };
        let Some(convert) = native_conversion(format.name, target.name) else {
            return Ok(None);
        };
        let mut pull = document.open(0, 0)?;
        let mut notes = Notes::default();
        let mut keep = |note: Note| {
            let stop = self.common.strict && note.level == Level::Damage;
            notes.push(note);
            if stop {
                Flow::Break(())
            } else {
                Flow::Continue(())
            }
        };
        let changes = convert(pull.as_mut(), &self.common.limits()?, out, &mut keep)?;
        if self.common.strict && notes.worst() == Some(Level::Damage) {
            anyhow::bail!("{}: damaged; `traceloom check` says where", input.path());
        }
        mention(input.path(), &[notes]);
        let mut losses = Losses::default();
        for change in changes {
            let entry = Lost {
                kind: change.kind,
                field: change.field.to_owned(),
                count: change.count,
                example: format!("offset {:#x}", change.offset),
            };
            if change.lost {
                losses.lost.push(entry)
            } else {
                losses.changed.push(entry)
            }
        }
        Ok(Some((losses, vec![format.name])))
    }

    fn refuse(&self, target: &Format, losses: &Losses) -> anyhow::Result<()> {
        if self.flags.deny_loss && !losses.lost.is_empty() {
            let first: Vec<String> = losses
                .lost
                .iter()
                .map(|lost| format!("{} {}", count(lost.count), lost.kind))
                .collect();
            anyhow::bail!(
                "--deny-loss: {} cannot hold {}",
                target.name,
                first.join(", ")
            );
        }
        Ok(())
    }

    fn report(&self, from: &[&str], target: &Format, losses: &Losses) -> anyhow::Result<()> {
        let row = |entry: &Lost| serde_json::json!({"kind": entry.kind, "field": entry.field, "count": entry.count, "example": entry.example});
        if self.flags.json {
            let object = serde_json::json!({
                "from": from.join("+"),
                "to": target.name,
                "lost": losses.lost.iter().map(row).collect::<Vec<_>>(),
                "changed": losses.changed.iter().map(row).collect::<Vec<_>>(),
            });
            writeln!(io::stdout().lock(), "{object}")?;
            return Ok(());
        }
        let style = Style::new(self.common)?;
        for (word, entries) in [("lost", &losses.lost), ("changed", &losses.changed)] {
            for entry in entries {
                let field = if entry.field.is_empty() {
                    String::new()
                } else {
                    format!(" {}", entry.field)
                };
                let example = if entry.example.is_empty() {
                    String::new()
                } else {
                    format!(", such as {}", entry.example)
                };
                eprintln!(
                    "{} {}{field} ×{}{example}",
                    style.bold(word),
                    entry.kind,
                    count(entry.count)
                );
            }
        }
        Ok(())
    }
}

/// A recording on its way to the target.
struct Reading<'r> {
    job: &'r Job<'r>,
    timing: &'r Timing<'r>,
    redaction: &'r Redaction,
    target: &'static Format,
    input: (usize, &'r Input),
    document: &'r Document<'r>,
}

/// What of a span a sample does not have.
const OF_SPANS: [Feature; 8] = [
    Feature::SpanCounters,
    Feature::SpanAttributes,
    Feature::ErrorStatus,
    Feature::SpanContexts,
    Feature::SpanKinds,
    Feature::AttributeTimes,
    Feature::UpwardAttributes,
    Feature::PartialSpans,
];

/// What of a sample a span does not have.
const OF_SAMPLES: [Feature; 4] = [
    Feature::SampleLabels,
    Feature::SampleSpans,
    Feature::ManyValues,
    Feature::InclusiveValues,
];

impl Reading<'_> {
    /// Reads it into `to`, told as the job asks, and adds what was lost.
    fn pass(
        &self,
        to: &mut (dyn Sink + Send),
        losses: &mut Losses,
        told: &mut Told,
    ) -> anyhow::Result<Notes> {
        let holds = self.target.holds;
        match self.job.pick.tell() {
            Tell::Plain => {
                let mut held = Held {
                    to,
                    holds,
                    told: Told::default(),
                };
                let notes = self.read(&mut held, holds, losses, &mut told.values)?;
                told.add(held.told);
                Ok(notes)
            }
            Tell::Samples => {
                let limit = self.job.common.limits()?.size(Limit::OpenSpans);
                let mut samples = AsSamples::new(to, limit);
                // Times of spans are gone, which is what was asked for.
                let holds = holds.without(&OF_SPANS).with(&[
                    Feature::Spans,
                    Feature::AsyncTracks,
                    Feature::SubMillisecond,
                    Feature::SubMicrosecond,
                ]);
                let notes = self.read(&mut samples, holds, losses, &mut told.values)?;
                let spans = samples.finish();
                told.spans += spans;
                losses.merge(changed("spans", "as samples", spans));
                Ok(notes)
            }
            Tell::Spans => {
                let mut spans = AsSpans::new(to, self.job.pick.value.clone());
                let holds = holds.without(&OF_SAMPLES).with(&[
                    Feature::Samples,
                    Feature::SampleTimes,
                    Feature::SampleTracks,
                ]);
                let notes = self.read(&mut spans, holds, losses, &mut told.values)?;
                let samples = spans.finish();
                told.samples += samples.told;
                losses.merge(changed("samples", "as spans", samples.told));
                if !self.target.holds.holds(Feature::Samples) {
                    losses.merge(Losses {
                        lost: changed(
                            "samples",
                            "without a time, or of another value",
                            samples.left,
                        )
                        .changed,
                        changed: Vec::new(),
                    });
                }
                Ok(notes)
            }
        }
    }

    fn read(
        &self,
        to: &mut (dyn Sink + Send),
        holds: Capabilities,
        losses: &mut Losses,
        values: &mut Values,
    ) -> anyhow::Result<Notes> {
        let options = self.job.common.lower_options()?;
        let pick = self.job.pick;
        let mut loss = Loss::new(to, holds);
        let mut redact = Redact::new(&mut loss, self.redaction);
        let mut met = None;
        let notes = piped(&mut redact, |sink| {
            let mut choose = pick.choose(sink, options.limits.size(Limit::OpenSpans))?;
            let notes = match pick.only() {
                Some(value) => {
                    let first = self.document.parts().first();
                    let file = first.map_or("", |part| &part.name);
                    let mut only = Only::new(&mut choose, value, file);
                    let notes = self.lower(&options, &mut only)?;
                    met = Some(only.finish());
                    notes
                }
                None => self.lower(&options, &mut choose)?,
            };
            // A sink that breaks has its reason; the target tells it when it is finished.
            let _ = choose.finish();
            anyhow::Ok(notes)
        })?;
        if let Some(met) = met {
            values.add(met);
        }
        losses.merge(loss.finish());
        Ok(notes)
    }

    /// Lowers into `sink`, without the methods that are not admitted.
    fn lower(&self, options: &LowerOptions, sink: &mut dyn Sink) -> anyhow::Result<Notes> {
        let (at, input) = self.input;
        let lower =
            |sink: &mut dyn Sink| self.timing.lower(at, input, self.document, options, sink);
        let methods = self.job.pick.methods.rules()?;
        if methods.is_empty() {
            return lower(sink);
        }
        let mut survey = Survey::new(&methods);
        lower(&mut survey)?;
        survey.settle();
        lower(&mut Hide::new(&mut survey, sink))
    }
}

fn changed(kind: &'static str, field: &str, count: u64) -> Losses {
    let entry = Lost {
        kind,
        field: field.to_owned(),
        count,
        example: String::new(),
    };
    Losses {
        lost: Vec::new(),
        changed: if count > 0 { vec![entry] } else { Vec::new() },
    }
}

/// How many spans and samples there were, to say why nothing came of them.
#[derive(Clone, Default)]
struct Told {
    spans: u64,
    samples: u64,
    values: Values,
}

impl Told {
    fn add(&mut self, other: Self) {
        self.spans += other.spans;
        self.samples += other.samples;
    }

    /// Fails when nothing had the value asked for, or all there was is of the kind that the target does not hold.
    fn check(&self, pick: &Pick, target: &Format, inputs: &[String]) -> anyhow::Result<()> {
        if let Some(value) = pick.only() {
            self.values.check(value)?;
        }
        let tell = pick.tell();
        let inputs = inputs.join(", ");
        let (spans, samples) = (
            target.holds.holds(Feature::Spans),
            target.holds.holds(Feature::Samples),
        );
        match tell {
            Tell::Plain if self.spans > 0 && self.samples == 0 && !spans && samples => {
                anyhow::bail!(
                    "{inputs}: calls, and {} holds samples; --as-samples writes their own time by stack",
                    target.name
                )
            }
            Tell::Plain if self.samples > 0 && self.spans == 0 && !samples && spans => {
                anyhow::bail!(
                    "{inputs}: samples, and {} holds spans; --as-spans draws what was on the stack from one sample to \
                 the next",
                    target.name
                )
            }
            Tell::Spans if self.samples == 0 => anyhow::bail!(
                "{inputs}: no sample has a time, so nothing says from when to when anything ran"
            ),
            Tell::Samples if self.spans == 0 => {
                anyhow::bail!("{inputs}: there are no spans to tell as samples")
            }
            Tell::Plain | Tell::Spans | Tell::Samples => Ok(()),
        }
    }
}

/// Keeps spans from a target of samples: some writers would merge them, which nobody asked for.
struct Held<'s> {
    to: &'s mut (dyn Sink + Send),
    holds: Capabilities,
    told: Told,
}

impl Stage for Held<'_> {
    fn asks(&self) -> Asks {
        let asks = Asks::of(self.to);
        // What is kept from the target is counted, and steps are not.
        let wants = if self.holds.holds(Feature::Spans) {
            asks.wants
        } else {
            Wants::Spans
        };
        Asks { wants, ..asks }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match &batch {
            Batch::Spans(spans) => self.told.spans += spans.len() as u64,
            Batch::Samples(samples) => self.told.samples += samples.len() as u64,
            _ => {}
        }
        let spans = matches!(batch, Batch::Spans(_) | Batch::Steps(_));
        if spans && !self.holds.holds(Feature::Spans) {
            return Flow::Continue(());
        }
        batch.push(self.to)
    }
}
