//! Pyroscope's `PusherService/Push`: series of labels, each with its profiles, in protobuf or JSON (SPEC.md §6).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::http::HttpMessage;
use super::metadata::Metadata;
use crate::protobuf::{RawValue, fields, skip, tag, varint};

/// Series of a request.
const MOST_SERIES: usize = 10_000;

/// A request to store profiles.
#[derive(Debug, Default)]
pub struct PushRequest<'a> {
    /// What it holds.
    pub series: Vec<PushSeries<'a>>,
}

/// Profiles that have their labels in common.
#[derive(Debug, Default)]
pub struct PushSeries<'a> {
    /// Names and values.
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The profiles.
    pub profiles: Vec<PushProfile<'a>>,
}

/// A profile of a series.
#[derive(Debug, Default)]
pub struct PushProfile<'a> {
    /// A pprof file.
    pub bytes: Cow<'a, [u8]>,
    /// The sender's own name for it, empty where it has none.
    pub id: Cow<'a, str>,
}

impl PushSeries<'_> {
    /// Returns the value of a label, empty where it is not there.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Labels are tags; the service and the language have labels of their own.
    pub(super) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::default();
        for (name, value) in &self.labels {
            metadata.set(name, value.clone().into_owned());
        }
        metadata.fill("service", self.label("service_name").to_owned());
        let spy = self.label("pyroscope_spy");
        let language = match spy.strip_suffix("spy").unwrap_or(spy) {
            "py" => "python",
            "rb" => "ruby",
            "ebpf" => "cpp",
            other => other,
        };
        metadata.fill("language", language.to_owned());
        metadata.fill("profiler", "pyroscope".to_owned());
        metadata
    }
}

/// Returns true if a message is a push.
pub(super) fn is_push(message: &HttpMessage<'_>) -> bool {
    let path = message.target.split('?').next().unwrap_or("");
    path.ends_with("/push.v1.PusherService/Push")
}

impl<'a> PushRequest<'a> {
    /// Reads the body of a request, which is plain, by its Content-Type: `application/json`, or else protobuf.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn read(content_type: &str, body: &'a [u8]) -> Result<Self, &'static str> {
        let media = content_type.split(';').next().unwrap_or("").trim();
        let request = match media.eq_ignore_ascii_case("application/json") {
            true => of_json(body),
            false => of_protobuf(body),
        };
        let request = request.ok_or("the body is no PushRequest")?;
        if request.series.len() > MOST_SERIES {
            return Err("a PushRequest has at most 10,000 series");
        }
        Ok(request)
    }
}

/// Returns text; bytes that are none are no request.
fn text<'a>(value: RawValue<'a>) -> Option<Cow<'a, str>> {
    std::str::from_utf8(value.bytes()).ok().map(Cow::Borrowed)
}

fn of_protobuf(body: &[u8]) -> Option<PushRequest<'_>> {
    if !is_whole(body) {
        return None;
    }
    let mut request = PushRequest::default();
    for (number, value) in fields(body) {
        if number == 1 {
            request.series.push(series(value.bytes())?);
        }
    }
    Some(request)
}

/// Returns `true` if fields follow each other up to the end.
fn is_whole(body: &[u8]) -> bool {
    let mut at = 0;
    while at < body.len() {
        let field = varint(body, at).and_then(|(raw, next)| skip(body, next, tag(raw)?.1));
        let Some(end) = field else {
            return false;
        };
        at = end;
    }
    true
}

fn series(body: &[u8]) -> Option<PushSeries<'_>> {
    if !is_whole(body) {
        return None;
    }
    let mut series = PushSeries::default();
    for (number, value) in fields(body) {
        match number {
            1 => {
                let (mut name, mut text_value) = (Cow::Borrowed(""), Cow::Borrowed(""));
                for (number, value) in fields(value.bytes()) {
                    match number {
                        1 => name = text(value)?,
                        2 => text_value = text(value)?,
                        _ => {}
                    }
                }
                series.labels.push((name, text_value));
            }
            2 => {
                let mut profile = PushProfile::default();
                for (number, value) in fields(value.bytes()) {
                    match number {
                        1 => profile.bytes = Cow::Borrowed(value.bytes()),
                        2 => profile.id = text(value)?,
                        _ => {}
                    }
                }
                series.profiles.push(profile);
            }
            _ => {}
        }
    }
    Some(series)
}

fn of_json<'a>(body: &[u8]) -> Option<PushRequest<'a>> {
    fn list<'j>(of: &'j Json, name: &str) -> Option<&'j [Json]> {
        match of.get(name) {
            None | Some(Json::Null) => Some(&[]),
            Some(list) => list.as_array().map(Vec::as_slice),
        }
    }
    fn owned(of: &Json, names: &[&str]) -> Option<String> {
        let found = names.iter().find_map(|name| of.get(*name));
        found.map_or(Some(String::new()), |text| text.as_str().map(str::to_owned))
    }
    let json: Json = serde_json::from_slice(body).ok()?;
    let mut request = PushRequest::default();
    for one in list(&json, "series")? {
        let mut series = PushSeries::default();
        for label in list(one, "labels")? {
            let (name, value) = (owned(label, &["name"])?, owned(label, &["value"])?);
            series.labels.push((name.into(), value.into()));
        }
        for sample in list(one, "samples")? {
            let bytes = owned(sample, &["rawProfile", "raw_profile"])?;
            series.profiles.push(PushProfile {
                bytes: STANDARD.decode(bytes).ok()?.into(),
                id: owned(sample, &["ID", "id"])?.into(),
            });
        }
        request.series.push(series);
    }
    Some(request)
}
