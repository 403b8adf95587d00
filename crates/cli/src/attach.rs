//! `attach`: the client of an agent that waits for one.

use std::io::{BufRead as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use clap::Args;
use traceloom_formats::PROTOCOLS;
use traceloom_formats::protocol::{ControlCommand, ControlOptions, ControlRules};
use traceloom_formats::tptp::option::with_binary;
use traceloom_server::{AttachOptions, Commands, Stop, attach, commands};

use crate::Outcome;
use crate::args::{Common, reads_nothing};
use crate::streams::{message, stdout};
use crate::usage::Usage;

/// Have a TPTP agent send its data to a collector: start, pause, resume, end.
///
/// Commands are read from standard input, a line each: `pause`, `resume`, `end`. Ctrl-C ends the data in order, too. The
/// framing of the control channel is this program's own (docs/tptp-live.md): it is not that of the Agent Controller.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom attach 127.0.0.1:1719\n  \
    traceloom attach 127.0.0.1:1719 --binary-transfer --to tptp://127.0.0.1:1718\n  \
    traceloom attach --launch java -agentlib:JPIBootLoader=JPIAgent:server=controlled;CGProf -jar app.jar\n  \
    traceloom send trace.trcxml --listen 127.0.0.1:1719    plays an agent")]
pub(crate) struct Options {
    /// Where the agent waits for its client.
    #[arg(value_name = "AGENT", default_value = "127.0.0.1:1719")]
    agent: SocketAddr,
    /// Collector that the data go to.
    #[arg(long, value_name = "URL", default_value = "tptp://127.0.0.1:1718", value_parser = collector)]
    to: SocketAddr,
    /// Ask for the binary form; an agent that does not have it sends XML. In a file this is `tptp.binary_transfer`.
    #[arg(
        long,
        env = "TRACELOOM_TPTP_BINARY_TRANSFER",
        hide_env = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    binary_transfer: Option<bool>,
    /// File with settings, such as `tptp.binary_transfer = true`. A flag comes before the environment
    /// (TRACELOOM_TPTP_BINARY_TRANSFER), and that before the file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Seconds to wait for the agent to listen.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Start this program first, and wait for its agent for 30 s; everything behind this flag is the program's. With
    /// the binary form set, `format=binary` is added to the options of its agent.
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    launch: Vec<String>,
    #[command(flatten)]
    _common: Common,
}

/// Reads `tptp://address:port`.
fn collector(url: &str) -> Result<SocketAddr, String> {
    let host = url.strip_prefix("tptp://");
    let address = host.and_then(|host| host.parse().ok());
    address.ok_or_else(|| format!("`{url}` is no address such as tptp://127.0.0.1:1718"))
}

/// Returns the rules of the control channel of a protocol.
pub(crate) fn control_rules() -> ControlRules {
    let mut rules = PROTOCOLS.iter().filter_map(|protocol| protocol.control);
    rules.next().unwrap_or_else(|| unreachable!("TPTP has one"))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let binary = match (options.binary_transfer, &options.config) {
        (Some(binary), _) => binary,
        (None, Some(file)) => binary_transfer(file)?,
        (None, None) => false,
    };
    let stop = Stop::default();
    let asked = stop.clone();
    crate::interrupt::stop_with(move || asked.now());
    let launched = match options.launch.as_slice() {
        [] => None,
        command => Some(launch(command, binary)?),
    };
    let (sender, queue) = commands();
    std::thread::spawn(move || read_commands(&sender));
    let attaching = AttachOptions {
        rules: control_rules(),
        agent: options.agent,
        control: ControlOptions {
            binary,
            data: options.to.to_string(),
        },
        patience: Duration::from_secs(match (options.wait, &launched) {
            (0, Some(_)) => 30,
            (seconds, _) => seconds,
        }),
    };
    let attached = attach(&attaching, queue, &stop, &mut |event| {
        let mut out = stdout();
        // A reader of standard output that went away is no reason to leave the agent alone.
        let _ = writeln!(out, "{event}").and_then(|()| out.flush());
    });
    let Some(mut child) = launched else {
        attached?;
        return Ok(Outcome::Done);
    };
    if attached.is_err() {
        // It was started for this alone.
        let _ = child.kill();
    }
    let status = child.wait()?;
    attached?;
    if !status.success() {
        message!("the launched program ended with {status}");
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Done)
}

/// Starts a program, its standard input empty: that of this process has commands.
fn launch(command: &[String], binary: bool) -> anyhow::Result<Child> {
    let mut command = command.to_vec();
    if binary && !with_binary(&mut command) {
        let reason = "--launch: no -agentlib: or -agentpath: names JPIBootLoader, whose options `format=binary` belongs to";
        return Err(Usage(reason.to_owned()).into());
    }
    let (program, args) = command
        .split_first()
        .ok_or_else(|| Usage("--launch takes a program".to_owned()))?;
    let child = Command::new(program)
        .args(args)
        .stdin(std::process::Stdio::null())
        .spawn();
    child.map_err(|error| anyhow::anyhow!("{program}: {error}"))
}

/// Reads commands until standard input ends; the data go on then.
fn read_commands(commands: &Commands) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let command = match line.trim() {
            "" => continue,
            "pause" => ControlCommand::Pause,
            "resume" => ControlCommand::Resume,
            "end" => ControlCommand::End,
            _ => {
                message!("there are the commands `pause`, `resume` and `end`");
                continue;
            }
        };
        if !commands.send(command) {
            return;
        }
    }
}

/// Reads `tptp.binary_transfer` of a file; off where it has none.
fn binary_transfer(path: &Path) -> anyhow::Result<bool> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let wrong = |reason: String| Usage(format!("{}: {reason}", path.display()));
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    let Some(tptp) = table.get("tptp").and_then(toml::Value::as_table) else {
        return match table.keys().next() {
            Some(other) => Err(wrong(format!(
                "there is no setting `{other}`; the one there is is `tptp.binary_transfer`"
            ))
            .into()),
            None => Ok(false),
        };
    };
    let mut binary = false;
    for (name, value) in tptp {
        binary = match (name.as_str(), value) {
            ("binary_transfer", toml::Value::Boolean(binary)) => *binary,
            ("binary_transfer", _) => {
                return Err(wrong("`tptp.binary_transfer` is true or false".to_owned()).into());
            }
            _ => return Err(wrong(format!("there is no setting `tptp.{name}`")).into()),
        };
    }
    Ok(binary)
}
