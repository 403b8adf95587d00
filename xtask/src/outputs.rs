//! `cargo xtask outputs OLD NEW [INPUT…]`: do two builds of the program print and write the same?

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cargo::root;

/// Commands that print. `{}` is the input.
const VIEWS: &[&str] = &[
    "info {}",
    "info {} --json",
    "check {}",
    "check {} --json",
    "dump {} --json",
    "dump {} --limit-records 200",
    "dump {} --json --resolve --limit-records 2000",
    "calls {}",
    "calls {} --json",
    "calls {} --csv --sort -duration",
    "top {}",
    "top {} --json --async",
    "top {} --hotspots",
    "tree {} --json",
    "events {} --json",
    "metrics {} --json",
    "monitors {} --json",
    "objects {} --json",
    "flame {} -o -",
    "flame {} -o out.html",
    "report {} -o out.html",
    "timeline {} -o out.html",
];

/// Runs every view and every conversion over the corpus and the test data with both programs.
///
/// Compares standard output, standard error, exit codes and files written, byte by byte.
///
/// # Errors
/// When anything differs; the commands are printed.
pub fn run(programs: [&str; 2], inputs: &[&str]) -> Result<(), String> {
    let programs = programs
        .map(|program| fs::canonicalize(program).map_err(|error| format!("{program}: {error}")));
    let [old, new] = programs;
    let programs = [old?, new?];
    let inputs = if inputs.is_empty() {
        found_inputs()
    } else {
        inputs.iter().map(PathBuf::from).collect()
    };
    let targets = targets(&programs[0])?;
    let mut commands: Vec<Vec<String>> = Vec::new();
    for input in &inputs {
        let input =
            fs::canonicalize(input).map_err(|error| format!("{}: {error}", input.display()))?;
        let input = input.to_string_lossy().into_owned();
        for view in VIEWS {
            commands.push(
                view.split(' ')
                    .map(|word| word.replace("{}", &input))
                    .collect(),
            );
        }
        for target in &targets {
            for more in [&[][..], &["--as-samples"], &["--as-spans", "--async"]] {
                let words = ["convert", &input, "-o", "out", "--to", target];
                commands.push(
                    words
                        .iter()
                        .chain(more)
                        .map(|&word| word.to_owned())
                        .collect(),
                );
            }
        }
    }
    let folder = std::env::temp_dir().join(format!("traceloom-outputs-{}", std::process::id()));
    let outcome = compare(&programs, &commands, &folder);
    let _ = fs::remove_dir_all(&folder);
    outcome
}

/// Runs the commands on two threads and collects those whose results differ.
fn compare(programs: &[PathBuf; 2], commands: &[Vec<String>], folder: &Path) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let different = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (next, different) = (&next, &different);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(command) = commands.get(at) else {
                        return;
                    };
                    let place = folder.join(worker.to_string());
                    let [old, new] = programs
                        .each_ref()
                        .map(|program| result(program, command, &place));
                    if old != new
                        && let Ok(mut different) = different.lock()
                    {
                        different.push(format!(
                            "{}: {}",
                            command.join(" "),
                            difference(&old, &new)
                        ));
                    }
                }
            });
        }
    });
    let different = different.into_inner().map_err(|error| error.to_string())?;
    for line in &different {
        println!("{line}");
    }
    println!("{} commands, {} differ", commands.len(), different.len());
    if different.is_empty() {
        Ok(())
    } else {
        Err("the outputs differ".to_owned())
    }
}

/// What a command left: exit code, and the hash of each stream and file by name.
type Outcome = Result<BTreeMap<String, u64>, String>;

/// Runs a command in an empty folder of a fixed name, because messages name what they wrote.
fn result(program: &Path, command: &[String], folder: &Path) -> Outcome {
    let io = |error: std::io::Error| error.to_string();
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(io)?;
    let mut run = Command::new(program);
    run.args(command).current_dir(folder).stdin(Stdio::null());
    let output = run.output().map_err(io)?;
    let mut left = BTreeMap::new();
    left.insert(
        "exit code".to_owned(),
        output.status.code().map_or(0, i64::from).cast_unsigned(),
    );
    left.insert("standard output".to_owned(), hash(&output.stdout));
    left.insert("standard error".to_owned(), hash(&output.stderr));
    files_below(folder, "", &mut left).map_err(io)?;
    Ok(left)
}

fn files_below(
    folder: &Path,
    prefix: &str,
    found: &mut BTreeMap<String, u64>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.insert(name, hash(&fs::read(entry.path())?));
        }
    }
    Ok(())
}

fn difference(old: &Outcome, new: &Outcome) -> String {
    match (old, new) {
        (Ok(old), Ok(new)) => {
            let names = old
                .keys()
                .chain(new.keys().filter(|name| !old.contains_key(*name)));
            let differ: Vec<&str> = names
                .filter(|name| old.get(*name) != new.get(*name))
                .map(String::as_str)
                .collect();
            differ.join(", ")
        }
        (Err(error), _) | (_, Err(error)) => error.clone(),
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The names that `--to` takes, as the program lists them.
fn targets(program: &Path) -> Result<Vec<String>, String> {
    let listed = Command::new(program)
        .args(["convert", "--to", "list"])
        .output();
    let listed = listed.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| name.contains(|c: char| c.is_ascii_lowercase()));
    Ok(names.map(str::to_owned).collect())
}

/// Files of the corpus and the test data, and the folders that are one recording.
fn found_inputs() -> Vec<PathBuf> {
    let beside = root().join("../shared/corpus");
    let corpus = std::env::var_os("TRACELOOM_CORPUS").map_or(beside, PathBuf::from);
    let mut inputs = vec![root().join("testdata/shop")];
    for folder in [
        "cdt/test-service",
        "cdt/dump",
        "zorka/gen-b-agent-streaming",
        "zorka/gen-c-agent-local",
    ] {
        inputs.extend(Some(corpus.join(folder)).filter(|folder| folder.is_dir()));
    }
    let mut folders = vec![corpus, root().join("testdata/tptp/vectors")];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        for path in entries {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let expected =
                name.starts_with("expected") || name.contains(".expected.") || name == "README.md";
            if path.is_dir() && !expected {
                folders.push(path);
            } else if path.is_file() && !expected {
                inputs.push(path);
            }
        }
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a script that stands for a program.
    fn program(folder: &Path, name: &str, says: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join(name);
        fs::write(
            &path,
            format!("#!/bin/sh\necho {says}; echo $1 > out; exit 3\n"),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn what_differs_is_named() {
        let folder =
            std::env::temp_dir().join(format!("traceloom-outputs-test-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (old, same) = (program(&folder, "old", "a"), program(&folder, "same", "a"));
        let new = program(&folder, "new", "b");
        let command = vec![vec!["x".to_owned()]];
        let place = folder.join("place");
        assert_eq!(compare(&[old.clone(), same], &command, &place), Ok(()));
        let outcomes = [old, new].map(|program| result(&program, &command[0], &place));
        assert_eq!(difference(&outcomes[0], &outcomes[1]), "standard output");
        assert_eq!(outcomes[0].as_ref().unwrap()["exit code"], 3);
        fs::remove_dir_all(&folder).unwrap();
    }
}
