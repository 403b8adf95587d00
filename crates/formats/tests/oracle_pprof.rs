//! Profiles that we write, as `go tool pprof` reads them.
//!
//! Without the tool the test says so and passes.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that runs a tool on files"
)]

mod corpus;
mod gopprof;
mod raised;
mod top;

use std::io::Read as _;
use std::path::Path;

use gopprof::{report, tool};
use raised::raise;
use top::{lowered, top};
use traceloom_formats::by_name;
use traceloom_model::{Recording, Unit};

fn agree(tool: &Path, what: &str, recording: &Recording) {
    let format = by_name("pprof").unwrap();
    let bytes = raise(format, recording);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{what}.pprof"));
    std::fs::write(&file, &bytes).unwrap();
    let written = lowered(format, &bytes);
    let profile = written.profiles[0].as_ref().unwrap();
    for (column, &id) in profile.value_types.iter().enumerate() {
        let value_type = written.value_type(id).unwrap();
        let unit = match value_type.unit {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "B",
            _ => "",
        };
        let name = written.text(value_type.name);
        let (total, rows) = report(tool, &file, &name, unit);
        let ours = top(&written, column);
        // The tool takes the absolute values of the samples for its total.
        assert_eq!(total, ours.total, "{what}: {name}");
        let mut ours: Vec<(String, i64, i64)> = ours
            .rows
            .into_iter()
            .map(|row| {
                (
                    row.name.split_whitespace().collect::<Vec<_>>().join(" "),
                    row.flat,
                    row.cum,
                )
            })
            .collect();
        ours.sort();
        assert_eq!(rows.len(), ours.len(), "{what}: {name}");
        for (theirs, ours) in rows.iter().zip(&ours) {
            assert_eq!(theirs, ours, "{what}: {name}");
        }
    }
}

#[test]
fn our_profiles_are_read_as_they_are_meant() {
    let Some(tool) = tool() else {
        println!("no Go found, skipped");
        return;
    };
    let mut bytes = Vec::new();
    let pprof = by_name("pprof").unwrap();
    traceloom_samples::by_name(pprof.name).unwrap()(3, 60_000, &mut |piece| {
        bytes.extend_from_slice(piece)
    });
    agree(&tool, "sample", &lowered(pprof, &bytes));
    for name in [
        "dk_ddtrace_python.pprof",
        "dk_go_cpu.pprof",
        "dk_go_delta-block.pprof",
        "dk_go_delta-heap.pprof",
        "dk_go_goroutines.pprof",
        "gpprof_large.cpu",
        "parca_fgprof.pb.gz",
        "parca_labels.pb.gz",
        "rs_pprof-rs_profile.pb",
    ] {
        let Some(mut bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let mut plain = Vec::new();
            let mut gzip = flate2::read::GzDecoder::new(bytes.as_slice());
            gzip.read_to_end(&mut plain).unwrap();
            bytes = plain;
        }
        agree(&tool, name, &lowered(pprof, &bytes));
    }
}
