//! When the nodes of trees ran: the strip of a page, of which a range can be chosen.

use traceloom_analysis::{OverTime, OverTimeCollector};
use traceloom_formats::datakit::value_names;

use crate::trees::TreeFlags;

/// Reads the inputs once more, for their times. Trees of which functions are hidden or adjusted, of groups and of async
/// tracks have none.
pub(crate) fn read(flags: &TreeFlags) -> anyhow::Result<Vec<OverTime>> {
    let mut all = Vec::new();
    let is_whole = flags.frames.is_empty() && flags.adjust.is_empty() && flags.by.is_none();
    if !is_whole || flags.lanes {
        return Ok(all);
    }
    let mut again = flags.read.clone();
    again.common.again = true;
    for input in again.inputs().all()? {
        input.read(|recording| {
            let value = flags.value.as_deref();
            let values = value.map(|word| value_names(word, recording.file()));
            let mut collector = OverTimeCollector::new(values.unwrap_or_default(), flags.lines);
            let notes = recording.lower_chosen(&flags.calls, &mut collector)?;
            collector.finish(&mut all);
            Ok(notes)
        })?;
    }
    Ok(all)
}
