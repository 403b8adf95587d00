//! Opening what was named, with help for what was mistyped.

use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use traceloom_input::save::MARKER;
use traceloom_input::{Input, Progress};
use traceloom_model::printable;

use crate::args::{COMMANDS, Common};
use crate::outcome::incomplete;
use crate::small_pages;
use crate::streams::stderr_is_terminal;
use crate::usage::{Usage, nearest};

/// Opens a path.
pub(crate) fn open(path: &str, common: &Common) -> anyhow::Result<Input> {
    let options = common.open_options()?;
    let opened = watched(&options.opening, "opening", || Input::open(path, &options));
    let input = opened.map_err(|error| {
        match nearest(path, COMMANDS.into_iter()).filter(|_| error.is_not_found()) {
            Some(name) => {
                Usage(format!("there is no file `{path}`; did you mean `{name}`?")).into()
            }
            None => anyhow::Error::new(error),
        }
    })?;
    small_pages::ask_for(&input);
    for error in input.unread().iter().filter(|_| !common.again) {
        incomplete(&format!("{error}; the rest of {path} is read without it"));
    }
    Ok(input)
}

/// Opens one of several paths: what cannot be opened is told, and the others are read all the same.
pub(crate) fn open_among(
    path: &str,
    paths: &[String],
    common: &Common,
) -> anyhow::Result<Option<Input>> {
    match open(path, common) {
        Err(error) if paths.len() > 1 && !error.is::<Usage>() => {
            crate::tell(&error);
            Ok(None)
        }
        opened => opened.map(|input| {
            if let Some(reason) = nothing_recognised(&input) {
                incomplete(&reason);
            }
            Some(input)
        }),
    }
}

/// Returns a sentence if an input holds nothing of any format: no command has anything to say about it.
fn nothing_recognised(input: &Input) -> Option<String> {
    let path = input.path();
    let parts = input.parts();
    if parts.iter().any(|part| part.part.format.is_some()) {
        return None;
    }
    Some(match parts {
        [] if Path::new(path).file_name() == Some(MARKER.as_ref()) => {
            format!("{path}: it lists what traceloom wrote into its folder, and holds no trace")
        }
        [] => format!("{path}: there are no files in it"),
        [only] => {
            let unknown = only
                .unknown
                .as_ref()
                .map(traceloom_input::Unknown::sentence);
            format!(
                "{path}: {}",
                unknown.unwrap_or_else(|| "unknown format".to_owned())
            )
        }
        _ => format!(
            "{path}: none of its {} files is of a known format",
            parts.len()
        ),
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
    let name = std::path::Path::new(input.path()).file_name();
    let name = name.map_or(input.path().into(), |name| name.to_string_lossy());
    let what = format!("{what} {}", printable(&name));
    watched(input.start_progress(), &what, work)
}

/// Runs `work` while a bar follows `progress`, once there is enough to be worth one.
fn watched<T>(progress: &Progress, what: &str, work: impl FnOnce() -> T) -> T {
    const WORTH_A_BAR: u64 = 32 << 20;
    if !stderr_is_terminal() {
        return work();
    }
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut shown: Option<ProgressBar> = None;
            // What was read again before all was read is no second look.
            let mut before = 0;
            while stopped
                .recv_timeout(Duration::from_millis(100))
                .is_err_and(is_timeout)
            {
                let (read, total) = (progress.read(), progress.total());
                if total.unwrap_or(read) < WORTH_A_BAR {
                    continue;
                }
                let bar = shown.get_or_insert_with(|| bar(what, total));
                let again = progress.read_again();
                if total.is_none_or(|total| read < total) {
                    before = again;
                }
                let (position, message) = stand(what, read, again - before, total);
                bar.set_position(position);
                bar.set_message(message);
            }
            if let Some(bar) = shown {
                bar.finish_and_clear();
            }
        });
        let result = work();
        drop(stop);
        result
    })
}

/// Where a bar stands, and what it says.
///
/// Formats that look again read everything again after the last byte, and a conversion may look as often as its
/// stages ask: every look is another way from the left to the right. Targets that write at the end go on after all
/// of them.
fn stand(what: &str, read: u64, again: u64, total: Option<u64>) -> (u64, String) {
    let Some(total) = total.filter(|&total| total > 0 && read >= total) else {
        return (read, what.to_owned());
    };
    let position = again % total;
    if position == 0 {
        return (total, format!("{what}, all read"));
    }
    let look = match again / total {
        0 => "second look".to_owned(),
        1 => "third look".to_owned(),
        more => format!("look {}", more + 2),
    };
    (position, format!("{what}, {look}"))
}

fn bar(what: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{msg} {bar:30} {bytes}/{total_bytes} {eta}",
        ),
        None => (
            ProgressBar::no_length(),
            "{msg} {spinner} {bytes} {bytes_per_sec}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}

fn is_timeout(error: std::sync::mpsc::RecvTimeoutError) -> bool {
    error == std::sync::mpsc::RecvTimeoutError::Timeout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_goes_once_over_the_bytes_for_each_look_at_them() {
        let at = |read, again| stand("reading", read, again, Some(100));
        assert_eq!(at(40, 0), (40, "reading".to_owned()));
        assert_eq!(at(100, 0), (100, "reading, all read".to_owned()));
        assert_eq!(at(100, 30), (30, "reading, second look".to_owned()));
        assert_eq!(at(100, 100), (100, "reading, all read".to_owned()));
        assert_eq!(at(100, 130), (30, "reading, third look".to_owned()));
        assert_eq!(at(100, 299), (99, "reading, look 4".to_owned()));
        assert_eq!(stand("reading", 0, 0, Some(0)), (0, "reading".to_owned()));
        assert_eq!(stand("reading", 70, 0, None), (70, "reading".to_owned()));
    }
}
