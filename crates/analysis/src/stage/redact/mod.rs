//! Captures that can be shared: what tells who and where becomes a pseudonym.

use traceloom_model::bounds::subslice;

mod pseudonym;
mod sql;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, AttrKeyId, Attribute, Attributes, Batch, Definitions, Flow, Sink, Stage, StringId, Text,
    Value, Wants,
};

use pseudonym::Key;
use words::TextContext;

/// A kind of thing that is taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// Names of machines, pods and containers.
    Hosts,
    /// IP, MAC and mail addresses.
    Addresses,
    /// Literals of SQL, bind values, comments in statements.
    Sql,
    /// Users, paths, queries and fragments of URLs.
    Urls,
    /// Paths of files.
    Paths,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 5] = [
        Self::Hosts,
        Self::Addresses,
        Self::Sql,
        Self::Urls,
        Self::Paths,
    ];

    /// Returns the word that `--redact` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Addresses => "addresses",
            Self::Sql => "sql",
            Self::Urls => "urls",
            Self::Paths => "paths",
        }
    }
}

/// What is taken out, and what is known of it.
///
/// Addresses, URLs and statements are known by their form wherever they stand. A bare host name is not, nor is
/// a bind value: they are learned from the fields that hold them ([`Redaction::learn`], a pass over everything
/// before the one that writes) and then found in thread names, messages and titles too. The memory of that is
/// eight bytes for each string of the input and each bind value.
#[derive(Clone)]
pub struct Redaction {
    categories: u8,
    key: Key,
    hosts: HashSet<String, RandomState>,
    /// Texts that are something by the attribute they are the value of, by their hash.
    values: HashMap<u64, AttributeMeaning, RandomState>,
}

/// What the name of an attribute says about its values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum AttributeMeaning {
    Path,
    Sql,
    Host,
    Bind,
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redaction")
            .field("categories", &self.categories)
            .finish_non_exhaustive()
    }
}

impl Redaction {
    /// Takes out `categories`, with pseudonyms made under `key`.
    #[must_use]
    pub fn new(categories: &[Category], key: (u64, u64)) -> Self {
        Self {
            categories: categories.iter().fold(0, |all, one| all | 1 << *one as u8),
            key: Key::new(key),
            hosts: HashSet::default(),
            values: HashMap::default(),
        }
    }

    /// Derives a key from a phrase, so that another run with the same phrase makes the same pseudonyms.
    #[must_use]
    pub fn key_of(phrase: &str) -> (u64, u64) {
        let half = |number| Key::new((0x7472_6163, number)).hash("key", phrase.as_bytes());
        (half(1), half(2))
    }

    /// Returns true if nothing is taken out.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.categories == 0
    }

    /// Returns a sink that learns from one recording; give it all of them before the first is written.
    pub fn learn(&mut self) -> Learning<'_> {
        Learning {
            of: self,
            strings: Vec::new(),
            keys: HashMap::default(),
        }
    }

    /// Replaces what is to be taken out of a text.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.replaced(text, TextContext::Data)
            .unwrap_or_else(|| text.to_owned())
    }

    const fn has(&self, category: Category) -> bool {
        self.categories & 1 << category as u8 != 0
    }

    /// The pseudonym of a word that is a known host, or has one between its signs: `pool-db01-3`.
    fn known_host(&self, word: &str) -> Option<String> {
        if self.hosts.is_empty() {
            return None;
        }
        let lower = word.to_ascii_lowercase();
        if self.hosts.contains(&lower) {
            return Some(self.key.host(word));
        }
        let mut cuts = vec![0];
        let signs = lower.match_indices(['-', '.', '_']);
        cuts.extend(signs.flat_map(|(at, _)| [at, at + 1]));
        cuts.push(lower.len());
        let mut out = String::new();
        let mut from = 0;
        while from < word.len() {
            // Sixteen parts are more than a host name has; a longer word is tried in pieces.
            let first = cuts.partition_point(|&cut| cut <= from);
            let ends = subslice(&cuts, first..).iter().take(32);
            let is_known = |end: &&usize| {
                let part = lower.get(from..**end);
                part.is_some_and(|part| self.hosts.contains(part))
            };
            let longest = ends.rev().find(is_known);
            match longest {
                Some(&end) => {
                    out.push_str(&self.key.host(word.get(from..end).unwrap_or("")));
                    from = end;
                }
                None => {
                    let next = cuts
                        .iter()
                        .copied()
                        .find(|&cut| cut > from)
                        .unwrap_or(word.len());
                    out.push_str(word.get(from..next).unwrap_or(""));
                    from = next;
                }
            }
        }
        (out != word).then_some(out)
    }

    fn replaced(&self, text: &str, place: TextContext) -> Option<String> {
        let meaning = self.values.get(&self.key.hash("value", text.as_bytes()));
        match meaning {
            Some(AttributeMeaning::Bind) => return Some(self.key.word("s", text)),
            Some(AttributeMeaning::Host)
                if !words::is_ipv4(text)
                    && text
                        .chars()
                        .all(|c| !c.is_whitespace() && c != '/' && c != ':') =>
            {
                return Some(self.key.host(text));
            }
            Some(AttributeMeaning::Path) if text.contains(['/', '\\']) && !text.contains("://") => {
                return Some(words::file(self.key, text));
            }
            _ => {}
        }
        let is_sql = self.has(Category::Sql)
            && (meaning == Some(&AttributeMeaning::Sql) || sql::is_sql(text));
        let plain = is_sql.then(|| sql::literals(self.key, text));
        let seen = plain.as_deref().unwrap_or(text);
        // `o.net` in a statement is a column.
        let place = if is_sql { TextContext::Code } else { place };
        words::replace(self, seen, place).or(plain)
    }

    fn row(&self, text: &Text, place: TextContext) -> Option<Text> {
        if let Some(text) = text.as_str() {
            return self
                .replaced(text, place)
                .map(|new| Text::from_bytes(new.into_bytes()));
        }
        self.bytes(text.as_bytes()).map(Text::from_bytes)
    }

    /// Replaces within the stretches of bytes that are text.
    fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut changed = false;
        for chunk in bytes.utf8_chunks() {
            match self.replaced(chunk.valid(), TextContext::Data) {
                Some(new) => {
                    changed = true;
                    out.extend_from_slice(new.as_bytes());
                }
                None => out.extend_from_slice(chunk.valid().as_bytes()),
            }
            out.extend_from_slice(chunk.invalid());
        }
        changed.then_some(out)
    }

    fn meaning_of(&self, name: &str) -> Option<AttributeMeaning> {
        let name = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if self.has(Category::Sql) && has(&["bind", "sql.param", "statement.param", "query.param"])
        {
            return Some(AttributeMeaning::Bind);
        }
        if self.has(Category::Sql) && has(&["sql", "statement", "db.query"]) {
            return Some(AttributeMeaning::Sql);
        }
        const MACHINES: [&str; 12] = [
            "host",
            "hostname",
            "pod",
            "podname",
            "node",
            "nodename",
            "fqdn",
            "server",
            "peer",
            "machine",
            "container",
            "remotehost",
        ];
        let mut words = name.split(['.', '_', '-', ' ']);
        let last = words.clone().next_back().unwrap_or("");
        let names = matches!(last, "name" | "address" | "id") || MACHINES.contains(&last);
        let host = names && words.any(|word| MACHINES.contains(&word));
        if self.has(Category::Hosts) && host {
            return Some(AttributeMeaning::Host);
        }
        let path = matches!(
            last,
            "file" | "path" | "filename" | "dir" | "directory" | "jar" | "exe" | "cwd"
        );
        let link = matches!(
            last,
            "uri" | "url" | "target" | "route" | "referer" | "referrer"
        );
        let wanted = (self.has(Category::Paths) && path)
            || (self.has(Category::Urls) && (link || last == "path"));
        wanted.then_some(AttributeMeaning::Path)
    }
}

/// A sink that collects what only its field tells.
pub struct Learning<'r> {
    of: &'r mut Redaction,
    /// Hash of each string as a value, and the string while it may be a host.
    strings: Vec<(u64, Option<Box<str>>)>,
    keys: HashMap<AttrKeyId, AttributeMeaning, RandomState>,
}

/// Texts longer than this name no host by themselves.
const LONGEST_HOST: usize = 253;

impl std::fmt::Debug for Learning<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learning").finish_non_exhaustive()
    }
}

impl Learning<'_> {
    fn host(&mut self, host: &str) {
        let host = host.trim_matches(['.', '-', '_']).to_ascii_lowercase();
        let plain = host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
        // Two letters or a number would be found everywhere.
        let telling = host.len() > 2 && !host.bytes().all(|b| b.is_ascii_digit());
        if plain && telling && !words::is_ipv4(&host) && host != "localhost" {
            self.of.hosts.insert(host);
        }
    }

    fn host_of(&mut self, id: Option<StringId>) {
        let text = id.and_then(|id| self.strings.get(id.index())?.1.clone());
        if let Some(text) = text.filter(|_| self.of.has(Category::Hosts)) {
            self.host(&text);
        }
    }

    fn define(&mut self, new: &Definitions) {
        for (id, text) in &new.strings {
            let hash = self.of.key.hash("value", text.as_bytes());
            let kept = text
                .as_str()
                .filter(|text| text.len() <= LONGEST_HOST && !text.contains(' '));
            let at = id.index();
            if self.strings.len() <= at {
                self.strings.resize(at + 1, (0, None));
            }
            if let Some(slot) = self.strings.get_mut(at) {
                *slot = (hash, kept.map(Into::into));
            }
            if self.of.has(Category::Hosts)
                && let Some(text) = text.as_str()
            {
                let mut found = Vec::new();
                words::hosts_in(text, &mut |host| found.push(host.to_owned()));
                found.iter().for_each(|host| self.host(host));
            }
        }
        for (id, row) in &new.attribute_keys {
            let name = self
                .strings
                .get(row.name.index())
                .and_then(|(_, text)| text.clone());
            if let Some(meaning) = name.and_then(|name| self.of.meaning_of(&name)) {
                self.keys.insert(*id, meaning);
            }
        }
        for (_, row) in &new.resources {
            self.host_of(row.host);
            self.host_of(row.instance);
            self.attributes(&row.attributes);
        }
        for (_, row) in &new.profiles {
            self.attributes(&row.settings);
        }
        if self.of.has(Category::Paths) {
            let functions = new
                .functions
                .iter()
                .flat_map(|(_, row)| [row.file, row.library]);
            let classes = new.classes.iter().map(|(_, row)| row.file);
            let mappings = new.mappings.iter().map(|(_, row)| row.file);
            for id in functions.chain(classes).chain(mappings).flatten() {
                self.means(id, AttributeMeaning::Path);
            }
        }
    }

    fn means(&mut self, id: StringId, meaning: AttributeMeaning) {
        let Some((hash, text)) = self.strings.get(id.index()) else {
            return;
        };
        let known = self.of.values.entry(*hash).or_insert(meaning);
        *known = meaning.max(*known);
        if let Some(text) = text.clone().filter(|_| meaning == AttributeMeaning::Host) {
            self.host(&text);
        }
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            let Some(&meaning) = self.keys.get(&attribute.key) else {
                continue;
            };
            let mut pending = vec![&attribute.value];
            while let Some(value) = pending.pop() {
                match value {
                    Value::Text(id) => self.means(*id, meaning),
                    Value::List(_, items) => pending.extend(items.iter()),
                    Value::Map(entries) => pending.extend(entries.iter().map(|(_, value)| value)),
                    _ => {}
                }
            }
        }
    }
}

impl Stage for Learning<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Spans,
            sampled_events: true,
            derived_samples: true,
            stacks: true,
            timeless_stacks: true,
            events: true,
            labels: true,
            sums: false,
            checks_values: false,
            unused: false,
            amounts_only: false,
            notes_only: false,
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match &batch {
            Batch::Define(new) => self.define(new),
            Batch::Spans(spans) => self.attributes(spans.attributes.all()),
            Batch::Samples(samples) => self.attributes(samples.labels.all()),
            Batch::Events(events) => self.attributes(events.attributes.all()),
            Batch::Forget(strings) => {
                for id in strings {
                    if let Some(slot) = self.strings.get_mut(id.index()) {
                        slot.1 = None;
                    }
                }
            }
            _ => {}
        }
        Flow::Continue(())
    }
}

/// Passes everything on with its texts redacted.
///
/// Every string of the model is one table, so that attributes, titles, thread names, fields of resources,
/// labels, comments and messages of exceptions all go through here; bytes are looked at where they stand.
pub struct Redact<'s> {
    to: &'s mut (dyn Sink + Send),
    how: &'s Redaction,
}

impl std::fmt::Debug for Redact<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redact")
            .field("how", self.how)
            .finish_non_exhaustive()
    }
}

impl<'s> Redact<'s> {
    /// Passes on to `to`.
    pub fn new(to: &'s mut (dyn Sink + Send), how: &'s Redaction) -> Self {
        Self { to, how }
    }

    fn rows(&self, new: &mut Definitions) {
        let mut code: HashSet<StringId, RandomState> = HashSet::default();
        for (_, row) in &new.functions {
            code.insert(row.name);
            code.extend(
                [row.system_name, row.package, row.signature]
                    .into_iter()
                    .flatten(),
            );
        }
        code.extend(new.classes.iter().map(|(_, row)| row.name));
        code.extend(new.event_types.iter().map(|(_, row)| row.name));
        code.extend(new.value_types.iter().map(|(_, row)| row.name));
        code.extend(new.series.iter().map(|(_, row)| row.name));
        code.extend(new.attribute_keys.iter().map(|(_, row)| row.name));
        code.extend(new.exceptions.iter().filter_map(|(_, row)| row.class));
        for (id, text) in &mut new.strings {
            let place = if code.contains(id) {
                TextContext::Code
            } else {
                TextContext::Data
            };
            if let Some(new) = self.how.row(text, place) {
                *text = new;
            }
        }
        let resources = new
            .resources
            .iter_mut()
            .flat_map(|(_, row)| &mut row.attributes);
        let settings = new
            .profiles
            .iter_mut()
            .flat_map(|(_, row)| &mut row.settings);
        resources
            .chain(settings)
            .for_each(|attribute| self.value(&mut attribute.value));
    }

    fn attributes(&self, attributes: &mut Attributes) {
        for row in 0..attributes.rows() {
            attributes
                .row_mut(row)
                .iter_mut()
                .for_each(|attribute| self.value(&mut attribute.value));
        }
    }

    fn value(&self, value: &mut Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Value::Bytes(bytes) => {
                    if let Some(new) = self.how.bytes(bytes) {
                        *bytes = new.into();
                    }
                }
                Value::List(_, items) => pending.extend(items.iter_mut()),
                Value::Map(entries) => {
                    pending.extend(entries.iter_mut().flat_map(|(key, value)| [key, value]));
                }
                _ => {}
            }
        }
    }
}

impl Stage for Redact<'_> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn pass(&mut self, mut batch: Batch) -> Flow {
        if !self.how.is_empty() {
            match &mut batch {
                Batch::Define(new) => self.rows(new),
                Batch::Spans(spans) => self.attributes(&mut spans.attributes),
                Batch::Samples(samples) => self.attributes(&mut samples.labels),
                Batch::Events(events) => self.attributes(&mut events.attributes),
                _ => {}
            }
        }
        batch.push(self.to)
    }
}
