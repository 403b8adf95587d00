//! `serve --demo`: half a minute of a web shop, as the agents of several tools would have sent it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use tempfile::TempDir;

use crate::streams::message;

/// The dump of the shop's process: stream and bytes, as in `testdata/shop`, which is not packaged. It has a story in it: a query for each of many rows, a queue for
/// a lock, a pause within a call, a payment that fails, one slow statement.
const DUMP: [(&str, &[u8]); 8] = {
    macro_rules! stream {
        ($name:literal) => {
            (
                concat!($name, "/000001.gz"),
                include_bytes!(concat!("../assets/shop/", $name, ".gz")).as_slice(),
            )
        };
    }
    [
        stream!("calls"),
        stream!("dictionary"),
        stream!("gc"),
        stream!("params"),
        stream!("sql"),
        stream!("suspend"),
        stream!("trace"),
        stream!("xml"),
    ]
};

/// What the shop is for a listener: the scheme of its address, the format that is sent, the file's name, and who is said to send.
const SHOWN: [(&str, Option<&str>, &str, &str); 4] = [
    ("cdt", None, "shop", "shop"),
    ("heph", Some("heph"), "shop.heph", "shop"),
    ("tptp", Some("tptp-binary"), "shop.trcbin", "shop"),
    ("http", Some("pprof"), "shop.pb.gz", "shop"),
];

/// What a demonstration sends, in a folder that is removed at its end.
pub(crate) struct Demo {
    folder: TempDir,
    sending: Vec<JoinHandle<()>>,
}

impl Drop for Demo {
    fn drop(&mut self) {
        // What still sends has files in the folder; it ends with the collector.
        for sending in self.sending.drain(..) {
            let _ = sending.join();
        }
    }
}

impl Demo {
    /// Writes the dump.
    pub(crate) fn new() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, bytes) in DUMP {
            let path = folder
                .path()
                .join("shop/shop-backend/2026/03/14/1773463907604")
                .join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, bytes)?;
        }
        let sending = Vec::new();
        Ok(Self { folder, sending })
    }

    /// Returns the data folder of a collector that keeps nothing.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Sends the shop to a listener that a line tells of, beside everything else.
    pub(crate) fn send_to(&mut self, line: &str) {
        let address = line
            .split([' ', ',', ';'])
            .find(|word| word.contains("://"));
        let Some(address) = address.map(str::to_owned) else {
            return;
        };
        let scheme = address.split("://").next().unwrap_or_default();
        let shown = SHOWN.into_iter().find(|(known, ..)| *known == scheme);
        let Some((_, format, file, service)) = shown else {
            return;
        };
        let folder = self.folder.path().to_owned();
        self.sending.push(std::thread::spawn(move || {
            let sent = made(&folder, format, file).and_then(|path| {
                let command = if address.starts_with("http") {
                    "push"
                } else {
                    "send"
                };
                let path = path.to_string_lossy();
                traceloom(&[command, &path, "--to", &address, "--service", service])
            });
            if let Err(error) = sent {
                message!("the demonstration did not send {file}: {error}");
            }
        }));
    }
}

/// Makes the file of a format, and returns its path.
fn made(folder: &Path, format: Option<&str>, file: &str) -> Result<PathBuf, String> {
    let (shop, path) = (folder.join("shop"), folder.join(file));
    let Some(format) = format else {
        return Ok(shop);
    };
    let (from, to) = (shop.to_string_lossy(), path.to_string_lossy());
    let mut arguments = vec!["convert", &*from, "--to", format, "-o", &*to];
    if format == "pprof" {
        arguments.push("--as-samples");
    }
    traceloom(&arguments)?;
    Ok(path)
}

/// Runs this program; fails with what it said last.
fn traceloom(arguments: &[&str]) -> Result<(), String> {
    let program = crate::own_program::own_program().map_err(|error| error.to_string())?;
    let run = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    let run = run.map_err(|error| error.to_string())?;
    if run.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&run.stderr);
    let last = said.lines().last().unwrap_or("it failed");
    Err(last.strip_prefix("traceloom: ").unwrap_or(last).to_owned())
}
