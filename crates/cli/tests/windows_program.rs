//! The program for Windows, where `packaging/windows.sh` built it: under Wine it prints and writes what this one does.
#![allow(missing_docs, reason = "a test")]
#![cfg(target_os = "linux")]

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use program::{SHOP, copy_folder, packaged};

/// Debian keeps the program beside the search path.
fn wine() -> Option<&'static str> {
    let names = ["wine64", "/usr/lib/wine/wine64"];
    let runs = |name: &&&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found = names.iter().find(runs).copied();
    if found.is_none() {
        eprintln!("skipped: wine64 is not installed");
    }
    found
}

/// Random bytes from the library that older Wine has, where the standard library asks another one for them.
const RANDOM: &str = "unsigned char __stdcall SystemFunction036(void *bytes, unsigned long length);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, unsigned long long length) {
    return SystemFunction036(bytes, (unsigned long)length);
}
";

/// Puts the program into a folder, with the library that this Wine may lack; returns `None` where that cannot be built.
fn install(program: &Path, folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("random.c"), folder.join("bcryptprimitives.dll"));
    fs::write(&source, RANDOM).expect("a file");
    let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
    compiler.args(["-shared", "-o"]).args([&library, &source]);
    if !compiler
        .arg("-ladvapi32")
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("skipped: MinGW is not installed");
        return None;
    }
    let installed = folder.join("traceloom.exe");
    fs::copy(program, &installed).expect("a copy");
    Some(installed)
}

#[test]
fn the_windows_program_does_what_this_one_does() {
    let (Some(program), Some(wine)) = (packaged("TRACELOOM_WINDOWS", "windows.sh", ".exe"), wine())
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let Some(program) = install(&program, folder) else {
        return;
    };
    copy_folder(Path::new(SHOP), &folder.join("shop"));
    let sample = traceloom_samples::bytes("heph", 7, 1 << 16);
    fs::write(folder.join("a.heph"), sample).expect("a file");
    let run = |mut command: Command, args: &[&str]| -> Output {
        let output = command.args(args).current_dir(folder).output();
        let output = output.expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        output
    };
    let on_windows = || {
        let mut command = Command::new(wine);
        command.arg(&program).env("WINEDEBUG", "-all");
        command.env("WINEPREFIX", folder.join("wine"));
        command
    };
    let here = || Command::new(env!("CARGO_BIN_EXE_traceloom"));
    for args in [
        &["--version"][..],
        &["info", "--json", "a.heph"],
        &["top", "--json", "a.heph"],
        &["calls", "--json", "-n", "0", "shop"],
        &["tree", "--csv", "shop"],
        &["dump", "--json", "a.heph"],
    ] {
        let [there, here] = [run(on_windows(), args), run(here(), args)];
        assert!(!here.stdout.is_empty(), "{args:?}");
        assert!(
            there.stdout == here.stdout,
            "{args:?}: {}",
            String::from_utf8_lossy(&there.stdout)
        );
    }
    // What is written, and found in an archive.
    for (input, to, outputs) in [
        ("a.heph", "chrome", ["there.json", "here.json"]),
        (
            "shop",
            "perfetto",
            ["there.perfetto-trace", "here.perfetto-trace"],
        ),
    ] {
        for (command, output) in [on_windows(), here()].into_iter().zip(outputs) {
            run(command, &["convert", input, "--to", to, "-o", output]);
        }
        let [there, here] = outputs.map(|name| fs::read(folder.join(name)).expect("a file"));
        assert!(there == here && !here.is_empty(), "{to}");
    }
}
