//! The streams of one process.

mod block;
mod file;
mod folder;
mod key;
mod row;
mod value;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Attribute, FunctionId, SpanStatus, StringId, TrackId, Value};

use super::Node;
use super::tables::Names;
use super::words::{CALL_INFO, CALL_RED, Words};
use crate::by_id::ById;
use crate::cdt::phrase::Phrases;
use crate::cdt::suspend::Pause;
use crate::cdt::text;
use crate::cdt::trace::{Place, TagValue, What};
use crate::waiting::{Kept, Own};
use crate::wire::Utf16;
use crate::{Error, Output};
use file::{File, Folder};
use folder::{dated, folder_of};
use key::Key;
use value::put_plain;

/// How the streams lie in folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// `<pod>/<stream>/<index>`; dictionary, params and suspend in phrases.
    Streams,
    /// `<server>/<yyyy>/<MM>/<dd>/<startMs>/<stream>/<index>.gz`, to be compressed by the output.
    Dump,
}

/// Who the process is.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) service: Option<String>,
    pub(super) instance: Option<String>,
    pub(super) number: usize,
}

/// Agents begin a new file of trace, sql and xml at this size, and one of calls at a tenth (§2).
const ROTATE: u64 = 100 << 20;
/// Events in a block at most.
const BLOCK: u32 = 4096;
/// Places of statements remembered at once, as agents do (§7).
const KNOWN: usize = 10_000;
/// Values longer than this go to the xml stream.
const LONG: usize = 4000;

/// Threads of a track looked at before another one begins.
const SCANNED: usize = 64;

/// A thread that calls are written on.
struct Thread {
    id: i64,
    /// End of its last call.
    free_at: i64,
}

/// One process on its way to its streams.
pub(super) struct Process {
    folder: Folder,
    start: i64,
    pub(super) words: Words,
    trace: File,
    calls: File,
    sql: File,
    xml: File,
    keys: ById<Key>,
    statements: HashMap<StringId, Place, RandomState>,
    /// Start of the row before.
    clock: i64,
    names: HashMap<Vec<u8>, u32, RandomState>,
    /// Threads of each track: what began before the end of the call before has one of its own.
    threads: HashMap<TrackId, Vec<Thread>, RandomState>,
    taken: std::collections::HashSet<i64>,
    block: Vec<u8>,
    events: u32,
    /// Time of the event before, in this block.
    last: i64,
    /// File and offset of the first block of the call.
    place: Option<(u32, u32)>,
    /// The value that is being written, in UTF-16.
    text: Vec<u8>,
}

/// A span that is being written.
struct Open {
    end: i64,
    /// Its attributes by time.
    own: Own,
    /// The next of them.
    tag: usize,
    /// The next child to be written, and where the children end.
    next: usize,
    end_of_children: usize,
    /// How many children it has.
    n_children: usize,
    /// Its exit is not written: it never ended.
    endless: bool,
}

/// Something of a call, in the order of its events.
enum Next<'k> {
    Tag(&'k Attribute),
    Child(Node),
    Exit,
}

impl Open {
    /// Finds what comes next, of children at `places`.
    fn next<'k>(&mut self, places: &[u32], kept: &'k mut Kept<Node>) -> Next<'k> {
        let place = places.get(self.next..self.end_of_children);
        let place = place.and_then(|rest| rest.first()).copied();
        let child = place.and_then(|at| Some(kept.waiting.node(at)?.start));
        if let Some(tag) = kept.attributes.of(self.own.attributes).get(self.tag)
            && child.is_none_or(|child| tag.at.is_none_or(|at| ms(at) <= child))
        {
            self.tag += 1;
            return Next::Tag(tag);
        }
        self.next += usize::from(place.is_some());
        let child = place.and_then(|at| kept.waiting.take(at));
        child.map_or(Next::Exit, Next::Child)
    }
}

fn ms(ns: i64) -> i64 {
    ns.div_euclid(1_000_000)
}

impl Process {
    /// Begins a process in a folder of its own: two recordings of one process do not write into one file.
    pub(super) fn new(
        layout: Layout,
        identity: Identity,
        start: i64,
        taken: &mut std::collections::HashSet<String>,
    ) -> Self {
        let nth = |word: &str| match identity.number {
            0 => word.to_owned(),
            number => format!("{word}-{}", number + 1),
        };
        let instance = identity.instance.as_deref();
        let named = folder_of(layout, identity.service.as_deref(), instance, start);
        let named = named.unwrap_or_else(|| dated(layout, &nth("process"), start));
        let free = |folder: &String| !taken.contains(folder);
        let service = identity.service.clone().unwrap_or_else(|| nth("process"));
        let later = (start.max(0) + 1..).map(|start| dated(layout, &service, start));
        let folder = std::iter::once(named)
            .chain(later)
            .find(free)
            .unwrap_or_default();
        taken.insert(folder.clone());
        Self {
            folder: Folder {
                layout,
                path: folder,
            },
            start,
            words: Words::default(),
            trace: File::default(),
            calls: File::default(),
            sql: File::default(),
            xml: File::default(),
            keys: ById::default(),
            statements: HashMap::default(),
            clock: 0,
            names: HashMap::default(),
            threads: HashMap::default(),
            taken: std::collections::HashSet::new(),
            block: Vec::new(),
            events: 0,
            last: 0,
            place: None,
            text: Vec::new(),
        }
    }

    /// Writes a call: its tree, then its row. With `open` it never ended.
    pub(super) fn call(
        &mut self,
        root: Node,
        kept: &mut Kept<Node>,
        open: bool,
        names: &Names,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let (thread, lane) = self.thread(root.track, root.start, names);
        self.place = None;
        let mut call = Call {
            enters: 0,
            red: root.status != SpanStatus::Error,
            now: root.start,
        };
        // Nothing but a tree says so, when the failed call has no parameter of that meaning.
        let own = kept.attributes.of(root.own.attributes);
        let (mut params, mut tags) = self.split(own, names);
        call.red |= own.iter().any(|tag| self.is_red(tag.key, names));
        let counters = kept.counters.of(root.own.counters).to_vec();
        let long = root.end - root.start > 20;
        let has_children = kept.waiting.has(root.id);
        let row = !open && (long || has_children || !counters.is_empty());
        if !row {
            let untimed = params.drain(..).filter(|param| param.at.is_none());
            tags.splice(0..0, untimed);
        }
        let (track, method, start, end) = (root.track, root.function, root.start, root.end);
        let extra = self.extra_counters(&counters, names);

        let mut stack = Vec::new();
        let mut places = Vec::new();
        self.enter(thread, &root, &mut call, out)?;
        let tags = Own {
            attributes: kept.attributes.keep(&tags),
            ..Own::default()
        };
        kept.release(root.own);
        stack.push(open_span(&root, tags, kept, &mut places, open));
        loop {
            let depth = stack.len();
            let Some(top) = stack.last_mut() else { break };
            let end_of_tags = top.own.attributes.len();
            match top.next(&places, kept) {
                Next::Tag(tag) => {
                    call.red |= self.is_red(tag.key, names);
                    let at = tag
                        .at
                        .map_or(call.now, ms)
                        .clamp(call.now, top.end.max(call.now));
                    call.now = at;
                    self.attribute(thread, tag, at, names, out)?;
                }
                Next::Child(mut child) => {
                    let last = top.next == top.end_of_children && top.tag >= end_of_tags;
                    let endless = top.endless && last && child.status == SpanStatus::PartialEnd;
                    child.end = child.end.clamp(child.start, top.end.max(child.start));
                    self.enter(thread, &child, &mut call, out)?;
                    let open = open_span(&child, child.own, kept, &mut places, endless);
                    stack.push(open);
                }
                Next::Exit => {
                    let (end, endless) = (top.end.max(call.now), top.endless);
                    // Those of what encloses it stand before.
                    places.truncate(places.len().saturating_sub(top.n_children));
                    kept.release(top.own);
                    stack.pop();
                    if endless {
                        continue;
                    }
                    call.now = end;
                    if depth == 1 {
                        for (word, value) in &extra {
                            let value = Utf16::encode(value);
                            let value = TagValue::Inline(Utf16(&value));
                            self.event(thread, What::Tag(*word, value), end, out)?;
                        }
                        if !call.red {
                            let value = TagValue::Indexed(Utf16(&[]));
                            self.event(thread, What::Tag(CALL_RED, value), end, out)?;
                        }
                        let mark = TagValue::Inline(Utf16(&[]));
                        self.event(thread, What::Tag(CALL_INFO, mark), end, out)?;
                    }
                    self.event(thread, What::Exit, end, out)?;
                }
            }
        }
        self.flush(out)?;
        let lanes = self.threads.get_mut(&track);
        if let Some(thread) = lanes.and_then(|lanes| lanes.get_mut(lane)) {
            thread.free_at = call.now;
        }
        if row {
            let method = self.method(method);
            self.row(
                &call,
                track,
                method,
                (start, end),
                &counters,
                &params,
                names,
                out,
            )?;
        }
        Ok(())
    }

    fn enter(
        &mut self,
        thread: i64,
        node: &Node,
        call: &mut Call,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        call.now = node.start.max(call.now);
        call.enters = call.enters.saturating_add(1);
        let method = self.method(node.function);
        self.event(thread, What::Enter(method), call.now, out)
    }

    fn method(&mut self, function: Option<FunctionId>) -> u32 {
        match function {
            Some(function) => self.words.function(function),
            None => self.words.word("(unknown)"),
        }
    }

    /// Writes an attribute as a tag, a list as one tag for each value.
    fn attribute(
        &mut self,
        thread: i64,
        tag: &Attribute,
        at: i64,
        names: &Names,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let word = self.word(tag.key, names);
        let key = self.key(tag.key, names);
        let indexed = key.index || word == CALL_RED;
        let values = match &tag.value {
            Value::List(_, values) => values.as_ref(),
            value => std::slice::from_ref(value),
        };
        for value in values {
            let value = match value {
                Value::Text(id) if key.kind == Some(true) && !indexed => {
                    TagValue::Deduplicated(self.statement(*id, names, out)?)
                }
                value => {
                    self.text.clear();
                    put_plain(value, names, &mut self.text);
                    if !indexed && (key.kind == Some(false) || self.text.len() > LONG) {
                        TagValue::Big(self.big(out)?)
                    } else {
                        // Lent to the event, which gives it back.
                        let text = std::mem::take(&mut self.text);
                        let value = if indexed {
                            TagValue::Indexed(Utf16(&text))
                        } else {
                            TagValue::Inline(Utf16(&text))
                        };
                        let written = self.event(thread, What::Tag(word, value), at, out);
                        self.text = text;
                        written?;
                        continue;
                    }
                }
            };
            self.event(thread, What::Tag(word, value), at, out)?;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        id: StringId,
        names: &Names,
        out: &mut dyn Output,
    ) -> Result<Place, Error> {
        if self.sql.bytes >= ROTATE || self.statements.len() >= KNOWN {
            self.statements.clear();
        }
        if let Some(&place) = self.statements.get(&id) {
            return Ok(place);
        }
        self.text.clear();
        Utf16::put_encoded(&names.bytes(id), &mut self.text);
        let mut file = std::mem::take(&mut self.sql);
        let place = self.append("sql", &mut file, &self.text, out);
        self.sql = file;
        let place = place?;
        self.statements.insert(id, place);
        Ok(place)
    }

    fn big(&mut self, out: &mut dyn Output) -> Result<Place, Error> {
        let mut file = std::mem::take(&mut self.xml);
        let place = self.append("xml", &mut file, &self.text, out);
        self.xml = file;
        place
    }

    fn append(
        &self,
        stream: &str,
        file: &mut File,
        text: &[u8],
        out: &mut dyn Output,
    ) -> Result<Place, Error> {
        let folder = (&self.folder, stream);
        if file.index == 0 || file.bytes >= ROTATE {
            file.next(folder, out)?;
        }
        let place = Place {
            file_index: file.index,
            offset: u32::try_from(file.bytes).unwrap_or(u32::MAX),
        };
        let mut record = Vec::new();
        text::put(&mut record, Utf16(text));
        file.put(folder, &record, out)?;
        Ok(place)
    }

    /// Returns the Java thread id on which a call of a track may begin, and its place among those of the track.
    ///
    /// Time on a thread never goes back, so a call that began before the one before it ended is on another
    /// thread, which its row gives the same name. The first thread of a track has the track's own id, where it
    /// has one that nobody else took.
    fn thread(&mut self, track: TrackId, start: i64, names: &Names) -> (i64, usize) {
        let lanes = self.threads.entry(track).or_default();
        let mut known = lanes.iter().enumerate().take(SCANNED);
        if let Some((at, thread)) = known.find(|(_, thread)| thread.free_at <= start) {
            return (thread.id, at);
        }
        let row = names.track(track);
        let own = row.and_then(|row| row.id.or(row.os_id));
        let own = own
            .and_then(|id| i64::try_from(id).ok())
            .filter(|&id| id > 0);
        let mut id = own.unwrap_or_else(|| i64::from(track.raw()) + 1);
        while !self.taken.insert(id) {
            id = id % 1_000_000_000 + 1_000_000;
        }
        lanes.push(Thread { id, free_at: start });
        (id, lanes.len() - 1)
    }

    /// Writes what stands once: dictionary, params, pauses; and the files that readers look for.
    pub(super) fn finish(
        &mut self,
        names: &Names,
        pauses: &[(i64, i64)],
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        for (file, stream) in [
            (&mut self.trace, "trace"),
            (&mut self.calls, "calls"),
            (&mut self.sql, "sql"),
            (&mut self.xml, "xml"),
        ] {
            file.flush((&self.folder, stream), out)?;
        }
        let mut records: Vec<Vec<u8>> = Vec::new();
        self.words
            .params(names, &mut |record| records.push(record.to_vec()));
        self.once("params", &records, out)?;
        records.clear();
        self.words
            .dictionary(names, &mut |record| records.push(record.to_vec()));
        self.once("dictionary", &records, out)?;
        records.clear();
        let start = pauses.first().map_or(self.start, |&(start, _)| start);
        records.push(start.to_be_bytes().to_vec());
        let mut clock = start;
        for &(start, end) in pauses {
            let delta = i32::try_from(end - clock).unwrap_or(i32::MAX);
            clock += i64::from(delta);
            let delay = u32::try_from(end - start).unwrap_or(0);
            let mut record = Vec::new();
            Pause { delta, delay }.write(&mut record);
            records.push(record);
        }
        self.once("suspend", &records, out)?;
        Ok(())
    }

    fn once(&self, stream: &str, records: &[Vec<u8>], out: &mut dyn Output) -> Result<(), Error> {
        let mut bytes = Vec::new();
        match self.folder.layout {
            Layout::Dump => records
                .iter()
                .for_each(|record| bytes.extend_from_slice(record)),
            Layout::Streams => {
                let mut phrases = Phrases::default();
                for record in records {
                    phrases.record(record, &mut bytes);
                }
                phrases.flush(&mut bytes);
            }
        }
        out.write(&self.folder.name(stream, 1), &bytes)
    }
}

/// Begins a span whose enter is written: its attributes in the order of their times, and its children.
fn open_span(
    node: &Node,
    own: Own,
    kept: &mut Kept<Node>,
    places: &mut Vec<u32>,
    endless: bool,
) -> Open {
    let tags = kept.attributes.of_mut(own.attributes);
    if !tags.is_sorted_by_key(|tag| tag.at) {
        tags.sort_by_key(|tag| tag.at);
    }
    let next = places.len();
    kept.waiting.of(node.id, places);
    Open {
        end: node.end,
        own,
        tag: 0,
        next,
        end_of_children: places.len(),
        n_children: places.len() - next,
        endless,
    }
}

/// A call while it is written.
struct Call {
    enters: u32,
    /// Nothing need be added to say that it failed, or did not.
    red: bool,
    now: i64,
}
