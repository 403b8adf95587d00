//! `push`: sends files to a collector as they are.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use traceloom_input::walk;
use traceloom_server::{PushFile, PushOptions, push};

use crate::Outcome;
use crate::args::{Common, reads_nothing};
use crate::numbers::{size, things};
use crate::streams::{message, stderr_is_terminal};
use crate::tls_flags::TlsFlags;
use crate::usage::Usage;

/// Send files to a collector as they are.
///
/// A file is a capture of its own, and so is a folder with all its files. They are safe when the command ends with
/// 0. Where a connection breaks, or the collector is started again, the command goes on with what is missing.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom push app.jfr\n  \
    traceloom push dump/ --service shop --instance shop-1\n  \
    traceloom push *.pb.gz --to http://127.0.0.1:1717\n  \
    curl --data-binary @app.jfr 'http://127.0.0.1:1717/api/v1/upload?name=app.jfr'    the same, without this program")]
pub(crate) struct Options {
    /// Files and folders.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where to; `https://` speaks TLS.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:1717")]
    to: String,
    /// File with the token, where the collector asks for one.
    #[arg(long, value_name = "FILE", env = "TRACELOOM_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Service that the recordings are of.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Process that the recordings are of.
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Seconds without progress after which it is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    _common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let pushing = push_options(options)?;
    let captures: Vec<_> = options
        .files
        .iter()
        .map(|path| files_of(path))
        .collect::<anyhow::Result<_>>()?;
    for (path, files) in options.files.iter().zip(captures) {
        let path = path.display();
        let mut length = 0;
        for file in &files {
            length += std::fs::metadata(&file.path)
                .map_err(|error| anyhow::anyhow!("{}: {error}", file.path.display()))?
                .len();
        }
        let sent = Arc::new(AtomicU64::new(0));
        let pushed = watched(&path.to_string(), length, &sent, || {
            push(&pushing, &files, &sent)
        });
        let pushed = pushed.map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
        let resumed = match pushed.resumed {
            0 => String::new(),
            n => format!(", resumed {}", things(n, "time", "times")),
        };
        message!(
            "{path}: {} in {}, capture {}{resumed}",
            size(pushed.bytes),
            things(files.len() as u64, "file", "files"),
            pushed.capture
        );
    }
    Ok(Outcome::Done)
}

/// Where a collector listens for HTTP.
#[derive(Clone)]
pub(crate) struct HttpAddress {
    pub(crate) address: SocketAddr,
    /// Host and port as they were named.
    pub(crate) host: String,
    /// The host alone.
    pub(crate) name: String,
    /// It speaks TLS.
    pub(crate) tls: bool,
}

impl HttpAddress {
    /// Reads `http://host[:port]`, or `https://`.
    pub(crate) fn read(to: &str) -> Result<Self, String> {
        let secured = to.strip_prefix("https://");
        let host = secured
            .or_else(|| to.strip_prefix("http://"))
            .map(|host| host.trim_end_matches('/'))
            .filter(|host| !host.is_empty() && !host.contains('/'))
            .ok_or_else(|| format!("`{to}` is no address such as http://127.0.0.1:1717"))?;
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let with_port = match has_port {
            true => host.to_owned(),
            false => format!("{host}:1717"),
        };
        let mut resolved = with_port
            .to_socket_addrs()
            .map_err(|error| format!("{to}: {error}"))?;
        let address = resolved.next();
        let name = match has_port {
            true => host.rsplit_once(':').map_or(host, |(name, _)| name),
            false => host,
        };
        Ok(Self {
            address: address.ok_or_else(|| format!("{to} has no address"))?,
            name: name.to_owned(),
            host: with_port,
            tls: secured.is_some(),
        })
    }
}

fn push_options(options: &Options) -> anyhow::Result<PushOptions> {
    let to = HttpAddress::read(&options.to).map_err(Usage)?;
    let token = options.token_file.as_deref().map(token).transpose()?;
    Ok(PushOptions {
        to: to.address,
        tls: options.tls.client(&to.name, to.tls)?,
        host: to.host,
        token,
        service: options.service.clone(),
        instance: options.instance.clone(),
        patience: Duration::from_secs(options.patience),
    })
}

/// Returns how the token of a file is shown.
pub(crate) fn bearer(path: &Path) -> anyhow::Result<String> {
    Ok(format!("Bearer {}", token(path)?))
}

/// Reads the token of a file.
pub(crate) fn token(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// Returns the files of a path, by names that begin with its last component.
fn files_of(path: &Path) -> anyhow::Result<Vec<PushFile>> {
    let whole = std::fs::canonicalize(path);
    let whole = whole.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let base = whole.file_name().unwrap_or("file".as_ref());
    let base = base.to_string_lossy().into_owned();
    if !path.is_dir() {
        let path = path.to_owned();
        return Ok(vec![PushFile { name: base, path }]);
    }
    let listing = walk::files(path)?;
    if let Some(error) = listing.unread.into_iter().next() {
        return Err(error.into());
    }
    if listing.files.is_empty() {
        anyhow::bail!("{}: there are no files in it", path.display());
    }
    let files = listing.files.into_iter().map(|(name, path)| PushFile {
        name: format!("{base}/{name}"),
        path,
    });
    Ok(files.collect())
}

/// Shows how much of `length` bytes is sent while `work` runs.
fn watched<T>(path: &str, length: u64, sent: &AtomicU64, work: impl FnOnce() -> T) -> T {
    if !stderr_is_terminal() {
        return work();
    }
    let bar = ProgressBar::new(length);
    let style =
        ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(path.to_owned());
    std::thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let shown = bar.clone();
        scope.spawn(move || {
            // Ends when the sender is dropped.
            while is_done.recv_timeout(Duration::from_millis(100))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                shown.set_position(sent.load(Ordering::Relaxed));
            }
        });
        let result = work();
        drop(done);
        bar.finish_and_clear();
        result
    })
}
