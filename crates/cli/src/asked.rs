//! Names that were typed and that only the data can know: counters, parameters, labels, columns.
//!
//! A flag asks for a name before anything is read; what readers define is noted on the way, and a name that nothing
//! has is an error with the nearest one that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use traceloom_analysis::GroupBy;
use traceloom_analysis::calls::Column;
use traceloom_analysis::filter::{Field, Filter};
use traceloom_model::{Batch, Definitions, Recording, Sink as _, Unit};

use crate::numbers::things;
use crate::streams::message;
use crate::usage::{Usage, nearest};

/// The names of one run, shared by everything that reads.
#[derive(Clone, Default)]
pub(crate) struct RunNames(Arc<Mutex<NameState>>);

#[derive(Default)]
struct NameState {
    names: Vec<TypedName>,
    /// What recordings define, in lower case, and whether it is a time.
    known: BTreeMap<String, bool>,
    /// Something was read that could have had a name.
    rows: bool,
    /// Calls are counted, because some may be refused.
    counting: bool,
    calls: u64,
    /// Sentences that are said once, however often an input is read.
    said: BTreeSet<String>,
}

/// One name and where it was typed.
struct TypedName {
    flag: &'static str,
    /// What has such names.
    what: &'static str,
    name: String,
    /// It is compared with a number without a unit.
    bare: bool,
    /// It may be a word to look for.
    word: bool,
    /// Where nothing has it and nothing is near, there is an answer all the same.
    answered: bool,
    /// Names of this flag that do not come from the data.
    own: Vec<&'static str>,
}

/// Names that filters give to what is no field of every format.
const OF_FILTERS: [&str; 6] = ["cpu", "queue", "calls", "transactions", "owner", "size"];

impl RunNames {
    fn state(&self) -> MutexGuard<'_, NameState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: TypedName) {
        let mut state = self.state();
        let same = |known: &TypedName| known.flag == name.flag && known.name == name.name;
        if !state.names.iter().any(same) {
            state.names.push(name);
        }
    }

    /// Asks for the counters and parameters that `--filter` names.
    pub(crate) fn filter(&self, filter: &Filter) {
        for asked in filter.asked_names() {
            self.add(TypedName {
                flag: "--filter",
                what: "field, counter or parameter",
                name: asked.name.to_owned(),
                bare: asked.bare,
                word: asked.word,
                answered: asked.word,
                own: Field::names().chain(OF_FILTERS).collect(),
            });
        }
    }

    /// Asks for a column of calls.
    pub(crate) fn column(&self, flag: &'static str, column: &Column) {
        if let Column::Named(name) | Column::Counter(name) | Column::Attribute(name) = column {
            self.add(TypedName {
                flag,
                what: "column, counter or parameter",
                name: name.to_lowercase(),
                bare: false,
                word: false,
                answered: false,
                own: Column::names().collect(),
            });
        }
    }

    /// Asks for the parameter that `--by` names.
    pub(crate) fn group(&self, by: &GroupBy) {
        if let GroupBy::Attribute(name) = by {
            self.add(TypedName {
                flag: "--by",
                what: "parameter or label",
                name: name.clone(),
                bare: false,
                word: false,
                answered: true,
                own: GroupBy::names().collect(),
            });
        }
    }

    /// Returns what notes the names of one recording; none where nothing was asked for.
    pub(crate) fn names_of_recording(&self) -> Option<SeenNames> {
        let state = self.state();
        let any = state.counting || !state.names.is_empty();
        any.then(|| SeenNames {
            to: self.clone(),
            tables: Recording::default(),
            rows: false,
            calls: 0,
        })
    }

    /// Counts the calls that are read from now on.
    pub(crate) fn count_calls(&self) {
        self.state().counting = true;
    }

    /// Says that none of the calls passes, when some were read.
    pub(crate) fn say_none_passes(&self) {
        let calls = self.state().calls;
        if calls > 0 {
            let calls = things(calls, "call", "calls");
            self.say_once(format!(
                "the filter takes none of {calls}; without it `traceloom calls` lists them"
            ));
        }
    }

    /// Says a sentence unless it was said.
    pub(crate) fn say_once(&self, sentence: String) {
        if !self.state().said.contains(&sentence) {
            message!("{sentence}");
            self.state().said.insert(sentence);
        }
    }

    /// Fails for the first name that nothing has.
    ///
    /// A name near no other fails only where something was read: of nothing, nothing can be known.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let state = self.state();
        match state.names.iter().find_map(|name| state.refuse(name)) {
            None => Ok(()),
            Some(reason) => Err(Usage(reason).into()),
        }
    }
}

impl NameState {
    fn refuse(&self, asked: &TypedName) -> Option<String> {
        let TypedName { flag, name, .. } = asked;
        // Well-known columns have other names in some formats.
        let Ok(column) = name.parse::<Column>();
        let sources = column.sources().into_iter();
        let found: Vec<bool> = sources
            .filter_map(|source| self.known.get(source).copied())
            .collect();
        if asked.bare && found.contains(&true) {
            return Some(format!(
                "{flag}: `{name}` is a time, and the number has no unit: write 5ms, or ns, us, s, min or h"
            ));
        }
        let own = asked.own.contains(&name.as_str());
        if own || !found.is_empty() || self.known.contains_key(name) {
            return None;
        }
        let known = self.known.keys().map(String::as_str);
        let all = asked.own.iter().copied().chain(known.clone());
        let hint = match nearest(name, all) {
            Some(near) if asked.word => {
                format!("did you mean `{near}`? In quotes it is a text to look for")
            }
            Some(near) => format!("did you mean `{near}`?"),
            None if asked.answered || !self.rows => return None,
            None => listed(known.collect()),
        };
        Some(format!(
            "{flag}: nothing here has a {} `{name}`; {hint}",
            asked.what
        ))
    }
}

/// Lists the first of the names that there are.
fn listed(mut known: Vec<&str>) -> String {
    const MOST: usize = 12;
    // Captures have keys without a name, which nobody can type.
    known.retain(|name| !name.is_empty());
    match known.as_slice() {
        [] => "there are none at all".to_owned(),
        few if few.len() <= MOST => format!("there are {}", few.join(", ")),
        many => format!(
            "there are {} and {} more",
            many[..MOST].join(", "),
            many.len() - MOST
        ),
    }
}

/// Notes the names that a recording defines, and hands them in when it is dropped.
pub(crate) struct SeenNames {
    to: RunNames,
    tables: Recording,
    rows: bool,
    calls: u64,
}

impl SeenNames {
    pub(crate) fn see(&mut self, batch: &Batch) {
        /// Longer texts are no names that anybody types.
        const LONGEST: usize = 256;
        match batch {
            Batch::Define(new) => {
                let strings = new.strings.iter();
                let strings = strings.filter(|(_, text)| text.as_bytes().len() <= LONGEST);
                let _ = self.tables.define(Definitions {
                    strings: strings.cloned().collect(),
                    attribute_keys: new.attribute_keys.clone(),
                    value_types: new.value_types.clone(),
                    ..Definitions::default()
                });
            }
            Batch::Forget(strings) => self.tables.drop_strings(strings),
            Batch::Spans(batch) => {
                self.rows |= !batch.is_empty();
                let calls = batch.calls();
                self.calls += calls.count() as u64;
            }
            other => self.rows |= other.rows() > 0,
        }
    }
}

impl Drop for SeenNames {
    fn drop(&mut self) {
        let keys = self.tables.attribute_keys.iter().flatten();
        let types = self.tables.value_types.iter().flatten();
        let rows = keys.map(|row| (row.name, row.unit));
        let rows = rows.chain(types.map(|row| (row.name, row.unit)));
        let mut state = self.to.state();
        for (name, unit) in rows {
            let name = self.tables.text(name).to_lowercase();
            *state.known.entry(name).or_default() |= unit == Unit::Nanoseconds;
        }
        state.rows |= self.rows;
        state.calls += self.calls;
    }
}
