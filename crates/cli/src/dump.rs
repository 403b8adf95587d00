//! `dump`: every record with its offset and fields.

mod hex;

use std::io::{BufWriter, Write};

use clap::Args;
use serde::ser::{SerializeMap, Serializer};
use traceloom_formats::{Pull as _, Record, RecordSink, Step};
use traceloom_model::{Flow, Level, Note, printable};

use crate::Outcome;
use crate::args::Common;
use crate::fields::Json;
use crate::info::note_json;
use crate::live::{ArrivingPath, LiveFormat};
use crate::open::open_among;
use crate::outcome::heed;
use crate::resolve::{DocumentTexts, RecordTexts, RowTable};
use crate::streams::stdout;
use crate::style::Style;

/// Print every record with its offset and fields.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    traceloom dump calls.bin\n  \
    traceloom dump traces.bin --start 2567 --limit-records 20\n  \
    traceloom dump traces.bin --start 0xa000 --hex 256\n  \
    traceloom dump app.heph --follow --json\n  \
    traceloom dump dump/ --json --resolve | jq 'select(.kind == \"call\")'\n  \
    traceloom dump app.jfr --json --resolve | jq 'select(.kind == \"jdk.ExecutionSample\").stackTrace_text'")]
pub(crate) struct Options {
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Print JSON Lines, one record a line.
    #[arg(long)]
    json: bool,
    /// Begin with the first record at or after this offset of the decoded bytes.
    #[arg(long, value_name = "BYTE", default_value = "0", value_parser = offset)]
    start: u64,
    /// Stop after so many records of a part; 0 prints all, as without it.
    #[arg(short = 'n', long, value_name = "N")]
    limit_records: Option<u64>,
    /// Add the texts that ids stand for, as `FIELD_text`.
    #[arg(long)]
    resolve: bool,
    /// Go on with a file that grows, until Ctrl-C: records are printed as they come.
    #[arg(long, conflicts_with_all = ["resolve", "part"])]
    follow: bool,
    /// Only parts whose name contains this.
    #[arg(long, value_name = "TEXT")]
    part: Option<String>,
    /// Print decoded bytes from --start on instead of records, 512 of each part unless said.
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "512", conflicts_with_all = ["limit_records", "resolve", "follow"])]
    hex: Option<usize>,
    #[command(flatten)]
    common: Common,
}

/// Reads an offset, in hexadecimal behind `0x` as notes have them.
fn offset(text: &str) -> Result<u64, String> {
    let read = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    read.map_err(|_| format!("`{text}` is no offset, such as 2567 or 0xa07"))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let limits = options.common.limits()?;
    let style = Style::new(&options.common)?;
    let mut out = BufWriter::with_capacity(1 << 16, stdout());
    let mut members_left = false;
    if let Some(n_bytes) = options.hex {
        return hex::run(options, n_bytes);
    }
    // Texts of ids may come behind them.
    if !options.resolve
        && options.part.is_none()
        && let Some(live) = ArrivingPath::of(&options.paths, options.follow)?
        && let Some(followed) = follow(options, &live, &style, &mut out)?
    {
        match followed {
            PrintedRecords::Everything(outcome) => return Ok(outcome),
            PrintedRecords::AllButMembers => members_left = true,
        }
    }
    let mut outcome = Outcome::Done;
    'paths: for path in &options.paths {
        let Some(input) = open_among(path, &options.paths, &options.common)? else {
            outcome = Outcome::Failed;
            continue;
        };
        let names = if options.resolve {
            DocumentTexts::of(&input, &options.common)?
        } else {
            DocumentTexts::default()
        };
        let many = input.is_folder() || input.parts().len() > 1 || options.paths.len() > 1;
        for (at, part) in input.parts().iter().enumerate() {
            let wanted = options
                .part
                .as_ref()
                .is_none_or(|text| part.part.name.contains(text));
            if !wanted || (members_left && at == 0) {
                continue;
            }
            let Some(reader) = part.part.format.and_then(|format| format.reader) else {
                continue;
            };
            if many && !options.json {
                writeln!(out, "{}", style.bold(&part.part.name))?;
            }
            let name = many.then_some(part.part.name.as_str());
            let names = names.of_part(at);
            let mut printer = Printer {
                options,
                style: &style,
                out: &mut out,
                part: name,
                names,
                left: options.limit_records.filter(|&most| most > 0),
                line: Vec::new(),
                error: None,
                stopped: false,
            };
            input.read(at, 0, reader(&limits).as_mut(), &mut printer)?;
            let stopped = printer.stopped;
            if let Some(error) = printer.error {
                return Err(error);
            }
            if stopped {
                outcome = Outcome::Failed;
                break 'paths;
            }
        }
    }
    out.flush()?;
    Ok(outcome)
}

/// What was printed while it arrived.
enum PrintedRecords {
    Everything(Outcome),
    /// The parts inside are put together at the end.
    AllButMembers,
}

/// Prints records as they arrive. Returns `None` for a format that is read as a whole.
fn follow(
    options: &Options,
    live: &ArrivingPath,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<Option<PrintedRecords>> {
    let limits = options.common.limits()?;
    loop {
        let Some(LiveFormat { format, name }) = live.format(&options.common)? else {
            return Ok(None);
        };
        let Some(open_reader) = format.reader else {
            return Ok(None);
        };
        let has_members = format.members.is_some();
        if has_members && !options.json {
            writeln!(out, "{}", style.bold(&name))?;
        }
        let mut reader = open_reader(&limits);
        let growing = live.growing();
        let mut pull = growing.pull();
        let (mut consumed, mut need) = (0, 1);
        let mut printer = Printer {
            options,
            style,
            out: &mut *out,
            part: has_members.then_some(name.as_str()),
            names: None,
            left: options.limit_records.filter(|&most| most > 0),
            line: Vec::new(),
            error: None,
            stopped: false,
        };
        loop {
            let chunk = pull.pull(consumed, need)?;
            let is_last = chunk.eof;
            let step = reader.read(chunk, &mut printer);
            // What comes next may take long.
            printer.out.flush()?;
            match step {
                Step::More {
                    consumed: used,
                    need: wanted,
                } if !is_last => (consumed, need) = (used, wanted),
                Step::More { .. } => break,
                Step::Stop => {
                    return match (printer.error, printer.stopped) {
                        (Some(error), _) => Err(error),
                        (None, true) => Ok(Some(PrintedRecords::Everything(Outcome::Failed))),
                        (None, false) => Ok(Some(PrintedRecords::Everything(Outcome::Done))),
                    };
                }
            }
        }
        if !live.goes_on()? {
            live.snapshot(&options.common)?;
            return Ok(Some(match has_members {
                true => PrintedRecords::AllButMembers,
                false => PrintedRecords::Everything(Outcome::Done),
            }));
        }
    }
}

struct Printer<'p, W: Write> {
    options: &'p Options,
    style: &'p Style,
    out: &'p mut W,
    part: Option<&'p str>,
    names: Option<&'p RowTable>,
    left: Option<u64>,
    /// The line at hand.
    line: Vec<u8>,
    error: Option<anyhow::Error>,
    stopped: bool,
}

impl<W: Write> Printer<'_, W> {
    fn keep(&mut self, written: anyhow::Result<()>) -> Flow {
        match written {
            Ok(()) => Flow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                Flow::Break(())
            }
        }
    }

    fn json(&mut self, record: &dyn Record) -> anyhow::Result<()> {
        let mut serializer = serde_json::Serializer::new(&mut *self.out);
        let mut object = serializer.serialize_map(None)?;
        if let Some(part) = self.part {
            object.serialize_entry("part", part)?;
        }
        object.serialize_entry("kind", record.kind())?;
        object.serialize_entry("offset", &record.offset())?;
        object.serialize_entry("bytes", &record.len())?;
        let mut failed = Ok(());
        let texts = RecordTexts {
            record,
            names: self.names,
        };
        let resolving = self.options.resolve;
        record.fields(&mut |name, field| {
            if failed.is_err() {
            } else if resolving {
                failed = texts.entry(name, &field, &mut object);
            } else {
                failed = object.serialize_entry(name, &Json(&field));
            }
        });
        failed?;
        object.end()?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    fn text(&mut self, record: &dyn Record) -> anyhow::Result<()> {
        let line = &mut self.line;
        line.clear();
        self.style.put_offset(record.offset(), line);
        line.push(b' ');
        self.style.put_bold(record.kind(), line);
        let texts = self.options.resolve.then_some(RecordTexts {
            record,
            names: self.names,
        });
        record.fields(&mut |name, field| {
            line.push(b' ');
            line.extend_from_slice(printable(name).as_bytes());
            line.push(b'=');
            match &texts {
                Some(texts) => line.extend_from_slice(texts.plain(&field).as_bytes()),
                None => field.put_text(line),
            }
        });
        line.push(b'\n');
        self.out.write_all(line)?;
        Ok(())
    }
}

impl<W: Write> RecordSink for Printer<'_, W> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        if record.offset() < self.options.start {
            return Flow::Continue(());
        }
        if self.left == Some(0) {
            return Flow::Break(());
        }
        self.left = self.left.map(|left| left - 1);
        let written = if self.options.json {
            self.json(record)
        } else {
            self.text(record)
        };
        self.keep(written)
    }

    fn note(&mut self, note: Note) -> Flow {
        heed(&note);
        if note.level == Level::Info && !self.options.json {
            return Flow::Continue(());
        }
        let written = if self.options.json {
            let mut object = note_json(&note);
            if let Some(map) = object.as_object_mut() {
                map.insert("note".into(), note.kind.into());
                map.insert("kind".into(), "note".into());
                if let Some(part) = self.part {
                    map.insert("part".into(), part.into());
                }
            }
            serde_json::to_writer(&mut *self.out, &object)
                .map_err(Into::into)
                .and_then(|()| Ok(writeln!(self.out)?))
        } else {
            let level = self.style.level(note.level);
            writeln!(
                self.out,
                "{:>10} {level} {}: {}",
                note.offset,
                note.kind,
                printable(&note.text)
            )
            .map_err(Into::into)
        };
        if self.options.common.strict && note.level == Level::Damage {
            self.stopped = true;
            let _ = self.keep(written);
            return Flow::Break(());
        }
        self.keep(written)
    }
}
