//! From the model to streams: calls, trees, words and pauses, as a collector or an agent keeps them.
//!
//! A call is written when it is complete: its tree as blocks of its own, then its row. Children may
//! come before or after their siblings and parents in any order; what has no root by the end becomes a
//! call itself. Times are cut to milliseconds; calls of one track that overlap go to threads of one name,
//! siblings inside a call that overlap are laid one after the other.

mod process;
mod tables;
mod words;

use std::collections::BTreeMap;

use traceloom_model::{
    Clock, Definitions, EventBatch, Flow, Forgotten, FunctionId, Note, Order, ResourceId, Sink,
    SpanBatch, SpanId, SpanRow, SpanStatus, StringId, TrackId,
};

use crate::waiting::{Kept, Own, Waits};
use crate::{Error, Output, RaiseOptions, Target};
use process::{Layout, Process};
use tables::Names;

/// Opens a target that writes the streams of each process into a folder, three of them in phrases.
pub(super) fn streams<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    open("cdt-streams", Layout::Streams, options, output)
}

/// Opens a target that writes the dump directory of each process.
pub(super) fn dump<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    open("cdt-dump", Layout::Dump, options, output)
}

fn open<'o>(
    name: &str,
    layout: Layout,
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        return Err(Error::usage(format!("{name} has no variant `{variant}`")));
    }
    Ok(Box::new(Writer {
        output,
        layout,
        names: Names::default(),
        recording: 0,
        processes: BTreeMap::new(),
        taken: std::collections::HashSet::new(),
        kept: Kept::default(),
        forgotten: Forgotten::default(),
        pauses: BTreeMap::new(),
        error: None,
    }))
}

/// A span that waits for its call to be complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    id: SpanId,
    track: TrackId,
    function: Option<FunctionId>,
    /// Milliseconds.
    start: i64,
    /// Milliseconds.
    end: i64,
    status: SpanStatus,
    own: Own,
}

impl Node {
    fn of(row: &SpanRow<'_>, own: Own) -> Self {
        let ms = |ns: i64| ns.div_euclid(1_000_000);
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

impl Waits for Node {
    fn id(&self) -> SpanId {
        self.id
    }

    fn order(&self) -> (i64, i64) {
        (self.start, self.end)
    }

    fn own(&self) -> Own {
        self.own
    }

    fn own_mut(&mut self) -> &mut Own {
        &mut self.own
    }
}

struct Writer<'o> {
    output: &'o mut dyn Output,
    layout: Layout,
    names: Names,
    /// Recordings begun so far: what has no process of its own belongs to the one that is read.
    recording: usize,
    /// By recording and resource.
    processes: BTreeMap<(usize, Option<u32>), Process>,
    /// Folders of processes.
    taken: std::collections::HashSet<String>,
    /// Spans by the parent they wait for: trees of any depth without nesting in memory. Its roots are calls
    /// without end: written last, because nothing can follow them on their threads.
    kept: Kept<Node>,
    forgotten: Forgotten,
    /// By recording.
    pauses: BTreeMap<usize, Vec<(i64, i64)>>,
    error: Option<Error>,
}

impl Writer<'_> {
    fn call(&mut self, root: Node, open: bool) {
        if self.error.is_some() {
            return;
        }
        let resource = self.names.resource_of(root.track);
        let recording = self
            .names
            .recording_of(root.track)
            .unwrap_or(self.recording);
        let key = (recording, resource.map(ResourceId::raw));
        let (names, layout, taken) = (&self.names, self.layout, &mut self.taken);
        let known = self.processes.len();
        let start = root.start;
        let process = self
            .processes
            .entry(key)
            .or_insert_with(|| Process::new(layout, names.identity(resource, known), start, taken));
        let result = process.call(root, &mut self.kept, open, names, self.output);
        self.error = result.err();
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
        roots.sort_by_key(|root| root.start);
        for root in roots {
            self.call(root, false);
        }
        // Parents that name each other have no top at all.
        self.kept = Kept::default();
    }
}

impl Sink for Writer<'_> {
    fn wants_unused(&self) -> bool {
        true
    }

    fn begin(&mut self, _order: Order, _clock: Clock) {
        self.recording += 1;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.names.define(definitions, self.recording);
        self.flow()
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.iter() {
            let node = Node::of(&row, self.kept.keep(&row));
            match row.parent {
                Some(parent) => self.kept.waiting.push(parent, node),
                None if row.status == SpanStatus::PartialEnd => self.kept.roots.push(node),
                None => self.call(node, false),
            }
        }
        self.kept.tidy();
        self.flow()
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for row in batch.iter() {
            if let Some(end) = row.end
                && self.names.is_pause(row.event_type)
            {
                let ms = |ns: i64| ns.div_euclid(1_000_000);
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
        while let Some(root) = partial.next() {
            let last = partial.peek().is_none_or(|next| next.track != root.track);
            self.call(root, last);
        }
        self.orphans();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        for (&recording, pauses) in &self.pauses {
            let has_process = self.processes.keys().any(|&(of, _)| of == recording);
            let start = pauses.iter().map(|pause| pause.0).min();
            if let Some(start) = start.filter(|_| !has_process) {
                let resource = self.names.first_resource(recording);
                let identity = self.names.identity(resource, self.processes.len());
                let process = Process::new(self.layout, identity, start, &mut self.taken);
                let key = (recording, resource.map(ResourceId::raw));
                self.processes.insert(key, process);
            }
        }
        let mut unused = self.names.defined();
        for process in self.processes.values() {
            process.words.take_used(&mut unused);
        }
        for (&(recording, _), process) in &mut self.processes {
            // What no call uses goes to the first process of its recording.
            let words = unused.remove(&recording).unwrap_or_default();
            process.words.add(words, &self.names);
            let pauses = self.pauses.get(&recording).map_or(&[][..], Vec::as_slice);
            process.finish(&self.names, pauses, self.output)?;
        }
        Ok(())
    }
}
