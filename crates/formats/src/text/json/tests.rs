#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use traceloom_model::Limits;

use super::{Document, Kind, TokenPlace, plain_object, push_string};

fn parse(text: &[u8]) -> Document<'_> {
    Document::parse(text, &Limits::default())
}

#[test]
fn values_keep_order_places_and_exact_numbers() {
    let text =
        br#" {"b": [1, -2.5e3, 18446744073709551615], "a": "x\u00e9\ud83d\ude00\n", "b2": {}} "#;
    let document = parse(text);
    let root = document.root().unwrap();
    assert!(document.defects().is_empty());
    let keys: Vec<_> = root
        .items()
        .map(|v| v.key().unwrap().into_owned())
        .collect();
    assert_eq!(keys, [b"b".to_vec(), b"a".to_vec(), b"b2".to_vec()]);
    let b: Vec<_> = root.get("b").unwrap().items().collect();
    assert_eq!(b[0].i64(), Some(1));
    assert_eq!(b[1].i64(), Some(-2500));
    assert_eq!((b[2].u64(), b[2].i64()), (Some(u64::MAX), None));
    assert_eq!(root.get("a").unwrap().text().unwrap(), "xé😀\n");
    assert_eq!(root.get("b2").unwrap().raw(), b"{}");
    assert_eq!(document.end(), text.len() - 1);
}

#[test]
fn depth_of_two_hundred_thousand_does_not_recurse() {
    let mut text = vec![b'['; 200_000];
    text.extend(vec![b']'; 200_000]);
    let document = parse(&text);
    assert!(document.defects().is_empty());
    assert_eq!(document.root().unwrap().end(), 400_000);
}

#[test]
fn the_table_of_a_large_text_is_made_once() {
    let row = r#"{"name":"a, b [c] {d}","list":[1,[],{}],"n":null}"#;
    let text = format!("[{}]", [row; 30_000].join(","));
    let document = parse(text.as_bytes());
    assert_eq!(document.defects(), []);
    assert_eq!(document.nodes.len(), 1 + 30_000 * 7);
    let counted = 1 + 1 + 29_999 + 30_000 * (1 + 2 + 3 + 1 + 4);
    assert_eq!(document.nodes.capacity(), counted);
}

#[test]
fn damage_costs_one_value() {
    let document = parse(br#"{"a":1,"b":@#,"c":[1,2}"#);
    let root = document.root().unwrap();
    let kinds: Vec<_> = document
        .defects()
        .iter()
        .map(|d| (d.offset, d.kind))
        .collect();
    assert_eq!(kinds, [(11, "unexpected_bytes"), (22, "json_unclosed")]);
    assert_eq!(root.get("a").unwrap().i64(), Some(1));
    assert_eq!(root.get("c").unwrap().items().count(), 2);
}

#[test]
fn space_between_members_means_nothing() {
    let dense = r#"{"a":1,"b":"x","c":{"d":-2.5,"e\n":"y\"","f":[{"g":3}]},"h":true}"#;
    let shown = |text: &str| {
        let document = parse(text.as_bytes());
        assert!(document.defects().is_empty(), "{text}");
        let rows = (0..).map_while(|row| document.value(row));
        let scalar = |value: &super::Value<'_>| !matches!(value.kind(), Kind::Object | Kind::Array);
        let raw = |value: super::Value<'_>| scalar(&value).then(|| value.raw().to_vec());
        rows.map(|value| (value.key().map(Vec::from), value.kind(), raw(value)))
            .collect::<Vec<_>>()
    };
    for (comma, colon) in [
        (", ", ": "),
        (",\n  ", ":"),
        (" ,", " :"),
        ("\t,\r\n", ":\n"),
    ] {
        let spaced = dense.replace(',', comma).replace(':', colon);
        assert_eq!(shown(&spaced), shown(dense), "{spaced}");
        let closed = spaced.replace('}', " }");
        assert_eq!(shown(&closed), shown(dense), "{closed}");
    }
}

#[test]
fn short_keys_differ_as_their_bytes_do() {
    let text = b"{\"ts\":1,\"ts\0\":2,\"\":3,\"flow_out\":4,\"flow_outs\":5,\"t\\u0073\":6}";
    let document = parse(text);
    let keys: Vec<_> = document
        .root()
        .unwrap()
        .items()
        .map(super::Value::short_key)
        .collect();
    let packed = super::short_key;
    let expected = [
        Some(packed(b"ts")),
        Some(packed(b"ts\0")),
        Some(packed(b"")),
        Some(packed(b"flow_out")),
        None,
        None,
    ];
    assert_eq!(keys, expected);
    assert_eq!(packed(b"bind_id"), u64::from_le_bytes(*b"bind_id\""));
    assert_ne!(packed(b"ts"), packed(b"ts\0"));
}

#[test]
fn a_cut_keeps_what_was_read() {
    let document = parse(br#"{"a":[{"x":1},{"x":2},{"x"#);
    let items: Vec<_> = document.root().unwrap().get("a").unwrap().items().collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[1].get("x").unwrap().i64(), Some(2));
    assert_eq!(items[2].kind(), Kind::Object);
}

#[test]
fn lone_surrogates_keep_their_bytes() {
    let document = parse(br#""\ud800x""#);
    assert_eq!(
        *document.root().unwrap().bytes().unwrap(),
        *b"\xed\xa0\x80x"
    );
}

#[test]
fn strings_written_read_back() {
    let mut out = Vec::new();
    push_string("a\"\\\u{1}\n毫秒".as_bytes(), &mut out);
    let document = parse(&out);
    assert_eq!(document.root().unwrap().text().unwrap(), "a\"\\\u{1}\n毫秒");
}

proptest::proptest! {
    #[test]
    fn quotes_and_backslashes_are_found_wherever_they_stand(
        bytes in proptest::collection::vec(proptest::sample::select(&b"a\"\\\x23\x5d\xa2\xdc\x00\xff"[..]), 0..40),
    ) {
        let expected = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        proptest::prop_assert_eq!(super::quote_or_backslash(&bytes), expected);
    }

    #[test]
    fn short_numbers_scale_as_long_ones_do(whole in "-?[0-9]{0,20}", fraction in "(\\.[0-9]{0,8})?", factor in 1_i64..2_000_000) {
        let text = format!("{whole}{fraction}");
        // An exponent of nothing takes the other way.
        let expected = super::scale(&format!("{text}e0"), factor);
        proptest::prop_assert_eq!(super::scale(&text, factor), expected);
        // A number as it stands in a text takes a third one.
        let document = parse(text.as_bytes());
        if let Some(number) = document.root().filter(|value| value.raw() == text.as_bytes()) {
            let expected = super::scale(&format!("{text}e0"), 1000);
            proptest::prop_assert_eq!(number.token().nanoseconds(), expected);
        }
    }

    #[test]
    fn any_bytes_parse_without_panic(bytes: Vec<u8>) {
        let document = parse(&bytes);
        if let Some(root) = document.root() {
            proptest::prop_assert!(root.end() <= bytes.len());
        }
    }

    #[test]
    fn what_serde_reads_we_read(text in "[\\[\\]{}\",:0-9a-c. \\\\-]{0,40}") {
        if let Ok(oracle) = serde_json::from_str::<serde_json::Value>(&text) {
            let document = parse(text.as_bytes());
            proptest::prop_assert!(document.defects().is_empty(), "{:?}", document.defects());
            let root = document.root().unwrap();
            if let Some(list) = oracle.as_array() {
                proptest::prop_assert_eq!(root.items().count(), list.len());
            }
        }
    }
}

/// What a look through a text tells of its members, and what parsing it does.
fn members_both_ways(text: &[u8]) -> Option<(Vec<(u64, TokenPlace)>, usize)> {
    let mut members = Vec::new();
    let end = plain_object(text, 200, |key, place| members.push((key, place)))?;
    Some((members, end))
}

#[test]
fn looking_through_an_object_finds_what_parsing_does() {
    let text = br#"{ "ph" : "X","name":"a\"b", "flow_out":true,"flow_outs":null,"ts":-1.25 ,"args":{"a":[1,[],{},"]"],"b":{"c":false}}, "":7,"e":[ ]  } tail"#;
    let mut seen = 0;
    // Every byte replaced by each that matters to JSON: what is still plain is parsed without a defect, to the same places.
    for at in 0..text.len() {
        for byte in *b"{}[]\",:\\0a-.e \ntn\0" {
            let mut text = text.to_vec();
            text[at] = byte;
            let Some((members, end)) = members_both_ways(&text) else {
                continue;
            };
            seen += 1;
            let document = parse(&text);
            let shown = String::from_utf8_lossy(&text);
            assert_eq!(document.defects(), [], "{shown}");
            assert_eq!(document.end(), end, "{shown}");
            let parsed = document.root().unwrap().items();
            let parsed: Vec<_> = parsed
                .map(|member| (member.short_key().unwrap_or(0), member.place()))
                .collect();
            assert_eq!(members, parsed, "{shown}");
        }
    }
    assert!(seen > 500, "{seen} texts were plain");
    for cut in 0..text.len() - 5 {
        assert_eq!(members_both_ways(&text[..cut]), None);
    }
}

#[test]
fn containers_are_looked_through_up_to_a_depth() {
    let nested = |depth: usize| {
        let inside = "[".repeat(depth) + &"]".repeat(depth);
        format!("{{\"a\":{inside}}}")
    };
    let is_plain = |depth, deepest| {
        let text = nested(depth);
        plain_object(text.as_bytes(), deepest, |_, _| {}).is_some()
    };
    assert!(is_plain(9, 10) && !is_plain(10, 10));
    assert!(is_plain(63, usize::MAX) && !is_plain(64, usize::MAX));
    assert!(!is_plain(0, 0));
}
