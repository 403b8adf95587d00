//! The parts of a source as streams of items: chunks joined, posts unpacked, definitions first.

use std::collections::HashMap;

use traceloom_model::{Clock, Flow, Limits, Note, Order as SpanOrder, PartId, ResourceId, Sink};

use super::lower::{Lowering, Place};
use super::parts::PartName;
use super::record::{Item, Record};
use super::requests::{Request, symbols};
use super::session::{Session, Symbols};
use super::store::{Block, Blocks, StoreReader, refusal};
use super::tree::{Shared, Trace};
use super::{Stream, TwoItems, Visit};
use crate::{Chunk, Error, LowerOptions, Pull, RecordSink, Source, Step, drive, info};

/// What a part is to the lowering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Items,
    Definitions,
    Requests,
    Store,
}

fn role(source: &dyn Source, part: usize) -> Role {
    let name = source
        .parts()
        .get(part)
        .and_then(|part| part.format)
        .map_or("", |format| format.name);
    match name {
        "zorka-agd" => Role::Definitions,
        "zorka-requests" => Role::Requests,
        "zorka-store" => Role::Store,
        _ => Role::Items,
    }
}

/// Lowers every stream of a source.
pub(crate) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let limits = options.limits;
    let streams = streams(source);
    let clock = clock(source, &streams, &limits)?;
    let definitions = Definitions::read(source, &streams, &limits)?;
    let posts = source.parts().len() > 1
        || streams
            .iter()
            .any(|stream| role(source, stream.first()) == Role::Requests);
    let mut shared = Shared::new(sink, limits, options.only, posts);
    let clock = if clock {
        Clock::Unix
    } else {
        Clock::Unknown(Some(shared.tables.string("System.nanoTime")))
    };
    shared.sink.begin(SpanOrder::Nested, clock);
    let mut state = Sources {
        source,
        shared,
        definitions,
        sessions: HashMap::new(),
        bodies: HashMap::new(),
        unfinished: HashMap::new(),
        limits,
    };
    for stream in &streams {
        if state.shared.stopped {
            return Ok(());
        }
        match role(source, stream.first()) {
            Role::Requests => state.requests(stream.first())?,
            Role::Store => state.store(stream.first())?,
            Role::Definitions if state.is_json(stream.first())? => {}
            _ => state.items(stream)?,
        }
    }
    state.finish_posts();
    state.shared.finish();
    Ok(())
}

/// Parts that are one stream.
#[derive(Debug)]
struct Parts {
    parts: Vec<usize>,
}

impl Parts {
    fn first(&self) -> usize {
        self.parts.first().copied().unwrap_or(0)
    }
}

/// Joins the chunks of a capture in the order of their numbers, unless the whole is there too.
///
/// Request dumps come first: other files of the folder may be copies of their bodies.
fn streams(source: &dyn Source) -> Vec<Parts> {
    let parts = source.parts();
    let mut all: Vec<Parts> = Vec::new();
    let mut chunks: Vec<(PartName<'_>, Vec<(u64, usize)>)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let name = PartName::of(&part.name);
        let Some(number) = name.chunk else {
            all.push(Parts { parts: vec![at] });
            continue;
        };
        let same = |known: &PartName<'_>| known.folder == name.folder && known.stem == name.stem;
        match chunks.iter_mut().find(|(known, _)| same(known)) {
            Some((_, list)) => list.push((number, at)),
            None => chunks.push((name, vec![(number, at)])),
        }
    }
    for (_, mut list) in chunks {
        list.sort_unstable();
        let parts = list.into_iter().map(|(_, at)| at).collect();
        all.push(Parts { parts });
    }
    all.sort_by_key(|stream| {
        let first = stream.first();
        (role(source, first) != Role::Requests, first)
    });
    all
}

/// Reads a stream to a visitor, part after part.
fn visit(
    source: &dyn Source,
    parts: &[usize],
    stream: &mut Stream,
    visitor: &mut impl Visit,
) -> Result<bool, Error> {
    if let &[only] = parts {
        let mut pull = source.open(only, 0)?;
        let (mut consumed, mut need) = (0, 1);
        loop {
            let chunk = pull.pull(consumed, need)?;
            let eof = chunk.eof;
            match stream.read(chunk, visitor) {
                Step::Stop => return Ok(false),
                Step::More { .. } if eof => return Ok(true),
                Step::More {
                    consumed: taken,
                    need: wanted,
                } => (consumed, need) = (taken, wanted),
            }
        }
    }
    let mut carry = Carry::default();
    for (at, &part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let mut pull = source.open(part, 0)?;
        let mut consumed = 0;
        loop {
            let chunk = pull.pull(consumed, 1)?;
            let (bytes, eof) = (chunk.bytes, chunk.eof);
            consumed = bytes.len();
            if !carry.feed(stream, bytes, eof && last, visitor) {
                return Ok(false);
            }
            if eof {
                break;
            }
        }
    }
    Ok(true)
}

/// Bytes that an item left for the next piece of its stream.
#[derive(Debug, Default)]
struct Carry {
    bytes: Vec<u8>,
    offset: u64,
    need: usize,
}

impl Carry {
    fn feed(
        &mut self,
        stream: &mut Stream,
        bytes: &[u8],
        eof: bool,
        visitor: &mut impl Visit,
    ) -> bool {
        self.bytes.extend_from_slice(bytes);
        // Looked at only when there is as much as the item asked for: else a long one costs its square.
        if self.bytes.len() < self.need && !eof {
            return true;
        }
        let chunk = Chunk {
            bytes: &self.bytes,
            offset: self.offset,
            eof,
        };
        let Step::More { consumed, need } = stream.read(chunk, visitor) else {
            return false;
        };
        self.bytes.drain(..consumed.min(self.bytes.len()));
        self.offset += consumed as u64;
        self.need = need;
        true
    }
}

/// Stops at the first begin: the source has a wall clock.
struct FirstBegin(bool);

impl Visit for FirstBegin {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        self.0 = matches!(
            record.item,
            Item::Begin(_) | Item::Info { key: 5, .. } | Item::Chunk(_)
        );
        if self.0 {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Tells whether any record of the source has a wall clock.
fn clock(source: &dyn Source, streams: &[Parts], limits: &Limits) -> Result<bool, Error> {
    let mut found = FirstBegin(false);
    for stream in streams {
        match role(source, stream.first()) {
            // Posts and blocks are made of marked traces.
            Role::Requests | Role::Store => return Ok(true),
            Role::Definitions => {}
            Role::Items => {
                let mut items = Stream::new(limits, TwoItems::Guess);
                visit(source, &stream.parts, &mut items, &mut found)?;
            }
        }
        if found.0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the dictionaries of a folder define, all together and by the captures they belong to.
#[derive(Debug, Default)]
struct Definitions {
    union: Symbols,
    by_stem: HashMap<String, Symbols>,
}

struct Collect<'c> {
    union: &'c mut Symbols,
    own: &'c mut Symbols,
    limits: Limits,
}

impl Visit for Collect<'_> {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        // A full table is noted where the part is lowered.
        match record.item {
            Item::Symbol(symbol) => {
                let _ = self.union.define(symbol, &self.limits);
                let _ = self.own.define(symbol, &self.limits);
            }
            Item::Method(method) => {
                let _ = self.union.define_method(method, &self.limits);
                let _ = self.own.define_method(method, &self.limits);
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn stem(source: &dyn Source, part: usize) -> String {
    let name = source.parts().get(part).map_or("", |part| &part.name);
    let name = PartName::of(name);
    format!("{}{}", name.folder, name.stem)
}

impl Definitions {
    fn read(source: &dyn Source, streams: &[Parts], limits: &Limits) -> Result<Self, Error> {
        let mut all = Self::default();
        for stream in streams {
            let part = stream.first();
            if role(source, part) != Role::Definitions {
                continue;
            }
            let own = all.by_stem.entry(stem(source, part)).or_default();
            let mut collect = Collect {
                union: &mut all.union,
                own,
                limits: *limits,
            };
            if let Some(table) = json_table(source, part, limits)? {
                for (id, text) in table {
                    let _ = collect.union.define_text(id, text.as_bytes(), true, limits);
                    let _ = collect.own.define_text(id, text.as_bytes(), true, limits);
                }
                continue;
            }
            let mut items = Stream::new(limits, TwoItems::Guess);
            visit(source, &stream.parts, &mut items, &mut collect)?;
        }
        Ok(all)
    }
}

/// Reads a part that is a table of symbols in JSON; none when it is anything else.
fn json_table(
    source: &dyn Source,
    part: usize,
    limits: &Limits,
) -> Result<Option<Vec<(u64, String)>>, Error> {
    let most = limits.size(traceloom_model::Limit::Record);
    let mut pull = source.open(part, 0)?;
    let mut need = 1;
    loop {
        let chunk = pull.pull(0, need)?;
        if chunk.bytes.first().is_some_and(|&byte| byte != b'{') || chunk.bytes.len() > most {
            return Ok(None);
        }
        if chunk.eof {
            return Ok(symbols(chunk.bytes));
        }
        need = chunk.bytes.len().saturating_mul(2).max(4096);
    }
}

struct Sources<'s> {
    source: &'s dyn Source,
    shared: Shared<'s>,
    definitions: Definitions,
    sessions: HashMap<String, (Session, Option<ResourceId>)>,
    /// Hashes of posted bodies: a folder may hold the same posts as files.
    bodies: HashMap<u64, ()>,
    unfinished: HashMap<(String, u128), Unfinished>,
    limits: Limits,
}

/// A posted trace that ended with records open.
struct Unfinished {
    trace: Trace,
    stream: Stream,
    carry: Carry,
    place: (usize, u64),
}

impl Sources<'_> {
    fn is_json(&self, part: usize) -> Result<bool, Error> {
        Ok(json_table(self.source, part, &self.limits)?.is_some())
    }

    /// Lowers a part, or the chunks that are one stream.
    fn items(&mut self, parts: &Parts) -> Result<(), Error> {
        let first = parts.first();
        if !self.bodies.is_empty() && self.is_posted(first)? {
            return Ok(());
        }
        if parts.parts.len() > 1 && self.whole_is_there(parts)? {
            return Ok(());
        }
        let stem = stem(self.source, first);
        let folder = stem
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned();
        let traces = role(self.source, first) == Role::Items;
        let own = self.definitions.by_stem.get(&stem).filter(|_| traces);
        let mut session = match own {
            // Definitions of the capture's own name go before those of its folder.
            Some(own) => Session::of(own.clone()),
            None => self.sessions.remove(&folder).unwrap_or_default().0,
        };
        let is_own = own.is_some();
        let begin = begin_of(self.source, first);
        let mut places = Vec::new();
        let mut offset = 0;
        for &part in &parts.parts {
            places.push((offset, part));
            offset += size(self.source, part)?;
        }
        let mut stream = Stream::new(&self.limits, begin);
        let mut trace = Trace::default();
        let mut lowering = Lowering {
            shared: &mut self.shared,
            session: &mut session,
            union: &self.definitions.union,
            trace: &mut trace,
            place: Place::Parts(places),
            begin,
            resource: None,
            count: 0,
        };
        visit(self.source, &parts.parts, &mut stream, &mut lowering)?;
        lowering.finish();
        if !is_own {
            self.sessions.insert(folder, (session, None));
        }
        Ok(())
    }

    /// Tells whether a request dump held this part as a body.
    fn is_posted(&self, part: usize) -> Result<bool, Error> {
        let mut hash = Fingerprint::default();
        each_window(self.source, part, |bytes| hash.add(bytes))?;
        Ok(self.bodies.contains_key(&hash.value()))
    }

    /// Tells whether another part of the source is what these chunks make together.
    fn whole_is_there(&mut self, parts: &Parts) -> Result<bool, Error> {
        let stem = stem(self.source, parts.first());
        let mut joined = Fingerprint::default();
        for &part in &parts.parts {
            each_window(self.source, part, |bytes| joined.add(bytes))?;
        }
        for at in 0..self.source.parts().len() {
            if parts.parts.contains(&at)
                || role(self.source, at) != Role::Items
                || self::stem(self.source, at) != stem
            {
                continue;
            }
            let mut whole = Fingerprint::default();
            each_window(self.source, at, |bytes| whole.add(bytes))?;
            if whole.value() == joined.value() {
                let part = PartId(u32::try_from(parts.first()).unwrap_or(u32::MAX));
                let text = "these chunks together are another file of the folder";
                self.shared.note(Note {
                    part,
                    ..info("repeated_chunks", 0, text)
                });
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lowers the posts of a request dump.
    fn requests(&mut self, part: usize) -> Result<(), Error> {
        let source = self.source;
        let mut pull = source.open(part, 0)?;
        let mut posts = Posts { all: self, part };
        let limits = posts.all.limits;
        let mut lines = super::requests::Lines::new(&limits);
        drive(pull.as_mut(), &mut lines, &mut posts)?;
        Ok(())
    }

    fn post(&mut self, part: usize, request: &Request<'_>) {
        let mut hash = Fingerprint::default();
        hash.add(&request.body);
        self.bodies.insert(hash.value(), ());
        if !request.accepted() {
            let status = request.reply.unwrap_or(0);
            let text = format!("a post answered {status} is not taken: the agent sends it again");
            self.note(part, info("refused_post", request.offset, text));
            return;
        }
        let id = request.session().unwrap_or("").to_owned();
        let (mut session, resource) = self.sessions.remove(&id).unwrap_or_default();
        let resource = match resource {
            None if !id.is_empty() => Some(self.shared.session_resource(&id)),
            known => known,
        };
        if request.resets() {
            session.reset();
        }
        let trace_id = request.trace_id().unwrap_or(0);
        let key = (id.clone(), trace_id);
        let continued = self.unfinished.remove(&key);
        let mut state = match continued {
            Some(state) if continues(&state, &request.body) => state,
            earlier => {
                if let Some(earlier) = earlier {
                    self.end_post(earlier, &mut session, resource);
                }
                Unfinished {
                    trace: Trace::of(trace_id),
                    stream: Stream::new(&self.limits, TwoItems::Guess),
                    carry: Carry::default(),
                    place: (part, request.offset),
                }
            }
        };
        state.place = (part, request.offset);
        self.feed(&mut state, &request.body, false, &mut session, resource);
        let open = !state.trace.open.is_empty() || !state.carry.bytes.is_empty();
        if open && trace_id != 0 && self.unfinished.len() < UNFINISHED {
            self.unfinished.insert(key, state);
        } else {
            self.end_post(state, &mut session, resource);
        }
        self.sessions.insert(id, (session, resource));
    }

    fn feed(
        &mut self,
        state: &mut Unfinished,
        body: &[u8],
        eof: bool,
        session: &mut Session,
        resource: Option<ResourceId>,
    ) {
        let (part, offset) = state.place;
        let mut lowering = Lowering {
            shared: &mut self.shared,
            session,
            union: &Symbols::default(),
            trace: &mut state.trace,
            place: Place::Inside { part, offset },
            begin: TwoItems::Guess,
            resource,
            count: 0,
        };
        state
            .carry
            .feed(&mut state.stream, body, eof, &mut lowering);
        if eof {
            lowering.finish();
        }
    }

    fn end_post(
        &mut self,
        mut state: Unfinished,
        session: &mut Session,
        resource: Option<ResourceId>,
    ) {
        self.feed(&mut state, &[], true, session, resource);
    }

    fn finish_posts(&mut self) {
        let mut left: Vec<_> = std::mem::take(&mut self.unfinished).into_iter().collect();
        left.sort_by_key(|(_, state)| state.place);
        for ((id, _), state) in left {
            let (mut session, resource) = self.sessions.remove(&id).unwrap_or_default();
            self.end_post(state, &mut session, resource);
            self.sessions.insert(id, (session, resource));
        }
    }

    fn note(&mut self, part: usize, note: Note) {
        let part = PartId(u32::try_from(part).unwrap_or(u32::MAX));
        self.shared.note(Note { part, ..note });
    }

    /// Lowers the blocks of a store; its text index is not here, so that ids print as `#id`.
    fn store(&mut self, part: usize) -> Result<(), Error> {
        let source = self.source;
        let mut pull = source.open(part, 0)?;
        let mut reader = StoreReader::new(&self.limits);
        let mut stored = Stored {
            all: self,
            session: Session::default(),
            part,
        };
        let (mut consumed, mut need) = (0, 1);
        loop {
            let chunk = pull.pull(consumed, need)?;
            let eof = chunk.eof;
            match reader.blocks(chunk, &mut stored) {
                Step::Stop => return Ok(()),
                Step::More { .. } if eof => return Ok(()),
                Step::More {
                    consumed: taken,
                    need: wanted,
                } => (consumed, need) = (taken, wanted),
            }
        }
    }
}

/// Traces kept open between posts.
const UNFINISHED: usize = 4096;

/// Tells whether a post goes on where the last one of its trace ended.
///
/// The streaming output may post the newest buffer from its beginning: that starts a record again.
fn continues(state: &Unfinished, body: &[u8]) -> bool {
    let starts = matches!(
        body,
        [0xc8, 0x9f, ..] | [0xd8, 0x0a | 0x0b, 0x9f, ..] | [0xc3, 0x9f | 0x82, ..]
    );
    !state.carry.bytes.is_empty() || !starts
}

struct Posts<'p, 's> {
    all: &'p mut Sources<'s>,
    part: usize,
}

impl RecordSink for Posts<'_, '_> {
    fn record(&mut self, record: &dyn crate::Record) -> Flow {
        if record.kind() == "request" {
            let mut line = Vec::new();
            record.write(&mut line);
            if let Ok(request) = Request::parse(record.offset(), &line) {
                self.all.post(self.part, &request);
            }
        }
        self.all.shared.flow()
    }

    fn note(&mut self, note: Note) -> Flow {
        self.all.note(self.part, note);
        self.all.shared.flow()
    }
}

struct Stored<'p, 's> {
    all: &'p mut Sources<'s>,
    session: Session,
    part: usize,
}

impl Blocks for Stored<'_, '_> {
    fn block(&mut self, block: &Block<'_>, flags: u32) -> Flow {
        let limits = self.all.limits;
        let plain = match block.unpack(flags, &limits) {
            Ok(plain) => plain,
            Err(word) => {
                self.all.note(self.part, refusal(word, block.offset));
                return self.all.shared.flow();
            }
        };
        let state = Unfinished {
            trace: Trace::default(),
            stream: Stream::new(&limits, TwoItems::Guess),
            carry: Carry {
                bytes: plain,
                ..Carry::default()
            },
            place: (self.part, block.offset),
        };
        self.all.end_post(state, &mut self.session, None);
        self.all.shared.flow()
    }

    fn piece(&mut self, _record: &dyn crate::Record) -> Flow {
        self.all.shared.flow()
    }

    fn note(&mut self, note: Note) -> Flow {
        self.all.note(self.part, note);
        self.all.shared.flow()
    }
}

fn begin_of(source: &dyn Source, part: usize) -> TwoItems {
    let format = source.parts().get(part).and_then(|part| part.format);
    match format.map_or("", |format| format.name) {
        "zorka-s0" | "zorka-s0b" => TwoItems::Type,
        _ => TwoItems::Guess,
    }
}

fn size(source: &dyn Source, part: usize) -> Result<u64, Error> {
    if let Some(size) = source.parts().get(part).and_then(|part| part.size) {
        return Ok(size);
    }
    let mut size = 0;
    each_window(source, part, |bytes| size += bytes.len() as u64)?;
    Ok(size)
}

fn each_window(source: &dyn Source, part: usize, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
    let mut pull: Box<dyn Pull + '_> = source.open(part, 0)?;
    let mut consumed = 0;
    loop {
        let chunk = pull.pull(consumed, 1)?;
        take(chunk.bytes);
        consumed = chunk.bytes.len();
        if chunk.eof {
            return Ok(());
        }
    }
}

/// Tells contents apart, however they are cut into windows (FNV-1a and the length).
#[derive(Debug)]
struct Fingerprint {
    state: u64,
    len: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self {
            state: 0xcbf2_9ce4_8422_2325,
            len: 0,
        }
    }
}

impl Fingerprint {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.state = (self.state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.len += bytes.len() as u64;
    }

    const fn value(&self) -> u64 {
        self.state ^ self.len.rotate_left(32)
    }
}
