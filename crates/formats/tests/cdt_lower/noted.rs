//! What is missing, guessed or damaged is told.

use super::*;
use traceloom_model::Asks;

#[test]
fn unnamed_strings_go_where_the_references_hit() {
    let Some(named) = test_service() else { return };
    let mut source = Owned::default();
    // The xml stream first: a single offset decodes in it as well.
    for name in ["xml", "sql", "dictionary", "params", "calls", "traces"] {
        let at = named.parts.iter().position(|part| part.name == name);
        let at = at.expect("a stream");
        let format = match name {
            "xml" | "sql" => &cdt::STRINGS,
            _ => named.parts[at].format.expect("a format"),
        };
        source.add(name, format, named.bytes[at].clone());
    }
    let (guessed, told_by_names) = (source.lower(), named.lower());
    assert_eq!(told(&guessed), told(&told_by_names));
    let of_guesses: Vec<&Note> = guessed
        .notes
        .kept()
        .iter()
        .filter(|note| note.kind == "guessed_stream")
        .collect();
    assert_eq!(of_guesses.len(), 2, "{of_guesses:?}");
    let missing = guessed
        .notes
        .kept()
        .iter()
        .any(|note| note.kind == "missing_values");
    assert!(!missing);
}

#[test]
fn calls_without_a_dictionary_are_not_doubtful() {
    let Some(named) = test_service() else { return };
    for name in ["calls", "traces"] {
        let at = named.parts.iter().position(|part| part.name == name);
        let at = at.expect("a stream");
        let mut source = Owned::default();
        let format = named.parts[at].format.expect("a format");
        source.add(name, format, named.bytes[at].clone());
        let notes = source.lower().notes;
        let without: Vec<&Note> = notes
            .kept()
            .iter()
            .filter(|note| note.kind.ends_with("_word") || note.kind == "no_dictionary")
            .collect();
        assert_eq!(without.len(), 1, "{name}");
        assert_eq!(without[0].level, Level::Info, "{name}");
        assert!(without[0].offset > 0, "{name}");
    }
}

/// Listens to notes: steps with a look at values, or everything.
struct Listener {
    wants: Wants,
    notes: Vec<(u32, &'static str, u64, String)>,
    strings: usize,
}

impl Sink for Listener {
    fn asks(&self) -> Asks {
        Asks {
            wants: self.wants,
            checks_values: true,
            ..Asks::default()
        }
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.strings += new.strings.len();
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        let place = (note.part.0, note.kind, note.offset, note.text);
        self.notes.push(place);
        Flow::Continue(())
    }
}

fn heard(source: &Owned, wants: Wants) -> Listener {
    let mut listener = Listener {
        wants,
        notes: Vec::new(),
        strings: 0,
    };
    source.lower_into(&LowerOptions::default(), &mut listener);
    listener.notes.sort();
    listener
}

#[test]
fn a_look_at_values_tells_what_keeping_them_does() {
    let whole = sample(3, 800_000);
    let without = |stream: &'static Format| {
        let mut source = Owned::default();
        for (part, bytes) in whole.parts.iter().zip(&whole.bytes) {
            let format = part.format.expect("a format");
            let len = match format == stream {
                // Words of the first calls are left, and places beyond the end are asked for.
                true => bytes.len() / 2,
                false => bytes.len(),
            };
            if format != stream || format == &cdt::DICTIONARY || format == &cdt::SQL {
                source.add(&part.name, format, bytes[..len].to_vec());
            }
        }
        source
    };
    let kinds = [
        (&cdt::DICTIONARY, "missing_word"),
        (&cdt::SQL, "bad_value_reference"),
        (&cdt::XML, "missing_values"),
    ];
    for (stream, kind) in kinds {
        let source = without(stream);
        let (looked, kept) = (
            heard(&source, Wants::Steps { calls: true }),
            heard(&source, Wants::Spans),
        );
        assert!(looked.notes.iter().any(|note| note.1 == kind), "{kind}");
        assert_eq!(looked.notes, kept.notes, "{kind}");
        assert!(looked.strings < kept.strings, "{kind}");
    }
}
