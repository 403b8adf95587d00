//! `command`: has an agent carry out a diagnostic command.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use traceloom_input::captures::CaptureId;
use traceloom_server::{PostOptions, PostRequest, post_once};

use crate::Outcome;
use crate::args::{Common, reads_nothing};
use crate::push::{HttpAddress, bearer};
use crate::streams::stdout;
use crate::tls_flags::TlsFlags;
use crate::usage::Usage;

/// Have the agent of an open connection write a heap dump, a thread dump or a list of its threads.
///
/// CDT's agents alone take commands. The collector sends it with its next acknowledgement, which agents ask for every
/// five seconds. `captures ls --json` has the result under `commands`; what the agent writes comes as an upload of its
/// own. This needs a token with the right `write`, on this machine too.
#[derive(Args)]
#[command(mut_args(reads_nothing))]
#[command(after_help = "Examples:\n  \
    traceloom token add me --right write > me.token\n  \
    traceloom captures ls\n  \
    traceloom command td 1-7 --token-file me.token")]
pub(crate) struct Options {
    /// What to do.
    #[arg(value_name = "COMMAND")]
    word: CommandWord,
    /// Id of the capture whose connection is open.
    #[arg(value_name = "ID", value_parser = str::parse::<CaptureId>)]
    id: CaptureId,
    /// Where the collector is; `https://` speaks TLS.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:1717")]
    to: String,
    /// File with the token.
    #[arg(long, value_name = "FILE", env = "TRACELOOM_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    _common: Common,
}

#[derive(Clone, Copy, ValueEnum)]
enum CommandWord {
    /// A heap dump.
    Heap,
    /// A thread dump.
    Td,
    /// What threads use the processor.
    Top,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let to = HttpAddress::read(&options.to).map_err(Usage)?;
    let word = match options.word {
        CommandWord::Heap => "heap",
        CommandWord::Td => "td",
        CommandWord::Top => "top",
    };
    let posting = PostOptions {
        to: to.address,
        tls: options.tls.client(&to.name, to.tls)?,
        host: to.host,
        authorization: options.token_file.as_deref().map(bearer).transpose()?,
        patience: Duration::ZERO,
    };
    let request = PostRequest {
        path: format!("/api/v1/captures/{}/commands", options.id),
        content_type: "application/json".to_owned(),
        body: json!({ "command": word }).to_string().into_bytes(),
    };
    let answer = post_once(&posting, &request)?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let id = answer["id"].as_str().unwrap_or_default();
    writeln!(stdout(), "{id}")?;
    Ok(Outcome::Done)
}
