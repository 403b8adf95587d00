//! Ctrl-C, SIGTERM and a terminal that closes: partial outputs go away, and the exit code is the one that shells give.

use std::sync::{Mutex, PoisonError};

/// What the first signal does in place of ending the process: a collector finishes what it has.
static FIRST: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Has the first signal call `stop`; the second ends the process.
pub(crate) fn stop_with(stop: impl FnOnce() + Send + 'static) {
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
}

/// What a SIGHUP does in place of ending the process: a collector with keys reads them again.
static HANGUP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// The signals that are watched.
#[cfg(unix)]
static WATCHED: std::sync::OnceLock<signal_hook::iterator::Handle> = std::sync::OnceLock::new();

/// Has every SIGHUP call `reload`, under `nohup` as well: it asks for the keys then, and ends nothing.
pub(crate) fn reload_with(reload: impl Fn() + Send + 'static) {
    *HANGUP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(reload));
    #[cfg(unix)]
    if let Some(watched) = WATCHED.get() {
        let _ = watched.add_signal(signal_hook::consts::SIGHUP);
    }
}

#[cfg(unix)]
pub(crate) fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without the watch a signal ends the process all the same, and leaves a hidden file behind.
    // `nohup` is there to outlive the terminal.
    let watched = [SIGHUP, SIGINT, SIGTERM].into_iter();
    let watched = watched.filter(|&signal| signal != SIGHUP || !ignores_hangup());
    let Ok(mut signals) = Signals::new(watched) else {
        return;
    };
    let _ = WATCHED.set(signals.handle());
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if signal == SIGHUP
                    && let Some(reload) = &*HANGUP.lock().unwrap_or_else(PoisonError::into_inner)
                {
                    reload();
                    continue;
                }
                let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(stop) = first {
                    stop();
                    continue;
                }
                let _writers_wait = traceloom_input::save::remove_partials();
                signal_hook::low_level::exit(128 + signal);
            }
        });
}

/// Returns true if whoever started the program had it ignore SIGHUP, or if the system does not say.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
pub(crate) fn watch() {}
