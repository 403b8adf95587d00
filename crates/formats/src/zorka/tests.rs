//! The traps of the specification, one test each, on bytes built here.

use traceloom_model::{Level, Limits, Recording, SpanStatus};

use super::{AGD, B1, B2, C, Item, REQUESTS, Reader, Record, S0, S0B, STORE, TwoItems, Visit};
use crate::{Chunk, Format, LowerOptions, Probe, RaiseOptions, Records, SliceSource, read_slice};

/// Reads hex with spaces.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .map(|digit| (digit as char).to_digit(16).unwrap() as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn read(format: &Format, bytes: &[u8]) -> Records {
    let mut records = Records::default();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        bytes,
        &mut records,
    );
    assert_eq!(records.written(), bytes);
    records
}

fn lower(parts: &[(&str, &'static Format, &[u8])]) -> Recording {
    let mut source = SliceSource::default();
    for (name, format, bytes) in parts {
        source = source.with(name, format, bytes);
    }
    let mut recording = Recording::default();
    (C.lower.unwrap())(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

fn kinds(recording: &Recording) -> Vec<&'static str> {
    recording
        .notes
        .kept()
        .iter()
        .map(|note| note.kind)
        .collect()
}

static B2_ROW: Format = B2;
static B1_ROW: Format = B1;
static S0_ROW: Format = S0;
static C_ROW: Format = C;
static AGD_ROW: Format = AGD;
static STORE_ROW: Format = STORE;
static REQUESTS_ROW: Format = REQUESTS;

fn claims(bytes: &[u8]) -> Vec<&'static str> {
    let probe = Probe {
        head: bytes,
        whole: true,
        name: "capture",
        siblings: &[],
    };
    [S0, S0B, B1, B2, C, AGD, STORE, REQUESTS]
        .iter()
        .filter(|format| (format.probe)(&probe).is_some())
        .map(|format| format.name)
        .collect()
}

/// A record of S0 around `inner`: method 10, ticks 100 to 104, one call.
fn s0(inner: &str) -> Vec<u8> {
    hex(&format!(
        "d80b9f48 64 00000000 0a0000 {inner} 48 68 00000000 010000 ff"
    ))
}

/// A record of B, little-endian.
fn b(inner: &str) -> Vec<u8> {
    hex(&format!(
        "c89fcb48 64 00000000 0a0000 {inner} cd48 68 00000000 010000 ff"
    ))
}

#[test]
fn generations_are_told_apart_by_their_bytes() {
    let begin = "d82182 1b00000165920d0ef0 01";
    let span = "d82182 1b00000165920d0ef0 1b1122334455667788";
    assert_eq!(claims(&s0(begin)), ["zorka-s0"]);
    assert_eq!(
        claims(&hex("c89fcb48 6400000000 0a0000 48 6800000000 010000 ff")),
        ["zorka-s0b"]
    );
    assert_eq!(claims(&b(begin)), ["zorka-b1"]);
    assert_eq!(claims(&b(span)), ["zorka-b2"]);
    assert_eq!(claims(&b("d82181 1b00000165920d0ef0")), ["zorka-b2"]);
    assert_eq!(claims(&hex("c39f0a01 c4821401ff")), ["zorka-c"]);
    assert_eq!(
        claims(&hex("c3820a1a000f4240 c4821a0089544001ff")),
        ["zorka-c"]
    );
    assert_eq!(claims(&hex("c1830b6161 00")), ["zorka-agd"]);
    assert_eq!(
        claims(&hex("c89f cea10c00 cea10e04 cea10d19026e cea1091833 ff")),
        ["zorka-b2"]
    );
    assert_eq!(claims(b"ZTS0\0\0\0\x11\0\0\0\0\0\0\0\0"), ["zorka-store"]);
    assert_eq!(
        claims(b"{\"uri\":\"/agent/submit/agd\",\"headers\":{},\"body\":\"\"}\n"),
        ["zorka-requests"]
    );
    assert_eq!(claims(b"Hello, wide world of plain text\n"), [""; 0]);
    assert_eq!(claims("ß is c3 9f, and no record".as_bytes()), [""; 0]);
}

#[test]
fn big_endian_words_have_the_method_first() {
    let bytes = hex("d80a9f48 000028 00012346c7 50 0000000001235a50 0000000001312d01 ff");
    let records = read(&S0, &bytes);
    assert_eq!(records.kinds(), ["start", "end"]);
    assert!(
        records.rows()[0]
            .3
            .contains("order=Str(\"big\") tick=I64(19089095) method=Id(\"method\", 40)")
    );
    assert!(
        records.rows()[1]
            .3
            .contains("tick=I64(19094096) calls=U64(20000001) long_calls=Bool(true)")
    );
}

#[test]
fn the_seeds_own_numbers_are_read() {
    // Tag 12 on a map is attributes, on a byte string the big-endian epilog; 6 and 7 begin records.
    let bytes = s0("cca1 02 616b");
    assert_eq!(read(&S0, &bytes).kinds(), ["start", "attribute", "end"]);
    let bytes = hex("c79f48 6400000000 0a0000 48 6800000000 010000 ff");
    assert_eq!(read(&S0, &bytes).kinds(), ["start", "end"]);
    let bytes = hex("cb9f48 6400000000 0a0000 48 6800000000 010000 ff");
    assert_eq!(read(&S0, &bytes).kinds(), ["start", "end"]);
    let bytes = hex("c89fca48 00000a 0000000064 cc48 000001 0000000068 ff");
    assert_eq!(read(&B2, &bytes).kinds(), ["start", "end"]);
}

#[test]
fn a_value_that_an_s0_writer_left_out_does_not_take_the_epilog() {
    let bytes = s0("c9a102");
    let records = read(&S0, &bytes);
    assert_eq!(records.kinds(), ["start", "attribute", "end"]);
    assert_eq!(records.notes()[0].kind, "missing_value");
    // Eight bytes that are a value stay one.
    let records = read(&S0, &s0("c9a102 480102030405060708"));
    assert_eq!(records.kinds(), ["start", "attribute", "end"]);
    assert!(records.notes().is_empty());
}

#[test]
fn flags_tell_errors_by_generation() {
    let c = |flags: &str| hex(&format!("c39f0a01 c583010409 c4831401 {flags} ff"));
    let status = |bytes: &[u8], row| lower(&[("a", row, bytes)]).spans.status[0];
    assert_eq!(status(&c("192108"), &C_ROW), SpanStatus::Complete);
    assert_eq!(status(&c("193108"), &C_ROW), SpanStatus::Error);
    assert_eq!(
        status(&b("d82181 1b00000165920d0ef0 cf08"), &B2_ROW),
        SpanStatus::Error
    );
    assert_eq!(
        status(&b("d82181 1b00000165920d0ef0 cf01"), &B2_ROW),
        SpanStatus::Complete
    );
}

#[test]
fn a_begin_of_two_items_is_a_type_when_it_is_a_symbol() {
    let symbols = hex("c18301 6448545450 00");
    let small = b("d82182 1b00000165920d0ef0 01");
    let recording = lower(&[
        ("s/a.agd", &AGD_ROW, &symbols),
        ("s/b.trc", &B2_ROW, &small),
    ]);
    assert_eq!(
        recording.text(*recording.spans.kind.get(0).unwrap()),
        "HTTP"
    );
    assert!(recording.spans.context.get(0).is_none());
    let unknown = b("d82182 1b00000165920d0ef0 18 63");
    let recording = lower(&[
        ("s/a.agd", &AGD_ROW, &symbols),
        ("s/b.trc", &B2_ROW, &unknown),
    ]);
    assert_eq!(recording.spans.kind.get(0), None);
    assert_eq!(recording.spans.context.get(0).unwrap().span, 99);
    assert_eq!(read(&B2, &small).notes()[0].kind, "guessed_begin");
    assert!(read(&B1_ROW, &small).notes().is_empty());
}

#[test]
fn ticks_go_round_and_backward_records_last_nothing() {
    let round = hex("c89fcb48 ffffffffff 010000 cd48 0200000000 010000 ff");
    let recording = lower(&[("a", &B2_ROW, &round)]);
    assert_eq!(
        recording.spans.end[0] - recording.spans.start[0],
        3 * 65_536
    );
    assert!(kinds(&recording).is_empty());
    let back = hex("c89fcb48 0000100000 010000 cd48 0000080000 010000 ff");
    let recording = lower(&[("a", &B2_ROW, &back)]);
    assert_eq!(recording.spans.end[0], recording.spans.start[0]);
    assert_eq!(kinds(&recording), ["negative_duration"]);
}

#[test]
fn a_stream_that_begins_and_ends_inside_records_is_partial() {
    let bytes = hex("cd48 6800000000 070000 ff ff c89fcb48 6900000000 0a0000");
    let recording = lower(&[("a", &B2_ROW, &bytes)]);
    assert_eq!(
        recording.spans.status,
        [SpanStatus::PartialStart, SpanStatus::PartialEnd]
    );
    assert_eq!(recording.spans.counters(0)[0].1, 7);
    assert_eq!(kinds(&recording), ["continuation", "open_records"]);
}

#[test]
fn records_and_values_nest_deeper_than_the_stack() {
    let mut bytes = hex("c89fcb48 6400000000 0a0000").repeat(200_000);
    bytes.extend(hex("c9a1c601"));
    bytes.extend([0x81].repeat(200_000));
    bytes.push(0);
    bytes.extend(hex("c9a1c602"));
    bytes.extend([0x9f].repeat(100_000));
    bytes.extend([0xff].repeat(100_000));
    bytes.extend(hex("cd48 6800000000 010000 ff").repeat(200_000));
    let records = read(&B2, &bytes);
    assert_eq!(records.kinds().len(), 400_002);
    assert!(records.notes().is_empty());
    let recording = lower(&[("a", &B2_ROW, &bytes)]);
    assert_eq!(recording.spans.len(), 200_000);
    assert_eq!(recording.spans.depth[0], 199_999);
    assert_eq!(kinds(&recording), ["deep_value", "deep_value"]);
}

#[test]
fn lengths_that_lie_take_no_memory() {
    for lie in [
        "c9a1c601 7b00ffffffffffff",
        "c9bbffffffffffffffff",
        "d82285 01 9bffffffffffffffff",
    ] {
        let bytes = b(lie);
        let records = read(&B2, &bytes);
        assert_eq!(records.rows()[0].0, "start", "{lie}");
        assert!(
            records
                .notes()
                .iter()
                .any(|note| note.level == Level::Damage),
            "{lie}"
        );
    }
}

#[test]
fn damage_ends_where_the_next_item_begins() {
    let mut bytes = b("c9a1c601 6161");
    bytes.extend(b"/2/zzzz");
    bytes.extend(b(""));
    let records = read(&B2, &bytes);
    assert_eq!(
        records.kinds(),
        ["start", "attribute", "end", "damage", "start", "end"]
    );
    let note = &records.notes()[0];
    assert_eq!(
        (note.kind, note.level, note.count),
        ("bad_item", Level::Damage, 7)
    );
    let cut = &b("c9a1c601 6161")[..20];
    let records = read(&B2, cut);
    let note = &records.notes()[0];
    assert_eq!((note.kind, note.level), ("partial_record", Level::Warn));
}

#[test]
fn any_value_with_references_at_any_depth() {
    let symbols = hex("c18301 616b 00 c18302 6176 00");
    let bytes = b("c9 a3 c601 82 c602 a1 c601 c602  82 01 02 f7  63616263 7f 6161 6162 ff");
    let recording = lower(&[
        ("s/a.agd", &AGD_ROW, &symbols),
        ("s/b.trc", &B2_ROW, &bytes),
    ]);
    let shown: Vec<String> = recording
        .spans
        .attributes
        .row(0)
        .iter()
        .map(|attribute| {
            let key = recording.attribute_key(attribute.key).unwrap();
            format!(
                "{}={}",
                recording.text(key.name),
                show(&recording, &attribute.value)
            )
        })
        .collect();
    assert_eq!(shown, ["k=[v, {k: v}]", "[1, 2]=null", "abc=ab"]);
}

fn show(recording: &Recording, value: &traceloom_model::Value) -> String {
    use traceloom_model::Value;
    let all = |values: &[Value]| {
        let all: Vec<_> = values.iter().map(|value| show(recording, value)).collect();
        all.join(", ")
    };
    match value {
        Value::Text(text) => recording.text(*text).into_owned(),
        Value::List(_, values) => format!("[{}]", all(values)),
        Value::Map(pairs) => {
            let pair = |(key, value): &(Value, Value)| {
                format!("{}: {}", show(recording, key), show(recording, value))
            };
            let pairs: Vec<_> = pairs.iter().map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Null => "null".to_owned(),
        Value::I64(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_reset_starts_empty_and_sessions_do_not_mix() {
    use base64::Engine as _;
    let line = |session: &str, reset: bool, kind: &str, body: &[u8]| {
        let body = base64::engine::general_purpose::STANDARD.encode(body);
        format!(
            "{{\"uri\":\"/agent/submit/{kind}\",\"headers\":{{\"X-Zorka-Session-ID\":[\"{session}\"],\"x-zorka-session-reset\":[\"{reset}\"]}},\"body\":\"{body}\"}}\n"
        )
    };
    let method = hex("c18301 6141 05 c18302 616d 06 c2840a010200");
    let mut dump = line("one", true, "agd", &method);
    dump += &line("one", false, "trc", &b(""));
    dump += &line("two", true, "trc", &b(""));
    dump += &line("one", true, "trc", &b(""));
    let recording = lower(&[("log.dump", &REQUESTS_ROW, dump.as_bytes())]);
    let names: Vec<_> = recording
        .spans
        .function
        .iter()
        .map(|id| recording.function_name(id.unwrap()).into_owned())
        .collect();
    assert_eq!(names, ["A.m", "#10", "#10"]);
}

#[test]
fn a_processed_trace_has_its_facts() {
    let bytes = hex(
        "c89f cea10c00 cea10e04 cea1051b000001a1fbbef6eb cea1121b457342d1b2390e64 c9a1c605c60a cea10d19026e cea1091833 ff",
    );
    let recording = lower(&[("a", &B2_ROW, &bytes)]);
    let span = recording.spans.row(0).unwrap();
    assert_eq!(span.start, 0x01a1_fbbe_f6eb * 1_000_000);
    assert_eq!(span.duration(), 622 * 65_536);
    assert_eq!(span.context.unwrap().span, 0x4573_42d1_b239_0e64);
    assert_eq!(span.counters[0].1, 51);
    assert_eq!(recording.function_name(span.function.unwrap()), "#4");
    assert!(kinds(&recording).is_empty());
}

#[test]
fn chunk_metadata_is_a_call() {
    let bytes = hex(
        "d841 1b1122334455667788 02 03 04 00 1830 1b18e9000000000000 1a000f4240 10 00 00 01 05 00 02 18 64 18 70 a1 05 06 a1 07 18 2a",
    );
    let records = read(&B2, &bytes);
    assert_eq!(records.kinds(), ["chunk_metadata"]);
    let recording = lower(&[("meta", &B2_ROW, &bytes)]);
    let span = recording.spans.row(0).unwrap();
    assert_eq!(span.duration(), 1_000_000);
    let context = span.context.unwrap();
    assert_eq!(context.trace, 0x1122_3344_5566_7788_0000_0000_0000_0002);
    assert_eq!((context.parent, context.span), (3, 4));
    assert_eq!(span.counters[0].1, 5);
    assert_eq!(span.attributes.len(), 2);
}

/// A store with one block.
fn stored(flags: u8, plain: &[u8], packed: &[u8]) -> Vec<u8> {
    let mut bytes = b"ZTS0\0\0\0".to_vec();
    bytes.push(flags);
    bytes.extend([0; 8]);
    bytes.extend(b"ZCH0");
    for word in [
        packed.len() as u32,
        plain.len() as u32,
        crc32fast::hash(packed),
    ] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(packed);
    bytes
}

#[test]
fn stores_unpack_deflate_without_a_final_block_and_lz4() {
    let plain = b("d82181 1b00000165920d0ef0 c9a1c601 6161");
    // One stored block and a full flush, as java.util.zip writes it; nothing says that it is over.
    let len = plain.len() as u16;
    let mut deflate = vec![0];
    deflate.extend(len.to_le_bytes());
    deflate.extend((!len).to_le_bytes());
    deflate.extend(&plain);
    deflate.extend([0, 0, 0, 0xff, 0xff]);
    let lz4 = lz4_flex::block::compress(&plain);
    for (flags, packed) in [(0x10, &plain), (0x11, &deflate), (0x12, &lz4)] {
        let bytes = stored(flags, &plain, packed);
        let records = read(&STORE, &bytes);
        assert_eq!(records.kinds(), ["store_header", "block"]);
        assert!(records.notes().is_empty(), "{flags:#x}");
        let recording = lower(&[("traces.dat", &STORE_ROW, &bytes)]);
        assert_eq!(
            recording.spans.len(),
            1,
            "{flags:#x} {:?}",
            recording.notes.kept()
        );
        assert_eq!(recording.spans.start[0], 1_535_753_654_000_000_000);
        assert!(kinds(&recording).is_empty());
    }
    let mut bytes = stored(0x11, &plain, &deflate);
    let last = bytes.len() - 8;
    bytes[last] ^= 1;
    assert_eq!(read(&STORE, &bytes).notes()[0].kind, "bad_crc");
    let torn = &bytes[..bytes.len() - 3];
    assert_eq!(read(&STORE, torn).notes()[0].kind, "partial_record");
}

#[test]
fn seed_trace_ids_group_records() {
    let bytes = s0("d82182 1b00000165920d0ef0 1a00bc614e");
    let recording = lower(&[("a", &S0_ROW, &bytes)]);
    assert_eq!(recording.spans.context.get(0).unwrap().trace, 12_345_678);
    assert_eq!(recording.spans.kind.get(0), None);
}

#[test]
fn inner_exceptions_are_shared_by_reference_and_cause() {
    let bytes = s0(
        "d80b9f48 6500000000 0b0000 d82285 07 c601 616d 80 d82285 08 6145 f6 80 f6 48 6600000000 010000 ff d82307",
    );
    let recording = lower(&[("a", &S0_ROW, &bytes)]);
    assert_eq!(
        recording.spans.exception.get(0),
        recording.spans.exception.get(1)
    );
    let outer = recording
        .exception(*recording.spans.exception.get(0).unwrap())
        .unwrap();
    let cause = recording.exception(outer.cause.unwrap()).unwrap();
    assert_eq!(recording.text(cause.class.unwrap()), "E");
    assert_eq!(cause.message, None);
}

/// Counts items of each reading to compare typed and dynamic readers.
#[derive(Default)]
struct Canonical(u32, u32);

impl Visit for Canonical {
    fn record(&mut self, record: &Record<'_>) -> traceloom_model::Flow {
        self.0 += u32::from(record.canonical);
        self.1 += u32::from(matches!(record.item, Item::Damage));
        std::ops::ControlFlow::Continue(())
    }

    fn note(&mut self, _note: traceloom_model::Note) -> traceloom_model::Flow {
        std::ops::ControlFlow::Continue(())
    }
}

#[test]
fn samples_are_canonical_so_that_their_bytes_come_from_the_fields() {
    for format in [S0, S0B, B1, B2, C, AGD] {
        let mut bytes = Vec::new();
        (traceloom_samples::by_name(format.name).unwrap())(3, 100_000, &mut |piece| {
            bytes.extend_from_slice(piece)
        });
        let items = read(&format, &bytes).kinds().len();
        let mut counted = Canonical::default();
        let chunk = Chunk {
            bytes: &bytes,
            offset: 0,
            eof: true,
        };
        Reader::new(&Limits::default(), TwoItems::Guess).read(chunk, &mut counted);
        assert_eq!(counted.0 as usize, items, "{}", format.name);
        assert_eq!(counted.1, 0, "{}", format.name);
    }
}

/// Writes a source as another format and reads that back.
fn again(
    from: &'static Format,
    bytes: &[u8],
    to: &'static Format,
    variant: Option<&str>,
) -> Recording {
    let options = RaiseOptions {
        variant: variant.map(str::to_owned),
        sources: vec![from.name],
    };
    let mut written = Vec::new();
    let mut target = (to.raise.unwrap())(&options, &mut written).unwrap();
    let source = SliceSource::default().with("a", from, bytes);
    (C.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
    target.finish().unwrap();
    drop(target);
    let back = lower(&[("b", to, &written)]);
    let mut notes = back.notes.kept().iter();
    assert!(notes.all(|note| note.level == Level::Info), "{}", to.name);
    back
}

fn identities(recording: &Recording) -> Vec<(u128, u64, u64)> {
    let rows = recording.spans.iter().filter_map(|row| row.context);
    let mut ids: Vec<_> = rows.map(|ids| (ids.trace, ids.span, ids.parent)).collect();
    ids.sort_unstable();
    ids
}

fn sample(make: traceloom_samples::Sample, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    make(seed, 100_000, &mut |piece| bytes.extend_from_slice(piece));
    bytes
}

fn made(format: &Format) -> Vec<u8> {
    traceloom_samples::bytes(format.name, 3, 100_000)
}

#[test]
fn spans_and_traces_keep_their_ids() {
    for format in [&B2_ROW, &C_ROW] {
        let bytes = made(format);
        let before = identities(&lower(&[("a", format, &bytes)]));
        assert!(before.len() > 50);
        assert_eq!(identities(&again(format, &bytes, format, None)), before);
    }
    // Headers say the ids of traces; no stream has headers.
    let bytes = made(&REQUESTS);
    let before = lower(&[("a", &REQUESTS_ROW, &bytes)]);
    let before = identities(&before);
    assert!(before.iter().all(|ids| ids.0 != 0));
    for to in [&REQUESTS_ROW, &C_ROW, &B2_ROW] {
        let back = identities(&again(&REQUESTS_ROW, &bytes, to, None));
        assert_eq!(back, before, "{}", to.name);
    }
    let of_traces =
        |ids: Vec<(u128, u64, u64)>| ids.into_iter().map(|ids| ids.0).collect::<Vec<_>>();
    let back = again(&REQUESTS_ROW, &bytes, &S0_ROW, None);
    assert_eq!(of_traces(identities(&back)), of_traces(before));
    let named = |key: &traceloom_model::AttributeKey| back.text(key.name) == "trace.id";
    let key = back
        .attribute_keys
        .iter()
        .position(|key| key.as_ref().is_some_and(named));
    let key = traceloom_model::AttrKeyId::new(key.unwrap() as u32);
    let mut said = back.spans.iter().flat_map(|row| row.attributes);
    assert!(said.all(|attribute| attribute.key != key));
}

#[test]
fn a_trace_id_of_the_seed_is_no_symbol() {
    for id in ["07", "1a00bc614e"] {
        let bytes = s0(&format!("d82182 1b00000165920d0ef0 {id} c9a1026161"));
        let mut stream = hex("c18302617500 c18301616100");
        stream.extend(bytes);
        let before = identities(&lower(&[("a", &S0_ROW, &stream)]));
        assert_ne!(before[0].0, 0);
        assert_eq!(identities(&again(&S0_ROW, &stream, &S0_ROW, None)), before);
    }
}

#[test]
fn a_small_span_id_of_b2_is_no_symbol() {
    let bytes =
        hex("c18201 6161 c39f 01 00 c583 1b00000165920d0ef0 00 01 c68201 6162 c482 02 01 ff");
    let back = again(&C_ROW, &bytes, &B2_ROW, None);
    assert_eq!(identities(&back), [(0, 1, 0)]);
    assert_eq!(back.spans.kind.get(0), None);
}

/// Values of attributes that are no text, integer, boolean or null.
fn typed(recording: &Recording) -> usize {
    use traceloom_model::Value;
    let values = recording.spans.iter().flat_map(|row| row.attributes);
    let is_typed = |value: &Value| matches!(value, Value::F64(_) | Value::List(..) | Value::Map(_));
    values
        .filter(|attribute| is_typed(&attribute.value))
        .count()
}

#[test]
fn the_original_reads_what_is_written_unless_it_came_otherwise() {
    let agents = made(&C);
    assert_eq!(typed(&lower(&[("a", &C_ROW, &agents)])), 0);
    let all = sample(traceloom_samples::zorka::c_typed, 3);
    let n_typed = typed(&lower(&[("a", &C_ROW, &all)]));
    assert!(n_typed > 50);
    assert_eq!(typed(&again(&C_ROW, &all, &C_ROW, None)), n_typed);
    assert_eq!(typed(&again(&C_ROW, &all, &B2_ROW, None)), 0);
    let of_b = made(&B1);
    let n_typed = typed(&lower(&[("a", &B1_ROW, &of_b)]));
    assert!(n_typed > 50);
    assert_eq!(typed(&again(&B1_ROW, &of_b, &C_ROW, None)), 0);
    assert_eq!(typed(&again(&B1_ROW, &of_b, &C_ROW, Some("agent"))), 0);
    assert_eq!(
        typed(&again(&B1_ROW, &of_b, &C_ROW, Some("typed"))),
        n_typed
    );
}

#[test]
fn an_attribute_for_the_trace_around_a_trace_stays_there() {
    // A trace of type 1 around another one, which says an attribute before its begin.
    let bytes = hex(
        "c18201 6141 c18202 6142 c39f 01 00 c582 1b00000165920d0ef0 01 \
         c39f 02 00 c683 01 02 6175 c582 1b00000165920d0ef0 01 c482 03 01 ff c482 04 02 ff",
    );
    let owners = |recording: &Recording| {
        let rows = recording.spans.iter();
        rows.map(|row| (row.parent.is_none(), row.attributes.len()))
            .collect::<Vec<_>>()
    };
    let before = lower(&[("a", &C_ROW, &bytes)]);
    assert_eq!(owners(&before), [(false, 0), (true, 1)]);
    assert_eq!(
        owners(&again(&C_ROW, &bytes, &C_ROW, None)),
        owners(&before)
    );
}

#[test]
fn a_first_symbol_longer_than_the_head_is_recognised_once_it_is_seen() {
    let mut bytes = hex("c18201 7a00020000");
    bytes.extend(vec![b'n'; 0x20000]);
    bytes.extend(hex("c28401 00 01 00 c39f 01 01 c482 02 01 ff"));
    let probe = |len: usize| {
        let part = Probe {
            head: &bytes[..len],
            whole: len == bytes.len(),
            name: "a.bin",
            siblings: &[],
        };
        let rows = [&AGD_ROW, &C_ROW, &B2_ROW];
        let claims = rows
            .into_iter()
            .filter_map(|row| Some((row.name, (row.probe)(&part)?)));
        claims.collect::<Vec<_>>()
    };
    assert_eq!(probe(65_536), [("zorka-agd", crate::Confidence::Possible)]);
    assert_eq!(
        probe(bytes.len()),
        [("zorka-c", crate::Confidence::Certain)]
    );
}
