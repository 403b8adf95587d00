//! A lowering with a scout ahead of it, on a thread of its own.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use traceloom_formats::{Error, Lower, LowerOptions, Part, Pull, Scout, Scouted, Source};
use traceloom_model::{Flow, Sink};

use crate::Document;

/// Stretches that the scout may be ahead: it waits then.
const AHEAD: usize = 16;

/// Lowers a document while `scout` reads ahead of the lowering.
pub(crate) fn lower_scouted(
    document: &Document<'_>,
    (scout, lower): (Scout, Lower),
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let asks = sink.asks();
    std::thread::scope(|scope| {
        let (say, hear) = sync_channel(AHEAD);
        scope.spawn(move || {
            let mut tell = |found| match say.send(found) {
                Ok(()) => Flow::Continue(()),
                // Nobody listens any more.
                Err(_) => Flow::Break(()),
            };
            // What it cannot read the lowering tells of.
            let _ = scout(document, &options.limits, asks, &mut tell);
        });
        let source = ScoutedDocument {
            document,
            heard: Mutex::new(hear),
        };
        lower(&source, options, sink)
    })
}

/// A document of which more is known.
struct ScoutedDocument<'d> {
    document: &'d Document<'d>,
    heard: Mutex<Receiver<Scouted>>,
}

impl Source for ScoutedDocument<'_> {
    fn parts(&self) -> &[Part] {
        self.document.parts()
    }

    fn location(&self) -> &str {
        self.document.location()
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        self.document.open(part, offset)
    }

    fn heard(&self) -> Option<Scouted> {
        self.heard.lock().ok()?.recv().ok()
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

    /// What a sink is told.
    struct Told {
        asks: Asks,
        batches: Vec<String>,
    }

    impl Stage for Told {
        fn asks(&self) -> Asks {
            self.asks
        }

        fn pass(&mut self, batch: Batch) -> Flow {
            self.batches.push(format!("{batch:?}"));
            Flow::Continue(())
        }
    }

    /// Lowers the document of an input that has a scout, with and without it.
    fn both_ways(path: &Path, asks: Asks) -> [Vec<String>; 2] {
        let input = Input::open(path, &OpenOptions::default()).unwrap();
        let document = input
            .documents()
            .find(|document| document.format().is_some_and(|it| it.scout.is_some()));
        let document = document.unwrap();
        let format = document.format().unwrap();
        let (scout, lower) = (format.scout.unwrap(), format.lower.unwrap());
        let options = LowerOptions::default();
        [false, true].map(|is_scouted| {
            let mut told = Told {
                asks,
                batches: Vec::new(),
            };
            match is_scouted {
                false => lower(&document, &options, &mut told).unwrap(),
                true => lower_scouted(&document, (scout, lower), &options, &mut told).unwrap(),
            }
            told.batches
        })
    }

    #[test]
    fn a_scout_changes_nothing_that_is_told_of_a_dump() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files(folder.path().to_owned());
        traceloom_samples::cdt::dump(3, 5 << 19, "shop", &mut files).unwrap();
        let asks = Asks {
            wants: Wants::Calls,
            ..Asks::default()
        };
        for is_damaged in [false, true] {
            if is_damaged {
                damage(folder.path(), 50_000);
            }
            let [alone, scouted] = both_ways(folder.path(), asks);
            assert!(alone.len() > 10);
            assert!(alone == scouted, "damaged: {is_damaged}");
        }
    }

    /// Events in events, where a scout may begin in the middle of one, spaces, and numbers that are not plain.
    fn nested_events(bytes: usize) -> Vec<u8> {
        let mut text = b"[".to_vec();
        for time in 0.. {
            let list = r#"{"ph":"X","ts":1,"dur":5},{"ph":"B", "ts":2}"#;
            let event = format!(
                r#" {{"ph":"i","pid":1,"tid":{},"ts":{time},"args":{{"list":[{list},
{list}],"is":"a\"b"}} }},
{{"ph":"X","pid":1,"tid":7,"ts":{time}e0,"dur":3,"name":"n{time}"}},"#,
                time % 3
            );
            text.extend_from_slice(event.as_bytes());
            if text.len() >= bytes {
                break;
            }
        }
        text
    }

    #[test]
    fn a_scout_changes_nothing_that_is_told_of_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let plain = traceloom_samples::bytes("chrome", 5, 5 << 19);
        let mut damaged = plain.clone();
        let places = damaged.iter_mut().skip(90_001).step_by(50_000);
        places.for_each(|byte| *byte = byte.wrapping_add(77));
        for text in [plain, damaged, nested_events(5 << 19)] {
            std::fs::write(&path, &text).unwrap();
            for notes_only in [false, true] {
                let asks = Asks {
                    notes_only,
                    ..Asks::default()
                };
                let [alone, scouted] = both_ways(&path, asks);
                assert!(notes_only || alone.iter().map(String::len).sum::<usize>() > 100_000);
                assert!(alone == scouted, "notes only: {notes_only}");
            }
        }
    }
}
