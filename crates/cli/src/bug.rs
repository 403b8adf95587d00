//! What a user sees when the program itself is wrong: one sentence that asks for a report, and exit 70.

use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};

use crate::streams::error_line;

/// The exit code of a command that met a bug: `EX_SOFTWARE` of sysexits.h.
pub(crate) const EXIT: u8 = 70;

/// What the first panic said and where it was. A panic of a worker thread reaches the main thread as another one
/// (`a scoped thread panicked`), which says nothing.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Returns what `work` returns, or the exit code of a bug after the sentence about it was written to `err`.
pub(crate) fn guard<T>(work: impl FnOnce() -> T, err: &mut dyn Write) -> Result<T, u8> {
    record_panics();
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
        let what = first.unwrap_or_else(|| message(payload.as_ref()).to_owned());
        // There is nowhere else to say it.
        let _ = writeln!(err, "{}", sentence(&what));
        EXIT
    })
}

fn sentence(what: &str) -> String {
    let what = what.replace(char::is_control, " ");
    format!(
        "traceloom: this is a bug in traceloom {} ({what}): please report it with this sentence, the command line and, if \
         you may share it, the input",
        env!("CARGO_PKG_VERSION")
    )
}

/// Replaces the message of the standard library, which is for programmers; with `RUST_BACKTRACE` it is printed too.
fn record_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let standard = std::panic::take_hook();
        let verbose = std::env::var_os("RUST_BACKTRACE").map_or(cfg!(test), |set| set != "0");
        std::panic::set_hook(Box::new(move |panic| {
            let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| describe(panic));
            drop(first);
            if verbose {
                standard(panic);
            }
        }));
    });
}

fn describe(panic: &PanicHookInfo<'_>) -> String {
    let what = message(panic.payload());
    match panic.location() {
        Some(at) => format!("{what} at {}:{}", at.file(), at.line()),
        None => what.to_owned(),
    }
}

fn message(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

/// Guards with standard error as the place for the sentence.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, u8> {
    let mut told = Vec::new();
    let result = guard(work, &mut told);
    for line in String::from_utf8_lossy(&told).lines() {
        error_line(format_args!("{line}"));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_input::piped;
    use traceloom_model::{Definitions, Flow, Level, Note, Sink};

    /// Panics are a matter of the whole process: these tests take turns.
    static TURN: Mutex<()> = Mutex::new(());

    fn guarded_text(work: impl FnOnce()) -> (Result<(), u8>, String) {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        let result = guard(work, &mut text);
        (result, String::from_utf8(text).expect("text"))
    }

    fn assert_is_one_sentence(text: &str, what: &str) {
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(what), "{text}");
        assert!(text.contains("please report it"), "{text}");
        assert!(text.contains("bug.rs:"), "{text}");
    }

    #[test]
    fn a_panic_is_a_sentence_and_exit_70() {
        let (result, text) = guarded_text(|| panic!("two\nlines of {}", "text"));
        assert_eq!(result, Err(70));
        assert_is_one_sentence(&text, "two lines of text");
        let (result, text) = guarded_text(|| {});
        assert_eq!((result, text.as_str()), (Ok(()), ""));
    }

    #[test]
    fn a_panic_of_a_worker_is_told_with_its_own_words() {
        struct Broken;
        impl Sink for Broken {
            fn define(&mut self, _new: Definitions) -> Flow {
                Flow::Continue(())
            }
            fn note(&mut self, _note: Note) -> Flow {
                panic!("the writer is wrong")
            }
        }
        let (result, text) = guarded_text(|| {
            piped(&mut Broken, |sink| {
                let _ = sink.note(Note::new(Level::Info, "n", 0, ""));
            });
        });
        assert_eq!(result, Err(70));
        assert_is_one_sentence(&text, "the writer is wrong");
    }

    /// Set in the process that is the command of the test below: the folder it writes to.
    const COMMAND: &str = "TRACELOOM_TEST_OF_A_BUG";

    /// The program as `main` runs it, in a process of its own, with a command that meets a bug while it writes: one
    /// sentence, exit 70, and no partial output.
    #[test]
    fn a_command_that_panics_ends_with_exit_70() {
        if let Some(folder) = std::env::var_os(COMMAND) {
            let target = std::path::PathBuf::from(folder).join("out.folded");
            let code = crate::to_its_end(|| {
                let mut save = traceloom_input::save::Save::start(&target, false, false)?;
                traceloom_formats::Output::write(&mut save, "", b"main 1\n")?;
                std::thread::scope(|scope| scope.spawn(|| panic!("no row 7")).join().is_ok());
                panic!("a worker is gone");
            });
            std::process::exit(code.into());
        }
        let folder = tempfile::tempdir().expect("a folder");
        let this = std::thread::current();
        let this = this.name().expect("the name of the test");
        let program = std::env::current_exe().expect("this program");
        let ended = std::process::Command::new(program)
            .args(["--exact", this, "--nocapture"])
            .env(COMMAND, folder.path())
            .env("RUST_BACKTRACE", "0")
            .output();
        let ended = ended.expect("the program runs");
        let text = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(70), "{text}");
        assert_is_one_sentence(&text, "no row 7");
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "files are left");
    }

    /// Without unwinding there is nothing to guard.
    #[test]
    fn the_released_program_unwinds() {
        let manifest = include_str!("../../../Cargo.toml");
        let release = manifest
            .split("[profile.release]")
            .nth(1)
            .expect("a profile");
        let release = release.split("\n[").next().expect("its settings");
        assert!(release.contains("panic = \"unwind\""), "{release}");
    }
}
