//! What comes with a bundle's files: `event.json`, an older form, or a Pyroscope query, as one profile.

use jiff::Timestamp;
use traceloom_model::Limits;

use super::http::HttpMessage;
use crate::points::Language;
use crate::points::text_of;
use crate::points::{EXTRA, Profile};
use crate::text::json::{Document, Kind, Value};

/// Metadata as keys and values, in the order they were said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    /// Tags: of the sender, then keys of the document that fill what is missing.
    pub tags: Vec<(String, String)>,
    /// Names of the files, as the sender lists them.
    pub attachments: Vec<String>,
    /// They come from a Pyroscope query: times are Unix times.
    pub(super) is_ingest: bool,
    /// Labels of the profile's samples are tags.
    pub(super) labels_are_tags: bool,
}

/// Splits `k:v,k:v`: at commas, then at the first colon unless it is the first byte; a text without colon
/// is a key. There is no escaping, so values hold no comma (SPEC.md §5).
fn tag_texts(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split(',')
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
        .map(|tag| match tag.find(':') {
            Some(colon) if colon > 0 => {
                let (key, value) = tag.split_at(colon);
                (
                    key.trim().to_owned(),
                    value.get(1..).unwrap_or("").trim().to_owned(),
                )
            }
            _ => (tag.to_owned(), String::new()),
        })
}

/// The header in which a collector keeps tags of its own with a request: they replace those of the sender, as Datakit's
/// input has it (SPEC.md §5).
pub const INPUT_TAGS: &str = "x-datakit-input-tags";

/// Keys of `event.json` that are no tags.
const DOCUMENT_KEYS: [&str; 3] = ["attachments", "tags_profiler", "sub_custom_tags"];

impl Metadata {
    /// Reads `event.json`.
    #[must_use]
    pub fn from_event(bytes: &[u8], limits: &Limits) -> Self {
        let document = Document::parse(bytes, limits);
        let mut metadata = Self::default();
        let Some(root) = document.root() else {
            return metadata;
        };
        for (key, value) in tag_texts(&text_of(root.get("tags_profiler"))) {
            metadata.set(&key, value);
        }
        for (key, value) in tag_texts(&text_of(root.get("sub_custom_tags"))) {
            metadata.set(&key, value);
        }
        let attachments = root.get("attachments").into_iter().flat_map(Value::items);
        metadata.attachments = attachments.map(|name| text_of(Some(name))).collect();
        for item in root.items() {
            let key = String::from_utf8_lossy(&item.key().unwrap_or_default()).into_owned();
            // `version` is the version of the document, not of the service.
            if key != "version" && !DOCUMENT_KEYS.contains(&key.as_str()) {
                metadata.fill(&key, top_level(item));
            }
        }
        metadata
    }

    /// Reads the older form: `tags[]` values and keys of their own, tags first.
    pub(super) fn from_form(message: &HttpMessage<'_>) -> Self {
        let mut metadata = Self::default();
        let values = || {
            message
                .parts
                .iter()
                .filter(|part| part.file.is_none())
                .map(|part| {
                    let value = String::from_utf8_lossy(message.slice(&part.content)).into_owned();
                    (part.name.as_ref(), value)
                })
        };
        for (_, value) in values().filter(|(name, _)| *name == "tags[]") {
            // An upload that was cut has no boundary to end its last value.
            let value = value.trim_end_matches(['\r', '\n']);
            let tag = match value.find(':') {
                Some(colon) if colon > 0 => value.split_at(colon),
                _ => (value, ""),
            };
            metadata.set(tag.0, tag.1.get(1..).unwrap_or("").to_owned());
        }
        for (name, value) in values().filter(|(name, _)| *name != "tags[]") {
            metadata.fill(name, value);
        }
        metadata
    }

    /// Returns the value of a key, empty when it has none.
    #[must_use]
    pub fn get(&self, key: &str) -> &str {
        let found = self.tags.iter().find(|(known, _)| known == key);
        found.map_or("", |(_, value)| value)
    }

    /// Sets a key, replacing what it had.
    pub fn set(&mut self, key: &str, value: String) {
        match self.tags.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.tags.push((key.to_owned(), value)),
        }
    }

    /// Sets a key that is missing or empty.
    pub fn fill(&mut self, key: &str, value: String) {
        if self.get(key).is_empty() && !value.is_empty() {
            self.set(key, value);
        }
    }

    /// Sets the tags of a text such as `env:prod,zone:b`, replacing what there is.
    pub(super) fn set_tags(&mut self, text: &str) {
        for (key, value) in tag_texts(text) {
            self.set(&key, value);
        }
    }

    /// Fills what is missing from other metadata.
    pub fn fill_from(&mut self, other: Self) {
        for (key, value) in other.tags {
            self.fill(&key, value);
        }
        self.attachments.extend(other.attachments);
        self.is_ingest |= other.is_ingest;
        self.labels_are_tags |= other.labels_are_tags;
    }

    /// Returns the language that `language`, `runtime` or `family` names first.
    #[must_use]
    pub fn language(&self) -> Option<Language> {
        Language::first(["language", "runtime", "family"].map(|key| self.get(key)))
    }

    /// Builds the profile these say; times that cannot be read are named.
    #[must_use]
    pub fn profile(&self) -> (Profile, Vec<String>) {
        let mut taken = Taken {
            metadata: self,
            used: Vec::new(),
        };
        let mut profile = Profile {
            profile_id: taken.first(&["profile_id", "profile-id"]),
            agent_ver: taken.first(&[
                "agent_ver",
                "library_ver",
                "profiler_version",
                "library_version",
            ]),
            endpoint: taken.first(&["endpoint"]),
            service: taken.first(&["service"]),
            env: taken.first(&["env"]),
            version: taken.first(&["version"]),
            host: taken.first(&["host"]),
            pid: taken.first(&["pid", "process_id"]),
            language_ver: taken.first(&["language_ver", "language_version"]),
            runtime: taken.first(&["runtime", "Runtime"]),
            runtime_os: taken.first(&["runtime_os", "runtime-os"]),
            runtime_arch: taken.first(&["runtime_arch", "runtime-arch"]),
            format: taken.first(&["format"]),
            language: self
                .language()
                .map_or_else(String::new, |found| found.name().to_owned()),
            ..Profile::default()
        };
        taken.used.push("language".to_owned());
        if profile.language.is_empty() {
            self.get("language").clone_into(&mut profile.language);
        }
        let mut bad = Vec::new();
        let ingest = self.is_ingest;
        let mut time = |names: &[&str], taken: &mut Taken<'_>| {
            let text = taken.first(names);
            let parsed = if ingest { unix(&text) } else { rfc3339(&text) };
            // Of a query's times the notes on the request say so.
            if parsed.is_none() && !text.is_empty() && !ingest {
                bad.push(text);
            }
            parsed
        };
        let start = time(
            if ingest {
                &["from"]
            } else {
                &["recording-start", "start"]
            },
            &mut taken,
        );
        let end = time(
            if ingest {
                &["until"]
            } else {
                &["recording-end", "end"]
            },
            &mut taken,
        );
        profile.start = start.or(end).unwrap_or(0);
        profile.end = end.or(start).unwrap_or(0);
        profile.duration = profile.end.saturating_sub(profile.start).max(0);
        for key in EXTRA {
            let value = taken.first(&[key, &key.replace('_', "-")]);
            if !value.is_empty() {
                profile.extra.insert(key.to_owned(), value);
            }
        }
        for (key, value) in &self.tags {
            if !taken.used.contains(key) && !value.is_empty() {
                profile.tags.insert(key.clone(), value.clone());
            }
        }
        (profile, bad)
    }
}

/// A value of the document as text: arrays joined by commas, numbers as they are written, objects as JSON.
fn top_level(item: Value<'_>) -> String {
    match item.kind() {
        Kind::Array => {
            let items: Vec<String> = item.items().map(|item| text_of(Some(item))).collect();
            items.join(",")
        }
        _ => text_of(Some(item)),
    }
}

struct Taken<'m> {
    metadata: &'m Metadata,
    used: Vec<String>,
}

impl Taken<'_> {
    fn first(&mut self, names: &[&str]) -> String {
        self.used.extend(names.iter().map(|&name| name.to_owned()));
        let values = names.iter().map(|name| self.metadata.get(name));
        values
            .into_iter()
            .find(|value| !value.is_empty())
            .unwrap_or("")
            .to_owned()
    }
}

/// Reads RFC 3339 with any offset and up to nine digits of a second.
pub(super) fn rfc3339(text: &str) -> Option<i64> {
    let time: Timestamp = text.trim().parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

/// Reads a Unix time whose unit shows in its size (SPEC.md §3.4).
pub(super) fn unix(text: &str) -> Option<i64> {
    const MAX_SECONDS: i64 = 2_147_483_647;
    let value: i64 = text.trim().parse().ok()?;
    let factor = if value <= MAX_SECONDS {
        1_000_000_000
    } else if value <= MAX_SECONDS * 1_000 {
        1_000_000
    } else if value <= MAX_SECONDS * 1_000_000 {
        1_000
    } else {
        1
    };
    value.checked_mul(factor)
}
