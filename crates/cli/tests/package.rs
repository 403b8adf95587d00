//! The Debian package: made, installed into a fresh root, its parts used there, and removed.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/deb.sh");

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// Runs a command; returns what it printed on both streams.
fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it starts");
    let mut text = String::from_utf8_lossy(&stdout).into_owned();
    text += &String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {text}");
    text
}

fn made(folder: &Path) -> PathBuf {
    let mut script = Command::new("sh");
    script.arg(SCRIPT).arg(env!("CARGO_BIN_EXE_traceloom"));
    run(script.arg(folder).env("DEB_COMPRESSION", "none"));
    let files = std::fs::read_dir(folder).expect("a folder");
    let files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// A root without packages.
fn fresh_root(root: &Path) {
    let dpkg = root.join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        std::fs::create_dir_all(dpkg.join(folder)).expect("a folder");
    }
    for file in ["status", "available"] {
        std::fs::write(dpkg.join(file), "").expect("a file");
    }
}

#[test]
fn the_package_installs_into_a_fresh_root_and_is_removed() {
    if !has("dpkg-deb") || !has("dpkg") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let package = made(&folder.path().join("out"));
    let version = env!("CARGO_PKG_VERSION");
    let field = |name: &str| {
        run(Command::new("dpkg-deb")
            .arg("--field")
            .arg(&package)
            .arg(name))
    };
    assert_eq!(field("Package").trim(), "traceloom");
    assert_eq!(field("Version").trim(), version);

    let root = folder.path().join("root");
    fresh_root(&root);
    let dpkg = |arguments: &[&str]| {
        let mut command = Command::new("dpkg");
        let command = command.arg(format!("--root={}", root.display()));
        // In a fresh root there is no C library.
        let command = command.args(["--force-depends", "--force-not-root"]);
        run(command.args(arguments))
    };
    dpkg(&["--install", package.to_str().expect("UTF-8")]);

    let program = root.join("usr/bin/traceloom");
    let printed = run(Command::new(&program).arg("--version"));
    assert_eq!(printed.trim(), format!("traceloom {version}"));
    for page in [
        "traceloom",
        "traceloom-top",
        "traceloom-serve",
        "traceloom-mcp",
    ] {
        let page = root.join(format!("usr/share/man/man1/{page}.1.gz"));
        let text = run(Command::new("gzip").arg("-dc").arg(&page));
        assert!(text.contains(".TH"), "{}", page.display());
    }
    for file in [
        "usr/share/bash-completion/completions/traceloom",
        "usr/share/zsh/vendor-completions/_traceloom",
        "usr/share/fish/vendor_completions.d/traceloom.fish",
    ] {
        let text = std::fs::read_to_string(root.join(file)).expect("a file");
        assert!(text.contains("flame"), "{file}");
    }
    starts(&root, &program, folder.path());

    dpkg(&["--remove", "traceloom"]);
    assert!(!program.exists());
    assert!(
        root.join("etc/traceloom/serve.toml").exists(),
        "settings stay"
    );
    dpkg(&["--purge", "traceloom"]);
    assert!(!root.join("etc/traceloom/serve.toml").exists());
}

/// Checks the unit, and that its command takes the settings that are installed beside it.
fn starts(root: &Path, program: &Path, folder: &Path) {
    let unit = root.join("usr/lib/systemd/system/traceloom.service");
    let text = std::fs::read_to_string(&unit).expect("a unit");
    let command = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let words: Vec<&str> = command.expect("a command").split(' ').collect();
    let ["/usr/bin/traceloom", "serve", "--config", settings] = words.as_slice() else {
        panic!("{words:?}")
    };
    let settings = root.join(settings.trim_start_matches('/'));
    let mut check = Command::new(program);
    check
        .args(["serve", "--check-config", "--config"])
        .arg(settings);
    run(check.arg("--data").arg(folder.join("data")));
    // What every unit stands on is not in a fresh root.
    if has("systemd-analyze") && with_targets(root) {
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no"]);
        verify.arg(format!("--root={}", root.display()));
        let said = run(verify.arg("traceloom.service"));
        assert!(!said.contains("traceloom.service:"), "{said}");
    }
}

/// Puts the targets of this machine's systemd beside the unit; returns false where there are none.
fn with_targets(root: &Path) -> bool {
    const UNITS: &str = "usr/lib/systemd/system";
    let Ok(units) = std::fs::read_dir(Path::new("/").join(UNITS)) else {
        eprintln!("skipped: no units in /{UNITS}");
        return false;
    };
    let paths = units.map(|unit| unit.expect("a unit").path());
    let targets = paths.filter(|path| path.extension() == Some("target".as_ref()));
    for path in targets.filter(|path| path.is_file()) {
        let name = path.file_name().expect("a name");
        std::fs::copy(&path, root.join(UNITS).join(name)).expect("a copy");
    }
    true
}
