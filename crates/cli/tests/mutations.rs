//! The program on damaged inputs, as a user runs it: every command, inputs of every format, damage by a seed.
//!
//! No run may be ended by a signal or a bug, take more memory than [`program`] grants or not end, and no damage may pass
//! in silence: see [`silence`]. A round damages ten inputs and shows them to a choice of commands at once; what fails is
//! tried again by itself, so that one file is named, and kept for another run.
//!
//! `TRACELOOM_MUTATION_MINUTES` runs rounds for so long instead of a fixed number, with larger inputs too;
//! `TRACELOOM_MUTATION_SEED` begins elsewhere.
#![cfg(target_os = "linux")]

#[path = "mutations/damage.rs"]
mod damage;
#[path = "mutations/inputs.rs"]
mod inputs;
#[path = "mutations/program.rs"]
mod program;
#[path = "mutations/silence.rs"]
mod silence;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use damage::{Damaged, Random, damaged};
use inputs::{Source, sources};
use program::Run;
use silence::{clean, doubted, silent, unsaid, untiled};

/// Where rounds begin unless the environment says otherwise.
const SEED: u64 = 20;
/// Rounds of a test run: with the corpus they make some three thousand runs of an input through a command.
const ROUNDS: u64 = 30;
/// Inputs of a round.
const TOGETHER: usize = 10;

/// Commands that read any input, and take several.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["info"],
    &["dump", "--resolve"],
    &["dump"],
    &["check", "--json"],
    &["calls", "--wide", "--columns", "all"],
    &["calls", "--csv"],
    &["calls", "--by", "thread"],
    &["events"],
    &["events", "--json", "--type", "."],
    &["metrics"],
    &["metrics", "--line-protocol"],
    &["top", "--async", "--percentiles"],
    &["top"],
    &["top", "--by", "thread", "--json"],
    &["top", "--hotspots"],
    &["top", "--since", "+1ms"],
    &["tree", "--async"],
    &["tree", "--filter", "duration > 1ms"],
    &["objects"],
    &["objects", "--collections"],
    &["monitors", "--stacks"],
    &["timeline"],
    &["timeline", "--json"],
    &["timeline", "-o", "-"],
    &["report", "-o", "-"],
    &["flame", "-o", "-"],
    &["flame", "-o", "flame.svg", "--force"],
    &["merge", "--to", "chrome", "-o", "merged.json", "--force"],
    &[
        "merge",
        "--to",
        "pprof",
        "--as-samples",
        "-o",
        "merged.pb",
        "--force",
    ],
];

const TARGETS: &[&str] = &[
    "cdt-dump",
    "cdt-streams",
    "heph",
    "zorka-s0",
    "zorka-b2",
    "zorka-c",
    "tptp-binary",
    "tptp-xml",
    "line-protocol",
    "flamegraph-json",
    "pprof",
    "folded",
    "chrome",
    "perfetto",
    "otlp-profiles",
    "speedscope",
    "firefox",
    "csv",
];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn damage_neither_ends_the_program_nor_passes_in_silence() {
    let minutes = number("TRACELOOM_MUTATION_MINUTES");
    let seed = number("TRACELOOM_MUTATION_SEED").unwrap_or(SEED);
    println!("seed {seed}");
    let sources = sources(if minutes.is_some() { 2 << 20 } else { 64 << 10 });
    let until = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let next = AtomicU64::new(0);
    let runs = AtomicU64::new(0);
    let faults = Mutex::new(Vec::new());
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    let over = until.map_or(round >= ROUNDS, |until| Instant::now() >= until);
                    if over {
                        break;
                    }
                    let mut random = Random::of(seed, round, "commands");
                    let round = Round::new(&sources, seed, round);
                    let (done, found) = round.run(&mut random, &kept);
                    runs.fetch_add(done, Ordering::Relaxed);
                    for fault in &found {
                        println!("{fault}");
                    }
                    faults.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic");
    let runs = runs.into_inner();
    println!("{runs} runs of an input through a command");
    assert!(
        faults.is_empty(),
        "seed {seed}: {} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(runs > 1_000, "{runs}");
}

/// Damaged inputs beside each other in a folder.
struct Round<'s> {
    sources: &'s [Source],
    folder: tempfile::TempDir,
    inputs: Vec<(String, Damaged)>,
}

impl<'s> Round<'s> {
    /// Every source has its turn before one has two, and what happens to one does not depend on which others there are.
    fn new(sources: &'s [Source], seed: u64, round: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut inputs = Vec::new();
        for at in 0..TOGETHER {
            let turn = round as usize * TOGETHER + at;
            let pass = (turn / sources.len()) as u64;
            let mut order: Vec<usize> = (0..sources.len()).collect();
            order.sort_by_key(|&source| Random::of(seed, pass, &sources[source].name).next());
            let source = order[turn % sources.len()];
            let mut random = Random::of(seed, pass, &sources[source].name);
            let input = damaged(sources, source, &mut random);
            // An extension may decide what is tried; the number keeps the names apart.
            let name = format!("{round}-{at}-{}-{}", input.how, sources[source].name);
            std::fs::write(folder.path().join(&name), &input.bytes).expect("the file is written");
            inputs.push((name, input));
        }
        Self {
            sources,
            folder,
            inputs,
        }
    }

    fn one(&self, args: &[&str], name: &str) -> Run {
        Run::of(&[args, &[name]].concat(), self.folder.path())
    }

    /// Runs commands; returns how many inputs went through one, and what was wrong.
    fn run(&self, random: &mut Random, kept: &Path) -> (u64, Vec<String>) {
        let names: Vec<&str> = self.inputs.iter().map(|(name, _)| name.as_str()).collect();
        let mut faults = Faults {
            round: self,
            kept,
            found: Vec::new(),
        };
        let checked = faults.all(&["check"], &names);
        let dumped = faults.all(&["dump", "--json"], &names);
        let is_clean: Vec<bool> = names.iter().map(|name| clean(&checked, name)).collect();
        for ((name, input), &clean) in self.inputs.iter().zip(&is_clean) {
            if clean {
                let intact = &self.sources[input.source];
                if let Some(why) = untiled([&checked, &dumped], name, input, intact) {
                    faults.add(&["check"], name, &why);
                }
            }
        }
        let doubts: Vec<bool> = names.iter().map(|name| doubted(&checked, name)).collect();
        let mut runs = 2 * names.len() as u64;
        for _ in 0..7 {
            let command = *random.pick(COMMANDS);
            let run = faults.all(command, &names);
            runs += names.len() as u64;
            for (name, &doubted) in names.iter().zip(&doubts) {
                if doubted && unsaid(&run, name) && silent(&self.one(command, name), name) {
                    faults.add(
                        command,
                        name,
                        "says nothing of the damage that `check` finds",
                    );
                }
            }
        }
        for _ in 0..4 {
            let at = random.below(names.len());
            let (name, target) = (names[at], *random.pick(TARGETS));
            let way = *random.pick(&["--as-samples", "--as-spans", "--json"]);
            let args = ["convert", "--to", target, way, "--force", "-o", "converted"];
            let run = faults.all(&args, &[name]);
            runs += 1;
            if doubts[at] && silent(&run, name) {
                faults.add(&args, name, "says nothing of the damage that `check` finds");
            }
        }
        for _ in 0..2 {
            let (at, other) = (random.below(names.len()), random.below(names.len()));
            runs += 3;
            let id = self.call_of(names[at], random);
            faults.run(&["call", names[at], &id], names[at]);
            let target = *random.pick(TARGETS);
            let part = *random.pick(&["--since=+1us", "--until=-1us", "--sample=3"]);
            let to = ["--to", target, "--force", "-o", "sliced"];
            let run = faults.run(&[&["slice", names[at], part], &to[..]].concat(), names[at]);
            if doubts[at] && silent(&run, names[at]) {
                let args = ["slice", part, "--to", target];
                faults.add(
                    &args,
                    names[at],
                    "says nothing of the damage that `check` finds",
                );
            }
            let run = faults.run(&["diff", names[at], names[other]], names[at]);
            if doubts[at] && silent(&run, names[at]) {
                let why = "says nothing of the damage that `check` finds";
                faults.add(&["diff", names[other]], names[at], why);
            }
        }
        (runs, faults.found)
    }

    /// Returns the id of one of an input's calls, or a number that may be a trace's.
    fn call_of(&self, name: &str, random: &mut Random) -> String {
        let calls = self.one(&["calls", "--json"], name);
        let ids: Vec<&str> = calls
            .stdout
            .lines()
            .filter_map(|line| line.split_once(r#""id":""#)?.1.split('"').next())
            .collect();
        match ids.is_empty() {
            true => random.below(9).to_string(),
            false => (*random.pick(&ids)).to_owned(),
        }
    }
}

struct Faults<'r> {
    round: &'r Round<'r>,
    kept: &'r Path,
    found: Vec<String>,
}

impl Faults<'_> {
    /// Runs a command with all of the inputs; if that goes wrong, with each, to name the one.
    fn all(&mut self, command: &[&str], names: &[&str]) -> Run {
        let run = Run::of(&[command, names].concat(), self.round.folder.path());
        let Some(together) = run.fault() else {
            return run;
        };
        let before = self.found.len();
        for name in names {
            if let Some(fault) = self.round.one(command, name).fault() {
                self.add(command, name, &fault);
            }
        }
        if self.found.len() == before {
            let all = names.join(" ");
            names.iter().for_each(|name| drop(self.keep(name)));
            self.found
                .push(format!("traceloom {} {all}: {together}", command.join(" ")));
        }
        run
    }

    /// Runs a command line of which an input is not the last word.
    fn run(&mut self, args: &[&str], name: &str) -> Run {
        let run = Run::of(args, self.round.folder.path());
        if let Some(fault) = run.fault() {
            self.add(args, name, &fault);
        }
        run
    }

    fn add(&mut self, command: &[&str], name: &str, why: &str) {
        let file = self.keep(name);
        self.found.push(format!(
            "traceloom {} {}: {why}",
            command.join(" "),
            file.display()
        ));
    }

    fn keep(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.kept).expect("a folder for what failed");
        let file = self.kept.join(name);
        std::fs::copy(self.round.folder.path().join(name), &file).expect("the file is kept");
        file
    }
}
