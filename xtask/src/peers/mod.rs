//! `cargo xtask peers [ROW…]`: whole commands beside what else reads the same input.

mod measure;
mod rows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use self::measure::{PairedRuns, in_turn, run_once};
use self::rows::{ROWS, Row};
use crate::callgrind;
use crate::cargo::{program, release, root, succeed};

/// Where the table is, between the lines of [`BEGIN`] and [`END`].
const DOCUMENT: &str = "docs/performance.md";
const BEGIN: &str = "<!-- rows of cargo xtask peers -->";
const END: &str = "<!-- end of the rows -->";

/// Instructions may grow by so many percent of what the input does.
const STEEPEST: f64 = 1.2;

/// Seed of the inputs.
const SEED: &str = "7";

/// What is measured with.
struct Programs {
    traceloom: PathBuf,
    sample: PathBuf,
    folder: PathBuf,
}

/// Measures the rows that `names` names, or all, and writes each into the table of the document.
///
/// `--traceloom PROGRAM` and `--sample PROGRAM` in front of the names measure programs that are built already.
///
/// # Errors
/// When a command fails, takes more memory than its bound, or instructions out of proportion.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    let (programs, names) = programs(arguments)?;
    if let Some(name) = names
        .iter()
        .find(|name| ROWS.iter().all(|row| row.name != **name))
    {
        return Err(format!("there is no row `{name}`"));
    }
    let mut missed = Vec::new();
    let chosen = |row: &&Row| names.is_empty() || names.contains(&row.name);
    for row in ROWS.iter().filter(chosen) {
        let _ = fs::remove_dir_all(&programs.folder);
        fs::create_dir_all(&programs.folder).map_err(|error| error.to_string())?;
        let (line, broken) = measured(row, &programs)?;
        println!("{line}");
        missed.extend(broken.map(|broken| format!("{}: {broken}", row.name)));
        put_line(&line)?;
    }
    let _ = fs::remove_dir_all(&programs.folder);
    match missed.is_empty() {
        true => Ok(()),
        false => Err(missed.join("; ")),
    }
}

fn programs<'n>(arguments: &[&'n str]) -> Result<(Programs, Vec<&'n str>), String> {
    let (mut traceloom, mut sample) = (None, None);
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--traceloom" => traceloom = rest.next(),
            "--sample" => sample = rest.next(),
            name => names.push(name),
        }
    }
    let absolute = |path: &str| fs::canonicalize(path).map_err(|error| format!("{path}: {error}"));
    let (traceloom, sample) = match (traceloom, sample) {
        (Some(traceloom), Some(sample)) => (absolute(traceloom)?, absolute(sample)?),
        _ => {
            let built = release("sample")?.join("release");
            (built.join("traceloom"), built.join("examples/sample"))
        }
    };
    let folder = root().join("target/peers");
    let programs = Programs {
        traceloom,
        sample,
        folder,
    };
    Ok((programs, names))
}

/// Writes an input of about so many bytes; returns its path.
fn input(row: &Row, bytes: u64, programs: &Programs) -> Result<PathBuf, String> {
    let path = programs.folder.join(format!("{bytes}.{}", row.extension));
    if row.peer.is_some_and(|peer| peer.is_jdk) && rows::has_jdk() {
        record(&path, bytes, &programs.folder)?;
        return Ok(path);
    }
    let out = fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut make = program(&programs.sample.to_string_lossy());
    make.args([row.format, &bytes.to_string(), SEED]);
    succeed(make.stdout(out))?;
    Ok(path)
}

/// What the JDK records: events with stacks of forty depths. Its tool does not take the recordings of our generator.
const LOAD: &str = r#"
public class Load {
  @jdk.jfr.Name("acme.Step") static class Step extends jdk.jfr.Event { long number; String what; }
  static void call(int depth, long number) {
    if (depth > 0) { call(depth - 1, number); return; }
    Step step = new Step();
    step.begin();
    step.number = number;
    step.what = "step" + number % 50;
    step.commit();
  }
  public static void main(String[] words) {
    for (long number = 0; number < Long.parseLong(words[0]); number++) call((int) (number * 7 % 40), number);
  }
}
"#;

/// Has the JDK make a recording with an event for every 24 bytes.
fn record(path: &Path, bytes: u64, folder: &Path) -> Result<(), String> {
    let load = folder.join("Load.java");
    fs::write(&load, LOAD).map_err(|error| format!("{}: {error}", load.display()))?;
    let options = format!(
        "-XX:StartFlightRecording=filename={},settings=profile",
        path.display()
    );
    let mut java = program("java");
    java.args([&options, "-Xlog:disable"]).arg(&load);
    java.arg((bytes / 24).to_string());
    succeed(java.stdout(Stdio::null()).current_dir(folder))
}

/// Returns the line of a row, and the bounds that it broke.
fn measured(row: &Row, programs: &Programs) -> Result<(String, Option<String>), String> {
    let traceloom = programs.traceloom.to_string_lossy().into_owned();
    let mut peaks = Vec::new();
    let mut broken = Vec::new();
    let mut beside = PairedRuns::default();
    for times in [1, 4, 16] {
        let input = input(row, row.bytes * times, programs)?;
        let ours = words(&traceloom, row.ours, &input);
        let peer = row
            .peer
            .and_then(|peer| (peer.command)())
            .map(|command| with_input(&command, &input));
        peaks.push(run_once(&ours, &programs.folder)?.peak);
        if times == 16 {
            beside = in_turn(&ours, peer.as_deref(), &programs.folder)?;
        }
        let _ = fs::remove_file(input);
    }
    let peak = beside.ours.iter().map(|run| run.peak).max().unwrap_or(0);
    let peak = peaks.iter().copied().max().unwrap_or(0).max(peak);
    if peak > row.bound << 10 {
        broken.push(format!("{} MB, bound {} MB", peak >> 10, row.bound));
    }
    let growth = growth(row, programs)?;
    let too_steep = |steps: &[f64; 2]| steps.iter().any(|step| *step > STEEPEST);
    if growth.as_ref().is_some_and(too_steep) {
        broken.push(format!("grows {growth:.2?} times as fast as its input"));
    }
    let growth = growth.map_or("not measured".to_owned(), |[first, second]| {
        format!("{first:.2}, {second:.2}")
    });
    let megabytes = peaks.iter().map(|peak| (peak >> 10).to_string());
    let line = format!(
        "| {} | {} | {} | {} | {} | {} MB | {growth} |",
        row.name,
        row.peer.map_or("none", |peer| peer.name),
        beside.ratio(row.peer.is_some()),
        beside.times(),
        megabytes.collect::<Vec<_>>().join(", "),
        row.bound,
    );
    let broken = (!broken.is_empty()).then(|| broken.join(", "));
    Ok((line, broken))
}

/// Returns how much faster than the input instructions grow, on a sixteenth of it, a fourth, and all of the smallest; none
/// without valgrind, which takes fifty times as long.
fn growth(row: &Row, programs: &Programs) -> Result<Option<[f64; 2]>, String> {
    if !callgrind::is_installed() {
        return Ok(None);
    }
    let mut counts = Vec::new();
    for parts in [16, 4, 1] {
        let path = input(row, row.bytes / parts, programs)?;
        let size = fs::metadata(&path).map_or(1, |file| file.len());
        let path_text = path.to_string_lossy().into_owned();
        let args = row.ours.iter().copied().chain([path_text.as_str()]);
        let args: Vec<&str> = args.collect();
        let count = callgrind::instructions(&programs.traceloom, &args, &programs.folder)?;
        counts.push(count as f64 / size as f64);
        let _ = fs::remove_file(path);
    }
    match counts[..] {
        [small, middle, large] => Ok(Some([middle / small, large / middle])),
        _ => Ok(None),
    }
}

fn words(program: &str, args: &[&str], input: &Path) -> Vec<String> {
    let mut words = vec![program.to_owned()];
    words.extend(args.iter().map(|&word| word.to_owned()));
    words.push(input.to_string_lossy().into_owned());
    words
}

/// Puts the input's path where a command says `INPUT`.
fn with_input(command: &[String], input: &Path) -> Vec<String> {
    let input = input.to_string_lossy();
    let words = command.iter().map(|word| word.replace("INPUT", &input));
    words.collect()
}

/// Puts a line into the document's table, in the place of the row of its name.
fn put_line(line: &str) -> Result<(), String> {
    let path = root().join(DOCUMENT);
    let text = fs::read_to_string(&path).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    let text = with_line(&text, line).ok_or_else(|| format!("{DOCUMENT} has no {BEGIN}"))?;
    fs::write(&path, text).map_err(|error| format!("{DOCUMENT}: {error}"))
}

fn with_line(text: &str, line: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (table, after) = rest.split_once(END)?;
    let name = |line: &str| line.split('|').nth(1).map(|name| name.trim().to_owned());
    let mut lines: Vec<&str> = table.trim().lines().collect();
    match lines.iter_mut().find(|old| name(old) == name(line)) {
        Some(old) => *old = line,
        None => lines.push(line),
    }
    let table = lines.join("\n");
    Some(format!("{before}{BEGIN}\n\n{table}\n\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_place_of_its_last_figures() {
        let text = format!("a\n{BEGIN}\n\n| n | r |\n|---|---|\n| x | 1 |\n\n{END}\nb");
        let again = with_line(&text, "| x | 2 |").unwrap();
        let more = with_line(&again, "| y | 3 |").unwrap();
        let table = "| n | r |\n|---|---|\n| x | 2 |\n| y | 3 |";
        assert_eq!(more, format!("a\n{BEGIN}\n\n{table}\n\n{END}\nb"));
        assert_eq!(with_line("no table", "| x | 2 |"), None);
    }
}
