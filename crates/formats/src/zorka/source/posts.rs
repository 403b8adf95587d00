//! Traces inside other things: posts of a request dump, blocks of a store (SPEC.md §4, §5).

use traceloom_model::{Flow, Note, ResourceId};

use super::super::lower::Lowering;
use super::super::open_trace::OpenTrace;
use super::super::requests::{Request, RequestLines, Requests};
use super::super::session::{Session, SessionSymbols};
use super::super::source_range::SourceRange;
use super::super::store::{Blocks, StoreBlock, StoreReader, refusal};
use super::super::{Reader, TwoItems};
use super::streams::{Carry, Fingerprint};
use super::{SessionKey, Sources};
use crate::codec::each_window;
use crate::{Error, Opaque, info};

/// A posted trace that ended with records open.
pub(super) struct Unfinished {
    trace: OpenTrace,
    stream: Reader,
    carry: Carry,
    place: (usize, u64),
}

/// Traces kept open between posts.
const UNFINISHED: usize = 4096;

impl Sources<'_> {
    /// Lowers the posts of a request dump.
    pub(super) fn requests(&mut self, part: usize) -> Result<(), Error> {
        let source = self.source;
        let mut pull = source.open(part, 0)?;
        let mut posts = PostVisitor { all: self, part };
        let limits = posts.all.limits;
        let lines = RequestLines::new(&limits);
        each_window(pull.as_mut(), 1, |chunk| lines.each(chunk, &mut posts))?;
        Ok(())
    }

    fn post(&mut self, part: usize, request: &Request<'_>) {
        if self.source.parts().len() > 1 {
            let mut hash = Fingerprint::default();
            hash.add(&request.body);
            self.bodies.insert(hash.value());
        }
        if !request.accepted() {
            let status = request.reply.unwrap_or(0);
            let text = format!("a post answered {status} is not taken: the agent sends it again");
            self.note(part, info("refused_post", request.offset, text));
            return;
        }
        let name = request.session().unwrap_or("");
        let id = SessionKey::Header(name.to_owned());
        let (mut session, resource) = self.sessions.remove(&id).unwrap_or_default();
        let resource = match resource {
            None if !name.is_empty() => Some(self.shared.session_resource(name)),
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
                    trace: OpenTrace::posted(trace_id),
                    stream: Reader::new(&self.limits, TwoItems::Guess),
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
            union: &SessionSymbols::default(),
            trace: &mut state.trace,
            place: SourceRange::Inside { part, offset },
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

    pub(super) fn finish_posts(&mut self) {
        let mut left: Vec<_> = std::mem::take(&mut self.unfinished).into_iter().collect();
        left.sort_by_key(|(_, state)| state.place);
        for ((id, _), state) in left {
            let (mut session, resource) = self.sessions.remove(&id).unwrap_or_default();
            self.end_post(state, &mut session, resource);
            self.sessions.insert(id, (session, resource));
        }
    }

    /// Lowers the blocks of a store; its text index is not here, so that ids print as `#id`.
    pub(super) fn store(&mut self, part: usize) -> Result<(), Error> {
        let source = self.source;
        let mut pull = source.open(part, 0)?;
        let mut reader = StoreReader::new(&self.limits);
        let mut stored = BlockVisitor {
            all: self,
            session: Session::default(),
            part,
        };
        each_window(pull.as_mut(), 1, |chunk| reader.blocks(chunk, &mut stored))?;
        Ok(())
    }
}

/// Returns true if a post goes on where the last one of its trace ended.
///
/// The streaming output may post the newest buffer from its beginning: that starts a record again.
fn continues(state: &Unfinished, body: &[u8]) -> bool {
    let starts = matches!(
        body,
        [0xc8, 0x9f, ..] | [0xd8, 0x0a | 0x0b, 0x9f, ..] | [0xc3, 0x9f | 0x82, ..]
    );
    !state.carry.bytes.is_empty() || !starts
}

struct PostVisitor<'p, 's> {
    all: &'p mut Sources<'s>,
    part: usize,
}

impl Requests for PostVisitor<'_, '_> {
    fn request(&mut self, request: &Request<'_>) -> Flow {
        self.all.post(self.part, request);
        self.all.shared.flow()
    }

    fn other(&mut self, _line: &Opaque<'_>) -> Flow {
        self.all.shared.flow()
    }

    fn note(&mut self, note: Note) -> Flow {
        self.all.note(self.part, note);
        self.all.shared.flow()
    }
}

struct BlockVisitor<'p, 's> {
    all: &'p mut Sources<'s>,
    session: Session,
    part: usize,
}

impl Blocks for BlockVisitor<'_, '_> {
    fn block(&mut self, block: &StoreBlock<'_>, flags: u32) -> Flow {
        let limits = self.all.limits;
        let plain = match block.unpack(flags, &limits) {
            Ok(plain) => plain,
            Err(word) => {
                self.all.note(self.part, refusal(word, block.offset));
                return self.all.shared.flow();
            }
        };
        let state = Unfinished {
            trace: OpenTrace::default(),
            stream: Reader::new(&limits, TwoItems::Guess),
            carry: Carry::of(plain),
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
