//! Every recording of the inputs onto one timeline.

use traceloom_analysis::timeline::{Collector, Timeline};

use crate::inputs::{Inputs, OpenInput, ReadFlags};
use crate::read_plan::RecordingReader;
use crate::select::CallFlags;
use crate::streams::message;

/// Reads the inputs that can be opened; at most about so many of their spans, events and samples are held one by one, and of each
/// recording so many tracks have a line of their own.
pub(crate) fn read(
    calls: &CallFlags,
    flags: &ReadFlags,
    inputs: &mut Inputs<'_>,
    (most, tracks): (usize, Option<usize>),
) -> anyhow::Result<Timeline> {
    let mut timeline = Timeline::holding(most);
    let windowed = flags.time.is_bounded() || !calls.is_empty();
    for input in inputs.all()? {
        let notes = input.read(|recording| {
            let mut collector = Collector::holding(most);
            if let Some(tracks) = tracks {
                collector = collector.with_tracks(tracks);
            }
            let notes = recording.lower_chosen(calls, &mut collector)?;
            timeline.add(title(&input, recording), collector, windowed);
            Ok(notes)
        })?;
        if !flags.common.again {
            inputs.doubt(&input.input, &notes);
        }
    }
    flags.check_names()?;
    let selection = calls.selection(&flags.common)?;
    if !calls.is_empty() && timeline.totals().spans == 0 && !flags.common.again {
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

/// Returns what a recording of an input is called.
pub(crate) fn title<'r>(input: &'r OpenInput<'_>, recording: &'r RecordingReader<'_>) -> &'r str {
    match input.is_one {
        true => name(input.path()),
        false => recording.file(),
    }
}

fn name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}
