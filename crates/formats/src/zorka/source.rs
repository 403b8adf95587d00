//! The parts of a source as streams of items: chunks joined, posts unpacked, definitions first.

mod definitions;
mod posts;
mod streams;

use std::collections::{HashMap, HashSet};

use traceloom_model::{Clock, Limits, Note, Order as SpanOrder, PartId, ResourceId, Sink};

use super::Reader;
use super::lower::Lowering;
use super::open_trace::OpenTrace;
use super::session::{Session, SessionSymbols};
use super::source_range::SourceRange;
use super::source_state::SourceState;
use crate::{Error, LowerOptions, Source, info};
use definitions::{CaptureDefinitions, clock, json_table, stem};
use posts::Unfinished;
use streams::{Fingerprint, StreamParts, begin_of, each_piece, size, streams, visit};

/// What a part is to the lowering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PartRole {
    Items,
    Definitions,
    Requests,
    Store,
}

fn role(source: &dyn Source, part: usize) -> PartRole {
    let name = source
        .parts()
        .get(part)
        .and_then(|part| part.format)
        .map_or("", |format| format.name);
    match name {
        "zorka-agd" => PartRole::Definitions,
        "zorka-requests" => PartRole::Requests,
        "zorka-store" => PartRole::Store,
        _ => PartRole::Items,
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
    let definitions = CaptureDefinitions::read(source, &streams, &limits)?;
    let posts = source.parts().len() > 1
        || streams
            .iter()
            .any(|stream| role(source, stream.first()) == PartRole::Requests);
    let mut shared = SourceState::new(sink, limits, options.only, posts);
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
        bodies: HashSet::new(),
        unfinished: HashMap::new(),
        limits,
    };
    for stream in &streams {
        if state.shared.stopped {
            return Ok(());
        }
        match role(source, stream.first()) {
            PartRole::Requests => state.requests(stream.first())?,
            PartRole::Store => state.store(stream.first())?,
            PartRole::Definitions if state.is_json(stream.first())? => {}
            _ => state.items(stream)?,
        }
    }
    state.finish_posts();
    state.shared.finish();
    Ok(())
}

/// Whose numbers the symbols are: ids of two sessions mean two things.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum SessionKey {
    /// The session that the headers of a post name.
    Header(String),
    /// Files without headers.
    Folder(String),
}

struct Sources<'s> {
    source: &'s dyn Source,
    shared: SourceState<'s>,
    definitions: CaptureDefinitions,
    sessions: HashMap<SessionKey, (Session, Option<ResourceId>)>,
    /// Hashes of posted bodies: a folder may hold the same posts as files.
    bodies: HashSet<u64>,
    unfinished: HashMap<(SessionKey, u128), Unfinished>,
    limits: Limits,
}

impl Sources<'_> {
    fn is_json(&self, part: usize) -> Result<bool, Error> {
        Ok(json_table(self.source, part, &self.limits)?.is_some())
    }

    /// Lowers a part, or the chunks that are one stream.
    fn items(&mut self, parts: &StreamParts) -> Result<(), Error> {
        let first = parts.first();
        if !self.bodies.is_empty() && self.is_posted(first)? {
            return Ok(());
        }
        if parts.parts.len() > 1 && self.whole_is_there(parts)? {
            return Ok(());
        }
        let stem = stem(self.source, first);
        let folder = stem.rsplit_once('/').map_or("", |(folder, _)| folder);
        let folder = SessionKey::Folder(folder.to_owned());
        let traces = role(self.source, first) == PartRole::Items;
        let own = self.definitions.by_stem.get(&stem).filter(|_| traces);
        // A capture with definitions of its own name is a session of its own.
        let nothing = SessionSymbols::default();
        let (mut session, union) = match own {
            Some(own) => (Session::of(own.clone()), &nothing),
            None => {
                let (session, _) = self.sessions.remove(&folder).unwrap_or_default();
                (session, &self.definitions.union)
            }
        };
        let is_own = own.is_some();
        let begin = begin_of(self.source, first);
        let mut places = Vec::new();
        let mut offset = 0;
        for &part in &parts.parts {
            places.push((offset, part));
            offset += size(self.source, part)?;
        }
        let mut stream = Reader::new(&self.limits, begin);
        let mut trace = OpenTrace::default();
        let mut lowering = Lowering {
            shared: &mut self.shared,
            session: &mut session,
            union,
            trace: &mut trace,
            place: match parts.parts.as_slice() {
                &[only] => SourceRange::Part(PartId::nth(only)),
                _ => SourceRange::Parts(places),
            },
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

    /// Returns true if a request dump held this part as a body.
    fn is_posted(&self, part: usize) -> Result<bool, Error> {
        let mut hash = Fingerprint::default();
        each_piece(self.source, part, |bytes| hash.add(bytes))?;
        Ok(self.bodies.contains(&hash.value()))
    }

    /// Returns true if another part of the source is what these chunks make together.
    fn whole_is_there(&mut self, parts: &StreamParts) -> Result<bool, Error> {
        let stem = stem(self.source, parts.first());
        let mut joined = Fingerprint::default();
        for &part in &parts.parts {
            each_piece(self.source, part, |bytes| joined.add(bytes))?;
        }
        for at in 0..self.source.parts().len() {
            if parts.parts.contains(&at)
                || role(self.source, at) != PartRole::Items
                || self::stem(self.source, at) != stem
            {
                continue;
            }
            let mut whole = Fingerprint::default();
            each_piece(self.source, at, |bytes| whole.add(bytes))?;
            if whole.value() == joined.value() {
                let part = PartId::nth(parts.first());
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

    fn note(&mut self, part: usize, note: Note) {
        let part = PartId::nth(part);
        self.shared.note(Note { part, ..note });
    }
}
