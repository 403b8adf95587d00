//! The names in what `cargo doc` writes for a crate.
//!
//! `all.html` lists items; modules and what they re-export stand in the `index.html` of each module, members in the page of their item.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Adds the public names of a crate, whose documentation lies in `folder`.
///
/// # Errors
/// When a page cannot be read, or has no names at all.
pub fn names(folder: &Path, name: &str, names: &mut BTreeSet<String>) -> Result<(), String> {
    let all = page(folder, "all.html")?;
    for item in items(&all) {
        let path = format!("{name}::{}", item.path());
        if item.has_members() {
            for member in members(&page(folder, item.href)?) {
                names.insert(format!("{path}::{member}"));
            }
        }
        names.insert(format!("{path} ({})", item.kind));
    }
    let n_exported = modules(folder, "", name, names)?;
    // Where rustdoc writes its pages in another way, nothing is found.
    match items(&all).next().is_none() && n_exported == 0 {
        true => Err(format!("{}: no public name is found", folder.display())),
        false => Ok(()),
    }
}

fn page(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// An item with a page of its own.
struct ItemLink<'p> {
    /// From the folder of the crate.
    href: &'p str,
    folder: &'p str,
    kind: &'p str,
    name: &'p str,
}

impl ItemLink<'_> {
    fn path(&self) -> String {
        let modules = self.folder.split('/').filter(|module| !module.is_empty());
        let names: Vec<&str> = modules.chain([self.name]).collect();
        names.join("::")
    }

    /// The page of an alias has the members of what it stands for.
    fn has_members(&self) -> bool {
        matches!(self.kind, "struct" | "enum" | "union" | "trait")
    }
}

fn items(all: &str) -> impl Iterator<Item = ItemLink<'_>> {
    let lists = all.split("all-items\">").skip(1);
    let lists = lists.filter_map(|list| Some(list.split_once("</ul>")?.0));
    let links = lists.flat_map(|list| quoted(list, "<a href=\""));
    links.filter_map(|href| {
        let (folder, file) = href.rsplit_once('/').unwrap_or(("", href));
        let (kind, name) = file.strip_suffix(".html")?.split_once('.')?;
        Some(ItemLink {
            href,
            folder,
            kind,
            name,
        })
    })
}

/// Where the members that an item declares itself end.
const BEHIND_MEMBERS: &[&str] = &[
    "id=\"deref-methods",
    "id=\"trait-implementations\"",
    "id=\"foreign-impls\"",
    "id=\"implementors\"",
    "id=\"synthetic-implementations\"",
    "id=\"blanket-implementations\"",
];

const MEMBERS: &[&str] = &[
    "associatedconstant.",
    "associatedtype.",
    "method.",
    "structfield.",
    "tymethod.",
    "variant.",
];

/// Returns fields, variants, methods and what else belongs to an item.
fn members(page: &str) -> BTreeSet<String> {
    let end = BEHIND_MEMBERS.iter().filter_map(|mark| page.find(mark));
    let page = &page[..end.min().unwrap_or(page.len())];
    let ids = quoted(page, "id=\"");
    let members = ids.filter_map(|id| {
        let name = MEMBERS.iter().find_map(|kind| id.strip_prefix(kind))?;
        // A second member of the same name, for other arguments of the type, has a number behind it.
        let name = name.split_once('-').map_or(name, |(name, _)| name);
        Some(name.replace(".field.", "::"))
    });
    members.collect()
}

/// Adds what a module re-exports, its modules, and theirs; returns how many that are.
fn modules(
    folder: &Path,
    within: &str,
    path: &str,
    names: &mut BTreeSet<String>,
) -> Result<usize, String> {
    let index = page(folder, &format!("{within}index.html"))?;
    let mut n_names = 0;
    for name in quoted(&index, "id=\"reexport.") {
        names.insert(format!("{path}::{name} (use)"));
        n_names += 1;
    }
    let modules: BTreeSet<&str> = quoted(&index, "<a class=\"mod\" href=\"")
        .filter_map(|href| href.strip_suffix("/index.html"))
        .filter(|module| !module.contains(['/', '.']))
        .collect();
    for module in modules {
        let path = format!("{path}::{module}");
        n_names += 1 + self::modules(folder, &format!("{within}{module}/"), &path, names)?;
        names.insert(format!("{path} (mod)"));
    }
    Ok(n_names)
}

/// Returns what stands between each `before` and the quotation mark behind it.
fn quoted<'p>(page: &'p str, before: &'static str) -> impl Iterator<Item = &'p str> {
    let rests = page.split(before).skip(1);
    rests.filter_map(|rest| Some(rest.split_once('"')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stand_in_lists_and_their_kind_in_the_name_of_their_page() {
        let page = "<a href=\"../index.html\">up</a><h3 id=\"structs\">Structs</h3><ul class=\"structs all-items\">\
            <li><a href=\"heph/struct.Tracer.html\">heph::Tracer</a></li><li><a href=\"struct.Options.html\">Options</a></li>\
            </ul><h3 id=\"constants\">Constants</h3><ul class=\"constants all-items\"><li><a href=\"constant.DROPPED.html\">\
            DROPPED</a></li></ul><a href=\"fn.not_listed.html\">text</a>";
        let found: Vec<String> = items(page)
            .map(|item| format!("{} {} {}", item.path(), item.kind, item.has_members()))
            .collect();
        assert_eq!(
            found,
            [
                "heph::Tracer struct true",
                "Options struct true",
                "DROPPED constant false"
            ]
        );
    }

    #[test]
    fn members_are_those_that_an_item_declares() {
        let page = "<a href=\"#method.linked\"></a><span id=\"structfield.buffer\"></span>\
            <section id=\"variant.Off\"></section><span id=\"variant.On.field.level\"></span>\
            <section id=\"method.new\"></section><section id=\"method.new-1\"></section>\
            <h2 id=\"trait-implementations\"></h2><section id=\"method.fmt\"></section>";
        let found: Vec<String> = members(page).into_iter().collect();
        assert_eq!(found, ["Off", "On::level", "buffer", "new"]);
        assert!(members("<h2 id=\"implementors\"></h2><h4 id=\"method.fmt\"></h4>").is_empty());
    }
}
