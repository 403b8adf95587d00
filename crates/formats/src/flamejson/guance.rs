//! The newer positional form: a frame is an array of sixteen, and lists say what each dimension holds.

use std::collections::HashMap;

use traceloom_model::{Recording, TrackId, Unit};

use super::facts::FrameProperties;
use super::tree::{GraphNode, GraphTree};
use crate::points::{Language, Quantity};
use crate::text::json::push_string;

/// Dimensions a language's page offers: title, and the properties that make two leaves one.
fn dimensions(language: Option<Language>) -> &'static [(&'static str, &'static [&'static str])] {
    const FUNCTION: (&str, &[&str]) = ("Function", &["functionName"]);
    const LINE: (&str, &[&str]) = ("Function + Line", &["functionName", "line"]);
    const DIRECTORY: (&str, &[&str]) = ("Directory", &["directory"]);
    const FILE: (&str, &[&str]) = ("File", &["file"]);
    const PACKAGE: (&str, &[&str]) = ("Package", &["package"]);
    const THREAD_ID: (&str, &[&str]) = ("Thread ID", &["threadID"]);
    const THREAD_NAME: (&str, &[&str]) = ("Thread Name", &["threadName"]);
    const METHOD: (&str, &[&str]) = ("Method", &["functionName"]);
    const CLASS: (&str, &[&str]) = ("Class", &["class"]);
    const NAMESPACE: (&str, &[&str]) = ("Namespace", &["namespace"]);
    const ASSEMBLY: (&str, &[&str]) = ("Assembly", &["assembly"]);
    match language {
        Some(Language::Golang) => &[FUNCTION, LINE, DIRECTORY, FILE, PACKAGE],
        Some(Language::Python) => &[FUNCTION, LINE, DIRECTORY, FILE, THREAD_ID, THREAD_NAME],
        Some(Language::Nodejs) => &[FUNCTION, FILE],
        Some(Language::Dotnet) => &[METHOD, CLASS, NAMESPACE, ASSEMBLY, THREAD_ID, THREAD_NAME],
        Some(Language::Php) => &[FUNCTION, LINE, CLASS, FILE, DIRECTORY],
        _ => &[FUNCTION, LINE, DIRECTORY, FILE, THREAD_NAME],
    }
}

struct PositionalFields<'t> {
    recording: &'t Recording,
    tree: &'t GraphTree,
    quantity: Quantity,
    language: Option<Language>,
    total: i64,
}

/// Appends the document in its envelope.
pub(super) fn document(
    recording: &Recording,
    tree: &GraphTree,
    language: Option<Language>,
    out: &mut Vec<u8>,
) {
    let quantity = match tree.unit {
        Unit::Nanoseconds => Quantity::Duration,
        Unit::Bytes => Quantity::Memory,
        _ => Quantity::Count,
    };
    let total = tree.nodes.first().map_or(0, |root| root.value);
    let shape = PositionalFields {
        recording,
        tree,
        quantity,
        language,
        total,
    };
    out.extend(b"{\"code\":0,\"message\":\"success\",\"data\":{\"rootFrame\":");
    shape.frames(out);
    out.extend(b",\"dimensions\":[");
    for (at, (title, mapping)) in dimensions(language).iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        shape.dimension(title, mapping, out);
    }
    out.extend(b"]}}\n");
}

impl PositionalFields<'_> {
    fn frames(&self, out: &mut Vec<u8>) {
        let mut open = vec![(0, 0)];
        while let Some((row, child)) = open.pop() {
            let Some(node) = self.tree.nodes.get(row) else {
                continue;
            };
            if child == 0 {
                self.begin(node, out);
            }
            match node.children.get(child) {
                Some(&next) => {
                    if child > 0 {
                        out.push(b',');
                    }
                    open.push((row, child + 1));
                    open.push((next, 0));
                }
                None => out.extend(b"]]"),
            }
        }
    }

    fn shown(&self, value: i64) -> i64 {
        value / self.quantity.display().1
    }

    fn amount(&self, value: i64, out: &mut Vec<u8>) {
        let (unit, _) = self.quantity.display();
        let shown = self.shown(value);
        let space = if unit.is_empty() { "" } else { " " };
        push_string(format!("{shown}{space}{unit}").as_bytes(), out);
    }

    fn unit(&self, out: &mut Vec<u8>) {
        out.extend(match self.quantity {
            Quantity::Duration => "[\"time\",\"μs\"]".as_bytes(),
            Quantity::Memory => b"[\"digital\",\"B\"]",
            Quantity::Count => b"[]",
        });
    }

    /// Hundredths by whole numbers, so that equal shares print equal.
    fn percent(&self, value: i64) -> String {
        if self.total <= 0 {
            return "100".to_owned();
        }
        let hundredths = (i128::from(value) * 20_000 / i128::from(self.total) + 1) / 2;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }

    fn begin(&self, node: &GraphNode, out: &mut Vec<u8>) {
        out.push(b'[');
        self.amount(node.value, out);
        out.extend(format!(",{},", self.shown(node.value)).bytes());
        self.unit(out);
        out.push(b',');
        push_string(self.percent(node.value).as_bytes(), out);
        for name in [
            "functionName",
            "line",
            "file",
            "directory",
            "threadID",
            "threadName",
            "class",
            "namespace",
            "assembly",
            "package",
            "printString",
        ] {
            out.push(b',');
            if name == "line" {
                out.extend(node.facts.line.to_string().bytes());
            } else {
                push_string(self.property(&node.facts, node.track, name).as_bytes(), out);
            }
        }
        out.extend(b",[");
    }

    fn property(&self, facts: &FrameProperties, track: Option<TrackId>, name: &str) -> String {
        let track = track.and_then(|id| self.recording.track(id));
        let dotnet = self.language == Some(Language::Dotnet);
        match name {
            "functionName" => facts.method.clone(),
            "line" => facts.line.to_string(),
            "file" => facts.source_file.clone(),
            "directory" => {
                let folder = facts.source_file.rsplit_once('/').map(|(folder, _)| folder);
                folder.unwrap_or("").to_owned()
            }
            "threadID" => {
                let id = track.and_then(|track| track.os_id.or(track.id));
                id.map_or_else(String::new, |id| id.to_string())
            }
            "threadName" => {
                let name = track.and_then(|track| track.name);
                name.map_or_else(String::new, |id| self.recording.text(id).into_owned())
            }
            "class" => facts.class.clone(),
            "namespace" if dotnet => facts.package.clone(),
            "assembly" if dotnet => facts.library.clone(),
            "package" => facts.package.clone(),
            "printString" => {
                let owner = if facts.class.is_empty() {
                    &facts.package
                } else {
                    &facts.class
                };
                let dot = if owner.is_empty() { "" } else { "." };
                let line = if facts.line > 0 {
                    format!("(L#{})", facts.line)
                } else {
                    String::new()
                };
                format!("{owner}{dot}{}{line}", facts.method)
            }
            _ => String::new(),
        }
    }

    /// What the leaves hold for themselves, by the values of some properties, largest first.
    fn dimension(&self, title: &str, mapping: &[&str], out: &mut Vec<u8>) {
        let mut sums: HashMap<Vec<String>, i64> = HashMap::new();
        let mut add = |facts: &FrameProperties, track: Option<TrackId>, own: i64| {
            if own != 0 {
                let value = |name: &&str| self.property(facts, track, name);
                let sum: &mut i64 = sums.entry(mapping.iter().map(value).collect()).or_default();
                *sum = sum.saturating_add(own);
            }
        };
        for leaf in &self.tree.leaves {
            add(&leaf.facts, leaf.track, leaf.value);
        }
        // Spans and inclusive values have no samples of a frame alone.
        if self.tree.leaves.is_empty() {
            for (row, node) in self.tree.nodes.iter().enumerate().skip(1) {
                add(&node.facts, node.track, self.tree.own(row));
            }
        }
        let mut rows: Vec<(Vec<String>, i64)> = sums.into_iter().collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        out.extend(b"{\"dimension\":");
        push_string(title.as_bytes(), out);
        out.extend(b",\"mapping\":");
        texts(mapping.iter().copied(), out);
        out.extend(b",\"data\":[");
        for (at, (values, value)) in rows.iter().enumerate() {
            out.extend(if at > 0 {
                &b",{\"title\":"[..]
            } else {
                b"{\"title\":"
            });
            push_string(values.join(":").as_bytes(), out);
            out.extend(b",\"quantity\":");
            self.amount(*value, out);
            out.extend(format!(",\"value\":{},\"unit\":", self.shown(*value)).bytes());
            self.unit(out);
            out.extend(b",\"percent\":");
            push_string(self.percent(*value).as_bytes(), out);
            out.extend(b",\"mappingValues\":");
            texts(values.iter().map(String::as_str), out);
            out.push(b'}');
        }
        out.extend(b"]}");
    }
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_string(text.as_bytes(), out);
    }
    out.push(b']');
}
