//! The contradictions of the specification, C1 to C22 (SPEC.md §10), each with the reading taken.

use std::time::Duration;

use traceloom_model::{Flow, Level, Value};

use super::*;
use crate::tptp::binary::read_message;
use crate::tptp::negotiate::{Act, Client};
use crate::tptp::option::Encoding;
use crate::tptp::{BINARY, Kind, MESSAGES, by_id, to_xml};
use crate::{SlicePull, tptp};

/// Bytes with the numbers in the order that the descriptor says.
struct Stream {
    big: bool,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(big: bool) -> Self {
        let mut stream = Self {
            big,
            bytes: b"0TBF\x01\x00\x01".to_vec(),
        };
        stream.bytes.push(u8::from(!big));
        stream.int(12);
        stream
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put(&mut self, mut little: Vec<u8>) {
        if self.big {
            little.reverse();
        }
        self.raw(&little);
    }

    fn short(&mut self, value: u16) {
        self.put(value.to_le_bytes().into());
    }

    fn int(&mut self, value: u32) {
        self.put(value.to_le_bytes().into());
    }

    fn longs(&mut self, values: &[u64]) {
        for value in values {
            self.put(value.to_le_bytes().into());
        }
    }

    /// A message whose size says `less` bytes less than it takes.
    fn message(&mut self, id: u16, less: u32, fill: impl FnOnce(&mut Self)) {
        self.short(id);
        let at = self.bytes.len();
        self.int(0);
        fill(self);
        let size = u32::try_from(self.bytes.len() - at + 2).unwrap() - less;
        let mut bytes = size.to_le_bytes();
        if self.big {
            bytes.reverse();
        }
        self.bytes[at..at + 4].copy_from_slice(&bytes);
    }

    fn frequency(&mut self, bits: u64) {
        self.message(2, 0, |s| s.longs(&[bits]));
    }

    fn thread_end(&mut self, thread: u64, time: u64, less: u32) {
        self.message(1010, less, |s| {
            s.longs(&[0, thread, time]);
            s.raw(b"\0\0");
        });
    }

    fn records(&self) -> Records {
        records(&BINARY, &self.bytes)
    }
}

fn kinds(records: &Records) -> Vec<(&str, Level)> {
    let notes = records.notes().iter();
    notes.map(|note| (note.kind, note.level)).collect()
}

fn xml_of(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    let mut pull = SlicePull::new(bytes, 0);
    to_xml(&mut pull, &Limits::default(), &mut out, &mut |_| {
        Flow::Continue(())
    })
    .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn c01_system_messages_with_and_without_size() {
    let mut sized = Stream::new(false);
    sized.message(1, 0, |s| s.raw(b"KOI8-R\0"));
    sized.frequency(1_000_000_000);
    sized.thread_end(1, EPOCH, 0);
    let mut unsized_ = Stream::new(false);
    unsized_.short(1);
    unsized_.raw(b"KOI8-R\0");
    unsized_.short(2);
    unsized_.longs(&[1_000_000_000]);
    unsized_.thread_end(1, EPOCH, 0);
    for (stream, lengths) in [(sized, [13, 14]), (unsized_, [9, 10])] {
        let records = stream.records();
        assert_eq!(records.notes(), []);
        assert_eq!(
            records.kinds()[1..],
            ["encoding", "frequency", "thread_end"]
        );
        let rows = records.rows();
        assert_eq!([rows[1].2, rows[2].2], lengths);
        assert!(rows[2].3.contains("U64(1000000000)"), "{}", rows[2].3);
    }
    let written = trace(1_000_000_000, &[]);
    assert_eq!(records(&BINARY, &written).rows()[1].2, 14);
}

#[test]
fn c02_sizes_with_and_without_the_header() {
    for less in [0, 6] {
        let mut stream = Stream::new(false);
        stream.short(2);
        stream.longs(&[1_000_000_000]);
        for thread in 1..4 {
            stream.thread_end(thread, EPOCH, less);
        }
        let records = stream.records();
        assert_eq!(records.notes(), [], "{less}");
        assert_eq!(records.kinds()[2..], ["thread_end"; 3]);
    }
    // Decided once: what disagrees later is told.
    let mut stream = Stream::new(false);
    stream.frequency(1_000_000_000);
    stream.thread_end(1, EPOCH, 0);
    stream.thread_end(2, EPOCH, 6);
    stream.thread_end(3, EPOCH, 0);
    let records = stream.records();
    assert_eq!(records.kinds()[2..], ["thread_end"; 3]);
    assert_eq!(kinds(&records), [("bad_size", Level::Damage)]);
}

#[test]
fn c03_thirty_messages_and_holes_between_them() {
    assert_eq!(MESSAGES.len(), 30);
    let holes: Vec<u16> = (1001..=1041).filter(|&id| by_id(id).is_none()).collect();
    assert_eq!(
        holes,
        [
            1013, 1017, 1018, 1019, 1020, 1021, 1022, 1025, 1026, 1028, 1029
        ]
    );
    let mut stream = Stream::new(false);
    stream.frequency(1_000_000_000);
    for &id in &holes {
        stream.message(id, 0, |s| s.raw(b"whatever"));
    }
    stream.thread_end(1, EPOCH, 0);
    let records = stream.records();
    assert_eq!(
        records
            .kinds()
            .iter()
            .filter(|&&kind| kind == "unknown")
            .count(),
        11
    );
    assert_eq!(records.kinds().last(), Some(&"thread_end"));
    assert_eq!(kinds(&records), [("unknown_message", Level::Warn); 11]);
    assert_eq!(records.written(), stream.bytes);
}

/// The worked example has other ids, widths and order than the tables.
#[test]
fn c04_the_tables_win_over_the_example() {
    for id in [32_u16, 1009] {
        let mut example = id.to_le_bytes().to_vec();
        example.extend(60_u32.to_le_bytes());
        example.extend([1_u32, 1].map(u32::to_le_bytes).concat());
        example.extend(1_185_890_426.5_f64.to_le_bytes());
        example.extend([0_u32, 3].map(u32::to_le_bytes).concat());
        example.extend(b"Reference Handler\0system\0\0");
        example.extend(0_u32.to_le_bytes());
        assert_eq!(example.len(), 60);
        let refused = read_message(&example, Shape::default(), |_| ());
        assert!(refused.is_err(), "{id}");
    }
}

#[test]
fn c05_the_flag_decides_the_byte_order() {
    for big in [false, true] {
        let mut stream = Stream::new(big);
        stream.frequency(1_000_000_000);
        stream.thread_end(0x0102_0304_0506_0708, EPOCH, 0);
        let records = stream.records();
        assert_eq!(records.notes(), []);
        assert!(
            records.rows()[2]
                .3
                .contains("thread_id_ref=U64(72623859790382856)")
        );
    }
}

#[test]
fn c06_a_digit_or_a_nul_begins_the_magic() {
    let mut stream = Stream::new(false);
    stream.frequency(1_000_000_000);
    assert_eq!(stream.records().notes(), []);
    stream.bytes[0] = 0;
    assert_eq!(stream.records().notes(), []);
    assert_eq!(stream.records().kinds(), ["descriptor", "frequency"]);
    assert_eq!(trace(1, &[])[..4], *b"0TBF");
    stream.bytes[0] = b'1';
    assert_eq!(kinds(&stream.records())[0], ("not_tptp", Level::Damage));
}

#[test]
fn c07_data_begins_where_the_offset_says() {
    let mut stream = Stream::new(false);
    stream.raw(b"\xff\xff\xff\xff\xff");
    stream.bytes[8] = 17;
    stream.frequency(1_000_000_000);
    stream.thread_end(1, EPOCH, 0);
    let records = stream.records();
    assert_eq!(
        records.kinds(),
        ["descriptor", "gap", "frequency", "thread_end"]
    );
    assert_eq!(kinds(&records), [("gap_skipped", Level::Info)]);
    // System messages before the data are honoured.
    let mut stream = Stream::new(false);
    stream.frequency(1_000_000_000);
    stream.bytes[8] = 26;
    stream.thread_end(1, EPOCH, 0);
    assert_eq!(
        stream.records().kinds(),
        ["descriptor", "frequency", "thread_end"]
    );
    assert_eq!(stream.records().notes(), []);
}

#[test]
fn c08_times_are_ticks() {
    let mut stream = Stream::new(false);
    stream.frequency(3);
    stream.thread_end(1, 3 * 1_204_279_200 + 1, 0);
    let recording = lower(&BINARY, &stream.bytes);
    assert_eq!(recording.events.time, [1_204_279_200_333_333_333]);
    assert!(xml_of(&stream.bytes).contains(r#"time="1204279200.333333333""#));
}

#[test]
fn c09_one_frequency_a_stream() {
    let mut stream = Stream::new(false);
    stream.frequency(1_000);
    stream.thread_end(1, 1_204_279_200_000, 0);
    stream.frequency(1_000_000);
    stream.thread_end(2, 1_204_279_200_001, 0);
    assert_eq!(
        kinds(&stream.records()),
        [("frequency_changed", Level::Warn)]
    );
    let recording = lower(&BINARY, &stream.bytes);
    assert_eq!(recording.events.time, [T0, T0 + 1_000_000]);
}

#[test]
fn c10_a_frequency_may_be_a_double() {
    let mut stream = Stream::new(false);
    stream.frequency(2.5e9_f64.to_bits());
    stream.thread_end(1, 5_000_000_000, 0);
    let records = stream.records();
    assert_eq!(kinds(&records), [("frequency_double", Level::Warn)]);
    assert!(
        records.rows()[1]
            .3
            .contains("ticks_per_second=U64(2500000000)")
    );
    assert_eq!(records.written(), stream.bytes);
    // A number that is large and no sensible double stays one.
    let mut stream = Stream::new(false);
    stream.frequency(2_000_000_000_000);
    assert!(stream.records().rows()[1].3.contains("U64(2000000000000)"));
}

#[test]
fn c11_entries_as_printed_and_sixteen_bytes_longer() {
    let entry = |longer: bool| {
        let mut stream = Stream::new(false);
        stream.frequency(1_000_000_000);
        stream.message(1015, 0, |s| {
            s.longs(&[0, 1, EPOCH, 71]);
            s.int(9);
            s.longs(if longer { &[0, 5, 0, 7] } else { &[0, 7] });
            s.longs(&[0, 0, 1]);
            s.raw(b"\0\0");
        });
        stream
    };
    for (longer, bytes, told) in [
        (false, 84, vec![]),
        (true, 100, vec![("wide_layout", Level::Info)]),
    ] {
        let records = entry(longer).records();
        let row = &records.rows()[2];
        assert_eq!((row.0.as_str(), row.2), ("method_entry", bytes));
        assert!(row.3.contains("class_id_ref=U64(7)") && row.3.contains("ticket=U64(9)"));
        assert_eq!(row.3.contains("obj_id_ref=U64(5)"), longer);
        assert_eq!(kinds(&records), told);
    }
}

#[test]
fn c12_the_sequence_counter_of_exits_is_a_string_or_a_long() {
    for (long, bytes) in [(false, 85), (true, 92)] {
        let mut stream = Stream::new(false);
        stream.frequency(1_000_000_000);
        stream.message(1016, 0, |s| {
            s.longs(&[0, 1, EPOCH]);
            s.int(9);
            s.longs(&[0, 71, 0, 0, 0, 7]);
            if long {
                s.longs(&[44]);
            } else {
                s.raw(b"\0");
            }
            s.raw(b"\0\0");
        });
        let records = stream.records();
        let row = &records.rows()[2];
        assert_eq!((row.0.as_str(), row.2), ("method_exit", bytes));
        assert!(row.3.contains("method_id_ref=U64(71)"), "{}", row.3);
        assert_eq!(
            row.3.contains("sequence_counter=U64(44)"),
            long,
            "{}",
            row.3
        );
    }
    let schema = by_id(1015).unwrap();
    let counter = schema
        .fields(tptp::Layout::Table)
        .iter()
        .find(|field| field.attribute == "sequenceCounter");
    assert_eq!(counter.unwrap().kind, Kind::Long);
}

/// Which fields the document marks as used says nothing: ids that do not move are preferred, others read.
#[test]
fn c13_marks_of_use_are_ignored() {
    let mut drafts = definitions();
    drafts.push(exit(1, 71, 1, 10));
    drafts.push(
        draft("methodExit")
            .number("threadIdRef", 1)
            .number("time", EPOCH + 20)
            .number("transientClassIdRef", 7)
            .number("methodIdRef", 99),
    );
    let recording = lower(&BINARY, &trace(1_000_000_000, &drafts));
    let names: Vec<String> = spans(&recording).into_iter().map(|span| span.0).collect();
    assert_eq!(names, ["com.acme.Shop.buy", "com.acme.Shop.method#99"]);
}

#[test]
fn c14_signatures_are_read() {
    let mut drafts = definitions();
    drafts.extend([entry(1, 71, 1, 0), exit(1, 71, 1, 5)]);
    let recording = lower(&BINARY, &trace(1_000_000_000, &drafts));
    let function = recording
        .function(recording.spans.function[0].unwrap())
        .unwrap();
    assert_eq!(recording.text(function.signature.unwrap()), "(I)V");
}

#[test]
fn c15_any_message_may_name_its_trace() {
    let mut unnamed = 0;
    for schema in MESSAGES {
        let Some(at) = schema.position(tptp::Layout::Table, "traceIdRef") else {
            unnamed += 1;
            continue;
        };
        assert_eq!(
            schema.fields(tptp::Layout::Table)[at].kind,
            Kind::Text,
            "{}",
            schema.element
        );
        let bytes = trace(
            1_000_000_000,
            &[Draft::new(schema).text("traceIdRef", "t-9")],
        );
        let records = records(&BINARY, &bytes);
        assert!(records.rows()[2].3.contains("t-9"), "{}", schema.element);
        assert!(
            xml_of(&bytes).contains(r#"traceIdRef="t-9""#),
            "{}",
            schema.element
        );
    }
    assert_eq!(unnamed, 15);
}

#[test]
fn c16_types_that_are_used_and_not_in_the_type_table() {
    let all = || {
        MESSAGES
            .iter()
            .flat_map(|schema| schema.fields(tptp::Layout::Table))
    };
    let of = |kind| all().filter(|field| field.kind == kind).count();
    assert_eq!((of(Kind::Byte), Kind::Byte.least()), (5, 1));
    assert_eq!((of(Kind::Methods), of(Kind::Lines)), (4, 4));
    let mut drafts = definitions();
    drafts.extend([entry(1, 71, 1, 0), exit(1, 71, 1, 5)]);
    let recording = lower(&BINARY, &trace(1_000_000_000, &drafts));
    let function = recording
        .function(recording.spans.function[0].unwrap())
        .unwrap();
    assert_eq!(function.modifiers, 0x0008);
}

#[test]
fn c17_the_depth_counts_both_arrays() {
    for counted in [false, true] {
        let mut stream = Stream::new(false);
        stream.frequency(1_000_000_000);
        stream.message(1035, 0, |s| {
            s.longs(&[1, EPOCH, 9]);
            s.int(2);
            if counted {
                s.int(2);
            }
            s.raw(b"p/A.a\0p/A.b\0");
            if counted {
                s.int(2);
            }
            s.longs(&[11, 12]);
        });
        let records = stream.records();
        let row = &records.rows()[2];
        assert_eq!(row.0, "mon_contended_entered");
        assert!(
            row.3.contains("p/A.b") && row.3.contains("U64(12)"),
            "{}",
            row.3
        );
        let told: &[_] = if counted {
            &[("counted_stack", Level::Warn)]
        } else {
            &[]
        };
        assert_eq!(kinds(&records), told);
        assert_eq!(records.written(), stream.bytes);
    }
}

#[test]
fn c18_null_and_empty_strings_are_the_same() {
    let start = draft("threadStart")
        .number("threadId", 1)
        .number("time", EPOCH);
    let document = xml_of(&trace(1_000_000_000, &[start]));
    let line = document
        .lines()
        .find(|line| line.contains("<threadStart"))
        .unwrap();
    assert!(line.contains(r#"parentName="""#), "{line}");
    assert!(
        !line.contains("groupName") && !line.contains("traceIdRef"),
        "{line}"
    );
}

#[test]
fn c19_the_replys_end_tag_may_lack_its_slash() {
    for end in ["</enabledOutputFormat>", "<enabledOutputFormat>"] {
        let mut client = Client::new((4, 5), Encoding::Binary);
        let _ = client.start(Duration::ZERO);
        let reply = format!("<enabledOutputFormat><format>binary</format>{end}");
        assert_eq!(
            client.receive(std::time::Duration::ZERO, reply.as_bytes()),
            Act::Load(Encoding::Binary)
        );
    }
}

/// What a wait's second timeout means is open, and roots name no dump.
#[test]
fn c20_timeouts_stay_raw_and_roots_belong_to_the_last_dump() {
    let wait = |element, time, timeout| {
        let wait = draft(element)
            .number("threadIdRef", 1)
            .number("objIdRef", 9);
        wait.number("time", EPOCH + time).number("timeout", timeout)
    };
    let dump = |id| {
        draft("heapDumpDef")
            .number("heapDumpId", id)
            .number("time", EPOCH)
    };
    let root = |object| {
        draft("gcRoot")
            .number("classIdRef", 3)
            .number("objIdRef", object)
    };
    let drafts = [
        wait("monWait", 0, 5000),
        wait("monWaited", 10, 1),
        dump(70),
        root(1),
        dump(80),
        root(2),
    ];
    let recording = lower(&BINARY, &trace(1_000_000_000, &drafts));
    let waited = recording.events.row(0).unwrap();
    let values: Vec<&Value> = waited.attributes.iter().map(|found| &found.value).collect();
    assert_eq!(values, [&Value::U64(5000), &Value::U64(1)]);
    assert_eq!(recording.roots.dump, [0, 1]);
}

/// The document's sums are off by a little; the tables' are what messages take.
#[test]
fn c21_sizes_follow_from_the_tables() {
    let least = |id| by_id(id).unwrap().least();
    assert_eq!((least(1015), least(1016)), (84, 85));
    let start = draft("threadStart")
        .number("threadId", 1)
        .text("threadName", "Reference Handler")
        .text("groupName", "system");
    let mut bytes = Vec::new();
    Writer::default().message(&start.message(), &mut bytes);
    assert_eq!(bytes.len(), 74);
}

#[test]
fn c22_collation_values_are_strings() {
    let fields = MESSAGES
        .iter()
        .flat_map(|schema| schema.fields(tptp::Layout::Table));
    let collation: Vec<Kind> = fields
        .filter(|field| field.attribute == "collationValue")
        .map(|field| field.kind)
        .collect();
    assert_eq!(collation, vec![Kind::Text; collation.len()]);
    assert!(collation.len() > 10);
}
