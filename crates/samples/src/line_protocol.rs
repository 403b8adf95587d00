//! Points made from a seed.

use traceloom_formats::lineproto::{Dialect, Writer};

use crate::random::Random;

/// Makes points with five tags and eight fields of every common kind, about 290 bytes each.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let (mut made, mut time) = (0, 1_723_123_941_746_316_117_i64);
    let mut line = Vec::new();
    while made < bytes {
        line.clear();
        let (a, b) = (random.bits(), random.bits());
        time += 1_000_000 + i64::try_from(a % 1_000_000).unwrap_or(0);
        let mut writer = Writer::new(&mut line, Dialect::Influx);
        writer.measurement(b"profile");
        writer.tag(
            b"endpoint",
            if a.is_multiple_of(2) {
                b"GET /movies"
            } else {
                b"GET /actors"
            },
        );
        writer.tag(b"env", b"prod");
        writer.tag(b"host", format!("node-{}.example.com", a % 40).as_bytes());
        writer.tag(b"language", b"golang");
        writer.tag(b"service", format!("shop-{}", b % 7).as_bytes());
        writer.text(b"profile_id", format!("cq6r{a:016x}{b:016x}").as_bytes());
        writer.text(b"agent_ver", b"1.65.0");
        writer.i64(b"start", time / 1000);
        writer.i64(b"end", time / 1000 + 60_000_000);
        writer.i64(b"duration", 60_000_000);
        writer.text(b"pid", (b % 65_536).to_string().as_bytes());
        writer.f64(
            b"cpu_cores",
            f64::from(u32::try_from(a >> 40).unwrap_or(0)) / 64.0,
        );
        writer.bool(b"complete", !b.is_multiple_of(3));
        writer.end(Some(time));
        made += line.len() as u64;
        out(&line);
    }
}
