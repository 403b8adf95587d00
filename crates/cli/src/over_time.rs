//! When the nodes of trees ran: the strip of a page, of which a range can be chosen.

use traceloom_analysis::{OverTime, OverTimeCollector};
use traceloom_formats::datakit::value_names;
use traceloom_model::Notes;

use crate::read_plan::RecordingReader;
use crate::trees::TreeFlags;

/// Returns what collects the times of a recording, which are added to those of earlier ones. Trees of which functions are
/// hidden or adjusted, of groups and of async tracks have none.
pub(crate) fn collector(
    flags: &TreeFlags,
    recording: &RecordingReader<'_>,
    earlier: &[OverTime],
) -> Option<OverTimeCollector> {
    let value = flags.value.as_deref();
    let values = value.map(|word| value_names(word, recording.file()));
    has_times(flags).then(|| {
        let collector = OverTimeCollector::new(values.unwrap_or_default(), flags.lines);
        collector.after(earlier)
    })
}

fn has_times(flags: &TreeFlags) -> bool {
    let is_whole = flags.frames.is_empty() && flags.adjust.is_empty() && flags.by.is_none();
    is_whole && !flags.lanes
}

/// Reads the inputs once more, for their times.
pub(crate) fn read(flags: &TreeFlags) -> anyhow::Result<Vec<OverTime>> {
    let mut all = Vec::new();
    if !has_times(flags) {
        return Ok(all);
    }
    let mut again = flags.read.clone();
    again.common.again = true;
    for input in again.inputs().all()? {
        input.read(|recording| {
            let Some(mut collector) = collector(flags, recording, &all) else {
                return Ok(Notes::default());
            };
            let notes = recording.lower_chosen_samples(&flags.calls, &mut collector)?;
            collector.finish(&mut all);
            Ok(notes)
        })?;
    }
    Ok(all)
}
