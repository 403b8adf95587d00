//! `serve`: a collector.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use traceloom_formats::{cdt, heph, tptp};
use traceloom_input::captures::DEFAULT;
use traceloom_server::{
    HttpOptions, Level, Listen, LogEvent, Reload, SealRules, SlowRule, Stop, TlsOptions, serve,
};

use crate::Outcome;
use crate::args::Common;
use crate::demo::Demo;
use crate::select::duration;
use crate::serve_config::with_environment;
use crate::serve_points::PointFlags;
use crate::serve_pull::{PULL, tables, targets};
use crate::serve_views::ViewFlags;
use crate::streams::{error_row, message, stdout};

/// Collect what agents send, and lose nothing that was acknowledged.
///
/// What a CDT agent sent, or a request uploaded, is acknowledged once it is on disk; Heph and TPTP have no acknowledgement. It can
/// be read at once, while it is still being sent: every command takes the data folder as a PATH. SIGTERM and Ctrl-C end the
/// collector after what it has received is safe.
#[derive(Args)]
#[command(mut_args(with_environment), args_override_self = true)]
#[command(after_help = "Examples:\n  \
    traceloom serve\n  \
    traceloom serve --demo\n  \
    traceloom serve --data /var/lib/traceloom --cdt 127.0.0.1:1715\n  \
    traceloom push app.jfr\n  \
    traceloom send streams/ --to cdt://127.0.0.1:1715\n  \
    tail -c +1 -f app.heph | nc 127.0.0.1 1716\n  \
    traceloom calls traceloom-data --sort -duration")]
pub(crate) struct Options {
    /// File with settings by the names of these flags, such as `cdt = "127.0.0.1:1715"`. A flag comes before the
    /// environment (TRACELOOM_SERVE_CDT and so on), and that before the file. Each table `[[pull]]` in it names a Go program whose
    /// profiles are pulled from its net/http/pprof.
    #[arg(
        long,
        value_name = "FILE",
        env = "TRACELOOM_SERVE_CONFIG",
        hide_env = true
    )]
    pub(crate) config: Option<PathBuf>,
    /// Print the settings that would be used, say what is wrong with them, and end.
    #[arg(long)]
    check_config: bool,
    /// Data folder; it is made where there is none, readable by its owner alone.
    #[arg(long, value_name = "DIR", default_value = DEFAULT)]
    data: PathBuf,
    /// Send half a minute of a made-up web shop to the listeners, so that a first look is not empty. Without --data it is kept in a
    /// folder that goes with the collector.
    #[arg(long)]
    demo: bool,
    /// Where to listen for CDT agents, one or more addresses with commas between; port 0 takes a free one, and `off`
    /// does not listen. `tls:` or `plain:` before an address chooses; without, it is TLS where there is a certificate.
    /// The same holds for the other addresses.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1715", value_parser = addresses)]
    cdt: Addresses,
    /// Where to listen for Heph traces, one a connection.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1716", value_parser = addresses)]
    heph: Addresses,
    /// Where to receive Heph traces over UDP, a capture for each sender.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1716", value_parser = address)]
    heph_udp: Address,
    /// Follow a file that a program writes Heph to, from its beginning and as it grows, and the files that take its name; may be repeated.
    #[arg(long, value_name = "FILE")]
    heph_file: Vec<PathBuf>,
    /// Where to listen for TPTP traces in either form, one a connection.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1718", value_parser = addresses)]
    tptp: Addresses,
    /// Where to listen for uploads and for requests of metrics over HTTP; one address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1717", value_parser = one_address)]
    http: Addresses,
    /// Where to listen for OpenTelemetry's exporters over gRPC; one address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4317", value_parser = one_address)]
    otlp_grpc: Addresses,
    #[command(flatten)]
    tls: ServeTls,
    /// Ask for a token on this machine too; other machines always need one.
    #[arg(long)]
    require_token: bool,
    /// MiB that senders of one tenant may post in a minute (Datakit, Pyroscope, OpenTelemetry, Zipkin, Zorka); who sends more is
    /// told when to try again. A token is a tenant, unless it was made with others; senders without a token are one.
    #[arg(long, value_name = "N")]
    tenant_mib_per_minute: Option<u64>,
    /// Store posts again that come again: what the test of lost answers fails with.
    #[arg(long, hide = true)]
    forget_repeats: bool,
    /// Bytes that an upload may have.
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30)]
    upload_bytes: u64,
    #[command(flatten)]
    points: PointFlags,
    /// Listen where other machines reach it, although senders do not say who they are.
    #[arg(long)]
    allow_remote: bool,
    /// Connections at a time; more are closed at once.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    connections: usize,
    /// Tell agents of this namespace to stop; may be repeated.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    refuse_namespace: Vec<String>,
    /// Seconds that connections have for their end once the collector is asked to stop.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u64,
    #[command(flatten)]
    seal: SealFlags,
    #[command(flatten)]
    views: ViewFlags,
    #[command(flatten)]
    log: LogFlags,
    #[command(flatten)]
    common: Common,
}

/// When captures leave the log, and how long they are kept.
#[derive(Args)]
#[command(next_help_heading = "Storage")]
struct SealFlags {
    /// Delete captures N days after their receipt; pinned ones stay.
    #[arg(long, value_name = "N")]
    keep_days: Option<u64>,
    /// Keep captures with failed calls N days in place of --keep-days, and those with calls as slow as --keep-slow says.
    #[arg(long, value_name = "N", requires = "keep_days")]
    keep_slow_days: Option<u64>,
    /// A call that takes DURATION is slow: `2s`, `500ms`.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "keep_slow_days")]
    keep_slow: Option<u64>,
    /// Delete the oldest captures when all take more than N MiB on disk; pinned ones stay.
    #[arg(long, value_name = "N")]
    keep_mib: Option<u64>,
    /// The clock of this machine is right, however far it is from the time that passed: retention goes by it.
    #[arg(long)]
    trust_clock: bool,
    /// Seal what a connection sent when it is N KiB, although it goes on.
    #[arg(long, value_name = "N", default_value_t = 16 << 10)]
    seal_kib: u64,
    /// Seal what a connection sent N seconds ago, although it goes on.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    seal_seconds: u64,
    /// Size of the log in KiB; beyond, what has been in it for the longest is sealed.
    #[arg(long, value_name = "N", default_value_t = 512 << 10)]
    log_kib: u64,
}

/// What the collector says on standard error while it runs.
#[derive(Args)]
#[command(next_help_heading = "Messages")]
struct LogFlags {
    /// Form of messages: sentences, or a JSON object a line with `time`, `level` and `message`. With `json`, the lines of listeners on
    /// standard output are objects too.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Least level of messages: `debug` has every connection and every refusal.
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    log_level: Level,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl LogFormat {
    /// Prints a message. What clients named in it begins no line of its own.
    fn say(self, event: &LogEvent) {
        match self {
            Self::Json => error_row(&row(event)),
            Self::Text => {
                let fields = event.fields.iter();
                let fields: String = fields
                    .map(|(name, value)| format!(" {name}={value:?}"))
                    .collect();
                message!("{}{fields}", event.text);
            }
        }
    }
}

/// Returns a message as JSON.
fn row(event: &LogEvent) -> serde_json::Value {
    let mut row = serde_json::Map::new();
    row.insert("time".to_owned(), Timestamp::now().to_string().into());
    row.insert("level".to_owned(), event.level.name().into());
    row.insert("message".to_owned(), event.text.clone().into());
    for (name, value) in &event.fields {
        row.insert((*name).to_owned(), value.clone().into());
    }
    row.into()
}

fn level(name: &str) -> Result<Level, String> {
    let found = Level::ALL.into_iter().find(|level| level.name() == name);
    found.ok_or_else(|| {
        let names = Level::ALL.map(Level::name).join(", ");
        format!("there is no level `{name}`; there are {names}")
    })
}

impl SealFlags {
    fn rules(&self) -> SealRules {
        let days = |days: u64| Duration::from_secs(days.saturating_mul(24 * 60 * 60));
        SealRules {
            piece_bytes: self.seal_kib.saturating_mul(1 << 10),
            age: Duration::from_secs(self.seal_seconds),
            log_bytes: self.log_kib.saturating_mul(1 << 10),
            keep: self.keep_days.map(days),
            keep_slow: self.keep_slow_days.map(|n_days| SlowRule {
                slow: self.keep_slow.map(Duration::from_nanos),
                keep: days(n_days),
            }),
            keep_bytes: self.keep_mib.map(|mib| mib.saturating_mul(1 << 20)),
            trusts_clock: self.trust_clock,
            ..SealRules::default()
        }
    }
}

/// Keys of the listeners. The files are read again when they change, and at SIGHUP; where they cannot be used, those read
/// before stay in use.
#[derive(Args)]
#[command(next_help_heading = "TLS")]
struct ServeTls {
    /// PEM file of the certificate, and of those between it and its CA.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// PEM file of the CAs that sign certificates of senders: a sender without one is refused.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
}

impl ServeTls {
    fn options(&self) -> Option<TlsOptions> {
        Some(TlsOptions {
            certificate: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
            client_ca: self.tls_client_ca.clone(),
            reload: Reload::default(),
        })
    }
}

/// Where listeners are; none where they are off.
#[derive(Clone)]
struct Addresses(Vec<ListenAddress>);

/// Where a listener is.
#[derive(Clone, Copy)]
struct ListenAddress {
    address: SocketAddr,
    /// It speaks TLS; unsaid, it does where there is a certificate.
    tls: Option<bool>,
}

impl std::fmt::Display for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("off");
        }
        for (at, place) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let scheme = match place.tls {
                None => "",
                Some(true) => "tls:",
                Some(false) => "plain:",
            };
            write!(f, "{comma}{scheme}{}", place.address)?;
        }
        Ok(())
    }
}

/// Reads addresses with commas between, or `off`.
fn addresses(text: &str) -> Result<Addresses, String> {
    if text == "off" {
        return Ok(Addresses(Vec::new()));
    }
    let places = text.split(',').map(|place| {
        let (tls, bare) = match place.split_once(':') {
            Some(("tls", bare)) => (Some(true), bare),
            Some(("plain", bare)) => (Some(false), bare),
            _ => (None, place),
        };
        let address = bare.parse();
        let address = address.map_err(|error| format!("{error}; or `off`"))?;
        Ok(ListenAddress { address, tls })
    });
    places.collect::<Result<_, _>>().map(Addresses)
}

/// Reads an address that may say whether it speaks TLS, or `off`.
fn one_address(text: &str) -> Result<Addresses, String> {
    match addresses(text)? {
        Addresses(places) if places.len() > 1 => Err("one address; or `off`".to_owned()),
        places => Ok(places),
    }
}

/// Where a listener without TLS is; `None` where it is off.
type Address = Option<SocketAddr>;

/// Reads an address or `off`.
fn address(text: &str) -> Result<Address, String> {
    match text {
        "off" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|error| format!("{error}; or `off`")),
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.check_config {
        let settings = collector(options)?;
        print(options)?;
        traceloom_server::check(&settings)?;
        return Ok(Outcome::Done);
    }
    let stop = Stop::default();
    let asked = stop.clone();
    crate::interrupt::stop_with(move || asked.now());
    let mut settings = collector(options)?;
    let mut demo = options.demo.then(Demo::new).transpose()?;
    if let Some(demo) = &demo
        && options.data == Path::new(DEFAULT)
    {
        settings.data = demo.data();
        message!("a demonstration: what is received is gone at the end; --data DIR keeps it");
    }
    if let Some(tls) = &settings.tls {
        let reload = tls.reload.clone();
        crate::interrupt::reload_with(move || reload.now());
    }
    let data = settings.data.display().to_string();
    let format = options.log.log_format;
    let mut listening = |line: &str| {
        let mut out = stdout();
        let shown = match format {
            LogFormat::Text => line.to_owned(),
            LogFormat::Json => row(&LogEvent::new(Level::Info, line)).to_string(),
        };
        // A reader of standard output that went away is no reason to stop collecting.
        let _ = writeln!(out, "{shown}").and_then(|()| out.flush());
        if let Some(demo) = &mut demo {
            demo.send_to(line);
        }
    };
    let counts = serve(&settings, &stop, &mut listening, &mut |event| {
        format.say(event);
    })?;
    let stopped = format!("stopped: {} (data folder {data})", counts.sentence());
    format.say(&LogEvent::new(Level::Info, stopped));
    Ok(Outcome::Done)
}

/// Returns the settings as the collector takes them.
fn collector(options: &Options) -> anyhow::Result<traceloom_server::Options> {
    let tls = options.tls.options();
    let speaks_tls = |place: ListenAddress| place.tls.unwrap_or(tls.is_some());
    let protocols = [
        (&cdt::PROTOCOL, &options.cdt),
        (&heph::PROTOCOL, &options.heph),
        (&tptp::PROTOCOL, &options.tptp),
    ];
    let listeners = protocols.into_iter().flat_map(|(protocol, places)| {
        places.0.iter().map(move |&place| Listen {
            protocol,
            address: place.address,
            tls: speaks_tls(place),
        })
    });
    let datagrams = options.heph_udp.into_iter().map(|address| Listen {
        protocol: &heph::PROTOCOL,
        address,
        tls: false,
    });
    let followed = options.heph_file.iter();
    let followed = followed.map(|path| (&heph::PROTOCOL, path.clone()));
    let requests = |places: &Addresses| {
        places.0.first().map(|&place| HttpOptions {
            address: place.address,
            tls: speaks_tls(place),
            requires_token: options.require_token,
        })
    };
    let pulled = options.config.as_deref().map(targets).transpose()?;
    Ok(traceloom_server::Options {
        data: options.data.clone(),
        listeners: listeners.collect(),
        datagrams: datagrams.collect(),
        followed: followed.collect(),
        http: requests(&options.http),
        otlp_grpc: requests(&options.otlp_grpc),
        pulled: pulled.unwrap_or_default(),
        forgets_repeats: options.forget_repeats,
        upload_bytes: options.upload_bytes,
        input_tags: options.points.input_tags(),
        forward: options.points.forward()?,
        answers: Some(options.views.answers(&options.common)?),
        tenant_bytes: options
            .tenant_mib_per_minute
            .map(|mib| mib.saturating_mul(1 << 20)),
        allow_remote: options.allow_remote,
        connections: options.connections,
        unwanted: options.refuse_namespace.clone(),
        grace: Duration::from_secs(options.grace),
        seal: options.seal.rules(),
        tls,
        log_level: options.log.log_level,
        settings: settings_json(options),
        shown: options.views.shown()?,
    })
}

/// Returns the settings by the names of their flags.
fn settings(options: &Options) -> Vec<(&'static str, toml::Value)> {
    let text = |text: &str| toml::Value::from(text);
    let address = |address: Address| match address {
        Some(address) => toml::Value::from(address.to_string()),
        None => toml::Value::from("off"),
    };
    let namespaces = options.refuse_namespace.clone();
    let number =
        |number: u64| i64::try_from(number).map_or(toml::Value::from(i64::MAX), Into::into);
    let log_format = options.log.log_format.to_possible_value();
    let log_format = log_format.map(|value| value.get_name().to_owned());
    let files = options.heph_file.iter();
    let files = files.map(|path| path.to_string_lossy().into_owned());
    let settings = [
        ("data", text(&options.data.to_string_lossy())),
        ("cdt", text(&options.cdt.to_string())),
        ("heph", text(&options.heph.to_string())),
        ("heph-udp", address(options.heph_udp)),
        ("heph-file", files.collect::<Vec<_>>().into()),
        ("tptp", text(&options.tptp.to_string())),
        ("http", text(&options.http.to_string())),
        ("otlp-grpc", text(&options.otlp_grpc.to_string())),
        ("require-token", options.require_token.into()),
        ("allow-remote", options.allow_remote.into()),
        ("datakit-tag", options.points.tags().into()),
        ("upload-bytes", number(options.upload_bytes)),
        ("connections", number(options.connections as u64)),
        ("refuse-namespace", namespaces.into()),
        ("grace", number(options.grace)),
        ("trust-clock", options.seal.trust_clock.into()),
        ("seal-kib", number(options.seal.seal_kib)),
        ("seal-seconds", number(options.seal.seal_seconds)),
        ("log-kib", number(options.seal.log_kib)),
        ("question-mib", number(options.views.question_mib)),
        (
            "log-format",
            text(log_format.as_deref().unwrap_or_default()),
        ),
        ("log-level", text(options.log.log_level.name())),
    ];
    let path = |path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| text(&path.to_string_lossy()))
    };
    let kept = [
        ("forward-points", options.points.url().map(text)),
        (
            "forward-authorization",
            path(options.points.authorization()),
        ),
        ("forward-ca", path(options.points.ca())),
        ("tls-cert", path(&options.tls.tls_cert)),
        ("tls-key", path(&options.tls.tls_key)),
        ("tls-client-ca", path(&options.tls.tls_client_ca)),
        (
            "tenant-mib-per-minute",
            options.tenant_mib_per_minute.map(number),
        ),
        ("keep-days", options.seal.keep_days.map(number)),
        ("keep-slow-days", options.seal.keep_slow_days.map(number)),
        (
            "keep-slow",
            options.seal.keep_slow.map(|ns| exact(ns).into()),
        ),
        ("keep-mib", options.seal.keep_mib.map(number)),
    ];
    let pulled = options.config.as_deref();
    let pulled = pulled
        .and_then(|file| tables(file).ok())
        .unwrap_or_default();
    let pulled = Some(pulled).filter(|tables| !tables.is_empty());
    let pulled = [(PULL, pulled.map(toml::Value::from))];
    let views = options.views.files().into_iter();
    let views = views.map(|(name, file)| (name, path(file)));
    let kept = kept.into_iter().chain(pulled).chain(views);
    let kept = kept.filter_map(|(name, value)| value.map(|value| (name, value)));
    settings.into_iter().chain(kept).collect()
}

/// Writes a duration in the largest unit that has it whole.
fn exact(ns: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];
    let units = UNITS.map(|(unit, ms)| (unit, ms * 1_000_000));
    let whole = units
        .iter()
        .find(|(_, of)| ns > 0 && ns.is_multiple_of(*of));
    let (unit, of) = whole.copied().unwrap_or(("ns", 1));
    format!("{}{unit}", ns / of)
}

/// Prints the settings as a file has them.
fn print(options: &Options) -> anyhow::Result<()> {
    let mut out = stdout();
    for (name, value) in settings(options) {
        writeln!(out, "{name} = {value}")?;
    }
    Ok(out.flush()?)
}

/// Returns the settings as pages show them.
fn settings_json(options: &Options) -> serde_json::Value {
    let json = |value: toml::Value| match value {
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(yes) => yes.into(),
        toml::Value::String(text) => text.into(),
        other => other.to_string().into(),
    };
    let settings = settings(options).into_iter();
    let settings = settings.map(|(name, value)| match value {
        // Databases take passwords in queries.
        toml::Value::String(url) if name == "forward-points" => {
            let shown = url.split('?').next().unwrap_or_default();
            (name.to_owned(), shown.into())
        }
        value => (name.to_owned(), json(value)),
    });
    serde_json::Value::Object(settings.collect())
}
