//! Folders of processes.

use super::Layout;
use crate::jvmtext::civil;

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
    layout: Layout,
    service: Option<&str>,
    instance: Option<&str>,
    start: i64,
) -> Option<String> {
    let restart = instance.filter(|instance| is_number(instance));
    match (layout, service, instance) {
        // An instance that is a start time alone says too little.
        (Layout::Streams, _, Some(pod)) if restart.is_none() => Some(pod.to_owned()),
        (Layout::Streams, Some(service), Some(restart)) => Some(format!("{service}_{restart}")),
        (Layout::Dump, _, Some(instance)) => match (service, pod(instance), restart) {
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
pub(super) fn dated(layout: Layout, service: &str, start: i64) -> String {
    let start = start.max(0);
    match layout {
        Layout::Streams => format!("{service}_{start}"),
        Layout::Dump => below(service, start, &start.to_string()),
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
    fn server_and_start_go_from_one_layout_to_the_other() {
        let start = 1_643_822_500_000;
        let folder = |layout, service, instance| folder_of(layout, service, instance, start);
        let pod = "esc-ui-8dd5b49fd-2gr2g_1643822466534";
        assert_eq!(
            folder(Layout::Dump, Some("server1"), Some("1643822466534")).as_deref(),
            Some("server1/2022/02/02/1643822466534")
        );
        assert_eq!(
            folder(Layout::Dump, None, Some(pod)).as_deref(),
            Some("esc-ui-8dd5b49fd-2gr2g/2022/02/02/1643822466534")
        );
        assert_eq!(
            folder(Layout::Streams, Some("server1"), Some("1643822466534")).as_deref(),
            Some("server1_1643822466534")
        );
        assert_eq!(
            folder(Layout::Streams, None, Some(pod)).as_deref(),
            Some(pod)
        );
        assert_eq!(folder(Layout::Dump, None, None), None);
    }
}
