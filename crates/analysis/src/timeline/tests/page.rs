//! What a page holds, read back from it.

use traceloom_model::{AttrKeyId, Attribute, AttributeKey, SpanRow, SpanStatus, Value};

use super::super::collect::Collector;
use super::super::html;
use super::super::html::part;
use super::Made;
use crate::hotspots::Categories;

/// Reads the numbers of a page back.
struct Reader<'b>(std::slice::Iter<'b, u8>);

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        *self.0.next().unwrap()
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        number
    }
}

/// The string or number after `"key":` in the data of a page.
fn value<'p>(page: &'p str, key: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("\"{key}\":")).unwrap();
    let rest = rest.trim_start_matches(['"', '[']);
    &rest[..rest.find(['"', ',', ']', '}']).unwrap()]
}

fn bytes(page: &str) -> Vec<u8> {
    let letter = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (_, text) = page.split_once("<script type=\"text/plain\">").unwrap();
    let (text, _) = text.split_once("</script>").unwrap();
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::new();
    for four in text.chunks(4) {
        let bits = four
            .iter()
            .fold(0_u32, |bits, &one| bits << 6 | u32::from(letter(one)));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

/// Start, end and flags of the items of a page, with how many items each stands for.
fn items(page: &str, counts: &[u64]) -> Vec<(i128, i128, u8, u64)> {
    let start: i128 = value(page, "start").parse().unwrap();
    let bytes = bytes(page);
    let mut reader = Reader(bytes.iter());
    let mut items = Vec::new();
    for &count in counts {
        let mut at = start;
        for _ in 0..count {
            let from = at + i128::from(reader.number());
            at = from + i128::from(reader.number());
            reader.number();
            let flags = reader.byte();
            for _ in 0..(flags >> 3 & 1) + (flags >> 4 & 1) {
                reader.number();
            }
            let stands_for = if flags & 32 != 0 { reader.number() } else { 1 };
            items.push((from, at, flags, stands_for));
        }
        for _ in 0..reader.number() {
            reader.number();
            for _ in 0..reader.number() {
                reader.number();
                reader.number();
                reader.byte();
            }
        }
    }
    items
}

fn counts(page: &str) -> Vec<u64> {
    let (_, rest) = page.split_once("\"counts\":[").unwrap();
    let (list, _) = rest.split_once(']').unwrap();
    list.split(',')
        .map(|count| count.parse().unwrap())
        .collect()
}

#[test]
fn a_page_holds_times_of_64_bits_exactly() {
    let mut made = Made::default();
    let main = made.thread("main");
    let times = [
        (i64::MIN, i64::MIN + 1),
        (-1, 1),
        (1 << 53, (1 << 53) + 1),
        (i64::MAX - 3, i64::MAX),
    ];
    for time in times {
        made.span(main, time, None);
    }
    let page = html(
        &made.timeline(),
        &Categories::default(),
        ("far", ""),
        Some(100),
    );
    let held: Vec<_> = items(&page, &counts(&page))
        .into_iter()
        .map(|(start, end, ..)| (start, end))
        .collect();
    assert_eq!(
        held,
        times.map(|(start, end)| (i128::from(start), i128::from(end)))
    );
}

#[test]
fn a_page_without_room_draws_the_shortest_together() {
    let mut made = Made::default();
    let main = made.thread("main");
    for at in 0..1_000 {
        let length = if at % 100 == 0 { 9 } else { 1 };
        made.span(main, (at * 10, at * 10 + length), None);
    }
    // A part of the whole as long as all spans, so that they may be joined.
    made.event("late", Some(main), 40_000_000, None);
    let timeline = made.timeline();
    let page = html(&timeline, &Categories::default(), ("many", ""), Some(10));
    assert!(page.contains("\"all\":false"));
    let items = items(&page, &counts(&page));
    let long = items
        .iter()
        .filter(|item| item.1 - item.0 == 9 && item.3 == 1);
    assert_eq!(long.count(), 10);
    assert_eq!(items.len(), 21);
    // Every span and the event stand somewhere.
    assert_eq!(items.iter().map(|item| item.3).sum::<u64>(), 1_001);
    assert_eq!(value(&page, "spans"), "1000");
    let whole = html(&timeline, &Categories::default(), ("many", ""), Some(5_000));
    assert!(whole.contains("\"all\":true"));
}

#[test]
fn a_page_of_few_bytes_draws_more_together_and_names_less() {
    let mut made = Made::default();
    for track in 0..20 {
        let track = made.thread(&format!("t{track}"));
        for at in 0..500 {
            // Each has a name of its own, and many are longer than what is drawn together where there is room.
            made.span(track, (at * 1_000, at * 1_000 + 1 + at), None);
        }
    }
    let timeline = made.timeline();
    let page = |bytes| part(&timeline, &Categories::default(), 20_000, bytes);
    let whole = page(usize::MAX);
    assert_eq!(items(&whole, &counts(&whole)).len(), 10_000);
    let mut last = whole.len();
    for room in [50_000, 20_000, 2_000] {
        let small = page(room);
        let held = items(&small, &counts(&small));
        assert_eq!(held.iter().map(|item| item.3).sum::<u64>(), 10_000);
        assert!(bytes(&small).len() <= room, "{room}");
        assert!(small.contains("\"all\":false") && small.len() < last);
        last = small.len();
    }
}

#[test]
fn hostile_names_stay_names() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{2028}<!--";
    let mut made = Made::default();
    let track = made.thread(hostile);
    let function = made.function(hostile);
    let key = made.tables.string(hostile);
    let key: AttrKeyId = made.tables.attribute_key(AttributeKey::named(key));
    let text = Value::Text(made.tables.string(hostile));
    let id = made.tables.reserve_span();
    made.spans.push(&SpanRow {
        attributes: &[Attribute::new(key, text)],
        status: SpanStatus::PartialEnd,
        ..SpanRow::call(id, track, function, 0, 1)
    });
    let title = hostile.replace('\u{2028}', "");
    let page = html(
        &made.timeline(),
        &Categories::default(),
        (&title, ""),
        Some(100),
    );
    assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\u{2028}'));
    assert_eq!(page.matches("</script>").count(), 3);
    assert_eq!(items(&page, &counts(&page)), [(0, 1, 2 | 16, 1)]);
}

/// Three spans with a text of three hundred letters each.
fn made_with_texts() -> Made {
    let mut made = Made::default();
    let main = made.thread("main");
    let key = made.tables.string("sql");
    let key = made.tables.attribute_key(AttributeKey::named(key));
    let mut start = 0;
    for length in [10, 1_000, 100] {
        let text = format!("{length} {}", "x".repeat(300));
        let text = Value::Text(made.tables.string(&text));
        let function = made.function("f");
        let id = made.tables.reserve_span();
        made.spans.push(&SpanRow {
            attributes: &[Attribute::new(key, text)],
            ..SpanRow::call(id, main, function, start, start + length)
        });
        start += 2_000;
    }
    made
}

#[test]
fn attributes_are_those_of_the_longest_spans_while_there_is_room() {
    // Six bytes for each of 120 items: two of three lists.
    let page = html(
        &made_with_texts().timeline(),
        &Categories::default(),
        ("sql", ""),
        Some(120),
    );
    assert!(page.contains("1000 xxx") && page.contains("100 xxx") && !page.contains("10 xxx"));
    assert!(page.contains("\"lists\":2,\"lists_left_out\":1"));
}

#[test]
fn attributes_that_were_left_out_while_reading_are_counted_once() {
    let mut made = made_with_texts();
    made.collector = Collector::holding(9);
    let page = html(
        &made.timeline(),
        &Categories::default(),
        ("sql", ""),
        Some(1_000),
    );
    assert!(page.contains("\"lists\":0,\"lists_left_out\":0"));
    assert!(page.contains("\"details_left_out\":3"));
}
