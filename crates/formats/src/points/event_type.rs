//! Event types: what Datakit calls the values of a profile, by language and file.

use super::Language;
use super::quantity::Quantity;
use traceloom_model::{Recording, ValueType};

/// A value type as Datakit shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct EventKind {
    /// Its name, such as `cpu-time`.
    pub name: &'static str,
    /// What it measures; [`Quantity::display`] has the unit to show.
    pub quantity: Quantity,
}

struct EventTypeRow {
    language: Language,
    /// Part of the file name; empty for any.
    file: &'static str,
    /// The value type's name in the file.
    source: &'static str,
    event: EventKind,
}

const fn row(
    language: Language,
    file: &'static str,
    source: &'static str,
    name: &'static str,
    quantity: Quantity,
) -> EventTypeRow {
    EventTypeRow {
        language,
        file,
        source,
        event: EventKind { name, quantity },
    }
}

use Language::{Dotnet, Golang, Java, Nodejs, Php, Python};
use Quantity::{Count, Duration, Memory};

/// `datakit/SPEC.md` §8. The first row that fits wins.
const ROWS: [EventTypeRow; 67] = [
    row(Golang, "heap", "alloc_objects", "alloc-samples", Count),
    row(Golang, "heap", "alloc_space", "alloc-space", Memory),
    row(Golang, "heap", "inuse_objects", "heap-live-objects", Count),
    row(Golang, "heap", "inuse_space", "heap-space", Memory),
    row(Golang, "mutex", "delay", "mutex", Duration),
    row(Golang, "block", "delay", "block", Duration),
    row(Golang, "goroutines", "goroutine", "goroutines", Count),
    row(Golang, "goroutines", "goroutines", "goroutines", Count),
    row(Golang, "", "cpu", "cpu-time", Duration),
    row(Golang, "", "alloc_objects", "alloc-samples", Count),
    row(Golang, "", "alloc_space", "alloc-space", Memory),
    row(Golang, "", "inuse_objects", "heap-live-objects", Count),
    row(Golang, "", "inuse_space", "heap-space", Memory),
    row(Golang, "", "goroutine", "goroutines", Count),
    row(Golang, "", "goroutines", "goroutines", Count),
    row(Python, "", "cpu-time", "cpu-time", Duration),
    row(Python, "", "wall-time", "wall-time", Duration),
    row(Python, "", "exception-samples", "exception-samples", Count),
    row(Python, "", "lock-acquire", "lock-acquire", Count),
    row(
        Python,
        "",
        "lock-acquire-wait",
        "lock-acquire-wait",
        Duration,
    ),
    row(Python, "", "lock-release", "lock-release", Count),
    row(
        Python,
        "",
        "lock-release-hold",
        "lock-release-hold",
        Duration,
    ),
    row(Python, "", "alloc-samples", "alloc-samples", Count),
    row(Python, "", "alloc-space", "alloc-space", Memory),
    row(Python, "", "heap-space", "heap-space", Memory),
    row(Dotnet, "", "cpu", "cpu-time", Duration),
    row(Dotnet, "", "exception", "exception-samples", Count),
    row(Dotnet, "", "alloc-samples", "alloc-samples", Count),
    row(Dotnet, "", "alloc-size", "alloc-space", Memory),
    row(Dotnet, "", "inuse-objects", "heap-live-objects", Count),
    row(Dotnet, "", "inuse-space", "heap-space", Memory),
    row(Dotnet, "", "wall", "wall-time", Duration),
    row(Dotnet, "", "lock-count", "lock-acquire", Count),
    row(Dotnet, "", "lock-time", "lock-acquire-wait", Duration),
    row(Php, "", "cpu-time", "cpu-time", Duration),
    row(Php, "", "sample", "cpu-samples", Count),
    row(Php, "", "wall-time", "wall-time", Duration),
    row(Php, "", "alloc-samples", "alloc-samples", Count),
    row(Php, "", "alloc-size", "alloc-space", Memory),
    row(Nodejs, "inuse_objects", "", "heap-live-objects", Count),
    row(Nodejs, "inuse_space", "", "heap-space", Memory),
    row(Nodejs, "cpu", "", "cpu-samples", Count),
    row(
        Nodejs,
        "inuse_objects",
        "inuse_objects",
        "heap-live-objects",
        Count,
    ),
    row(Nodejs, "inuse_space", "inuse_space", "heap-space", Memory),
    row(Nodejs, "cpu", "samples", "cpu-samples", Count),
    row(Java, "", "cpu", "cpu-time", Duration),
    row(Java, "", "cpu-time", "cpu-time", Duration),
    row(Java, "", "wall", "wall-time", Duration),
    row(Java, "", "wall-time", "wall-time", Duration),
    row(Java, "", "alloc-space", "alloc-space", Memory),
    row(Java, "", "alloc-samples", "alloc-samples", Count),
    row(Java, "", "heap-live-objects", "heap-live-objects", Count),
    row(Java, "", "heap-space", "heap-space", Memory),
    row(Java, "", "lock-count", "lock-acquire", Count),
    row(Java, "", "lock-time", "lock-acquire-wait", Duration),
    // What lowering a JFR recording calls its columns.
    row(Java, "", "lock_count", "lock-acquire", Count),
    row(Java, "", "lock", "lock-acquire-wait", Duration),
    row(Java, "", "alloc_objects", "alloc-samples", Count),
    row(Java, "", "alloc", "alloc-space", Memory),
    row(Java, "", "alloc_tlab_events", "alloc-samples", Count),
    row(Java, "", "alloc_tlab", "alloc-space", Memory),
    row(Java, "", "alloc_sample_events", "alloc-samples", Count),
    row(Java, "", "alloc_sample", "alloc-space", Memory),
    row(Java, "", "live_objects", "heap-live-objects", Count),
    row(Java, "", "live", "heap-space", Memory),
    row(Java, "", "exception_samples", "exception-samples", Count),
    row(Java, "", "exceptions", "exception-samples", Count),
];

/// What folded text counts, whatever the language.
const FOLDED: EventKind = EventKind {
    name: "cpu-samples",
    quantity: Count,
};

impl EventKind {
    /// Finds the event type of the value `source` in `file` of a program in `language`; none for values
    /// that Datakit does not show.
    ///
    /// `count` says that the file's unit is a count: a sampled CPU profile of Java counts samples, which
    /// are no time.
    #[must_use]
    pub fn of(language: Language, file: &str, source: &str, count: bool) -> Option<Self> {
        let fits = |row: &&EventTypeRow| {
            row.language == language && row.source == source && file.contains(row.file)
        };
        let found = ROWS.iter().find(fits)?.event;
        (found.quantity == Count || !count).then_some(found)
    }

    /// Finds the event type of a value column of a recording that lies in `file`; the column may carry the
    /// event type's name already.
    #[must_use]
    pub fn of_column(
        recording: &Recording,
        language: Option<Language>,
        file: &str,
        column: &ValueType,
    ) -> Option<Self> {
        let name = recording.text(column.name);
        if recording.value_types.iter().flatten().take(2).count() == 1
            && let Some(kind) = Self::of_folded(&name)
        {
            return Some(kind);
        }
        let language = language?;
        let mut kinds = Self::of_language(language).into_iter();
        kinds.find(|kind| kind.name == name).or_else(|| {
            let count = Quantity::of(column.unit) == Count;
            Self::of(language, file, &name, count)
        })
    }

    /// Finds the event type of a column of folded text, which has one and says no language.
    #[must_use]
    pub fn of_folded(source: &str) -> Option<Self> {
        (source == "samples").then_some(FOLDED)
    }

    /// Returns what agents of a language call the value of the event type `name` in `file`; none for a name that they
    /// do not send.
    #[must_use]
    pub fn source(language: Language, file: &str, name: &str) -> Option<&'static str> {
        let fits = |row: &&EventTypeRow| {
            let is_named = row.event.name == name && !row.source.is_empty();
            row.language == language && is_named && file.contains(row.file)
        };
        // Its own name, where a row has it so.
        let mut rows = ROWS.iter().filter(fits);
        let first = rows.next()?;
        let own = std::iter::once(first).chain(rows);
        let own = own.map(|row| row.source).find(|source| *source == name);
        Some(own.unwrap_or(first.source))
    }

    /// Returns every event type of a language, each once, in the table's order.
    #[must_use]
    pub fn of_language(language: Language) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        for row in ROWS.iter().filter(|row| row.language == language) {
            if !kinds.contains(&row.event) {
                kinds.push(row.event);
            }
        }
        kinds
    }
}

/// Short names for what is measured, with what producers and Datakit call it, best first.
const SHORT: [(&str, &[&str]); 9] = [
    ("cpu", &["cpu-time", "cpu_time", "cpu-samples", "samples"]),
    ("wall", &["wall-time", "wall_time"]),
    (
        "alloc",
        &[
            "alloc-space",
            "alloc_space",
            "alloc-size",
            "alloc_tlab",
            "alloc_sample",
        ],
    ),
    (
        "alloc_objects",
        &["alloc_tlab_events", "alloc_sample_events"],
    ),
    (
        "lock",
        &["lock-acquire-wait", "lock-time", "mutex", "delay"],
    ),
    ("live", &["heap-space", "inuse_space", "inuse-space"]),
    (
        "exceptions",
        &["exception-samples", "exception_samples", "exception"],
    ),
    ("goroutines", &["goroutine"]),
    ("nativemem", &[]),
];

/// Returns the names of value columns in `file` that are meant by `word`, the word itself first: a short
/// name, a name of Datakit's event types, or what some producer calls it.
///
/// The first of them that a profile has is the one.
#[must_use]
pub fn value_names(word: &str, file: &str) -> Vec<String> {
    let mut names = vec![word.to_owned()];
    let mut add = |name: &str| {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    for (short, meant) in SHORT {
        if short == word {
            meant.iter().copied().for_each(&mut add);
        }
    }
    // A file that is named after another event has that one under this name: `delay` of `mutex`.
    let is_other = |row: &EventTypeRow| {
        let same =
            |other: &&EventTypeRow| (other.language, other.source) == (row.language, row.source);
        let mut others = ROWS.iter().filter(same);
        !file.contains(row.file)
            && others.any(|other| !other.file.is_empty() && file.contains(other.file))
    };
    for row in ROWS.iter().filter(|row| row.event.name == word) {
        if !is_other(row) {
            add(row.source);
        }
    }
    for row in ROWS.iter().filter(|row| row.source == word) {
        add(row.event.name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_is_another_event_in_another_file() {
        let name =
            |file, source| EventKind::of(Golang, file, source, false).map(|event| event.name);
        assert_eq!(name("delta-mutex.pprof", "delay"), Some("mutex"));
        assert_eq!(name("delta-block.pprof", "delay"), Some("block"));
        assert_eq!(name("cpu.pprof", "cpu"), Some("cpu-time"));
        assert_eq!(name("delta-heap.pprof", "inuse_space"), Some("heap-space"));
        assert_eq!(name("delta-mutex.pprof", "contentions"), None);
        // The defect of the producer's own table: real files say `goroutine`.
        assert_eq!(name("goroutines.pprof", "goroutine"), Some("goroutines"));
        assert_eq!(name("goroutines.pprof", "goroutines"), Some("goroutines"));
    }

    #[test]
    fn a_value_is_found_by_any_of_its_names() {
        let has = |word, name: &str| value_names(word, "").iter().any(|known| known == name);
        assert_eq!(
            value_names("cpu", "").first().map(String::as_str),
            Some("cpu")
        );
        assert!(has("cpu", "cpu-time") && has("cpu-time", "cpu"));
        assert!(has("alloc", "alloc_space") && has("alloc-space", "alloc_space"));
        assert!(has("heap-space", "inuse_space") && has("inuse_space", "heap-space"));
        assert_eq!(value_names("shoes", ""), ["shoes"]);
        assert!(has("mutex", "delay") && has("block", "delay"));
        assert_eq!(value_names("block", "delta-mutex.pprof"), ["block"]);
        assert_eq!(
            value_names("block", "delta-block.pprof"),
            ["block", "delay"]
        );
    }

    #[test]
    fn the_columns_of_a_jfr_recording_are_events_of_java() {
        let name =
            |source, count| EventKind::of(Java, "main.jfr", source, count).map(|event| event.name);
        for (source, count, event) in [
            ("cpu", false, "cpu-time"),
            ("wall", false, "wall-time"),
            ("lock_count", true, "lock-acquire"),
            ("lock", false, "lock-acquire-wait"),
            ("alloc_objects", true, "alloc-samples"),
            ("alloc", false, "alloc-space"),
            ("live_objects", true, "heap-live-objects"),
            ("live", false, "heap-space"),
            ("exception_samples", true, "exception-samples"),
            ("exceptions", true, "exception-samples"),
        ] {
            assert_eq!(name(source, count), Some(event), "{source}");
            assert!(
                value_names(event, "main.jfr")
                    .iter()
                    .any(|known| known == source)
            );
        }
        assert_eq!(
            EventKind::of(Python, "auto.pprof", "cpu-samples", true),
            None
        );
    }

    #[test]
    fn agents_call_events_by_their_own_names() {
        let source = |language, file, name| EventKind::source(language, file, name);
        assert_eq!(source(Golang, "cpu.pprof", "cpu-time"), Some("cpu"));
        assert_eq!(source(Golang, "delta-mutex.pprof", "mutex"), Some("delay"));
        assert_eq!(source(Golang, "delta-heap.pprof", "mutex"), None);
        assert_eq!(source(Python, "auto.pprof", "wall-time"), Some("wall-time"));
        assert_eq!(source(Java, "auto.pprof", "cpu-time"), Some("cpu-time"));
        assert_eq!(source(Nodejs, "cpu.pprof", "cpu-samples"), Some("samples"));
        // What is written is read as it was.
        for row in &ROWS {
            let file = format!("{}.pprof", row.file);
            let Some(written) = EventKind::source(row.language, &file, row.event.name) else {
                continue;
            };
            let read = EventKind::of(row.language, &file, written, false);
            assert_eq!(read, Some(row.event), "{written}");
        }
    }

    #[test]
    fn shown_units_follow_the_quantity() {
        let event = EventKind::of(Python, "auto.pprof", "wall-time", false).unwrap();
        assert_eq!(event.quantity.display(), ("µs", 1000));
        let event = EventKind::of(Python, "auto.pprof", "heap-space", false).unwrap();
        assert_eq!(event.quantity.display(), ("B", 1));
    }
}
