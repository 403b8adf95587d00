//! How many connections the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use traceloom_model::bounds::{in_memory, saturated_u64};

/// Files that are no connections: the log, standard streams, listeners, the runtime.
const OTHERS: usize = 64;

/// Raises the limit of open files as far as `connections` need and the system allows, and returns how many connections
/// there may be.
pub(crate) fn allow(connections: usize) -> usize {
    let needed = saturated_u64(connections.saturating_add(OTHERS));
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    let wanted = needed.min(maximum).max(current);
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    let allowed = match wanted == current || setrlimit(Resource::Nofile, raised).is_ok() {
        true => wanted,
        false => current,
    };
    let allowed = in_memory(allowed);
    allowed.saturating_sub(OTHERS).clamp(1, connections.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_asked_for_and_no_more_than_the_system_allows() {
        assert_eq!(allow(1), 1);
        let maximum = getrlimit(Resource::Nofile).maximum;
        if let Some(maximum) = maximum.and_then(|maximum| usize::try_from(maximum).ok()) {
            assert_eq!(allow(usize::MAX), maximum - OTHERS);
            assert_eq!(getrlimit(Resource::Nofile).current, Some(maximum as u64));
        }
    }
}
