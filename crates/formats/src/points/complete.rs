//! What a recording does not say of its profiles as such, found in what it holds: language, service, metrics, an id.

use std::cell::LazyCell;

use traceloom_model::Recording;

use super::header::grouped;
use super::metrics::{ProfileShare, derived_of, of_events};
use super::{Language, Profile};
use crate::points::FieldValue;

/// Options of a JVM that name a fact, by the fact.
const OPTIONS: [(&str, &[&str]); 3] = [
    (
        "service",
        &[
            "-Ddd.service=",
            "-Dotel.service.name=",
            "-Dpyroscope.application.name=",
        ],
    ),
    ("env", &["-Ddd.env="]),
    ("version", &["-Ddd.version="]),
];

/// Returns the Datakit profiles of a recording with all that can be known of them (SPEC.md, "What nobody says"), each with
/// its model profiles. Those for which `as_it_is` is true have what they brought, no more.
///
/// `recording` may be a [`super::Digest`]'s, which has the sums of samples; a recording of events alone gives one
/// profile of their time. Ids are left as they are: see [`Profile::fill_id`].
pub(crate) fn complete(
    recording: &Recording,
    as_it_is: &dyn Fn(&[usize]) -> bool,
) -> Vec<(Vec<usize>, Profile)> {
    let mut groups = grouped(recording, false);
    if groups.is_empty() && !recording.events.is_empty() {
        groups.push(of_events(recording));
    }
    let shares = ProfileShare::of_all(recording, &groups);
    let seen = LazyCell::new(|| Language::of_recording(recording));
    let host = LazyCell::new(|| host(recording).unwrap_or_default());
    let mut profiles = Vec::new();
    for (group, share) in groups.iter().zip(&shares) {
        let mut profile = group.profile.clone();
        if as_it_is(&group.rows) {
            profiles.push((group.rows.clone(), profile));
            continue;
        }
        fill_from_options(&mut profile);
        if profile.host.is_empty() {
            profile.host.clone_from(&host);
        }
        let metrics = derived_of(recording, share, &|| *seen, &profile, "");
        if profile.language.is_empty() {
            let seen = metrics.language().or_else(|| *seen);
            profile.language = seen.map_or_else(String::new, |seen| seen.name().to_owned());
        }
        if profile.metrics.is_empty() {
            let values = metrics.values.iter();
            profile.metrics = values
                .filter_map(|(name, value)| Some((name.clone(), decimal(value)?)))
                .collect();
        }
        profiles.push((group.rows.clone(), profile));
    }
    profiles
}

fn decimal(value: &FieldValue) -> Option<String> {
    match value {
        FieldValue::I64(value) => Some(value.to_string()),
        FieldValue::U64(value) => Some(value.to_string()),
        FieldValue::F64(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Takes service, environment and version from the options of the JVM, else the service from the program it runs.
fn fill_from_options(profile: &mut Profile) {
    let options = profile
        .extra
        .get("jvmArguments")
        .cloned()
        .unwrap_or_default();
    for (fact, names) in OPTIONS {
        let slot = match fact {
            "service" => &mut profile.service,
            "env" => &mut profile.env,
            _ => &mut profile.version,
        };
        let mut words = options.split_ascii_whitespace();
        let value = words.find_map(|word| names.iter().find_map(|name| word.strip_prefix(name)));
        if let Some(value) = value.filter(|_| slot.is_empty()) {
            value.clone_into(slot);
        }
    }
    if profile.service.is_empty()
        && let Some(program) = profile.extra.get("javaArguments")
    {
        let program = program.split_ascii_whitespace().next().unwrap_or("");
        let program = program.rsplit(['/', '\\']).next().unwrap_or(program);
        profile.service = program.strip_suffix(".jar").unwrap_or(program).to_owned();
    }
}

/// Returns the host that the environment of a JVM names.
fn host(recording: &Recording) -> Option<String> {
    let rows = (0..recording.events.len()).filter_map(|at| recording.events.row(at));
    for row in rows {
        let name = recording.event_type(row.event_type)?.name;
        if recording.text(name) != "jdk.InitialEnvironmentVariable" {
            continue;
        }
        let value = |wanted: &str| {
            let mut attributes = row.attributes.iter();
            let found = attributes.find(|attribute| {
                let key = recording.attribute_key(attribute.key);
                key.is_some_and(|key| recording.text(key.name) == wanted)
            })?;
            Some(super::show(recording, &found.value))
        };
        if matches!(value("key").as_deref(), Some("HOSTNAME" | "COMPUTERNAME")) {
            return value("value").filter(|host| !host.is_empty());
        }
    }
    None
}

impl Profile {
    /// Gives a profile without an id one that follows from its facts and from `samples`, a hash of its samples: a UUID
    /// of version 8. The same recording has the same id whenever it is written.
    pub fn fill_id(&mut self, samples: u128) {
        if !self.profile_id.is_empty() {
            return;
        }
        let mut hash = Fnv::default();
        hash.add(&samples.to_le_bytes());
        for time in [self.start, self.end, self.duration] {
            hash.add(&time.to_le_bytes());
        }
        for text in [
            &self.service,
            &self.host,
            &self.pid,
            &self.language,
            &self.format,
        ] {
            hash.add(text.as_bytes());
            hash.add(&[0]);
        }
        for (name, value) in self.metrics.iter().chain(&self.tags) {
            hash.add(name.as_bytes());
            hash.add(&[0]);
            hash.add(value.as_bytes());
            hash.add(&[0]);
        }
        let bits = hash.0 & !(0xf << 76) & !(0b11 << 62) | 8 << 76 | 0b10 << 62;
        let hex = format!("{bits:032x}");
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
        self.profile_id = format!(
            "{}-{}-{}-{}-{}",
            part(0..8),
            part(8..12),
            part(12..16),
            part(16..20),
            part(20..32)
        );
    }
}

/// The hash FNV-1a in 128 bits: it is the same in every version and on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(pub(crate) u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 ^= u128::from(byte);
            self.0 = self
                .0
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
