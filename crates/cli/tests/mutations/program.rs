//! The program under a bound of memory and time.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Address space of a run in KiB: a hundredth of it is used for an input of this size, and what a file only claims to
/// hold must not count.
const MEMORY: u64 = 1_500_000;

/// A run that takes as long goes on forever.
const LONG: Duration = Duration::from_secs(120);

/// What a run printed, and how it ended.
pub(crate) struct Run {
    pub(crate) args: Vec<String>,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Runs `traceloom` in `folder`, where its output is kept meanwhile.
    pub(crate) fn of(args: &[&str], folder: &Path) -> Self {
        let (out, err) = (folder.join(".stdout"), folder.join(".stderr"));
        let file = |path: &Path| File::create(path).expect("a file for output");
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_traceloom"))
            .args(args)
            .current_dir(folder)
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(file(&out))
            .stderr(file(&err));
        let mut child = command.spawn().expect("the program starts");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the program is waited for") {
                break Some(status);
            }
            if start.elapsed() > LONG {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = |path: &Path| {
            let bytes = std::fs::read(path).expect("the output");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Self {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            status,
            stdout: text(&out),
            stderr: text(&err),
        }
    }

    /// Says what is wrong with how it ended: a signal, a bug, a code that is none of 0, 1 and 2, no end.
    pub(crate) fn fault(&self) -> Option<String> {
        let told = self.stderr.lines().last().unwrap_or_default();
        match self.status {
            None => Some(format!("did not end within {} s", LONG.as_secs())),
            Some(status) if status.code().is_none_or(|code| code > 2) => {
                Some(format!("ended with {status}: {told}"))
            }
            Some(_) if self.stderr.contains("panicked at") => Some(format!("panicked: {told}")),
            Some(_) => None,
        }
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}
