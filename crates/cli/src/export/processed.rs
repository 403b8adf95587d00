//! `export --processed`: what ZICO's collector makes of the posts of Zorka's agents, a document for each marked span.
//!
//! Each document stands by itself: its records are those of the span and of what is below it, with the symbols that they need.

use std::collections::HashMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value as Json, json};
use traceloom_analysis::text::value_text;
use traceloom_formats::{Output as _, RaiseOptions, zorka};
use traceloom_input::captures::posts::ZORKA;
use traceloom_input::captures::{Captures, DataFolder};
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Definitions, Exception, FunctionId, Order, Recording, Resource, ResourceId, SpanBatch, SpanId,
    SpanRow, SpanStatus, StringId, Text, Timestamp, Track, TrackId,
};

use super::one_file::OneFile;
use super::{Exported, Options, find};
use crate::Outcome;
use crate::lowered::{documents, lower, mention};
use crate::numbers::things;
use crate::open::open;
use crate::streams::message;
use crate::usage::Usage;

/// What a document holds besides what is said of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DocumentContent {
    /// Records and symbols, as `tdata` and `sdata`: gzip of the current generation's streams, in base64.
    Data,
    /// Nothing.
    Metadata,
    /// The calls in it, and nothing else.
    Tree,
    /// What each method came to in it, and nothing else.
    Stats,
}

/// Documents whose records are written at a time.
const AT_A_TIME: usize = 256;
/// Spans of a batch.
const BATCH: usize = 16 << 10;

pub(super) fn run(options: &Options, content: DocumentContent) -> anyhow::Result<Outcome> {
    let captures = Captures::read(&DataFolder::open(&options.data)?)?;
    let ids = chosen(options, &captures)?;
    drop(captures);
    let (mut n_documents, mut output) = (0, OneFile::start(options)?);
    for id in ids {
        let path = format!("{}#{id}", options.data.display());
        let input = open(&path, &options.common)?;
        let mut all_notes = Vec::new();
        // Symbols that no trace followed yet are nothing to show.
        for document in documents(&input).unwrap_or_default() {
            let mut recording = Recording::default();
            let limits = options.common.lower_options()?;
            all_notes.push(lower(&document, &limits, &options.common, &mut recording)?);
            let traces = Traces::of(&recording);
            let mut wanted = traces.marked.clone();
            wanted.retain(|&row| traces.is_of(row, options.trace, options.span));
            for some in wanted.chunks(AT_A_TIME) {
                for mut line in traces.lines(some, content)? {
                    line.push('\n');
                    output.write("", line.as_bytes())?;
                    n_documents += 1;
                }
            }
        }
        mention(&input, &all_notes);
    }
    output.finish()?;
    if options.output != std::path::Path::new("-") {
        let traces = things(n_documents, "document", "documents");
        message!("{traces} in {}", options.output.display());
    }
    Ok(Outcome::Done)
}

/// Returns the captures that are meant: all of Zorka's agents unless some are named.
fn chosen(options: &Options, captures: &Captures) -> anyhow::Result<Vec<String>> {
    let is_zorka = |capture: &traceloom_input::captures::Capture| {
        capture.protocol.is_some_and(|it| it.number == ZORKA.number)
    };
    if options.ids.is_empty() {
        let all = captures.list.iter();
        let all = all.filter(|capture| is_zorka(capture) && !capture.parts.is_empty());
        return Ok(all.map(|capture| capture.id.to_string()).collect());
    }
    let mut ids = Vec::new();
    for exported in &options.ids {
        let capture = find(captures, exported.capture(), &options.data)?;
        if !is_zorka(capture) || !matches!(exported, Exported::Capture(_)) {
            let text = format!("{exported} is no capture of Zorka's agents");
            return Err(Usage(text).into());
        }
        ids.push(capture.id.to_string());
    }
    Ok(ids)
}

/// The traces of a recording.
struct Traces<'r> {
    recording: &'r Recording,
    /// Rows of spans by the span that encloses them.
    children: HashMap<SpanId, Vec<usize>>,
    row_of: HashMap<SpanId, usize>,
    /// Rows of spans that begin a trace, or one inside another, by their starts.
    marked: Vec<usize>,
}

impl<'r> Traces<'r> {
    fn of(recording: &'r Recording) -> Self {
        let mut traces = Self {
            recording,
            children: HashMap::new(),
            row_of: HashMap::new(),
            marked: Vec::new(),
        };
        for (row, span) in recording.spans.iter().enumerate() {
            traces.row_of.insert(span.id, row);
            if let Some(parent) = span.parent {
                traces.children.entry(parent).or_default().push(row);
            }
            if span.parent.is_none() || span.kind.is_some() {
                traces.marked.push(row);
            }
        }
        let start = |row: &usize| recording.spans.start.get(*row).copied();
        for rows in traces.children.values_mut() {
            rows.sort_by_key(start);
        }
        traces.marked.sort_by_key(start);
        traces
    }

    fn span(&self, row: usize) -> Option<SpanRow<'r>> {
        self.recording.spans.row(row)
    }

    fn text(&self, id: StringId) -> String {
        self.recording.text(id).into_owned()
    }

    /// Returns `true` if a span is of a trace and has an id, where these are named.
    fn is_of(&self, row: usize, trace: Option<u128>, span: Option<u64>) -> bool {
        let context = self.span(row).and_then(|span| span.context);
        trace.is_none_or(|trace| self.trace(row) == trace)
            && span.is_none_or(|id| context.map_or(0, |one| one.span) == id)
    }

    /// Returns the id of a span's trace, which the span around it may say.
    fn trace(&self, row: usize) -> u128 {
        let rows = std::iter::successors(Some(row), |&row| self.parent(row));
        let mut contexts = rows.filter_map(|row| self.span(row)?.context);
        contexts
            .find(|one| one.trace != 0)
            .map_or(0, |one| one.trace)
    }

    fn parent(&self, row: usize) -> Option<usize> {
        self.row_of.get(&self.span(row)?.parent?).copied()
    }

    /// Returns the rows of a span and of everything below it, children before their parent.
    fn subtree(&self, root: usize) -> Vec<usize> {
        let mut rows = Vec::new();
        let mut open = vec![root];
        // Parents first, and the last child first of all; turned around that is children first.
        while let Some(row) = open.pop() {
            rows.push(row);
            let id = self.recording.spans.id.get(row);
            let children = id.and_then(|id| self.children.get(id));
            open.extend(children.into_iter().flatten());
        }
        rows.reverse();
        rows
    }

    /// Returns what is told of some spans, a line each.
    fn lines(&self, roots: &[usize], content: DocumentContent) -> anyhow::Result<Vec<String>> {
        let subtrees: Vec<_> = roots.iter().map(|&row| self.subtree(row)).collect();
        match content {
            DocumentContent::Tree => {
                return Ok(subtrees.iter().map(|rows| self.tree(rows)).collect());
            }
            DocumentContent::Stats => {
                let sums = subtrees.iter().map(|rows| self.sums(rows).to_string());
                return Ok(sums.collect());
            }
            DocumentContent::Data | DocumentContent::Metadata => {}
        }
        let documents = roots.iter().zip(&subtrees);
        let documents = documents.map(|(&root, rows)| self.metadata(root, rows));
        let mut documents: Vec<Json> = documents.collect();
        if content == DocumentContent::Data {
            let posts = self.posts(&subtrees)?;
            for (document, (symbols, records)) in documents.iter_mut().zip(posts) {
                document["sdata"] = packed(&symbols)?.into();
                document["tdata"] = packed(&records)?.into();
            }
        }
        Ok(documents.iter().map(Json::to_string).collect())
    }

    fn metadata(&self, root: usize, rows: &[usize]) -> Json {
        let Some(span) = self.span(root) else {
            return Json::Null;
        };
        let errors = rows.iter().filter_map(|&row| self.span(row));
        let n_errors = errors.filter(is_error).count();
        let around = std::iter::successors(self.parent(root), |&row| self.parent(row));
        let mut around = around.filter_map(|row| self.span(row)?.context);
        let context = span.context;
        let own_parent = context.map_or(0, |one| one.parent);
        let parent = match own_parent {
            0 => around.find(|one| one.span != 0).map_or(0, |one| one.span),
            own => own,
        };
        let (class, method) = self.names(span.function);
        let id = |id: u64| format!("{id:016x}");
        let attributes = span.attributes.iter().filter_map(|attribute| {
            let key = self.recording.attribute_key(attribute.key)?;
            let value = value_text(self.recording, &attribute.value);
            Some((self.text(key.name), Json::from(value.into_owned())))
        });
        json!({
            "traceid": format!("{:032x}", self.trace(root)),
            "spanid": id(context.map_or(0, |one| one.span)),
            "parentid": id(parent),
            "chnum": 0,
            "top-level": parent == 0 && span.parent.is_none(),
            "tst": span.start.div_euclid(1_000_000),
            "tstamp": date(span.start),
            "duration": span.duration(),
            "ttype": span.kind.map(|kind| self.text(kind)),
            "klass": class,
            "method": method,
            "recs": rows.len(),
            "calls": self.calls(&span).unwrap_or(rows.len() as i64),
            "errors": n_errors,
            "error": is_error(&span),
            "attrs": attributes.collect::<Map<_, _>>(),
        })
    }

    /// Returns the number of calls that the tracer counted.
    fn calls(&self, span: &SpanRow<'_>) -> Option<i64> {
        let mut counters = span.counters.iter();
        let is_calls = |name: StringId| self.recording.text(name) == "calls";
        let found = counters.find(|(id, _)| {
            let row = self.recording.value_type(*id);
            row.is_some_and(|row| is_calls(row.name))
        });
        found.map(|(_, n_calls)| *n_calls)
    }

    /// Returns class and method of a function.
    fn names(&self, function: Option<FunctionId>) -> (String, String) {
        let Some(function) = function else {
            return Default::default();
        };
        let name = self.recording.function_name(function).into_owned();
        match name.rsplit_once('.') {
            Some((class, method)) => (class.to_owned(), method.to_owned()),
            None => (String::new(), name),
        }
    }

    /// Returns the calls of a subtree, as ZICO's call trees have them. They nest by thousands, so nothing here calls itself.
    fn tree(&self, rows: &[usize]) -> String {
        let mut errors: HashMap<usize, u64> = HashMap::new();
        for &row in rows {
            let own = self.span(row).is_some_and(|span| is_error(&span));
            let all = errors.entry(row).or_default();
            *all += u64::from(own);
            let all = *all;
            if let Some(parent) = self.parent(row) {
                *errors.entry(parent).or_default() += all;
            }
        }
        let mut out = String::new();
        let mut open: Vec<TreeStep> = rows
            .last()
            .map(|&row| TreeStep::Call(row, 0))
            .into_iter()
            .collect();
        while let Some(step) = open.pop() {
            let TreeStep::Call(row, pos) = step else {
                out.push_str("]}");
                continue;
            };
            let Some(span) = self.span(row) else { continue };
            if pos > 0 {
                out.push(',');
            }
            let head = self.call(&span, pos, errors.get(&row).copied().unwrap_or(0));
            // Its members, with the list of what it called as the last one.
            out.push_str(head.strip_suffix('}').unwrap_or(&head));
            out.push_str(",\"children\":[");
            open.push(TreeStep::End);
            let children = self.children.get(&span.id).into_iter().flatten();
            let children = children.copied().enumerate();
            let children: Vec<_> = children
                .map(|(pos, row)| TreeStep::Call(row, pos))
                .collect();
            open.extend(children.into_iter().rev());
        }
        out
    }

    fn call(&self, span: &SpanRow<'_>, pos: usize, n_errors: u64) -> String {
        let attributes = span.attributes.iter().filter_map(|attribute| {
            let key = self.recording.attribute_key(attribute.key)?;
            let value = crate::attribute_json::as_json(self.recording, &attribute.value);
            Some((self.text(key.name), value))
        });
        let exception = span.exception.and_then(|id| self.recording.exception(id));
        let call = json!({
            "method": span.function.map(|id| self.recording.function_name(id).into_owned()),
            "pos": pos,
            "errors": n_errors,
            "duration": span.duration(),
            "tstart": span.start,
            "attrs": attributes.collect::<Map<_, _>>(),
            "exception": exception.map(|exception| self.exception(exception)),
        });
        call.to_string()
    }

    /// Returns what each method of a subtree came to, in the order of their first calls.
    fn sums(&self, rows: &[usize]) -> Json {
        let mut sums: Vec<MethodSum> = Vec::new();
        let mut place = HashMap::new();
        let spans = rows.iter().filter_map(|&row| self.span(row));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_by_key(|span| span.start);
        for span in spans {
            let at = *place.entry(span.function).or_insert_with(|| {
                sums.push(MethodSum::of(span.function));
                sums.len() - 1
            });
            if let Some(sum) = sums.get_mut(at) {
                sum.add(span.duration(), is_error(&span));
            }
        }
        let rows = sums.iter().zip(1..).map(|(sum, mid): (_, u64)| {
            let method = sum
                .function
                .map(|id| self.recording.function_name(id).into_owned());
            json!({
                "mid": mid,
                "method": method,
                "recs": sum.n_records,
                "errors": sum.n_errors,
                "sum-duration": sum.sum,
                "max-duration": sum.most,
                "min-duration": sum.least,
            })
        });
        rows.collect()
    }

    fn exception(&self, exception: &Exception) -> Json {
        json!({
            "class": exception.class.map(|class| self.text(class)),
            "msg": exception.message.map(|message| self.text(message)),
        })
    }

    /// Writes subtrees as posts of agents, each of a session of its own, and returns the symbols and the records of each.
    fn posts(&self, subtrees: &[Vec<usize>]) -> anyhow::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut lines: Vec<u8> = Vec::new();
        let make = zorka::REQUESTS.raise;
        let make = make.ok_or_else(|| anyhow::anyhow!("posts are not written"))?;
        let mut target = make(&RaiseOptions::default(), &mut lines)?;
        target.begin(Order::Finish, self.recording.clock);
        let (definitions, tracks) = self.sessions(subtrees);
        let mut flow = target.define(definitions);
        let mut next = 0;
        for (rows, &track) in subtrees.iter().zip(&tracks) {
            let ids: HashMap<usize, SpanId> =
                rows.iter().copied().zip((next..).map(SpanId)).collect();
            next += rows.len() as u64;
            for some in rows.chunks(BATCH) {
                let mut batch = SpanBatch::with_capacity(some.len());
                for &row in some {
                    let (Some(span), Some(&id)) = (self.span(row), ids.get(&row)) else {
                        continue;
                    };
                    let parent = self.parent(row).and_then(|row| ids.get(&row)).copied();
                    batch.push(&SpanRow {
                        id,
                        parent,
                        track,
                        entry: parent.is_none() || span.entry,
                        ..span
                    });
                }
                if flow.is_continue() {
                    flow = target.spans(batch);
                }
            }
        }
        target.finish()?;
        drop(target);
        let mut posts = vec![(Vec::new(), Vec::new()); subtrees.len()];
        for line in lines
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let line: Json = serde_json::from_slice(line)?;
            let session = line["headers"]["X-Zorka-Session-ID"][0].as_str();
            let number: Option<usize> = session.and_then(|session| session.parse().ok());
            let Some(post) = number.and_then(|number| posts.get_mut(number)) else {
                anyhow::bail!("a post of no session");
            };
            let body = STANDARD.decode(line["body"].as_str().unwrap_or_default())?;
            match line["uri"].as_str() {
                Some("/agent/submit/agd") => post.0.extend(body),
                _ => post.1.extend(body),
            }
        }
        Ok(posts)
    }

    /// Returns the tables, and beside them a track of a session of its own for each subtree.
    fn sessions(&self, subtrees: &[Vec<usize>]) -> (Definitions, Vec<TrackId>) {
        let of = self.recording;
        let (strings, resources) = (row_number(of.strings.len()), row_number(of.resources.len()));
        let first_track = row_number(of.tracks.len());
        let mut new = Definitions {
            resources: Vec::new(),
            tracks: Vec::new(),
            mappings: Vec::new(),
            profiles: Vec::new(),
            event_types: Vec::new(),
            series: Vec::new(),
            ..of.definitions()
        };
        let mut tracks = Vec::new();
        for (at, subtree) in (0..).zip(subtrees) {
            let session = StringId::new(strings + at);
            let resource = ResourceId::new(resources + at);
            let track = TrackId::new(first_track + at);
            let name = Text::from_bytes(at.to_string().into_bytes());
            new.strings.push((session, name));
            let row = Resource {
                instance: Some(session),
                ..Resource::default()
            };
            new.resources.push((resource, row));
            let own = subtree.last().and_then(|&row| self.span(row));
            let own = own.and_then(|span| of.track(span.track)).cloned();
            let row = Track {
                resource: Some(resource),
                parent: None,
                ..own.unwrap_or_default()
            };
            new.tracks.push((track, row));
            tracks.push(track);
        }
        (new, tracks)
    }
}

/// What is left to write of a tree.
enum TreeStep {
    /// A span, and its place among those that its parent called.
    Call(usize, usize),
    /// The end of one.
    End,
}

/// What a method came to.
struct MethodSum {
    function: Option<FunctionId>,
    n_records: u64,
    n_errors: u64,
    sum: u64,
    most: u64,
    least: u64,
}

impl MethodSum {
    fn of(function: Option<FunctionId>) -> Self {
        Self {
            function,
            n_records: 0,
            n_errors: 0,
            sum: 0,
            most: 0,
            least: u64::MAX,
        }
    }

    fn add(&mut self, duration: u64, failed: bool) {
        self.n_records += 1;
        self.n_errors += u64::from(failed);
        self.sum = self.sum.saturating_add(duration);
        self.most = self.most.max(duration);
        self.least = self.least.min(duration);
    }
}

fn is_error(span: &SpanRow<'_>) -> bool {
    span.status == SpanStatus::Error
}

/// Returns a moment as RFC 3339 has it, in UTC.
fn date(ns: Timestamp) -> String {
    let time = jiff::Timestamp::from_nanosecond(ns.into());
    time.unwrap_or_default().to_string()
}

/// Compresses bytes, and encodes them for JSON.
fn packed(bytes: &[u8]) -> std::io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}
