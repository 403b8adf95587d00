//! Tool calls: each is this program once more, whose answer, time and faults are its own.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::folder::Folder;
use super::tools::Call;
use crate::own_program::own_program;

/// Bytes of an answer at most.
const ANSWER: u64 = 256 << 10;
/// Bytes of messages at most.
const MESSAGES: u64 = 8 << 10;
/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a running call is looked at.
const LOOKED_AT: Duration = Duration::from_millis(10);

impl Call {
    /// Runs the call and returns its result: what goes wrong is a result that says so.
    pub(super) fn run(&self, folder: &Folder, cancelled: &AtomicBool) -> Value {
        let answered = self
            .command_line(folder)
            .and_then(|line| answer(&line, folder, cancelled));
        match answered {
            Ok((answer, messages)) => {
                let mut content = vec![json!({ "type": "text", "text": answer })];
                if !messages.is_empty() {
                    content.push(json!({ "type": "text", "text": messages }));
                }
                json!({ "content": content, "isError": false })
            }
            Err(reason) => {
                json!({ "content": [{ "type": "text", "text": reason }], "isError": true })
            }
        }
    }
}

/// Runs this program and returns what it printed on standard output and on standard error.
fn answer(
    line: &[String],
    folder: &Folder,
    cancelled: &AtomicBool,
) -> Result<(String, String), String> {
    if cancelled.load(Ordering::Relaxed) {
        return Err("cancelled".to_owned());
    }
    let unable = |error: io::Error| format!("traceloom cannot be run: {error}");
    let mut command = Command::new(own_program().map_err(unable)?);
    command.args(line).current_dir(folder.path());
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(unable)?;
    let printed = child.stdout.take().map(|pipe| reading(pipe, ANSWER));
    let said = child.stderr.take().map(|pipe| reading(pipe, MESSAGES));
    let ended = wait(&mut child, cancelled);
    let (printed, is_whole) = text_of(printed);
    let (said, _) = text_of(said);
    match ended {
        Ok(_) if !is_whole => Err(format!(
            "the answer is longer than {ANSWER} bytes; ask for fewer rows or spans, or for a part of the path"
        )),
        Ok(0) => Ok((printed, said)),
        Ok(code) if said.is_empty() => Err(format!("ended with exit code {code}")),
        // A budget that does not hold and damage end so, with an answer.
        Ok(_) if !printed.is_empty() => Err(format!("{said}{printed}")),
        Ok(_) => Err(said),
        Err(reason) => Err(reason),
    }
}

/// Waits for the end of a call, and ends it when it was cancelled or takes too long.
fn wait(child: &mut Child, cancelled: &AtomicBool) -> Result<i32, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code().unwrap_or(-1)),
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
        let reason = match cancelled.load(Ordering::Relaxed) {
            true => Some("cancelled".to_owned()),
            false if start.elapsed() > PATIENCE => Some(format!(
                "no answer after {} s; ask for a smaller file or a part of the folder",
                PATIENCE.as_secs()
            )),
            false => None,
        };
        if let Some(reason) = reason {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return Err(reason);
        }
        thread::sleep(LOOKED_AT);
    }
}

/// Reads a pipe on a thread of its own, up to one byte more than `most`; then the pipe closes.
fn reading(pipe: impl Read + Send + 'static, most: u64) -> JoinHandle<(Vec<u8>, bool)> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is what there is.
        let _ = pipe.take(most + 1).read_to_end(&mut bytes);
        let is_whole = bytes.len() as u64 <= most;
        (bytes, is_whole)
    })
}

fn text_of(reading: Option<JoinHandle<(Vec<u8>, bool)>>) -> (String, bool) {
    let read = reading.and_then(|thread| thread.join().ok());
    let (bytes, is_whole) = read.unwrap_or_default();
    (String::from_utf8_lossy(&bytes).into_owned(), is_whole)
}
