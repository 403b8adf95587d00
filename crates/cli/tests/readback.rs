//! What is written reads back with the same calls and totals: every file of the corpus and of `testdata` to every
//! target that can be read.
//!
//! Calls go to targets of samples as samples, and timed samples to targets of spans as spans, as `--as-samples --async`
//! and `--as-spans` do. What a target does not hold is not compared: the loss report says it. [`EXCUSED`] lists
//! what differs beyond that, with the reasons.
#![allow(missing_docs, reason = "a test")]

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;
#[path = "readback/facts.rs"]
mod facts;
#[path = "readback/totals.rs"]
mod totals;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use traceloom_analysis::loss::{Loss, Losses};
use traceloom_analysis::stage::{AsSamples, AsSpans};
use traceloom_formats::{FORMATS, Format, LowerOptions, RaiseOptions, columnar};
use traceloom_input::{Input, OpenOptions};
use traceloom_model::{Clock, Concat, Feature, Order, Recording, Sink};

use self::totals::{Columns, Totals};

/// The form in which a recording passes on its way.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Recorded,
    Samples,
    Spans,
}

fn lower(input: &Input, sink: &mut dyn Sink) {
    let mut all = Concat::new(sink);
    all = if input.documents().count() > 1 {
        all.of_many()
    } else {
        all.of_one()
    };
    for document in input.documents() {
        if let Some(lower) = document.format().and_then(|format| format.lower) {
            lower(&document, &LowerOptions::default(), &mut all).expect("a readable file");
        }
        all.next_recording(traceloom_formats::Source::parts(&document).len());
    }
}

fn pass(input: &Input, form: Form, sink: &mut (dyn Sink + Send)) {
    match form {
        Form::Recorded => lower(input, sink),
        Form::Samples => {
            let mut samples = AsSamples::new(sink, true);
            lower(input, &mut samples);
            samples.finish();
        }
        Form::Spans => {
            let mut spans = AsSpans::new(sink, None);
            lower(input, &mut spans);
            spans.finish();
        }
    }
}

fn totals_of(input: &Input, form: Form) -> Totals {
    let mut totals = Totals::default();
    pass(input, form, &mut totals);
    totals
}

type Files = BTreeMap<String, Vec<u8>>;

/// What was written, what the loss report has, and the columns that the target left out of several.
struct Converted {
    files: Result<Files, String>,
    losses: Losses,
    left_out: Option<BTreeSet<String>>,
}

fn convert(input: &Input, form: Form, target: &Format) -> Converted {
    let mut files = Files::new();
    let raise = target.raise.expect("a target");
    let same = |document: traceloom_input::Document<'_>| {
        document
            .format()
            .is_some_and(|format| format.name == target.name)
    };
    let holds = if input.documents().all(same) {
        target.holds.of_the_same_format()
    } else {
        target.holds
    };
    let (losses, done, left_out) = {
        let formats = input.documents().filter_map(|document| document.format());
        let options = RaiseOptions {
            sources: formats.map(|format| format.name).collect(),
            ..RaiseOptions::default()
        };
        let mut writer = raise(&options, &mut files).expect("no options");
        let mut losses = {
            let mut loss = Loss::new(writer.as_mut(), holds);
            pass(input, form, &mut loss);
            loss.finish()
        };
        let done = writer.finish();
        let left_out = writer.left_out();
        for (feature, names) in &left_out {
            let names = names.iter().map(|row| (row.name.clone(), row.count));
            losses.take_left_out(holds, *feature, names);
        }
        (losses, done, left_out)
    };
    let mut left_out = left_out.into_iter();
    let left_out = left_out.find(|(feature, _)| *feature == Feature::ManyValues);
    Converted {
        files: done.map(|()| files).map_err(|error| error.to_string()),
        losses,
        left_out: left_out.map(|(_, all)| all.into_iter().map(|one| one.name).collect()),
    }
}

/// Opens what was written as a user would: by its content, under a name with the target's extension.
fn open_back(target: &Format, files: Files, folder: &Path) -> Input {
    let single = files.keys().all(String::is_empty) && !target.is_folder();
    let mut files = files;
    if single {
        files.entry(String::new()).or_default();
    }
    let mut path = folder.to_owned();
    for (name, bytes) in files {
        let name = if single {
            format!("back.{}", target.extensions.first().unwrap_or(&"bin"))
        } else {
            name
        };
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, bytes).expect("a file");
        if single {
            path = file;
        }
    }
    Input::open(path.to_str().expect("a path"), &OpenOptions::default()).expect("a file that opens")
}

/// The formats of what an input holds.
fn formats(input: &Input) -> String {
    let documents = input.documents();
    let names = documents.map(|document| document.format().map_or("unknown", |format| format.name));
    let names: BTreeSet<_> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Targets that are read and written by this build, those that `TRACELOOM_READBACK_TARGETS` names where it is set.
fn targets() -> Vec<&'static Format> {
    let columns = [columnar::ARROW.name, columnar::PARQUET.name];
    let both = FORMATS.iter().copied();
    let both = both.filter(|format| format.raise.is_some() && format.lower.is_some());
    both.filter(|format| !columns.contains(&format.name))
        .filter(|format| {
            let chosen = std::env::var("TRACELOOM_READBACK_TARGETS");
            chosen.map_or(true, |names| {
                names.split(',').any(|name| name == format.name)
            })
        })
        .collect()
}

/// Returns `true` if all inputs and targets are compared.
fn is_complete() -> bool {
    corpus::root().is_some() && std::env::var_os("TRACELOOM_READBACK_TARGETS").is_none()
}

/// What differs for a reason: source (its beginning; empty for any), target, what, and why.
const EXCUSED: &[(&str, &str, &str, &str)] = &[
    ("", "otlp-profiles", "samples", COLUMNS),
    ("", "speedscope", "samples", COLUMNS),
    ("", "tptp-binary", "samples", ENTRIES),
    ("", "tptp-xml", "samples", ENTRIES),
    ("cdt/text/", "tptp-binary", "values", NO_STACK),
    ("cdt/text/", "tptp-xml", "values", NO_STACK),
    ("", "speedscope", "values", NO_NAMES),
    ("datakit/dk_ddtrace_python", "tptp-binary", "values", TIMES),
    ("datakit/dk_ddtrace_python", "tptp-xml", "values", TIMES),
    ("", "speedscope", "roots", NO_KINDS),
    ("", "speedscope", "root time", NO_KINDS),
    ("", "zorka-s0", "root time", TICKS),
    ("", "zorka-b2", "root time", TICKS),
];

const COLUMNS: &str = "a profile has one column, so that a sample of two is two";
const ENTRIES: &str = "an entry for each method of a stack";
const NO_STACK: &str = "an entry has a method: a sample without a stack has none";
const NO_NAMES: &str = "columns have a unit and no name, so that two of one unit read as one";
const TIMES: &str = "an entry holds a time: the column of nanoseconds, not the one that is shown";
const NO_KINDS: &str =
    "an async track or lane is a profile of its own, and nothing says that it is no thread";
const TICKS: &str = "clocks of these generations tick every 65,536 ns";

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compares one input with what comes back from one target; adds the excuses that were needed.
fn compare(
    name: &str,
    input: &Input,
    target: &'static Format,
    plain: &Totals,
    needed: &Mutex<BTreeSet<usize>>,
) -> Vec<String> {
    let (spans, samples) = (
        target.holds.holds(Feature::Spans),
        target.holds.holds(Feature::Samples),
    );
    let form = if !spans && samples && plain.spans > 0 {
        Form::Samples
    } else if !samples && spans && plain.timed > 0 && plain.spans == 0 {
        Form::Spans
    } else {
        Form::Recorded
    };
    let own;
    let before = match form {
        Form::Recorded => plain,
        _ => {
            own = totals_of(input, form);
            &own
        }
    };
    let Converted {
        files,
        losses,
        left_out,
    } = convert(input, form, target);
    let mut faults = Vec::new();
    let empty = before.spans + before.samples == 0;
    if (!spans && before.spans > 0 && before.samples == 0)
        || (!samples && before.samples > 0 && before.spans == 0)
    {
        // `convert` refuses this.
        return faults;
    }
    let files = match files {
        Ok(files) => files,
        Err(_) if empty => return faults,
        Err(error) => return vec![format!("{name} to {}: {error}", target.name)],
    };
    let folder = tempfile::tempdir().expect("a folder");
    let back = open_back(target, files, folder.path());
    let after = totals_of(&back, Form::Recorded);
    let mut differ = |what: &str, before: String, after: String| {
        if before == after {
            return;
        }
        let excused = EXCUSED.iter().position(|&(from, to, of, _)| {
            name.starts_with(from) && to == target.name && of == what
        });
        if let Some(row) = excused {
            lock(needed).insert(row);
        } else {
            faults.push(format!(
                "{name} to {}: {what} {before}, back {after}",
                target.name
            ));
        }
    };
    if !empty {
        let formats: BTreeSet<_> = back
            .documents()
            .map(|document| document.format().map_or("unknown", |format| format.name))
            .collect();
        if !target.is_folder() {
            let expected = BTreeSet::from([target.name]);
            differ("format", format!("{expected:?}"), format!("{formats:?}"));
        }
    }
    if plain.bad.is_empty() {
        differ("notes", "{}".to_owned(), format!("{:?}", after.bad));
    }
    let lost = |kind: &str| {
        let mut all = losses.lost.iter().chain(&losses.changed);
        all.any(|entry| entry.kind == kind)
    };
    if spans && !lost("inner_calls") {
        differ("calls", before.calls.to_string(), after.calls.to_string());
    }
    if spans && !lost("async_tracks") {
        let partial = !target.holds.holds(Feature::PartialSpans);
        let (count, time) = before.roots(partial);
        let (count_back, time_back) = after.roots(partial);
        differ("roots", count.to_string(), count_back.to_string());
        let tolerance = match () {
            () if lost("sub_millisecond") => i128::from(count) * 1_000_000,
            () if lost("sub_microsecond") => i128::from(count) * 1_000,
            () => 0,
        };
        if (time - time_back).abs() > tolerance {
            differ("root time", time.to_string(), time_back.to_string());
        }
    }
    if samples && before.samples > 0 {
        let columns = match &left_out {
            _ if target.holds.holds(Feature::ManyValues) => Columns::All,
            Some(names) => Columns::Without(names),
            None => Columns::Shown,
        };
        if ["folded", "flamegraph-json"].contains(&target.name) {
            // Samples of one stack are added up.
            let sums = |totals: &Totals, columns| {
                let mut sums: Vec<i128> = totals.stacks(columns).into_values().collect();
                sums.sort_unstable();
                format!("{sums:?}")
            };
            let (before, after) = (sums(before, columns), sums(&after, Columns::Shown));
            differ("stacks", before, after);
        } else {
            differ(
                "samples",
                before.samples.to_string(),
                after.samples.to_string(),
            );
        }
        if !lost("inclusive_values") && !lost("negative_values") {
            let of_back = match columns {
                Columns::All => Columns::All,
                Columns::Shown | Columns::Without(_) => Columns::Shown,
            };
            let (before, after) = (before.values(columns), after.values(of_back));
            differ("values", format!("{before:?}"), format!("{after:?}"));
        }
    }
    faults
}

/// Bytes of a file, and spans and samples of its recording, unless `TRACELOOM_READBACK=all` asks for all: larger ones
/// take longer than all others together.
fn bounds() -> (u64, u64) {
    match std::env::var("TRACELOOM_READBACK").as_deref() {
        Ok("all") => (u64::MAX, u64::MAX),
        _ => (100_000, 3_000),
    }
}

/// Files and folders with recordings: name and path.
fn inputs() -> Vec<(String, PathBuf)> {
    let project = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut found = vec![("testdata/shop".to_owned(), project.join("testdata/shop"))];
    for (name, _) in corpus::files_below(&project.join("testdata/tptp/vectors")) {
        if name.ends_with(".trcbin") || name.ends_with(".trcxml") {
            let path = project.join("testdata/tptp/vectors").join(&name);
            found.push((format!("testdata/{name}"), path));
        }
    }
    let Some(root) = corpus::root() else {
        return found;
    };
    let (largest, _) = bounds();
    for folder in ["cdt/dump/server1", "cdt/test-service"] {
        found.push((format!("{folder}/"), root.join(folder)));
    }
    for name in corpus::files("").unwrap_or_default() {
        let facts = ["expected/", ".expected.", "README", ".jsonl", "/dump/"];
        let path = root.join(&name);
        let size = std::fs::metadata(&path).map_or(0, |file| file.len());
        if !facts.iter().any(|word| name.contains(word)) && size <= largest {
            found.push((name, path));
        }
    }
    found
}

#[test]
fn every_file_reads_back_from_every_target_with_its_calls_and_totals() {
    let inputs = inputs();
    let (_, most_rows) = bounds();
    let (next, skipped, compared) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let (faults, needed) = (Mutex::new(Vec::new()), Mutex::new(BTreeSet::new()));
    let work = || {
        while let Some((name, path)) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = path.to_str().expect("a path");
            let Ok(input) = Input::open(path, &OpenOptions::default()) else {
                continue;
            };
            let lowers = |format: &Format| format.lower.is_some();
            if !input
                .documents()
                .any(|document| document.format().is_some_and(lowers))
            {
                continue;
            }
            let plain = totals_of(&input, Form::Recorded);
            if plain.spans + plain.samples > most_rows {
                skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            compared.fetch_add(1, Ordering::Relaxed);
            for target in targets() {
                let found = compare(name, &input, target, &plain, &needed);
                lock(&faults).extend(found);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let (skipped, compared) = (skipped.into_inner(), compared.into_inner());
    assert!(
        skipped * 5 < compared,
        "{skipped} recordings of {compared} are too large"
    );
    let mut faults = faults.into_inner().expect("no panic");
    faults.sort();
    let needed = needed.into_inner().expect("no panic");
    for (row, (from, to, what, _)) in EXCUSED.iter().enumerate() {
        let exact = ["chrome", "perfetto", "heph"];
        assert!(!exact.contains(to), "{to} needs no excuses");
        if is_complete() && !needed.contains(&row) {
            faults.push(format!("no {from}* needs the excuse for {what} of {to}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn an_empty_recording_is_recognised_and_sound() {
    let mut faults = Vec::new();
    for target in targets() {
        let mut files = Files::new();
        let raise = target.raise.expect("a target");
        let done = {
            let mut writer = raise(&RaiseOptions::default(), &mut files).expect("no options");
            writer.begin(Order::Nested, Clock::Unix);
            writer.finish()
        };
        let folders = target.is_folder();
        let frameless = ["zorka-s0", "zorka-b2", "zorka-c"].contains(&target.name);
        match done {
            // Nothing is written of nothing: a folder without files, a stream of no records.
            Ok(()) if folders || frameless => continue,
            Ok(()) => {}
            Err(error) => {
                faults.push(format!("{}: {error}", target.name));
                continue;
            }
        }
        let sizes: Vec<_> = files
            .iter()
            .map(|(name, bytes)| format!("{name}:{}", bytes.len()))
            .collect();
        let folder = tempfile::tempdir().expect("a folder");
        let back = open_back(target, files, folder.path());
        let after = totals_of(&back, Form::Recorded);
        let found = formats(&back);
        if found != target.name || !after.bad.is_empty() || after.spans + after.samples > 0 {
            faults.push(format!(
                "{}: {found:?} {:?} {sizes:?}",
                target.name, after.bad
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// What a format loses when it is written again: format, kind, and why.
const LOST_AGAIN: &[(&str, &str, &str)] = &[
    ("chrome", "links", "flows are read and not written"),
    ("chrome", "heap_objects", "objects are read and not written"),
    (
        "speedscope",
        "profile_headers",
        "the name of a sampled profile",
    ),
    (
        "speedscope",
        "sample_times",
        "samples of one stack are added up",
    ),
    ("tptp-binary", "invalid_text", "texts are written as UTF-8"),
    ("tptp-binary", "track_ids", ONE_THREAD),
    ("tptp-xml", "track_ids", ONE_THREAD),
];

const ONE_THREAD: &str =
    "the writer gives a number to one thread: 0 to none, and one that is used again to the first";

/// What is missing and not in the report: input (its beginning), kind of fact (empty for any), and why.
const UNSAID: &[(&str, &str, &str)] = &[
    ("testdata/all_", "", UNDEFINED),
    ("testdata/heap_snapshot", "object", UNDEFINED),
    (
        "testdata/xml_time_digits",
        "event",
        "a time before the origin has no digits",
    ),
];

const UNDEFINED: &str =
    "every field is filled, so that threads, classes and methods are named that nothing defines";

/// Inputs for what is written again: captures, and samples of every format.
fn written_again(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut all = inputs();
    for format in targets() {
        let Some(sample) = traceloom_samples::by_name(format.name) else {
            continue;
        };
        let extension = format.extensions.first().unwrap_or(&"bin");
        let path = folder.join(format!("{}.{extension}", format.name));
        let mut bytes = Vec::new();
        sample(5, 20_000, &mut |piece| bytes.extend_from_slice(piece));
        std::fs::write(&path, bytes).expect("a file");
        all.push((format!("sample/{}", format.name), path));
    }
    all
}

#[test]
fn the_same_format_written_again_loses_nothing() {
    let mut faults = Vec::new();
    let samples = tempfile::tempdir().expect("a folder");
    for (name, path) in written_again(samples.path()) {
        let path = path.to_str().expect("a path");
        let Ok(input) = Input::open(path, &OpenOptions::default()) else {
            continue;
        };
        let mut formats: Vec<_> = input
            .documents()
            .filter_map(|document| document.format())
            .collect();
        formats.dedup();
        let [format] = formats[..] else { continue };
        if format.raise.is_none() || format.lower.is_none() {
            continue;
        }
        let Converted { files, losses, .. } = convert(&input, Form::Recorded, format);
        let folder = tempfile::tempdir().expect("a folder");
        let back = open_back(format, files.expect("a file"), folder.path());
        let (mut before, mut after) = (Recording::default(), Recording::default());
        pass(&input, Form::Recorded, &mut before);
        pass(&back, Form::Recorded, &mut after);
        let mut unsaid = BTreeSet::new();
        for (kind, fact, times) in facts::missing(&facts::facts(&before), &facts::facts(&after)) {
            let accounts = facts::ACCOUNTED.iter().filter(|(of, _)| *of == kind);
            let mut accounts = accounts.flat_map(|(_, entries)| *entries);
            let report = losses.lost.iter().chain(&losses.changed);
            let report: BTreeSet<_> = report.map(|entry| entry.kind).collect();
            let said = accounts.any(|kind| report.contains(kind));
            let excused = UNSAID.iter().any(|&(input, what, _)| {
                name.starts_with(input) && (what.is_empty() || what == kind)
            });
            if !said && !excused && unsaid.insert(kind) {
                faults.push(format!(
                    "{name} as {}: {kind} `{fact}` missing {times} times, unsaid",
                    format.name
                ));
            }
        }
        let known = |entry: &&traceloom_analysis::loss::Lost| {
            !LOST_AGAIN
                .iter()
                .any(|&(name, kind, _)| (name, kind) == (format.name, entry.kind))
        };
        for entry in losses.lost.iter().filter(known) {
            let (kind, field, count) = (entry.kind, &entry.field, entry.count);
            faults.push(format!(
                "{name} as {}: lost {kind} {field} {count} such as {}",
                format.name, entry.example
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}
