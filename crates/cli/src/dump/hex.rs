//! `dump --hex`: the decoded bytes of parts, as they are.

use std::io::{BufWriter, Write};

use serde_json::json;
use traceloom_input::Input;

use super::Options;
use crate::Outcome;
use crate::open::open_among;
use crate::streams::stdout;
use crate::style::Style;

/// Bytes of a line.
const LINE: usize = 16;

pub(super) fn run(options: &Options, n_bytes: usize) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.common)?;
    let mut out = BufWriter::new(stdout());
    let mut outcome = Outcome::Done;
    for path in &options.paths {
        let Some(input) = open_among(path, &options.paths, &options.common)? else {
            outcome = Outcome::Failed;
            continue;
        };
        let many = input.parts().len() > 1 || options.paths.len() > 1;
        for (at, part) in input.parts().iter().enumerate() {
            let name = part.part.name.as_str();
            if !options.part.as_ref().is_none_or(|text| name.contains(text)) {
                continue;
            }
            let bytes = read(&input, at, options.start, n_bytes)?;
            if options.json {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let row = json!({"part": name, "offset": options.start, "bytes": bytes.len(), "hex": digits});
                writeln!(out, "{row}")?;
                continue;
            }
            if many {
                writeln!(out, "{}", style.bold(name))?;
            }
            for (offset, line) in (options.start..).step_by(LINE).zip(bytes.chunks(LINE)) {
                writeln!(out, "{}", text(offset, line))?;
            }
        }
    }
    out.flush()?;
    Ok(outcome)
}

/// Reads decoded bytes of a part; fewer where it ends.
fn read(input: &Input, part: usize, offset: u64, n_bytes: usize) -> anyhow::Result<Vec<u8>> {
    const STEP: usize = 64 << 10;
    let mut pull = input.pull(part, offset)?;
    let (mut bytes, mut consumed) = (Vec::new(), 0);
    while bytes.len() < n_bytes {
        let chunk = pull.pull(consumed, STEP.min(n_bytes - bytes.len()))?;
        let most = chunk.bytes.len().min(n_bytes - bytes.len());
        bytes.extend_from_slice(&chunk.bytes[..most]);
        if chunk.eof {
            break;
        }
        consumed = chunk.bytes.len();
    }
    Ok(bytes)
}

/// Returns a line: offset, digits, and what is text of it.
fn text(offset: u64, bytes: &[u8]) -> String {
    let mut line = format!("{offset:08x} ");
    for at in 0..LINE {
        line += if at == LINE / 2 { "  " } else { " " };
        line += &bytes
            .get(at)
            .map_or_else(|| "  ".to_owned(), |byte| format!("{byte:02x}"));
    }
    let printable = |&byte: &u8| match byte {
        b' '..=b'~' => char::from(byte),
        _ => '.',
    };
    line += "  ";
    line.extend(bytes.iter().map(printable));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_digits_and_text() {
        assert_eq!(
            text(0xa020, b"\x9b\x1f0 ab"),
            "0000a020  9b 1f 30 20 61 62                                 ..0 ab"
        );
        assert_eq!(
            text(0, b"0123456789abcdef"),
            "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef"
        );
    }
}
