//! Messages without a magic number and JSON are told apart by what they hold: nobody takes another's.
#![allow(missing_docs, reason = "a test")]

use traceloom_formats::{Confidence, FORMATS, Format, Probe, by_name};

fn claims(bytes: &[u8]) -> Vec<(Confidence, &'static str)> {
    let head = &bytes[..bytes.len().min(64 << 10)];
    let probe = Probe {
        head,
        whole: head.len() == bytes.len(),
        name: "part",
        siblings: &[],
    };
    let claim = |format: &&'static Format| Some(((format.probe)(&probe)?, format.name));
    let all = FORMATS.iter().filter_map(claim);
    all.filter(|claim| claim.0 > Confidence::Possible).collect()
}

#[test]
fn samples_are_claimed_by_their_own_format_alone() {
    let ours = [
        "perfetto",
        "otlp-profiles",
        "otlp-profiles-json",
        "otlp-traces",
        "otlp-traces-json",
        "zipkin",
        "zipkin-protobuf",
        "chrome",
        "pprof",
    ];
    for format in FORMATS {
        let Some(sample) = traceloom_samples::by_name(format.name) else {
            continue;
        };
        for (seed, size) in [(1, 3000), (2, 200_000)] {
            let mut bytes = Vec::new();
            sample(seed, size, &mut |piece| bytes.extend_from_slice(piece));
            let claims = claims(&bytes);
            if ours.contains(&format.name) {
                assert_eq!(claims, [(Confidence::Certain, format.name)], "{size} bytes");
            } else {
                let wrong = claims.iter().find(|claim| ours.contains(&claim.1));
                assert_eq!(wrong, None, "{} of {size} bytes", format.name);
            }
        }
    }
}

#[test]
fn every_name_has_a_row() {
    for name in ["perfetto", "otlp-profiles", "chrome"] {
        let format = by_name(name).expect("a row");
        assert!(format.reader.is_some() && format.lower.is_some() && format.raise.is_some());
    }
}
