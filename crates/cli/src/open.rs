//! Opening what was named, with help for what was mistyped.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use clap::CommandFactory;
use indicatif::{ProgressBar, ProgressStyle};
use traceloom_input::Input;

use crate::args::{Args, Common, Usage, nearest};

/// Opens a path.
pub(crate) fn open(path: &str, common: &Common) -> anyhow::Result<Input> {
    Input::open(path, &common.open_options()?).map_err(|error| {
        let command = Args::command();
        let names = command.get_subcommands().map(clap::Command::get_name);
        match nearest(path, names).filter(|_| error.is_not_found()) {
            Some(name) => {
                Usage(format!("there is no file `{path}`; did you mean `{name}`?")).into()
            }
            None => anyhow::Error::new(error),
        }
    })
}

/// Requires at least one path.
pub(crate) fn require(paths: &[String]) -> anyhow::Result<()> {
    if paths.is_empty() {
        return Err(
            Usage("name at least one file or folder, or - for standard input".into()).into(),
        );
    }
    Ok(())
}

/// Runs `work` while a bar on the terminal follows how much of `input` was read.
pub(crate) fn with_progress<T>(
    input: &Input,
    what: &str,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    const WORTH_A_BAR: u64 = 32 << 20;
    if !std::io::stderr().is_terminal() || input.stored_size() < WORTH_A_BAR {
        return work();
    }
    let bar = ProgressBar::new(input.stored_size());
    let style = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}");
    bar.set_style(style.context("progress style")?);
    bar.set_message(what.to_owned());
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let bar = &bar;
        scope.spawn(move || {
            while stopped
                .recv_timeout(Duration::from_millis(100))
                .is_err_and(is_timeout)
            {
                bar.set_position(input.progress().read().min(input.stored_size()));
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(stop);
        result
    })
}

fn is_timeout(error: std::sync::mpsc::RecvTimeoutError) -> bool {
    error == std::sync::mpsc::RecvTimeoutError::Timeout
}
