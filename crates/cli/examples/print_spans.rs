//! Prints the spans of any file: `cargo run --example print_spans -- PATH`.

use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;

#[expect(clippy::disallowed_methods, reason = "it is a program of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: print_spans PATH")?;
    print_spans(&path, &mut std::io::stdout().lock())
}

/// Prints a line for each span, in the order in which the spans are read.
pub fn print_spans(path: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let input = traceloom::open(path)?;
    for trace in input.traces() {
        writeln!(out, "{}, {}", trace.name(), trace.format().title)?;
        let mut written = Ok(());
        let notes = trace.each_span(|span| {
            let indent = "  ".repeat(span.depth() as usize);
            let (start, ns, name) = (span.start(), span.duration(), span.name());
            written = write!(out, "{start} {ns:>12} ns  {indent}{name}")
                .and_then(|()| {
                    span.attributes()
                        .try_for_each(|(key, value)| write!(out, "  {key}={value}"))
                })
                .and_then(|()| writeln!(out));
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        written?;
        for (level, kind, count) in notes.counts() {
            writeln!(out, "{level:?}: {kind} ×{count}")?;
        }
    }
    for (name, reason) in input.left_out() {
        writeln!(out, "{name}: {reason}")?;
    }
    Ok(())
}
