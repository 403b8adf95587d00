//! What a `Cargo.toml` depends on, and the rule that each dependency says why it is there.

use super::Finding;
use super::tree::Tree;

/// An entry of a `dependencies` table of any kind.
#[derive(Debug)]
pub struct Dependency {
    /// The package, which differs from the key where the entry says `package = "…"`.
    pub package: String,
    pub kind: Kind,
    pub line: usize,
    source: DependencySource,
    justified: bool,
}

/// The table an entry stands in, for any target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Dev,
    Build,
}

#[derive(Debug, PartialEq, Eq)]
enum DependencySource {
    Path,
    /// `workspace = true`: the entry of the root tells the rest.
    Workspace,
    Registry,
}

/// Refuses a dependency on a registry without a comment on its line or the line above.
pub fn dependencies_are_justified(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.written().filter(|file| file.name() == "Cargo.toml");
    let mut findings = Vec::new();
    for file in manifests {
        for dependency in dependencies(&file.text) {
            if dependency.source == DependencySource::Registry && !dependency.justified {
                let message = format!(
                    "no comment on this line or above says why `{}` is needed",
                    dependency.package
                );
                findings.push(Finding::new(&file.path, dependency.line, message));
            }
        }
    }
    findings
}

/// The name in the `[package]` table.
pub fn package_name(text: &str) -> Option<String> {
    let mut in_package = false;
    for line in text.lines() {
        let (code, _) = split_comment(line);
        if let Some(header) = table_header(code) {
            in_package = header == "package";
        } else if in_package
            && let Some((key, value)) = code.split_once('=')
            && key.trim() == "name"
        {
            return Some(unquoted(value).to_owned());
        }
    }
    None
}

/// Every dependency of a manifest, those of `[workspace.dependencies]` as normal ones.
pub fn dependencies(text: &str) -> Vec<Dependency> {
    entries(text).into_iter().map(RawDependency::read).collect()
}

/// The raw text of a dependency, before its keys are looked at.
struct RawDependency {
    key: String,
    kind: Kind,
    line: usize,
    /// What follows the key, over as many lines as it takes, without comments.
    body: String,
    justified: bool,
}

impl RawDependency {
    fn read(self) -> Dependency {
        let package = string_at("package", &self.body).unwrap_or(self.key);
        let source = if has_key("path", &self.body) {
            DependencySource::Path
        } else if has_key("workspace", &self.body) {
            DependencySource::Workspace
        } else {
            DependencySource::Registry
        };
        Dependency {
            package,
            kind: self.kind,
            line: self.line,
            source,
            justified: self.justified,
        }
    }
}

fn entries(text: &str) -> Vec<RawDependency> {
    let mut entries: Vec<RawDependency> = Vec::new();
    let mut table = ManifestTable::Other;
    let mut depth = 0;
    let mut comment_above = false;
    for (number, line) in (1..).zip(text.lines()) {
        let (code, comment) = split_comment(line);
        let says_why = comment.is_some_and(|text| text.chars().any(char::is_alphabetic));
        let is_blank = code.trim().is_empty();
        let justified = says_why || comment_above;
        comment_above = is_blank && says_why;
        if is_blank {
            continue;
        }
        if depth == 0
            && let Some(header) = table_header(code)
        {
            table = ManifestTable::named(header);
            if let ManifestTable::OneDependency(kind, key) = &table {
                entries.push(RawDependency {
                    key: key.clone(),
                    kind: *kind,
                    line: number,
                    body: String::new(),
                    justified,
                });
            }
            continue;
        }
        let starts_entry = depth == 0;
        depth = depth_after(code, depth);
        match &table {
            ManifestTable::Dependencies(kind) if starts_entry => {
                let (key, body) = key_and_body(code);
                match entries.last_mut() {
                    // `a.version = …` and `a.features = …` on lines of their own are one entry.
                    Some(last) if last.key == key && last.kind == *kind => {
                        last.body.push_str(&body);
                        last.justified |= says_why;
                    }
                    _ => entries.push(RawDependency {
                        key,
                        kind: *kind,
                        line: number,
                        body,
                        justified,
                    }),
                }
            }
            ManifestTable::Dependencies(_) | ManifestTable::OneDependency(..) => {
                if let Some(last) = entries.last_mut() {
                    last.body.push('\n');
                    last.body.push_str(code);
                    last.justified |= says_why;
                }
            }
            ManifestTable::Other => {}
        }
    }
    entries
}

enum ManifestTable {
    Dependencies(Kind),
    /// `[dependencies.NAME]`.
    OneDependency(Kind, String),
    Other,
}

impl ManifestTable {
    /// The tables of a target and of the workspace end like the plain ones.
    fn named(header: &str) -> Self {
        const WORD: &str = "dependencies";
        let Some(at) = header.rfind(WORD) else {
            return Self::Other;
        };
        let (before, after) = (&header[..at], &header[at + WORD.len()..]);
        let kind = match before.rsplit('.').next() {
            Some("dev-") => Kind::Dev,
            Some("build-") => Kind::Build,
            Some("") => Kind::Normal,
            _ => return Self::Other,
        };
        match after.strip_prefix('.') {
            Some(key) => Self::OneDependency(kind, unquoted(key).to_owned()),
            None if after.is_empty() => Self::Dependencies(kind),
            None => Self::Other,
        }
    }
}

/// `serde.workspace = true` becomes `serde` and `workspace = true`.
fn key_and_body(code: &str) -> (String, String) {
    let (key, value) = code.split_once('=').unwrap_or((code, ""));
    match key.trim().split_once('.') {
        Some((key, attribute)) => (unquoted(key).to_owned(), format!("{attribute} ={value}\n")),
        None => (unquoted(key).to_owned(), format!("{value}\n")),
    }
}

fn table_header(code: &str) -> Option<&str> {
    let inner = code.trim().strip_prefix('[')?.strip_suffix(']')?;
    Some(inner.trim_matches(['[', ']', ' ']))
}

/// The line before a `#` that stands outside strings, and the text after it.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return (&line[..at], Some(&line[at + 1..])),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    (line, None)
}

fn depth_after(code: &str, mut depth: usize) -> usize {
    let mut quote = None;
    for c in code.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth
}

fn has_key(key: &str, body: &str) -> bool {
    value_of(key, body).is_some()
}

fn string_at(key: &str, body: &str) -> Option<String> {
    let value = value_of(key, body)?.strip_prefix('"')?;
    value.split_once('"').map(|(text, _)| text.to_owned())
}

/// What follows `key =`, where the key is a whole word.
fn value_of<'a>(key: &str, body: &'a str) -> Option<&'a str> {
    for (at, _) in body.match_indices(key) {
        let before = body[..at].chars().next_back();
        let is_word = before.is_some_and(|c| c.is_alphanumeric() || "_-\"".contains(c));
        let after = body[at + key.len()..].trim_start();
        if let Some(value) = after.strip_prefix('=')
            && !is_word
        {
            return Some(value.trim_start());
        }
    }
    None
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unjustified(text: &str) -> Vec<usize> {
        let tree = Tree::of(&[("crates/model/Cargo.toml", text)]);
        let findings = dependencies_are_justified(&tree);
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_dependency_without_a_reason_is_refused() {
        assert_eq!(unjustified("[dependencies]\nmemchr = \"2\"\n"), [2]);
        assert_eq!(
            unjustified("[dev-dependencies]\ninsta = { version = \"1\" }"),
            [2]
        );
        assert_eq!(unjustified("[workspace.dependencies]\nmemchr = \"2\""), [2]);
        assert_eq!(
            unjustified("[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\""),
            [2]
        );
        assert_eq!(unjustified("[dependencies.memchr]\nversion = \"2\""), [1]);
        assert_eq!(unjustified("[dependencies]\nmemchr = \"2\" #"), [2]);
    }

    #[test]
    fn a_reason_stands_on_the_line_or_just_above_it() {
        assert_eq!(
            unjustified("[dependencies]\nmemchr = \"2\" # finds marks\n"),
            []
        );
        assert_eq!(
            unjustified("[dependencies]\n# finds marks\nmemchr = \"2\"\n"),
            []
        );
        assert_eq!(
            unjustified("# finds marks\n[dependencies.memchr]\nversion = \"2\""),
            []
        );
        assert_eq!(
            unjustified("[dependencies]\n# for a\na = \"1\"\nb = \"1\"\n"),
            [4]
        );
        assert_eq!(unjustified("[dependencies]\na = \"#why\"\n"), [2]);
    }

    #[test]
    fn an_entry_of_several_lines_is_one_dependency() {
        let text =
            "[dependencies]\na = { version = \"1\", features = [\n  \"b\",\n] }\nc = \"1\"\n";
        assert_eq!(unjustified(text), [2, 5]);
        let text = "[dependencies]\na.version = \"1\" # why\na.features = [\"b\"]\n";
        assert_eq!(unjustified(text), []);
    }

    #[test]
    fn crates_of_the_workspace_need_no_reason() {
        let text = "[dependencies]\na.workspace = true\nb = { workspace = true }\n\
                    c = { path = \"../c\" }\n[package.metadata.x]\nd = \"1\"\n";
        assert_eq!(unjustified(text), []);
    }

    #[test]
    fn a_renamed_dependency_is_known_by_its_package() {
        let text = "[build-dependencies]\nm = { package = \"traceloom-model\", path = \"..\" }\n";
        let found = dependencies(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].package, "traceloom-model");
        assert_eq!(found[0].kind, Kind::Build);
    }

    #[test]
    fn the_package_name_is_not_that_of_a_target() {
        let text = "[lib]\nname = \"no\"\n[package]\nversion = \"1\"\nname = \"yes\" # so\n";
        assert_eq!(package_name(text).as_deref(), Some("yes"));
        assert_eq!(package_name("[workspace]\n"), None);
    }
}
