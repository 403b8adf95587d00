//! What kinds of work are called and how they are coloured: the same as `ui/src/shared/kinds.ts`, held together by
//! `ui/examples/kinds.json`.

/// The kinds of the rules that come with the program: what people call them, their colour, and a sentence's end about them.
const KINDS: [(&str, &str, &str, &str); 14] = [
    ("db", "Database", "k-db", "in the database"),
    (
        "orm",
        "Object-relational mapping",
        "k-db-2",
        "in object-relational mapping",
    ),
    ("network", "Network", "k-net", "waiting for the network"),
    ("io", "Files", "k-net", "reading and writing files"),
    ("messaging", "Messaging", "k-net", "in messaging"),
    (
        "waiting",
        "Locks, waiting",
        "k-lock",
        "waiting for locks and queues",
    ),
    ("gc", "GC, pauses", "k-gc", "collecting garbage"),
    ("reflection", "Reflection", "k-rt", "in reflection"),
    ("logging", "Logging", "k-lib", "in logging"),
    ("json", "JSON", "k-lib", "with JSON"),
    ("xml", "XML", "k-lib", "with XML"),
    ("crypto", "Cryptography", "k-lib", "in cryptography"),
    ("compression", "Compression", "k-lib", "compressing"),
    ("web", "Web framework", "k-lib", "in the web framework"),
];

fn row(
    category: &str,
) -> Option<&'static (&'static str, &'static str, &'static str, &'static str)> {
    KINDS.iter().find(|(name, ..)| *name == category)
}

/// Returns what people call a category; those of a user's own rules by their names.
pub(crate) fn title(category: &str) -> &str {
    row(category).map_or(category, |&(_, title, ..)| title)
}

/// Returns the token of a category's colour: libraries, where the rules are a user's own.
pub(crate) fn token(category: &str) -> &'static str {
    row(category).map_or("k-lib", |&(_, _, token, _)| token)
}

/// Returns how a sentence about a category ends: time goes `in the database`.
pub(crate) fn where_to(category: &str) -> String {
    row(category).map_or_else(|| format!("in {category}"), |&(.., words)| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hotspots::Categories;

    #[test]
    fn pages_call_and_colour_kinds_alike() {
        let table = include_str!("../../../../ui/examples/kinds.json");
        let rows: Vec<[String; 3]> = serde_json::from_str(table).unwrap();
        for [name, said, colour] in &rows {
            assert_eq!((title(name), token(name)), (said.as_str(), colour.as_str()));
        }
        for name in Categories::default().names() {
            assert!(rows.iter().any(|[known, ..]| known == name), "{name}");
        }
    }
}
