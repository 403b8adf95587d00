//! `cargo xtask pages [PAGE…]`: how fast pages answer in a browser, on inputs of the sizes that are promised.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::cargo::{cargo, program, root, succeed};

/// A page to be measured.
struct MeasuredPage {
    name: &'static str,
    /// How its name ends.
    extension: &'static str,
    /// What the page is made from.
    input: fn() -> String,
    /// Arguments of `traceloom`; `INPUT` and `PAGE` are replaced.
    make: &'static [&'static str],
}

/// The script `xtask/pages/NAME.mjs` opens the page, measures, prints, and fails where it is slower than promised.
const PAGES: &[MeasuredPage] = &[
    MeasuredPage {
        name: "flame",
        extension: "html",
        input: hundred_thousand_frames,
        make: &["flame", "INPUT", "--force", "-o", "PAGE"],
    },
    MeasuredPage {
        name: "picture",
        extension: "svg",
        input: hundred_thousand_frames,
        make: &["flame", "INPUT", "--force", "-o", "PAGE"],
    },
    MeasuredPage {
        name: "timeline",
        extension: "html",
        input: million_spans,
        make: &["timeline", "INPUT", "--force", "-o", "PAGE"],
    },
];

/// The app of a collector, whose script starts one and sends it what it measures.
const APP: &str = "app";

/// A collector of many gigabytes of captures: measured where it is named, because it takes half an hour and 20 GB of disk.
const STORE: &str = "store";

/// Makes the pages that `names` names, or all, and measures them.
///
/// Needs node, chromium, and in the folder that `TRACELOOM_NPM` names playwright-core, as the tests of pages do.
///
/// # Errors
/// When something of that is missing, or a page is slower than promised.
pub fn run(names: &[&str]) -> Result<(), String> {
    if let Some(name) = names
        .iter()
        .find(|name| ![APP, STORE].contains(name) && PAGES.iter().all(|page| page.name != **name))
    {
        return Err(format!("there is no page `{name}` to measure"));
    }
    if std::env::var_os("TRACELOOM_NPM").is_none() {
        return Err(
            "TRACELOOM_NPM names no folder with playwright-core; .ci/run installs one".into(),
        );
    }
    succeed(&mut cargo(["build", "--release", "--package", "traceloom"]))?;
    let built =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let folder = built.join("pages");
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let mut slow = Vec::new();
    for page in PAGES {
        if !names.is_empty() && !names.contains(&page.name) {
            continue;
        }
        let input = folder.join(format!("{}.input", page.name));
        let output = folder.join(format!("{}.{}", page.name, page.extension));
        fs::write(&input, (page.input)()).map_err(|error| failed(&input, error))?;
        let mut make = program(&built.join("release/traceloom").to_string_lossy());
        for word in page.make {
            match *word {
                "INPUT" => make.arg(&input),
                "PAGE" => make.arg(&output),
                word => make.arg(word),
            };
        }
        succeed(&mut make)?;
        let script = root()
            .join("xtask/pages")
            .join(format!("{}.mjs", page.name));
        let mut measure = program("node");
        measure.arg(script).env("TRACELOOM_FOLDER", &folder);
        if succeed(&mut measure).is_err() {
            slow.push(page.name);
        }
    }
    for collector in [APP, STORE] {
        if !names.contains(&collector) && (collector == STORE || !names.is_empty()) {
            continue;
        }
        let sample = "release/examples/sample_dump";
        if collector == STORE {
            let package = ["build", "--release", "--package", "traceloom-input"];
            succeed(cargo(package).args(["--example", "sample_dump"]))?;
        }
        let mut measure = program("node");
        measure.arg(root().join(format!("xtask/pages/{collector}.mjs")));
        measure.env("TRACELOOM_FOLDER", &folder);
        measure.env("TRACELOOM_BINARY", built.join("release/traceloom"));
        measure.env("TRACELOOM_SAMPLE_DUMP", built.join(sample));
        if succeed(&mut measure).is_err() {
            slow.push(collector);
        }
    }
    fs::remove_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    if slow.is_empty() {
        return Ok(());
    }
    Err(format!(
        "not as fast as promised, or not measured: {}",
        slow.join(", ")
    ))
}

/// Numbers that look random and are the same every time (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Folded stacks of 100,000 paths of calls of 5,000 functions, up to 60 deep, as a service has: deep chains with
/// few branches, and values from one to thousands.
fn hundred_thousand_frames() -> String {
    const LAYERS: [&str; 6] = [
        "com.acme.shop",
        "org.springframework.web",
        "org.hibernate.engine",
        "java.util",
        "io.netty.channel",
        "org.postgresql.core",
    ];
    let mut state = 7;
    let mut out = String::new();
    let mut path: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for frame in 0..100_000_u64 {
        let depth = path.len() as u64;
        // Mostly one deeper; from time to time back to a caller.
        if depth >= 60 || (depth > 8 && random(&mut state).is_multiple_of(4)) {
            path.truncate((1 + random(&mut state) % depth) as usize);
        }
        let layer = LAYERS[(path.len() / 6) % LAYERS.len()];
        // No two callees of one caller have one name.
        for number in (frame..).map(|number| number % 5_000) {
            path.push(format!("{layer}.Class{}.method{number}", number / 12));
            if seen.insert(path.join(";")) {
                break;
            }
            path.pop();
        }
        let value = 1 + random(&mut state) % 40 * (random(&mut state) % 100);
        let _ = writeln!(out, "{} {value}", path.join(";"));
    }
    out
}

/// A Chrome trace of a million spans: sixteen threads that answer requests, each a tree of calls up to twelve deep,
/// and a counter.
fn million_spans() -> String {
    let mut state = 11;
    let mut out = String::from("[");
    let mut left = 1_000_000_u64;
    let mut clocks = [0_u64; 16];
    while left > 0 {
        let thread = (random(&mut state) % 16) as usize;
        let clock = &mut clocks[thread];
        *clock += 1_000 + random(&mut state) % 40_000;
        let spans = left.min(1 + random(&mut state) % 120);
        left -= spans;
        let mut depth = 0;
        let mut ends: Vec<u64> = Vec::new();
        for _ in 0..spans {
            let above = ends.last().copied().unwrap_or(u64::MAX);
            let length = match ends.len() {
                0 => 200_000 + random(&mut state) % 9_000_000,
                _ => 1 + random(&mut state) % ((above - *clock) * 3 / 4).max(1),
            };
            let end = (*clock + length).min(above);
            let (start, length) = (*clock, end - *clock);
            let name = random(&mut state) % 300 * 12 + depth;
            let _ = writeln!(
                out,
                "{{\"ph\":\"X\",\"pid\":1,\"tid\":{thread},\"ts\":{}.{:03},\"dur\":{}.{:03},\"name\":\"com.acme.layer{depth}.Class{}.method{name}\"}},",
                start / 1_000,
                start % 1_000,
                length / 1_000,
                length % 1_000,
                name / 7,
            );
            ends.push(end);
            depth += 1;
            // Mostly the next callee; from time to time back to a caller.
            while depth > 11 || (depth > 1 && random(&mut state).is_multiple_of(3)) {
                *clock = ends.pop().unwrap_or(*clock);
                depth -= 1;
            }
            *clock += (ends.last().copied().unwrap_or(*clock) - *clock) / 40;
        }
        *clock = ends.first().copied().unwrap_or(*clock);
        let used = 1_000_000 + random(&mut state) % 90_000_000;
        let _ = writeln!(
            out,
            "{{\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":\"heap\",\"args\":{{\"used\":{used}}}}},",
            *clock / 1_000
        );
    }
    out.truncate(out.trim_end().len() - 1);
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_a_million_spans() {
        let trace = million_spans();
        assert_eq!(trace.matches("\"ph\":\"X\"").count(), 1_000_000);
        assert!(trace.ends_with("}}]"));
    }

    #[test]
    fn every_line_is_another_path() {
        let folded = hundred_thousand_frames();
        let paths: HashSet<&str> = folded
            .lines()
            .filter_map(|line| Some(line.rsplit_once(' ')?.0))
            .collect();
        assert_eq!(paths.len(), 100_000);
        // Every caller is a path of its own line, so that frames are neither fewer nor more.
        let callers = paths
            .iter()
            .filter_map(|path| Some(path.rsplit_once(';')?.0));
        assert!(callers.into_iter().all(|caller| paths.contains(caller)));
    }
}
