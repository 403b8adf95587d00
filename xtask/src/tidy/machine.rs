//! Nothing in the repository tells where it was written.

use super::Finding;
use super::tree::Tree;

/// Folders of somebody's machine; their names are split so that this file passes.
const FOLDERS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
];

/// Hosts of package registries and their mirrors.
const REGISTRIES: &[&str] = &[
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("registry.np", "mjs.org"),
    concat!("registry.ya", "rnpkg.com"),
    concat!("py", "pi.org"),
    concat!("files.python", "hosted.org"),
    concat!("proxy.go", "lang.org"),
    concat!("repo.ma", "ven.apache.org"),
];

/// Refuses absolute paths of a machine and names of registry hosts, in vectors too.
pub fn nothing_names_a_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.all() {
        for (number, line) in file.lines() {
            for folder in FOLDERS.iter().filter(|folder| starts_a_path(line, folder)) {
                let message = format!("`{folder}` is a path of one machine");
                findings.push(Finding::new(&file.path, number, message));
            }
            for host in REGISTRIES.iter().filter(|host| line.contains(**host)) {
                let message = format!("`{host}` is the host of a registry");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// In a URL or a relative path the folder follows a name, so it does not start one.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = nothing_names_a_machine(&Tree::of(&[(path, text)]));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn absolute_paths_are_refused_in_every_file() {
        assert_eq!(lines("a.md", &format!("\nsee {}me/a", FOLDERS[0])), [2]);
        assert_eq!(lines("a.rs", &format!("\"file://{}b\"", FOLDERS[1])), [1]);
        assert_eq!(lines("testdata/a.txt", &format!("{}c", FOLDERS[2])), [1]);
    }

    #[test]
    fn a_folder_within_a_url_or_a_relative_path_is_fine() {
        let (home, work) = (FOLDERS[0], FOLDERS[2]);
        let text = format!("https://example.org{home}page\nui{work}a\n..{work}b\n");
        assert_eq!(lines("a.md", &text), []);
    }

    #[test]
    fn registry_hosts_are_refused() {
        assert_eq!(
            lines("a.toml", &format!("registry = \"{}\"", REGISTRIES[0])),
            [1]
        );
        assert_eq!(lines("ui/package-lock.json", REGISTRIES[2]), [1]);
        assert_eq!(lines("a.md", "published on crates.io"), []);
    }
}
