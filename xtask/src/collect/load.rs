//! A run of `traceloom send`, and what its agents were told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::served::{Sample, Served};
use crate::cargo::{program, succeed};

pub(super) struct Load<'l> {
    pub(super) traceloom: &'l Path,
    pub(super) streams: &'l Path,
    pub(super) to: String,
    pub(super) ledger: PathBuf,
    pub(super) agents: u32,
    pub(super) rate: Option<u64>,
}

/// What a load came to.
pub(super) struct Sent {
    pub(super) seconds: f64,
    /// Bytes acknowledged to all agents.
    pub(super) acknowledged: u64,
    /// Bytes of the agent that got least, as a part of those of the agent in the middle.
    pub(super) least: f64,
    pub(super) most: f64,
    /// Milliseconds within which half and 99 % of the requests to flush were answered.
    pub(super) flush_ms: Option<(f64, f64)>,
    /// The collector, every second.
    pub(super) samples: Vec<Sample>,
}

impl Load<'_> {
    pub(super) fn run(&self, time: Duration, served: &Served) -> Result<Sent, String> {
        let mut send = program(&self.traceloom.to_string_lossy());
        send.arg("send").arg(self.streams);
        send.args(["--loop", "--stagger", "--force", "--to", &self.to]);
        send.args(["--agents", &self.agents.to_string()]);
        send.arg("--ledger").arg(&self.ledger);
        if let Some(rate) = self.rate {
            send.args(["--rate", &rate.to_string()]);
        }
        let start = Instant::now();
        let child = send.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let mut samples = Vec::new();
        while start.elapsed() < time {
            std::thread::sleep(Duration::from_secs(1));
            if let Ok(Some(status)) = child.try_wait() {
                let output = child.wait_with_output();
                let output = output.map_err(|error| error.to_string())?;
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(format!("the agents ended with {status}: {said}"));
            }
            samples.push(served.sample()?);
        }
        let seconds = start.elapsed().as_secs_f64();
        succeed(program("kill").args(["-INT", &child.id().to_string()]))?;
        let output = child
            .wait_with_output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(format!("the agents ended with {}: {said}", output.status));
        }
        let ledger = fs::read_to_string(&self.ledger).map_err(|error| error.to_string())?;
        let mut by_agent = std::collections::BTreeMap::<_, u64>::new();
        for row in ledger.lines() {
            let instance = text(row, "\"instance\":\"", '"').ok_or("a ledger without instances")?;
            let bytes = text(row, "\"acknowledged\":", ',').and_then(|bytes| bytes.parse().ok());
            *by_agent.entry(instance).or_default() += bytes.unwrap_or(0);
        }
        let mut agents: Vec<u64> = by_agent.into_values().collect();
        agents.sort_unstable();
        let (Some(least), Some(most)) = (agents.first(), agents.last()) else {
            return Err("nobody sent anything".to_owned());
        };
        let middle = agents[agents.len() / 2].max(1) as f64;
        let within = |what: &str| text(&said, what, ' ')?.parse().ok();
        Ok(Sent {
            seconds,
            acknowledged: agents.iter().sum(),
            least: *least as f64 / middle,
            most: *most as f64 / middle,
            flush_ms: within("half within ").zip(within("99 % within ")),
            samples,
        })
    }
}

/// Returns what stands between `before` and `end`.
fn text<'t>(line: &'t str, before: &str, end: char) -> Option<&'t str> {
    let (_, rest) = line.split_once(before)?;
    let at = rest.find([end, '}']).unwrap_or(rest.len());
    rest.get(..at)
}
