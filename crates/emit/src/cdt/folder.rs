//! A dump folder, as agents leave it on a disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::drain::DumpDrain;
use super::params::DeclaredParams;
use super::primitives::date;
use super::streams::{DumpStream, StreamStore};
use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::Readiness;
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::clock;
use crate::engine::{Drain, SharedState, socket};

/// Bytes of a file of trace before another one begins, as in agents; a file of calls has a tenth.
const ROTATE: u64 = 100 << 20;

/// A folder for the streams of this process.
///
/// It is `<root>/<server>/<year>/<month>/<day>/<start>`, in UTC, and has a folder for each stream. Files begin anew at 100 MiB
/// of trace and 10 MiB of calls.
///
/// ```
/// use traceloom_emit::{Options, Recorder, cdt};
///
/// let dumps = tempfile::tempdir()?;
/// let folder = cdt::DumpFolder::create(dumps.path(), "shop")?.indexed(&["user"]);
/// assert!(folder.path().starts_with(dumps.path().join("shop")));
/// let recorder = Recorder::start(folder, Options::default())?;
/// let thread = recorder.thread("main");
/// let mut call = thread.call("void shop.Orders.list() (orders.rs:12) [shop]");
/// call.set("user", "ana");
/// drop(call);
/// assert_eq!(recorder.close().written, 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct DumpFolder {
    path: PathBuf,
    files: [File; DumpStream::ALL.len()],
    rotate: u64,
    params: DeclaredParams,
}

impl DumpFolder {
    /// Makes the folder of this start of the program, below the name of its server.
    ///
    /// # Errors
    /// When a folder or file cannot be made, or the name of the server is none of a folder.
    pub fn create(root: impl AsRef<Path>, server: &str) -> io::Result<Self> {
        if server.is_empty() || server.starts_with('.') || server.contains(['/', '\\', '\0']) {
            let error = "the name of a server is the name of one folder";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let mut start = clock::since_1970() / 1_000_000;
        let path = loop {
            let (year, month, day) = date(start);
            let day = format!("{server}/{year:04}/{month:02}/{day:02}");
            let day = root.as_ref().join(day);
            fs::create_dir_all(&day)?;
            let path = day.join(start.to_string());
            match fs::create_dir(&path) {
                Ok(()) => break path,
                // Another trace began in the same millisecond.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => start += 1,
                Err(error) => return Err(error),
            }
        };
        for stream in DumpStream::ALL {
            fs::create_dir(path.join(stream.name()))?;
        }
        let [dictionary, params, suspend, sql, trace, calls] = DumpStream::ALL;
        let file = |stream| create(&path, stream, 1);
        Ok(Self {
            files: [
                file(dictionary)?,
                file(params)?,
                file(suspend)?,
                file(sql)?,
                file(trace)?,
                file(calls)?,
            ],
            path,
            rotate: ROTATE,
            params: DeclaredParams::default(),
        })
    }

    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins files of trace anew at a size in bytes, and those of calls at a tenth of it.
    #[must_use]
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        self.rotate = bytes;
        self
    }

    /// Names attributes that are copied to the rows of calls, where readers filter by them.
    #[must_use]
    pub fn indexed(mut self, names: &[&str]) -> Self {
        self.params.indexed = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Names attributes whose values are written once for many calls, such as statements. Those that are [indexed](Self::indexed) are not.
    #[must_use]
    pub fn deduplicated(mut self, names: &[&str]) -> Self {
        self.params.deduplicated = names.iter().map(|&name| name.to_owned()).collect();
        self
    }
}

fn create(path: &Path, stream: DumpStream, number: u32) -> io::Result<File> {
    File::create_new(path.join(format!("{}/{number:06}", stream.name())))
}

impl TraceOutput for DumpFolder {}

impl Drains for DumpFolder {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let store = FolderStore {
            shared: state.shared.clone(),
            path: self.path,
            files: self.files.map(|file| OpenFile {
                file,
                number: 1,
                size: 0,
                added: Vec::new(),
                n_written: 0,
            }),
            rotate: self.rotate,
            is_begun: false,
            owed: Vec::new(),
        };
        DumpDrain::boxed(state, store, self.params)
    }
}

struct FolderStore {
    shared: Arc<SharedState<CallBuffer>>,
    path: PathBuf,
    files: [OpenFile; DumpStream::ALL.len()],
    rotate: u64,
    is_begun: bool,
    /// Calls that are written with what was added.
    owed: Vec<(Arc<CallBuffer>, u64)>,
}

struct OpenFile {
    file: File,
    number: u32,
    size: u64,
    /// Bytes that the file may not have.
    added: Vec<u8>,
    n_written: usize,
}

impl StreamStore for FolderStore {
    fn ready(&mut self) -> Readiness {
        match std::mem::replace(&mut self.is_begun, true) {
            true => Readiness::Ready,
            false => Readiness::New,
        }
    }

    fn file(&self, stream: DumpStream) -> u32 {
        self.files[stream.place()].number
    }

    fn size(&self, stream: DumpStream) -> u64 {
        self.files[stream.place()].size
    }

    fn is_full(&self, stream: DumpStream) -> bool {
        let limit = match stream {
            DumpStream::Calls => self.rotate / 10,
            _ => self.rotate,
        };
        self.size(stream) >= limit
    }

    fn rotate(&mut self, stream: DumpStream) -> bool {
        let file = &mut self.files[stream.place()];
        // Its bytes are written: that is what is waited for before anything is added.
        let Ok(next) = create(&self.path, stream, file.number + 1) else {
            return false;
        };
        file.file = next;
        file.number += 1;
        file.size = 0;
        true
    }

    fn put(&mut self, stream: DumpStream, bytes: &[u8]) {
        let file = &mut self.files[stream.place()];
        file.added.extend_from_slice(bytes);
        file.size += bytes.len() as u64;
    }

    fn owe(&mut self, owner: &Arc<CallBuffer>, n_calls: u64) {
        self.owed.push((owner.clone(), n_calls));
    }

    fn flush(&mut self) -> bool {
        for file in &mut self.files {
            let OpenFile {
                file,
                added,
                n_written,
                ..
            } = file;
            while *n_written < added.len() {
                // The disk is full; it goes on from here.
                if socket::advance(file, added, n_written).is_err() {
                    return false;
                }
            }
            added.clear();
            *n_written = 0;
        }
        let n_calls = self.owed.drain(..).map(|(_, n_calls)| n_calls).sum();
        self.shared.n_written.fetch_add(n_calls, Ordering::AcqRel);
        true
    }

    fn is_confirmed(&mut self) -> bool {
        true
    }

    fn end(&mut self) {
        let now = self.shared.clock.now();
        for (owner, n_calls) in self.owed.drain(..) {
            owner.lose(n_calls, now);
        }
    }

    fn finish(&mut self, _: Option<Instant>) {}
}
