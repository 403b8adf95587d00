//! Every source to every target: what is lost, and what comes back.
//!
//! The sources are the sample of each format, the shop of `testdata`, and files of the corpus of at most 1 MB,
//! one for each format and feature. The snapshots hold kinds and counts, never text of a capture. Arrow
//! and Parquet hold what CSV does; their files are compared in `tables.rs`.
#![allow(missing_docs, reason = "a test")]

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use traceloom_analysis::loss::{Loss, Losses, Lost};
use traceloom_formats::{
    FORMATS, Format, LowerOptions, RaiseOptions, SliceSource, by_name, columnar,
};
use traceloom_input::{Input, OpenOptions};
use traceloom_model::{
    Asks, Concat, CounterBatch, Definitions, EventBatch, Flow, Note, ProfileId, Recording,
    SampleBatch, Sink, SpanBatch, SpanStatus,
};

/// Files of the corpus, each for what it shows of its format.
const CORPUS: &[&str] = &[
    "cdt/tcp/test-service.tcpdump",
    "cdt/test-service/calls.bin",
    "cdt/test-service/traces.bin",
    "cdt/test-service/suspend.bin",
    "cdt/text/20231219T062953UTC.gc.log",
    "datakit/dk_ddtrace_python.pprof",
    "datakit/dk_go_cpu.pprof",
    "datakit/dk_go_delta-heap.pprof",
    "datakit/dk_prof.jfr",
    "datakit/gpprof_cppbench.cpu",
    "datakit/gpprof_cppbench.heap",
    "datakit/jfrp_example.jfr.gz",
    "datakit/jfrp_nativemem.jfr.gz",
    "datakit/parca_labels.pb.gz",
    "datakit/rs_pprof-rs_profile.pb",
    "datakit/ss_chrome_sucrase.cpuprofile",
    "heph/hand/all_types.heph",
    "heph/hand/two_substreams_overlap.heph",
    "heph/hand/zero_length_in_parent.heph",
    "heph/real/new_chain_arrays_small.bin",
    "heph/real/new_http_small.bin",
    "heph/real_defects/nested.bin",
    "heph/real_defects/nonfinite.bin",
    "tptp/syn_le_inclusive.trcbin",
    "tptp/syn_le_truncated.trcbin",
    "zorka/gen-b-driver/b-attrs.trc.bin",
    "zorka/gen-b-driver/b-exception-ref.trc.bin",
    "zorka/gen-b-driver/b-upattr.trc.bin",
    "zorka/gen-c-writer/c-writer-containers-trc.bin",
    "zorka/zico/traces1-2019-05-genB-1.trc.bin",
];

/// What a recording holds, in numbers.
#[derive(Default)]
struct Totals {
    tables: Recording,
    spans: u64,
    time: i128,
    /// The part of it that spans recorded whole have.
    whole: i128,
    events: u64,
    /// Spans that ended with an exception.
    exceptions: u64,
    points: u64,
    samples: u64,
    /// Sums of the columns of all profiles, by name.
    values: BTreeMap<String, i128>,
    columns: BTreeMap<ProfileId, Vec<i128>>,
}

impl Sink for Totals {
    fn asks(&self) -> Asks {
        Asks {
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.spans += batch.len() as u64;
        self.exceptions += batch.exception.values().len() as u64;
        let durations = batch.iter().map(|span| i128::from(span.duration()));
        self.time += durations.sum::<i128>();
        let partial = [SpanStatus::PartialStart, SpanStatus::PartialEnd];
        let whole = batch.iter().filter(|span| !partial.contains(&span.status));
        let durations = whole.map(|span| i128::from(span.duration()));
        self.whole += durations.sum::<i128>();
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.samples += batch.len() as u64;
        let sums = self.columns.entry(batch.profile).or_default();
        sums.resize(batch.width().max(sums.len()), 0);
        for row in 0..batch.len() {
            for (sum, &value) in sums.iter_mut().zip(batch.values(row)) {
                *sum += i128::from(value);
            }
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.events += batch.len() as u64;
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.points += batch.time.len() as u64;
        Flow::Continue(())
    }

    fn note(&mut self, _: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Totals {
    fn named(mut self) -> Self {
        for (profile, sums) in std::mem::take(&mut self.columns) {
            let row = self.tables.profile(profile);
            for (at, sum) in sums.into_iter().enumerate() {
                let id = row.and_then(|row| row.value_types.get(at).copied());
                let name =
                    id.and_then(|id| Some(self.tables.text(self.tables.value_type(id)?.name)));
                let name = name.map_or_else(|| format!("#{at}"), |name| name.into_owned());
                *self.values.entry(name).or_default() += sum;
            }
        }
        self
    }
}

/// Something that can be lowered again and again.
enum Source {
    Bytes(&'static Format, Vec<u8>),
    Input(Input),
}

impl Source {
    fn lower(&self, sink: &mut dyn Sink) {
        let options = LowerOptions::default();
        match self {
            Self::Bytes(format, bytes) => {
                let source = SliceSource::default().with("sample", format, bytes);
                format.lower.expect("a lowering")(&source, &options, sink)
                    .expect("bytes in memory");
            }
            Self::Input(input) => {
                let mut all = Concat::new(sink);
                if input.documents().count() > 1 {
                    all = all.of_many();
                }
                for document in input.documents() {
                    let lower = document.format().and_then(|format| format.lower);
                    if let Some(lower) = lower {
                        lower(&document, &options, &mut all).expect("a readable file");
                    }
                    all.next_recording(traceloom_formats::Source::parts(&document).len());
                }
            }
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.lower(&mut totals);
        totals.named()
    }
}

fn sample(format: &'static Format) -> Option<Source> {
    format.lower?;
    let mut bytes = Vec::new();
    traceloom_samples::by_name(format.name)?(11, 30_000, &mut |piece| {
        bytes.extend_from_slice(piece)
    });
    Some(Source::Bytes(format, bytes))
}

fn opened(path: &str) -> Source {
    Source::Input(Input::open(path, &OpenOptions::default()).expect("a file that opens"))
}

/// Targets with a writer in this build that tell losses apart.
fn targets() -> impl Iterator<Item = &'static Format> {
    let columns = [columnar::ARROW.name, columnar::PARQUET.name];
    let written = FORMATS
        .iter()
        .copied()
        .filter(|format| format.raise.is_some());
    written.filter(move |format| !columns.contains(&format.name))
}

type Files = BTreeMap<String, Vec<u8>>;

fn convert(source: &Source, target: &'static Format) -> (Losses, Result<Files, String>) {
    let mut files = Files::new();
    let raise = target.raise.expect("a target");
    let (losses, done) = {
        let mut writer = raise(&RaiseOptions::default(), &mut files).expect("no options");
        let mut loss = Loss::new(writer.as_mut(), target.holds);
        source.lower(&mut loss);
        (loss.finish(), writer.finish())
    };
    (
        losses,
        done.map(|()| files).map_err(|error| error.to_string()),
    )
}

/// Reads what was written; none for targets without a reader.
fn back(target: &'static Format, files: Files) -> Option<Totals> {
    target.lower?;
    let single = files.keys().all(String::is_empty);
    if single {
        let bytes = files.into_values().next().unwrap_or_default();
        return Some(Source::Bytes(target, bytes).totals());
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    Some(opened(folder.path().to_str().expect("a path")).totals())
}

fn by_kind(entries: &[Lost]) -> String {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for entry in entries {
        match kinds.last_mut() {
            Some((kind, count)) if *kind == entry.kind => *count += entry.count,
            _ => kinds.push((entry.kind, entry.count)),
        }
    }
    let words: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join(", ")
    }
}

fn lost(losses: &Losses, kind: &str) -> bool {
    let mut all = losses.lost.iter().chain(&losses.changed);
    all.any(|entry| entry.kind == kind)
}

/// What a source says to every target, a line each; what comes back is compared on the way.
fn report(name: &str, source: &Source, faults: &mut Vec<String>) -> String {
    let before = source.totals();
    let mut text = String::new();
    for target in targets() {
        let (losses, files) = convert(source, target);
        let lost_kinds = by_kind(&losses.lost);
        let changed = by_kind(&losses.changed);
        let _ = writeln!(
            text,
            "{}: lost {lost_kinds}; changed {changed}",
            target.name
        );
        let files = match files {
            Ok(files) => files,
            Err(_) if before.spans + before.samples == 0 => continue,
            Err(error) => {
                faults.push(format!("{name} to {}: {error}", target.name));
                continue;
            }
        };
        let Some(after) = back(target, files) else {
            continue;
        };
        compare(name, target, &before, &after, &losses, faults);
    }
    text
}

/// Totals that a target must give back when its loss report says nothing of them.
fn compare(
    name: &str,
    target: &Format,
    before: &Totals,
    after: &Totals,
    losses: &Losses,
    faults: &mut Vec<String>,
) {
    use traceloom_model::Feature;
    let mut differ = |what: &str, before: String, after: String| {
        let known = KNOWN.iter().any(|&(from, to, of, _)| {
            (from.is_empty() || from == name) && to == target.name && of == what
        });
        if before != after && !known {
            faults.push(format!(
                "{name} to {}: {what} {before}, back {after}",
                target.name
            ));
        }
    };
    if target.holds.holds(Feature::Spans) {
        differ("spans", before.spans.to_string(), after.spans.to_string());
        if !lost(losses, "sub_microsecond") && !lost(losses, "sub_millisecond") {
            // What was not recorded whole begins or ends where a reader finds fit.
            let (before, after) = if target.holds.holds(Feature::PartialSpans) {
                (before.whole, after.whole)
            } else {
                (before.time, after.time)
            };
            differ("span time", before.to_string(), after.to_string());
        }
    }
    if target.holds.holds(Feature::Events) {
        // OpenTelemetry has an exception as an event of its span.
        let exceptions = match target.name.starts_with("otlp-traces") {
            true => before.exceptions,
            false => 0,
        };
        differ(
            "events",
            (before.events + exceptions).to_string(),
            after.events.to_string(),
        );
    }
    if target.holds.holds(Feature::Counters) {
        differ(
            "counter points",
            before.points.to_string(),
            after.points.to_string(),
        );
    }
    let partly = ["inclusive_values", "negative_values", "many_values"];
    if target.holds.holds(Feature::Samples)
        && before.samples > 0
        && !partly.iter().any(|kind| lost(losses, kind))
    {
        let sum = |totals: &Totals| totals.values.values().sum::<i128>().to_string();
        differ("sample values", sum(before), sum(after));
    }
}

/// Totals that differ for a reason: source (empty for any), target, what, why.
const KNOWN: &[(&str, &str, &str, &str)] = &[
    ("", "zorka-s0", "span time", TICKS),
    ("", "zorka-b2", "span time", TICKS),
    ("", "tptp-binary", "sample values", INCLUSIVE),
    ("", "tptp-xml", "sample values", INCLUSIVE),
    ("", "line-protocol", "events", POINTS),
    ("", "line-protocol", "counter points", POINTS),
];

const TICKS: &str = "clocks of these generations tick every 65,536 ns";
const INCLUSIVE: &str = "aggregated entries carry inclusive times";
const POINTS: &str = "a point reads as an event, whatever it was written from";

#[test]
fn samples_of_every_format_go_to_every_target() {
    let mut faults = Vec::new();
    for format in FORMATS {
        if let Some(source) = sample(format) {
            let text = report(format.name, &source, &mut faults);
            insta::assert_snapshot!(format!("sample {}", format.name), text);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_shop_goes_to_every_target() {
    let mut faults = Vec::new();
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let text = report("shop", &opened(shop), &mut faults);
    insta::assert_snapshot!("shop", text);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_of_the_corpus_go_to_every_target() {
    let mut faults = Vec::new();
    for name in CORPUS {
        let Some(bytes) = corpus::file(name) else {
            return;
        };
        assert!(bytes.len() <= 1 << 20, "{name} is larger than 1 MB");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder
            .path()
            .join(Path::new(name).file_name().expect("a name"));
        std::fs::write(&path, bytes).expect("a file");
        let text = report(name, &opened(path.to_str().expect("a path")), &mut faults);
        let label = name.replace(['/', '.'], " ");
        insta::assert_snapshot!(format!("corpus {label}"), text);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn arrow_and_parquet_hold_what_csv_does() {
    let csv = by_name("csv").expect("a format");
    for format in [&columnar::ARROW, &columnar::PARQUET] {
        assert_eq!(format.holds, csv.holds, "{}", format.name);
    }
}
