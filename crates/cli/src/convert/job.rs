//! One conversion: inputs through one writer, and the report.

use std::io::Write;
use std::path::Path;

use traceloom_analysis::loss::{Losses, Lost};
use traceloom_analysis::stage::Redaction;
use traceloom_formats::{ErrorKind, Format, Output, RaiseOptions, Source, native_conversion};
use traceloom_input::Input;
use traceloom_input::save::{Save, Stdout};
use traceloom_model::{Clock, Concat, Feature, Flow, Level, Note, Notes};

use super::JobFlags;
use super::archive::{NoOutput, SpooledFolder};
use super::reading::{RecordingFeed, RowCounts};
use crate::Outcome;
use crate::args::Common;
use crate::columnar;
use crate::lowered::{documents, lower, mention};
use crate::numbers::{count, size};
use crate::open::{open, with_progress};
use crate::pick::Pick;
use crate::read_plan::ReadPlan;
use crate::streams::{error_line, stdout};
use crate::usage::Usage;

/// An output that is not kept.
const NOWHERE: &str = "/dev/null";

/// One conversion.
pub(crate) struct Job<'o> {
    pub(crate) inputs: &'o [String],
    pub(crate) output: &'o str,
    pub(crate) flags: &'o JobFlags,
    pub(crate) pick: &'o Pick,
    pub(crate) common: &'o Common,
}

/// What was lost, and the formats it came from.
type Written = (Losses, Vec<&'static str>);

impl Job<'_> {
    pub(crate) fn open(&self) -> anyhow::Result<Vec<Input>> {
        self.inputs
            .iter()
            .map(|path| open(path, self.common))
            .collect()
    }

    /// Writes `inputs` as `target` and reports what was lost.
    pub(crate) fn write(
        &self,
        inputs: &[Input],
        target: &'static Format,
        variant: Option<String>,
    ) -> anyhow::Result<Outcome> {
        let documents = inputs.iter().flat_map(Input::documents);
        let sources = documents.filter_map(|document| Some(document.format()?.name));
        let raise = RaiseOptions {
            variant,
            sources: sources.collect(),
        };
        let (losses, from) = if target.is_folder() && self.output == "-" {
            let mut folder = SpooledFolder::new()?;
            let done = self.convert(inputs, target, &raise, &mut folder)?;
            self.refuse(target, &done.0)?;
            folder.print()?;
            done
        } else if target.is_folder() && self.output == NOWHERE {
            let done = self.convert(inputs, target, &raise, &mut NoOutput)?;
            self.refuse(target, &done.0)?;
            done
        } else if self.output == "-" {
            let mut out = Stdout::default();
            let done = self.convert(inputs, target, &raise, &mut out)?;
            self.refuse(target, &done.0)?;
            out.flush()?;
            done
        } else {
            let folder = target.is_folder();
            let mut save = Save::start(Path::new(self.output), folder, self.flags.force)?;
            let done = self.convert(inputs, target, &raise, &mut save)?;
            self.refuse(target, &done.0)?;
            let written = save.written();
            save.commit()?;
            if !self.flags.json {
                error_line(format_args!(
                    "{}: {} as {}",
                    self.output,
                    size(written),
                    target.name
                ));
                if let Some(told) = shorter(target, &raise, written) {
                    error_line(format_args!("{told}"));
                }
            }
            done
        };
        self.report(&from, target, &losses)?;
        Ok(Outcome::Done)
    }

    fn convert(
        &self,
        inputs: &[Input],
        target: &'static Format,
        raise: &RaiseOptions,
        out: &mut (dyn Output + Send),
    ) -> anyhow::Result<Written> {
        self.pick.check(target)?;
        if let [input] = inputs
            && self.pick.is_empty()
            && raise.variant.is_none()
            && let Some(done) = self.rewrite(input, target, out)?
        {
            return Ok(done);
        }
        let Pick { time, methods, .. } = self.pick;
        let plan = ReadPlan::new(time, methods.rules()?, self.common, (1..).zip(inputs))?;
        let recordings = inputs
            .iter()
            .map(|input| input.documents().count())
            .sum::<usize>();
        if recordings > 1 {
            self.check_clocks(inputs, target, &plan)?;
        }
        let redaction = self.redaction(inputs)?;
        let make = columnar::raise_of(target)
            .ok_or_else(|| anyhow::anyhow!("`{}` is not written", target.name))?;
        // All that a writer refuses before it has seen anything is what was typed.
        let mut writer = make(raise, out).map_err(|error| match error.kind() {
            ErrorKind::Usage => anyhow::Error::from(Usage(error.to_string())),
            _ => error.into(),
        })?;
        let all = Concat::new(writer.as_mut());
        let mut all = match recordings {
            0 | 1 => all.of_one(),
            _ => all.of_many(),
        };
        let mut done = Written::default();
        let mut told = RowCounts::default();
        for (number, input) in (1..).zip(inputs) {
            let mut notes: Vec<Notes> = Vec::new();
            with_progress(input, "converting", || {
                for document in documents(input)? {
                    done.1.extend(document.format().map(|format| format.name));
                    let parts = document.parts().len();
                    let feed = RecordingFeed {
                        job: self,
                        redaction: &redaction,
                        target,
                        holds: target.holds.of_variant(raise.variant.as_deref()),
                        recording: plan.recording(number, input, document),
                    };
                    notes.push(feed.pass(&mut all, &mut done.0, &mut told)?);
                    all.next_recording(parts);
                }
                Ok(())
            })?;
            mention(input, &notes);
        }
        self.pick.time.check_names(self.common)?;
        told.check(self.pick, target, self.inputs)?;
        if told.is_empty() && !self.pick.calls.is_empty() {
            self.common.asked.say_none_passes();
        }
        writer.finish()?;
        for (feature, names) in writer.left_out() {
            let names = names.into_iter().map(|row| (row.name, row.count));
            let holds = target.holds.of_variant(raise.variant.as_deref());
            done.0.take_left_out(holds, feature, names);
        }
        done.1.sort_unstable();
        done.1.dedup();
        Ok(done)
    }

    /// Refuses to put recordings beside each other whose distance in time nobody knows.
    fn check_clocks(
        &self,
        inputs: &[Input],
        target: &Format,
        plan: &ReadPlan<'_>,
    ) -> anyhow::Result<()> {
        const TIMED: [Feature; 4] = [
            Feature::Spans,
            Feature::SampleTimes,
            Feature::Events,
            Feature::Counters,
        ];
        if !TIMED.into_iter().any(|feature| target.holds.holds(feature)) {
            return Ok(());
        }
        for (number, input) in (1..).zip(inputs) {
            let documents = documents(input)?;
            let several = documents.len() > 1;
            for document in documents {
                let recording = plan.recording(number, input, document);
                if recording.clock()? == Clock::Unix {
                    continue;
                }
                let name = match several {
                    true => recording.file(),
                    false => input.path(),
                };
                anyhow::bail!(
                    "{name}: its clock counts from a time nobody recorded, so it cannot be put beside the others; \
                     say where it belongs with --shift '{name}=+0s', or write it by itself"
                );
            }
        }
        Ok(())
    }

    /// Learns from every input what is to be taken out, before the first byte is written.
    fn redaction(&self, inputs: &[Input]) -> anyhow::Result<Redaction> {
        let mut redaction = self.pick.redaction()?;
        if redaction.is_empty() {
            return Ok(redaction);
        }
        let options = self.common.lower_options()?;
        for input in inputs {
            with_progress(input, "looking for names", || {
                for document in documents(input)? {
                    lower(&document, &options, self.common, &mut redaction.learn())?;
                }
                Ok(())
            })?;
        }
        Ok(redaction)
    }

    /// Rewrites record by record, without the model, where the two formats hold the same records.
    fn rewrite(
        &self,
        input: &Input,
        target: &'static Format,
        out: &mut (dyn Output + Send),
    ) -> anyhow::Result<Option<Written>> {
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
            let stop = self.common.strict && note.level == Level::Damage;
            notes.push(note);
            if stop {
                Flow::Break(())
            } else {
                Flow::Continue(())
            }
        };
        let changes = convert(pull.as_mut(), &self.common.limits()?, out, &mut keep)?;
        if self.common.strict && notes.worst() == Some(Level::Damage) {
            anyhow::bail!("{}: damaged; `traceloom check` says where", input.path());
        }
        mention(input, &[notes]);
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

    fn refuse(&self, target: &Format, losses: &Losses) -> anyhow::Result<()> {
        if self.flags.deny_loss && !losses.lost.is_empty() {
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

    fn report(&self, from: &[&str], target: &Format, losses: &Losses) -> anyhow::Result<()> {
        let row = |entry: &Lost| serde_json::json!({"kind": entry.kind, "field": entry.field, "count": entry.count, "example": entry.example});
        if self.flags.json {
            let object = serde_json::json!({
                "from": from.join("+"),
                "to": target.name,
                "lost": losses.lost.iter().map(row).collect::<Vec<_>>(),
                "changed": losses.changed.iter().map(row).collect::<Vec<_>>(),
            });
            writeln!(stdout(), "{object}")?;
            return Ok(());
        }
        if !self.flags.losses {
            if let Some(line) = summary(losses) {
                error_line(format_args!("{line}"));
            }
            return Ok(());
        }
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
                error_line(format_args!(
                    "{word} {}{field} ×{}{example}",
                    entry.kind,
                    count(entry.count)
                ));
            }
        }
        let mut values = losses.lost.iter();
        if let Some(value) =
            values.find(|lost| lost.kind == Feature::ManyValues.name() && !lost.field.is_empty())
        {
            let mut variants = target.holds.variants().iter();
            let is_named = variants.any(|variant| variant.name == "value=NAME");
            let flag = if is_named { "value=" } else { "" };
            error_line(format_args!(
                "{} holds one value; `--to '{}:{flag}{}'` writes another",
                target.name, target.name, value.field
            ));
        }
        Ok(())
    }
}

/// Says how a file that came out long would be shorter: with every sample it is hundreds of times as long as profilers write it.
fn shorter(target: &Format, raise: &RaiseOptions, written: u64) -> Option<String> {
    const LONG: u64 = 16 << 20;
    let mut variants = target.holds.variants().iter();
    let sums = variants.find(|variant| variant.name == "sums")?;
    let is_long = raise.variant.is_none() && written >= LONG;
    is_long.then(|| format!("--to {}:{} writes {}", target.name, sums.name, sums.about))
}

/// Kinds of losses named in the line that sums them up.
const NAMED: usize = 6;

/// Sums up what was lost and changed in a line, kinds in the order of the report; `None` where it was nothing.
fn summary(losses: &Losses) -> Option<String> {
    let parts = [("lost", &losses.lost), ("changed", &losses.changed)];
    let parts = parts.into_iter().filter(|(_, entries)| !entries.is_empty());
    let parts: Vec<String> = parts
        .map(|(word, entries)| format!("{word} {}", by_kind(entries)))
        .collect();
    (!parts.is_empty()).then(|| format!("{}; --losses lists them", parts.join("; ")))
}

fn by_kind(entries: &[Lost]) -> String {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for entry in entries {
        match kinds.iter_mut().find(|(kind, _)| *kind == entry.kind) {
            Some((_, sum)) => *sum = sum.saturating_add(entry.count),
            None => kinds.push((entry.kind, entry.count)),
        }
    }
    let named = kinds.iter().take(NAMED);
    let mut words: Vec<String> = named
        .map(|(kind, sum)| format!("{kind} ×{}", count(*sum)))
        .collect();
    let more = kinds.len() - words.len();
    if more > 0 {
        words.push(format!("{more} kinds more"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::format_named;

    #[test]
    fn a_long_profile_says_how_it_would_be_shorter() {
        let told = |format, variant: Option<&str>, written| {
            let raise = RaiseOptions {
                variant: variant.map(str::to_owned),
                ..RaiseOptions::default()
            };
            shorter(format_named(format).unwrap(), &raise, written)
        };
        let said = "--to pprof:sums writes samples added up that differ in time alone";
        assert_eq!(told("pprof", None, 1 << 30).as_deref(), Some(said));
        assert_eq!(told("pprof", None, 1 << 20), None);
        assert_eq!(told("pprof", Some("sums"), 1 << 30), None);
        assert_eq!(told("chrome", None, 1 << 30), None);
    }
}
