//! Generated spans of Zipkin: requests to a shop that asks a stock service and a database.

use crate::random::Random;
use traceloom_formats::protobuf::{put_bytes, put_fixed64, put_message, put_number};

/// Makes spans of about `bytes` bytes, in traces of four spans of two services.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut made = 2;
    out(b"[");
    let mut at = 1_700_000_000_000_000;
    while made == 2 || made < bytes {
        let trace = random.number(u64::MAX);
        let (root, client, query) = (trace ^ 1, trace ^ 2, trace ^ 3);
        let (asked, found) = (100 + random.number(900), 50 + random.number(100));
        let total = asked + 2 * found;
        let shop = "\"localEndpoint\":{\"serviceName\":\"shop\",\"ipv4\":\"192.0.2.1\"}";
        let stock = "\"localEndpoint\":{\"serviceName\":\"stock\",\"port\":9000}";
        let head = |id: u64, parent: u64, name: &str, start: u64, lasted: u64| {
            format!(
                "{{\"traceId\":\"{trace:016x}\",\"id\":\"{id:016x}\",\"parentId\":\"{parent:016x}\",\
                 \"name\":\"{name}\",\"timestamp\":{start},\"duration\":{lasted}"
            )
        };
        let failed = match random.number(8) {
            0 => ",\"error\":\"timeout\"",
            _ => "",
        };
        let spans = [
            format!(
                "{},\"kind\":\"SERVER\",\"shared\":true,{stock},\"tags\":{{\"db.rows\":\"{found}\"}}}}",
                head(client, root, "get /stock", at + 20, asked - 40)
            ),
            format!(
                "{},\"kind\":\"CLIENT\",{shop},\"remoteEndpoint\":{{\"serviceName\":\"stock\"}},\
                 \"tags\":{{\"http.method\":\"GET\"{failed}}}}}",
                head(client, root, "get /stock", at + 10, asked)
            ),
            format!(
                "{},{shop},\"annotations\":[{{\"timestamp\":{},\"value\":\"cache.miss\"}}]}}",
                head(query, root, "select", at + 10 + asked, found),
                at + 10 + asked + found / 2
            ),
            format!(
                "{{\"traceId\":\"{trace:016x}\",\"id\":\"{root:016x}\",\"kind\":\"SERVER\",\"name\":\"buy\",\
                 \"timestamp\":{at},\"duration\":{total},{shop},\"debug\":true}}"
            ),
        ];
        let text = spans.join(",\n");
        if made > 2 {
            out(b",\n");
            made += 2;
        }
        out(text.as_bytes());
        made += text.len() as u64;
        at += total + random.number(50);
    }
    out(b"\n]\n");
}

/// Makes spans of about `bytes` bytes in protobuf: those of one service, as a reporter sends them.
pub(crate) fn protobuf(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let (mut at, mut made) = (1_700_000_000_000_000, 0);
    while made < bytes.max(1) {
        let trace = random.number(u64::MAX) | 1;
        let (asked, found) = (100 + random.number(900), 50 + random.number(100));
        let failed = random.number(8) == 0;
        let mut list = Vec::new();
        for (id, parent, name, kind, start, lasted) in [
            (trace ^ 2, trace ^ 4, "get /stock", 1, at + 10, asked),
            (trace ^ 8, trace ^ 4, "select", 0, at + 10 + asked, found),
            (trace ^ 4, 0, "buy", 2, at, asked + 2 * found),
        ] {
            put_message(&mut list, 1, |span| {
                put_bytes(span, 1, &trace.to_be_bytes());
                if parent != 0 {
                    put_bytes(span, 2, &parent.to_be_bytes());
                }
                put_bytes(span, 3, &id.to_be_bytes());
                put_number(span, 4, kind);
                put_bytes(span, 5, name.as_bytes());
                put_fixed64(span, 6, start);
                put_number(span, 7, lasted);
                put_message(span, 8, |endpoint| {
                    put_bytes(endpoint, 1, b"shop");
                    put_bytes(endpoint, 2, &[192, 0, 2, 1]);
                });
                if kind == 0 {
                    put_message(span, 10, |annotation| {
                        put_fixed64(annotation, 1, start + lasted / 2);
                        put_bytes(annotation, 2, b"cache.miss");
                    });
                }
                let tags = [("http.method", "GET"), ("error", "timeout")];
                for (key, value) in tags.iter().take(1 + usize::from(failed)) {
                    put_message(span, 11, |tag| {
                        put_bytes(tag, 1, key.as_bytes());
                        put_bytes(tag, 2, value.as_bytes());
                    });
                }
            });
        }
        made += list.len() as u64;
        out(&list);
        at += asked + 2 * found + random.number(50);
    }
}
