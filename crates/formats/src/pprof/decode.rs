//! The two passes over a profile: its tables, then its samples in blocks.

use std::ops::Range;

use traceloom_model::{Flow, Level, Limit, Limits, Note};

use super::columns::{Samples, Tables};
use super::schema::{PROFILE, SCHEMA};
use crate::codec::CountedNotes;
use crate::protobuf::{
    Content as FieldValueKind, FieldSplitter, MessagePiece, Split as FieldBytes, Tokens, each,
    each_field, malformed, packed, wrong_wire,
};
use crate::{Error, Pull};

const SAMPLE: u32 = 2;

/// Samples of a block: enough to share the cost of a batch.
const BLOCK_SAMPLES: usize = 4096;

/// Location ids, values and labels that a block may hold before it is handed over: few enough to stay in the cache.
const BLOCK_VALUES: usize = 1 << 15;

/// Reads everything but the samples.
///
/// Returns none when the taker of notes broke.
///
/// # Errors
/// What the pull fails with.
pub fn tables(
    pull: &mut dyn Pull,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<Tables>, Error> {
    let mut tables = Tables::default();
    let seen = pull.pull(0, 1)?.bytes.len();
    tables.reserve(seen);
    let mut tally = CountedNotes::default();
    let mut splitter = FieldSplitter::new(SCHEMA, limits);
    let whole = each_field(pull, &mut splitter, note, |field, note| {
        if field.number == SAMPLE {
            let end = field.offset + field.bytes.len() as u64;
            extend(&mut tables.sample, field.offset..end);
            return Flow::Continue(());
        }
        match take(&mut tables, field, limits, &mut tally) {
            Some(false) => Flow::Continue(()),
            _ => inspect(field, limits, note),
        }
    })?;
    if !whole {
        return Ok(None);
    }
    let invalid = tables.strings.invalid();
    if invalid > 0 {
        let text = "strings are not valid UTF-8, their bytes are kept";
        tally.add_many(Level::Warn, "invalid_text", 0, invalid, || text.to_owned());
    }
    for text in tally.into_notes() {
        if note(text).is_break() {
            return Ok(None);
        }
    }
    Ok(Some(tables))
}

/// Adds a sample to the stretches of the input that hold samples.
///
/// Writers put all samples in a row, or each behind the locations it is the first to use. What lies
/// between takes part in a stretch unless it is long: stepping over it costs less than opening the part
/// again at another place.
fn extend(stretches: &mut Vec<Range<u64>>, sample: Range<u64>) {
    const MOST: usize = 256;
    const GAP: u64 = 4 << 20;
    let many = stretches.len() >= MOST;
    match stretches.last_mut() {
        Some(last) if many || sample.start - last.end < GAP => last.end = sample.end,
        _ => stretches.push(sample),
    }
}

/// Reads the samples that begin before `until`, in blocks of at most 4,096.
///
/// Returns false when `see` or the taker of notes broke. Damage outside of samples has been noted by
/// [`tables`], which also says in [`Tables::sample`] where to open the pull and how far to read.
///
/// # Errors
/// What the pull fails with.
pub fn samples(
    pull: &mut dyn Pull,
    until: u64,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
    see: &mut dyn FnMut(&Samples) -> Flow,
) -> Result<bool, Error> {
    let mut block = Samples::default();
    let values = limits.size(Limit::Values);
    let whole = each(
        pull,
        &mut FieldSplitter::new(SCHEMA, limits),
        until,
        |piece| {
            let MessagePiece::Field(field) = piece else {
                return Flow::Continue(());
            };
            if field.number != SAMPLE {
                return Flow::Continue(());
            }
            let FieldValueKind::Len(body) = field.value else {
                return inspect(field, limits, note);
            };
            if body.len() > values && Tokens::new(values).parse(field.bytes, 0, &PROFILE).is_err() {
                return inspect(field, limits, note);
            }
            if block.push(field.offset, body) != Some(false) {
                inspect(field, limits, note)?;
            }
            let filled = block.location_id.len() + block.value.len() + block.label.len();
            if block.len() >= BLOCK_SAMPLES || filled >= BLOCK_VALUES {
                see(&block)?;
                block.clear();
            }
            Flow::Continue(())
        },
    )?;
    Ok(whole && see(&block).is_continue())
}

/// Adds a field to the tables.
///
/// Returns whether something in it was stepped over; none when it cannot be read.
fn take(
    tables: &mut Tables,
    field: &FieldBytes<'_>,
    limits: &Limits,
    tally: &mut CountedNotes,
) -> Option<bool> {
    let full = |rows: usize| rows >= limits.size(Limit::Table);
    let rows = match field.number {
        3 => tables.mapping.len(),
        4 => tables.location.len() + tables.lines.len(),
        5 => tables.function.len(),
        6 => tables.strings.len(),
        _ => 0,
    };
    if full(rows) {
        tally.add(Level::Damage, "limit_table", field.offset, || {
            format!("a table has more than {} entries", limits.of(Limit::Table))
        });
        return Some(false);
    }
    match (field.number, field.value) {
        (4, FieldValueKind::Len(body)) if body.len() > limits.size(Limit::Values) => {
            Tokens::new(limits.size(Limit::Values))
                .parse(field.bytes, 0, &PROFILE)
                .ok()?;
            tables.push_location(body)
        }
        (1, FieldValueKind::Len(body)) => {
            let (value_type, stepped) = Tables::value_type(body)?;
            tables.sample_type.push(value_type);
            Some(stepped)
        }
        (3, FieldValueKind::Len(body)) => tables.push_mapping(body),
        (4, FieldValueKind::Len(body)) => tables.push_location(body),
        (5, FieldValueKind::Len(body)) => tables.push_function(body),
        (6, FieldValueKind::Len(text)) => {
            string(tables, field.offset, text, limits, tally);
            Some(false)
        }
        (11, FieldValueKind::Len(body)) => {
            let (value_type, stepped) = Tables::value_type(body)?;
            tables.period_type = Some(value_type);
            Some(stepped)
        }
        (13, FieldValueKind::Len(run)) => {
            packed(run, &mut tables.comment, u64::cast_signed).map(|()| false)
        }
        (number, FieldValueKind::Varint(raw)) => {
            Some(scalar(tables, number, raw, field.offset, tally))
        }
        (number, _) => Some(other(number, field.offset, tally)),
    }
}

fn string(
    tables: &mut Tables,
    offset: u64,
    text: &[u8],
    limits: &Limits,
    tally: &mut CountedNotes,
) {
    if text.len() > limits.size(Limit::String) {
        tally.add(Level::Damage, "limit_string", offset, || {
            format!(
                "a string of {} bytes reads as empty, the limit is {}",
                text.len(),
                limits.of(Limit::String)
            )
        });
        return tables.strings.push(&[]);
    }
    if tables.strings.is_empty() && !text.is_empty() {
        tally.add(Level::Warn, "first_string", offset, || {
            "the first entry of the string table is not empty".to_owned()
        });
    }
    tables.strings.push(text);
}

fn scalar(
    tables: &mut Tables,
    number: u32,
    raw: u64,
    offset: u64,
    tally: &mut CountedNotes,
) -> bool {
    let value = raw.cast_signed();
    match number {
        7 => tables.drop_frames = value,
        8 => tables.keep_frames = value,
        9 => {
            if tables.time_nanos != 0 {
                tally.add(Level::Damage, "concatenated", offset, || {
                    "a second time: profiles were concatenated, their tables are mixed up"
                        .to_owned()
                });
            }
            tables.time_nanos = value;
        }
        10 => tables.duration_nanos = value,
        12 => tables.period = value,
        13 => tables.comment.push(value),
        14 => tables.default_sample_type = value,
        15 => tables.doc_url = value,
        number => return other(number, offset, tally),
    }
    false
}

/// A field the schema does not know is counted; one of a wrong wire type is looked at again.
fn other(number: u32, offset: u64, tally: &mut CountedNotes) -> bool {
    let known = (1..=15).contains(&number);
    if !known {
        tally.add(Level::Info, "unknown_field", offset, || {
            format!("field {number} is none of this reader's schema")
        });
    }
    known
}

/// Says what is wrong with a field that was left out or not used in full.
#[cold]
fn inspect(field: &FieldBytes<'_>, limits: &Limits, note: &mut dyn FnMut(Note) -> Flow) -> Flow {
    let mut tokens = Tokens::new(limits.size(Limit::Values));
    if let Err(error) = tokens.parse(field.bytes, field.offset, &PROFILE) {
        return note(malformed(field, &error));
    }
    match tokens.wrong_wire {
        Some((spec, offset)) => note(wrong_wire(spec, offset)),
        None => Flow::Continue(()),
    }
}
