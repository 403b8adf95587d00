//! What decoding a sealed capture showed: times of its events, counts, notes.
//!
//! The file `catalog` of a data folder has a line for each manifest that was decoded, with a checksum. It is an index: where a line is
//! missing or damaged, the manifest is decoded again. The last line of a capture counts.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::str::FromStr;

use super::{CaptureId, ContentHash, DataFolder};
use crate::Error;

/// The name of the file.
pub(super) const CATALOG: &str = "catalog";
/// The first word of a line. Lines of version 1 have no last start of a call.
const VERSION: &str = "2";
/// Hex digits of a line's checksum.
const CHECKSUM: usize = 16;
/// Lines that are replaced before the file is written again.
const MOST_REPLACED: usize = 1000;

/// Notes by their level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoteCounts {
    /// A choice was taken.
    pub info: u64,
    /// Doubtful data was kept.
    pub warn: u64,
    /// Bytes or meaning were lost.
    pub damage: u64,
}

/// What decoding a capture showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureFacts {
    /// Records of all parts.
    pub n_records: u64,
    /// What is wrong with it.
    pub notes: NoteCounts,
    /// Calls.
    pub n_calls: u64,
    /// Calls that failed.
    pub n_errors: u64,
    /// Nanoseconds that the longest call took.
    pub longest_ns: u64,
    /// First and last time of what has a date, in Unix nanoseconds of the sender's clock.
    pub times: Option<(i64, i64)>,
    /// First start and last end of a span, in nanoseconds of whatever clock the recording has.
    pub span_times: Option<(i64, i64)>,
    /// Last start of a call, by the same clock; `None` where there is no call, or nobody looked.
    pub last_start_ns: Option<i64>,
}

/// The facts of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsRow {
    /// The capture.
    pub id: CaptureId,
    /// The revision of its manifest.
    pub revision: u64,
    /// The hash of the manifest.
    pub manifest: ContentHash,
    /// The facts; `None` where the capture could not be decoded within the limits.
    pub facts: Option<CaptureFacts>,
}

/// Reads and writes the facts of a data folder.
#[derive(Clone, Debug)]
pub struct FactsCatalog {
    folder: DataFolder,
}

impl FactsCatalog {
    /// Returns the catalog of a data folder.
    #[must_use]
    pub fn of(folder: &DataFolder) -> Self {
        let folder = folder.clone();
        Self { folder }
    }

    /// Reads the facts of a data folder: the last row of each capture.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(folder: &DataFolder) -> Result<HashMap<CaptureId, FactsRow>, Error> {
        Self::of(folder).rows().map(|(rows, _)| rows)
    }

    /// Returns the last row of each capture, and the number of lines.
    fn rows(&self) -> Result<(HashMap<CaptureId, FactsRow>, usize), Error> {
        let path = self.folder.path().join(CATALOG);
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => drop(read.map_err(|error| Error::io(&path, error))?),
        }
        let mut rows = HashMap::new();
        let mut n_lines = 0;
        for line in bytes.split(|&byte| byte == b'\n') {
            n_lines += usize::from(!line.is_empty());
            if let Some(row) = FactsRow::of_line(line) {
                rows.insert(row.id, row);
            }
        }
        Ok((rows, n_lines))
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When the file cannot be written. What was written of a row does not count then.
    pub fn add(&self, rows: &[FactsRow]) -> Result<(), Error> {
        let _lock = self.folder.lock_changes(CATALOG)?;
        // An earlier write may have stopped within a line.
        let mut text = String::from("\n");
        for row in rows {
            let _ = writeln!(text, "{row}");
        }
        let path = self.folder.path().join(CATALOG);
        let file = File::options().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Error::io(&path, error))
    }

    /// Removes the rows that `keep` refuses, and replaced and damaged lines where they are many.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn tidy(&self, keep: impl Fn(CaptureId) -> bool) -> Result<(), Error> {
        let _lock = self.folder.lock_changes(CATALOG)?;
        let (mut rows, n_lines) = self.rows()?;
        rows.retain(|id, _| keep(*id));
        if n_lines - rows.len() < MOST_REPLACED.max(rows.len()) {
            return Ok(());
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by_key(|row| row.id);
        let mut text = String::new();
        for row in rows {
            let _ = writeln!(text, "{row}");
        }
        let (path, new) = (
            self.folder.path().join(CATALOG),
            self.folder.path().join("catalog.new"),
        );
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| Error::io(&path, error))
    }
}

/// Writes a number, or `-` for none.
struct OptionalNumber<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OptionalNumber<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("-"),
        }
    }
}

fn checksum(text: &str) -> String {
    let mut checksum = ContentHash::of(text.as_bytes()).to_string();
    checksum.truncate(CHECKSUM);
    checksum
}

impl fmt::Display for FactsRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{VERSION} {} {} {}", self.id, self.revision, self.manifest);
        if let Some(facts) = &self.facts {
            let NoteCounts { info, warn, damage } = facts.notes;
            let (first, last) = facts.times.unzip();
            let (first_span, last_span) = facts.span_times.unzip();
            let counts = [
                facts.n_records,
                info,
                warn,
                damage,
                facts.n_calls,
                facts.n_errors,
                facts.longest_ns,
            ];
            for count in counts {
                write!(text, " {count}")?;
            }
            for time in [first, last, first_span, last_span, facts.last_start_ns] {
                write!(text, " {}", OptionalNumber(time))?;
            }
        }
        write!(f, "{text} {}", checksum(&text))
    }
}

impl FactsRow {
    /// Reads a line; `None` where it is empty or damaged.
    pub(super) fn of_line(line: &[u8]) -> Option<Self> {
        std::str::from_utf8(line).ok()?.parse().ok()
    }
}

impl FromStr for FactsRow {
    type Err = &'static str;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (text, sum) = line.rsplit_once(' ').ok_or("it has no checksum")?;
        if checksum(text) != sum {
            return Err("its checksum does not hold");
        }
        row(text).ok_or("it has other fields")
    }
}

/// Reads the fields of a line.
fn row(text: &str) -> Option<FactsRow> {
    let mut fields = text.split(' ');
    let version = fields.next()?;
    let id = fields.next()?.parse().ok()?;
    let revision = fields.next()?.parse().ok()?;
    let manifest = fields.next()?.parse().ok()?;
    let fields: Vec<&str> = fields.collect();
    let facts = match fields.as_slice() {
        [] if ["1", VERSION].contains(&version) => None,
        fields => {
            let (counts, times) = fields.split_first_chunk::<7>()?;
            let (times, last_start) = match (version, times) {
                ("1", times) => (times, None),
                (VERSION, [times @ .., last_start]) => (times, Some(*last_start)),
                _ => return None,
            };
            let [first, last, first_span, last_span] = times else {
                return None;
            };
            let mut numbers = [0_u64; 7];
            for (number, field) in numbers.iter_mut().zip(counts) {
                *number = field.parse().ok()?;
            }
            let [n_records, info, warn, damage, n_calls, n_errors, longest_ns] = numbers;
            Some(CaptureFacts {
                n_records,
                notes: NoteCounts { info, warn, damage },
                n_calls,
                n_errors,
                longest_ns,
                times: range(first, last)?,
                span_times: range(first_span, last_span)?,
                last_start_ns: match last_start {
                    None | Some("-") => None,
                    Some(time) => Some(time.parse().ok()?),
                },
            })
        }
    };
    Some(FactsRow {
        id,
        revision,
        manifest,
        facts,
    })
}

/// Reads two times, or two `-`.
#[expect(
    clippy::option_option,
    reason = "no times are not the same as wrong ones"
)]
fn range(first: &str, last: &str) -> Option<Option<(i64, i64)>> {
    match (first, last) {
        ("-", "-") => Some(None),
        (first, last) => Some(Some((first.parse().ok()?, last.parse().ok()?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64, n_records: u64) -> FactsRow {
        FactsRow {
            id: CaptureId::new(3, number),
            revision: 2,
            manifest: ContentHash::of(&number.to_le_bytes()),
            facts: Some(CaptureFacts {
                n_records,
                notes: NoteCounts {
                    info: 1,
                    warn: 2,
                    damage: 3,
                },
                n_calls: 4,
                n_errors: 5,
                longest_ns: u64::MAX,
                times: Some((-7, i64::MAX)),
                span_times: None,
                last_start_ns: Some(-3),
            }),
        }
    }

    /// Rows of version 1 are read for ever.
    #[test]
    fn rows_of_the_first_version_are_read() {
        let [whole, unread] = [
            "9 1 2 3 4 5 18446744073709551615 -7 9223372036854775807 - -",
            "",
        ]
        .map(|fields| {
            let manifest = sample(17, 9).manifest;
            let text = format!("1 3-17 2 {manifest} {fields}");
            let text = text.trim_end();
            format!("{text} {}", checksum(text)).parse::<FactsRow>()
        });
        let mut expected = sample(17, 9);
        if let Some(facts) = &mut expected.facts {
            facts.last_start_ns = None;
        }
        assert_eq!(whole, Ok(expected.clone()));
        assert_eq!(
            unread,
            Ok(FactsRow {
                facts: None,
                ..expected
            })
        );
    }

    /// The text of version 2 is this for ever.
    #[test]
    fn rows_are_read_as_they_were_written() {
        let whole = sample(17, 9);
        let unread = FactsRow {
            facts: None,
            ..whole.clone()
        };
        for row in [&whole, &unread] {
            let line = row.to_string();
            assert_eq!(line.parse().as_ref(), Ok(row));
            for length in 0..line.len() {
                assert!(line[..length].parse::<FactsRow>().is_err(), "{length}");
            }
        }
        let line = whole.to_string();
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(fields[..3], ["2", "3-17", "2"]);
        assert_eq!(
            fields[4..16],
            [
                "9",
                "1",
                "2",
                "3",
                "4",
                "5",
                "18446744073709551615",
                "-7",
                "9223372036854775807",
                "-",
                "-",
                "-3"
            ]
        );
    }

    #[test]
    fn the_last_whole_line_of_a_capture_counts() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
        let catalog = FactsCatalog::of(&folder);
        assert!(FactsCatalog::read(&folder).unwrap().is_empty());
        catalog.add(&[sample(1, 1), sample(2, 1)]).unwrap();
        let path = folder.path().join("catalog");
        let mut bytes = fs::read(&path).unwrap();
        // A write that stopped, and a byte that changed.
        bytes.truncate(bytes.len() - 9);
        fs::write(&path, &bytes).unwrap();
        catalog.add(&[sample(1, 8), sample(3, 1)]).unwrap();
        let rows = FactsCatalog::read(&folder).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[&CaptureId::new(3, 1)], sample(1, 8));
        assert_eq!(rows[&CaptureId::new(3, 3)], sample(3, 1));
    }

    #[test]
    fn replaced_lines_are_removed_once_they_are_many() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
        let catalog = FactsCatalog::of(&folder);
        let lines = || fs::read_to_string(folder.path().join("catalog")).unwrap();
        for n_records in 0..3 {
            catalog.add(&[sample(1, n_records), sample(2, 0)]).unwrap();
        }
        catalog.tidy(|_| true).unwrap();
        assert_eq!(lines().lines().filter(|line| !line.is_empty()).count(), 6);
        let many = vec![sample(1, 7); 2 * MOST_REPLACED];
        catalog.add(&many).unwrap();
        catalog.tidy(|id| id != CaptureId::new(3, 2)).unwrap();
        assert_eq!(lines(), format!("{}\n", sample(1, 7)));
    }
}
