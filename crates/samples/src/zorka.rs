//! Generated streams of every generation, for laws, fuzzing and benches.

use traceloom_formats::zorka::{
    Begin, CborValue, End, EndForm, Item, Method, Order, Start, StartForm, Symbol, write,
};

use crate::random::Random;

/// Which generation a sample is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GenerationChoice {
    S0,
    S0b,
    B1,
    B2,
    C,
    /// C with values that no agent writes.
    CTyped,
}

impl GenerationChoice {
    const fn is_c(self) -> bool {
        matches!(self, Self::C | Self::CTyped)
    }

    /// Returns how many kinds of values there are: texts and nulls, those of agents, all that CBOR has.
    const fn kinds_of_values(self) -> u64 {
        match self {
            Self::B2 => 4,
            Self::C => 7,
            Self::S0 | Self::S0b | Self::B1 | Self::CTyped => 10,
        }
    }
}

type Out<'o> = &'o mut dyn FnMut(&[u8]);

pub(crate) fn s0(seed: u64, bytes: u64, out: Out<'_>) {
    traces(GenerationChoice::S0, seed, bytes, out);
}

pub(crate) fn s0b(seed: u64, bytes: u64, out: Out<'_>) {
    traces(GenerationChoice::S0b, seed, bytes, out);
}

pub(crate) fn b1(seed: u64, bytes: u64, out: Out<'_>) {
    traces(GenerationChoice::B1, seed, bytes, out);
}

pub(crate) fn b2(seed: u64, bytes: u64, out: Out<'_>) {
    traces(GenerationChoice::B2, seed, bytes, out);
}

pub(crate) fn c(seed: u64, bytes: u64, out: Out<'_>) {
    traces(GenerationChoice::C, seed, bytes, out);
}

/// Makes about `bytes` bytes of `zorka-c` with fractions, lists and maps as values: no agent writes them, and the reader of
/// the original stops at them.
pub fn c_typed(seed: u64, bytes: u64, out: Out<'_>) {
    traces(GenerationChoice::CTyped, seed, bytes, out);
}

/// Symbols every sample refers to; ids count from 1.
const TEXTS: [&str; 20] = [
    "HTTP",
    "SQL",
    "JOB",
    "component",
    "http.url",
    "http.status",
    "db.statement",
    "thread.name",
    "ratio",
    "retries",
    "com.acme.shop.Cart",
    "com.acme.shop.Orders",
    "checkout",
    "submit",
    "find",
    "()V",
    "(Ljava/lang/String;)I",
    "Cart.java",
    "com.acme.shop.OutOfStock",
    "Orders.java",
];

/// Methods every sample refers to.
const METHODS: u64 = 500;

pub(crate) fn agd(seed: u64, bytes: u64, out: Out<'_>) {
    let mut random = Random::new(seed);
    let mut piece = Vec::new();
    definitions(&mut piece, random.number(2) == 0);
    let mut left = bytes.saturating_sub(piece.len() as u64);
    out(&piece);
    let mut id = 1000;
    while left > 0 {
        piece.clear();
        for _ in 0..64 {
            let text = format!("com.acme.generated.Class{id}");
            define(&mut piece, id, &text, Some(5));
            write::item(
                &mut piece,
                &Item::Method(Method {
                    id,
                    class: id,
                    name: 13 + random.int(3),
                    signature: 16,
                }),
            );
            id += 1;
            if piece.len() as u64 >= left {
                break;
            }
        }
        out(&piece);
        left = left.saturating_sub(piece.len() as u64);
    }
}

fn define(out: &mut Vec<u8>, id: i64, text: &str, symbol_type: Option<i64>) {
    let text = CborValue::Text(text.as_bytes());
    write::item(
        out,
        &Item::Symbol(Symbol {
            id,
            text,
            symbol_type,
        }),
    );
}

fn definitions(out: &mut Vec<u8>, typed: bool) {
    for (id, text) in (1..).zip(TEXTS) {
        define(out, id, text, typed.then_some(0));
    }
    for id in 1..=METHODS {
        let id = id.cast_signed();
        write::item(
            out,
            &Item::Method(Method {
                id,
                class: 11 + id % 2,
                name: 13 + id % 3,
                signature: 16 + id % 2,
            }),
        );
    }
}

fn traces(shape: GenerationChoice, seed: u64, bytes: u64, out: Out<'_>) {
    let mut random = Random::new(seed);
    let mut left = bytes;
    let mut piece = Vec::new();
    // Small samples are the traces alone, so that every cut and flip of them can be tried.
    if bytes > 64 << 10 {
        definitions(&mut piece, !shape.is_c());
    }
    let mut clock = 1_790_000_000_000;
    while left > 0 {
        clock += 1 + random.int(50);
        trace(shape, &mut random, clock, left, &mut piece);
        if piece.len() >= 64 << 10 || piece.len() as u64 >= left {
            out(&piece);
            left = left.saturating_sub(piece.len() as u64);
            piece.clear();
        }
    }
}

struct ItemBuilder<'w> {
    shape: GenerationChoice,
    order: Order,
    out: &'w mut Vec<u8>,
}

fn trace(shape: GenerationChoice, random: &mut Random, clock: i64, most: u64, out: &mut Vec<u8>) {
    // The local tracer of B wrote big-endian, streaming tracers as their machine.
    let big = random.number(8) == 0;
    let order = if big { Order::Big } else { Order::Little };
    let from = out.len() as u64;
    let mut writer = ItemBuilder { shape, order, out };
    let mut time = writer.time(clock);
    let mut open: Vec<u64> = Vec::new();
    let mut thrown = None;
    let wanted = 1 + random.number(120);
    let mut records = 0;
    let mut calls = Vec::new();
    loop {
        time += 1 + random.int(40);
        let full = records >= wanted || writer.out.len() as u64 - from >= most;
        let deeper = open.len() < 2 || random.number(5) < 3;
        if !full && deeper && open.len() < 60 {
            writer.start(time, 1 + random.int(METHODS));
            records += 1;
            if open.is_empty() || random.number(20) == 0 {
                writer.begin(clock, random);
            }
            if random.number(3) == 0 || open.is_empty() {
                writer.attribute(random);
            }
            open.push(records);
            calls.push(1 + random.number(9));
            continue;
        }
        if open.pop().is_none() {
            return;
        }
        let own = calls.pop().unwrap_or(1);
        if let Some(parent) = calls.last_mut() {
            *parent += own;
        }
        match thrown.take() {
            Some(id) if random.number(2) == 0 => {
                writer.exception_ref(id);
                thrown = Some(id);
            }
            _ if random.number(50) == 0 => thrown = Some(writer.exception(random)),
            _ => {}
        }
        let huge = random.number(200) == 0;
        writer.end(
            time,
            if huge { own + 0xff_ffff } else { own },
            open.is_empty(),
        );
        if open.is_empty() {
            return;
        }
    }
}

impl ItemBuilder<'_> {
    fn item(&mut self, item: &Item<'_>) {
        write::item(self.out, item);
    }

    fn time(&self, clock: i64) -> i64 {
        match self.shape {
            GenerationChoice::C | GenerationChoice::CTyped => clock * 1_000_000,
            _ => clock * 1_000_000 / 65_536 % 0x80_0000_0000,
        }
    }

    fn start(&mut self, time: i64, method: i64) {
        let form = match (self.shape, self.order) {
            (GenerationChoice::S0, Order::Big) => StartForm::Seed { tag: 10 },
            (GenerationChoice::S0, Order::Little) => StartForm::Seed { tag: 11 },
            (GenerationChoice::C | GenerationChoice::CTyped, _) => StartForm::Nanos,
            _ => StartForm::Tagged,
        };
        let order = if self.shape.is_c() {
            Order::Little
        } else {
            self.order
        };
        self.item(&Item::Start(Start {
            form,
            order,
            time,
            method,
        }));
    }

    fn begin(&mut self, clock_ms: i64, random: &mut Random) {
        let ttype = Some(1 + random.int(3));
        let span = Some(random.bits().cast_signed());
        let parent = Some(random.bits().cast_signed()).filter(|_| random.number(2) == 0);
        self.item(&Item::Begin(match self.shape {
            GenerationChoice::S0 | GenerationChoice::S0b | GenerationChoice::B1 => Begin {
                clock_ms,
                ttype,
                ..Begin::default()
            },
            GenerationChoice::B2 => Begin {
                clock_ms,
                span_id: span,
                parent_id: parent,
                ..Begin::default()
            },
            GenerationChoice::C | GenerationChoice::CTyped => Begin {
                nanos: true,
                clock_ms,
                ttype,
                span_id: span,
                parent_id: Some(parent.unwrap_or(0)),
            },
        }));
    }

    fn key(&mut self, id: u64) {
        match self.shape {
            GenerationChoice::S0
            | GenerationChoice::S0b
            | GenerationChoice::C
            | GenerationChoice::CTyped => write::head(self.out, 0, id),
            GenerationChoice::B1 | GenerationChoice::B2 => {
                write::value(self.out, CborValue::Ref(id))
            }
        }
    }

    fn attribute(&mut self, random: &mut Random) {
        let id = 4 + random.number(7);
        let upward = self.shape != GenerationChoice::B2 && random.number(16) == 0;
        match (self.shape, upward) {
            (GenerationChoice::C | GenerationChoice::CTyped, false) => {
                self.out.extend([0xc6, 0x82])
            }
            (GenerationChoice::C | GenerationChoice::CTyped, true) => {
                self.out.extend([0xc6, 0x83, 0])
            }
            (GenerationChoice::B1, true) => self.out.extend([0xd8, 0x26, 0x82, 0, 0xa1]),
            (_, true) => self.out.extend([0xc9, 0xd8, 0x26, 0xa1, 0, 0xa1]),
            (_, false) => self.out.extend([0xc9, 0xa1]),
        }
        self.key(id);
        let number = random.bits() >> random.number(64);
        let statement = format!(
            "SELECT name, price FROM items WHERE id = {} AND zażółć = ?",
            number % 100_000
        );
        match random.number(self.shape.kinds_of_values()) {
            0 => write::text(self.out, b"main"),
            1 => write::text(self.out, format!("/cart/{}", number % 1000).as_bytes()),
            2 | 3 => write::text(self.out, statement.as_bytes()),
            4 => write::int(self.out, number.cast_signed()),
            5 => write::int(self.out, -random.int(70_000)),
            6 => write::value(self.out, CborValue::Bool(number & 1 == 1)),
            7 => write::value(self.out, CborValue::F64(0.25_f64.to_bits() + number % 1000)),
            8 => self.out.extend([0x83, 0x01, 0x62, b'o', b'k', 0xf6]),
            _ => {
                self.out.extend([0xa1, 0x61, b'k', 0x82]);
                write::head(self.out, 0, number % 300);
                write::text(self.out, b"two");
            }
        }
    }

    fn exception(&mut self, random: &mut Random) -> u64 {
        let id = random.number(1 << 31);
        let s0 = matches!(self.shape, GenerationChoice::S0 | GenerationChoice::S0b);
        let depth = random.number(12);
        let mut stack = Vec::new();
        write::head(&mut stack, 4, depth);
        for line in 0..depth {
            stack.push(0x84);
            for symbol in [11, 13, 18] {
                match s0 {
                    true => write::value(&mut stack, CborValue::Ref(symbol)),
                    false => write::head(&mut stack, 0, symbol),
                }
            }
            write::head(&mut stack, 0, 10 + line * 7);
        }
        let tag = if self.shape.is_c() { 7 } else { 0x22 };
        write::head(self.out, 6, tag);
        self.out.push(0x85);
        write::head(self.out, 0, id);
        match self.shape {
            GenerationChoice::C | GenerationChoice::CTyped => write::head(self.out, 0, 19),
            _ => write::value(self.out, CborValue::Ref(19)),
        }
        write::text(self.out, "no stock: żółw".as_bytes());
        if s0 {
            self.out.extend(stack);
            self.out.push(0xf6);
        } else {
            self.out.push(0);
            self.out.extend(stack);
        }
        id
    }

    fn exception_ref(&mut self, id: u64) {
        let tag = if self.shape.is_c() { 8 } else { 0x23 };
        self.item(&Item::ExceptionRef { tag, id });
    }

    fn end(&mut self, time: i64, calls: u64, root: bool) {
        let c = self.shape.is_c();
        let form = match self.shape {
            GenerationChoice::S0 | GenerationChoice::S0b => EndForm::Untagged,
            GenerationChoice::B1 | GenerationChoice::B2 => EndForm::Tagged,
            GenerationChoice::C | GenerationChoice::CTyped => EndForm::Nanos,
        };
        self.item(&Item::End(End {
            form,
            order: if c { Order::Little } else { self.order },
            long: !c && calls > 0xff_ffff,
            closed: true,
            time,
            calls,
            flags: (c && root).then_some(0x2108),
        }));
    }
}

pub(crate) fn store(seed: u64, bytes: u64, out: Out<'_>) {
    let mut random = Random::new(seed);
    // Uncompressed blocks only: compressors are not this crate's to run.
    out(&[&b"ZTS0"[..], &0x10_u32.to_be_bytes(), &[0; 8]].concat());
    let mut left = bytes.saturating_sub(16);
    while left > 0 {
        let mut data = Vec::new();
        trace(
            GenerationChoice::B2,
            &mut random,
            1_790_000_000_000,
            left,
            &mut data,
        );
        let size = u32::try_from(data.len()).unwrap_or(0).to_be_bytes();
        let crc = crc32fast::hash(&data).to_be_bytes();
        out(&[&b"ZCH0"[..], &size, &size, &crc, &data].concat());
        left = left.saturating_sub(data.len() as u64 + 16);
    }
}

pub(crate) fn requests(seed: u64, bytes: u64, out: Out<'_>) {
    use base64::Engine as _;
    let mut random = Random::new(seed);
    let mut left = bytes;
    let mut first = true;
    while left > 0 {
        let mut body = Vec::new();
        let (uri, header) = if first {
            definitions(&mut body, false);
            body.truncate(if bytes > 64 << 10 { body.len() } else { 0 });
            ("agd", "\"X-Zorka-Session-Reset\":[\"true\"]".to_owned())
        } else {
            trace(
                GenerationChoice::C,
                &mut random,
                1_790_000_000_000,
                left,
                &mut body,
            );
            let id = format!("{:016x}{:016x}", random.bits(), random.bits());
            ("trc", format!("\"X-Zorka-Trace-ID\":[\"{id}\"]"))
        };
        first = false;
        let body = base64::engine::general_purpose::STANDARD.encode(&body);
        let line = format!(
            "{{\"uri\":\"/agent/submit/{uri}\",\"headers\":{{\"X-Zorka-Session-ID\":[\"0123456789abcdef\"],{header}}},\"body\":\"{body}\"}}\n"
        );
        out(line.as_bytes());
        left = left.saturating_sub(line.len() as u64);
    }
}
