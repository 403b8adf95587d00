//! Converts the first recording of a file: `cargo run --example convert -- PATH FORMAT OUT`.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use traceloom::formats::{self, Output, by_name};

#[expect(clippy::disallowed_methods, reason = "it is a program of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, format, out] = args.as_slice() else {
        return Err("usage: convert PATH FORMAT OUT".into());
    };
    convert(path, format, File::create(out)?, &mut std::io::stdout())
}

/// Writes the recording as `format` and reports what that format does not hold.
pub fn convert(
    path: &str,
    format: &str,
    file: impl Write + Send,
    report: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let format = by_name(format).ok_or("there is no such format")?;
    let input = traceloom::open(path)?;
    let trace = input.traces().next().ok_or("nothing here to convert")?;
    let mut output = OneFile(BufWriter::new(file));
    let losses = trace.write(format, &mut output)?;
    output.0.flush()?;
    for lost in &losses.lost {
        writeln!(report, "lost {} {} ×{}", lost.kind, lost.field, lost.count)?;
    }
    for changed in &losses.changed {
        let (kind, field) = (changed.kind, &changed.field);
        writeln!(report, "changed {kind} {field} ×{}", changed.count)?;
    }
    Ok(())
}

/// One file on disk. Targets of several files name each; see `traceloom::input::save` for those.
struct OneFile<W: Write>(BufWriter<W>);

impl<W: Write + Send> Output for OneFile<W> {
    fn write(&mut self, _name: &str, bytes: &[u8]) -> Result<(), formats::Error> {
        let written = self.0.write_all(bytes);
        written.map_err(|error| formats::Error::writing("the output", &error))
    }
}
