//! Profiles larger than memory: what is held does not depend on how many samples there are.
#![allow(missing_docs, reason = "a test")]

use std::collections::{BTreeMap, HashSet};

use traceloom_formats::{
    Chunk, Error, Format, LowerOptions, Part, Pull, RaiseOptions, SliceSource, Source, by_name,
};
use traceloom_model::{
    Attribute, AttributeKey, Clock, Definitions, Flow, Frame, Function, Note, Order, Profile,
    SampleBatch, SampleRow, Sink, SpanBatch, SpanRow, Stack, StringId, Tables, Track, Unit, Value,
    ValueType,
};

/// A file whose middle is one block over and over; nothing of it exists but what is asked for.
struct Repeated {
    parts: Vec<Part>,
    head: Vec<u8>,
    block: Vec<u8>,
    times: usize,
    tail: Vec<u8>,
}

impl Repeated {
    fn new(format: &'static Format, [head, block, tail]: [Vec<u8>; 3], times: usize) -> Self {
        let parts = vec![Part {
            name: "large".to_owned(),
            format: Some(format),
            size: None,
        }];
        Self {
            parts,
            head,
            block,
            times,
            tail,
        }
    }

    fn len(&self) -> usize {
        self.head.len() + self.block.len() * self.times + self.tail.len()
    }

    fn bytes(&self, from: usize, to: usize) -> Vec<u8> {
        let (middle, tail) = (
            self.head.len(),
            self.head.len() + self.block.len() * self.times,
        );
        let byte = |at: usize| match at {
            at if at < middle => self.head[at],
            at if at < tail => self.block[(at - middle) % self.block.len()],
            at => self.tail[at - tail],
        };
        (from..to.min(self.len())).map(byte).collect()
    }
}

/// Bytes of a window beyond what is asked for.
const WINDOW: usize = 4 << 10;
/// Most that a reader of short records may ask for.
const MOST: usize = 64 << 10;

struct Narrow<'s> {
    of: &'s Repeated,
    at: usize,
    window: Vec<u8>,
}

impl Pull for Narrow<'_> {
    fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, Error> {
        assert!(need <= MOST, "a window of {need} bytes");
        self.at += consumed;
        self.window = self.of.bytes(self.at, self.at + need.max(WINDOW));
        Ok(Chunk {
            bytes: &self.window,
            offset: self.at as u64,
            eof: self.at + self.window.len() == self.of.len(),
        })
    }
}

impl Source for Repeated {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn open(&self, _part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        Ok(Box::new(Narrow {
            of: self,
            at: usize::try_from(offset).unwrap(),
            window: Vec::new(),
        }))
    }
}

/// Counts what comes and keeps nothing.
#[derive(Default)]
struct Held {
    samples: u64,
    largest: usize,
    rows: usize,
}

impl Sink for Held {
    fn define(&mut self, new: Definitions) -> Flow {
        self.rows += new.strings.len() + new.functions.len() + new.frames.len() + new.stacks.len();
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.samples += batch.len() as u64;
        self.largest = self.largest.max(batch.len());
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        panic!("{note:?}");
    }
}

fn held(name: &str, pieces: [Vec<u8>; 3], times: usize) -> Held {
    let format = by_name(name).unwrap();
    let source = Repeated::new(format, pieces, times);
    let mut held = Held::default();
    (format.lower.unwrap())(&source, &LowerOptions::default(), &mut held).unwrap();
    held
}

/// A profile of one sample: what comes before it, the sample, what comes after it.
fn profile() -> [Vec<u8>; 3] {
    let mut tables = Tables::new();
    let mut stack = None;
    for name in ["main", "serve", "hash"] {
        let name = tables.string(name);
        let function = Some(tables.function(Function::named(name)));
        let frame = tables.frame(Frame {
            function,
            ..Frame::default()
        });
        stack = Some(tables.stack(Stack::under(stack, frame)));
    }
    let name = tables.string("cpu");
    let column = tables.value_type(ValueType::sum(name, Unit::Nanoseconds));
    let profile = tables.profile(Profile {
        value_types: vec![column],
        ..Profile::default()
    });
    let mut batch = SampleBatch::new(profile, 1);
    batch.push(&SampleRow {
        stack,
        values: &[7],
        time: None,
        track: None,
        span: None,
        labels: &[],
    });
    let mut bytes = Vec::new();
    let raise = by_name("pprof").unwrap().raise.unwrap();
    let mut target = raise(&RaiseOptions::default(), &mut bytes).unwrap();
    let _ = target.define(tables.take_definitions());
    let _ = target.samples(batch);
    target.finish().unwrap();
    drop(target);
    // The sample is the field of number 2: three packed locations, a packed value.
    let at = bytes.windows(2).position(|two| two == [0x12, 8]).unwrap();
    let tail = bytes.split_off(at + 10);
    let sample = bytes.split_off(at);
    assert_eq!(sample[2..4], [0x0a, 3]);
    [bytes, sample, tail]
}

#[test]
fn samples_of_a_profile_pass_in_blocks() {
    let few = held("pprof", profile(), 10);
    let many = held("pprof", profile(), 2_000_000);
    assert_eq!((few.samples, many.samples), (10, 2_000_000));
    assert_eq!(few.rows, many.rows, "tables grow with what is different");
    assert!(many.largest <= 4096, "{}", many.largest);
}

#[test]
fn lines_of_folded_stacks_pass_in_blocks() {
    let pieces = || {
        [
            b"main 1\n".to_vec(),
            b"main;serve;hash 7\nmain;serve 2\n".to_vec(),
            b"main;end 1\n".to_vec(),
        ]
    };
    let few = held("folded", pieces(), 10);
    let many = held("folded", pieces(), 500_000);
    assert_eq!((few.samples, many.samples), (22, 1_000_002));
    assert_eq!(few.rows, many.rows, "tables grow with what is different");
    assert!(many.largest <= 1 << 16, "{}", many.largest);
}

/// Spans with a text that is forgotten before the span around them comes.
fn forgetting(target: &str) -> Vec<u8> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let raise = by_name(target).unwrap().raise.unwrap();
    let mut writer = raise(&RaiseOptions::default(), &mut files).unwrap();
    let mut tables = Tables::new();
    let name = tables.string("com.acme.Shop.buy");
    let function = tables.function(Function::named(name));
    let thread = tables.string("main");
    let track = tables.track(Track::thread(thread));
    let key = tables.string("order");
    let key = tables.attribute_key(AttributeKey::named(key));
    let text = tables.string("needle in a stack");
    let [outer, inner] = [(); 2].map(|()| tables.reserve_span());
    writer.begin(Order::Nested, Clock::Unix);
    let _ = writer.define(tables.take_definitions());
    let time = 1_700_000_000_000_000_000;
    let mut spans = SpanBatch::default();
    spans.push(&SpanRow {
        parent: Some(outer),
        depth: 1,
        entry: false,
        attributes: &[Attribute::new(key, Value::Text(text))],
        ..SpanRow::call(inner, track, function, time, time + 2_000_000)
    });
    let _ = writer.spans(spans);
    writer.forget(&[text]);
    let mut spans = SpanBatch::default();
    spans.push(&SpanRow::call(
        outer,
        track,
        function,
        time,
        time + 4_000_000,
    ));
    let _ = writer.spans(spans);
    writer.finish().unwrap();
    drop(writer);
    files.into_values().flatten().collect()
}

#[test]
fn texts_of_spans_that_wait_are_kept_until_those_are_written() {
    let text = "needle in a stack";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for target in [
        "cdt-streams",
        "zorka-c",
        "zorka-b2",
        "perfetto",
        "chrome",
        "heph",
    ] {
        let bytes = forgetting(target);
        let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
        assert!(holds(text.as_bytes()) || holds(&wide), "{target}");
    }
}

/// Strings that were defined and not forgotten, and whether rows told of others.
#[derive(Default)]
struct Strings {
    known: HashSet<StringId>,
    /// What exceptions say, to which any row may refer.
    messages: HashSet<StringId>,
    most: usize,
    defined: usize,
    missing: usize,
}

impl Sink for Strings {
    fn define(&mut self, new: Definitions) -> Flow {
        self.defined += new.strings.len();
        let messages = new.exceptions.iter().filter_map(|(_, row)| row.message);
        self.messages.extend(messages);
        self.known.extend(new.strings.iter().map(|&(id, _)| id));
        self.most = self.most.max(self.known.len());
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for attribute in batch.attributes.all() {
            attribute.value.each_string(&mut |id| {
                self.missing += usize::from(!self.known.contains(&id));
            });
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        for id in strings {
            assert!(self.known.remove(id), "{id:?} is forgotten twice");
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

#[test]
fn values_of_zorka_pass() {
    let format = by_name("zorka-c").unwrap();
    let strings = |bytes| {
        let mut stream = Vec::new();
        traceloom_samples::by_name(format.name).unwrap()(7, bytes, &mut |piece| {
            stream.extend_from_slice(piece)
        });
        let source = SliceSource::default().with("large.ztr", format, &stream);
        let mut strings = Strings::default();
        (format.lower.unwrap())(&source, &LowerOptions::default(), &mut strings).unwrap();
        assert_eq!(strings.missing, 0);
        strings
    };
    let large = strings(40_000_000);
    assert!(
        large.most < large.defined,
        "{} of {}",
        large.most,
        large.defined
    );
}
