//! Receives one Heph stream and prints its events as they arrive: `cargo run --example heph_socket -- 127.0.0.1:1716`.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::ops::ControlFlow;

use traceloom::formats::heph::{CounterCheck, Event, Metadata, Reader, Visit};
use traceloom::formats::{Chunk, Opaque, Step};
use traceloom::model::{Flow, Limits, Note};

#[expect(clippy::disallowed_methods, reason = "it is a program of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:1716"))?;
    let (mut stream, _) = listener.accept()?;
    print_events(&mut stream, &mut std::io::stdout().lock())?;
    Ok(())
}

/// Prints each event once its last byte arrived; holds no more than the largest packet and a read.
pub fn print_events(stream: &mut impl Read, out: &mut dyn Write) -> std::io::Result<()> {
    let mut reader = Reader::new(&Limits::default());
    let mut lines = EventLines {
        out,
        written: Ok(()),
    };
    let (mut buffer, mut offset) = (Vec::new(), 0);
    let mut piece = [0; 64 << 10];
    loop {
        let read = stream.read(&mut piece)?;
        buffer.extend_from_slice(&piece[..read]);
        let eof = read == 0;
        let chunk = Chunk {
            bytes: &buffer,
            offset,
            eof,
        };
        match reader.read(chunk, &mut lines) {
            Step::More { consumed, .. } if !eof => {
                buffer.drain(..consumed);
                offset += consumed as u64;
            }
            Step::More { .. } | Step::Stop => return lines.written,
        }
    }
}

/// Writes what the reader shows.
struct EventLines<'o> {
    out: &'o mut dyn Write,
    written: std::io::Result<()>,
}

impl EventLines<'_> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Flow {
        self.written = writeln!(self.out, "{line}");
        match self.written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

impl Visit for EventLines<'_> {
    fn event(&mut self, event: &Event<'_>, _seen: CounterCheck) -> Flow {
        let name = String::from_utf8_lossy(event.description);
        let ns = event.end.saturating_sub(event.start);
        let n_attributes = event.attributes.count();
        let stream = event.stream;
        self.line(format_args!(
            "stream {stream}: {name}, {ns} ns, {n_attributes} attributes"
        ))
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) -> Flow {
        let name = String::from_utf8_lossy(metadata.name);
        self.line(format_args!("metadata {name}"))
    }

    fn opaque(&mut self, opaque: &Opaque<'_>) -> Flow {
        let n_bytes = opaque.bytes.len();
        self.line(format_args!("{n_bytes} bytes that are no packet"))
    }

    fn note(&mut self, note: Note) -> Flow {
        self.line(format_args!("at {:#x}: {}", note.offset, note.text))
    }
}
