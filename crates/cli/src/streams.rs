//! Standard output and standard error of the program. Nothing else writes to either.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use traceloom_model::{is_harmful, is_plain, printable};

/// Prints `traceloom: ` and the arguments of `format!` as one line on standard error.
macro_rules! message {
    ($($arguments:tt)*) => {
        $crate::streams::error_line(format_args!("traceloom: {}", format_args!($($arguments)*)))
    };
}
pub(crate) use message;

/// Prints one line on standard error.
///
/// What a capture says cannot act on the terminal or begin a line of its own. A line that cannot be written is
/// dropped: there is no other place to report it, and the exit code is the same with and without it.
#[expect(clippy::disallowed_methods, reason = "every message passes here")]
pub(crate) fn error_line(line: fmt::Arguments<'_>) {
    let line = format!("{}\n", printable(&line.to_string()));
    // One write, so that lines of two processes on one terminal do not mix.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Prints a row of JSON on standard error; characters that act on a terminal leave as escapes of JSON.
#[expect(
    clippy::disallowed_methods,
    reason = "every structured message passes here"
)]
pub(crate) fn error_row(row: &serde_json::Value) {
    let mut line = String::new();
    escape(&row.to_string(), &mut '\0', &mut line);
    line.push('\n');
    // As for `error_line`.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Prints what the command line was refused for, or the help that was asked for.
///
/// # Errors
/// When help cannot be written.
#[expect(clippy::disallowed_methods, reason = "the other writer of messages")]
pub(crate) fn usage(error: &clap::Error) -> io::Result<()> {
    let text = error.render();
    if !error.use_stderr() {
        let text = match io::stdout().is_terminal() {
            true => text.ansi().to_string(),
            false => text.to_string(),
        };
        return raw(text.as_bytes());
    }
    let lines: Vec<_> = match io::stderr().is_terminal() {
        true => colored_lines(&text.ansi().to_string()),
        false => text
            .to_string()
            .lines()
            .map(|line| printable(line).into_owned())
            .collect(),
    };
    let _ = io::stderr()
        .lock()
        .write_all((lines.join("\n") + "\n").as_bytes());
    Ok(())
}

/// Makes lines printable except for their colours.
fn colored_lines(text: &str) -> Vec<String> {
    let colored = |line: &str| {
        let mut pieces = line.split("\u{1b}[");
        let mut shown = printable(pieces.next().unwrap_or_default()).into_owned();
        for piece in pieces {
            shown += if is_color(&format!("[{piece}")) {
                "\u{1b}["
            } else {
                r"\u{1b}["
            };
            shown += &printable(piece);
        }
        shown
    };
    text.lines().map(colored).collect()
}

/// Returns `true` if standard output is a terminal.
#[expect(clippy::disallowed_methods, reason = "asks, and writes nothing")]
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns the columns of the terminal that standard output is, none for files and pipes.
#[expect(clippy::disallowed_methods, reason = "asks, and writes nothing")]
pub(crate) fn stdout_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0)).filter(|&columns| columns > 0)
}

/// Returns `true` if standard error is a terminal.
#[expect(clippy::disallowed_methods, reason = "asks, and writes nothing")]
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns standard output for text and JSON; its errors say that it was standard output that failed.
///
/// What prints a name makes it [`printable`]. This is the net below: characters that act on a terminal leave as the
/// escape that is right inside JSON too, whose own rules leave U+007F and beyond as they are. Colours pass.
#[expect(
    clippy::disallowed_methods,
    reason = "every writer of output begins here"
)]
pub(crate) fn stdout() -> LockedStdout {
    LockedStdout {
        to: io::stdout().lock(),
        held: Vec::new(),
        before: '\0',
    }
}

/// Writes a page, a script or another file to standard output as it is.
///
/// # Errors
/// When it cannot be written.
#[expect(clippy::disallowed_methods, reason = "what is no text of rows")]
pub(crate) fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(named)
}

/// Standard output, locked.
pub(crate) struct LockedStdout {
    to: io::StdoutLock<'static>,
    /// The beginning of a character or of a colour, whose rest is not written yet.
    held: Vec<u8>,
    before: char,
}

impl Write for LockedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() && is_harmless(bytes) {
            self.before = bytes.last().map_or(self.before, |&last| char::from(last));
            self.to.write_all(bytes).map_err(named)?;
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let (whole, rest) = all.split_at(all.len() - open_end(&all));
        let mut shown = String::with_capacity(whole.len() + 16);
        escape(
            &String::from_utf8_lossy(whole),
            &mut self.before,
            &mut shown,
        );
        self.held = rest.to_vec();
        self.to.write_all(shown.as_bytes()).map_err(named)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.held.is_empty() {
            let mut shown = String::new();
            let held = std::mem::take(&mut self.held);
            escape(
                &String::from_utf8_lossy(&held),
                &mut self.before,
                &mut shown,
            );
            self.to.write_all(shown.as_bytes()).map_err(named)?;
        }
        self.to.flush().map_err(named)
    }
}

impl Drop for LockedStdout {
    fn drop(&mut self) {
        // Nothing is held at the end of a line, which is where output ends unless an error is on its way.
        if !self.held.is_empty() {
            let _ = self.flush();
        }
    }
}

/// Returns `true` if no byte may be harmful: nearly always at once, because all are ASCII that is printed.
fn is_harmless(bytes: &[u8]) -> bool {
    is_plain(bytes) || !bytes.iter().any(|&byte| may_be_harmful(byte))
}

/// Returns `true` for a byte that no character without effects begins with, or that few do.
fn may_be_harmful(byte: u8) -> bool {
    match byte {
        b'\n' | b' '..=b'~' => false,
        // Of longer characters the first byte tells enough.
        0x80..=0xbf => false,
        byte => byte < 0x80 || matches!(byte, 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf3 | 0xf5..),
    }
}

/// Returns the length of the unfinished character, colour or line end at the end of `bytes`.
fn open_end(bytes: &[u8]) -> usize {
    let tail = bytes.iter().rev().take(16);
    if bytes.last() == Some(&b'\r') {
        return 1;
    }
    for (at, &byte) in tail.enumerate() {
        match byte {
            0x1b => return at + 1,
            b'[' | b';' | b'0'..=b'9' => {}
            _ => break,
        }
    }
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}

fn escape(text: &str, before: &mut char, shown: &mut String) {
    for (at, c) in text.char_indices() {
        let rest = text.get(at + 1..).unwrap_or_default();
        let passes = match c {
            '\n' => true,
            '\r' => rest.starts_with('\n'),
            '\u{1b}' => is_color(rest),
            c => !is_harmful(c, *before),
        };
        if passes {
            shown.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = fmt::Write::write_fmt(shown, format_args!("\\u{unit:04x}"));
            }
        }
        *before = c;
    }
}

/// Returns `true` if what follows an escape character selects a colour.
fn is_color(rest: &str) -> bool {
    let codes = rest.strip_prefix('[').unwrap_or_default();
    let end = codes.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    end.starts_with('m')
}

fn named(error: io::Error) -> io::Error {
    match error.kind() {
        // `write_all` tries these again.
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, format!("standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut shown = String::new();
        escape(text, &mut '\0', &mut shown);
        shown
    }

    #[test]
    fn what_json_leaves_is_escaped_as_json_has_it() {
        let hostile = "{\"a\":\"\u{7f}\u{9b}2J\u{202e}\u{e0041}é名\"}\n";
        let shown = escaped(hostile);
        assert_eq!(
            shown,
            "{\"a\":\"\\u007f\\u009b2J\\u202e\\udb40\\udc41é名\"}\n"
        );
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(value["a"], "\u{7f}\u{9b}2J\u{202e}\u{e0041}é名");
        assert_eq!(
            escaped("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}]0;t\u{7}\ra\r\n"),
            "\u{1b}[1;31mred\u{1b}[0m \\u001b[2J\\u001b]0;t\\u0007\\u000da\r\n"
        );
    }

    /// However the bytes are cut into writes, what waits for its rest is what is not whole.
    #[test]
    fn cuts_between_writes_do_not_matter() {
        let text = "a\u{1b}[1;31mb\u{1b}[0m\u{9b}é\u{202e}\u{1b}[2J\r\n\rx\u{e0041}\n";
        let whole = escaped(text);
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            let held = open_end(first);
            let (done, rest) = first.split_at(first.len() - held);
            let mut before = '\0';
            let mut shown = String::new();
            escape(std::str::from_utf8(done).unwrap(), &mut before, &mut shown);
            let rest = [rest, second].concat();
            escape(std::str::from_utf8(&rest).unwrap(), &mut before, &mut shown);
            assert_eq!(shown, whole, "cut at {cut}");
        }
    }

    #[test]
    fn only_colors_pass_through_refusals() {
        assert_eq!(
            colored_lines("\u{1b}[1;31merror:\u{1b}[0m `\u{1b}]0;x\u{7}\u{1b}[2J`\nnext"),
            [
                "\u{1b}[1;31merror:\u{1b}[0m `\\u{1b}]0;x\\u{7}\\u{1b}[2J`",
                "next"
            ],
        );
    }
}
