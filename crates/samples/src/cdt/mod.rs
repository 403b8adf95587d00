//! Data of an invented service, for laws, fuzzing, benches and the sample that is shipped.
//!
//! One generator makes all streams of a process, consistent with each other: rows of calls point to
//! the blocks of their trees, tags to statements and values, ids to words. Everything follows from a
//! seed and nothing is kept but the threads' buffers, so a dump may have any size.

mod gc_log;
mod service;
mod words;

use std::collections::BTreeMap;

pub use service::{Detail, Emit, Service, StreamName};

use traceloom_formats::cdt::phrase::Phrases;
use traceloom_formats::cdt::tcp::{Command, Granted, Handle};
use traceloom_formats::cdt::{blst, params, put_text, suspend, tcp};
use traceloom_formats::wire::{Utf16, put_u32_varint};
use traceloom_formats::{Error, Output};

use crate::random::Random;

/// Writes the dump directory of one process with about `trace_bytes` of trace, as an agent does.
///
/// Paths are `<server>/<yyyy>/<MM>/<dd>/<startMs>/<stream>/<index>`, streams are not in phrases.
///
/// # Errors
/// What the output fails with.
pub fn dump(seed: u64, trace_bytes: u64, server: &str, out: &mut dyn Output) -> Result<(), Error> {
    let mut service = Service::new(seed, Detail::default());
    let folder = format!("{server}/2026/03/14/{}", service.start());
    run(&mut service, trace_bytes, &mut |stream, index, bytes| {
        let name = format!("{folder}/{}/{index:06}", stream.name());
        out.write(&name, bytes)
    })
}

/// Writes the streams of one process into a folder, as a collector receives them: dictionary, params
/// and suspend in phrases.
///
/// # Errors
/// What the output fails with.
pub fn streams(
    seed: u64,
    trace_bytes: u64,
    folder: &str,
    out: &mut dyn Output,
) -> Result<(), Error> {
    let mut service = Service::new(seed, Detail::default());
    framed(&mut service, trace_bytes, &mut |stream, index, bytes| {
        let name = format!("{folder}/{}/{index:06}", stream.name());
        out.write(&name, bytes)
    })
}

/// Writes the dump directory of the process that `shop.story` tells of.
///
/// # Errors
/// What the output fails with; a story that cannot be read.
pub fn shop(server: &str, out: &mut dyn Output) -> Result<(), Error> {
    let mut service = Service::new(7, Detail::default());
    let folder = format!("{server}/2026/03/14/{}", service.start());
    service.tell(include_str!("shop.story"), &mut |stream, index, bytes| {
        let name = format!("{folder}/{}/{index:06}", stream.name());
        out.write(&name, bytes)
    })
}

/// Runs a service until its trace has so many bytes, and to the end of what it began.
fn run(service: &mut Service, trace_bytes: u64, emit: &mut Emit<'_>) -> Result<(), Error> {
    service.begin(emit)?;
    while service.trace_bytes() < trace_bytes {
        service.step(emit)?;
    }
    service.finish(emit)
}

/// Runs a service with three of its streams in phrases.
fn framed(service: &mut Service, trace_bytes: u64, emit: &mut Emit<'_>) -> Result<(), Error> {
    let mut phrases: BTreeMap<&'static str, (StreamName, Phrases)> = BTreeMap::new();
    run(service, trace_bytes, &mut |stream, index, bytes| {
        if !stream.is_framed() {
            return emit(stream, index, bytes);
        }
        let (_, phrases) = phrases
            .entry(stream.name())
            .or_insert_with(|| (stream, Phrases::default()));
        let mut out = Vec::new();
        phrases.record(bytes, &mut out);
        if out.is_empty() {
            return Ok(());
        }
        emit(stream, index, &out)
    })?;
    for (stream, mut phrases) in phrases.into_values() {
        let mut out = Vec::new();
        phrases.flush(&mut out);
        emit(stream, 1, &out)?;
    }
    Ok(())
}

/// Makes one stream of a service.
fn only(wanted: StreamName, seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let detail = Detail {
        trace: wanted != StreamName::Calls,
        ..Detail::default()
    };
    let mut service = Service::new(seed, detail);
    let mut made = 0;
    let mut emit = |stream: StreamName, index: u32, piece: &[u8]| {
        if stream == wanted && index == 1 {
            made += piece.len() as u64;
            out(piece);
        }
        if made >= bytes {
            // The caller has enough: any error ends the run.
            return Err(Error::usage("enough"));
        }
        Ok(())
    };
    let mut run = || {
        service.rotate(false);
        service.begin(&mut emit)?;
        loop {
            service.step(&mut emit)?;
        }
    };
    let _: Result<(), Error> = run();
}

pub(crate) fn calls(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    only(StreamName::Calls, seed, bytes, out);
}

pub(crate) fn trace(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    only(StreamName::Trace, seed, bytes, out);
}

/// Emits records until there are enough bytes, in phrases for odd seeds.
fn rows(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8]), mut row: impl FnMut(u32, &mut Vec<u8>)) {
    let mut phrases = Phrases::default();
    let (mut record, mut piece) = (Vec::new(), Vec::new());
    let mut made = 0;
    let mut number = 0;
    while made < bytes {
        record.clear();
        row(number, &mut record);
        number = number.saturating_add(1);
        if seed % 2 == 1 {
            piece.clear();
            phrases.record(&record, &mut piece);
        } else {
            piece.clone_from(&record);
        }
        made += piece.len() as u64;
        out(&piece);
    }
    piece.clear();
    phrases.flush(&mut piece);
    out(&piece);
}

fn put(out: &mut Vec<u8>, word: &str) {
    put_text(out, Utf16(&Utf16::encode(word)));
}

pub(crate) fn dictionary(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut word = String::new();
    let explicit = seed % 4 >= 2;
    rows(seed, bytes, out, |number, record| {
        if explicit {
            put_u32_varint(record, number);
        }
        match words::TAGS.get(number as usize) {
            Some(tag) => put(record, tag),
            None => {
                words::method(number as usize % words::LAYERS.len(), number, &mut word);
                put(record, &word);
            }
        }
    });
}

pub(crate) fn params(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    rows(seed, bytes, out, |number, record| {
        if number == 0 {
            return record.push(params::VERSION);
        }
        let known = words::PARAMS.get(number as usize - 1);
        let mut random = Random::new(seed ^ u64::from(number));
        let (index, list) = (random.per_mille(500), random.per_mille(300));
        let name = format!("param.{number}");
        let made = (name.as_str(), index, list, random.below(3) * 450 + 100, "");
        service::put_param(record, *known.unwrap_or(&made));
    });
}

pub(crate) fn suspend(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    rows(seed, bytes, out, |number, record| {
        if number == 0 {
            return record.extend(service::start_of(seed).to_be_bytes());
        }
        let delay = random.skewed(900) + 5;
        let delta = delay + random.skewed(20_000);
        suspend::Pause {
            delta: delta.cast_signed(),
            delay,
        }
        .write(record);
    });
}

pub(crate) fn sql(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut word = String::new();
    rows(seed & !1, bytes, out, |number, record| {
        words::statement(number, &mut word);
        put(record, &word);
    });
}

pub(crate) fn xml(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut word = String::new();
    let mut random = Random::new(seed);
    rows(seed & !1, bytes, out, |_, record| {
        words::binds(&mut random, &mut word);
        put(record, &word);
    });
}

pub(crate) fn gc(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut log = gc_log::GcLog::new(seed);
    rows(seed & !1, bytes, out, |_, record| {
        let mut line = String::new();
        log.line(&mut line);
        record.extend_from_slice(line.as_bytes());
    });
}

pub(crate) fn blst(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let format = seed % 4 + 1;
    let start = service::start_of(seed);
    rows(seed & !1, bytes, out, |number, record| {
        if number == 0 {
            return put(record, &format!("{}{format}", blst::MAGIC));
        }
        let stream = random.pick(&["trace", "calls", "sql", "xml"]);
        let path = Utf16::encode(&format!("2026/03/14/{start}/{stream}/{number:06}.gz"));
        let op = Utf16::encode(random.pick(&["A", "A", "A", "C", "D"]));
        blst::Entry {
            op: Utf16(&op),
            path: Utf16(&path),
            mtime: start.cast_unsigned() + u64::from(number) * 1000,
            size: u64::from(random.below(10_000_000)),
            dependent: (format >= 2).then_some(Utf16(&[])),
        }
        .write(record);
    });
}

/// Makes a conversation: handshake, streams opened, data in pieces of a kilobyte, acknowledgements.
pub(crate) fn tcp(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut service = Service::new(seed, Detail::default());
    let mut random = Random::new(seed ^ 0x7463_7000);
    let pod = format!("shop-6f7c9d-x2v_{}", service.start());
    let mut piece = Vec::new();
    let [_, version, _] = tcp::VERSIONS;
    Command::GetProtocolVersionV2 {
        client_version: version,
        pod: pod.as_bytes(),
        service: b"shop",
        namespace: b"retail",
        server_version: version,
    }
    .write(&mut piece);
    out(&piece);
    let mut handles: BTreeMap<(&'static str, u32), Handle> = BTreeMap::new();
    let mut send = |stream: StreamName, index: u32, data: &[u8]| {
        let mut piece = Vec::new();
        let mut acks = 0;
        let handle = *handles.entry((stream.name(), index)).or_insert_with(|| {
            let bits = u128::from(random.bits()) << 64 | u128::from(random.bits()) | 1;
            let handle = bits.to_be_bytes();
            Command::InitStream {
                identity: None,
                stream: stream.name().as_bytes(),
                requested_sequence: index - 1,
                reset: u32::from(stream == StreamName::Dictionary),
                handle,
                granted: Some(Granted {
                    rotation_period: 3_600_000,
                    rotation_size: 2_097_152,
                    sequence: index - 1,
                }),
            }
            .write(&mut piece);
            handle
        });
        for data in data.chunks(tcp::LONGEST_FIELD) {
            Command::RcvData { handle, data }.write(&mut piece);
            acks += 1;
        }
        if random.per_mille(300) {
            Command::RequestAckFlush.write(&mut piece);
            acks += 1;
        }
        piece.resize(piece.len() + acks, 0);
        out(&piece);
        Ok(())
    };
    // About nine tenths of what is sent is trace.
    let _: Result<(), Error> = framed(&mut service, bytes * 9 / 10, &mut send);
    piece.clear();
    Command::Close.write(&mut piece);
    out(&piece);
}
