//! Datakit's profile, and its one line of line protocol.

use std::collections::{BTreeMap, BTreeSet};

use traceloom_model::Limits;
use traceloom_model::bounds::saturated_i64;

use super::Language;
use super::sample::{self, Sample};
use crate::points::{FieldValue, OwnedPoint};

/// The unit of `start`, `end` and `duration` in a point (`datakit/SPEC.md` §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeUnit {
    /// Microseconds, rounded down.
    #[default]
    Micros,
    /// Nanoseconds.
    Nanos,
}

/// What is known of one profile (`datakit/SPEC.md` §2). Texts that are not known are empty; times are nanoseconds
/// since the Unix epoch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    /// Id.
    pub profile_id: String,
    /// Version of the agent.
    pub agent_ver: String,
    /// Communication endpoint.
    pub endpoint: String,
    /// Service name.
    pub service: String,
    /// Deployment environment.
    pub env: String,
    /// Version of the service.
    pub version: String,
    /// First nanosecond.
    pub start: i64,
    /// Nanosecond after the last.
    pub end: i64,
    /// Length; may differ from `end - start`.
    pub duration: i64,
    /// Host name.
    pub host: String,
    /// Process id, text.
    pub pid: String,
    /// Programming language, as the producer spells it.
    pub language: String,
    /// Version of the language.
    pub language_ver: String,
    /// Runtime, such as `jvm`.
    pub runtime: String,
    /// Operating system.
    pub runtime_os: String,
    /// Processor architecture.
    pub runtime_arch: String,
    /// Format of the profile's files.
    pub format: String,
    /// Every other tag.
    pub tags: BTreeMap<String, String>,
    /// Keys of the stored originals.
    pub oss_path: Vec<String>,
    /// Derived metrics, decimal text.
    pub metrics: BTreeMap<String, String>,
    /// Samples by event type.
    pub samples: BTreeMap<String, Vec<Sample>>,
    /// Fields only newer producers send: text by name (`runtime_id`, `profiler`, …).
    pub extra: BTreeMap<String, String>,
    /// Sum of the sizes of all files, in bytes.
    pub file_size: Option<i64>,
    /// The times that nothing says: `start`, `end`, `duration`, and `time` for that of the point itself.
    pub unsaid: BTreeSet<&'static str>,
}

/// Text fields of newer producers (contradiction C13).
pub(crate) const EXTRA: [&str; 5] = [
    "runtime_id",
    "profiler",
    "runtime_version",
    "runtime_compiler",
    "datakit_ver",
];

/// Values from here on are nanoseconds: as microseconds they would be after the year 5138.
const NANOS_FROM: i64 = 100_000_000_000_000_000;

/// The tag and the field that number points of one profile.
const PART: &str = "samples_part";
const PARTS: &str = "samples_parts";

/// Fields that every part of a profile has.
const OF_EVERY_PART: [&str; 5] = ["profile_id", "start", "end", "duration", "format"];

/// The measurement of index points.
pub const MEASUREMENT: &str = "profile";

impl Profile {
    /// Builds the index point: each key in its one home, times in `unit`, the point's own time in
    /// nanoseconds. Samples go in only `with_samples`, because they outgrow a field's limit.
    #[must_use]
    pub fn to_point(&self, unit: TimeUnit, with_samples: bool) -> OwnedPoint {
        let mut point = OwnedPoint::new(MEASUREMENT);
        let said = |name: &str| !self.unsaid.contains(name);
        point.time = said("time").then_some(self.start);
        let language = match Language::resolve(&self.language) {
            Some(language) => language.name(),
            None if self.language.is_empty() => "",
            None => "unknown",
        };
        for (key, value) in [
            ("host", self.host.as_str()),
            ("endpoint", &self.endpoint),
            ("service", &self.service),
            ("env", &self.env),
            ("version", &self.version),
            ("language", language),
            ("runtime", &self.runtime),
            ("runtime_os", &self.runtime_os),
            ("runtime_arch", &self.runtime_arch),
        ] {
            point.tag(key, value);
        }
        for (key, value) in &self.tags {
            if !is_field(key) {
                point.tag(key, value);
            }
        }
        text(&mut point, "profile_id", &self.profile_id);
        text(&mut point, "agent_ver", &self.agent_ver);
        let raw = |ns: i64| match unit {
            TimeUnit::Micros => ns.div_euclid(1000),
            TimeUnit::Nanos => ns,
        };
        for (key, time) in [
            ("start", self.start),
            ("end", self.end),
            ("duration", self.duration),
        ] {
            if said(key) {
                point.field(key, FieldValue::I64(raw(time)));
            }
        }
        text(&mut point, "pid", &self.pid);
        text(&mut point, "format", &self.format);
        text(&mut point, "language_ver", &self.language_ver);
        for (key, value) in &self.extra {
            text(&mut point, key, value);
        }
        if let Some(size) = self.file_size {
            point.field("__file_size", FieldValue::I64(size));
        }
        if !self.oss_path.is_empty() {
            point.field("oss_path", FieldValue::Text(sample::list(&self.oss_path)));
        }
        if !self.metrics.is_empty() {
            point.field("metrics", FieldValue::Text(sample::map(&self.metrics)));
        }
        if with_samples && !self.samples.is_empty() {
            point.field("samples", FieldValue::Text(sample::write(&self.samples)));
        }
        point.tags.sort();
        point
    }

    /// Builds the index point and further ones with the samples that one field cannot hold: each has the id, the
    /// times and the tags, its number as the tag `samples_part`, by which databases tell them apart, and how many
    /// there are.
    #[must_use]
    pub fn to_points(&self, unit: TimeUnit, with_samples: bool, limit: usize) -> Vec<OwnedPoint> {
        let first = self.to_point(unit, false);
        if !with_samples || self.samples.is_empty() {
            return vec![first];
        }
        let pieces = sample::write_pieces(&self.samples, limit);
        let n_pieces = saturated_i64(pieces.len());
        let point = |(at, piece): (usize, Vec<u8>)| {
            let mut point = first.clone();
            if n_pieces > 1 {
                if at > 0 {
                    let kept = |key: &[u8]| OF_EVERY_PART.iter().any(|kept| kept.as_bytes() == key);
                    point.fields.retain(|(key, _)| kept(key));
                }
                point.tag(PART, &(at + 1).to_string());
                point.field(PARTS, FieldValue::I64(n_pieces));
            }
            point.field("samples", FieldValue::Text(piece));
            point.tags.sort();
            point
        };
        pieces.into_iter().enumerate().map(point).collect()
    }

    /// Reads an index point: either home of a key, a tag before a field, either unit of time.
    #[must_use]
    pub fn from_point(point: &OwnedPoint, limits: &Limits) -> Self {
        let mut keys = PointKeys {
            point,
            used: Vec::new(),
        };
        let mut profile = Self {
            profile_id: keys.text(&["profile_id"]),
            agent_ver: keys.text(&["agent_ver", "library_ver", "profiler_version"]),
            endpoint: keys.text(&["endpoint"]),
            service: keys.text(&["service"]),
            env: keys.text(&["env"]),
            version: keys.text(&["version"]),
            host: keys.text(&["host"]),
            pid: keys.text(&["pid", "process_id"]),
            language: keys.text(&["language"]),
            language_ver: keys.text(&["language_ver"]),
            runtime: keys.text(&["runtime", "Runtime"]),
            runtime_os: keys.text(&["runtime_os"]),
            runtime_arch: keys.text(&["runtime_arch"]),
            format: keys.text(&["format"]),
            ..Self::default()
        };
        if let Some(language) = Language::resolve(&profile.language) {
            language.name().clone_into(&mut profile.language);
        }
        profile.times(&mut keys);
        keys.text(&[PART, PARTS]);
        for key in EXTRA {
            let value = keys.text(&[key]);
            if !value.is_empty() {
                profile.extra.insert(key.to_owned(), value);
            }
        }
        profile.file_size = keys.integer("__file_size");
        profile.oss_path = sample::read_list(&keys.text(&["oss_path"]), limits);
        profile.metrics = sample::read_map(&keys.text(&["metrics"]), limits);
        profile.samples = sample::read(&keys.text(&["samples"]), limits);
        for (key, value) in &point.tags {
            let key = String::from_utf8_lossy(key).into_owned();
            if !keys.used.contains(&key) {
                profile
                    .tags
                    .insert(key, String::from_utf8_lossy(value).into_owned());
            }
        }
        let others: Vec<String> = point
            .fields
            .iter()
            .map(|(key, _)| String::from_utf8_lossy(key).into_owned())
            .filter(|key| !keys.used.contains(key) && !profile.tags.contains_key(key))
            .collect();
        for key in others {
            let value = keys.text(&[&key]);
            if !value.is_empty() {
                profile.extra.insert(key, value);
            }
        }
        profile
    }

    fn times(&mut self, keys: &mut PointKeys<'_>) {
        let (start, end) = (keys.integer("start"), keys.integer("end"));
        let duration = keys.integer("duration");
        let nanos = [start, end]
            .into_iter()
            .flatten()
            .any(|time| time >= NANOS_FROM);
        let ns = |raw: i64| if nanos { raw } else { raw.saturating_mul(1000) };
        // The point's own time is the start to the nanosecond, when it is the same microsecond.
        let exact = keys.point.time;
        self.start = match (start.map(ns), exact) {
            (Some(start), Some(time)) if time.div_euclid(1000) == start.div_euclid(1000) => time,
            (Some(start), _) => start,
            (None, time) => time.unwrap_or(0),
        };
        self.duration = duration.map_or_else(
            || end.map_or(0, |end| ns(end).saturating_sub(self.start)),
            ns,
        );
        self.end = end.map_or_else(|| self.start.saturating_add(self.duration), ns);
        let said = [
            ("start", start.is_some()),
            ("end", end.is_some()),
            ("duration", duration.is_some()),
            ("time", exact.is_some()),
        ];
        self.unsaid = said
            .into_iter()
            .filter_map(|(name, said)| (!said).then_some(name))
            .collect();
    }

    /// Returns `true` if a point holds a part of the samples of a profile.
    #[must_use]
    pub fn is_part(point: &OwnedPoint) -> bool {
        point.tags.iter().any(|(key, _)| *key == *PART.as_bytes())
    }

    /// Returns `true` if a point holds more samples of a profile whose facts another one has.
    #[must_use]
    pub fn is_further_part(point: &OwnedPoint) -> bool {
        let mut tags = point.tags.iter();
        tags.any(|(key, value)| *key == *PART.as_bytes() && *value != *b"1")
    }

    /// Returns true if a point looks like an index point.
    #[must_use]
    pub fn is_point(point: &OwnedPoint) -> bool {
        let keys = point.fields.iter().map(|(key, _)| &**key);
        let keys = keys.chain(point.tags.iter().map(|(key, _)| &**key));
        Self::is_index(&point.measurement, keys)
    }

    /// Returns true if a point of this name with these keys looks like an index point.
    pub(crate) fn is_index<'k>(
        measurement: &[u8],
        mut keys: impl Iterator<Item = &'k [u8]> + Clone,
    ) -> bool {
        let is_named = matches!(measurement, b"profile" | b"pyroscope");
        let is_timed = |key: &[u8]| matches!(key, b"start" | b"duration");
        is_named && keys.clone().any(is_timed) || keys.any(|key| key == b"profile_id")
    }

    /// Returns true if samples have this key.
    pub(crate) fn is_samples(key: &[u8]) -> bool {
        key == b"samples"
    }
}

fn text(point: &mut OwnedPoint, key: &str, value: &str) {
    if !value.is_empty() {
        point.field(key, value);
    }
}

/// Keys whose home is a field: a tag of that name would make the point illegal.
fn is_field(key: &str) -> bool {
    let fields = [
        "profile_id",
        "agent_ver",
        "start",
        "end",
        "duration",
        "pid",
        "format",
        "language_ver",
        "oss_path",
        "metrics",
        "samples",
        "__file_size",
    ];
    fields.contains(&key) || EXTRA.contains(&key)
}

/// Takes keys out of a point and remembers which.
struct PointKeys<'p> {
    point: &'p OwnedPoint,
    used: Vec<String>,
}

impl PointKeys<'_> {
    /// Returns the first of `names` that has a value: as a tag, else as a field.
    fn text(&mut self, names: &[&str]) -> String {
        self.used.extend(names.iter().map(|&name| name.to_owned()));
        let tag = |name: &&str| {
            let mut tags = self.point.tags.iter();
            let (_, value) = tags.find(|(key, _)| *key == *name.as_bytes())?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        let field = |name: &&str| {
            Some(match self.field(name)? {
                FieldValue::I64(value) => value.to_string(),
                FieldValue::U64(value) => value.to_string(),
                FieldValue::F64(value) => value.to_string(),
                FieldValue::Bool(value) => value.to_string(),
                FieldValue::Text(text) | FieldValue::Bytes(text) => {
                    String::from_utf8_lossy(text).into_owned()
                }
                FieldValue::List(_) => return None,
            })
        };
        let found = names.iter().find_map(|name| {
            let value = tag(name).or_else(|| field(name));
            value.filter(|value| !value.is_empty())
        });
        found.unwrap_or_default()
    }

    fn field(&self, name: &str) -> Option<&FieldValue> {
        let mut fields = self.point.fields.iter();
        let (_, value) = fields.find(|(key, _)| *key == *name.as_bytes())?;
        Some(value)
    }

    fn integer(&mut self, name: &str) -> Option<i64> {
        let text = self.text(&[name]);
        text.parse().ok().or_else(|| {
            let float: f64 = text.parse().ok()?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float that saturates is as good as the producer's"
            )]
            float.is_finite().then_some(float as i64)
        })
    }
}
