//! `cargo xtask growth [CASE…]`: does processor time follow the size of an input?

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::cargo::{program, release_program, root, ticks};

/// An input that is made in three sizes, and the command that reads it.
struct Case {
    name: &'static str,
    /// What there are `n` of.
    of: &'static str,
    n: usize,
    command: &'static [&'static str],
    /// Writes the input below a folder and returns the paths that are typed.
    make: fn(&Path, usize) -> Result<Vec<PathBuf>, String>,
}

const CASES: &[Case] = &[
    Case {
        name: "folder",
        of: "files in one folder",
        n: 4_000,
        command: &["top"],
        make: |folder, n| flat_folder(folder, n, stacks).map(|files| vec![files]),
    },
    Case {
        name: "paths",
        of: "files in one folder, each by its path",
        n: 2_000,
        command: &["top"],
        make: |folder, n| files_of(&flat_folder(folder, n, stacks)?),
    },
    Case {
        name: "folded-folder",
        of: "files in one folder, as folded stacks",
        n: 2_000,
        command: &["convert", "--to", "folded", "--force", "-o", "all.folded"],
        make: |folder, n| flat_folder(folder, n, stacks).map(|files| vec![files]),
    },
    Case {
        name: "timeline-folder",
        of: "files in one folder, in `timeline`",
        n: 1_000,
        command: &["timeline", "-o", "page.html", "--force"],
        make: |folder, n| flat_folder(folder, n, calls).map(|files| vec![files]),
    },
    Case {
        name: "report-folder",
        of: "files in one folder, in `report`",
        n: 1_000,
        command: &["report", "-o", "page.html", "--force"],
        make: |folder, n| flat_folder(folder, n, calls).map(|files| vec![files]),
    },
    Case {
        name: "zip",
        of: "members of a zip archive",
        n: 4_000,
        command: &["top"],
        make: |folder, n| zip_file(folder, n, Zip::Whole),
    },
    Case {
        name: "zip-without-directory",
        of: "members of a zip archive without its directory",
        n: 4_000,
        command: &["top"],
        make: |folder, n| zip_file(folder, n, Zip::Cut),
    },
    Case {
        name: "zip-descriptors",
        of: "members whose sizes stand behind them, without a directory",
        n: 4_000,
        command: &["top"],
        make: |folder, n| zip_file(folder, n, Zip::Described),
    },
    Case {
        name: "chrome-threads",
        of: "threads of a Chrome trace",
        n: 20_000,
        command: &["top"],
        make: |folder, n| chrome(folder, n, |nth| (1, nth)),
    },
    Case {
        name: "timeline-processes",
        of: "processes of a Chrome trace in `timeline`",
        n: 20_000,
        command: &["timeline", "-o", "page.html", "--force"],
        make: |folder, n| chrome(folder, n, |nth| (nth, 1)),
    },
    Case {
        name: "dump-processes",
        of: "processes of a Chrome trace, written as a dump of CDT",
        n: 1_000,
        command: &["convert", "--to", "cdt-dump", "--force", "-o", "dumps"],
        make: |folder, n| chrome(folder, n, |nth| (nth, 1)),
    },
    Case {
        name: "timeline-profiles",
        of: "profiles in `timeline`",
        n: 5_000,
        command: &["timeline", "-o", "page.html", "--force"],
        make: profiles,
    },
    Case {
        name: "report-profiles",
        of: "profiles in `report`",
        n: 5_000,
        command: &["report", "-o", "page.html", "--force"],
        make: profiles,
    },
    Case {
        name: "metrics-profiles",
        of: "profiles in `metrics`",
        n: 20_000,
        command: &["metrics"],
        make: profiles,
    },
    Case {
        name: "cdt-restarts",
        of: "CDT restarts, written as a folder",
        n: 75,
        command: &["convert", "--to", "cdt-streams", "--force", "-o", "streams"],
        make: cdt_restarts,
    },
    Case {
        name: "cdt-processes",
        of: "CDT processes, written as a folder",
        n: 100,
        command: &["convert", "--to", "cdt-streams", "--force", "-o", "streams"],
        make: cdt_processes,
    },
];

/// Runs of a size, of which the best counts: others have the machine too.
const RUNS: usize = 3;

/// Makes each input of `n`, `2n` and `4n` things and prints a table of the processor time and its ratios.
///
/// # Errors
/// When four times as many things take over three times what twice as many take: a quadratic one takes four times.
pub fn run(names: &[&str]) -> Result<(), String> {
    let built = release_program()?;
    let folder = built.join("growth");
    let mut steep = Vec::new();
    println!("| input | n | n | 2n | 4n | 2n / n | 4n / 2n |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for case in CASES {
        if !names.is_empty() && !names.contains(&case.name) {
            continue;
        }
        let mut took = [0; 3];
        for (times, took) in [1, 2, 4].into_iter().zip(&mut took) {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
            let inputs = (case.make)(&folder, case.n * times)?;
            *took = best(case, &built.join("release/traceloom"), &folder, &inputs)?;
        }
        let [one, two, four] = took;
        let ratio = |more: u64, less: u64| more as f64 / less.max(1) as f64;
        let (first, second) = (ratio(two, one), ratio(four, two));
        println!(
            "| {} | {} | {one} ms | {two} ms | {four} ms | {first:.1} | {second:.1} |",
            case.of, case.n
        );
        // Of less, a hundredth of a second more or less is most of the ratio.
        if four > 200 && second > 3.0 {
            steep.push(case.name);
        }
    }
    let _ = fs::remove_dir_all(&folder);
    match steep.is_empty() {
        true => Ok(()),
        false => Err(format!("grows faster than its input: {}", steep.join(", "))),
    }
}

/// Returns the least processor time of some runs, in milliseconds.
fn best(case: &Case, traceloom: &Path, folder: &Path, inputs: &[PathBuf]) -> Result<u64, String> {
    let mut best = u64::MAX;
    for _ in 0..RUNS {
        let before = ticks()?;
        let mut run = program(&traceloom.to_string_lossy());
        run.args(case.command).args(inputs).current_dir(folder);
        let run = run.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = run.map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("{}: {status}", case.name));
        }
        best = best.min((ticks()? - before) * 10);
    }
    Ok(best)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn stacks(number: usize) -> String {
    format!("main;work;step{number} {}\nmain;idle 3\n", number % 7 + 1)
}

/// A trace of Chrome with a call in another one, a second after that of the number before.
fn calls(number: usize) -> String {
    let event = |name: &str, start: usize, duration: usize| {
        let start = number * 1_000_000 + start;
        format!(
            "{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":{duration},\"name\":\"{name}\"}}"
        )
    };
    format!("[{},\n{}]", event("main", 0, 900), event("work", 300, 400))
}

fn flat_folder(folder: &Path, n: usize, text: fn(usize) -> String) -> Result<PathBuf, String> {
    let input = folder.join("files");
    fs::create_dir_all(&input).map_err(|error| error.to_string())?;
    for number in 0..n {
        write(&input.join(format!("{number:06}")), text(number).as_bytes())?;
    }
    Ok(input)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let paths = entries.map(|entry| Ok(entry.map_err(|error| error.to_string())?.path()));
    paths.collect()
}

/// What of an archive there is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zip {
    /// The directory is at its end.
    Whole,
    /// It is cut before the directory.
    Cut,
    /// It is cut, and no header has a size: those are behind the members, without a mark.
    Described,
}

/// Stored members.
fn zip_file(folder: &Path, n: usize, shape: Zip) -> Result<Vec<PathBuf>, String> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for number in 0..n {
        let (name, bytes) = (format!("{number:06}.folded"), stacks(number));
        let mut common = vec![10, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut sizes = crc(bytes.as_bytes()).to_le_bytes().to_vec();
        sizes.extend((bytes.len() as u32).to_le_bytes());
        sizes.extend((bytes.len() as u32).to_le_bytes());
        if shape == Zip::Described {
            common[2] = 8;
            common.extend([0; 12]);
        } else {
            common.extend(&sizes);
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        directory.extend(*b"PK\x01\x02\x0a\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend(*b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(bytes.as_bytes());
        if shape == Zip::Described {
            file.extend(sizes);
        }
    }
    if shape == Zip::Whole {
        let start = file.len() as u32;
        file.extend(&directory);
        file.extend(*b"PK\x05\x06\0\0\0\0");
        file.extend((n as u16).to_le_bytes());
        file.extend((n as u16).to_le_bytes());
        file.extend((directory.len() as u32).to_le_bytes());
        file.extend(start.to_le_bytes());
        file.extend([0; 2]);
    }
    let input = folder.join("members.zip");
    write(&input, &file)?;
    Ok(vec![input])
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| match crc & 1 {
        0 => crc >> 1,
        _ => crc >> 1 ^ 0xedb8_8320,
    };
    let byte = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), step);
    !bytes.iter().fold(!0, byte)
}

/// Two calls on each of `n` threads or processes, one in the other, in the order of time: those of all are open together.
fn chrome(
    folder: &Path,
    n: usize,
    place: fn(usize) -> (usize, usize),
) -> Result<Vec<PathBuf>, String> {
    let mut text = String::from("[");
    for (phase, name, start) in [
        ("B", "outer", 0),
        ("B", "inner", n),
        ("E", "inner", 2 * n),
        ("E", "outer", 3 * n),
    ] {
        for nth in 0..n {
            let comma = if text.len() > 1 { ",\n" } else { "" };
            let (process, thread) = place(nth);
            let _ = write!(
                text,
                "{comma}{{\"ph\":\"{phase}\",\"name\":\"{name}\",\"pid\":{process},\"tid\":{thread},\"ts\":{}}}",
                start + nth
            );
        }
    }
    text.push(']');
    let input = folder.join("calls.json");
    write(&input, text.as_bytes())?;
    Ok(vec![input])
}

fn profiles(folder: &Path, n: usize) -> Result<Vec<PathBuf>, String> {
    let mut text = String::from(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"main\"},\
         {\"name\":\"work\"}]},\"profiles\":[",
    );
    for number in 0..n {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"type\":\"evented\",\"name\":\"thread {number}\",\"unit\":\"milliseconds\",\"startValue\":0,\
             \"endValue\":9,\"events\":[{{\"type\":\"O\",\"frame\":0,\"at\":0}},{{\"type\":\"O\",\"frame\":1,\"at\":2}},\
             {{\"type\":\"C\",\"frame\":1,\"at\":5}},{{\"type\":\"C\",\"frame\":0,\"at\":9}}]}}"
        );
    }
    text.push_str("]}");
    let input = folder.join("profiles.speedscope.json");
    write(&input, text.as_bytes())?;
    Ok(vec![input])
}

/// The restart of `testdata/shop` as often as there are restarts, each in the folder of its own start.
fn cdt_restarts(folder: &Path, n: usize) -> Result<Vec<PathBuf>, String> {
    let input = folder.join("dump");
    for number in 0..n as u64 {
        let to = input.join("shop-backend").join(DAY);
        copy(&shop(), &to.join((START + number).to_string()))?;
    }
    Ok(vec![input])
}

/// The restart of `testdata/shop` for each of many processes.
fn cdt_processes(folder: &Path, n: usize) -> Result<Vec<PathBuf>, String> {
    let input = folder.join("dump");
    for number in 0..n {
        let to = input.join(format!("shop-backend-{number}")).join(DAY);
        copy(&shop(), &to.join(START.to_string()))?;
    }
    Ok(vec![input])
}

const DAY: &str = "2026/03/14";
const START: u64 = 1_773_463_907_604;

fn shop() -> PathBuf {
    let process = root().join("testdata/shop/shop-backend");
    process.join(DAY).join(START.to_string())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(told)?;
    for entry in fs::read_dir(from).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).map_err(told)?;
        }
    }
    Ok(())
}
