//! Facts that whoever converts gives for profiles that do not say them: `service=shop`.

use super::Profile;
use crate::Error;

/// Facts that may be given.
const NAMES: [&str; 8] = [
    "service",
    "host",
    "env",
    "version",
    "language",
    "format",
    "profile_id",
    "oss_path",
];

/// Given facts, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts(Vec<(String, String)>);

impl Facts {
    /// Reads a variant that holds nothing else.
    ///
    /// # Errors
    /// `Usage` for a word that is no fact.
    pub(crate) fn of(format: &str, variant: Option<&str>) -> Result<Self, Error> {
        let mut facts = Self::default();
        let words = variant.unwrap_or("").split(',');
        for word in words.filter(|word| !word.is_empty()) {
            if !facts.take(word) {
                let text = format!(
                    "{format} has no variant `{word}`; there are service=TEXT, host=, env=, version=, language=, format=, \
                     profile_id=, oss_path="
                );
                return Err(Error::usage(text));
            }
        }
        Ok(facts)
    }

    /// Takes a word that is a fact; returns `false` for any other.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let fact = word.split_once('=');
        let fact = fact.filter(|(name, _)| NAMES.contains(name));
        self.0
            .extend(fact.map(|(name, value)| (name.to_owned(), value.to_owned())));
        fact.is_some()
    }

    /// Fills in what a profile does not say.
    pub(crate) fn fill(&self, profile: &mut Profile) {
        for (fact, value) in &self.0 {
            if fact == "oss_path" {
                if profile.oss_path.is_empty() {
                    profile.oss_path.push(value.clone());
                }
                continue;
            }
            let slot = match fact.as_str() {
                "service" => &mut profile.service,
                "host" => &mut profile.host,
                "env" => &mut profile.env,
                "version" => &mut profile.version,
                "language" => &mut profile.language,
                "format" => &mut profile.format,
                _ => &mut profile.profile_id,
            };
            if slot.is_empty() {
                slot.clone_from(value);
            }
        }
    }
}
