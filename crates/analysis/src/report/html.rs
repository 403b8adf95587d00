//! The page.

use std::fmt::Write as _;

use super::markup::{
    Alignment, HtmlCell, facts, figures, heading, paragraph, smaller_heading, table,
};
use super::story::story;
use super::when::when;
use super::{Findings, sections};
use crate::flame::{self, Picture};
use crate::hotspots::Categories;
use crate::page::{Heading, REPORT, escape, escaped, glued, mailed, page};
use crate::timeline::Timeline;
use crate::timeline::html::{about, part};
use crate::{CallTree, OverTime, amount, finding, grouped, top};
use traceloom_model::{Note, Timestamp};

/// One of the inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// What was typed.
    pub path: String,
    /// Its formats, in words.
    pub formats: String,
    /// Files that it consists of.
    pub parts: usize,
    /// Size as it is stored.
    pub size: String,
}

/// What a page is made of.
#[derive(Clone, Copy)]
pub struct Report<'r> {
    /// Heading.
    pub title: &'r str,
    /// The program that made it, and what was asked of it.
    pub made: &'r str,
    /// The inputs.
    pub sources: &'r [Source],
    /// What is in them besides trees.
    pub findings: &'r Findings,
    /// The call trees: one for each value.
    pub trees: &'r [CallTree],
    /// When their nodes ran.
    pub over_time: &'r [OverTime],
    /// The same over time.
    pub timeline: &'r Timeline,
    /// What the readers noted, with the input of each; and how many they kept none of.
    pub notes: (&'r [(String, Note)], u64),
    /// Kinds of work that graphs can be coloured by.
    pub categories: &'r Categories,
    /// Most rows of a table.
    pub rows: usize,
    /// Writes a time for people.
    pub when: &'r dyn Fn(Timestamp) -> String,
}

impl std::fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Report")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

/// Items that the timeline of a report draws one by one: a report is mailed, a page of its own holds more.
const MOST_ITEMS: usize = 100_000;

/// Bytes of these items, before base64.
const MOST_BYTES: usize = 3 << 20;

/// Writes the page.
#[must_use]
pub fn html(report: &Report<'_>) -> String {
    let sections = Sections::of(report);
    let findings = report.findings;
    let about = [
        (findings.selected > 0).then(|| sections::things(findings.selected, "call", "calls")),
        (findings.samples > 0).then(|| sections::things(findings.samples, "sample", "samples")),
        findings
            .extent
            .map(|(start, end)| format!("{} to {}", (report.when)(start), (report.when)(end))),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    let heading = Heading {
        title: report.title,
        about: &about.join(" · "),
        class: "report",
    };
    page(heading, REPORT, &sections.parts)
}

/// The keys of the whole page; parts have their own lists.
const KEYS: &str = "<div class=\"page-keys\" hidden><dl>\
    <dt>j k</dt><dd>next and previous call; Enter opens it</dd>\
    <dt>/</dt><dd>find a function in the graph; n and N for its matches</dd>\
    <dt>t z</dt><dd>light or dark; times in UTC or in your zone</dd>\
    <dt>? Esc</dt><dd>this list; a graph and a timeline have their own while they have the focus</dd>\
    <dt>Alt ←</dt><dd>back to what was shown before</dd></dl></div>";

/// A section of the page.
struct Section {
    /// Its anchor; one without continues the section before it.
    id: &'static str,
    title: &'static str,
    /// What the page has none of where the section is left out.
    missing: &'static str,
}

impl Section {
    const CALLS: Self = Self::new("calls", "Slowest calls", "calls");
    const FUNCTIONS: Self = Self::new("functions", "Hot functions", "functions");
    const GRAPH: Self = Self::new("graph", "Flame graph", "");
    const TIMELINE: Self = Self::new("timeline", "Timeline", "");
    const STATEMENTS: Self = Self::new("sql", "SQL by shape", "SQL statements");
    const ERRORS: Self = Self::new("errors", "Errors", "errors");
    const PAUSES: Self = Self::new("pauses", "Pauses", "pauses");
    const THREADS: Self = Self::new("threads", "Threads", "threads");
    const NOTES: Self = Self::new("notes", "Notes", "notes of damage");
    const PROVENANCE: Self = Self::new("provenance", "Made from", "");

    const fn new(id: &'static str, title: &'static str, missing: &'static str) -> Self {
        Self { id, title, missing }
    }
}

/// The parts in their order, with the headings that the contents lead to.
#[derive(Default)]
struct Sections {
    parts: Vec<String>,
    contents: Vec<(&'static str, &'static str)>,
    missing: Vec<&'static str>,
}

impl Sections {
    fn of(report: &Report<'_>) -> Self {
        let mut all = Self::default();
        let Findings {
            calls,
            statements,
            errors,
            pauses,
            threads,
            ..
        } = report.findings;
        let (notes, trees) = (report.notes.0, report.trees);
        all.add(Section::CALLS, !calls.is_empty(), report, sections::calls);
        all.add(Section::FUNCTIONS, !trees.is_empty(), report, all_functions);
        all.graph(report);
        all.timeline(report);
        all.add(
            Section::STATEMENTS,
            !statements.is_empty(),
            report,
            sections::statements,
        );
        all.add(
            Section::ERRORS,
            !errors.is_empty(),
            report,
            sections::errors,
        );
        all.add(
            Section::PAUSES,
            !pauses.is_empty(),
            report,
            sections::pauses,
        );
        all.add(
            Section::THREADS,
            !threads.is_empty(),
            report,
            sections::threads,
        );
        all.add(Section::NOTES, !notes.is_empty(), report, sections::notes);
        all.provenance(report);
        all.parts.insert(0, opening(report, &all.contents));
        all
    }

    /// Adds a section, or notes what is missing.
    fn add(
        &mut self,
        section: Section,
        is_there: bool,
        report: &Report<'_>,
        write: impl FnOnce(&mut String, &Report<'_>),
    ) {
        if !is_there {
            let missing = Some(section.missing).filter(|missing| !missing.is_empty());
            self.missing.extend(missing);
            return;
        }
        let mut markup = String::new();
        if !section.id.is_empty() {
            heading(&mut markup, section.id, section.title);
            self.contents.push((section.id, section.title));
        }
        write(&mut markup, report);
        self.parts.push(markup);
    }

    fn graph(&mut self, report: &Report<'_>) {
        if report.trees.is_empty() {
            return;
        }
        self.add(Section::GRAPH, true, report, left_out);
        let picture = Picture {
            title: report.title,
            short_names: true,
            categories: Some(report.categories),
            over_time: report.over_time,
            ..Picture::default()
        };
        let part = flame::part(report.trees, &picture, Some("flame-0"));
        self.parts.push(part);
    }

    fn timeline(&mut self, report: &Report<'_>) {
        if report.timeline.is_empty() {
            return;
        }
        self.add(Section::TIMELINE, true, report, |out, report| {
            paragraph(out, &about(report.timeline));
        });
        let (timeline, categories) = (report.timeline, report.categories);
        self.parts
            .push(part(timeline, categories, MOST_ITEMS, MOST_BYTES));
    }

    /// Adds what was read, what of it is in no section before, and where it came from.
    fn provenance(&mut self, report: &Report<'_>) {
        let missing = std::mem::take(&mut self.missing);
        let mut section = Section::PROVENANCE;
        // Of no input there is nothing to head.
        if report.sources.is_empty() {
            section.id = "";
        }
        self.add(section, true, report, |out, report| {
            overview(out, report, &missing);
            provenance(out, report);
        });
    }
}

/// What stands above the sections: findings in words, figures, keys, contents and charts.
fn opening(report: &Report<'_>, contents: &[(&'static str, &'static str)]) -> String {
    let mut markup = String::new();
    let finding = report
        .trees
        .iter()
        .find_map(|tree| finding(tree, report.categories));
    if let Some(finding) = finding {
        markup.push_str("<p class=\"finding\">");
        escape(&mut markup, &glued(&finding));
        markup.push_str("</p>\n");
    }
    let story = story(report).join(" ");
    if !story.is_empty() {
        let _ = writeln!(markup, "<p class=\"story\">{}</p>", escaped(&story));
    }
    figures(&mut markup, &sections::figures(report));
    markup.push_str(KEYS);
    markup.push_str("<nav class=\"contents\" aria-label=\"Contents\">");
    for (id, title) in contents {
        let _ = write!(markup, "<a href=\"#{id}\">{title}</a>");
    }
    markup.push_str("</nav>\n");
    charts(&mut markup, report);
    markup
}

fn measure(tree: &CallTree) -> String {
    format!(
        "{}: {}",
        tree.measure.title(),
        amount(&tree.measure.unit, tree.total)
    )
}

/// How long calls took, and when it ran.
fn charts(out: &mut String, report: &Report<'_>) {
    let mut parts = [String::new(), String::new()];
    let [durations, course] = &mut parts;
    sections::durations(durations, report.findings);
    when(course, report);
    out.push_str("<div class=\"two\">\n");
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let _ = writeln!(out, "<div>\n{part}</div>");
    }
    out.push_str("</div>\n");
}

/// What was read, and what is not in it.
fn overview(out: &mut String, report: &Report<'_>, missing: &[&str]) {
    let is_sampled = report.findings.samples > 0 && report.findings.read == 0;
    let mut rows = sections::overview(report);
    if report.findings.beyond > 0 {
        let beyond = grouped(report.findings.beyond);
        let text = format!(
            "{beyond} threads, errors and statements that are in no row: there were too many"
        );
        rows.push(("Left out".to_owned(), text));
    }
    if !missing.is_empty() {
        let reason = if is_sampled {
            "a sampled profile; no "
        } else {
            "no "
        };
        rows.push((
            "Not here".to_owned(),
            format!("{reason}{}", missing.join(", no ")),
        ));
    }
    facts(
        out,
        rows.iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
}

/// What the report is made from, and by what: the last lines, for whoever asks.
fn provenance(out: &mut String, report: &Report<'_>) {
    if report.sources.is_empty() {
        return;
    }
    let head = [
        ("size", Alignment::Number),
        ("files", Alignment::Number),
        ("format", Alignment::When),
        ("input", Alignment::Name),
    ];
    let row = |source: &Source| -> Vec<HtmlCell> {
        vec![
            source.size.as_str().into(),
            grouped(source.parts as u64).into(),
            source.formats.as_str().into(),
            mailed(&source.path).into(),
        ]
    };
    table(
        out,
        "Inputs",
        &head,
        report.sources.iter().map(row),
        usize::MAX,
    );
    let made = [("Made by", report.made)];
    facts(out, made.into_iter());
}

/// Says what is in no frame of the graph.
fn left_out(out: &mut String, report: &Report<'_>) {
    for said in report.trees.iter().filter_map(flame::left_out) {
        paragraph(out, &format!("{said}."));
    }
}

fn all_functions(out: &mut String, report: &Report<'_>) {
    for tree in report.trees {
        functions(out, tree, report.rows);
    }
}

fn functions(out: &mut String, tree: &CallTree, most: usize) {
    smaller_heading(out, &measure(tree));
    let counted = match tree.measure.source {
        crate::TreeSource::Spans => "calls",
        crate::TreeSource::Samples => "samples of itself",
    };
    let head = [
        ("self", Alignment::Number),
        ("self %", Alignment::Number),
        ("total", Alignment::Number),
        ("total %", Alignment::Number),
        (counted, Alignment::Number),
        ("function", Alignment::Name),
    ];
    let share = |value| {
        let percent = tree.percent(value);
        percent.map_or_else(String::new, |percent| format!("{percent:.2} %"))
    };
    let value = |value| amount(&tree.measure.unit, value);
    let rows = top(tree).into_iter().map(|row| -> Vec<HtmlCell> {
        vec![
            value(row.own).into(),
            share(row.own).into(),
            value(row.total).into(),
            share(row.total).into(),
            grouped(row.count).into(),
            tree.symbol(row.symbol).name.as_str().into(),
        ]
    });
    table(out, &measure(tree), &head, rows, most);
}
