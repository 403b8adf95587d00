//! `dump`: every record with its offset and fields.

use std::io::{BufWriter, Write};

use clap::Args;
use serde::ser::{SerializeMap, Serializer};
use traceloom_formats::{Record, RecordSink};
use traceloom_model::{Flow, Level, Note, printable};

use crate::Outcome;
use crate::args::Common;
use crate::fields::{Json, plain};
use crate::info::note_json;
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
    #[arg(long, value_name = "BYTE", default_value_t = 0)]
    start: u64,
    /// Stop after so many records of a part; 0 prints all, as without it.
    #[arg(short = 'n', long, value_name = "N")]
    limit_records: Option<u64>,
    /// Add the texts that ids stand for, as `FIELD_text`.
    #[arg(long)]
    resolve: bool,
    /// Only parts whose name contains this.
    #[arg(long, value_name = "TEXT")]
    part: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let limits = options.common.limits()?;
    let style = Style::new(&options.common)?;
    let mut out = BufWriter::with_capacity(1 << 16, stdout());
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
            if !wanted {
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

struct Printer<'p, W: Write> {
    options: &'p Options,
    style: &'p Style,
    out: &'p mut W,
    part: Option<&'p str>,
    names: Option<&'p RowTable>,
    left: Option<u64>,
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
        let place = self.style.dim(format!("{:>10}", record.offset()));
        write!(self.out, "{place} {}", self.style.bold(record.kind()))?;
        let mut written = Ok(());
        let texts = self.options.resolve.then_some(RecordTexts {
            record,
            names: self.names,
        });
        record.fields(&mut |name, field| {
            if written.is_ok() {
                let shown = texts.as_ref().map(|texts| texts.plain(&field));
                let shown = shown.unwrap_or_else(|| plain(&field));
                written = write!(self.out, " {}={shown}", printable(name));
            }
        });
        written?;
        writeln!(self.out)?;
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
