//! What is read of samples, of damage and of garbage.

use traceloom_model::Limits;

use super::*;
use crate::tptp::{BINARY, XML};
use crate::{Records, read_chunked};

#[test]
fn samples_are_whole_traces() {
    for format in [&BINARY, &XML] {
        let bytes = sample(format, 300_000);
        let read = records(format, &bytes);
        assert_eq!(read.written(), bytes);
        assert_eq!(read.notes(), []);
        assert_eq!(bytes, sample(format, 300_000));
        assert!(bytes.len() > 290_000);
    }
}

/// Every flipped bit and every cut gives records that tile the input, whatever the chunks.
#[test]
fn damage_never_breaks_the_tiling() {
    for format in [&BINARY, &XML] {
        let whole = sample(format, 1 << 20);
        let bytes = &whole[..9_000];
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << (at % 8);
            let read = records(format, &damaged);
            assert!(read.written() == damaged, "{format:?} bit at {at}");
            if at % 16 == 0 {
                let mut pieces = Records::default();
                let cuts = (0..damaged.len()).step_by(61);
                read_chunked(
                    format.reader(&Limits::default()).as_mut(),
                    &damaged,
                    cuts,
                    &mut pieces,
                );
                assert!(pieces == read, "{format:?} bit at {at} in pieces");
                let cut = records(format, &bytes[..at]);
                assert!(cut.written() == &bytes[..at], "{format:?} cut at {at}");
                lower(format, &damaged);
            }
        }
    }
}

/// A damaged size or a broken tag costs the record it is in, not the rest.
#[test]
fn reading_goes_on_behind_damage() {
    let bytes = sample(&BINARY, 60_000);
    let whole = records(&BINARY, &bytes);
    let n_records = whole.rows().len();
    for (nth, row) in whole.rows().iter().enumerate().skip(10).step_by(37) {
        let at = usize::try_from(row.1).unwrap();
        for (byte, flip) in [(2, 0x40), (3, 0x01), (2, 0x04), (5, 0x80), (0, 0x20)] {
            let mut damaged = bytes.clone();
            damaged[at + byte] ^= flip;
            let read = records(&BINARY, &damaged);
            assert!(read.written() == damaged);
            assert!(!read.notes().is_empty(), "record {nth} byte {byte}");
            assert!(
                read.rows().len() + 3 > n_records,
                "record {nth} byte {byte}: {} of {n_records}",
                read.rows().len()
            );
        }
    }
    let bytes = sample(&XML, 60_000);
    let whole = records(&XML, &bytes);
    let elements = |read: &Records| {
        read.kinds()
            .iter()
            .filter(|kind| kind.starts_with("method_"))
            .count()
    };
    let n_elements = elements(&whole);
    for at in (2_000..bytes.len() - 200).step_by(997) {
        for with in [b'"', b'<', b'>', b' ', b'/'] {
            let mut damaged = bytes.clone();
            damaged[at] = with;
            let read = records(&XML, &damaged);
            assert!(read.written() == damaged);
            assert!(
                elements(&read) + 2 >= n_elements,
                "{} of {n_elements}",
                elements(&read)
            );
        }
    }
}

#[test]
fn garbage_is_read_to_its_end() {
    for format in [&BINARY, &XML] {
        for garbage in [
            &b""[..],
            b"0TBF",
            b"<",
            b"hello <world",
            &[0; 100_000],
            &[b'<'; 100_000],
        ] {
            let read = records(format, garbage);
            assert_eq!(read.written(), garbage);
            assert!(!read.notes().is_empty());
        }
    }
    let quotes = b"<a \"".repeat(50_000);
    assert_eq!(records(&XML, &quotes).written(), quotes);
    let comments = b"<!-- <![CDATA[ <? ".repeat(20_000);
    assert_eq!(records(&XML, &comments).written(), comments);
}

fn is_known(name: &str, head: &str) -> bool {
    let probe = crate::Probe {
        head: head.as_bytes(),
        whole: true,
        name,
        siblings: &[],
    };
    (XML.probe)(&probe).is_some()
}

#[test]
fn a_fragment_is_known_by_any_element() {
    for first in [
        "node",
        "filter",
        "option",
        "custom",
        "objDef",
        "methodBody",
        "throw",
        "line",
    ] {
        let alone = format!("<{first} a=\"1\"/>\n");
        assert!(is_known("live.trcxml", &alone), "{first}");
        assert!(!is_known("other.xml", &alone), "{first}");
        let followed = format!("{alone}<custom><a/></custom>\n<threadStart threadId=\"1\"/>");
        assert!(is_known("other.xml", &followed), "{first}");
    }
    for fragment in [
        "<node nodeId=\"a\" hostname=\"b\"/>",
        "<filter traceIdRef=\"a\" pattern=\"*\"/>",
        "<classUnload time=\"1.0\" classIdRef=\"7\"/>",
        "<monWait objIdRef=\"7\"><annotation",
    ] {
        assert!(is_known("", fragment), "{fragment}");
    }
}

#[test]
fn other_documents_are_not_taken() {
    for (name, document) in [
        ("live.trcxml", "<html/>"),
        ("", "<report><threadStart threadId=\"1\"/></report>"),
        ("", "<report>\n<threadStart threadId=\"1\"/>"),
        ("", "words <threadStart threadId=\"1\"/>"),
        ("", "<methodCall><methodName>a</methodName></methodCall>"),
        ("", "<svg><line x1=\"1\"/></svg>"),
    ] {
        assert!(!is_known(name, document), "{document}");
    }
}

#[test]
fn a_document_type_may_declare_things() {
    let document = "<?xml version=\"1.0\"?>\n<!DOCTYPE TRACE [<!ENTITY x \"]>\">]>\n\
                    <TRACE>\n<threadStart threadId=\"1\"/>\n</TRACE>\n";
    assert!(is_known("other.xml", document));
    let read = records(&XML, document.as_bytes());
    assert!(read.notes().is_empty(), "{:?}", read.notes());
    assert!(read.kinds().contains(&"thread_start"), "{:?}", read.kinds());
    // Declarations that do not end cost no more than their bytes.
    let open = b"<!DOCTYPE [".repeat(100_000);
    assert_eq!(records(&XML, &open).written(), open);
}

/// What stands in an element that no table has is no message, cut or whole.
#[test]
fn a_cut_unknown_element_has_no_calls() {
    let entry = "<methodEntry threadIdRef=\"1\" time=\"1.0\" methodIdRef=\"7\" ticket=\"1\"/>\n";
    let whole = format!("<TRACE>\n<probe>\n{entry}<a>{entry}</a>\n</probe>\n");
    for end in 0..=whole.len() {
        let bytes = &whole.as_bytes()[..end];
        let read = records(&XML, bytes);
        assert_eq!(read.written(), bytes);
        assert!(!read.kinds().contains(&"method_entry"), "cut at {end}");
    }
    // In a document that goes on the element is what is wrong.
    for (open, rest) in [
        ("<br>", "</TRACE>\n".to_owned()),
        ("<br>", entry.repeat(2_000)),
    ] {
        let text = format!("<TRACE>\n{open}\n{entry}{rest}");
        let read = records(&XML, text.as_bytes());
        let entries = read
            .kinds()
            .iter()
            .filter(|kind| **kind == "method_entry")
            .count();
        assert_eq!(entries, text.matches("methodEntry").count());
        assert!(
            read.notes()
                .iter()
                .any(|note| note.kind == "unclosed_element")
        );
    }
}
