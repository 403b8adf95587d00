//! Makes traces shaped like those of the runtime, for laws, fuzzing and benches.

use traceloom_formats::heph::{Attribute, Attributes, Event, Layout, Metadata, Value, write};

use crate::random::Random;

/// Makes about `bytes` bytes: workers that poll actors, whose events end inside a run of theirs.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut maker = Maker {
        random: Random::new(seed),
        now: 40_000,
        counters: [0; STREAMS],
        buffer: Vec::new(),
        attributes: Vec::new(),
    };
    let epoch = 1_700_000_000_000_000_000_u64 + seed % 1_000_000_007;
    let value = epoch.to_be_bytes();
    write::metadata(
        &Metadata {
            offset: 0,
            name: b"epoch",
            value: &value,
        },
        &mut maker.buffer,
    );
    let mut made = 0;
    loop {
        made += maker.buffer.len() as u64;
        out(&maker.buffer);
        maker.buffer.clear();
        if made >= bytes {
            return;
        }
        maker.poll();
    }
}

const STREAMS: usize = 4;
const NAMES: [&str; 4] = ["relay", "source", "sink", "zegar_ż"];

struct Maker {
    random: Random,
    now: u64,
    counters: [u32; STREAMS],
    buffer: Vec<u8>,
    attributes: Vec<u8>,
}

impl Maker {
    fn below(&mut self, below: u64) -> u64 {
        self.random.number(below)
    }

    fn step(&mut self) -> u64 {
        self.now += 50 + self.below(3000);
        self.now
    }

    /// A worker looks for work and runs an actor that handles some messages.
    fn poll(&mut self) {
        let worker = 1 + self.below(STREAMS as u64 - 1);
        let begin = self.step();
        let end = self.step();
        for amount in ["local amount", "shared amount", "total amount"] {
            let value = self.below(3);
            self.put(amount, Value::U64(value));
        }
        self.event(worker, begin, end, "Scheduling processes");
        let is_shared = self.below(8) == 0;
        // An id is never 0: substream 0 means none.
        let actor = 1 + self.below(40);
        let run = self.step();
        for _ in 0..self.below(6) {
            let begin = self.step();
            let description = self.message(actor);
            let end = self.step();
            let stream = if is_shared { 0 } else { worker };
            self.event(stream, begin, end, description);
        }
        let end = self.step();
        self.put("id", Value::U64(actor));
        let name = NAMES
            .get(usize::try_from(actor % 4).unwrap_or(0))
            .copied()
            .unwrap_or("");
        self.put("name", Value::Text(name.as_bytes()));
        let description = if is_shared {
            "Running thread-safe process"
        } else {
            "Running thread-local process"
        };
        self.event(worker, run, end, description);
    }

    fn message(&mut self, actor: u64) -> &'static str {
        match self.below(12) {
            0 => {
                let number = self.below(u64::MAX);
                self.put("balance", Value::I64(number.cast_signed()));
                self.put("ratio", Value::F64(f64::from_bits(number)));
                "settling account"
            }
            1 => {
                let raw: Vec<[u8; 8]> = (0..self.below(5)).map(|n| n.to_be_bytes()).collect();
                self.put("sizes", Value::U64s(&raw));
                self.put("deltas", Value::I64s(&raw));
                self.put("weights", Value::F64s(&raw));
                "measuring"
            }
            2 => {
                let mut list = Vec::new();
                write::put_text("ü".as_bytes(), &mut list);
                write::put_text(b"", &mut list);
                self.put("tags", Value::Texts(2, &list));
                self.put("tags", Value::Text(b"again"));
                "tagging"
            }
            3 | 4 => {
                let number = self.below(1000);
                self.put("from", Value::U64(actor));
                self.put("size", Value::U64(number));
                "sending message"
            }
            _ => "receiving message",
        }
    }

    fn put(&mut self, name: &str, value: Value<'_>) {
        let name = name.as_bytes();
        write::put_attribute(&Attribute { name, value }, &mut self.attributes);
    }

    fn event(&mut self, stream: u64, start: u64, end: u64, description: &str) {
        let Some(counter) = usize::try_from(stream)
            .ok()
            .and_then(|at| self.counters.get_mut(at))
        else {
            return;
        };
        let number = *counter;
        *counter = counter.wrapping_add(1);
        let event = Event {
            offset: 0,
            layout: Layout::Substream,
            stream: u32::try_from(stream).unwrap_or(0),
            counter: number,
            substream: 0,
            start,
            end,
            description_length: u16::try_from(description.len()).unwrap_or(u16::MAX),
            description: description.as_bytes(),
            attributes: Attributes {
                bytes: &self.attributes,
            },
            undecoded: &[],
            valid_text: true,
            complete: true,
        };
        write::event(&event, &mut self.buffer);
        self.attributes.clear();
    }
}
