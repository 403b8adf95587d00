//! What the conversions between the forms say they could not keep.

use traceloom_model::{Flow, Limits};

use super::{draft, trace};
use crate::tptp::{to_binary, to_xml};
use crate::{Change, SlicePull};

fn convert(bytes: &[u8], to: crate::NativeConvert) -> (Vec<u8>, Vec<Change>) {
    let mut out = Vec::new();
    let mut pull = SlicePull::new(bytes, 0);
    let mut take = |_| Flow::Continue(());
    let changes = to(&mut pull, &Limits::default(), &mut out, &mut take).unwrap();
    (out, changes)
}

fn listed(changes: &[Change]) -> Vec<(bool, &str, &str, u64)> {
    let rows = changes.iter();
    rows.map(|row| (row.lost, row.kind, row.field, row.count))
        .collect()
}

/// Nanoseconds past 64 bits are no times of XML, whatever the ticks are.
#[test]
fn times_past_64_bits_of_nanoseconds_are_listed() {
    for (frequency, time, changed) in [
        (1, u64::MAX / 1_000_000_000, false),
        (1, u64::MAX / 1_000_000_000 + 1, true),
        (1_000, u64::MAX, true),
        (3_579_545, 1 << 40, false),
        (3_579_545, 1 << 60, true),
        (3_000_000_000, 7, true),
        (3_000_000_000, 9, false),
        (1_000_000_000, u64::MAX, false),
    ] {
        let bytes = trace(frequency, &[draft("gcStart").number("time", time)]);
        let (document, changes) = convert(&bytes, to_xml);
        let rows: &[_] = if changed {
            &[(false, "gc_start", "time", 1)]
        } else {
            &[]
        };
        assert_eq!(listed(&changes), rows, "{time} at {frequency}");
        let back = convert(&document, to_binary).0;
        assert_eq!(back == bytes, !changed, "{time} at {frequency}");
    }
}

#[test]
fn what_a_stream_has_no_field_for_is_listed() {
    for (document, row) in [
        (
            "<threadStart threadId=\"x\"/>",
            (true, "attribute", "bad_number", 1),
        ),
        (
            "<node timezone=\"99999999999\"/>",
            (true, "attribute", "bad_number", 1),
        ),
        (
            "<gcStart time=\"18446744074.0\"/>",
            (true, "attribute", "bad_number", 1),
        ),
        (
            "<gcStart time=\"1.0\" time=\"2.0\"/>",
            (true, "attribute", "repeated_value", 1),
        ),
        (
            "<gcStart colour=\"red\"/>",
            (true, "attribute", "unknown_attribute", 1),
        ),
        (
            "<gcStart time=\"1.0\" colour/>",
            (true, "attribute", "bad_attribute", 1),
        ),
        (
            "<gcStart time=\"1.0000000001\"/><gcStart time=\"1.0000000000\"/>",
            (false, "attribute", "time", 1),
        ),
        (
            "<gcStart><a/></gcStart><gcStart>  </gcStart>",
            (true, "element", "content", 1),
        ),
        ("<gcStart>words</gcStart>", (true, "element", "content", 1)),
        (
            "<monWait><annotation name=\"stack\" method=\"a\" line=\"x\"/></monWait>",
            (true, "element", "content", 1),
        ),
        (
            "<monWait><annotation name=\"other\"/></monWait>",
            (true, "element", "content", 1),
        ),
        (
            "<monWait><annotation name=\"stack\" method=\"a\">b</annotation></monWait>",
            (true, "element", "content", 1),
        ),
        (
            "<monWait stackDepth=\"2\"><annotation name=\"stack\" method=\"a\"/></monWait>",
            (false, "attribute", "stack_depth", 1),
        ),
        (
            "<custom body=\"a\">b</custom>",
            (true, "attribute", "repeated_value", 1),
        ),
        (
            "<TRACE version=\"2\"><gcStart/></TRACE>",
            (true, "root_start", "attributes", 1),
        ),
        ("</a><gcStart/>", (true, "end_tag", "text", 1)),
        (
            "<?traceloom tptp version=1.0 platform=64 endian=little frequency=1000 encoding=UTF-8?>\
             <gcStart time=\"1.0005\"/><gcStart time=\"1.001\"/>",
            (false, "gc_start", "time", 1),
        ),
    ] {
        let (_, changes) = convert(document.as_bytes(), to_binary);
        assert_eq!(listed(&changes), [row], "{document}");
    }
    let exact = "<monWait><annotation name=\"stack\" method=\"a\" line=\"1\"></annotation>\n\
                 <annotation line=\"2\" name=\"stack\" method=\"b\"/></monWait>\n<gcStart></gcStart>";
    assert_eq!(convert(exact.as_bytes(), to_binary).1, []);
    let wide: Vec<u8> = exact.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(convert(&wide, to_binary).1, []);
}
