//! From the model to streams: calls, trees, words and pauses, as a collector or an agent keeps them.
//!
//! A call is written when it is complete: its tree as blocks of its own, then its row. Children may
//! come before or after their siblings and parents in any order; what has no root by the end becomes a
//! call itself. Times are cut to milliseconds; calls of one track that overlap go to threads of one name,
//! siblings inside a call that overlap are laid one after the other.

mod gc;
mod process;
mod tables;
mod tracks;
mod words;

use std::collections::BTreeMap;

use traceloom_model::{
    Asks, Clock, Definitions, EventBatch, Feature, Flow, Forgotten, FunctionId, Note, Order,
    ResourceId, Sink, SpanBatch, SpanId, SpanRow, SpanStatus, StringId, TrackId, Value,
};

use crate::cdt::lower::identity_in;
use crate::codec::left_out_of;
use crate::spans::parents_first::{Children, HoldsValues, PendingSpan, PendingSpans, ValuesAt};
use crate::{Error, LeftOut, Output, RaiseOptions, Target};
use process::{FolderLayout, ProcessStreams};
use tables::StreamTables;
use tracks::TrackIndex;

/// Opens a target that writes the streams of each process into a folder, three of them in phrases.
pub(super) fn streams<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    open("cdt-streams", FolderLayout::Streams, options, output)
}

/// Opens a target that writes the dump directory of each process.
pub(super) fn dump<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    open("cdt-dump", FolderLayout::Dump, options, output)
}

fn open<'o>(
    name: &str,
    layout: FolderLayout,
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let version = match options.variant.as_deref() {
        None | Some("calls4") => 4,
        Some("calls3") => 3,
        Some("calls2") => 2,
        Some("calls1") => 1,
        Some(variant) => {
            let text = format!("{name} has no variant `{variant}`; there are calls1 to calls4");
            return Err(Error::usage(text));
        }
    };
    Ok(Box::new(Writer {
        output,
        layout,
        version,
        names: StreamTables::default(),
        recording: 0,
        numbers: BTreeMap::new(),
        processes: Vec::new(),
        tracks: TrackIndex::default(),
        taken: std::collections::HashSet::new(),
        kept: PendingSpans::default(),
        forgotten: Forgotten::default(),
        pauses: BTreeMap::new(),
        gc: BTreeMap::new(),
        error: None,
    }))
}

/// Cuts nanoseconds to milliseconds.
#[inline]
fn ms(ns: i64) -> i64 {
    // Nearly all times are after 1970, and dividing what has no sign takes half as long.
    u64::try_from(ns).map_or_else(
        |_| ns.div_euclid(1_000_000),
        |ns| (ns / 1_000_000).cast_signed(),
    )
}

/// Returns a value as text.
fn text_of(names: &StreamTables, value: &Value) -> String {
    let bytes = match value {
        Value::Text(id) => names.bytes(*id).into_owned(),
        _ => Vec::new(),
    };
    String::from_utf8_lossy(&bytes).replace(['\n', '\r'], " ")
}

/// A span that waits for its call to be complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCallSpan {
    id: SpanId,
    track: TrackId,
    function: Option<FunctionId>,
    /// Milliseconds.
    start: i64,
    /// Milliseconds.
    end: i64,
    status: SpanStatus,
    own: ValuesAt,
}

impl PendingCallSpan {
    fn of(row: &SpanRow<'_>, own: ValuesAt) -> Self {
        Self {
            id: row.id,
            track: row.track,
            function: row.function,
            start: ms(row.start),
            end: ms(row.end).max(ms(row.start)),
            status: row.status,
            own,
        }
    }
}

impl PendingSpan for PendingCallSpan {
    fn id(&self) -> SpanId {
        self.id
    }

    fn order(&self) -> (i64, i64) {
        (self.start, self.end)
    }
}

impl HoldsValues for PendingCallSpan {
    fn own(&self) -> ValuesAt {
        self.own
    }

    fn own_mut(&mut self) -> &mut ValuesAt {
        &mut self.own
    }
}

/// The outermost span of a call, and what belongs to it.
struct OutermostSpan {
    node: PendingCallSpan,
    children: Children,
    /// It never ended, and nothing follows it on its thread.
    open: bool,
}

struct Writer<'o> {
    output: &'o mut dyn Output,
    layout: FolderLayout,
    /// The format of calls.
    version: u8,
    names: StreamTables,
    /// Recordings begun so far: what has no process of its own belongs to the one that is read.
    recording: usize,
    /// Places of processes by recording and resource.
    numbers: BTreeMap<(usize, Option<u32>), usize>,
    processes: Vec<ProcessStreams>,
    tracks: TrackIndex,
    /// Folders of processes.
    taken: std::collections::HashSet<String>,
    /// Spans by the parent they wait for: trees of any depth without nesting in memory. Its roots are calls
    /// without end: written last, because nothing can follow them on their threads.
    kept: PendingSpans<PendingCallSpan>,
    forgotten: Forgotten,
    /// By recording.
    pauses: BTreeMap<usize, Vec<(i64, i64)>>,
    /// Lines of collectors' logs and how many there are, by recording.
    gc: BTreeMap<usize, (u64, Vec<u8>)>,
    error: Option<Error>,
}

impl Writer<'_> {
    fn call(&mut self, root: &OutermostSpan) {
        if self.error.is_some() {
            return;
        }
        let id = root.node.track;
        let known = self.tracks.process(id);
        let process = known.unwrap_or_else(|| self.process_of(id, root.node.start));
        let process = self.processes.get_mut(process);
        if let (Some(process), Some(track)) = (process, self.tracks.of(id)) {
            let result = process.call(root, track, &mut self.kept, &self.names, self.output);
            self.error = result.err();
        }
    }

    /// Makes a call of a span and of what waited for it.
    fn call_of(&mut self, node: PendingCallSpan, open: bool) {
        let children = self.kept.waiting.of(node.id);
        self.call(&OutermostSpan {
            node,
            children,
            open,
        });
    }

    /// Finds the process of a track, which begins at `start` when it is new.
    fn process_of(&mut self, track: TrackId, start: i64) -> usize {
        let resource = self.names.resource_of(track);
        let recording = self.names.recording_of(track);
        let key = (
            recording.unwrap_or(self.recording),
            resource.map(ResourceId::raw),
        );
        let known = self.numbers.get(&key).copied();
        let process = known.unwrap_or_else(|| self.begin_process(key, resource, start));
        // What was never defined belongs to the recording that is read.
        self.tracks.put(track, process, recording.is_some());
        process
    }

    fn begin_process(
        &mut self,
        key: (usize, Option<u32>),
        resource: Option<ResourceId>,
        start: i64,
    ) -> usize {
        let number = self.processes.len();
        let identity = self.names.identity(resource, number);
        let process = ProcessStreams::new(
            (self.layout, self.version),
            identity,
            start,
            &mut self.taken,
        );
        self.processes.push(process);
        self.numbers.insert(key, number);
        number
    }

    /// Returns which facts about processes no folder says.
    fn facts_left_out(&self) -> Vec<LeftOut> {
        let mut facts = [("service", 0), ("instance", 0), ("language", 0)];
        for (id, recording, row) in self.names.resources() {
            let process = self.numbers.get(&(recording, Some(id.raw())));
            let process = process.and_then(|&process| self.processes.get(process));
            let folders = process.map_or("", ProcessStreams::folder).split('/');
            let (service, instance) = identity_in(&folders.collect::<Vec<_>>());
            // Readers know that whatever wrote the streams of a process ran in Java.
            let language = (service.is_some() || instance.is_some()).then_some("java");
            let kept = [
                (row.service, service),
                (row.instance, instance),
                (row.language, language),
            ];
            for ((_, count), (fact, kept)) in facts.iter_mut().zip(kept) {
                let fact = fact.map(|fact| self.names.text(fact));
                *count += u64::from(fact.is_some_and(|fact| Some(&*fact) != kept));
            }
        }
        let facts = facts.into_iter().filter(|(_, count)| *count > 0);
        facts
            .map(|(name, count)| LeftOut {
                name: name.to_owned(),
                count,
            })
            .collect()
    }

    fn flow(&self) -> Flow {
        if self.error.is_some() {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    /// Makes calls of the spans whose parents never came.
    fn orphans(&mut self) {
        let mut roots = self.kept.waiting.take_tops();
        roots.sort_by_key(|(root, _)| root.start);
        for (node, children) in roots {
            self.call(&OutermostSpan {
                node,
                children,
                open: false,
            });
        }
        // Parents that name each other have no top at all.
        self.kept = PendingSpans::default();
    }
}

impl Sink for Writer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            unused: true,
            ..Asks::default()
        }
    }

    fn begin(&mut self, _order: Order, _clock: Clock) {
        self.recording += 1;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        for (id, row) in &definitions.tracks {
            let known = self.names.track(*id);
            let keeps_name = known.is_some_and(|known| known.name == row.name);
            self.tracks.define(*id, keeps_name);
        }
        self.names.define(definitions, self.recording);
        self.flow()
    }

    fn spans(&mut self, mut batch: SpanBatch) -> Flow {
        let mut taken = self.kept.take(&mut batch);
        for row in batch.iter() {
            let node = PendingCallSpan::of(&row, taken.next(&batch));
            match row.parent {
                Some(parent) => self.kept.waiting.push(parent, node),
                None if row.status == SpanStatus::PartialEnd => self.kept.roots.push(node),
                None => self.call_of(node, false),
            }
        }
        self.kept.tidy();
        self.flow()
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        let (lines, log) = self.gc.entry(self.recording).or_default();
        for row in batch.iter() {
            if gc::put(&self.names, &row, *lines, log) {
                *lines += 1;
                continue;
            }
            if let Some(end) = row.end
                && self.names.is_pause(row.event_type)
            {
                let pauses = self.pauses.entry(self.recording).or_default();
                pauses.push((ms(row.time), ms(end)));
            }
        }
        self.flow()
    }

    fn forget(&mut self, strings: &[StringId]) {
        let free = self.forgotten.free(strings, self.kept.values());
        self.names.forget(&free);
    }

    fn note(&mut self, _note: Note) -> Flow {
        self.flow()
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut partial = std::mem::take(&mut self.kept.roots);
        partial.sort_by_key(|root| (root.track, root.start));
        let mut partial = partial.into_iter().peekable();
        while let Some(node) = partial.next() {
            let last = partial.peek().is_none_or(|next| next.track != node.track);
            self.call_of(node, last);
        }
        self.orphans();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.gc.retain(|_, (lines, _)| *lines > 0);
        for &recording in self.gc.keys() {
            self.pauses.entry(recording).or_default();
        }
        let mut alone = Vec::new();
        for (&recording, pauses) in &self.pauses {
            let has_process = self.numbers.keys().any(|&(of, _)| of == recording);
            let start = pauses.iter().map(|pause| pause.0).min();
            let start = start.or_else(|| self.gc.contains_key(&recording).then_some(0));
            if let Some(start) = start.filter(|_| !has_process) {
                let resource = self.names.first_resource(recording);
                let key = (recording, resource.map(ResourceId::raw));
                alone.push((key, resource, start));
            }
        }
        for (key, resource, start) in alone {
            self.begin_process(key, resource, start);
        }
        if self.processes.is_empty() {
            // Streams of nothing: a folder without files could be anything.
            let resource = self.names.first_resource(self.recording);
            let key = (self.recording, resource.map(ResourceId::raw));
            self.begin_process(key, resource, 0);
        }
        let mut unused = self.names.defined();
        for process in &self.processes {
            process.words.take_used(&mut unused);
        }
        for (&(recording, _), &process) in &self.numbers {
            let Some(process) = self.processes.get_mut(process) else {
                continue;
            };
            // What no call uses goes to the first process of its recording.
            let words = unused.remove(&recording).unwrap_or_default();
            process.words.add(words, &self.names);
            let pauses = self.pauses.get(&recording).map_or(&[][..], Vec::as_slice);
            process.finish(&self.names, pauses, self.output)?;
            if let Some((_, log)) = self.gc.remove(&recording) {
                process.gc(&log, self.output)?;
            }
        }
        Ok(())
    }

    fn left_out(&self) -> Vec<(Feature, Vec<LeftOut>)> {
        let names = self.names.named_tracks();
        let unnamed = names.map(|id| self.tracks.unnamed(id)).sum();
        let entries = [
            left_out_of(Feature::TrackIds, self.tracks.renumbered()),
            left_out_of(Feature::Tracks, unnamed),
        ];
        let facts = (Feature::Resources, self.facts_left_out());
        entries.into_iter().flatten().chain([facts]).collect()
    }
}
