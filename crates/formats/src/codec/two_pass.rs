//! Parts read twice: a survey of all of a part, then its rows.

use traceloom_model::{Clock, Flow, Limits, Note, Order, PartId, Sink, Tables};

use crate::codec::CountedNotes;
use crate::{Error, Pull, Source};

/// Reads a part before its rows; none when the taker of notes broke.
pub(crate) type Survey<S> =
    fn(&mut dyn Pull, &Limits, &mut dyn FnMut(Note) -> Flow) -> Result<Option<S>, Error>;

/// Lowers every part of a source, each a recording of its own; the clock is what the first one says.
///
/// # Errors
/// What the source fails with.
pub(crate) fn lower<S>(
    source: &dyn Source,
    limits: &Limits,
    sink: &mut dyn Sink,
    survey: Survey<S>,
    begin: impl Fn(&S, &mut Tables) -> (Order, Clock),
    rows: impl Fn(
        S,
        &mut dyn Pull,
        (&mut Tables, &mut CountedNotes),
        &mut dyn Sink,
    ) -> Result<Flow, Error>,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    let mut begun = false;
    for part in 0..source.parts().len() {
        let id = PartId::nth(part);
        let mut note = |note| sink.note(Note { part: id, ..note });
        let mut pull = source.open(part, 0)?;
        let surveyed = survey(pull.as_mut(), limits, &mut note)?;
        drop(pull);
        let Some(surveyed) = surveyed else { break };
        if !std::mem::replace(&mut begun, true) {
            let (order, clock) = begin(&surveyed, &mut tables);
            sink.begin(order, clock);
        }
        let mut pull = source.open(part, 0)?;
        let mut tally = CountedNotes::default();
        let to = (&mut tables, &mut tally);
        if rows(surveyed, pull.as_mut(), to, sink)?.is_break() {
            break;
        }
        let mut notes = tally.into_notes();
        if !notes.all(|note| sink.note(Note { part: id, ..note }).is_continue()) {
            break;
        }
    }
    Ok(())
}
