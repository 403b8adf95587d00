//! A lowering with a scout ahead of it, on a thread of its own.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use traceloom_formats::{Error, Lower, LowerOptions, Part, PlainRuns, Pull, Scout, Source};
use traceloom_model::{Flow, Sink};

use crate::Document;

/// Windows that the scout may be ahead: it waits then.
const AHEAD: usize = 16;

/// Lowers a document while `scout` reads ahead of the lowering.
pub(crate) fn lower_scouted(
    document: &Document<'_>,
    (scout, lower): (Scout, Lower),
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let (say, hear) = sync_channel(AHEAD);
        scope.spawn(move || {
            let mut tell = |runs| match say.send(runs) {
                Ok(()) => Flow::Continue(()),
                // Nobody listens any more.
                Err(_) => Flow::Break(()),
            };
            // What it cannot read the lowering tells of.
            let _ = scout(document, &options.limits, &mut tell);
        });
        let source = Scouted {
            document,
            heard: Mutex::new(Some(hear)),
        };
        lower(&source, options, sink)
    })
}

/// A document of which more is known.
struct Scouted<'d> {
    document: &'d Document<'d>,
    heard: Mutex<Option<Receiver<PlainRuns>>>,
}

impl Source for Scouted<'_> {
    fn parts(&self) -> &[Part] {
        self.document.parts()
    }

    fn location(&self) -> &str {
        self.document.location()
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        self.document.open(part, offset)
    }

    fn ahead(&self) -> Option<Box<dyn Iterator<Item = PlainRuns> + '_>> {
        let heard = self.heard.lock().ok()?.take()?;
        Some(Box::new(heard.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::{Path, PathBuf};

    use super::*;
    use traceloom_formats::Output;
    use traceloom_model::{Asks, Batch, Stage, Wants};

    use crate::{Input, OpenOptions};

    struct Files(PathBuf);

    impl Output for Files {
        fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
            let path = self.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = std::fs::File::options()
                .create(true)
                .append(true)
                .open(path);
            file.unwrap().write_all(bytes).unwrap();
            Ok(())
        }
    }

    /// Changes one byte of traces in every `every`.
    fn damage(folder: &Path, every: usize) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                damage(&path, every);
            } else if folder.ends_with("trace") {
                let mut bytes = std::fs::read(&path).unwrap();
                let places = bytes.iter_mut().skip(every / 2).step_by(every);
                places.for_each(|byte| *byte = byte.wrapping_add(77));
                std::fs::write(&path, bytes).unwrap();
            }
        }
    }

    /// What a sink of calls is told.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Stage for Told {
        fn asks(&self) -> Asks {
            Asks {
                wants: Wants::Calls,
                ..Asks::default()
            }
        }

        fn pass(&mut self, batch: Batch) -> Flow {
            self.0.push(format!("{batch:?}"));
            Flow::Continue(())
        }
    }

    #[test]
    fn a_scout_changes_nothing_that_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files(folder.path().to_owned());
        traceloom_samples::cdt::dump(3, 5 << 19, "shop", &mut files).unwrap();
        for is_damaged in [false, true] {
            if is_damaged {
                damage(folder.path(), 50_000);
            }
            let input = Input::open(folder.path().to_str().unwrap(), &OpenOptions::default());
            let input = input.unwrap();
            let document = input
                .documents()
                .find(|document| document.format().is_some_and(|it| it.scout.is_some()));
            let document = document.unwrap();
            let format = document.format().unwrap();
            let (scout, lower) = (format.scout.unwrap(), format.lower.unwrap());
            let options = LowerOptions::default();
            let (mut alone, mut scouted) = (Told::default(), Told::default());
            lower(&document, &options, &mut alone).unwrap();
            lower_scouted(&document, (scout, lower), &options, &mut scouted).unwrap();
            assert!(alone.0.len() > 10);
            assert!(alone.0 == scouted.0, "damaged: {is_damaged}");
        }
    }
}
