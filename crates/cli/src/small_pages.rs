//! The pages of memory that reading a long input holds.

use traceloom_formats::Source;
use traceloom_input::Input;

/// Bytes from which an input is long.
const LONG: u64 = 24 << 20;

/// Asks the kernel for small pages where the input is long, or of unknown length.
///
/// The allocator asks for pages of two megabytes, which save a short run thousands of faults. In a longer run each of them
/// is kept for the little that lives on it: a conversion of 2 GB held 68 MB and more the longer it ran, and holds 40 MB in
/// small pages, for no more time; `top`, `check`, `info` and others hold 10 to 20 MB less, for no more time from 30 MB on.
pub(crate) fn ask_for(input: &Input) {
    let lengths = input
        .documents()
        .map(|document| -> Option<u64> { document.parts().iter().map(|part| part.size).sum() });
    let known: Option<u64> = lengths.sum();
    if known.is_none_or(|bytes| bytes >= LONG) {
        #[cfg(target_os = "linux")]
        // A kernel that refuses has larger pages, and nothing else to say.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}
