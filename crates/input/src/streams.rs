//! Standard input, pipes and devices: bytes that come once, however often they are asked for.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use traceloom_formats::damage;
use traceloom_model::Note;

use crate::intake::{Hit, Intake};
use crate::progress::ProgressMark;
use crate::spool::Spool;
use crate::{Error, Progress};

/// What was taken in from streams, by the paths they were opened by.
///
/// Commands that look at an input several times open it several times; whoever shares this gets the same bytes each
/// time.
#[derive(Clone, Debug, Default)]
pub struct Streams(Arc<Mutex<HashMap<String, (Spool, Option<Note>)>>>);

/// Returns how errors name `path` if it is a stream: standard input, a pipe, a socket or a device.
pub(crate) fn shown(path: &str) -> Result<Option<String>, Error> {
    if path == "-" {
        return Ok(Some("standard input".to_owned()));
    }
    let found = fs::metadata(path).map_err(|error| Error::io(path, error))?;
    let stream = !found.is_file() && !found.is_dir();
    Ok(stream.then(|| path.to_owned()))
}

impl Streams {
    /// Has `path` read as the first `size` bytes of a file.
    pub fn put(&self, path: &str, file: Arc<File>, size: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The file may grow while this is read.
        let spool = Spool::File { file, size }.slice(0, size);
        known.insert(path.to_owned(), (spool, None));
    }

    /// Takes a stream in, to its end.
    pub(crate) fn spool(
        &self,
        path: &str,
        intake: &Intake,
    ) -> Result<(Spool, Option<Note>), Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = known.get(path) {
            return Ok(taken.clone());
        }
        let io = |error| Error::io(path, error);
        let from: Box<dyn Read> = match path {
            "-" => Box::new(io::stdin()),
            _ => Box::new(File::open(path).map_err(io)?),
        };
        let mark = ProgressMark::default();
        let from = Counting(from, &intake.opening);
        // Nothing is compressed yet: only the number of bytes is limited.
        let from = intake.limited(from, u64::MAX, &mark);
        let (spool, error) = Spool::fill(from, intake).map_err(io)?;
        let note = match error {
            None => None,
            Some(error) => match Hit::of(&error) {
                Some(hit) => Some(damage(hit.kind, spool.size(), hit.to_string())),
                None => {
                    let name = if path == "-" { "standard input" } else { path };
                    return Err(Error::io(name, error));
                }
            },
        };
        let taken = (spool, note);
        known.insert(path.to_owned(), taken.clone());
        Ok(taken)
    }
}

/// Counts what comes from a stream.
struct Counting<'p, R>(R, &'p Progress);

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.0.read(buffer)?;
        self.1.add(len as u64);
        Ok(len)
    }
}
