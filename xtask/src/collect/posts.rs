//! What a collector takes over HTTP at the rates that it is meant for: traces of Zorka's agents by bytes, uploads of profiles by
//! number.

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::served::{Sample, Served};
use crate::cargo::{program, succeed};

/// Bytes of traces a second.
const TRACE_RATE: u64 = 20_000_000;
/// Agents that send them.
const AGENTS: &str = "16";
/// Uploads a second.
const UPLOAD_RATE: u32 = 200;
/// Connections that they come over.
const CONNECTIONS: u32 = 16;

/// What a load came to.
struct Posted {
    seconds: f64,
    /// Bytes or posts that were acknowledged.
    acknowledged: u64,
    /// Milliseconds within which half and 99 % of the answers came, where they were timed here.
    within: Option<(f64, f64)>,
}

/// Dumps that the loads are made from.
pub(super) struct Recordings {
    pub(super) traces: PathBuf,
    pub(super) profile: PathBuf,
}

/// Puts both loads on a collector, one after the other, and prints a table.
pub(super) fn measure(
    traceloom: &Path,
    collector: &Path,
    folder: &Path,
    recordings: &Recordings,
    time: Duration,
) -> Result<(), String> {
    let traces = folder.join("app.requests.jsonl");
    let profile = folder.join("app.pprof.gz");
    for (dump, to, more) in [
        (&recordings.traces, &traces, &["--to", "zorka-requests"][..]),
        (&recordings.profile, &profile, &["--as-samples"]),
    ] {
        let mut convert = program(&traceloom.to_string_lossy());
        convert
            .arg("convert")
            .arg(dump)
            .arg("-o")
            .arg(to)
            .args(more);
        succeed(&mut convert)?;
    }
    let profile = fs::read(&profile).map_err(|error| error.to_string())?;
    let served = Served::start(collector, &folder.join("data"))?;
    println!(
        "| load | wanted | acknowledged | half of the answers within | 99 % within | cores | MiB of the log at most |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let print =
        |what: &str, wanted: f64, unit: (&str, f64), load: &dyn Fn() -> Result<Posted, String>| {
            let before = served.sample()?;
            let (posted, samples) = watched(&served, load)?;
            let after = served.sample()?;
            let ms =
                |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
            let most = samples.iter().map(|sample| sample.log_bytes).max();
            println!(
                "| {what}, {:.0} s | {wanted:.0} {unit} | {:.1} {unit} | {} | {} | {:.2} | {} |",
                posted.seconds,
                posted.acknowledged as f64 / posted.seconds / unit.1,
                ms(posted.within.map(|(half, _)| half)),
                ms(posted.within.map(|(_, most)| most)),
                (after.processor - before.processor) / posted.seconds,
                most.unwrap_or(0) >> 20,
                unit = unit.0,
            );
            Ok::<_, String>(())
        };
    let agents = || self::agents(traceloom, &served, folder, &traces, time);
    print(
        "Zorka's agents",
        TRACE_RATE as f64 / 1e6,
        ("MB/s", 1e6),
        &agents,
    )?;
    let what = format!("uploads of {} KiB", profile.len() >> 10);
    let uploads = || uploads(served.http(), &profile, time);
    print(&what, UPLOAD_RATE.into(), ("a second", 1.0), &uploads)?;
    println!();
    println!("memory: {} MiB at most", served.peak_kib()? >> 10);
    served.stop()
}

/// Runs a load, and looks at the collector every second.
fn watched(
    served: &Served,
    load: &dyn Fn() -> Result<Posted, String>,
) -> Result<(Posted, Vec<Sample>), String> {
    let samples = Mutex::new(Vec::new());
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let posted = std::thread::scope(|scope| {
        let samples = &samples;
        scope.spawn(move || {
            let waits = Duration::from_secs(1);
            while ended.recv_timeout(waits) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                if let (Ok(sample), Ok(mut samples)) = (served.sample(), samples.lock()) {
                    samples.push(sample);
                }
            }
        });
        let posted = load();
        drop(done);
        posted
    });
    let samples = samples.into_inner().map_err(|error| error.to_string())?;
    Ok((posted?, samples))
}

/// Has `traceloom send` play Zorka's agents.
fn agents(
    traceloom: &Path,
    served: &Served,
    folder: &Path,
    traces: &Path,
    time: Duration,
) -> Result<Posted, String> {
    let ledger = folder.join("agents.jsonl");
    let mut send = program(&traceloom.to_string_lossy());
    send.arg("send").arg(traces);
    send.args(["--to", &format!("zorka://{}", served.http())]);
    send.args(["--loop", "--force", "--agents", AGENTS]);
    send.args(["--rate", &TRACE_RATE.to_string()]);
    send.arg("--ledger").arg(&ledger);
    let start = Instant::now();
    let child = send.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| error.to_string())?;
    std::thread::sleep(time);
    let seconds = start.elapsed().as_secs_f64();
    succeed(program("kill").args(["-INT", &child.id().to_string()]))?;
    let output = child.wait_with_output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("the agents ended with {}: {said}", output.status));
    }
    let ledger = fs::read_to_string(&ledger).map_err(|error| error.to_string())?;
    let acknowledged = ledger.lines().filter_map(|row| {
        let (_, rest) = row.split_once("\"acknowledged\":")?;
        rest.split([',', '}']).next()?.parse::<u64>().ok()
    });
    let within = |what: &str| {
        let (_, rest) = said.split_once(what)?;
        rest.split(' ').next()?.parse().ok()
    };
    Ok(Posted {
        seconds,
        acknowledged: acknowledged.sum(),
        within: within("half within ").zip(within("99 % within ")),
    })
}

/// Uploads a profile again and again, each as another one, at the rate that is wanted.
fn uploads(http: &str, profile: &[u8], time: Duration) -> Result<Posted, String> {
    let start = Instant::now();
    let threads: Vec<_> = std::thread::scope(|scope| {
        let threads = (0..CONNECTIONS)
            .map(|thread| scope.spawn(move || upload_for(http, profile, thread, start, time)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut taken_ms = Vec::new();
    for thread in threads {
        let thread = thread.map_err(|_| "a sender failed".to_owned())?;
        taken_ms.extend(thread.map_err(|error| error.to_string())?);
    }
    let seconds = start.elapsed().as_secs_f64();
    taken_ms.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let at = (taken_ms.len() as f64 * part) as usize;
        taken_ms
            .get(at.min(taken_ms.len().saturating_sub(1)))
            .copied()
    };
    Ok(Posted {
        seconds,
        acknowledged: taken_ms.len() as u64,
        within: at(0.5).zip(at(0.99)),
    })
}

/// Uploads over one connection; returns the milliseconds that each answer took.
fn upload_for(
    http: &str,
    profile: &[u8],
    thread: u32,
    start: Instant,
    time: Duration,
) -> std::io::Result<Vec<f64>> {
    let mut socket = TcpStream::connect(http)?;
    let mut answers = BufReader::new(socket.try_clone()?);
    let every = Duration::from_secs(1) * CONNECTIONS / UPLOAD_RATE;
    let mut taken_ms = Vec::new();
    let mut number = 0_u32;
    while start.elapsed() < time {
        let due = start + every * number + every * thread / CONNECTIONS;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        number += 1;
        let body = upload(profile, thread, number);
        let head = format!(
            "POST /profiling/v1/input HTTP/1.1\r\nHost: {http}\r\nContent-Length: {}\r\n\
             Content-Type: multipart/form-data; boundary=b\r\n\r\n",
            body.len()
        );
        let begun = Instant::now();
        socket.write_all(head.as_bytes())?;
        socket.write_all(&body)?;
        answer(&mut answers)?;
        taken_ms.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(taken_ms)
}

fn upload(profile: &[u8], thread: u32, number: u32) -> Vec<u8> {
    let event = format!(
        "{{\"tags_profiler\":\"service:load,runtime-id:t{thread},profile_seq:{number}\",\"start\":\"2026-01-01T00:00:00Z\",\
         \"end\":\"2026-01-01T00:01:00Z\",\"version\":\"4\"}}"
    );
    let part = |name: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n"
        )
    };
    let mut body = format!("{}{event}\r\n{}", part("event.json"), part("auto.pprof")).into_bytes();
    body.extend_from_slice(profile);
    body.extend_from_slice(b"\r\n--b--\r\n");
    body
}

/// Reads an answer, which must be 200.
fn answer(answers: &mut impl std::io::BufRead) -> std::io::Result<()> {
    let (mut status, mut length) = (String::new(), 0);
    answers.read_line(&mut status)?;
    loop {
        let mut line = String::new();
        answers.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(n) = line.strip_prefix("content-length:") {
            length = n.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut answers.take(length), &mut std::io::sink())?;
    match status.contains(" 200 ") {
        true => Ok(()),
        false => Err(std::io::Error::other(format!(
            "an upload is answered {status}"
        ))),
    }
}
