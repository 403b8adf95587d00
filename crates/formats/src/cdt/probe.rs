//! Which stream a part is: content first, then the name (§2).

use super::calls::{Header, Row, RowLimits};
use super::dictionary::{Variant, count};
use super::phrase::{Score, score};
use super::text::{self, is_early, plausible_ms};
use super::{blst, params, suspend, tcp, trace};
use crate::wire::{Cursor, Utf16};
use crate::{Confidence, ErrorKind, Probe};
use traceloom_model::Limits;

/// The stream that a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stream {
    Calls,
    Trace,
    Dictionary,
    Params,
    Suspend,
    Sql,
    Xml,
    Gc,
}

impl Stream {
    /// Finds a stream's name among the words of a file name, else the name of its folder.
    ///
    /// Agents name the folder (`sql/000001`), people the file (`shop.sql.0.bin`).
    pub(super) fn of(name: &str) -> Option<Self> {
        let mut components = name.rsplit('/');
        let file = components.next().unwrap_or("");
        let folder = components.next().unwrap_or("");
        let numbered = file.split('.').next().unwrap_or("");
        if !numbered.is_empty() && numbered.bytes().all(|b| b.is_ascii_digit()) {
            return Self::word(folder).or_else(|| Self::among(file));
        }
        Self::among(file).or_else(|| Self::word(folder))
    }

    fn among(file: &str) -> Option<Self> {
        // `x.xml` and `x.sql` are files of those kinds, unless a number or suffix follows the word.
        let mut words = file.split(|c: char| !c.is_ascii_alphanumeric());
        words.find_map(Self::word)
    }

    fn word(word: &str) -> Option<Self> {
        let word = word.split('[').next().unwrap_or(word);
        Some(match word.to_ascii_lowercase().as_str() {
            "calls" => Self::Calls,
            "trace" | "traces" => Self::Trace,
            "dictionary" | "posdictionary" | "callsdictionary" => Self::Dictionary,
            "params" => Self::Params,
            "suspend" => Self::Suspend,
            "sql" => Self::Sql,
            "xml" => Self::Xml,
            "gc" => Self::Gc,
            _ => return None,
        })
    }
}

fn named(probe: &Probe<'_>, stream: Stream) -> bool {
    Stream::of(probe.name) == Some(stream)
}

/// An empty stream is told by its name alone.
fn by_name(probe: &Probe<'_>, stream: Stream) -> Option<Confidence> {
    (named(probe, stream) && !plain_text(probe.head)).then_some(Confidence::Likely)
}

/// Returns true if the head is text of one byte a character: every stream has zero bytes early, in its
/// header or in the upper halves of Latin letters.
fn plain_text(head: &[u8]) -> bool {
    let start = head.get(..64).unwrap_or(head);
    start.len() >= 4
        && !start.contains(&0)
        && std::str::from_utf8(start).is_ok_and(|text| text.is_ascii())
}

pub(super) fn calls(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.is_empty() {
        return by_name(probe, Stream::Calls);
    }
    let mut cursor = Cursor::new(probe.head, 0);
    match Header::read(&mut cursor) {
        // The magic number says what it is, in a format that nobody knows or cut behind it.
        Err(error) if error.kind() == ErrorKind::Unsupported || Header::begins(probe.head) => {
            return Some(Confidence::Certain);
        }
        Err(_) => return None,
        Ok(header) if probe.head.starts_with(&[0xff, 0xfe, 0xfd, 0xfc]) => {
            return plausible_ms(header.start_time)
                .then_some(Confidence::Certain)
                .or(Some(Confidence::Likely));
        }
        Ok(header) if !plausible_ms(header.start_time) => return None,
        Ok(_) => {}
    }
    // Format 0 begins like suspend and trace: only rows to the last byte speak for it.
    let limits = RowLimits::new(&Limits::default());
    let mut rows = 0;
    while !cursor.is_empty() {
        match Row::read(&mut cursor, 0, 0, &limits) {
            Ok(_) => rows += 1,
            Err(error) if matches!(error.kind(), ErrorKind::Truncated { .. }) && !probe.whole => {
                break;
            }
            Err(_) => return named(probe, Stream::Calls).then_some(Confidence::Possible),
        }
    }
    let framed = suspend::framed(probe.head, probe.whole, false).is_some();
    if named(probe, Stream::Calls) {
        Some(Confidence::Likely)
    } else if rows > 0 && !framed && Stream::of(probe.name).is_none() {
        Some(Confidence::Possible)
    } else {
        None
    }
}

pub(super) fn trace(probe: &Probe<'_>) -> Option<Confidence> {
    let name = by_name(probe, Stream::Trace);
    let Some((start, blocks)) = probe.head.split_first_chunk::<8>() else {
        return name;
    };
    let start = i64::from_be_bytes(*start);
    if !plausible_ms(start) {
        let events = is_early(start) && trace::plausible_block(blocks, start, true) == Some(true);
        return name.filter(|_| events);
    }
    if blocks.is_empty() {
        return name;
    }
    match trace::plausible_block(blocks, start, true) {
        Some(true) => Some(Confidence::Certain),
        _ => name.map(|_| Confidence::Possible),
    }
}

pub(super) fn dictionary(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.is_empty() {
        return by_name(probe, Stream::Dictionary);
    }
    let variant = Variant::of(probe.head, probe.whole)?;
    if first_word(probe.head, variant).is_some_and(|word| word.is("call.info")) {
        return Some(Confidence::Certain);
    }
    if foreign(probe) {
        return None;
    }
    by_name(probe, Stream::Dictionary).or_else(|| {
        let odd = variant.framed || variant.explicit;
        (odd && texty(probe)).then_some(Confidence::Possible)
    })
}

fn first_word(head: &[u8], variant: Variant) -> Option<Utf16<'_>> {
    let mut cursor = Cursor::new(head, 0);
    if variant.framed {
        cursor.u32_be("phrase").ok()?;
    }
    if variant.explicit {
        cursor.varint32("id").ok()?;
    }
    text::string(&mut cursor, 1 << 20, "word").ok()
}

pub(super) fn params(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.is_empty() {
        return by_name(probe, Stream::Params);
    }
    match params::framed(probe.head, probe.whole) {
        Some(_) if probe.head.len() > 16 => Some(Confidence::Certain),
        Some(_) => Some(Confidence::Likely),
        None => by_name(probe, Stream::Params).map(|_| Confidence::Possible),
    }
}

pub(super) fn suspend(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.is_empty() {
        return by_name(probe, Stream::Suspend);
    }
    let framed = suspend::framed(probe.head, probe.whole, named(probe, Stream::Suspend))?;
    if named(probe, Stream::Suspend) || (framed && Stream::of(probe.name).is_none()) {
        return Some(Confidence::Likely);
    }
    // Bare pauses begin like a trace and like calls of format 0.
    let is_trace = trace(probe) >= Some(Confidence::Likely);
    (!is_trace && Stream::of(probe.name).is_none()).then_some(Confidence::Possible)
}

/// Returns true if the head is plainly another stream, whatever it would read as.
fn foreign(probe: &Probe<'_>) -> bool {
    // The length of a short phrase and the first letters of its first word make a plausible start time,
    // and any bytes behind it read as pauses: words in phrases speak louder.
    let is_suspend = match suspend::framed(probe.head, probe.whole, false) {
        Some(framed) => framed || !phrases_of_words(probe),
        None => false,
    };
    params::framed(probe.head, probe.whole).is_some()
        || is_suspend
        || calls(probe) == Some(Confidence::Certain)
        || blst(probe).is_some()
}

/// Returns `true` if the head is phrases whose bytes are mostly Latin letters of words.
fn phrases_of_words(probe: &Probe<'_>) -> bool {
    let read = score(probe.head, probe.whole, true, |cursor, score| {
        text::string(cursor, 1 << 20, "word").map(|text| count(score, text))
    });
    read.is_some_and(|read| read.units > read.odd && (read.units - read.odd) * 4 > read.consumed)
}

/// Returns true if the head reads as strings of text.
fn texty(probe: &Probe<'_>) -> bool {
    let read = score(probe.head, probe.whole, false, |cursor, score| {
        text::string(cursor, 1 << 20, "string").map(|text| count(score, text))
    });
    read.is_some_and(|score| score.rows > 0 && score.units > 0 && score.texty())
}

/// Returns `true` if the head is the beginning of one long string of Latin text.
fn long_text(head: &[u8]) -> bool {
    let mut cursor = Cursor::new(head, 0);
    let Ok(units) = cursor.varint32("string") else {
        return false;
    };
    let seen = Utf16(cursor.rest());
    let mut score = Score::default();
    count(&mut score, seen);
    (units as usize).saturating_mul(2) > seen.0.len() && score.units > 64 && score.texty()
}

fn strings_named(probe: &Probe<'_>, stream: Stream) -> Option<Confidence> {
    if probe.head.is_empty() {
        return by_name(probe, stream);
    }
    if !named(probe, stream) || foreign(probe) {
        return None;
    }
    if texty(probe) {
        return Some(Confidence::Likely);
    }
    // A string that is longer than the head.
    if !probe.whole && long_text(probe.head) {
        return Some(Confidence::Likely);
    }
    // A string of another script, or a torn one.
    let offset = Cursor::new(probe.head, 0).varint32("string").ok()?;
    let markup = probe.head.iter().take(16).all(|byte| byte.is_ascii());
    (offset > 0 && probe.head.get(1) == Some(&0) && markup).then_some(Confidence::Possible)
}

pub(super) fn sql(probe: &Probe<'_>) -> Option<Confidence> {
    strings_named(probe, Stream::Sql)
}

pub(super) fn xml(probe: &Probe<'_>) -> Option<Confidence> {
    strings_named(probe, Stream::Xml)
}

pub(super) fn strings(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.is_empty() || foreign(probe) || !texty(probe) {
        return None;
    }
    if dictionary(probe) >= Some(Confidence::Likely) {
        return None;
    }
    match Stream::of(probe.name) {
        Some(Stream::Sql | Stream::Xml) => Some(Confidence::Possible),
        _ => Some(Confidence::Likely),
    }
}

pub(super) fn gc(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.is_empty() {
        return by_name(probe, Stream::Gc);
    }
    let text = probe.head.get(..4096).unwrap_or(probe.head);
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() + 4 > text.len() => {
            std::str::from_utf8(text.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let log = crate::text::gc_log::is_gc_log(text);
    // A file that calls itself a log is one, whatever wrote it.
    let is_file = probe.file_name().ends_with(".log") || probe.file_name().ends_with(".txt");
    match (named(probe, Stream::Gc), log) {
        (true, true) if !is_file => Some(Confidence::Likely),
        (_, true) => Some(Confidence::Possible),
        (true, false) if !is_file && probe.folder() == Some("gc") => Some(Confidence::Possible),
        _ => None,
    }
}

pub(super) fn blst(probe: &Probe<'_>) -> Option<Confidence> {
    let text = text::string(&mut Cursor::new(probe.head, 0), 64, "format").ok()?;
    text.to_lossy()
        .starts_with(blst::MAGIC)
        .then_some(Confidence::Certain)
}

pub(super) fn tcp(probe: &Probe<'_>) -> Option<Confidence> {
    let mut cursor = Cursor::new(probe.head, 0);
    let is_sure = match tcp::Command::read(&mut cursor, &|_| true) {
        Ok(tcp::Command::GetProtocolVersionV2 { client_version, .. }) => {
            tcp::VERSIONS.contains(&client_version)
        }
        Ok(tcp::Command::GetProtocolVersion { server_version }) => {
            tcp::VERSIONS.contains(&server_version)
        }
        Ok(tcp::Command::InitStream { stream, .. }) => {
            std::str::from_utf8(stream).is_ok_and(|name| Stream::of(name).is_some())
        }
        _ => false,
    };
    if is_sure {
        return Some(Confidence::Certain);
    }
    // The handshake may be damaged or missing; agents open all their streams behind it.
    let head = probe.head.get(..1024).unwrap_or(probe.head);
    (tcp::openings(head) > 1).then_some(Confidence::Likely)
}
