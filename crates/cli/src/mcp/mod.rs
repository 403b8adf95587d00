//! `mcp`: the views as tools of the Model Context Protocol, over standard input and output.

mod folder;
mod message;
mod messages;
mod run;
mod tools;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::reads_nothing;
use crate::streams;
use folder::Folder;
use message::{ErrorCode, Request, Revision};
use messages::{Line, Lines};
use tools::{Call, TOOLS};

/// Answer an assistant's questions about recordings, as a server of the Model Context Protocol.
///
/// Requests come on standard input and answers leave on standard output, a JSON object a line, until the input ends. The tools
/// info, top, calls, call and diff answer as the commands of these names do with --json, with bounded rows and sizes. They
/// read nothing outside of the folder and write nothing.
#[derive(Args)]
#[command(
    mut_args(reads_nothing),
    after_help = "Example of a client's settings:\n  \
    {\"mcpServers\": {\"traceloom\": {\"command\": \"traceloom\", \"args\": [\"mcp\", \"--folder\", \"/var/dumps\"]}}}"
)]
pub(crate) struct Options {
    /// The folder that paths count from, and that tools may read.
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

/// Tool calls that run at the same time.
const RUNNING: usize = 2;
/// Tool calls that wait; the next message is read when there is room.
const WAITING: usize = 32;

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let session = Session {
        folder: Folder::open(&options.folder)?,
        cancelled: Mutex::default(),
        broken: AtomicBool::new(false),
    };
    let (to_workers, jobs) = sync_channel::<Job>(WAITING);
    let jobs = Mutex::new(jobs);
    let mut lines = Lines::new(io::stdin().lock());
    std::thread::scope(|scope| {
        for _ in 0..RUNNING {
            scope.spawn(|| session.work(&jobs));
        }
        while !session.broken.load(Ordering::Relaxed)
            && let Some(line) = lines.next()?
        {
            if let Some(job) = session.take(&line) {
                // The workers end when this end is dropped, after all that waits.
                let _ = to_workers.send(job);
            }
        }
        drop(to_workers);
        anyhow::Ok(())
    })?;
    Ok(Outcome::Done)
}

/// A tool call that was asked for.
struct Job {
    id: Value,
    revision: Revision,
    call: Call,
    cancelled: Arc<AtomicBool>,
}

/// What the threads of one server share.
struct Session {
    folder: Folder,
    /// By the ids of the calls that wait or run, what tells them that they are cancelled.
    cancelled: Mutex<HashMap<String, Arc<AtomicBool>>>,
    /// Nobody reads the answers.
    broken: AtomicBool,
}

impl Session {
    /// Answers a line at once, or returns the tool call that it asks for.
    fn take(&self, line: &Line<'_>) -> Option<Job> {
        let message = match line {
            Line::Whole(bytes) => message::parse(bytes),
            Line::TooLong => Err(message::too_long()),
        };
        let request = match message {
            Ok(Some(request)) => request,
            Ok(None) => return None,
            Err(refusal) => {
                self.send(&refusal);
                return None;
            }
        };
        let Some(id) = request.id.clone() else {
            self.notified(&request);
            return None;
        };
        let revision = match request.revision() {
            Ok(revision) => revision,
            Err((code, text, data)) => {
                self.send(&message::error(&id, code, &text, data));
                return None;
            }
        };
        let answer = match request.method.as_str() {
            "initialize" if revision == Revision::Handshake => Ok(message::initialized(&request)),
            "ping" if revision == Revision::Handshake => Ok(json!({})),
            "server/discover" if revision == Revision::Stateless => Ok(message::discovered()),
            "tools/list" => {
                Ok(json!({ "tools": TOOLS.iter().map(tools::Tool::json).collect::<Vec<_>>() }))
            }
            "tools/call" => match Call::of(&request.params) {
                Ok(call) => {
                    let cancelled = Arc::default();
                    self.calls().insert(id.to_string(), Arc::clone(&cancelled));
                    return Some(Job {
                        id,
                        revision,
                        call,
                        cancelled,
                    });
                }
                Err(reason) => Err((ErrorCode::Params, reason)),
            },
            other => Err((ErrorCode::Method, format!("there is no method `{other}`"))),
        };
        self.send(&match answer {
            Ok(result) => revision.result(&id, &request.method, result),
            Err((code, text)) => message::error(&id, code, &text, None),
        });
        None
    }

    fn notified(&self, request: &Request) {
        if request.method == "notifications/cancelled"
            && let Some(call) = self.calls().get(&request.params["requestId"].to_string())
        {
            call.store(true, Ordering::Relaxed);
        }
    }

    /// Runs tool calls until there are no more; one that was cancelled has no answer.
    fn work(&self, jobs: &Mutex<Receiver<Job>>) {
        loop {
            let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = next else { return };
            let result = job.call.run(&self.folder, &job.cancelled);
            self.calls().remove(&job.id.to_string());
            if !job.cancelled.load(Ordering::Relaxed) {
                self.send(&job.revision.result(&job.id, "tools/call", result));
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Arc<AtomicBool>>> {
        self.cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Value) {
        if streams::raw(format!("{message}\n").as_bytes()).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
