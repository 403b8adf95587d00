//! The program under test while it runs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a test waits for what must come.
pub const SOON: Duration = Duration::from_secs(30);

/// A running command whose lines are taken as they come.
pub struct Running {
    pub child: Child,
    pub lines: Receiver<String>,
    what: String,
}

impl Running {
    pub fn start(args: &[&str]) -> Self {
        let mut child = super::command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let out = child.stdout.take().expect("its output");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                let _ = send.send(line.expect("text"));
            }
        });
        let what = format!("{args:?}");
        Self { child, lines, what }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.child.stdin.as_mut().expect("its input");
        stdin.write_all(bytes).expect("it reads");
        stdin.flush().expect("it reads");
    }

    pub fn next(&self) -> String {
        let line = self.lines.recv_timeout(SOON);
        line.unwrap_or_else(|_| panic!("no line of {} in {SOON:?}", self.what))
    }

    /// Waits for the end, and returns the lines that are left, the exit code, and what was said.
    pub fn end(mut self) -> (Vec<String>, Option<i32>, String) {
        drop(self.child.stdin.take());
        let mut said = String::new();
        let mut err = self.child.stderr.take().expect("its messages");
        err.read_to_string(&mut said).expect("text");
        let code = self.child.wait().expect("an end").code();
        (self.lines.iter().collect(), code, said)
    }

    pub fn interrupt(self) -> (Vec<String>, Option<i32>, String) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-INT", &pid]).status();
        assert!(asked.expect("kill runs").success());
        self.end()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
