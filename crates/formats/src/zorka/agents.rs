//! The collector's end of an agent's session, without I/O: which symbols it defined, and whether a trace needs others (SPEC.md §3, §5).
//!
//! ```
//! use traceloom_formats::zorka::{AgentSymbols, PostFault};
//! use traceloom_model::Limits;
//!
//! let (symbols, limits) = (AgentSymbols::default(), Limits::default());
//! // A record of method 1, which no post defined.
//! let trace = b"\xc3\x9f\x05\x01\xc4\x82\x09\x01\xff";
//! assert_eq!(symbols.resolve(trace, &limits), Err(PostFault::UnknownSymbols));
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use traceloom_model::{Flow, Level, Limits, Note};

use super::cbor::CborValue;
use super::record::{Begin, Exception, Item, Method, Record, Symbol, ValueRun, inline_exception};
use super::{Reader, TwoItems, Visit};
use crate::Chunk;

/// Containers inside containers that are looked into; as many become lists and maps of the model.
const NESTED: usize = 64;
/// Inline causes that are followed.
const CAUSES: usize = 256;
/// Bytes that a text takes beside its own: its place in a table that is half full, and what an allocation adds.
const TEXT: usize = 2 * size_of::<(u64, Box<[u8]>)>() + 16;
/// Bytes that a method takes: its place in a table that is half full.
const METHOD: usize = 2 * size_of::<(i64, Method)>();

/// Why a post is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostFault {
    /// It is not what its path says.
    Malformed,
    /// It names symbols or methods that the session did not define.
    UnknownSymbols,
    /// The session would define more than it may.
    TooMany,
}

/// What one session of an agent defined so far.
#[derive(Clone, Debug, Default)]
pub struct AgentSymbols {
    texts: HashMap<u64, Box<[u8]>, RandomState>,
    methods: HashMap<i64, Method, RandomState>,
    n_bytes: usize,
}

impl AgentSymbols {
    /// Returns about how much memory the definitions take, in bytes.
    #[must_use]
    pub const fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Returns the memory that the definitions of a post would take at most, in bytes.
    ///
    /// # Errors
    /// `Malformed` when it holds anything but whole definitions.
    pub fn size_of(body: &[u8], limits: &Limits) -> Result<usize, PostFault> {
        let mut size = Definitions {
            take: |definition: Definition<'_>| match definition {
                Definition::Text(_, text, _) => text.len() + TEXT,
                Definition::Method(_) => METHOD,
            },
            total: 0,
            is_malformed: false,
        };
        read(body, limits, &mut size);
        match size.is_malformed {
            true => Err(PostFault::Malformed),
            false => Ok(size.total),
        }
    }

    /// Takes the definitions of a post. In B a later one wins, in C the first, as for readers.
    pub fn define(&mut self, body: &[u8], limits: &Limits) {
        let mut defined = Definitions {
            take: |definition: Definition<'_>| {
                match definition {
                    Definition::Text(id, text, last_wins) => self.define_text(id, text, last_wins),
                    Definition::Method(method) => {
                        if self.methods.insert(method.id, method).is_none() {
                            self.n_bytes += METHOD;
                        }
                    }
                }
                0
            },
            total: 0,
            is_malformed: false,
        };
        read(body, limits, &mut defined);
    }

    fn define_text(&mut self, id: u64, text: &[u8], last_wins: bool) {
        match self.texts.entry(id) {
            Entry::Vacant(vacant) => {
                vacant.insert(text.into());
                self.n_bytes += text.len() + TEXT;
            }
            Entry::Occupied(mut known) if last_wins => {
                self.n_bytes = self.n_bytes - known.get().len() + text.len();
                known.insert(text.into());
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Returns the records of a posted trace with their symbols resolved: equal for posts that say the same, whatever the numbers
    /// of their symbols. Each text is in it once, so that it is not much longer than the post and the texts together.
    ///
    /// # Errors
    /// `UnknownSymbols` when one is not defined, `Malformed` when there is no record to read, or definitions are among them.
    pub fn resolve(&self, body: &[u8], limits: &Limits) -> Result<Vec<u8>, PostFault> {
        let mut resolved = Resolver {
            symbols: self,
            out: Vec::with_capacity(body.len()),
            texts: HashMap::default(),
            n_items: 0,
            open: Vec::new(),
            fault: None,
        };
        read(body, limits, &mut resolved);
        match resolved.fault {
            Some(fault) => Err(fault),
            None if resolved.n_items == 0 => Err(PostFault::Malformed),
            None => Ok(resolved.out),
        }
    }
}

fn read(body: &[u8], limits: &Limits, mut visitor: &mut dyn Visit) {
    let chunk = Chunk {
        bytes: body,
        offset: 0,
        eof: true,
    };
    Reader::new(limits, TwoItems::Guess).read(chunk, &mut visitor);
}

/// A symbol's text, and whether it wins over an earlier one; or a method.
enum Definition<'d> {
    Text(u64, &'d [u8], bool),
    Method(Method),
}

struct Definitions<F> {
    /// Takes a definition; what it returns is added up.
    take: F,
    total: usize,
    is_malformed: bool,
}

impl<F: FnMut(Definition<'_>) -> usize> Visit for Definitions<F> {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        let definition = match *record.item {
            Item::Symbol(Symbol {
                id,
                text,
                symbol_type,
            }) => {
                let text = match text {
                    CborValue::Text(text) => text,
                    _ => &[],
                };
                Definition::Text(id.cast_unsigned(), text, symbol_type.is_some())
            }
            Item::Method(method) => Definition::Method(method),
            _ => {
                self.is_malformed = true;
                return Flow::Break(());
            }
        };
        self.total += (self.take)(definition);
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.is_malformed |= note.level == Level::Damage;
        Flow::Continue(())
    }
}

struct Resolver<'s> {
    symbols: &'s AgentSymbols,
    out: Vec<u8>,
    /// The numbers of texts in the order of their first use.
    texts: HashMap<u64, u64, RandomState>,
    n_items: u64,
    /// Of each open record, whether its method is not defined.
    open: Vec<bool>,
    fault: Option<PostFault>,
}

impl Resolver<'_> {
    fn int(&mut self, value: i64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn optional(&mut self, value: Option<i64>) {
        self.out.push(u8::from(value.is_some()));
        self.int(value.unwrap_or(0));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.out.extend_from_slice(bytes);
    }

    /// Writes a symbol: its text the first time, then which text it was. 0 is none.
    fn symbol(&mut self, id: u64) {
        let next = self.texts.len() as u64;
        match self.texts.entry(id) {
            Entry::Occupied(known) => {
                let known = known.get().cast_signed();
                self.int(known);
            }
            Entry::Vacant(new) => {
                new.insert(next);
                self.int(next.cast_signed());
                match self.symbols.texts.get(&id) {
                    Some(text) => self.bytes(text),
                    None if id == 0 => self.bytes(b""),
                    None => self.unknown(),
                }
            }
        }
    }

    fn unknown(&mut self) {
        self.fault.get_or_insert(PostFault::UnknownSymbols);
    }

    /// Begins a record. Agents do not define the method of one that encloses the trace and goes on after the post.
    fn start(&mut self, id: i64) {
        let method = self.symbols.methods.get(&id);
        self.open.push(method.is_none());
        let Some(method) = method else {
            return self.int(id);
        };
        for id in [method.class, method.name, method.signature] {
            self.symbol(id.cast_unsigned());
        }
    }

    fn begin(&mut self, begin: &Begin) {
        self.int(begin.clock_ms);
        match begin.ttype {
            // Before C it may be an id that is no symbol's.
            Some(id) if begin.nanos || self.symbols.texts.contains_key(&id.cast_unsigned()) => {
                self.symbol(id.cast_unsigned());
            }
            other => self.optional(other),
        }
        self.optional(begin.span_id);
        self.optional(begin.parent_id);
    }

    /// Writes a value whose integers are symbols where `names` says so.
    fn value(&mut self, value: CborValue<'_>, names: bool, depth: usize) {
        match value {
            CborValue::Ref(id) => self.symbol(id),
            CborValue::Int(id) if names && id >= 0 => self.symbol(id.cast_unsigned()),
            CborValue::Int(value) => {
                self.out.push(1);
                self.int(value);
            }
            CborValue::Text(text) => {
                self.out.push(2);
                self.bytes(text);
            }
            CborValue::Bytes(bytes) => {
                self.out.push(3);
                self.bytes(bytes);
            }
            CborValue::Raw(raw) => {
                self.out.push(4);
                let is_container = raw.first().is_some_and(|first| matches!(first >> 5, 4 | 5));
                if !is_container || depth == NESTED {
                    return self.bytes(raw);
                }
                self.out.extend(raw.first().map(|first| first >> 5));
                for inner in ValueRun::array(raw) {
                    self.out.push(5);
                    self.value(inner, false, depth + 1);
                }
                self.out.push(6);
            }
            other => {
                self.out.push(7);
                self.bytes(format!("{other:?}").as_bytes());
            }
        }
    }

    fn exception(&mut self, exception: &Exception<'_>) {
        let mut next = Some(*exception);
        for _ in 0..CAUSES {
            let Some(exception) = next.take() else {
                return;
            };
            let Some(fields) = exception.fields() else {
                return exception
                    .values
                    .iter()
                    .for_each(|value| self.value(value, false, 0));
            };
            self.value(fields.id, false, 0);
            self.value(fields.class, true, 0);
            self.value(fields.message, false, 0);
            if let CborValue::Raw(stack) = fields.stack {
                for frame in ValueRun::array(stack) {
                    self.frame(frame);
                }
            }
            if let Some(attributes) = fields.attributes {
                self.value(attributes, false, 0);
            }
            match fields.cause {
                CborValue::Raw(raw) => match inline_exception(raw) {
                    Ok(Item::Exception(cause)) => next = Some(cause),
                    _ => self.bytes(raw),
                },
                cause => self.value(cause, false, 0),
            }
        }
    }

    /// Writes class, method and file of a frame, which are symbols, and its line.
    fn frame(&mut self, frame: CborValue<'_>) {
        let CborValue::Raw(raw) = frame else {
            return self.value(frame, false, 0);
        };
        for (at, value) in ValueRun::array(raw).enumerate() {
            self.value(value, at < 3, 0);
        }
    }

    fn item(&mut self, record: &Record<'_>) {
        match record.item {
            Item::Start(start) | Item::Prolog(start) => {
                self.out.push(b's');
                self.int(start.time);
                self.start(start.method);
            }
            Item::End(end) => {
                if self.open.pop() == Some(true) {
                    self.unknown();
                }
                self.out.push(b'e');
                self.int(end.time);
                self.int(end.calls.cast_signed());
                self.optional(end.flags);
            }
            Item::Begin(begin) => {
                self.out.push(b'b');
                self.begin(begin);
            }
            Item::Attributes(attributes) => {
                self.out.push(b'a');
                if let Some(id) = attributes.upward {
                    self.symbol(id.cast_unsigned());
                }
                for (key, value) in attributes.pairs() {
                    self.value(key, true, 0);
                    self.value(value, false, 0);
                }
            }
            Item::Exception(exception) => {
                self.out.push(b'x');
                self.exception(exception);
            }
            Item::Symbol(_) | Item::Method(_) => self.fault = Some(PostFault::Malformed),
            _ => {
                self.out.push(b'o');
                self.bytes(record.bytes);
            }
        }
    }
}

impl Visit for Resolver<'_> {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        self.n_items += u64::from(!matches!(
            record.item,
            Item::Damage | Item::Unknown | Item::Break
        ));
        self.item(record);
        match self.fault {
            Some(_) => Flow::Break(()),
            None => Flow::Continue(()),
        }
    }

    fn note(&mut self, _: Note) -> Flow {
        Flow::Continue(())
    }
}
