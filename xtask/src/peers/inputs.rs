//! The inputs: made by our generators, or recorded by the JDK, whose tools do not take the recordings of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::Programs;
use super::tools::has_jdk;
use crate::cargo::{program, succeed};

/// How an input is made.
#[derive(Clone, Copy)]
pub enum InputKind {
    /// By the generator of a format, with the extension of its files.
    Sample(&'static str, &'static str),
    /// A recording of the JDK, or where there is none of our generator.
    Recording(&'static JavaLoad),
    /// The folder of one process in a dump of CDT.
    Dump,
    /// None: the command reads nothing.
    None,
}

/// A program that the JDK records.
pub struct JavaLoad {
    source: &'static str,
    options: &'static [&'static str],
    settings: &'static str,
    /// About how many bytes of recording one of its steps makes.
    step: u64,
}

/// Events of an own type with stacks of forty depths.
pub const STEPS: JavaLoad = JavaLoad {
    source: r#"
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
"#,
    options: &[],
    settings: "settings=profile",
    step: 24,
};

/// Allocations with stacks of forty depths, one event for about ten of them.
pub const ALLOCATIONS: JavaLoad = JavaLoad {
    source: r#"
public class Load {
  static Object kept;
  static void call(int depth, long number) {
    if (depth > 0) { call(depth - 1, number); return; }
    kept = new byte[(int) (number * 37 % 400) + 16];
  }
  public static void main(String[] words) {
    for (long number = 0; number < Long.parseLong(words[0]); number++) call((int) (number * 7 % 40), number);
  }
}
"#,
    options: &["-XX:TLABSize=2k", "-XX:-ResizeTLAB"],
    settings: "settings=profile,jdk.ObjectAllocationInNewTLAB#enabled=true",
    step: 2,
};

/// Makes an input of about so many bytes; returns its path.
///
/// # Errors
/// When what makes it fails.
pub fn make(
    kind: InputKind,
    bytes: u64,
    seed: &str,
    programs: &Programs,
) -> Result<PathBuf, String> {
    let path = |extension: &str| programs.folder.join(format!("{bytes}-{seed}.{extension}"));
    match kind {
        InputKind::Sample(format, extension) => {
            sample(format, bytes, seed, path(extension), programs)
        }
        InputKind::Recording(load) if has_jdk() => {
            record(load, path("jfr"), bytes, &programs.folder)
        }
        InputKind::Recording(_) => sample("jfr", bytes, seed, path("jfr"), programs),
        InputKind::Dump => dump(path("dump"), bytes, seed, programs),
        InputKind::None => Ok(PathBuf::new()),
    }
}

fn sample(
    format: &str,
    bytes: u64,
    seed: &str,
    path: PathBuf,
    programs: &Programs,
) -> Result<PathBuf, String> {
    let out = fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut make = program(&programs.sample.to_string_lossy());
    make.args([format, &bytes.to_string(), seed]);
    succeed(make.stdout(out))?;
    Ok(path)
}

fn record(load: &JavaLoad, path: PathBuf, bytes: u64, folder: &Path) -> Result<PathBuf, String> {
    let source = folder.join("Load.java");
    fs::write(&source, load.source).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut java = program("java");
    let recording = format!(
        "-XX:StartFlightRecording=filename={},{}",
        path.display(),
        load.settings
    );
    java.args(load.options)
        .args([&recording, "-Xlog:disable"])
        .arg(&source);
    java.arg((bytes / load.step).to_string());
    succeed(java.stdout(Stdio::null()).current_dir(folder))?;
    Ok(path)
}

fn dump(path: PathBuf, bytes: u64, seed: &str, programs: &Programs) -> Result<PathBuf, String> {
    // Of a run before, the folders around that of its process are left.
    let _ = fs::remove_dir_all(&path);
    let mut make = program(&programs.sample_dump.to_string_lossy());
    make.arg(&path).args([&bytes.to_string(), seed]);
    succeed(make.stdout(Stdio::null()))?;
    let mut folder = path;
    while !folder.join("calls").is_dir() {
        let mut inside =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let first = inside.next().and_then(Result::ok);
        folder = first
            .ok_or_else(|| format!("{}: no calls", folder.display()))?
            .path();
    }
    Ok(folder)
}
