//! The values that `--value` may name, and what is said of one that nothing has.

use std::collections::BTreeSet;

use traceloom_model::Recording;

use crate::usage::{Usage, nearest};

/// Wall time of calls, as `--value` names it.
pub(crate) const WALL: &str = "wall";

/// The values of recordings, and whether the one asked for is among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedValues {
    matched: bool,
    there: BTreeSet<String>,
    /// What calls count as a whole.
    counters: BTreeSet<String>,
}

impl WantedValues {
    /// Takes the value columns of profiles; `names` are those of the value asked for.
    pub(crate) fn take(&mut self, tables: &Recording, names: &[String]) {
        let mut of_profiles = BTreeSet::new();
        for profile in tables.profiles.iter().flatten() {
            self.matched |= tables.shown_column(profile, names).is_some();
            of_profiles.extend(profile.value_types.iter().copied());
        }
        for (number, row) in tables.value_types.iter().enumerate() {
            let Some(row) = row else { continue };
            let name = tables.text(row.name).into_owned();
            if of_profiles.iter().any(|id| id.index() == number) {
                self.there.insert(name);
            } else {
                self.counters.insert(name);
            }
        }
    }

    /// Takes the wall time of calls.
    pub(crate) fn take_spans(&mut self, wanted: &str) {
        self.matched |= wanted == WALL;
        self.there.insert(WALL.to_owned());
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.matched |= other.matched;
        self.there.extend(other.there);
        self.counters.extend(other.counters);
    }

    /// Fails when nothing has the value, and says which values there are.
    pub(crate) fn check(&self, wanted: &str) -> anyhow::Result<()> {
        self.check_with(wanted, "")
    }

    /// Fails as [`Self::check`] does; `instead` follows where there are no sampled values at all.
    pub(crate) fn check_with(&self, wanted: &str, instead: &str) -> anyhow::Result<()> {
        if self.matched {
            return Ok(());
        }
        let list = |names: &BTreeSet<String>| {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            names.join(", ")
        };
        let mut reason = format!("--value {wanted}: ");
        reason += &match self.there.is_empty() {
            true => format!("there are no sampled values here{instead}"),
            false => format!("nothing here has it; there are {}", list(&self.there)),
        };
        if let Some(near) = nearest(wanted, self.there.iter().map(String::as_str)) {
            reason += &format!("; did you mean `{near}`?");
        } else if let Some(first) = self.counters.first() {
            let column = nearest(wanted, self.counters.iter().map(String::as_str));
            let column = column.unwrap_or(first);
            reason += &format!(
                ". Calls as a whole, not their functions, have {}: `traceloom calls --columns start,{column},title` \
                 shows one of them",
                list(&self.counters)
            );
        }
        Err(Usage(reason).into())
    }
}
