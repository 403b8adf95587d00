//! `send --listen`: a recording plays an agent that a client controls.

use std::io::Write as _;
use std::net::SocketAddr;

use traceloom_formats::{
    Format, Record, RecordSink, SlicePull, by_name, native_conversion, read_slice, tptp,
};
use traceloom_model::{Flow, Limits, Note};
use traceloom_server::{PlayOptions, PlayedTrace, Stop, play};

use crate::Outcome;
use crate::args::Common;
use crate::attach::control_rules;
use crate::numbers::size;
use crate::streams::{message, stdout};
use crate::usage::Usage;

pub(crate) fn run(
    path: &str,
    listen: Option<SocketAddr>,
    rate: Option<u64>,
    common: &Common,
) -> anyhow::Result<Outcome> {
    let listen = listen.ok_or_else(|| Usage("--listen takes an address".to_owned()))?;
    if !listen.ip().is_loopback() {
        let reason = format!(
            "{listen} can be reached from other machines, and a client does not say who it is"
        );
        return Err(Usage(reason).into());
    }
    let limits = common.limits()?;
    let mut streams = crate::sendable::read(path, &tptp::PROTOCOL, common)?;
    let format = streams.parts.first().and_then(|part| part.format);
    let (Some(format), Some(bytes)) = (format, streams.bytes.pop()) else {
        return Err(Usage(format!("{path}: name one TPTP trace")).into());
    };
    let options = PlayOptions {
        rules: control_rules(),
        listen,
        traces: traces(format, bytes, &limits)?,
        rate,
    };
    let stop = Stop::default();
    let asked = stop.clone();
    crate::interrupt::stop_with(move || asked.now());
    let n_bytes = play(&options, &stop, &mut |address| {
        let mut out = stdout();
        let line = format!("agent on {address}: traceloom attach {address}");
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    })?;
    message!("{} sent; tptp has no acknowledgement", size(n_bytes));
    Ok(Outcome::Done)
}

/// Returns the trace as it is, and in the other form.
fn traces(
    format: &'static Format,
    bytes: Vec<u8>,
    limits: &Limits,
) -> anyhow::Result<Vec<PlayedTrace>> {
    let other = match format.name == tptp::BINARY.name {
        true => tptp::XML.name,
        false => tptp::BINARY.name,
    };
    let mut traces = Vec::new();
    let (convert, other) = native_conversion(format.name, other)
        .zip(by_name(other))
        .ok_or_else(|| anyhow::anyhow!("{} has no other form", format.name))?;
    let mut converted: Vec<u8> = Vec::new();
    let changes = convert(
        &mut SlicePull::new(&bytes, 0),
        limits,
        &mut converted,
        &mut |_: Note| Flow::Continue(()),
    )?;
    if changes.iter().any(|change| change.lost) {
        message!("{} does not hold everything of this trace", other.name);
    }
    for (format, bytes) in [(format, bytes), (other, converted)] {
        let mut ends = RecordEnds(Vec::new());
        if let Some(reader) = format.reader {
            read_slice(reader(limits).as_mut(), &bytes, &mut ends);
        }
        traces.push(PlayedTrace {
            format: format.name,
            bytes,
            ends: ends.0,
        });
    }
    Ok(traces)
}

/// Offsets behind records.
struct RecordEnds(Vec<u64>);

impl RecordSink for RecordEnds {
    fn record(&mut self, record: &dyn Record) -> Flow {
        self.0.push(record.offset() + record.len());
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
