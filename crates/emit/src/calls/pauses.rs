//! What stops a whole process.

use std::ops::Range;

use super::thread::ThreadRecorder;

/// Name of the calls that stand for pauses, and of their track.
pub const PAUSE: &str = "pause";
pub const PAUSES: &str = "pauses";

/// Pauses of the whole process, in which none of its threads ran: of a collector of garbage, or of the machine.
///
/// CDT has a stream for them. In other formats they are calls `pause` of a track `pauses`.
#[derive(Debug)]
pub struct PauseRecorder(pub(super) ThreadRecorder);

impl PauseRecorder {
    /// Records a pause by its times, in nanoseconds since the trace began. Those of one recorder come by their ends.
    ///
    /// ```
    /// # use traceloom_emit::{Options, Recorder, cdt};
    /// # let dumps = tempfile::tempdir()?;
    /// # let folder = cdt::DumpFolder::create(dumps.path(), "shop")?;
    /// # let recorder = Recorder::start(folder, Options::default())?;
    /// let pauses = recorder.pauses();
    /// pauses.record(12_000_000..15_000_000);
    /// assert_eq!(recorder.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record(&self, times: Range<u64>) {
        self.0.record(PAUSE, times, &[]);
    }
}
