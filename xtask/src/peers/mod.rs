//! `cargo xtask peers [ROW…]`: whole commands beside what else reads the same input.

mod inputs;
mod measure;
mod rows;
mod tools;

use std::fs;
use std::path::PathBuf;

use self::measure::{PairedRuns, in_turn, run_once};
use self::rows::{ROWS, Row};
use crate::callgrind;
use crate::cargo::{cargo, release, root, succeed};

/// Where the table is, between the lines of [`BEGIN`] and [`END`].
const DOCUMENT: &str = "docs/performance.md";
const BEGIN: &str = "<!-- rows of cargo xtask peers -->";
const END: &str = "<!-- end of the rows -->";

/// Instructions may grow by so many percent of what the input does.
const STEEPEST: f64 = 1.2;

/// Seeds of an input and of the other one that a command compares it with.
const SEEDS: [&str; 2] = ["7", "8"];

/// What is measured with.
struct Programs {
    traceloom: PathBuf,
    sample: PathBuf,
    sample_dump: PathBuf,
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
            let dumps = [
                "build",
                "--release",
                "--package",
                "traceloom-input",
                "--example",
                "sample_dump",
            ];
            succeed(&mut cargo(dumps))?;
            (built.join("traceloom"), built.join("examples/sample"))
        }
    };
    let folder = root().join("target/peers");
    let programs = Programs {
        traceloom,
        sample_dump: sample.with_file_name("sample_dump"),
        sample,
        folder,
    };
    Ok((programs, names))
}

/// Returns the line of a row, and the bounds that it broke.
fn measured(row: &Row, programs: &Programs) -> Result<(String, Option<String>), String> {
    let mut peaks = Vec::new();
    let mut broken = Vec::new();
    let mut beside = PairedRuns::default();
    for times in [1, 4, 16] {
        let inputs = Inputs::of(row, row.bytes * times, programs)?;
        let ours = inputs.command(row, programs);
        let peer = row.peer.and_then(|peer| (peer.command)());
        let peer = peer.map(|command| inputs.put_into(&command));
        peaks.push(run_once(&ours, &programs.folder)?.peak);
        if times == 16 {
            beside = in_turn(&ours, peer.as_deref(), &programs.folder)?;
        }
        inputs.remove();
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
        "| {} | {} | {} | {} | {} | {} | {} MB | {growth} |",
        row.name,
        row.peer.map_or("none", |peer| peer.name),
        beside.ratio(row.peer.is_some()),
        beside.times(),
        beside.cores(),
        megabytes.collect::<Vec<_>>().join(", "),
        row.bound,
    );
    let broken = (!broken.is_empty()).then(|| broken.join(", "));
    Ok((line, broken))
}

/// Returns how much faster than the input instructions grow, on a sixteenth of it, a fourth, and all of the smallest; none
/// without valgrind, which takes fifty times as long. Half a megabyte that every recording of the JDK has is no input that grows.
fn growth(row: &Row, programs: &Programs) -> Result<Option<[f64; 2]>, String> {
    if !callgrind::is_installed() || row.bytes == 0 {
        return Ok(None);
    }
    let mut counts = Vec::new();
    for parts in [16, 4, 1] {
        let bytes = row.bytes / parts;
        let inputs = Inputs::of(row, bytes, programs)?;
        let command = inputs.command(row, programs);
        let args: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
        let count = callgrind::instructions(&programs.traceloom, &args, &programs.folder)?;
        counts.push(count as f64 / bytes as f64);
        inputs.remove();
    }
    match counts[..] {
        [small, middle, large] => Ok(Some([middle / small, large / middle])),
        _ => Ok(None),
    }
}

/// What one run of a row reads: its input, and the other one where its command takes two.
struct Inputs(Vec<PathBuf>);

impl Inputs {
    fn of(row: &Row, bytes: u64, programs: &Programs) -> Result<Self, String> {
        let n_inputs = if row.ours.contains(&"OTHER") { 2 } else { 1 };
        let seeds = SEEDS.iter().take(n_inputs);
        let paths = seeds.map(|seed| inputs::make(row.input, bytes, seed, programs));
        Ok(Self(paths.collect::<Result<_, _>>()?))
    }

    /// Returns the program's path and the arguments of a row.
    fn command(&self, row: &Row, programs: &Programs) -> Vec<String> {
        let traceloom = programs.traceloom.to_string_lossy();
        let words = [traceloom.as_ref()]
            .into_iter()
            .chain(row.ours.iter().copied());
        self.put_into(&words.map(str::to_owned).collect::<Vec<_>>())
    }

    /// Puts the paths where a command says `INPUT` and `OTHER`.
    fn put_into(&self, command: &[String]) -> Vec<String> {
        let names = ["INPUT", "OTHER"].into_iter().zip(&self.0);
        let put = |word: &String| {
            names.clone().fold(word.clone(), |word, (name, path)| {
                word.replace(name, &path.to_string_lossy())
            })
        };
        command.iter().map(put).collect()
    }

    fn remove(&self) {
        for path in &self.0 {
            let _ = match path.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
        }
    }
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
