//! The streams of one process.

mod block;
mod call;
mod file;
mod folder;
mod key;
mod row;
mod tags;
mod value;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i32;
use traceloom_model::{AttrKeyId, StringId};

use super::ms;
use super::tables::StreamTables;
use super::words::WordNumbers;
use crate::cdt::phrase::Phrases;
use crate::cdt::suspend::Pause;
use crate::cdt::trace::ValueReference;
use crate::codec::ById;
use crate::{Error, Output};
use call::CallScratch;
use file::{StreamFolder, StreamWriter};
use folder::{dated, folder_of, safe_name};
use key::ParameterRules;

/// How the streams lie in folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FolderLayout {
    /// `<pod>/<stream>/<index>`; dictionary, params and suspend in phrases.
    Streams,
    /// `<server>/<yyyy>/<MM>/<dd>/<startMs>/<stream>/<index>.gz`, to be compressed by the output.
    Dump,
}

/// Who the process is.
#[derive(Clone, Debug)]
pub(super) struct ProcessIdentity {
    pub(super) service: Option<String>,
    pub(super) instance: Option<String>,
    pub(super) number: usize,
}

/// Agents begin a new file of trace, sql and xml at this size, and one of calls at a tenth (§2).
const ROTATE: u64 = 100 << 20;
/// Events in a block at most.
const BLOCK: u32 = 4096;
/// Places of statements remembered at once, as agents do (§7).
const KNOWN: usize = 10_000;
/// Values longer than this go to the xml stream.
const LONG: usize = 4000;

/// One process on its way to its streams.
pub(super) struct ProcessStreams {
    folder: StreamFolder,
    /// The format of calls.
    version: u8,
    start: i64,
    pub(super) words: WordNumbers,
    trace: StreamWriter,
    calls: StreamWriter,
    sql: StreamWriter,
    xml: StreamWriter,
    keys: ById<ParameterRules>,
    statements: HashMap<StringId, ValueReference, RandomState>,
    /// Start of the row before.
    clock: i64,
    names: HashMap<Vec<u8>, u32, RandomState>,
    /// Ids of threads.
    pub(super) taken: HashSet<i64>,
    /// Events in the block that is being written.
    events: u32,
    /// Time of the event before, in this block.
    last: i64,
    /// File and offset of the first block of the call.
    place: Option<(u32, u32)>,
    /// The value that is being written, in UTF-16, and in decimal digits before that.
    text: Vec<u8>,
    digits: Vec<u8>,
    /// The parameters of the row that is being written, and their keys.
    params: Vec<u8>,
    told: Vec<AttrKeyId>,
    walk: CallScratch,
}

impl ProcessStreams {
    /// Begins a process in a folder of its own: two recordings of one process do not write into one file.
    pub(super) fn new(
        (layout, version): (FolderLayout, u8),
        identity: ProcessIdentity,
        start: i64,
        taken: &mut HashSet<String>,
    ) -> Self {
        let nth = |word: &str| match identity.number {
            0 => word.to_owned(),
            number => format!("{word}-{}", number + 1),
        };
        let instance = identity.instance.as_deref().map(safe_name);
        let service = identity.service.as_deref().map(safe_name);
        let named = folder_of(layout, service.as_deref(), instance.as_deref(), start);
        let named = named.unwrap_or_else(|| dated(layout, &nth("process"), start));
        let free = |folder: &String| !taken.contains(folder);
        let service = service.map_or_else(|| nth("process"), Cow::into_owned);
        let later = (start.max(0) + 1..).map(|start| dated(layout, &service, start));
        let folder = std::iter::once(named)
            .chain(later)
            .find(free)
            .unwrap_or_default();
        taken.insert(folder.clone());
        Self {
            folder: StreamFolder {
                layout,
                path: folder,
            },
            version,
            start,
            words: WordNumbers::default(),
            trace: StreamWriter::default(),
            calls: StreamWriter::default(),
            sql: StreamWriter::default(),
            xml: StreamWriter::default(),
            keys: ById::default(),
            statements: HashMap::default(),
            clock: 0,
            names: HashMap::default(),
            taken: HashSet::new(),
            events: 0,
            last: 0,
            place: None,
            text: Vec::new(),
            digits: Vec::new(),
            params: Vec::new(),
            told: Vec::new(),
            walk: CallScratch::default(),
        }
    }

    /// Returns the path of its folder.
    pub(super) fn folder(&self) -> &str {
        &self.folder.path
    }

    /// Writes what stands once: dictionary, params, pauses; and the files that readers look for.
    pub(super) fn finish(
        &mut self,
        names: &StreamTables,
        pauses: &[(i64, i64)],
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        for (file, stream) in [
            (&mut self.trace, "trace"),
            (&mut self.calls, "calls"),
            (&mut self.sql, "sql"),
            (&mut self.xml, "xml"),
        ] {
            file.end((&self.folder, stream), out)?;
        }
        let mut records: Vec<Vec<u8>> = Vec::new();
        self.words
            .params(names, &mut |record| records.push(record.to_vec()));
        self.once("params", &records, out)?;
        records.clear();
        self.words
            .dictionary(names, &mut |record| records.push(record.to_vec()));
        self.once("dictionary", &records, out)?;
        records.clear();
        let start = pauses.first().map_or(self.start, |&(start, _)| start);
        records.push(start.to_be_bytes().to_vec());
        let mut clock = start;
        for &(start, end) in pauses {
            let delta = saturated_i32(end - clock);
            clock += i64::from(delta);
            let delay = u32::try_from(end - start).unwrap_or(0);
            let mut record = Vec::new();
            Pause { delta, delay }.write(&mut record);
            records.push(record);
        }
        self.once("suspend", &records, out)?;
        Ok(())
    }

    /// Writes the log of the collector.
    pub(super) fn gc(&self, log: &[u8], out: &mut dyn Output) -> Result<(), Error> {
        self.folder.whole("gc", log, out)
    }

    fn once(&self, stream: &str, records: &[Vec<u8>], out: &mut dyn Output) -> Result<(), Error> {
        let mut bytes = Vec::new();
        match self.folder.layout {
            FolderLayout::Dump => records
                .iter()
                .for_each(|record| bytes.extend_from_slice(record)),
            FolderLayout::Streams => {
                let mut phrases = Phrases::default();
                for record in records {
                    phrases.record(record, &mut bytes);
                }
                phrases.flush(&mut bytes);
            }
        }
        self.folder.whole(stream, &bytes, out)
    }
}
