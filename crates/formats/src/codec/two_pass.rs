//! Parts read twice: a survey of all of a part, then its rows.

use traceloom_model::bounds::row_number;
use traceloom_model::{Clock, Flow, Limits, Note, Order, PartId, Sink, Tables};

use crate::codec::CountedNotes;
use crate::{Error, Pull, Source};

/// One of the two times that a part is read.
pub(crate) struct Pass<'s> {
    pub(crate) source: &'s dyn Source,
    /// All passes over the parts of a source are numbered in their order.
    pub(crate) number: u32,
    pub(crate) pull: Box<dyn Pull + 's>,
}

impl<'s> Pass<'s> {
    /// The number of passes over a part.
    pub(crate) const COUNT: usize = 2;

    /// # Errors
    /// What the source fails with.
    fn open(source: &'s dyn Source, part: usize, nth: usize) -> Result<Self, Error> {
        Ok(Self {
            source,
            number: row_number(part * Self::COUNT + nth),
            pull: source.open(part, 0)?,
        })
    }
}

/// Lowers every part of a source, each a recording of its own; the clock is what the first one says.
///
/// `survey` reads a part before its rows, and returns none when the taker of notes broke.
///
/// # Errors
/// What the source fails with.
pub(crate) fn lower<S>(
    source: &dyn Source,
    limits: &Limits,
    sink: &mut dyn Sink,
    survey: impl Fn(&mut Pass<'_>, &Limits, &mut dyn FnMut(Note) -> Flow) -> Result<Option<S>, Error>,
    begin: impl Fn(&S, &mut Tables) -> (Order, Clock),
    rows: impl Fn(
        S,
        &mut Pass<'_>,
        (&mut Tables, &mut CountedNotes),
        &mut dyn Sink,
    ) -> Result<Flow, Error>,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    let mut begun = false;
    for part in 0..source.parts().len() {
        let id = PartId::nth(part);
        let mut note = |note| sink.note(Note { part: id, ..note });
        let surveyed = survey(&mut Pass::open(source, part, 0)?, limits, &mut note)?;
        let Some(surveyed) = surveyed else { break };
        if !std::mem::replace(&mut begun, true) {
            let (order, clock) = begin(&surveyed, &mut tables);
            sink.begin(order, clock);
        }
        let mut pass = Pass::open(source, part, 1)?;
        let mut tally = CountedNotes::default();
        let to = (&mut tables, &mut tally);
        if rows(surveyed, &mut pass, to, sink)?.is_break() {
            break;
        }
        let mut notes = tally.into_notes();
        if !notes.all(|note| sink.note(Note { part: id, ..note }).is_continue()) {
            break;
        }
    }
    Ok(())
}
