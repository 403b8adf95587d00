//! What a message of telemetry holds, as far as its answer depends on it.

use traceloom_formats::{LowerOptions, Record, RecordSink, SliceSource, by_name, read_slice};
use traceloom_model::{
    Definitions, Flow, Level, Limits, Note, Recording, Resource, SampleBatch, Sink, SpanBatch,
    StringId,
};

use super::Http;
use super::sender::About;

/// What a message holds.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    /// Spans and samples.
    pub(super) n_rows: u64,
    /// The service that all of it is about, and its version; empty where there are several, or none.
    pub(super) about: About,
    /// What is wrong with it, and how often anything is; its other parts can be read.
    pub(super) doubts: Option<(String, u64)>,
}

/// Messages that are looked at a time: one in JSON takes several times its bytes meanwhile.
pub(super) const AT_A_TIME: usize = 4;

/// Looks at a message when it is its turn.
pub(super) async fn in_turn<T>(http: &Http, look: impl FnOnce() -> T) -> T {
    // The semaphore is never closed.
    let _turn = http.looks.acquire().await;
    tokio::task::block_in_place(look)
}

/// Reads a message of a format to its end.
///
/// # Errors
/// What is wrong with bytes that are no such message.
pub(super) fn inspect(format: &str, message: &[u8]) -> Result<Inspection, String> {
    let format = by_name(format).ok_or_else(|| format!("{format} is not read"))?;
    let limits = Limits::default();
    let mut structure = Structure::default();
    read_slice(format.reader(&limits).as_mut(), message, &mut structure);
    if let Some(damage) = structure.damage {
        return Err(damage);
    }
    let mut meaning = Meaning::default();
    let source = SliceSource::default().with("message", format, message);
    let options = LowerOptions {
        limits,
        ..LowerOptions::default()
    };
    if let Some(lower) = format.lower {
        lower(&source, &options, &mut meaning).map_err(|error| error.to_string())?;
    }
    let about = meaning.about();
    match meaning.doubts {
        Some((text, _)) if meaning.n_rows == 0 => Err(text),
        doubts => Ok(Inspection {
            n_rows: meaning.n_rows,
            about,
            doubts,
        }),
    }
}

/// The first damage of the encoding.
#[derive(Default)]
struct Structure {
    damage: Option<String>,
}

impl RecordSink for Structure {
    fn record(&mut self, _: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        if note.level != Level::Damage {
            return Flow::Continue(());
        }
        self.damage = Some(sentence(&note));
        Flow::Break(())
    }
}

fn sentence(note: &Note) -> String {
    format!("{} (offset {:#x})", note.text, note.offset)
}

/// Counts what a message means.
#[derive(Default)]
struct Meaning {
    n_rows: u64,
    doubts: Option<(String, u64)>,
    /// Definitions alone.
    tables: Recording,
}

impl Meaning {
    fn about(&self) -> About {
        About {
            service: self.only(|row| row.service),
            version: self.only(|row| row.version),
            ..About::default()
        }
    }

    /// Returns what all resources have in a column; empty where they differ.
    fn only(&self, column: impl Fn(&Resource) -> Option<StringId>) -> String {
        let mut texts = self.tables.resources.iter().flatten().map(column);
        let first = texts.next().flatten();
        let only = first.filter(|_| texts.all(|other| other == first));
        only.map_or_else(String::new, |name| self.tables.text(name).into_owned())
    }
}

impl Sink for Meaning {
    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.n_rows += batch.len() as u64;
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.n_rows += batch.len() as u64;
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        if note.level == Level::Damage {
            let (_, n_doubts) = self.doubts.get_or_insert_with(|| (sentence(&note), 0));
            *n_doubts += note.count;
        }
        Flow::Continue(())
    }
}
