//! Bytes that are still arriving: standard input, and a file named with --follow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use traceloom_formats::{Format, Pull as _};
use traceloom_input::{Growing, Growth, Input};

use crate::args::Common;
use crate::open::open;
use crate::streams::message;
use crate::usage::Usage;

/// Bytes by which a format is known as well as it will be.
const ENOUGH: u64 = 4 << 10;

/// Silence after which what is there is taken for what it looks like.
const SILENCE: Duration = Duration::from_millis(300);

/// Time after which standard input that has not ended is called long.
const LONG: Duration = Duration::from_secs(2);

/// What bytes that arrive are.
pub(crate) struct LiveFormat {
    pub(crate) format: &'static Format,
    /// Name of the part.
    pub(crate) name: String,
}

/// Returns what the bytes of a path are, if nothing is around them.
fn outermost(input: &Input) -> Option<LiveFormat> {
    let part = input.parts().first().filter(|_| !input.is_folder())?;
    let format = part.part.format.filter(|_| part.wrappers().is_empty())?;
    let name = part.part.name.clone();
    Some(LiveFormat { format, name })
}

/// A path whose bytes are shown as they arrive, until Ctrl-C.
pub(crate) struct ArrivingPath {
    path: String,
    growing: Arc<Mutex<Growing>>,
    stopped: Arc<AtomicBool>,
}

impl ArrivingPath {
    /// Begins, if `paths` is one that is shown as it arrives: standard input, or with `follow` a file.
    pub(crate) fn of(paths: &[String], follow: bool) -> anyhow::Result<Option<Self>> {
        let path = match paths {
            [path] if follow || path == "-" => path,
            _ if follow => return Err(Usage("--follow takes one path".to_owned()).into()),
            _ => return Ok(None),
        };
        let growing = match path.as_str() {
            "-" => Growing::standard_input()?,
            path => Growing::follow(path)?,
        };
        let live = Self {
            path: path.clone(),
            growing: Arc::new(Mutex::new(growing)),
            stopped: Arc::default(),
        };
        let (growing, stopped) = (Arc::clone(&live.growing), Arc::clone(&live.stopped));
        crate::interrupt::stop_with(move || {
            stopped.store(true, Ordering::Release);
            growing.lock().unwrap_or_else(PoisonError::into_inner).end();
        });
        Ok(Some(live))
    }

    /// Returns the bytes that are read now.
    pub(crate) fn growing(&self) -> Growing {
        self.growing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns `true` for a file, which may be cut or replaced.
    fn is_file(&self) -> bool {
        self.path != "-"
    }

    /// Has the path read as what is there now, and returns how much that is.
    pub(crate) fn snapshot(&self, common: &Common) -> anyhow::Result<u64> {
        let growing = self.growing();
        let size = growing.size()?;
        if !self.is_file() {
            common.streams.put("-", Arc::clone(growing.file()), size);
        }
        Ok(size)
    }

    /// Has standard input read as what is there now of a file that its path does not lead to any more.
    pub(crate) fn put_replaced(&self, common: &Common) -> anyhow::Result<()> {
        let growing = self.growing();
        common
            .streams
            .put("-", Arc::clone(growing.file()), growing.size()?);
        Ok(())
    }

    /// Waits until the bytes have a format, and returns it if it is one that is shown as it arrives. Otherwise the path
    /// is read to its end by then, and can be opened as any other.
    ///
    /// # Errors
    /// For a file that is followed and has no such format.
    pub(crate) fn format(&self, common: &Common) -> anyhow::Result<Option<LiveFormat>> {
        let growing = self.growing();
        loop {
            let size = self.snapshot(common)?;
            let until = Instant::now() + SILENCE;
            // Beyond the first bytes nothing but the end makes a difference.
            let next = growing.wait(size.max(1), (size > 0).then_some(until))?;
            let is_still = match next {
                Growth::Size(now) => now == size || size >= ENOUGH,
                Growth::Ended | Growth::Truncated | Growth::Replaced => true,
            };
            if !is_still {
                continue;
            }
            self.snapshot(common)?;
            let input = open(&self.path, common)?;
            let mut found = outermost(&input);
            if found.is_none() && !input.is_folder() {
                found = self.by_whole_lines(common, size)?;
            }
            let format = found.as_ref().map(|found| found.format);
            if let Some(found) = found.filter(|found| found.format.streams) {
                return Ok(Some(found));
            }
            let is_known = input.is_folder() || format.is_some() || size >= 16 * ENOUGH;
            if self.is_file() && (is_known || next == Growth::Ended) {
                let name = format.map_or("what it is", |format| format.name);
                let reason = format!(
                    "{}: {name} is read from its end or as a whole; leave out --follow",
                    self.path
                );
                return Err(Usage(reason).into());
            }
            if is_known || next == Growth::Ended {
                self.until_end(common, format)?;
                return Ok(None);
            }
        }
    }

    /// Recognises the lines that are whole: text that is cut within a line may look like nothing.
    fn by_whole_lines(&self, common: &Common, size: u64) -> anyhow::Result<Option<LiveFormat>> {
        let growing = self.growing();
        let mut pull = growing.pull();
        let head = match size {
            0 => &[],
            _ => pull.pull(0, 1)?.bytes,
        };
        let Some(end) = head.iter().rposition(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let size = end as u64 + 1;
        common.streams.put("-", Arc::clone(growing.file()), size);
        let found = outermost(&open("-", common)?);
        self.snapshot(common)?;
        Ok(found)
    }

    /// Waits for the end of standard input.
    fn until_end(&self, common: &Common, format: Option<&Format>) -> anyhow::Result<()> {
        let growing = self.growing();
        let until = Instant::now() + LONG;
        if matches!(growing.wait(u64::MAX, Some(until))?, Growth::Size(_)) {
            let name = format.map_or("this", |format| format.name);
            message!("standard input: {name} cannot be shown before its end, which is waited for");
            growing.wait(u64::MAX, None)?;
        }
        self.snapshot(common)?;
        Ok(())
    }

    /// Goes on with the file that there is now, and says why; returns `false` at the end.
    pub(crate) fn goes_on(&self) -> anyhow::Result<bool> {
        let growth = self.growing().growth()?;
        if self.stopped.load(Ordering::Acquire) || !self.is_file() {
            return Ok(false);
        }
        match growth {
            Growth::Truncated => {
                message!(
                    "{}: it was truncated, and is read from its beginning",
                    self.path
                );
            }
            Growth::Replaced => {
                message!("{}: it was replaced; the new file is read", self.path);
            }
            Growth::Size(_) | Growth::Ended => return Ok(false),
        }
        let new = Growing::follow(&self.path)?;
        let mut growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        *growing = new;
        // Ctrl-C may have ended the one before.
        if self.stopped.load(Ordering::Acquire) {
            growing.end();
        }
        Ok(true)
    }
}
