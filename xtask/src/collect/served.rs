//! The collector, from outside.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::cargo::{program, succeed};

/// MiB of captures that are kept; the oldest that ended go.
const KEEP_MIB: u64 = 6 << 10;

pub(super) struct Served {
    child: Child,
    cdt: String,
    http: String,
    data: PathBuf,
}

/// The collector at one moment.
pub(super) struct Sample {
    pub(super) log_bytes: u64,
    /// Bytes of chunks that were made.
    pub(super) stored: u64,
    /// Seconds of processor time.
    pub(super) processor: f64,
}

impl Served {
    pub(super) fn start(traceloom: &Path, data: &Path) -> Result<Self, String> {
        let mut serve = program(&traceloom.to_string_lossy());
        serve.arg("serve").arg("--data").arg(data);
        serve.args(["--cdt", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        serve.args(["--heph", "off", "--heph-udp", "off", "--otlp-grpc", "off"]);
        serve.args(["--keep-mib", &KEEP_MIB.to_string()]);
        let spawned = serve.stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| error.to_string())?;
        let out = child.stdout.take().ok_or("the collector has no output")?;
        let mut served = Self {
            child,
            cdt: String::new(),
            http: String::new(),
            data: data.to_owned(),
        };
        let mut lines = BufReader::new(out).lines();
        while served.cdt.is_empty() || served.http.is_empty() {
            let line = lines.next().ok_or("the collector ended")?;
            let line = line.map_err(|error| error.to_string())?;
            let address = |name: &str| {
                let rest = line.strip_prefix(name)?.strip_prefix(" on ")?;
                rest.split(": ").next().map(str::to_owned)
            };
            if let Some(cdt) = address("cdt") {
                served.cdt = cdt;
            } else if let Some(http) = address("http") {
                served.http = http;
            }
        }
        // Whatever else it prints is read away.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(served)
    }

    pub(super) fn cdt(&self) -> String {
        format!("cdt://{}", self.cdt)
    }

    pub(super) fn http(&self) -> &str {
        &self.http
    }

    pub(super) fn sample(&self) -> Result<Sample, String> {
        let metrics = self.metrics()?;
        let value = |name: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse().ok())
        };
        let log_bytes = value("traceloom_log_bytes ").ok_or("no size of the log in /metrics")?;
        Ok(Sample {
            log_bytes,
            stored: value("traceloom_chunk_bytes_total ").unwrap_or(0),
            processor: self.processor()?,
        })
    }

    fn metrics(&self) -> Result<String, String> {
        let io = |error: std::io::Error| format!("/metrics: {error}");
        let mut socket = TcpStream::connect(&self.http).map_err(io)?;
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.http
        );
        socket.write_all(request.as_bytes()).map_err(io)?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).map_err(io)?;
        Ok(answer)
    }

    /// Returns the seconds of processor time so far (Linux).
    fn processor(&self) -> Result<f64, String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.map_err(|error| error.to_string())?;
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let numbers = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = numbers
            .filter_map(|number| number.parse::<u64>().ok())
            .sum();
        Ok(ticks as f64 / 100.0)
    }

    /// Returns the most memory that it held.
    pub(super) fn peak_kib(&self) -> Result<u64, String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.map_err(|error| error.to_string())?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        peak.ok_or_else(|| "the system does not tell the most memory".to_owned())
    }

    /// Waits until nothing is sealed any more.
    pub(super) fn settle(&self) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(300);
        let mut before = f64::MIN;
        while Instant::now() < until {
            let processor = self.processor()?;
            if processor - before < 0.05 {
                return Ok(());
            }
            before = processor;
            std::thread::sleep(Duration::from_secs(2));
        }
        Err("the collector does not come to rest".to_owned())
    }

    /// Stops it in order, and takes its data away.
    pub(super) fn stop(mut self) -> Result<(), String> {
        succeed(program("kill").args(["-TERM", &self.child.id().to_string()]))?;
        let status = self.child.wait().map_err(|error| error.to_string())?;
        match status.success() {
            true => fs::remove_dir_all(&self.data).map_err(|error| error.to_string()),
            false => Err(format!("the collector ended with {status}")),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Of a run that failed; one that ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the MiB that a collector may hold: docs/durability.md, "Budgets".
pub(super) fn budget_mib(connections: u32) -> u32 {
    160 + connections * 9 / 10
}
