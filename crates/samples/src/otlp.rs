//! Generated profiles for laws, fuzzing and benches: CPU time of a service, one process.

use crate::random::Random;
use traceloom_formats::protobuf::{put_bytes, put_fixed64, put_number, put_packed};

/// Makes about `bytes` bytes of a message.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let rows = (bytes / 120).clamp(4, 20_000);
    let mut profile = Vec::new();
    put_bytes(&mut profile, 1, &pair(1, 2));
    while (profile.len() as u64) < bytes / 2 {
        let mut body = Vec::new();
        put_number(&mut body, 1, 1 + random.number(rows));
        put_packed(&mut body, 2, [1 + random.number(2)].into_iter());
        put_packed(&mut body, 4, [random.number(50) * 10_000_000].into_iter());
        let time = 1_700_000_000_000_000_000 + random.number(30_000_000_000);
        put_bytes(&mut body, 5, &time.to_le_bytes());
        put_bytes(&mut profile, 2, &body);
    }
    put_fixed64(&mut profile, 3, 1_700_000_000_000_000_000);
    put_number(&mut profile, 4, 30_000_000_000);
    put_bytes(&mut profile, 5, &pair(1, 2));
    put_number(&mut profile, 6, 10_000_000);
    let mut scope = Vec::new();
    put_bytes(&mut scope, 1, b"\x0a\x08profiler");
    put_bytes(&mut scope, 2, &profile);
    let mut resource = Vec::new();
    let mut service = Vec::new();
    put_bytes(&mut service, 1, b"service.name");
    put_bytes(&mut service, 2, b"\x0a\x04shop");
    let mut attributes = Vec::new();
    put_bytes(&mut attributes, 1, &service);
    put_bytes(&mut resource, 1, &attributes);
    put_bytes(&mut resource, 2, &scope);
    let mut message = Vec::new();
    put_bytes(&mut message, 1, &resource);
    out(&message);
    message.clear();
    put_bytes(&mut message, 2, &dictionary(&mut random, rows));
    out(&message);
}

fn pair(first: u64, second: u64) -> Vec<u8> {
    let mut body = Vec::new();
    put_number(&mut body, 1, first);
    put_number(&mut body, 2, second);
    body
}

fn dictionary(random: &mut Random, rows: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for table in 1..=7 {
        put_bytes(&mut out, table, &[]);
    }
    for text in ["cpu", "nanoseconds", "thread.name", "/srv/shop", "shop.rs"] {
        put_bytes(&mut out, 5, text.as_bytes());
    }
    let mut mapping = pair(0x40_0000, 0x90_0000);
    put_number(&mut mapping, 4, 4);
    put_bytes(&mut out, 1, &mapping);
    for worker in 0..2 {
        let mut attribute = Vec::new();
        put_number(&mut attribute, 1, 3);
        let name = format!("worker-{worker}");
        let mut value = Vec::new();
        put_bytes(&mut value, 1, name.as_bytes());
        put_bytes(&mut attribute, 2, &value);
        put_bytes(&mut out, 6, &attribute);
    }
    for row in 1..=rows {
        put_bytes(&mut out, 5, format!("shop.handler{row}").as_bytes());
        let mut function = Vec::new();
        put_number(&mut function, 1, 5 + row);
        put_number(&mut function, 3, 5);
        put_number(&mut function, 4, row);
        put_bytes(&mut out, 3, &function);
        let mut location = pair(1, 0x40_0000 + row * 16);
        put_bytes(&mut location, 3, &pair(row, row + random.number(9)));
        put_bytes(&mut out, 2, &location);
        let mut stack = Vec::new();
        let depth = 1 + random.number(12);
        let path: Vec<u64> = (0..depth).map(|_| 1 + random.number(row)).collect();
        put_packed(&mut stack, 1, path.into_iter());
        put_bytes(&mut out, 7, &stack);
    }
    out
}
