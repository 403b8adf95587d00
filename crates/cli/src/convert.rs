//! `convert`: any format to any other, with what was lost.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use traceloom_analysis::loss::{Loss, Losses, Lost};
use traceloom_formats::{
    FORMATS, Format, LowerOptions, Output, Part, RaiseOptions, Source, native_conversion,
};
use traceloom_input::save::{Save, Stdout};
use traceloom_input::{Input, piped};
use traceloom_model::{Concat, Flow, Level, Note, Notes};

use crate::Outcome;
use crate::args::{Common, Usage, nearest};
use crate::columnar;
use crate::lowered::{documents, lower, mention};
use crate::open::{open, with_progress};
use crate::style::{Style, count, size};

/// Write the data in another format, and say what that format cannot hold.
#[derive(Args)]
#[command(
    after_help = "The target's format is --to, or what the output's extension says. The loss report goes to\n\
    standard error, or to standard output with --json.\n\nExamples:\n  \
    traceloom convert dump/ out/ --to cdt-streams\n  \
    traceloom convert capture.tcpdump streams/ --to cdt-streams --deny-loss\n  \
    traceloom convert a.pprof b.pprof -o both.folded\n  \
    traceloom convert --to list"
)]
pub(crate) struct Options {
    /// Inputs, then the output unless -o names it.
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Format to write, and a variant of it after a colon; `list` prints them.
    #[arg(long, value_name = "NAME[:VARIANT]")]
    to: Option<String>,
    /// Output, `-` for standard output.
    #[arg(short, long, value_name = "PATH")]
    output: Option<String>,
    /// Overwrite the output.
    #[arg(long)]
    force: bool,
    /// Fail when anything is lost, and write nothing.
    #[arg(long)]
    deny_loss: bool,
    /// Print the loss report as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.to.as_deref() == Some("list") {
        return list();
    }
    let (inputs, output) = inputs_and_output(options)?;
    let (target, variant) = target(options.to.as_deref(), output)?;
    let raise = RaiseOptions { variant };
    let (losses, from) = if output == "-" {
        let mut out = Stdout::default();
        let done = write(options, inputs, target, &raise, &mut out)?;
        refuse(options, target, &done.0)?;
        out.flush()?;
        done
    } else {
        let folder = target.set.is_some();
        let mut save = Save::start(Path::new(output), folder, options.force)?;
        let done = write(options, inputs, target, &raise, &mut save)?;
        refuse(options, target, &done.0)?;
        let written = save.written();
        save.commit()?;
        if !options.json {
            eprintln!("{output}: {} as {}", size(written), target.name);
        }
        done
    };
    report(options, &from, target, &losses)?;
    Ok(Outcome::Done)
}

fn list() -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    for format in FORMATS.iter().filter(|format| format.raise.is_some()) {
        let extension = format
            .extensions
            .first()
            .map_or_else(String::new, |e| format!(".{e}"));
        writeln!(out, "{:18} {extension:12} {}", format.name, format.title)?;
    }
    Ok(Outcome::Done)
}

fn inputs_and_output(options: &Options) -> anyhow::Result<(&[String], &str)> {
    let usage = "name an input and an output: convert IN… OUT, or convert IN… -o OUT";
    let (inputs, output) = match (&options.output, options.paths.as_slice()) {
        (Some(output), inputs @ [_, ..]) => (inputs, output),
        (None, [inputs @ .., output]) if !inputs.is_empty() => (inputs, output),
        _ => return Err(Usage(usage.to_owned()).into()),
    };
    if output == "-" && options.json {
        return Err(Usage("--json and an output of - both want standard output".to_owned()).into());
    }
    Ok((inputs, output))
}

fn target(to: Option<&str>, output: &str) -> anyhow::Result<(&'static Format, Option<String>)> {
    let writable = || {
        FORMATS
            .iter()
            .copied()
            .filter(|format| format.raise.is_some())
    };
    if let Some(to) = to {
        let (name, variant) = to.split_once(':').map_or((to, None), |(name, variant)| {
            (name, Some(variant.to_owned()))
        });
        if let Some(format) = writable().find(|format| format.name == name) {
            return Ok((format, variant));
        }
        let known = FORMATS.iter().any(|format| format.name == name);
        let near = nearest(name, writable().map(|format| format.name));
        let reason = match near {
            _ if known => format!("`{name}` is read, not written; `--to list` prints the targets"),
            Some(near) => format!("there is no target `{name}`; did you mean `{near}`?"),
            None => format!("there is no target `{name}`; `--to list` prints them"),
        };
        return Err(Usage(reason).into());
    }
    let plain = output.strip_suffix(".gz").unwrap_or(output);
    // The longest extension is the most particular one: `x.speedscope.json` is no Chrome trace.
    let fits = |format: &'static Format| {
        let suffix = |extension: &&&str| plain.ends_with(&format!(".{extension}"));
        let longest = format
            .extensions
            .iter()
            .filter(suffix)
            .map(|e| e.len())
            .max();
        longest.map(|length| (Reverse(length), format))
    };
    let found = writable()
        .filter_map(fits)
        .min_by_key(|&(length, _)| length);
    let found = found.map(|(_, format)| format);
    let reason = || {
        Usage(format!(
            "no target has the extension of `{output}`; choose one with --to"
        ))
    };
    found
        .map(|format| (format, None))
        .ok_or_else(|| reason().into())
}

fn write(
    options: &Options,
    paths: &[String],
    target: &'static Format,
    raise: &RaiseOptions,
    out: &mut (dyn Output + Send),
) -> anyhow::Result<(Losses, Vec<&'static str>)> {
    let inputs: Vec<Input> = paths
        .iter()
        .map(|path| open(path, &options.common))
        .collect::<Result<_, _>>()?;
    if let [input] = inputs.as_slice()
        && let Some(done) = rewrite(options, input, target, out)?
    {
        return Ok(done);
    }
    let mut from: Vec<&'static str> = Vec::new();
    let make = columnar::raise_of(target)
        .ok_or_else(|| anyhow::anyhow!("`{}` is not written", target.name))?;
    let mut writer = make(raise, out)?;
    let mut loss = Loss::new(writer.as_mut(), target.holds);
    {
        let mut all = Concat::new(&mut loss);
        if inputs
            .iter()
            .map(|input| input.documents().count())
            .sum::<usize>()
            > 1
        {
            all = all.of_many();
        }
        for input in &inputs {
            let mut notes: Vec<Notes> = Vec::new();
            with_progress(input, "converting", || {
                for document in documents(input)? {
                    from.extend(document.format().map(|format| format.name));
                    let lowering = LowerOptions {
                        limits: options.common.limits()?,
                        ..LowerOptions::default()
                    };
                    notes.push(piped(&mut all, |sink| {
                        lower(&document, &lowering, &options.common, sink)
                    })?);
                    let parts: &[Part] = document.parts();
                    all.next_recording(parts.len());
                }
                Ok(())
            })?;
            mention(input.path(), &notes);
        }
    }
    let losses = loss.finish();
    writer.finish()?;
    from.sort_unstable();
    from.dedup();
    Ok((losses, from))
}

/// Rewrites record by record, without the model, where the two formats hold the same records.
fn rewrite(
    options: &Options,
    input: &Input,
    target: &'static Format,
    out: &mut (dyn Output + Send),
) -> anyhow::Result<Option<(Losses, Vec<&'static str>)>> {
    let documents: Vec<_> = input.documents().collect();
    let [document] = documents.as_slice() else {
        return Ok(None);
    };
    let Some(format) = document.format() else {
        return Ok(None);
    };
    let Some(convert) = native_conversion(format.name, target.name) else {
        return Ok(None);
    };
    let mut pull = document.open(0, 0)?;
    let mut notes = Notes::default();
    let mut keep = |note: Note| {
        let stop = options.common.strict && note.level == Level::Damage;
        notes.push(note);
        if stop {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    };
    let changes = convert(pull.as_mut(), &options.common.limits()?, out, &mut keep)?;
    if options.common.strict && notes.worst() == Some(Level::Damage) {
        anyhow::bail!("{}: damaged; `traceloom check` says where", input.path());
    }
    mention(input.path(), &[notes]);
    let mut losses = Losses::default();
    for change in changes {
        let entry = Lost {
            kind: change.kind,
            field: change.field.to_owned(),
            count: change.count,
            example: format!("offset {:#x}", change.offset),
        };
        if change.lost {
            losses.lost.push(entry)
        } else {
            losses.changed.push(entry)
        }
    }
    Ok(Some((losses, vec![format.name])))
}

fn refuse(options: &Options, target: &Format, losses: &Losses) -> anyhow::Result<()> {
    if options.deny_loss && !losses.lost.is_empty() {
        let first: Vec<String> = losses
            .lost
            .iter()
            .map(|lost| format!("{} {}", count(lost.count), lost.kind))
            .collect();
        anyhow::bail!(
            "--deny-loss: {} cannot hold {}",
            target.name,
            first.join(", ")
        );
    }
    Ok(())
}

fn report(
    options: &Options,
    from: &[&str],
    target: &Format,
    losses: &Losses,
) -> anyhow::Result<()> {
    let row = |entry: &Lost| serde_json::json!({"kind": entry.kind, "field": entry.field, "count": entry.count, "example": entry.example});
    if options.json {
        let object = serde_json::json!({
            "from": from.join("+"),
            "to": target.name,
            "lost": losses.lost.iter().map(row).collect::<Vec<_>>(),
            "changed": losses.changed.iter().map(row).collect::<Vec<_>>(),
        });
        writeln!(io::stdout().lock(), "{object}")?;
        return Ok(());
    }
    let style = Style::new(&options.common)?;
    for (word, entries) in [("lost", &losses.lost), ("changed", &losses.changed)] {
        for entry in entries {
            let field = if entry.field.is_empty() {
                String::new()
            } else {
                format!(" {}", entry.field)
            };
            let example = if entry.example.is_empty() {
                String::new()
            } else {
                format!(", such as {}", entry.example)
            };
            eprintln!(
                "{} {}{field} ×{}{example}",
                style.bold(word),
                entry.kind,
                count(entry.count)
            );
        }
    }
    Ok(())
}
