//! The ground that calls and samples stand on when a tree is grouped: a thread, a service, a value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    AttrKeyId, Attribute, ProfileId, Recording, SampleRow, SpanRow, StringId, TrackId, TrackKind,
    Value,
};

use crate::shape;
use crate::symbol::{NO_GROUP, OTHER_GROUPS, Symbol, TRACK_GROUP, VALUE_GROUP};
use crate::text::{of_resource_from, service_name, title, track_name, value_text};

/// Values kept apart; what has yet another one shares a group. A tree of a million requests is no view.
const MOST: usize = 10_000;

/// What calls and samples are grouped by: the roots of a tree then are the groups.
///
/// Of calls, thread, service and host are those of each span's track, title and kind those of the whole call. A
/// parameter and the shape of a statement are of the span that has them and of everything in it, until a span
/// deeper down has its own.
///
/// ```
/// use traceloom_analysis::GroupBy;
/// assert_eq!("thread".parse(), Ok(GroupBy::Thread));
/// assert_eq!("shop.customer".parse(), Ok(GroupBy::Attribute("shop.customer".to_owned())));
/// assert_eq!("$thread".parse(), Ok(GroupBy::Attribute("thread".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// The name of the track.
    Thread,
    /// The service of the track, else its instance.
    Service,
    /// The machine of the track.
    Host,
    /// What the call did, in words.
    Title,
    /// The same, without numbers, addresses and ids.
    TitleShape,
    /// The producer's word for the kind of the call.
    Kind,
    /// The statement, without its literals.
    SqlShape,
    /// The parameter or label of this name, in lower case.
    Attribute(String),
}

const KNOWN: [(&str, GroupBy); 7] = [
    ("thread", GroupBy::Thread),
    ("service", GroupBy::Service),
    ("host", GroupBy::Host),
    ("title", GroupBy::Title),
    ("title-shape", GroupBy::TitleShape),
    ("kind", GroupBy::Kind),
    ("sql-shape", GroupBy::SqlShape),
];

/// Parameters that hold a statement, by the formats that write them.
pub(crate) const STATEMENTS: [&str; 3] = ["sql", "db.statement", "db.query.text"];

/// A group without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoGroup;

impl fmt::Display for NoGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected thread, service, host, title, title-shape, kind, sql-shape or the name of a parameter or label")
    }
}

impl std::error::Error for NoGroup {}

impl FromStr for GroupBy {
    type Err = NoGroup;

    fn from_str(text: &str) -> Result<Self, NoGroup> {
        if let Some((_, known)) = KNOWN.iter().find(|(word, _)| *word == text) {
            return Ok(known.clone());
        }
        let name = text.strip_prefix('$').unwrap_or(text).trim();
        if name.is_empty() {
            return Err(NoGroup);
        }
        Ok(Self::Attribute(name.to_lowercase()))
    }
}

impl fmt::Display for GroupBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = KNOWN.iter().find(|(_, known)| known == self);
        f.write_str(match (known, self) {
            (Some((word, _)), _) => word,
            (None, Self::Attribute(name)) => name,
            (None, _) => "",
        })
    }
}

impl GroupBy {
    /// Returns the words that are no names of parameters.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        KNOWN.iter().map(|&(word, _)| word)
    }

    /// Returns true if the track of a span says all.
    pub(super) const fn is_of_track(&self) -> bool {
        matches!(self, Self::Thread | Self::Service | Self::Host)
    }

    /// Returns the name of the group of what has none of it.
    #[must_use]
    pub fn none(&self) -> String {
        match self {
            Self::SqlShape => "(no sql)".to_owned(),
            other => format!("(no {other})"),
        }
    }

    fn holds(&self, name: &str) -> bool {
        match self {
            Self::SqlShape => STATEMENTS.iter().any(|one| one.eq_ignore_ascii_case(name)),
            Self::Attribute(wanted) => name.to_lowercase() == *wanted,
            _ => false,
        }
    }

    fn of_track<'t>(&self, tables: &'t Recording, track: TrackId) -> Option<Cow<'t, str>> {
        match self {
            Self::Thread => Some(thread_name(tables, track)),
            _ => self.of_resource(tables, tables.track(track)?.resource),
        }
    }

    fn of_resource<'t>(
        &self,
        tables: &'t Recording,
        resource: Option<traceloom_model::ResourceId>,
    ) -> Option<Cow<'t, str>> {
        match self {
            Self::Service => service_name(tables, resource),
            Self::Host => of_resource_from(tables, resource, |row| row.host),
            _ => None,
        }
    }
}

/// The name of a thread; lanes and substreams without a name have that of what they hang under.
pub(crate) fn thread_name(tables: &Recording, track: TrackId) -> Cow<'_, str> {
    let mut at = track;
    while let Some(row) = tables.track(at)
        && row.kind == TrackKind::Lane
        && let Some(parent) = row.parent.filter(|&parent| parent < at)
    {
        at = parent;
    }
    track_name(tables, at)
}

/// Gives spans and samples the keys of their groups.
#[derive(Debug)]
pub(crate) struct Grounds {
    by: GroupBy,
    ids: HashMap<String, u32, RandomState>,
    values: Vec<String>,
    /// By the number of an attribute's key: whether it is the one.
    wanted: Vec<Option<bool>>,
    /// By the number of a text that was met.
    texts: HashMap<StringId, u32, RandomState>,
}

impl Grounds {
    pub fn new(by: GroupBy) -> Self {
        Self {
            by,
            ids: HashMap::default(),
            values: Vec::new(),
            wanted: Vec::new(),
            texts: HashMap::default(),
        }
    }

    pub fn by(&self) -> &GroupBy {
        &self.by
    }

    /// Returns the key of a track's group.
    pub fn of_track(&self, track: TrackId) -> u32 {
        if self.by.is_of_track() {
            track_key(track)
        } else {
            NO_GROUP
        }
    }

    /// Returns the key of a span's own group; none for one that is in its caller's.
    pub fn of_span(&mut self, tables: &Recording, row: &SpanRow<'_>) -> Option<u32> {
        match &self.by {
            by if by.is_of_track() => Some(track_key(row.track)),
            GroupBy::Title if row.parent.is_none() => {
                let title = title(tables, row.attributes)?.into_owned();
                Some(self.of_text(&title))
            }
            GroupBy::TitleShape if row.parent.is_none() => {
                let shape = shape::of_title(&title(tables, row.attributes)?);
                Some(self.of_text(&shape))
            }
            GroupBy::Kind if row.parent.is_none() => {
                let kind = tables.text(row.kind?).into_owned();
                Some(self.of_text(&kind))
            }
            GroupBy::Title | GroupBy::TitleShape | GroupBy::Kind => None,
            _ => self.of_attributes(tables, row.attributes),
        }
    }

    /// Returns the key of a call's group; by title a call without one is known by its method.
    pub fn of_call(&mut self, tables: &Recording, row: &SpanRow<'_>) -> u32 {
        let own = self.of_span(tables, row);
        let titled = matches!(self.by, GroupBy::Title | GroupBy::TitleShape);
        let method = row.function.filter(|_| titled);
        match (own, method) {
            (Some(key), _) => key,
            (None, Some(function)) => {
                let method = tables.function_name(function).into_owned();
                self.of_text(&method)
            }
            (None, None) => NO_GROUP,
        }
    }

    /// Returns the key of a sample's group.
    pub fn of_sample(
        &mut self,
        tables: &Recording,
        profile: ProfileId,
        row: &SampleRow<'_>,
    ) -> u32 {
        if self.by.is_of_track() {
            if let Some(track) = row.track {
                return track_key(track);
            }
            let resource = tables.profile(profile).and_then(|row| row.resource);
            return match self.by.of_resource(tables, resource) {
                Some(text) => self.of_text(&text),
                None => NO_GROUP,
            };
        }
        self.of_attributes(tables, row.labels).unwrap_or(NO_GROUP)
    }

    fn of_attributes(&mut self, tables: &Recording, attributes: &[Attribute]) -> Option<u32> {
        let mut found: Vec<&Value> = Vec::new();
        for one in attributes {
            if one.value != Value::Null && self.is_wanted(tables, one.key) {
                found.push(&one.value);
            }
        }
        let several = match found.as_slice() {
            [] => return None,
            [only] => return Some(self.of_value(tables, only)),
            several => several,
        };
        let mut parts: Vec<Cow<'_, str>> = Vec::new();
        for value in several {
            let part = self.part(tables, value);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        let separator = match self.by {
            GroupBy::SqlShape => "; ",
            _ => ", ",
        };
        let joined = parts.join(separator);
        Some(self.of_text(&joined))
    }

    fn part<'v>(&self, tables: &'v Recording, value: &'v Value) -> Cow<'v, str> {
        let text = value_text(tables, value);
        if self.by == GroupBy::SqlShape {
            shape::of_sql(&text).into()
        } else {
            text
        }
    }

    fn of_value(&mut self, tables: &Recording, value: &Value) -> u32 {
        let Value::Text(id) = value else {
            let text = self.part(tables, value).into_owned();
            return self.of_text(&text);
        };
        if let Some(&known) = self.texts.get(id) {
            return known;
        }
        let text = self.part(tables, value).into_owned();
        let key = self.of_text(&text);
        if self.texts.len() < MOST {
            self.texts.insert(*id, key);
        }
        key
    }

    /// Drops what is known of a text whose number may be given to another.
    pub fn forget(&mut self, strings: &[StringId]) {
        if self.texts.is_empty() {
            return;
        }
        for id in strings {
            self.texts.remove(id);
        }
    }

    fn of_text(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.ids.get(text) {
            return known;
        }
        let number = row_number(self.values.len());
        if self.values.len() >= MOST {
            return OTHER_GROUPS;
        }
        let key = VALUE_GROUP | number;
        self.ids.insert(text.to_owned(), key);
        self.values.push(text.to_owned());
        key
    }

    fn is_wanted(&mut self, tables: &Recording, key: AttrKeyId) -> bool {
        if let Some(&Some(known)) = self.wanted.get(key.index()) {
            return known;
        }
        let Some(row) = tables.attribute_key(key) else {
            return false;
        };
        let holds = self.by.holds(&tables.text(row.name));
        if self.wanted.len() <= key.index() {
            self.wanted.resize(key.index() + 1, None);
        }
        if let Some(slot) = self.wanted.get_mut(key.index()) {
            *slot = Some(holds);
        }
        holds
    }

    /// Returns the symbol of a group.
    pub fn symbol(&self, tables: &Recording, key: u32) -> Symbol {
        let name = match key {
            NO_GROUP => None,
            OTHER_GROUPS => Some(format!("(more than {MOST} values)").into()),
            key if key >= VALUE_GROUP => {
                let value = self.values.get((key & !VALUE_GROUP) as usize);
                value.map(|value| Cow::Borrowed(value.as_str()))
            }
            key => self.by.of_track(tables, TrackId::new(key & !TRACK_GROUP)),
        };
        let name = match name {
            None => self.by.none(),
            Some(name) if name.trim().is_empty() => "(empty)".to_owned(),
            Some(name) => name.into_owned(),
        };
        Symbol {
            group: true,
            ..Symbol::named(name)
        }
    }
}

fn track_key(track: TrackId) -> u32 {
    (track.raw() | TRACK_GROUP).min(VALUE_GROUP - 1)
}

#[cfg(test)]
mod tests;
