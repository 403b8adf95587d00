//! Pyroscope's `POST /ingest`: what its query says, which files it holds, and what of it is refused
//! (SPEC.md §6).

use traceloom_model::{Limits, Note};

use super::http::{HttpMessage, query};
use super::members::{member, request_head};
use super::metadata::{Metadata, unix};
use crate::text::json::{Document, JsonLayout, JsonReader, Kind, Value};
use crate::{Confidence, Format, Member, Probe, damage};

/// How Pyroscope means the values of the profile it comes with.
pub const CONFIG: Format = Format {
    name: "pyroscope-config",
    title: "Pyroscope sample_type_config",
    extensions: &["json"],
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "sample_type_config",
    elements: &[(&["*"], "sample_type")],
    time: |_| None,
};

/// Name of the part of a request that is one.
const CONFIG_PART: &str = "sample_type_config";

/// Each value type has an object of these alone.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    const KEYS: [&[u8]; 5] = [
        b"units",
        b"display-name",
        b"aggregation",
        b"cumulative",
        b"sampled",
    ];
    if probe.head.first() != Some(&b'{') {
        return None;
    }
    let named = probe.file_name().starts_with(CONFIG_PART);
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let known = |member: Value<'_>| member.key().is_some_and(|key| KEYS.contains(&key.as_ref()));
    let fits = |item: Value<'_>| item.kind() == Kind::Object && item.items().all(known);
    let says = |item: Value<'_>| item.get("units").or(item.get("display-name")).is_some();
    if named {
        return Some(Confidence::Likely);
    }
    let sure = root.items().all(fits) && root.items().any(says);
    sure.then_some(Confidence::Certain)
}

/// Returns true if a message is Pyroscope's: by its path, or by the parts of a bare body.
pub(super) fn is_ingest(message: &HttpMessage<'_>) -> bool {
    let path = message.target.split('?').next().unwrap_or("");
    let named = |name: &str| message.parts.iter().any(|part| part.name == name);
    let bare = message.head.is_empty() && !named("event") && !named("event.json");
    path.ends_with("/ingest") || bare && (named("profile") || named("jfr"))
}

/// What a request says of itself.
struct IngestParameters(Vec<(String, String)>);

impl IngestParameters {
    fn of(message: &HttpMessage<'_>) -> Self {
        Self(query(message.target))
    }

    fn get(&self, wanted: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == wanted);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The application, and its labels: `name` is `app{key=value,…}`.
    fn name(&self) -> (&str, impl Iterator<Item = (&str, &str)>) {
        let (app, set) = match self.get("name").split_once('{') {
            Some((app, set)) => (app, set),
            None => (self.get("name"), ""),
        };
        let set = set.trim_end().trim_end_matches('}');
        let label = |text| {
            let (key, value) = str::split_once(text, '=')?;
            Some((key.trim(), value.trim().trim_matches('"')))
        };
        (app.trim(), set.split(',').filter_map(label))
    }

    /// The application without the kind of profile that Node's agent hangs on, and that kind.
    fn app(&self) -> (&str, &str) {
        let (app, _) = self.name();
        let kind = app.rsplit_once('.').filter(|(_, kind)| {
            self.spy() == "node" && matches!(*kind, "cpu" | "inuse_objects" | "inuse_space")
        });
        kind.unwrap_or((app, ""))
    }

    /// The agent, without its suffix.
    fn spy(&self) -> String {
        let spy = self.get("spyName").to_lowercase();
        spy.strip_suffix("spy").unwrap_or(&spy).to_owned()
    }
}

/// What tells the requests of one bundle: their session, or for Node their application, and their end.
pub(super) fn session(message: &HttpMessage<'_>) -> Option<(String, String)> {
    let query = IngestParameters::of(message);
    let (_, mut labels) = query.name();
    let labelled = labels.find(|(key, _)| *key == "__session_id__");
    let session = match (query.get("__session_id__"), labelled) {
        ("", Some((_, session))) => session,
        ("", None) => match query.app() {
            (_, "") => "",
            (app, _) => app,
        },
        (session, _) => session,
    };
    let until = query.get("until");
    (!session.is_empty() && !until.is_empty()).then(|| (session.to_owned(), until.to_owned()))
}

/// Reads what the query says: its keys are tags, the labels of `name` fill them.
pub(super) fn metadata(message: &HttpMessage<'_>) -> Metadata {
    let mut metadata = Metadata::default();
    if message.head.is_empty() {
        return metadata;
    }
    let query = IngestParameters::of(message);
    for (key, value) in &query.0 {
        metadata.set(key, value.clone());
    }
    let (_, labels) = query.name();
    for (key, value) in labels {
        metadata.fill(key, value.to_owned());
    }
    metadata.fill("service", query.app().0.to_owned());
    let runtime_id = metadata.get("runtime_id").to_owned();
    metadata.fill("runtime-id", runtime_id);
    let spy = query.spy();
    let language = match spy.as_str() {
        "py" => "python",
        "rb" => "ruby",
        "ebpf" => "cpp",
        spy => spy,
    };
    metadata.fill("language", language.to_owned());
    metadata.fill("profiler", "pyroscope".to_owned());
    metadata.is_ingest = true;
    metadata.labels_are_tags = is_plain(message);
    metadata
}

/// Returns the media type of the body, in lower case.
fn media_type(message: &HttpMessage<'_>) -> String {
    let media = message.header("content-type").unwrap_or("");
    let media = media.split(';').next().unwrap_or("");
    media.trim().to_ascii_lowercase()
}

/// The body is the file itself. Agents add its format: `binary/octet-stream+trie`; Node's newer one has another type.
fn is_plain(message: &HttpMessage<'_>) -> bool {
    let media = media_type(message);
    let plain = media.strip_prefix("binary/octet-stream");
    media == "application/octet-stream"
        || plain.is_some_and(|format| format.is_empty() || format.starts_with('+'))
}

/// What a server looks at of an `/ingest` request before it keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestHead {
    /// The application.
    pub service: String,
    /// Its version, by the label `version`; empty without it.
    pub version: String,
}

impl IngestHead {
    /// Reads the head of a request, without its body.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn read(head: &[u8]) -> Result<Self, &'static str> {
        let messages = super::http::messages(head);
        let message = messages.first().ok_or("it is no request")?;
        if is_refused(message) {
            return Err("the Content-Type is none of multipart/form-data and binary/octet-stream");
        }
        let query = IngestParameters::of(message);
        if ["from", "until"]
            .iter()
            .any(|key| unix(query.get(key)).is_none())
        {
            return Err("`from` and `until` are Unix times");
        }
        if query.app().0.is_empty() {
            return Err("`name` is missing: APPLICATION{LABEL=VALUE,…}");
        }
        let (_, mut labels) = query.name();
        let version = labels.find(|(key, _)| *key == "version");
        Ok(Self {
            service: query.app().0.to_owned(),
            version: version.map_or_else(String::new, |(_, version)| version.to_owned()),
        })
    }
}

/// Returns true if the body is in none of the forms that are taken.
fn is_refused(message: &HttpMessage<'_>) -> bool {
    let taken = is_plain(message) || media_type(message) == "multipart/form-data";
    !message.head.is_empty() && !taken
}

/// Notes what a server would answer with an error: another type of content, times that are none.
pub(super) fn notes(message: &HttpMessage<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    if message.head.is_empty() {
        return notes;
    }
    let offset = message.head.start as u64;
    if is_refused(message) {
        let text = match media_type(message).as_str() {
            "" => "no Content-Type: the body was not read".to_owned(),
            media => format!(
                "Content-Type `{media}` is neither multipart/form-data nor binary/octet-stream: the body was not read"
            ),
        };
        notes.push(damage("content_type", offset, text));
    }
    let query = IngestParameters::of(message);
    for key in ["from", "until"] {
        let text = query.get(key);
        if unix(text).is_none() {
            let text = match text {
                "" => format!("`{key}` is missing"),
                text => format!("`{key}` is `{text}`, which is no time"),
            };
            notes.push(damage("bad_time", offset, text));
        }
    }
    notes
}

/// Lists the files of a request.
pub(super) fn members(message: &HttpMessage<'_>) -> Vec<Member> {
    let query = IngestParameters::of(message);
    let mut members = Vec::new();
    if !message.head.is_empty() {
        members.push(request_head(message));
    }
    if is_refused(message) {
        return members;
    }
    let (_, kind) = query.app();
    let spy = query.spy();
    let jfr = query.get("format") == "jfr" || query.get("format").is_empty() && spy == "java";
    let plain = match spy.as_str() {
        "ebpf" => "prof".to_owned(),
        _ if jfr => "auto.jfr".to_owned(),
        _ if kind.is_empty() => "auto.pprof".to_owned(),
        _ => format!("{kind}.pprof"),
    };
    if message.parts.is_empty() {
        let body = message.place(&(0..message.body.len()));
        if !body.is_empty() {
            members.push(member(&plain, body));
        }
        return members;
    }
    let config = message.parts.iter().find(|part| part.name == CONFIG_PART);
    let config = config.map(|part| message.slice(&part.content));
    let go = spy == "go" || message.head.is_empty();
    for part in &message.parts {
        let name = match part.name.as_ref() {
            "profile" if go => go_file(config),
            "profile" | "jfr" => plain.as_str(),
            // A name is no path: it cannot leave the bundle's folder.
            other => other.rsplit(['/', '\\']).next().unwrap_or(other),
        };
        members.push(member(name, message.place(&part.content)));
    }
    members
}

/// The file a Go profile is, by the sample types it configures.
fn go_file(config: Option<&[u8]>) -> &'static str {
    let Some(config) = config else {
        return "cpu.pprof";
    };
    let document = Document::parse(config, &Limits::default());
    let Some(root) = document.root() else {
        return "cpu.pprof";
    };
    for item in root.items() {
        let key = item.key().unwrap_or_default();
        match key.as_ref() {
            b"goroutine" | b"goroutines" => return "goroutines.pprof",
            b"contentions" | b"delay" => {
                let shown = item
                    .get("display-name")
                    .and_then(Value::text)
                    .unwrap_or_default();
                let mutex = shown.contains("mutex");
                return if mutex {
                    "delta-mutex.pprof"
                } else {
                    "delta-block.pprof"
                };
            }
            key if key.starts_with(b"alloc_") || key.starts_with(b"inuse_") => {
                return "delta-heap.pprof";
            }
            _ => {}
        }
    }
    "cpu.pprof"
}
