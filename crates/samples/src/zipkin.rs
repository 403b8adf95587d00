//! Generated spans of Zipkin: requests to a shop that asks a stock service and a database.

use crate::random::Random;

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
