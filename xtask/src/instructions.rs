//! `cargo xtask instructions [--renew]`: instructions of commands on one small input a format, beside committed figures.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use crate::callgrind;
use crate::cargo::{cargo, output, program, root, succeed, target};

/// For each build a line in brackets, then a line each: format, command, instructions.
const FIGURES: &str = "xtask/instructions.txt";

/// Instructions over the figure in hundredths, from which on the change needs a reason.
const ALLOWED: u64 = 3;

/// About the bytes of an input, and its seed.
const INPUT: [&str; 2] = ["65536", "7"];

/// A small input of each of these formats is read by this command.
const CASES: &[(&str, &str)] = &[
    ("cdt-calls", "info"),
    ("cdt-trace", "top"),
    ("chrome", "top"),
    ("folded", "top"),
    ("heph", "top"),
    ("jfr", "top"),
    ("line-protocol", "info"),
    ("otlp-traces", "top"),
    ("perfetto", "top"),
    ("pprof", "top"),
    ("speedscope", "top"),
    ("tptp-binary", "top"),
    ("tptp-xml", "top"),
    ("zorka-b2", "top"),
    ("zorka-c", "top"),
];

/// What came of comparing.
pub enum Comparison {
    Passed,
    /// Nothing was compared, for this reason.
    Skipped(String),
}

/// Counts the instructions of the debug build and compares them with the figures, or writes the figures.
///
/// The debug build is what the tests have built; formats, the model and dependencies are optimised in it.
///
/// # Errors
/// When a command takes over [`ALLOWED`] hundredths more than its figure, or has none.
pub fn run(renew: bool) -> Result<(), String> {
    match compare(renew)? {
        Comparison::Passed => Ok(()),
        Comparison::Skipped(reason) => {
            println!("skipped: {reason}");
            Ok(())
        }
    }
}

/// Does what [`run`] does; says why where it did nothing.
///
/// # Errors
/// As those of [`run`].
pub fn compare(renew: bool) -> Result<Comparison, String> {
    let skipped = |reason: String| Ok(Comparison::Skipped(reason));
    if !callgrind::is_installed() {
        return skipped("valgrind is not installed: no instructions are counted".to_owned());
    }
    let build = build()?;
    let text = fs::read_to_string(root().join(FIGURES)).unwrap_or_default();
    let known = block(&text, &build);
    if known.is_empty() && !renew {
        return skipped(format!("{FIGURES} has no figures of {build}"));
    }
    let counts = counts()?;
    if renew {
        let mut figures = format!("[{build}]\n");
        for ((format, command), count) in CASES.iter().zip(&counts) {
            let _ = writeln!(figures, "{format} {command} {count}");
        }
        fs::write(root().join(FIGURES), figures).map_err(|error| format!("{FIGURES}: {error}"))?;
        return Ok(Comparison::Passed);
    }
    let mut dearer = Vec::new();
    for (&(format, command), &count) in CASES.iter().zip(&counts) {
        let figure = figure(known, format, command);
        println!("{}", told(format, command, count, figure));
        if figure.is_none_or(|figure| is_dearer(count, figure)) {
            dearer.push(format!("{command} of {format}"));
        }
    }
    match dearer.is_empty() {
        true => Ok(Comparison::Passed),
        false => Err(format!(
            "over {ALLOWED} % more instructions than {FIGURES} says, or no figure: {}; if that is meant, state the reason \
             in the commit's message and renew the figures with `cargo xtask instructions --renew`",
            dearer.join(", ")
        )),
    }
}

/// Counts the instructions of each case, two at once.
fn counts() -> Result<Vec<u64>, String> {
    let target = target();
    let folder = target.join("instructions");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let traceloom = target.join("debug/traceloom");
    let count = |&(format, command): &(&str, &str)| {
        let input = input(format, &target, &folder)?;
        callgrind::instructions(&traceloom, &[command, &input], &folder)
    };
    let halves = CASES.split_at(CASES.len() / 2);
    let counts: Result<Vec<u64>, String> = thread::scope(|scope| {
        let first = scope.spawn(|| halves.0.iter().map(count).collect::<Result<Vec<u64>, _>>());
        let second = halves
            .1
            .iter()
            .map(count)
            .collect::<Result<Vec<u64>, _>>()?;
        let first = first.join().map_err(|_| "counting failed".to_owned())??;
        Ok([first, second].concat())
    });
    let _ = fs::remove_dir_all(&folder);
    counts
}

/// Builds what is counted, as `cargo test` does, and returns what counts depend on: the compiler's version, and how far
/// formats are optimised, which a developer's own settings of cargo may say otherwise than the workspace.
fn build() -> Result<String, String> {
    let version = output(program("rustc").arg("--version"));
    let version = version.ok_or("rustc does not tell its version")?;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    let built = ["test", "--workspace", "--no-run", "--message-format=json"];
    let built = output(&mut cargo(built)).ok_or("the workspace does not build")?;
    let built = String::from_utf8_lossy(&built);
    let level = opt_level(&built).ok_or("cargo does not say how formats are built")?;
    Ok(format!("{version}, formats at opt-level {level}"))
}

/// Finds the optimisation of the library of formats in what cargo says of its artifacts.
fn opt_level(messages: &str) -> Option<&str> {
    let is_library = |line: &&str| {
        let is_formats = line.contains("\"name\":\"traceloom_formats\"");
        is_formats && line.contains("\"opt_level\":") && line.contains("\"test\":false}")
    };
    let line = messages.lines().find(is_library)?;
    let (_, level) = line.split_once("\"opt_level\":\"")?;
    level.split('"').next()
}

/// Returns the lines of a build's figures.
fn block<'t>(text: &'t str, build: &str) -> &'t str {
    let Some((_, lines)) = text.split_once(&format!("[{build}]\n")) else {
        return "";
    };
    match lines.find('[') {
        Some(end) => lines.split_at(end).0,
        None => lines,
    }
}

/// Makes an input; returns its path.
fn input(format: &str, target: &Path, folder: &Path) -> Result<String, String> {
    let path = folder.join(format);
    let out = fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let sample = target.join("debug/examples/sample");
    let mut make = program(&sample.to_string_lossy());
    succeed(make.arg(format).args(INPUT).stdout(Stdio::from(out)))?;
    Ok(path.to_string_lossy().into_owned())
}

fn figure(known: &str, format: &str, command: &str) -> Option<u64> {
    let name = format!("{format} {command} ");
    let mut lines = known.lines();
    lines.find_map(|line| line.strip_prefix(&name)?.parse().ok())
}

fn is_dearer(count: u64, figure: u64) -> bool {
    count * 100 > figure * (100 + ALLOWED)
}

fn told(format: &str, command: &str, count: u64, figure: Option<u64>) -> String {
    match figure {
        Some(figure) => {
            let percent = (count as f64 / figure.max(1) as f64 - 1.0) * 100.0;
            format!("{command:5} {format:14} {count:>12} instructions, {percent:+.2} %")
        }
        None => format!("{command:5} {format:14} {count:>12} instructions, no figure"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hundredths_more_are_allowed() {
        let known = "rustc 1\njfr info 1000\njfr top 2000\n";
        assert_eq!(figure(known, "jfr", "info"), Some(1000));
        assert_eq!(figure(known, "jfr", "dump"), None);
        assert!(!is_dearer(1030, 1000));
        assert!(is_dearer(1031, 1000));
        let line = "info  jfr                    1031 instructions, +3.10 %";
        assert_eq!(told("jfr", "info", 1031, Some(1000)), line);
    }

    #[test]
    fn every_build_has_its_figures() {
        let text = "[a]\njfr top 1\n[b]\njfr top 2\n";
        assert_eq!(block(text, "a"), "jfr top 1\n");
        assert_eq!(block(text, "b"), "jfr top 2\n");
        assert_eq!(block(text, "c"), "");
        let committed = fs::read_to_string(root().join(FIGURES)).unwrap();
        let builds = committed.lines().filter(|line| line.starts_with('['));
        let builds: Vec<&str> = builds.map(|line| line.trim_matches(['[', ']'])).collect();
        assert!(!builds.is_empty());
        for build in builds {
            let known = block(&committed, build);
            for (format, command) in CASES {
                let found = figure(known, format, command);
                assert!(found.is_some(), "{build}: {command} of {format}");
            }
        }
    }

    #[test]
    fn cargo_says_how_formats_are_built() {
        let message = |name: &str, level: u8, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"target\":{{\"name\":\"{name}\"}},\"profile\":{{\"opt_level\":\"{level}\",\
                 \"test\":{test}}},\"fresh\":true}}\n"
            )
        };
        let messages = message("traceloom_model", 3, false)
            + &message("traceloom_formats", 0, true)
            + &message("traceloom_formats", 2, false);
        assert_eq!(opt_level(&messages), Some("2"));
        assert_eq!(opt_level(""), None);
    }
}
