//! `cargo xtask sbom FILE [TARGET]`: what the program is made of, as CycloneDX has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::cargo::{cargo, root};

/// A package, and what it needs at run time or to be built.
#[derive(Default)]
struct BomComponent {
    licence: String,
    needs: BTreeSet<Purl>,
}

/// Name and version as `pkg:cargo/NAME@VERSION`.
type Purl = String;

/// Writes the components of the program to a file.
///
/// # Errors
/// When Cargo cannot tell them, or the file cannot be written.
pub fn run(file: &str, target: Option<&str>) -> Result<(), String> {
    let mut tree = cargo(["tree", "--package", "traceloom", "--edges", "normal,build"]);
    tree.args(["--locked", "--no-dedupe", "--prefix", "depth"]);
    tree.args(["--format", "\t{p}\t{l}", "--target"]);
    // Without a target what any platform needs is in it.
    tree.arg(target.unwrap_or("all")).stderr(Stdio::inherit());
    let output = tree.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("cargo tree failed".to_owned());
    }
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let (program, components) = components(&text)?;
    let lock = fs::read_to_string(root().join("Cargo.lock")).map_err(|error| error.to_string())?;
    let document = document(&program, &components, &checksums(&lock));
    fs::write(Path::new(file), document).map_err(|error| format!("{file}: {error}"))
}

/// Reads lines of `DEPTH<tab>NAME vVERSION …<tab>LICENCE`, each under what needs it; returns the first and all.
fn components(tree: &str) -> Result<(Purl, BTreeMap<Purl, BomComponent>), String> {
    let mut all: BTreeMap<Purl, BomComponent> = BTreeMap::new();
    let mut above: Vec<Purl> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let wrong = || format!("cargo tree printed `{line}`");
        let fields: Vec<&str> = line.split('\t').collect();
        let [depth, package, licence] = fields.as_slice() else {
            return Err(wrong());
        };
        let depth: usize = depth.parse().map_err(|_| wrong())?;
        let mut words = package.split(' ');
        let name = words.next().ok_or_else(wrong)?;
        let version = words.next().and_then(|version| version.strip_prefix('v'));
        let purl = format!("pkg:cargo/{name}@{}", version.ok_or_else(wrong)?);
        above.truncate(depth);
        if let Some(parent) = above.last().and_then(|parent| all.get_mut(parent)) {
            parent.needs.insert(purl.clone());
        }
        // Older manifests write `MIT/Apache-2.0`.
        let licence = licence.replace(" / ", " OR ").replace('/', " OR ");
        all.entry(purl.clone()).or_default().licence = licence;
        above.push(purl);
    }
    let program = above.first().cloned().ok_or("cargo tree printed nothing")?;
    Ok((program, all))
}

/// Returns the checksums of what Cargo.lock takes from a registry.
fn checksums(lock: &str) -> BTreeMap<Purl, String> {
    let packages = lock.split("[[package]]").skip(1);
    let with_checksum = packages.filter_map(|package| {
        let value = |key: &str| {
            let mut lines = package.lines();
            lines.find_map(|line| {
                line.strip_prefix(key)?
                    .strip_prefix(" = \"")?
                    .strip_suffix('"')
            })
        };
        let purl = format!("pkg:cargo/{}@{}", value("name")?, value("version")?);
        Some((purl, value("checksum")?.to_owned()))
    });
    with_checksum.collect()
}

fn document(
    program: &Purl,
    all: &BTreeMap<Purl, BomComponent>,
    checksums: &BTreeMap<Purl, String>,
) -> String {
    let described = |purl: &Purl| {
        let kind = if purl == program {
            "application"
        } else {
            "library"
        };
        let name = purl.trim_start_matches("pkg:cargo/");
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        let mut text = format!(
            "{{\"type\": \"{kind}\", \"bom-ref\": \"{purl}\", \"name\": \"{name}\", \"version\": \"{version}\", \"purl\": \"{purl}\""
        );
        if let Some(checksum) = checksums.get(purl) {
            text += ", \"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"";
            text += checksum;
            text += "\"}]";
        }
        if let Some(one) = all.get(purl).filter(|one| !one.licence.is_empty()) {
            let _ = write!(
                text,
                ", \"licenses\": [{{\"expression\": \"{}\"}}]",
                one.licence
            );
        }
        text + "}"
    };
    let components = all.keys().filter(|purl| *purl != program);
    let components: Vec<String> = components.map(described).collect();
    let dependencies = all.iter().map(|(purl, one)| {
        let needs: Vec<String> = one.needs.iter().map(|need| format!("\"{need}\"")).collect();
        format!(
            "{{\"ref\": \"{purl}\", \"dependsOn\": [{}]}}",
            needs.join(", ")
        )
    });
    let dependencies: Vec<String> = dependencies.collect();
    format!(
        "{{\n\"bomFormat\": \"CycloneDX\",\n\"specVersion\": \"1.6\",\n\"version\": 1,\n\"metadata\": {{\"component\": {}}},\n\
         \"components\": [\n{}\n],\n\"dependencies\": [\n{}\n]\n}}\n",
        described(program),
        components.join(",\n"),
        dependencies.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_becomes_components_that_know_what_they_need() {
        let tree = "0\tshop v1.0.0 (/src/shop)\tMIT\n1\tcart v2.1.0\tMIT/Apache-2.0\n2\tcoin v0.3.0+x\tISC\n1\tcoin v0.3.0+x\tISC\n";
        let (program, all) = components(tree).unwrap();
        assert_eq!(program, "pkg:cargo/shop@1.0.0");
        let needs: Vec<&Purl> = all[&program].needs.iter().collect();
        assert_eq!(needs, ["pkg:cargo/cart@2.1.0", "pkg:cargo/coin@0.3.0+x"]);
        assert_eq!(all["pkg:cargo/cart@2.1.0"].licence, "MIT OR Apache-2.0");
        assert!(components("0 shop\n").is_err());
        let lock = "version = 4\n[[package]]\nname = \"cart\"\nversion = \"2.1.0\"\nchecksum = \"ab\"\n\n[[package]]\nname = \"shop\"\nversion = \"1.0.0\"\n";
        let sums = checksums(lock);
        assert_eq!(sums.len(), 1);
        let text = document(&program, &all, &sums);
        assert!(text.contains("\"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"ab\"}]"));
    }
}
