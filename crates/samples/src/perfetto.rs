//! Generated traces for laws, fuzzing and benches: threads of a service that call and wait.

use crate::random::Random;
use traceloom_formats::protobuf::{put_bytes, put_double, put_number};

const NAMES: [&str; 8] = [
    "checkout", "price", "reserve", "query", "render", "encode", "flush", "retry",
];

/// Makes about `bytes` bytes of a trace.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut done = 0;
    let mut put = |body: &[u8]| {
        let mut packet = Vec::with_capacity(body.len() + 4);
        put_bytes(&mut packet, 1, body);
        out(&packet);
        done += packet.len() as u64;
        done
    };
    put(&clocks());
    let threads = 4;
    for thread in 0..threads {
        put(&descriptor(thread));
    }
    put(&counter());
    let mut times = [1_000_u64; 4];
    let mut depths = [0_u64; 4];
    let mut seen = [false; 4];
    let mut flow = 0;
    loop {
        let thread = random.number(threads);
        let slot = usize::try_from(thread).unwrap_or(0);
        let (Some(time), Some(depth), Some(seen)) = (
            times.get_mut(slot),
            depths.get_mut(slot),
            seen.get_mut(slot),
        ) else {
            return;
        };
        *time += random.number(5_000);
        let mut packet = Vec::new();
        let mut event = Vec::new();
        if !std::mem::replace(seen, true) {
            put_number(&mut packet, 13, 1);
            put_bytes(&mut packet, 59, &defaults(thread));
            put_bytes(&mut packet, 12, &names());
        } else {
            put_number(&mut packet, 13, 2);
        }
        put_number(&mut packet, 8, *time);
        put_number(&mut packet, 10, thread + 2);
        match random.number(8) {
            0 if *depth > 0 => {
                put_number(&mut event, 9, 3);
                put_number(&mut event, 10, 1 + random.number(8));
            }
            1 => {
                put_number(&mut event, 9, 4);
                put_number(&mut event, 11, 50);
                let value = u32::try_from(random.number(1000)).unwrap_or(0);
                put_double(&mut event, 44, f64::from(value));
            }
            kind if *depth > 0 && (kind < 5 || *depth > 30) => {
                put_number(&mut event, 9, 2);
                *depth -= 1;
            }
            kind => {
                put_number(&mut event, 9, 1);
                put_number(&mut event, 10, 1 + random.number(8));
                put_number(&mut event, 3, 1);
                if kind == 7 {
                    let mut annotation = Vec::new();
                    put_number(&mut annotation, 1, 1);
                    put_number(&mut annotation, 4, random.number(100_000));
                    put_bytes(&mut event, 4, &annotation);
                    flow += 1;
                    event.extend([0xf9, 0x02]);
                    event.extend((flow / 2 + 1_u64).to_le_bytes());
                }
                *depth += 1;
            }
        }
        put_bytes(&mut packet, 11, &event);
        if put(&packet) >= bytes {
            return;
        }
    }
}

fn clocks() -> Vec<u8> {
    let mut snapshot = Vec::new();
    for (clock, time) in [(6, 1_000), (1, 1_700_000_000_000_000_000_u64)] {
        let mut reading = Vec::new();
        put_number(&mut reading, 1, clock);
        put_number(&mut reading, 2, time);
        put_bytes(&mut snapshot, 1, &reading);
    }
    let mut packet = Vec::new();
    put_number(&mut packet, 10, 1);
    put_bytes(&mut packet, 6, &snapshot);
    packet
}

fn descriptor(thread: u64) -> Vec<u8> {
    let mut row = Vec::new();
    put_number(&mut row, 1, 10 + thread);
    let mut fields = Vec::new();
    put_number(&mut fields, 1, 40);
    put_number(&mut fields, 2, 40 + thread);
    put_bytes(&mut fields, 5, format!("worker-{thread}").as_bytes());
    put_bytes(&mut row, 4, &fields);
    let mut packet = Vec::new();
    put_number(&mut packet, 10, 1);
    put_bytes(&mut packet, 60, &row);
    packet
}

fn counter() -> Vec<u8> {
    let mut row = Vec::new();
    put_number(&mut row, 1, 50);
    put_bytes(&mut row, 2, b"queue");
    put_bytes(&mut row, 8, &[]);
    let mut packet = Vec::new();
    put_number(&mut packet, 10, 1);
    put_bytes(&mut packet, 60, &row);
    packet
}

fn defaults(thread: u64) -> Vec<u8> {
    let mut event = Vec::new();
    put_number(&mut event, 11, 10 + thread);
    let mut defaults = Vec::new();
    put_bytes(&mut defaults, 11, &event);
    defaults
}

fn names() -> Vec<u8> {
    let mut data = Vec::new();
    let mut put = |table: u32, iid: u64, name: &str| {
        let mut row = Vec::new();
        put_number(&mut row, 1, iid);
        put_bytes(&mut row, 2, name.as_bytes());
        put_bytes(&mut data, table, &row);
    };
    put(1, 1, "shop");
    put(3, 1, "order");
    for (iid, name) in (1..).zip(NAMES) {
        put(2, iid, name);
    }
    data
}
