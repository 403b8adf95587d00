//! What `send` sends: a recording in memory.

use std::collections::BTreeMap;
use std::path::Path;

use traceloom_formats::protocol::{Identity, Protocol};
use traceloom_formats::{RaiseOptions, Source as _, by_name};
use traceloom_input::Document;
use traceloom_server::Streams;

use crate::args::Common;
use crate::open::open;
use crate::usage::Usage;

/// What a CDT collector keeps, and what its agents send.
const DUMP: &str = "cdt-dump";
const STREAMS: &str = "cdt-streams";

/// Writes a recording as the streams that an agent sends.
fn as_streams(document: &Document<'_>, folder: &Path, common: &Common) -> anyhow::Result<()> {
    let raise = by_name(STREAMS).and_then(|format| format.raise);
    let raise = raise.ok_or_else(|| anyhow::anyhow!("{STREAMS} is not written"))?;
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let options = RaiseOptions {
        sources: vec![DUMP],
        ..RaiseOptions::default()
    };
    let mut target = raise(&options, &mut files)?;
    traceloom_input::lower(document, &common.lower_options()?, &mut *target)?;
    target.finish()?;
    drop(target);
    for (name, bytes) in files {
        let file = folder.join(name);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, bytes)?;
    }
    Ok(())
}

/// Reads the one recording of a path into memory: agents send it from there, each at its own place.
pub(crate) fn read(path: &str, protocol: &Protocol, common: &Common) -> anyhow::Result<Streams> {
    let input = open(path, common)?;
    let mut documents = input.documents();
    let (Some(document), None) = (documents.next(), documents.next()) else {
        let reason = format!("{path}: name one recording; there is none, or more than one");
        return Err(Usage(reason).into());
    };
    let is_dump = document.format().is_some_and(|format| format.name == DUMP);
    if is_dump && protocol.sent_as == STREAMS {
        let folder = tempfile::tempdir()?;
        as_streams(&document, folder.path(), common)?;
        let made = folder.path().to_string_lossy();
        let reason = |error| anyhow::anyhow!("{path}: as {STREAMS}: {error}");
        return read(&made, protocol, common).map_err(reason);
    }
    let all = document.parts().to_vec();
    let mut streams = Streams {
        parts: Vec::new(),
        bytes: Vec::new(),
    };
    for (at, part) in all.into_iter().enumerate() {
        let bytes = bytes_of(&document, at)?;
        streams.parts.push(part);
        streams.bytes.push(bytes);
    }
    if (protocol.sender)(&Identity::default(), &streams.parts).is_err()
        || is_dump
        || document.format().is_none()
    {
        let reason = format!(
            "{path}: {} agents send {} as a collector receives it; `traceloom convert {path} OUT --to {}` makes it",
            protocol.captures.name, protocol.sent_as, protocol.sent_as
        );
        return Err(Usage(reason).into());
    }
    Ok(streams)
}

/// Reads the decoded bytes of a part into memory.
pub(crate) fn bytes_of(document: &Document<'_>, part: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut pull = document.open(part, 0)?;
    let mut consumed = 0;
    loop {
        let chunk = pull.pull(consumed, 1)?;
        bytes.extend_from_slice(chunk.bytes);
        consumed = chunk.bytes.len();
        if chunk.eof {
            return Ok(bytes);
        }
    }
}
