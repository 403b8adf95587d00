//! The Debian package: made, installed into a fresh root, its parts used there, and removed.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

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
    let of = |end: &str| {
        let mut found = files
            .iter()
            .filter(|file| file.to_string_lossy().ends_with(end));
        found
            .next()
            .unwrap_or_else(|| panic!("{end}: {files:?}"))
            .clone()
    };
    assert_eq!(files.len(), 2, "{files:?}");
    is_bill_of_materials(&of(".cdx.json"));
    of(".deb")
}

/// Checks that a file names every crate that the program holds code of, with the version and licence that Cargo resolves, and no crate that
/// Cargo does not resolve for it on this machine.
fn is_bill_of_materials(file: &Path) {
    let bill: Value =
        serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(
        bill["metadata"]["component"]["version"],
        env!("CARGO_PKG_VERSION")
    );
    let components = bill["components"].as_array().expect("a list");
    let told = components.iter().map(|one| {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let licence = text(&one["licenses"][0]["expression"]);
        let hash = one["hashes"][0]["content"].as_str().map(str::to_owned);
        // What is of this repository has none.
        assert_eq!(
            hash.is_none(),
            text(&one["name"]).starts_with("traceloom-"),
            "{one}"
        );
        format!("{} {} {licence}", text(&one["name"]), text(&one["version"]))
    });
    let told: BTreeSet<String> = told.collect();
    let resolved = dependencies();
    let others: Vec<&String> = told.difference(&resolved).collect();
    assert!(others.is_empty(), "{others:?}");
    let held = crates_in(&std::fs::read(env!("CARGO_BIN_EXE_traceloom")).expect("a program"));
    assert!(held.len() > 50, "{held:?}");
    for held in held {
        let is_it = |one: &&String| {
            let mut words = one.split(' ');
            words
                .next()
                .zip(words.next())
                .is_some_and(|(name, version)| held == format!("{name}-{version}"))
        };
        assert!(
            told.iter().any(|one| is_it(&one)),
            "{held} is in the program"
        );
    }
}

/// Returns the crates of registries whose sources the program names where it panics, as `NAME-VERSION`.
fn crates_in(program: &[u8]) -> BTreeSet<String> {
    const BEGIN: &[u8] = b"/registry/src/";
    let begins =
        (0..program.len()).filter(|&at| program[at] == b'/' && program[at..].starts_with(BEGIN));
    let names = begins.filter_map(|at| {
        let mut parts = program[at + BEGIN.len()..].split(|&byte| byte == b'/');
        let name = parts.nth(1)?;
        let is_name = name.iter().all(|byte| byte.is_ascii_graphic());
        is_name.then(|| String::from_utf8_lossy(name).into_owned())
    });
    names.collect()
}

/// What Cargo resolves for the program on this machine, tests left out.
fn dependencies() -> BTreeSet<String> {
    let host = run(Command::new("rustc").arg("-vV"));
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args([
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
    ]);
    metadata.arg(host.expect("a host")).arg("--manifest-path");
    metadata.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let output = metadata.output().expect("Cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a list");
    let program = packages
        .iter()
        .find(|package| package["name"] == "traceloom");
    let mut left = vec![&program.expect("the program")["id"]];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = left.pop() {
        if !seen.insert(id.as_str().expect("an id")) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == *id).expect("a node");
        let needs = node["deps"].as_array().expect("a list").iter();
        let needs = needs.filter(|need| {
            let mut kinds = need["dep_kinds"].as_array().expect("a list").iter();
            kinds.any(|kind| kind["kind"] != "dev")
        });
        left.extend(needs.map(|need| &need["pkg"]));
    }
    let packages = packages.iter().filter(|package| {
        package["name"] != "traceloom" && seen.contains(package["id"].as_str().expect("an id"))
    });
    let shown = packages.map(|package| {
        let text = |key: &str| package[key].as_str().expect("a text").to_owned();
        let licence = text("license").replace(" / ", "/").replace('/', " OR ");
        format!("{} {} {licence}", text("name"), text("version"))
    });
    shown.collect()
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
