//! What `send` sends: a recording in memory.

use traceloom_formats::Source as _;
use traceloom_formats::protocol::{Identity, Protocol};
use traceloom_server::Streams;

use crate::args::Common;
use crate::open::open;
use crate::usage::Usage;

/// Reads the one recording of a path into memory: agents send it from there, each at its own place.
pub(crate) fn read(path: &str, protocol: &Protocol, common: &Common) -> anyhow::Result<Streams> {
    let input = open(path, common)?;
    let mut documents = input.documents();
    let (Some(document), None) = (documents.next(), documents.next()) else {
        let reason = format!("{path}: name one recording; there is none, or more than one");
        return Err(Usage(reason).into());
    };
    let all = document.parts().to_vec();
    let mut streams = Streams {
        parts: Vec::new(),
        bytes: Vec::new(),
    };
    for (at, part) in all.into_iter().enumerate() {
        let mut bytes = Vec::new();
        let mut pull = document.open(at, 0)?;
        let mut consumed = 0;
        loop {
            let chunk = pull.pull(consumed, 1)?;
            bytes.extend_from_slice(chunk.bytes);
            consumed = chunk.bytes.len();
            if chunk.eof {
                break;
            }
        }
        drop(pull);
        streams.parts.push(part);
        streams.bytes.push(bytes);
    }
    if (protocol.sender)(&Identity::default(), &streams.parts).is_err()
        || document
            .format()
            .is_none_or(|format| format.name == "cdt-dump")
    {
        let reason = format!(
            "{path}: {} agents send {} as a collector receives it; `traceloom convert {path} OUT --to {}` makes it",
            protocol.captures.name, protocol.sent_as, protocol.sent_as
        );
        return Err(Usage(reason).into());
    }
    Ok(streams)
}
