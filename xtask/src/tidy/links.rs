//! The links between the documents lead somewhere.

use super::Finding;
use super::tree::Tree;

/// Refuses relative links in Markdown to files that are not in the repository.
pub fn relative_links_resolve(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["md"]) {
        let mut in_fence = false;
        for (number, line) in file.lines() {
            if line.trim_start().starts_with("```") {
                in_fence = !in_fence;
            }
            if in_fence {
                continue;
            }
            for link in links(&without_code(line)) {
                let is_dead = resolve(&file.path, &link).is_some_and(|path| !tree.contains(&path));
                if is_dead {
                    let message = format!("`{link}` leads nowhere");
                    findings.push(Finding::new(&file.path, number, message));
                }
            }
        }
    }
    findings
}

/// Refuses file names in `ARCHITECTURE.md` that are in no folder of the repository.
///
/// A name in code is that of a file where it ends as source files do: `crates/cli/src/top.rs`, or its last parts.
pub fn architecture_names_files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.all().filter(|file| file.path == "ARCHITECTURE.md") {
        for (number, line) in file.lines() {
            let code = line.split('`').skip(1).step_by(2);
            for name in code.filter(|name| is_source_file(name)) {
                let end = format!("/{name}");
                let exists = |path: &str| path == name || path.ends_with(&end);
                if !tree.all().any(|file| exists(&file.path)) {
                    let message = format!("there is no file `{name}`");
                    findings.push(Finding::new(&file.path, number, message));
                }
            }
        }
    }
    findings
}

fn is_source_file(name: &str) -> bool {
    let is_path = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    is_path && (name.ends_with(".rs") || name.ends_with(".ts"))
}

/// The line without its spans between backticks, where brackets are no links.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let n_closed = parts.len() - (parts.len() + 1) % 2;
    let outside = |(at, part): (usize, &&str)| {
        let is_code = at % 2 == 1 && at < n_closed;
        (!is_code).then(|| part.to_string())
    };
    let kept: Vec<String> = parts.iter().enumerate().filter_map(outside).collect();
    kept.join("`")
}

/// The targets of `[text](target)` and of `[name]: target`.
fn links(line: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for (at, opening) in line.match_indices("](") {
        let rest = &line[at + opening.len()..];
        targets.extend(rest.split_once(')').map(|(target, _)| target));
    }
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .filter(|(name, _)| !name.starts_with('^'));
    targets.extend(definition.map(|(_, target)| target));
    // A title may follow the target.
    let bare = |target: &str| {
        let target = target.split_whitespace().next().unwrap_or("");
        target.trim_matches(['<', '>']).to_owned()
    };
    targets.into_iter().map(bare).collect()
}

/// The path a link leads to from the file that holds it; nothing for one that leaves
/// the repository by a scheme or stays in the file.
fn resolve(from: &str, link: &str) -> Option<String> {
    let is_external = link.contains("://") || link.starts_with("mailto:");
    let path = link.split(['#', '?']).next().unwrap_or("");
    if is_external || path.is_empty() {
        return None;
    }
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').collect(),
    };
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Above the root there is nothing of ours: a name that no file has.
            ".." if parts.pop().is_none() => return Some("..".to_owned()),
            ".." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(text: &str) -> Vec<usize> {
        let findings = relative_links_resolve(&Tree::of(&[
            ("README.md", ""),
            ("docs/a/b.md", text),
            ("docs/c.md", ""),
        ]));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn files_that_the_architecture_names_exist() {
        let text = "Through `cli/src/top.rs`, `top.rs` and `a::b`,\nthen `cli/src/gone.rs`.";
        let files = [("ARCHITECTURE.md", text), ("crates/cli/src/top.rs", "")];
        let found = architecture_names_files(&Tree::of(&files));
        let message = "there is no file `cli/src/gone.rs`";
        assert_eq!(found, [Finding::new("ARCHITECTURE.md", 2, message)]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_refused() {
        assert_eq!(dead("\nsee [d](d.md) and [c](../c.md)"), [2]);
        assert_eq!(dead("![d](<d.svg> \"a title\")"), [1]);
        assert_eq!(dead("[d]: d.md"), [1]);
        assert_eq!(dead("[out](../../../README.md)"), [1]);
        assert_eq!(dead("[d](/docs/d.md#part)"), [1]);
    }

    #[test]
    fn links_to_files_folders_parts_and_hosts_are_fine() {
        let text = "[r](../../README.md#use) [d](..) [c](/docs/c.md) [b](b.md)\n\
                    [here](#part) [there](https://example.org/d.md)\n\
                    [root](../..) [r]: ../../README.md\n";
        assert_eq!(dead(text), []);
        assert_eq!(dead("[^1]: a footnote"), []);
    }

    #[test]
    fn code_holds_no_links() {
        assert_eq!(dead("`[a](d.md)`\n```\n[a](d.md)\n```\n"), []);
        assert_eq!(dead("` [a](d.md)"), [1]);
    }
}
