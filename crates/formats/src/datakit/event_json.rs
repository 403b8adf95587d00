//! `event.json` as agents write it.

use jiff::Timestamp;

use crate::points::{Language, Profile};
use crate::text::json::push_string;

/// Version of the document, not of the service.
const SCHEMA: &str = "4";

/// Returns the metadata of an upload with these files.
///
/// Facts are tags. Tags have no escapes, so that one with a comma, or with blanks around it, is a key of the document instead
/// (SPEC.md §5).
#[must_use]
pub fn event_json(profile: &Profile, files: &[String]) -> Vec<u8> {
    let (mut tags, mut keys) = (Vec::new(), Vec::new());
    let language = Language::resolve(&profile.language);
    let spelled: &str = match language {
        Some(language) => language.name(),
        None => &profile.language,
    };
    let facts = [
        ("host", &*profile.host),
        ("service", &profile.service),
        ("env", &profile.env),
        ("version", &profile.version),
        ("language", spelled),
        ("language_version", &profile.language_ver),
        ("runtime", &profile.runtime),
        ("runtime_os", &profile.runtime_os),
        ("runtime_arch", &profile.runtime_arch),
        ("process_id", &profile.pid),
        ("profiler_version", &profile.agent_ver),
        ("profile_id", &profile.profile_id),
        ("endpoint", &profile.endpoint),
    ];
    let own = [&profile.extra, &profile.tags].into_iter().flatten();
    let own = own.map(|(key, value)| (&**key, &**value));
    for (key, value) in facts.into_iter().chain(own) {
        let is_plain = |text: &str| !text.contains(',') && text.trim() == text;
        match (is_plain(key) && !key.contains(':'), is_plain(value)) {
            _ if value.is_empty() || key.is_empty() => {}
            (true, true) => tags.push(format!("{key}:{value}")),
            // The document has a version of its own.
            (true, false) if key == "version" => {
                tags.push(format!("{key}:{}", value.trim().replace(',', ";")));
            }
            _ => keys.push((key, value)),
        }
    }
    let mut out = b"{\"attachments\":[".to_vec();
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_string(file.as_bytes(), &mut out);
    }
    out.push(b']');
    let mut member = |key: &str, value: &str| {
        out.push(b',');
        push_string(key.as_bytes(), &mut out);
        out.push(b':');
        push_string(value.as_bytes(), &mut out);
    };
    member("tags_profiler", &tags.join(","));
    for (key, time) in [("start", profile.start), ("end", profile.end)] {
        if !profile.unsaid.contains(key) {
            let time = Timestamp::from_nanosecond(time.into());
            // Any 64-bit count of nanoseconds is a date.
            member(key, &time.unwrap_or_default().to_string());
        }
    }
    if let Some(language) = language {
        member("family", language.name());
    }
    member("format", "pprof");
    for (key, value) in keys {
        member(key, value);
    }
    member("version", SCHEMA);
    out.extend_from_slice(b"}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::super::Metadata;
    use super::*;
    use traceloom_model::Limits;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let mut profile = Profile {
            service: "shop".to_owned(),
            version: "1.2".to_owned(),
            language: "python".to_owned(),
            pid: "12".to_owned(),
            agent_ver: "4.1".to_owned(),
            format: "pprof".to_owned(),
            start: 1_723_123_941_746_316_117,
            end: 1_723_124_001_866_316_117,
            duration: 60_120_000_000,
            ..Profile::default()
        };
        for (key, value) in [
            ("plain", "a"),
            ("list", "a,b"),
            ("k:v", "x"),
            ("blank", " "),
        ] {
            profile.tags.insert(key.to_owned(), value.to_owned());
        }
        let files = ["auto.pprof".to_owned()];
        let written = event_json(&profile, &files);
        let metadata = Metadata::from_event(&written, &Limits::default());
        assert_eq!(metadata.attachments, files);
        let (mut read, bad) = metadata.profile();
        assert!(bad.is_empty());
        assert_eq!(read.tags.remove("family").as_deref(), Some("python"));
        assert_eq!(read, profile);
    }
}
