//! What a cumulative profile gained since an earlier one of the same program.

use std::collections::HashMap;
use std::fmt;

use traceloom_model::{Flow, Level, Limits};

use super::columns::{Label, Location, Samples, Tables};
use super::decode;
use crate::SlicePull;
use crate::protobuf::{put_bytes, put_number, put_packed, skip, tag, varint};

const SAMPLE: u32 = 2;
const TIME_NANOS: u32 = 9;
const DURATION_NANOS: u32 = 10;

/// Values that say what is, not what happened since the start: they are those of the later profile.
const CURRENT: [&[u8]; 2] = [b"inuse_objects", b"inuse_space"];

/// Why two profiles have no difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DifferenceError {
    /// One of them is damaged, or no profile.
    Damaged,
    /// The later one has less than the earlier one: the program was started again, or is another one.
    Restarted,
}

impl fmt::Display for DifferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "the profile is damaged",
            Self::Restarted => "the program was started again",
        })
    }
}

impl std::error::Error for DifferenceError {}

/// Subtracts a profile from a later one of the same program, both decompressed.
///
/// Samples are the same if their stacks and labels are, whatever their location ids. Of Go's heap profiles `inuse_objects` and
/// `inuse_space` stay as they are in the later profile. Samples that gained nothing are left out; all else of the later profile
/// is copied, but its time is the earlier one's, and its duration the time between them.
///
/// # Errors
/// [`DifferenceError::Damaged`] if one cannot be read to its end, [`DifferenceError::Restarted`] if any sum is smaller than it was.
pub fn difference(
    earlier: &[u8],
    later: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, DifferenceError> {
    let earlier = WholeProfile::read(earlier, limits)?;
    let body = later;
    let later = WholeProfile::read(later, limits)?;
    let types = |profile: &WholeProfile| -> Vec<Vec<u8>> {
        let types = profile.tables.sample_type.iter();
        types.map(|row| profile.text(row.r#type)).collect()
    };
    let names = types(&later);
    if types(&earlier) != names {
        return Err(DifferenceError::Restarted);
    }
    let mut places = HashMap::new();
    let mut before = earlier.sums(&mut places)?;
    let after = later.sums(&mut places)?;
    let mut gained: HashMap<Vec<u8>, Vec<i64>> = HashMap::new();
    for (key, values) in after {
        let subtracted = before.remove(&key).unwrap_or_default();
        let subtracted = subtracted.into_iter().chain(std::iter::repeat(0));
        let mut own = Vec::with_capacity(values.len());
        for ((value, less), name) in values.into_iter().zip(subtracted).zip(&names) {
            own.push(match CURRENT.contains(&&**name) {
                true => value,
                false => gain(value, less)?,
            });
        }
        gained.insert(key, own);
    }
    for values in before.values() {
        let is_cumulative = |(_, name): &(&i64, &Vec<u8>)| !CURRENT.contains(&&***name);
        let mut cumulative = values.iter().zip(&names).filter(is_cumulative);
        if cumulative.any(|(&value, _)| value != 0) {
            return Err(DifferenceError::Restarted);
        }
    }
    let times = (earlier.tables.time_nanos, later.tables.time_nanos);
    later
        .rewritten(body, gained, &mut places, times)
        .ok_or(DifferenceError::Damaged)
}

/// Returns what a sum gained.
fn gain(value: i64, less: i64) -> Result<i64, DifferenceError> {
    let gain = value.checked_sub(less).filter(|gain| *gain >= 0);
    gain.ok_or(DifferenceError::Restarted)
}

/// The numbers of places by what is known of them.
type Places = HashMap<Vec<u8>, u64>;

/// A profile in memory.
struct WholeProfile {
    tables: Tables,
    samples: Samples,
    /// Rows of `tables.location` and `tables.function` by their ids.
    locations: HashMap<u64, usize>,
    functions: HashMap<u64, usize>,
}

impl WholeProfile {
    fn read(bytes: &[u8], limits: &Limits) -> Result<Self, DifferenceError> {
        let mut is_damaged = false;
        let mut note = |note: traceloom_model::Note| {
            is_damaged |= note.level == Level::Damage;
            Flow::Continue(())
        };
        let tables = decode::tables(&mut SlicePull::new(bytes, 0), limits, &mut note);
        let tables = tables.ok().flatten().ok_or(DifferenceError::Damaged)?;
        let mut samples = Samples::default();
        let mut at = 0;
        while let Some((number, wire, next)) = head(bytes, at) {
            let end = skip(bytes, next, wire).ok_or(DifferenceError::Damaged)?;
            if number == SAMPLE {
                let body = crate::protobuf::delimited(bytes, next).map(|(body, _)| body);
                let pushed = body.and_then(|body| samples.push(at as u64, body));
                is_damaged |= pushed.is_none();
            }
            at = end;
        }
        if is_damaged || at != bytes.len() || tables.sample_type.is_empty() {
            return Err(DifferenceError::Damaged);
        }
        let locations = tables.location.iter().map(|row| row.id);
        let functions = tables.function.iter().map(|row| row.id);
        Ok(Self {
            locations: locations.zip(0..).collect(),
            functions: functions.zip(0..).collect(),
            tables,
            samples,
        })
    }

    fn text(&self, index: i64) -> Vec<u8> {
        self.tables.strings.get(index).unwrap_or_default().to_vec()
    }

    /// Returns the sums of the values of each stack with its labels.
    fn sums(&self, places: &mut Places) -> Result<HashMap<Vec<u8>, Vec<i64>>, DifferenceError> {
        let mut sums: HashMap<Vec<u8>, Vec<i64>> = HashMap::new();
        for row in 0..self.samples.len() {
            let sample = self.samples.get(row).ok_or(DifferenceError::Damaged)?;
            if sample.value.len() != self.tables.sample_type.len() {
                return Err(DifferenceError::Damaged);
            }
            let key = self.key(row, places).ok_or(DifferenceError::Damaged)?;
            match sums.get_mut(&key) {
                None => drop(sums.insert(key, sample.value.to_vec())),
                Some(sum) => {
                    for (sum, value) in sum.iter_mut().zip(sample.value) {
                        *sum = sum.checked_add(*value).ok_or(DifferenceError::Damaged)?;
                    }
                }
            }
        }
        Ok(sums)
    }

    /// Returns what tells a sample from others of both profiles: the numbers of its places, and its labels.
    fn key(&self, row: usize, places: &mut Places) -> Option<Vec<u8>> {
        let sample = self.samples.get(row)?;
        let mut key = Vec::new();
        put(&mut key, sample.location_id.len() as u64);
        for id in sample.location_id {
            let location = self.tables.location.get(*self.locations.get(id)?)?;
            let new = places.len() as u64;
            let place = self.place(location)?;
            put(&mut key, *places.entry(place).or_insert(new));
        }
        let mut labels: Vec<Vec<u8>> = sample.label.iter().map(|row| self.label(row)).collect();
        labels.sort_unstable();
        key.extend(labels.into_iter().flatten());
        Some(key)
    }

    /// Returns what a location is in any profile of the program.
    fn place(&self, location: &Location) -> Option<Vec<u8>> {
        let mut place = Vec::new();
        put(&mut place, location.address);
        for line in self.tables.lines.get(location.line.clone())? {
            put(&mut place, line.line.cast_unsigned());
            let function = self.functions.get(&line.function_id);
            let function = function.and_then(|&row| self.tables.function.get(row));
            for text in function.map_or([0; 3], |row| [row.name, row.system_name, row.filename]) {
                put_text(
                    &mut place,
                    self.tables.strings.get(text).unwrap_or_default(),
                );
            }
        }
        Some(place)
    }

    fn label(&self, label: &Label) -> Vec<u8> {
        let mut out = Vec::new();
        for text in [label.key, label.str, label.num_unit] {
            put_text(&mut out, self.tables.strings.get(text).unwrap_or_default());
        }
        put(&mut out, label.num.cast_unsigned());
        out
    }

    /// Returns the bytes of this profile with other values.
    fn rewritten(
        &self,
        bytes: &[u8],
        mut gained: HashMap<Vec<u8>, Vec<i64>>,
        places: &mut Places,
        (from, to): (i64, i64),
    ) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let (mut at, mut row) = (0, 0);
        while let Some((number, wire, next)) = head(bytes, at) {
            let end = skip(bytes, next, wire)?;
            match number {
                SAMPLE => {
                    // All samples of one key are one: the first has their gain.
                    let values = gained.remove(&self.key(row, places)?);
                    row += 1;
                    let is_left_out = |values: &Vec<i64>| values.iter().all(|&value| value == 0);
                    if let Some(values) = values.filter(|values| !is_left_out(values)) {
                        let (body, _) = crate::protobuf::delimited(bytes, next)?;
                        put_bytes(&mut out, SAMPLE, &with_values(body, &values)?);
                    }
                }
                TIME_NANOS | DURATION_NANOS => {}
                _ => out.extend_from_slice(bytes.get(at..end)?),
            }
            at = end;
        }
        put_number(&mut out, TIME_NANOS, from.cast_unsigned());
        let duration = to.saturating_sub(from).max(0);
        put_number(&mut out, DURATION_NANOS, duration.cast_unsigned());
        Some(out)
    }
}

/// Returns a sample's body with other values.
fn with_values(body: &[u8], values: &[i64]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some((number, wire, next)) = head(body, at) {
        let end = skip(body, next, wire)?;
        if number != SAMPLE {
            out.extend_from_slice(body.get(at..end)?);
        }
        at = end;
    }
    put_packed(
        &mut out,
        SAMPLE,
        values.iter().map(|value| value.cast_unsigned()),
    );
    Some(out)
}

/// Returns the number and kind of the field at `at`, and where its value begins.
fn head(bytes: &[u8], at: usize) -> Option<(u32, crate::protobuf::Wire, usize)> {
    let (raw, next) = varint(bytes, at)?;
    let (number, wire) = tag(raw)?;
    Some((number, wire, next))
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::protobuf::put_message;

    /// A heap profile whose functions get their ids in the order of `samples`: name, values, bytes of one object.
    fn heap(time: u64, samples: &[(&str, [i64; 4], u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut strings: Vec<&str> = vec![
            "",
            "alloc_objects",
            "alloc_space",
            "inuse_objects",
            "inuse_space",
            "bytes",
        ];
        for name in 1..5 {
            put_message(&mut out, 1, |body| put_number(body, 1, name));
        }
        for (id, (name, values, size)) in (1..).zip(samples) {
            put_message(&mut out, 2, |body| {
                put_packed(body, 1, [id].into_iter());
                put_packed(body, 2, values.iter().map(|value| value.cast_unsigned()));
                put_message(body, 3, |label| {
                    put_number(label, 1, 5);
                    put_number(label, 3, *size);
                });
            });
            put_message(&mut out, 4, |body| {
                put_number(body, 1, id);
                put_message(body, 4, |line| put_number(line, 1, id));
            });
            put_message(&mut out, 5, |body| {
                put_number(body, 1, id);
                put_number(body, 2, strings.len() as u64);
            });
            strings.push(name);
        }
        for text in strings {
            put_bytes(&mut out, 6, text.as_bytes());
        }
        put_number(&mut out, 9, time);
        out
    }

    /// Values by function and size of an object.
    fn rows(bytes: &[u8]) -> Vec<(String, [i64; 4])> {
        let read = WholeProfile::read(bytes, &Limits::default()).unwrap();
        let row = |at| {
            let sample = read.samples.get(at).unwrap();
            let location = &read.tables.location[read.locations[&sample.location_id[0]]];
            let function = read.tables.lines[location.line.start].function_id;
            let name = read.text(read.tables.function[read.functions[&function]].name);
            let name = String::from_utf8(name).unwrap();
            let size = sample.label[0].num;
            (format!("{name} {size}"), sample.value.try_into().unwrap())
        };
        (0..read.samples.len()).map(row).collect()
    }

    fn between(earlier: &[u8], later: &[u8]) -> Result<Vec<u8>, DifferenceError> {
        difference(earlier, later, &Limits::default())
    }

    #[test]
    fn what_was_allocated_is_subtracted_and_what_is_held_is_not() {
        let earlier = heap(
            1_000,
            &[
                ("a", [10, 100, 4, 40], 8),
                ("b", [1, 10, 1, 10], 8),
                ("a", [2, 64, 0, 0], 32),
            ],
        );
        let later = heap(
            61_000,
            &[
                ("new", [1, 9, 0, 0], 8),
                // Another size of object is another sample.
                ("a", [5, 160, 0, 0], 32),
                // Two of one key are one.
                ("a", [6, 60, 1, 11], 8),
                ("a", [10, 100, 0, 0], 8),
                ("b", [1, 10, 0, 0], 8),
            ],
        );
        let gained = between(&earlier, &later).unwrap();
        let expected = [
            ("new 8".to_owned(), [1, 9, 0, 0]),
            ("a 32".to_owned(), [3, 96, 0, 0]),
            ("a 8".to_owned(), [6, 60, 1, 11]),
        ];
        assert_eq!(rows(&gained), expected);
        let read = WholeProfile::read(&gained, &Limits::default()).unwrap();
        let times = (read.tables.time_nanos, read.tables.duration_nanos);
        assert_eq!(times, (1_000, 60_000));
        // A profile has nothing on itself but what it holds.
        assert_eq!(
            rows(&between(&later, &later).unwrap()),
            [("a 8".to_owned(), [0, 0, 1, 11])]
        );
    }

    #[test]
    fn a_program_that_was_started_again_is_told() {
        let earlier = heap(1, &[("a", [10, 100, 0, 0], 8)]);
        let less = heap(2, &[("a", [9, 100, 0, 0], 8)]);
        let gone = heap(2, &[("b", [90, 100, 0, 0], 8)]);
        for later in [less, gone] {
            assert_eq!(between(&earlier, &later), Err(DifferenceError::Restarted));
        }
        let mut other = Vec::new();
        put_message(&mut other, 1, |body| put_number(body, 1, 1));
        put_bytes(&mut other, 6, b"");
        put_bytes(&mut other, 6, b"cpu");
        assert_eq!(between(&earlier, &other), Err(DifferenceError::Restarted));
    }

    #[test]
    fn a_profile_that_is_cut_or_changed_is_an_error_or_a_profile() {
        let earlier = heap(1, &[("a", [10, 100, 0, 0], 8), ("b", [1, 2, 3, 4], 16)]);
        let later = heap(9, &[("b", [1, 2, 3, 4], 16), ("a", [12, 100, 0, 0], 8)]);
        for end in 0..later.len() {
            if let Ok(gained) = between(&earlier, &later[..end]) {
                assert!(WholeProfile::read(&gained, &Limits::default()).is_ok());
            }
            let mut changed = later.clone();
            changed[end] ^= 0x55;
            for (earlier, later) in [(&earlier, &changed), (&changed, &later)] {
                if let Ok(gained) = between(earlier, later) {
                    assert!(WholeProfile::read(&gained, &Limits::default()).is_ok());
                }
            }
        }
        for wrong in [&b""[..], b"not a profile", &[0xff; 40]] {
            assert_eq!(between(&earlier, wrong), Err(DifferenceError::Damaged));
        }
    }
}
