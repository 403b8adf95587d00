//! `send`: plays the agents of a collector.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use traceloom_formats::PROTOCOLS;
use traceloom_formats::protocol::{Identity, Protocol};
use traceloom_server::{PostOptions, SendOptions, Stop, send};

use crate::Outcome;
use crate::acknowledged::{answer_times, save_ledger};
use crate::args::Common;
use crate::numbers::{size, things};
use crate::push::HttpAddress;
use crate::send_zorka::AgentLoad;
use crate::sendable;
use crate::streams::message;
use crate::tls_flags::TlsFlags;
use crate::usage::Usage;

/// Send a recording to a collector as its agents would.
///
/// A recorded conversation or a folder of streams goes out over the agents' own protocol, as often as asked, from as
/// many agents as asked. Exit 1 when a collector did not acknowledge everything; Heph and TPTP have no
/// acknowledgement: exit 1 when the connection was lost before the collector closed it.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    traceloom send service.tcpdump --to cdt://127.0.0.1:1715\n  \
    traceloom send app.heph --to heph://127.0.0.1:1716\n  \
    traceloom send trace.trcxml --listen 127.0.0.1:1719\n  \
    traceloom send spans.otlp-traces --to http://127.0.0.1:1717\n  \
    traceloom send app.requests.jsonl --to zorka://127.0.0.1:1717 --agents 50 --loop\n  \
    traceloom send streams/ --to cdt://127.0.0.1:1715 --agents 100 --loop --rate 50000000\n  \
    traceloom send streams/ --to cdt://127.0.0.1:1715 --agents 8 --times 20 --ledger acknowledged.jsonl\n  \
    traceloom send dump/ --to cdt://127.0.0.1:1715       a folder of a collector, as its agents sent it\n  \
    traceloom convert app.jfr streams/ --to cdt-streams  makes streams of another recording")]
pub(crate) struct Options {
    /// What to send.
    path: String,
    /// Where to, such as `cdt://127.0.0.1:1715`; `cdts://`, `hephs://` and `tptps://` speak TLS. `http://` and `https://` post
    /// traces and profiles of OpenTelemetry, spans of Zipkin and bundles of Datakit, each message once. `zorka://` and `zorkas://` post symbols and traces over
    /// HTTP as Zorka's agents do: what is refused is sent again, its symbols first. With several agents or times each sends
    /// sessions of its own.
    #[arg(long, value_name = "URL", value_parser = destination, required_unless_present = "listen")]
    to: Option<Destination>,
    /// File with the token, where a collector asks for one over HTTP.
    #[arg(long, value_name = "FILE", env = "TRACELOOM_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Play a TPTP agent that waits for its client here: `traceloom attach` says where the data go, pauses and ends them.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["to", "agents", "times", "endless", "ledger"])]
    listen: Option<SocketAddr>,
    /// Connections at a time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    agents: u32,
    /// Bytes a second, of all agents together, which begin within a second.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// Send everything this often, behind itself.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "endless"
    )]
    times: u64,
    /// Send everything again and again, until Ctrl-C.
    #[arg(long = "loop")]
    endless: bool,
    /// Have each agent begin elsewhere in the recording, as load of different bytes: what arrives is no recording.
    #[arg(long)]
    stagger: bool,
    /// Write what was acknowledged, a JSON object for each stream of each agent; of Zorka's for each session.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Service that the agents name.
    #[arg(long, value_name = "NAME", default_value = "traceloom")]
    service: String,
    /// Namespace that the agents name.
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Replace a ledger that exists.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone)]
enum Destination {
    Session(SendTarget),
    Requests(HttpAddress),
    /// Zorka's agents, over HTTP.
    Zorka(HttpAddress),
}

/// Reads `protocol://host[:port]`.
fn destination(url: &str) -> Result<Destination, String> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return HttpAddress::read(url).map(Destination::Requests);
    }
    for (scheme, http) in [("zorka://", "http://"), ("zorkas://", "https://")] {
        if let Some(host) = url.strip_prefix(scheme) {
            return HttpAddress::read(&format!("{http}{host}")).map(Destination::Zorka);
        }
    }
    target(url).map(Destination::Session)
}

#[derive(Clone)]
struct SendTarget {
    protocol: &'static Protocol,
    address: SocketAddr,
    /// The host as it was named.
    host: String,
    tls: bool,
}

fn target(url: &str) -> Result<SendTarget, String> {
    let (scheme, host) = url
        .split_once("://")
        .ok_or_else(|| format!("`{url}` is no address such as cdt://127.0.0.1:1715"))?;
    let protocol = PROTOCOLS
        .iter()
        .find(|protocol| scheme.strip_suffix('s').unwrap_or(scheme) == protocol.captures.name);
    let Some(&protocol) = protocol else {
        let names: Vec<_> = PROTOCOLS
            .iter()
            .map(|protocol| protocol.captures.name)
            .collect();
        return Err(format!(
            "nothing is sent over `{scheme}`; there is {}, zorka, http, https",
            names.join(", ")
        ));
    };
    let resolved = match host.parse::<SocketAddr>() {
        Ok(address) => Some(address),
        Err(_)
            if host
                .rsplit_once(':')
                .is_some_and(|(_, port)| port.parse::<u16>().is_ok()) =>
        {
            host.to_socket_addrs()
                .map_err(|error| format!("{host}: {error}"))?
                .next()
        }
        Err(_) => (host, protocol.port)
            .to_socket_addrs()
            .map_err(|error| format!("{host}: {error}"))?
            .next(),
    };
    let address = resolved.ok_or_else(|| format!("{host} has no address"))?;
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    Ok(SendTarget {
        protocol,
        address,
        host: name.to_owned(),
        tls: scheme.ends_with('s'),
    })
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let Some(to) = &options.to else {
        return crate::play::run(&options.path, options.listen, options.rate, &options.common);
    };
    let to = match to {
        Destination::Session(to) => to,
        Destination::Requests(to) => return post(options, to),
        Destination::Zorka(to) => return zorka(options, to),
    };
    let stop = Stop::default();
    let streams = sendable::read(&options.path, to.protocol, &options.common)?;
    if !to.protocol.repeatable && (options.endless || options.times > 1) {
        let name = to.protocol.captures.name;
        let reason =
            format!("a {name} connection is one trace: it is sent once (--agents N sends more)");
        return Err(Usage(reason).into());
    }
    // Before anything is sent: a ledger that cannot be written is found out too late otherwise.
    if let Some(ledger) = &options.ledger {
        traceloom_input::save::check(ledger, false, options.force)?;
    }
    let asked = stop.clone();
    crate::interrupt::stop_with(move || asked.now());
    let sending = SendOptions {
        protocol: to.protocol,
        to: to.address,
        tls: options.tls.client(&to.host, to.tls)?,
        identity: Identity {
            service: options.service.clone(),
            instance: options.service.clone(),
            namespace: options.namespace.clone(),
            version: String::new(),
        },
        agents: options.agents,
        rate: options.rate,
        times: (!options.endless).then_some(options.times),
        stagger: options.stagger,
    };
    let sent = send(&sending, streams, &stop)?;
    if let Some(ledger) = &options.ledger {
        save_ledger(ledger, &sent.ledger, options.force)?;
    }
    let acknowledged = sent.ledger.iter().map(|row| row.acknowledged).sum();
    let in_all = sent.ledger.iter().map(|row| row.sent).sum();
    let agents = things(options.agents.into(), "agent", "agents");
    match to.protocol.acknowledges {
        true => message!(
            "{agents}: {} of {} acknowledged",
            size(acknowledged),
            size(in_all)
        ),
        false => message!(
            "{agents}: {} sent; {} has no acknowledgement",
            size(in_all),
            to.protocol.captures.name
        ),
    }
    if let Some(times) = answer_times("request to flush", &sent.flushes) {
        message!("{times}");
    }
    for failure in sent.failures.iter().take(10) {
        message!("{failure}");
    }
    if let Some(more) = sent.failures.len().checked_sub(10).filter(|&more| more > 0) {
        message!(
            "{}",
            things(more as u64, "more agent failed", "more agents failed")
        );
    }
    Ok(match sent.failures.is_empty() {
        true => Outcome::Done,
        false => Outcome::Failed,
    })
}

/// Posts what exporters post.
fn post(options: &Options, to: &HttpAddress) -> anyhow::Result<Outcome> {
    let repeats = options.agents > 1 || options.times > 1 || options.endless || options.stagger;
    if repeats || options.rate.is_some() || options.ledger.is_some() {
        let reason = "over HTTP a message is known again and stored once: it is posted once, without --agents, --times, \
                      --loop, --stagger, --rate and --ledger";
        return Err(Usage(reason.to_owned()).into());
    }
    let tls = options.tls.client(&to.name, to.tls)?;
    let token = options.token_file.as_deref();
    crate::send_posts::run(&options.path, to, tls, token, &options.common)
}

/// Posts as Zorka's agents do.
fn zorka(options: &Options, to: &HttpAddress) -> anyhow::Result<Outcome> {
    if options.stagger {
        let reason = "symbols come before the traces that need them: --stagger is not for zorka";
        return Err(Usage(reason.to_owned()).into());
    }
    let token = options.token_file.as_deref();
    let to = PostOptions {
        to: to.address,
        host: to.host.clone(),
        tls: options.tls.client(&to.name, to.tls)?,
        authorization: token.map(crate::push::bearer).transpose()?,
        patience: Duration::from_secs(60),
    };
    let load = AgentLoad {
        agents: options.agents,
        times: (!options.endless).then_some(options.times),
        rate: options.rate,
        ledger: options.ledger.as_deref(),
        force: options.force,
    };
    crate::send_zorka::run(&options.path, to, &load, &options.common)
}
