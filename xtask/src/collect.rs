//! `cargo xtask collect [--seconds N] [--rounds N] [--agents N] [--serve PROGRAM]`, and `collect --posts` for HTTP: what a collector takes, how soon it
//! answers, and what it holds, beside its disk.

mod disk;
mod load;
mod posts;
mod served;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cargo::{program, release, succeed};
use disk::{MeasuredDisk, median};
use load::Load;
use served::{Sample, Served};

/// Bytes of the streams that agents send, again and again, each from elsewhere in them.
const RECORDING: &str = "48000000";

/// Bytes of the streams that a posted profile is made from: compressed it has about as many bytes as a minute of ddtrace.
const POSTED_PROFILE: &str = "300000";

/// Bytes a second that a collector is to take from many agents.
const WANTED_RATE: f64 = 150e6;
/// What it is to take where the disk is slower than that: the share of what the disk writes one after the other.
const OF_DISK: f64 = 0.6;

/// Agents that send while answers are timed: each asks for acknowledgements about once a second.
const TIMED_AGENTS: u32 = 100;

struct Options {
    /// Seconds of each load.
    seconds: u64,
    /// Loads of each kind, in turn with the disk alone.
    rounds: usize,
    agents: u32,
    /// Another build as the collector.
    serve: Option<PathBuf>,
}

/// Runs a collector under load and prints a table; `--seconds 600 --rounds 1` is the long run.
///
/// The collector writes below the target directory, with every sync, and seals. Chunks make room after a while:
/// `--keep-mib` deletes the oldest captures, while agents that go on keep theirs.
///
/// # Errors
/// When a run fails, or an agent is told that something was not accepted.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    let options = Options::read(arguments, 30)?;
    let built = release("sample_dump")?;
    let traceloom = built.join("release/traceloom");
    let folder = built.join("collect");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let streams = recording(&built, &folder)?;
    let measured = measure(&options, &traceloom, &folder, &streams);
    let removed = fs::remove_dir_all(&folder);
    measured?;
    removed.map_err(|error| format!("{}: {error}", folder.display()))
}

/// Runs a collector under posts over HTTP, at the rates that it is meant for, each for a minute, and prints a table; `--seconds 600` is
/// the long run.
///
/// # Errors
/// When a run fails, or a post is not accepted.
pub fn posts(arguments: &[&str]) -> Result<(), String> {
    let options = Options::read(arguments, 60)?;
    let built = release("sample_dump")?;
    let traceloom = built.join("release/traceloom");
    let folder = built.join("collect");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let recordings = posts::Recordings {
        traces: folder.join("dump"),
        profile: folder.join("minute"),
    };
    dump_of(&built, &recordings.traces, "4000000")?;
    dump_of(&built, &recordings.profile, POSTED_PROFILE)?;
    let collector = options.serve.as_deref().unwrap_or(&traceloom);
    let time = Duration::from_secs(options.seconds);
    let measured = posts::measure(&traceloom, collector, &folder, &recordings, time);
    let removed = fs::remove_dir_all(&folder);
    measured?;
    removed.map_err(|error| format!("{}: {error}", folder.display()))
}

impl Options {
    fn read(arguments: &[&str], seconds: u64) -> Result<Self, String> {
        let mut options = Self {
            seconds,
            rounds: 2,
            agents: 1000,
            serve: None,
        };
        for pair in arguments.chunks(2) {
            let [flag, value] = *pair else {
                return Err(format!("{} has no value", pair.join(" ")));
            };
            let number = || {
                let number = value.parse::<u32>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{flag} {value} is no number from 1"))
            };
            match flag {
                "--seconds" => options.seconds = number()?.into(),
                "--rounds" => options.rounds = number()? as usize,
                "--agents" => options.agents = number()?,
                "--serve" => options.serve = Some(value.into()),
                _ => return Err(format!("there is no {flag}")),
            }
        }
        Ok(options)
    }
}

/// Makes the streams of an invented service.
fn recording(built: &Path, folder: &Path) -> Result<PathBuf, String> {
    let (dump, streams) = (folder.join("dump"), folder.join("streams"));
    dump_of(built, &dump, RECORDING)?;
    let mut convert = program(&built.join("release/traceloom").to_string_lossy());
    convert.arg("convert").arg(&dump).arg("-o").arg(&streams);
    succeed(convert.args(["--to", "cdt-streams"]))?;
    fs::remove_dir_all(&dump).map_err(|error| error.to_string())?;
    Ok(streams)
}

/// Makes the dump of an invented service, of so many bytes.
fn dump_of(built: &Path, dump: &Path, bytes: &str) -> Result<(), String> {
    let sample = built.join("release/examples/sample_dump");
    let mut made = program(&sample.to_string_lossy());
    succeed(made.arg(dump).args([bytes, "7"]))
}

fn measure(
    options: &Options,
    traceloom: &Path,
    folder: &Path,
    streams: &Path,
) -> Result<(), String> {
    let disk = MeasuredDisk::new(folder);
    let collector = options.serve.as_deref().unwrap_or(traceloom);
    let served = Served::start(collector, &folder.join("data"))?;
    let time = Duration::from_secs(options.seconds);
    let load = |agents, rate| Load {
        traceloom,
        streams,
        to: served.cdt(),
        ledger: folder.join("ledger.jsonl"),
        agents,
        rate,
    };

    println!(
        "| load | acknowledged MB/s | beside dd | agents, bytes of least and most to the middle | bytes stored of received | log MiB in quarters of the time | cores |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut sequential = vec![disk.sequential()?];
    for _ in 0..options.rounds {
        let before = served.sample()?;
        let sent = load(options.agents, None).run(time, &served)?;
        let after = served.sample()?;
        sequential.push(disk.sequential()?);
        let beside = median(&sequential[sequential.len() - 2..]);
        let rate = sent.acknowledged as f64 / sent.seconds / 1e6;
        println!(
            "| {} agents, {:.0} s | {rate:.0} | {:.0} % of {beside:.0} MB/s | {:.2}, {:.2} | {:.0} % | {} | {:.2} |",
            options.agents,
            sent.seconds,
            100.0 * rate / beside,
            sent.least,
            sent.most,
            100.0 * (after.stored.saturating_sub(before.stored)) as f64 / sent.acknowledged as f64,
            quarters(&sent.samples),
            (after.processor - before.processor) / sent.seconds,
        );
    }

    println!();
    let wanted = WANTED_RATE.min(OF_DISK * median(&sequential) * 1e6);
    println!(
        "| half of the {:.0} MB/s that are wanted | half of the answers within | 99 % within | beside 99 % of syncs of 1 MiB alone |",
        wanted / 1e6
    );
    println!("|---|---:|---:|---:|");
    let half = (wanted / 2.0) as u64;
    let mut alone = disk.sync_99(&served)?;
    for _ in 0..options.rounds {
        let sent = load(TIMED_AGENTS, Some(half)).run(time, &served)?;
        let after = disk.sync_99(&served)?;
        let beside = (alone + after) / 2.0;
        alone = after;
        let (middle, most) = sent.flush_ms.ok_or("no request to flush was answered")?;
        println!(
            "| {TIMED_AGENTS} agents, {:.0} MB/s | {middle:.1} ms | {most:.1} ms | {:.1} times {beside:.1} ms |",
            sent.acknowledged as f64 / sent.seconds / 1e6,
            most / beside,
        );
    }
    println!();
    println!(
        "memory: {} MiB at most, of a budget of {} MiB for {} connections",
        served.peak_kib()? >> 10,
        served::budget_mib(options.agents),
        options.agents
    );
    served.stop()
}

/// Returns the mean size of the log in each quarter of a run.
fn quarters(samples: &[Sample]) -> String {
    let quarter = samples.len().div_ceil(4).max(1);
    let means = samples.chunks(quarter).map(|samples| {
        let sum: u64 = samples.iter().map(|sample| sample.log_bytes).sum();
        ((sum / samples.len() as u64) >> 20).to_string()
    });
    means.collect::<Vec<_>>().join(", ")
}
