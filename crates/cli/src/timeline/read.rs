//! Every recording of the inputs onto one timeline.

use traceloom_analysis::timeline::{Collector, Timeline};
use traceloom_formats::Source as _;

use super::ReadFlags;
use crate::lowered::documents;
use crate::open::{Among, with_progress};
use crate::streams::message;
use crate::timing::Timing;

/// Reads the inputs that can be opened.
pub(crate) fn read(flags: &ReadFlags, among: &mut Among<'_>) -> anyhow::Result<Timeline> {
    let mut timeline = Timeline::default();
    let inputs = among.all()?;
    let timing = Timing::of(&flags.time, &flags.common, 1, &inputs)?;
    let methods = flags.methods.rules()?;
    let windowed = flags.time.is_bounded() || !flags.calls.is_empty();
    for (at, input) in inputs.iter().enumerate() {
        let mut notes = Vec::new();
        with_progress(input, "reading", || {
            let documents = documents(input)?;
            for document in &documents {
                let mut collector = Collector::default();
                notes.push(timing.lower_chosen(
                    &flags.calls,
                    (at, input),
                    document,
                    &methods,
                    &mut collector,
                )?);
                let part = document.parts().first().map_or("", |part| &part.name);
                let title = match documents.len() {
                    1 => name(input.path()),
                    _ => part,
                };
                timeline.add(title, collector, windowed);
            }
            Ok(())
        })?;
        if !flags.common.again {
            among.doubt(input, &notes);
        }
    }
    flags.time.check_names(&flags.common)?;
    let selection = flags.calls.selection(&flags.common)?;
    if !flags.calls.is_empty() && timeline.totals().spans == 0 && !flags.common.again {
        flags.common.asked.say_none_passes();
    }
    let of_calls = selection.min_duration > 0 || selection.errors;
    if timeline.totals().samples > 0 && of_calls && !flags.common.again {
        message!(
            "--min-duration and --errors choose calls; samples have neither length nor outcome and all \
             of them show"
        );
    }
    Ok(timeline)
}

fn name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}
