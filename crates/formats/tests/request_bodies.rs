//! Readers of requests over damaged bodies: seeded changes to sound ones. The fuzz target `requests` has the same laws.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    reason = "a test that takes a number from its environment"
)]

mod bodies;

use bodies::READERS;
use traceloom_samples::Random;

/// Sound bodies for a reader.
fn sound(reader: &str) -> Vec<Vec<u8>> {
    let text = |text: &str| text.as_bytes().to_vec();
    match reader {
        "upload" => vec![
            text(
                "--b\r\nContent-Disposition: form-data; name=\"event\"; filename=\"event.json\"\r\n\r\n\
                 {\"attachments\":[\"auto.pprof\"],\"tags_profiler\":\"service:shop,runtime-id:r\",\"start\":\"2024-08-08T15:47:06Z\"}\r\n\
                 --b\r\nContent-Disposition: form-data; name=\"auto\"; filename=\"auto.pprof\"\r\n\r\n\x1f\r\n--b--\r\n",
            ),
            text(
                "--b\r\nContent-Disposition: form-data; name=\"tags[]\"\r\n\r\nservice:old\r\n\
                 --b\r\nContent-Disposition: form-data; name=\"recording-start\"\r\n\r\n2024-08-08T15:47:06Z\r\n--b--\r\n",
            ),
        ],
        "event" => vec![text(
            "{\"attachments\":[\"main.jfr\",\"metrics.json\"],\"tags_profiler\":\"host:h,service:s,env:e,process_id:7\",\
             \"start\":\"2024-08-08T15:47:06.5+08:00\",\"end\":\"2024-08-08T15:48:06Z\",\"family\":\"java\",\"version\":\"4\",\
             \"endpoint_counts\":{\"/a\":1},\"list\":[1,\"x\",{}],\"sub_custom_tags\":\"a:b\"}",
        )],
        "symbols" => vec![
            traceloom_samples::bytes("zorka-agd", 3, 400),
            text("wYIBaGRlbW8uQXBw"),
        ],
        "trace" => {
            let mut body = vec![36];
            for (id, name) in (1..).zip(["demo.App", "work", "()V"]) {
                body.extend([0xc1, 0x82, id, 0x60 + name.len() as u8]);
                body.extend(name.bytes());
            }
            body.extend([0xc2, 0x84, 1, 1, 2, 3]);
            body[0] = (body.len() - 1) as u8;
            let clock = [0, 0, 1, 0xa1, 0xfb, 0xbc, 0x44, 0xf9];
            body.extend([0xc3, 0x9f, 3, 1, 0xc5, 0x82, 0x1b]);
            body.extend(clock);
            body.extend([1, 0xc6, 0x82, 2, 0x61, b'x', 0xc4, 0x82, 0x17, 1, 0xff]);
            vec![body]
        }
        "ingest" => vec![text(
            "POST /ingest?format=pprof&from=1723123941&until=1723124001&name=app%7Ba%3Db%7D&spyName=nodespy HTTP/1.1\r\n\
             content-type: application/octet-stream\r\ncontent-length: 3\r\n\r\n",
        )],
        _ => vec![
            traceloom_samples::bytes("pprof", 5, 200),
            text(
                "{\"series\":[{\"labels\":[{\"name\":\"service_name\",\"value\":\"s\"}],\
                 \"samples\":[{\"rawProfile\":\"AAAA\",\"ID\":\"x\"}]}]}",
            ),
        ],
    }
}

/// Changes a body in one to four places.
fn changed(body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut body = body.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.index(body.len() + 1);
        let to = (at + random.below(24) as usize).min(body.len());
        match random.below(5) {
            0 => body.truncate(at),
            1 => drop(body.drain(at..to)),
            2 => {
                let again = body[at..to].to_vec();
                body.splice(at..at, again);
            }
            3 => {
                let bytes: Vec<u8> = (0..random.below(9))
                    .map(|_| random.below(256) as u8)
                    .collect();
                body.splice(at..at, bytes);
            }
            _ => {
                if let Some(byte) = body.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    body
}

#[test]
fn what_is_sound_is_read() {
    for (name, reader) in READERS {
        for body in sound(name) {
            assert_eq!(reader(&body), Ok(()), "{name}");
        }
    }
}

/// `TRACELOOM_BODIES` takes more of them.
#[test]
fn no_body_makes_a_reader_panic_or_grow() {
    let n_rounds = std::env::var("TRACELOOM_BODIES").ok();
    let n_rounds: u64 = n_rounds.and_then(|n| n.parse().ok()).unwrap_or(4000);
    for (name, reader) in READERS {
        for (which, body) in sound(name).into_iter().enumerate() {
            let mut random = Random::new(7 + which as u64);
            for round in 0..n_rounds {
                let changed = changed(&body, &mut random);
                if let Err(fault) = reader(&changed) {
                    panic!("{name} {which}, round {round}: {fault}: {changed:02x?}");
                }
            }
        }
    }
}
