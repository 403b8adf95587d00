//! Generated profiles for laws, fuzzing and benches: shaped like the CPU profile of a Go service.

use traceloom_formats::protobuf::{put_bytes, put_number, put_packed};

use crate::random::Random;

const WORDS: [&str; 12] = [
    "order", "cart", "price", "stock", "store", "cache", "query", "render", "encode", "route",
    "session", "worker",
];

/// Makes about `bytes` bytes of a profile.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut field = Vec::new();
    let mut body = Vec::new();
    let mut put = |number: u32, body: &[u8]| {
        field.clear();
        put_bytes(&mut field, number, body);
        out(&field);
        field.len() as u64
    };
    for pair in [[1, 2], [3, 4]] {
        body.clear();
        put_number(&mut body, 1, pair[0]);
        put_number(&mut body, 2, pair[1]);
        put(1, &body);
    }
    let locations = (bytes / 120).clamp(8, 40_000);
    let mut done = 0;
    while done < bytes / 2 {
        body.clear();
        sample_body(&mut random, locations, &mut body);
        done += put(2, &body);
    }
    body.clear();
    for (number, value) in [
        (1, 1),
        (2, 0x40_0000),
        (3, 0x90_0000),
        (5, 5),
        (6, 6),
        (7, 1),
    ] {
        put_number(&mut body, number, value);
    }
    put(3, &body);
    let functions = locations / 3 + 1;
    let mut line = Vec::new();
    for id in 1..=locations {
        body.clear();
        put_number(&mut body, 1, id);
        put_number(&mut body, 2, 1);
        put_number(&mut body, 3, 0x40_0000 + id * 37);
        for _ in 0..=u64::from(random.number(8) == 0) {
            line.clear();
            put_number(&mut line, 1, random.number(functions) + 1);
            put_number(&mut line, 2, random.number(2000) + 1);
            put_bytes(&mut body, 4, &line);
        }
        put(4, &body);
    }
    for id in 1..=functions {
        body.clear();
        put_number(&mut body, 1, id);
        put_number(&mut body, 2, 10 + id);
        put_number(&mut body, 3, 10 + id);
        put_number(&mut body, 4, 7 + id % 3);
        put(5, &body);
    }
    let fixed = [
        "",
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "/srv/shop",
        "0a1b2c",
        "/src/shop/cart.go",
        "/src/shop/order.go",
        "/src/shop/main.go",
        "thread id",
    ];
    fixed.iter().for_each(|text| {
        put(6, text.as_bytes());
    });
    for id in 1..=functions {
        let word = |random: &mut Random| {
            let index = usize::try_from(random.number(WORDS.len() as u64)).unwrap_or(0);
            WORDS.get(index).copied().unwrap_or("main")
        };
        let (package, name) = (word(&mut random), word(&mut random));
        put(
            6,
            format!("shop.example/{package}.(*Handler).{name}{id}").as_bytes(),
        );
    }
    body.clear();
    put_number(&mut body, 1, 3);
    put_number(&mut body, 2, 4);
    put(11, &body);
    body.clear();
    put_number(&mut body, 9, 1_700_000_000_000_000_000);
    put_number(&mut body, 10, 30_000_000_000);
    put_number(&mut body, 12, 10_000_000);
    out(&body);
}

/// Writes one sample. Its stack is a walk in a graph of calls, where a location calls one of four others, mostly the
/// first: stacks share their callers, and few locations are in most of them.
fn sample_body(random: &mut Random, locations: u64, body: &mut Vec<u8>) {
    let depth = 4 + random.number(60);
    let mut location = 0;
    let ids: Vec<u64> = (0..depth)
        .map(|_| {
            let callee = match random.number(4) {
                0 => random.number(4),
                _ => 0,
            };
            location = 1 + Random::new(location * 4 + callee).number(locations);
            location
        })
        .collect();
    put_packed(body, 1, ids.iter().rev().copied());
    let count = 1 + random.number(3);
    put_packed(body, 2, [count, count * 10_000_000].into_iter());
    if random.number(4) == 0 {
        let mut label = Vec::new();
        put_number(&mut label, 1, 10);
        put_number(&mut label, 3, random.number(64));
        put_bytes(body, 3, &label);
    }
}
