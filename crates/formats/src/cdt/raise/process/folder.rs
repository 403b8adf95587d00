//! Folders of processes.

use super::FolderLayout;
use std::borrow::Cow;

use traceloom_model::printable;

use crate::text::calendar::civil;

/// Longest name in bytes: file systems take 255, and a start time follows.
const LONGEST: usize = 200;

/// Returns the name of one folder for what a capture calls a service or an instance: no separators, no `.` and `..`,
/// nothing that acts on the terminal that lists it, and short enough to be created.
pub(super) fn safe_name(name: &str) -> Cow<'_, str> {
    let shown = printable(name);
    let fits = shown.len() <= LONGEST && !shown.starts_with('.') && !shown.is_empty();
    if fits && !shown.contains(['/', '\\']) {
        return shown;
    }
    let mut end = shown.len().min(LONGEST);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    let short = shown.get(..end).unwrap_or_default();
    let mut safe = short.replace(['/', '\\'], "_");
    if safe.is_empty() || safe.starts_with('.') {
        safe.insert(0, '_');
    }
    Cow::Owned(safe)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Splits the name of a pod's start into pod and start time (§9).
fn pod(instance: &str) -> Option<(&str, &str)> {
    let (pod, start) = instance.rsplit_once('_')?;
    (!pod.is_empty() && start.len() >= 12 && is_number(start)).then_some((pod, start))
}

/// Returns the folder of a process that was told who it is; `start` in milliseconds is when it is seen first.
pub(super) fn folder_of(
    layout: FolderLayout,
    service: Option<&str>,
    instance: Option<&str>,
    start: i64,
) -> Option<String> {
    let restart = instance.filter(|instance| is_number(instance));
    match (layout, service, instance) {
        // An instance that is a start time alone says too little.
        (FolderLayout::Streams, _, Some(pod)) if restart.is_none() => Some(pod.to_owned()),
        (FolderLayout::Streams, Some(service), Some(restart)) => {
            Some(format!("{service}_{restart}"))
        }
        (FolderLayout::Dump, _, Some(instance)) => match (service, pod(instance), restart) {
            (Some(server), _, Some(restart)) => Some(below(server, start, restart)),
            (server, Some((pod, restart)), _) => Some(below(server.unwrap_or(pod), start, restart)),
            (Some(server), None, None) => Some(dated(layout, server, start)),
            (None, None, _) => None,
        },
        (_, Some(service), _) => Some(dated(layout, service, start)),
        (_, None, _) => None,
    }
}

/// Returns the folder of a process that is known by its first time alone.
pub(super) fn dated(layout: FolderLayout, service: &str, start: i64) -> String {
    let start = start.max(0);
    match layout {
        FolderLayout::Streams => format!("{service}_{start}"),
        FolderLayout::Dump => below(service, start, &start.to_string()),
    }
}

/// The restart's folder below its server's, by the day on which it began.
fn below(server: &str, seen: i64, restart: &str) -> String {
    let began = restart.parse().unwrap_or(seen.max(0));
    let (year, month, day) = civil(began);
    format!("{server}/{year:04}/{month:02}/{day:02}/{restart}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_folder() {
        for (name, safe) in [
            ("shop-backend", "shop-backend"),
            ("a/b\\c", "a_b_c"),
            ("..", "_.."),
            ("", "_"),
            (".hidden", "_.hidden"),
            ("x\u{1b}[2J\n\u{202e}", "x_u{1b}[2J_n_u{202e}"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
        assert_eq!(safe_name(&"é".repeat(400)), "é".repeat(100));
    }

    #[test]
    fn server_and_start_go_from_one_layout_to_the_other() {
        let start = 1_643_822_500_000;
        let folder = |layout, service, instance| folder_of(layout, service, instance, start);
        let pod = "esc-ui-8dd5b49fd-2gr2g_1643822466534";
        assert_eq!(
            folder(FolderLayout::Dump, Some("server1"), Some("1643822466534")).as_deref(),
            Some("server1/2022/02/02/1643822466534")
        );
        assert_eq!(
            folder(FolderLayout::Dump, None, Some(pod)).as_deref(),
            Some("esc-ui-8dd5b49fd-2gr2g/2022/02/02/1643822466534")
        );
        assert_eq!(
            folder(
                FolderLayout::Streams,
                Some("server1"),
                Some("1643822466534")
            )
            .as_deref(),
            Some("server1_1643822466534")
        );
        assert_eq!(
            folder(FolderLayout::Streams, None, Some(pod)).as_deref(),
            Some(pod)
        );
        assert_eq!(folder(FolderLayout::Dump, None, None), None);
    }
}
