//! Which command of this program answers a question about a data folder.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use traceloom_analysis::query::{PartialRead, Query};
use traceloom_formats::protocol::Identity;
use traceloom_input::captures::posts::PostId;
use traceloom_input::captures::{CaptureId, CaptureSummary, beginning_name};
use traceloom_server::{AnsweringCommand, Catalog, Page, PartOf, ProcessedContent, Question};

use crate::catalog::{self, CatalogEntry};
use crate::numbers::size;
use crate::own_program::own_program;

/// Bytes that an argument may have: Linux refuses more than 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// What answers go by.
#[derive(Clone, Copy, Default)]
pub(crate) struct AnswerRules<'r> {
    /// The file of rules for kinds of work.
    pub(crate) kinds: Option<&'r Path>,
    /// Bytes of captures that a question reads where it does not say how many.
    pub(crate) budget: Option<u64>,
}

/// Returns the command that answers.
///
/// # Errors
/// When the program does not find itself, or the data folder cannot be read.
pub(crate) fn command(
    catalog: &Catalog,
    rules: &AnswerRules<'_>,
    question: &Question,
) -> io::Result<AnsweringCommand> {
    let mut line = CommandLine {
        command: Command::new(own_program()?),
        catalog,
        data: catalog.path(),
        rules,
        partial: None,
        input: Vec::new(),
    };
    match question {
        Question::Captures => line.words(["captures", "ls", "--json"]).data(),
        Question::Contents(id) => line.words(["info", "--json"]).capture(*id),
        Question::Notes(id) => line.words(["check", "--json"]).capture(*id),
        Question::Bytes(place) => line.words(["dump"]).flag("hex", place.n).within(place),
        Question::Records(place) => line
            .words(["dump", "--resolve"])
            .rows(place.n)
            .within(place),
        Question::Original { id, part } => line.original(*id, part.as_deref()),
        Question::Facts(ids) => line.facts(ids),
        Question::Points(posts) => line.points(posts),
        Question::Converted { id, to } => line.convert(to).words(["-o", "-"]).capture(*id),
        Question::Losses { id, to } => line
            .convert(to)
            .words(["--json", "--force", "-o", "/dev/null"])
            .capture(*id),
        Question::Processed {
            trace,
            span,
            content,
        } => line.processed(*trace, *span, *content),
        Question::Calls(query) => line
            .words(["calls", "--json", "--page"])
            .rows(query.rows)
            .listed(query)
            .flag_of("budget", query.budget.or(rules.budget))
            .catalogued(query)?,
        Question::CallsCsv(query) => line
            .words(["calls", "--csv", "-n=0"])
            .listed(query)
            .chosen_whole(query)?,
        Question::CallsOverview(query) => line
            .words(["calls", "--overview", "--json"])
            .chosen(query)?,
        Question::CallGroups { query, by } => line
            .words(["calls", "--json"])
            .flag("by", by)
            .rows(query.rows)
            .chosen(query)?,
        Question::Call {
            query,
            id,
            below,
            depth,
            spans,
        } => line.call(query, id, [*below, *depth, *spans])?,
        Question::Functions(query) => line
            .words(["top", "--json"])
            .rows(query.rows)
            .shaped(query)?,
        Question::Hotspots(query) => line
            .words(["top", "--hotspots", "--json"])
            .kinds()
            .shaped(query)?,
        Question::Tree { query, least } => line.tree(query, *least)?,
        Question::Picture(query) => line.picture(query)?,
        Question::FlameJson(query) => line.flame_json(query)?,
        Question::Difference(query) => line.words(["diff", "--json"]).compared(query)?,
        Question::Tracks { query, columns } => line
            .words(["timeline", "--json"])
            .flag("columns", columns)
            .rows(query.rows)
            .chosen(query)?,
        Question::Tile { query, items } => line
            .words(["timeline", "--output", "-"])
            .kinds()
            .flag("most", items)
            .chosen(query)?,
        Question::Metrics(query) => line.words(["metrics", "--json"]).chosen(query)?,
        Question::Monitors(query) => line
            .words(["monitors", "--json"])
            .rows(query.rows)
            .chosen(query)?,
        Question::Objects(query) => line.words(["objects", "--json"]).chosen(query)?,
        Question::Page(page, query) => line.page(*page, query)?,
    };
    Ok(AnsweringCommand {
        command: line.command,
        partial: line.partial,
        input: line.input,
    })
}

/// A command of this program about a data folder, in the making.
struct CommandLine<'d> {
    command: Command,
    catalog: &'d Catalog,
    data: &'d Path,
    rules: &'d AnswerRules<'d>,
    /// What is read, where not all is.
    partial: Option<PartialRead>,
    input: Vec<u8>,
}

impl CommandLine<'_> {
    /// Adds the parts of a capture as its sender sent them.
    fn original(&mut self, id: CaptureId, part: Option<&str>) -> &mut Self {
        let name = match part {
            None => id.to_string(),
            Some(part) => format!("{id}/{part}"),
        };
        self.words(["export", "-o", "-", "--data"])
            .data()
            .words([name])
    }

    fn facts(&mut self, ids: &[CaptureId]) -> &mut Self {
        self.words(["captures", "facts", "--data"])
            .data()
            .words(ids.iter().map(CaptureId::to_string))
    }

    fn points(&mut self, posts: &[PostId]) -> &mut Self {
        self.words(["export", "--points", "-o", "-", "--data"])
            .data()
            .words(posts.iter().map(PostId::to_string))
    }

    fn convert(&mut self, to: &str) -> &mut Self {
        self.words(["convert"]).flag("to", to)
    }

    fn processed(
        &mut self,
        trace: Option<u128>,
        span: Option<u64>,
        content: ProcessedContent,
    ) -> &mut Self {
        let content = match content {
            ProcessedContent::Metadata => "metadata",
            ProcessedContent::Tree => "tree",
            ProcessedContent::Statistics => "stats",
        };
        self.words(["export"])
            .flag("processed", content)
            .flag_of("trace", trace.map(|trace| format!("{trace:032x}")))
            .flag_of("span", span.map(|span| format!("{span:016x}")))
            .words(["-o", "-", "--data"])
            .data()
    }

    fn call(
        &mut self,
        query: &Query,
        id: &str,
        [below, depth, spans]: [Option<usize>; 3],
    ) -> io::Result<&mut Self> {
        // A call is found by its id: a filter might leave it out.
        let unfiltered = Query {
            filter: String::new(),
            ..query.clone()
        };
        let line = self
            .words(["call", "--json"])
            .kinds()
            .flag_of("below", below)
            .flag_of("depth", depth)
            .flag_of("spans", spans);
        // The capture that it is in is read to where it is, whatever it takes.
        let line = match query.captures.is_empty() {
            true => line.chosen(&unfiltered),
            false => line.chosen_whole(&unfiltered),
        }?;
        Ok(line.words(["--", id]))
    }

    fn tree(&mut self, query: &Query, least: u32) -> io::Result<&mut Self> {
        let (whole, rest) = (least / 100, least % 100);
        self.words(["tree", "--json"])
            .flag("min-percent", format_args!("{whole}.{rest:02}"))
            .words(query.shape.upwards.then_some("--bottom-up"))
            .shaped(query)
    }

    fn picture(&mut self, query: &Query) -> io::Result<&mut Self> {
        self.words(["flame", "-o", "-"])
            .kinds()
            .words(query.shape.upwards.then_some("--upwards"))
            .shaped(query)
    }

    fn flame_json(&mut self, query: &Query) -> io::Result<&mut Self> {
        self.words(["flame", "-o", "-", "--json"])
            .flag_of("value", query.shape.value.as_ref())
            .flag_of("dimension", query.shape.by.as_ref())
            .chosen(query)
    }

    fn page(&mut self, page: Page, query: &Query) -> io::Result<&mut Self> {
        let line = self.words([page.word(), "--output", "-"]);
        let line = match page {
            Page::Diff => line.words(["--html"]).compared(query),
            Page::Flame => line.kinds().words(["--html"]).shaped(query),
            Page::Report | Page::Timeline => line.kinds().chosen(query),
        }?;
        let doubt = line.partial.as_ref().map(left_out);
        Ok(line.flag_of("doubt", doubt))
    }

    /// Adds the data folder.
    fn data(&mut self) -> &mut Self {
        self.command.arg(self.data);
        self
    }

    /// Adds the path of a capture.
    fn capture(&mut self, id: CaptureId) -> &mut Self {
        self.command.arg(path(self.data, &[id]));
        self
    }

    /// Adds the rules for kinds of work.
    fn kinds(&mut self) -> &mut Self {
        if let Some(rules) = self.rules.kinds {
            self.command.arg("--categories").arg(rules);
        }
        self
    }

    fn words(&mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.command.args(words);
        self
    }

    fn flag(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.command.arg(format!("--{name}={value}"));
        self
    }

    fn flag_of(&mut self, name: &str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.flag(name, value),
            None => self,
        }
    }

    /// Adds how many rows there may be.
    fn rows(&mut self, most: usize) -> &mut Self {
        self.words([format!("-n={most}")])
    }

    /// Adds where `dump` begins.
    fn within(&mut self, place: &PartOf) -> &mut Self {
        self.words(["--json"])
            .flag("start", place.at)
            .flag("part", &place.part)
            .capture(place.id)
    }

    /// Adds the order and the columns of a list of calls.
    fn listed(&mut self, query: &Query) -> &mut Self {
        let columns = (!query.columns.is_empty()).then(|| query.columns.join(","));
        self.flag("sort", &query.sort)
            .flag_of("after", query.after.as_ref())
            .flag_of("columns", columns)
    }

    /// Adds the filter and the stretch of time.
    fn filtered(&mut self, query: &Query) -> &mut Self {
        let filter = (!query.filter.is_empty()).then_some(&query.filter);
        self.flag_of("filter", filter)
            .flag_of("since", query.from)
            .flag_of("until", query.to)
    }

    /// Adds what a query chooses: the path, the filter, the stretch of time. No more is read than the budget has room for.
    fn chosen(&mut self, query: &Query) -> io::Result<&mut Self> {
        let budget = query.budget.or(self.rules.budget);
        let chosen = chosen(self.catalog, query, budget)?;
        Ok(self.filtered(query).reading([chosen]))
    }

    /// Adds what a query chooses, all of it: who reads a page needs little of it, and an export is asked for as a whole.
    fn chosen_whole(&mut self, query: &Query) -> io::Result<&mut Self> {
        let chosen = chosen(self.catalog, query, None)?;
        Ok(self.filtered(query).reading([chosen]))
    }

    /// As [`CommandLine::chosen_whole`], and tells on standard input what is known of the captures.
    fn catalogued(&mut self, query: &Query) -> io::Result<&mut Self> {
        let chosen = chosen(self.catalog, query, None)?;
        let mut captures = self.catalog.captures().map_err(io::Error::other)?;
        if let Some(ids) = &chosen.ids {
            let ids: HashSet<CaptureId> = ids.iter().copied().collect();
            captures.retain(|capture| ids.contains(&capture.id));
        }
        self.input = catalog::encode(&captures);
        Ok(self.words(["--catalog"]).filtered(query).reading([chosen]))
    }

    /// Adds the paths of captures.
    fn reading(&mut self, chosen: impl IntoIterator<Item = ChosenPath>) -> &mut Self {
        for ChosenPath { path, partial, .. } in chosen {
            self.command.arg(path);
            self.partial = match (self.partial, partial) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            };
        }
        self
    }

    /// Adds the shape of a tree.
    fn shape(&mut self, query: &Query) -> &mut Self {
        let shape = &query.shape;
        self.flag_of("value", shape.value.as_ref())
            .flag_of("focus", shape.focus.as_ref())
            .flag_of("ignore", shape.ignore.as_ref())
            .flag_of("hide", shape.hide.as_ref())
    }

    /// Adds what a query chooses and its shape.
    fn shaped(&mut self, query: &Query) -> io::Result<&mut Self> {
        self.shape(query);
        match query.shape.by.as_deref() {
            None => self,
            Some("thread") => self.flag("by", "thread"),
            Some(dimension) => self.flag("dimension", dimension),
        }
        .chosen(query)
    }

    /// Adds two sides: what a query is compared with, and what it chooses.
    fn compared(&mut self, query: &Query) -> io::Result<&mut Self> {
        let shape = &query.shape;
        let mut before = query.clone();
        if shape.base_from.is_some() || shape.base_to.is_some() {
            before.from = shape.base_from;
            before.to = shape.base_to;
        }
        if !shape.base.is_empty() {
            before.captures.clone_from(&shape.base);
            before.services.clear();
            before.versions.clear();
        }
        if !shape.base_versions.is_empty() {
            before.versions.clone_from(&shape.base_versions);
        }
        let budget = query.budget.or(self.rules.budget);
        let sides = |budget| -> io::Result<_> {
            let side = |query| chosen(self.catalog, query, budget);
            Ok([side(&before)?, side(query)?])
        };
        let mut both = sides(budget)?;
        let sum = both.iter().map(|side| side.n_bytes);
        let sum = sum.fold(0, u64::saturating_add);
        // Each has a half where there is no room for both.
        if let Some(budget) = budget.filter(|&budget| budget < sum) {
            both = sides(Some(budget / 2))?;
        }
        let line = self.shape(query).filtered(query);
        Ok(line
            .flag_of("base-since", shape.base_from)
            .flag_of("base-until", shape.base_to)
            .reading(both))
    }
}

/// The path of captures that a query chooses.
struct ChosenPath {
    path: OsString,
    /// The captures; all of the folder without.
    ids: Option<Vec<CaptureId>>,
    /// Bytes of the captures that are read, where anybody looked.
    n_bytes: u64,
    partial: Option<PartialRead>,
}

/// Returns the path of the captures that a query chooses: of its services, named by it, and not received before its time; the newest that
/// a budget has room for.
fn chosen(catalog: &Catalog, query: &Query, budget: Option<u64>) -> io::Result<ChosenPath> {
    let data = catalog.path();
    let by_id = query.services.is_empty() && query.versions.is_empty() && query.from.is_none();
    let as_named = |n_bytes| {
        let is_all = query.captures.is_empty() || !by_id;
        let ids = query
            .captures
            .iter()
            .map(|id| id.split('.').next().unwrap_or(id));
        let ids = ids.filter_map(|id| id.parse().ok());
        ChosenPath {
            path: match is_all {
                true => data.as_os_str().to_owned(),
                false => path(data, &query.captures),
            },
            ids: (!is_all).then(|| ids.collect()),
            n_bytes,
            partial: None,
        }
    };
    if by_id && budget.is_none() {
        return Ok(as_named(0));
    }
    let captures = catalog.captures().map_err(io::Error::other)?;
    let mut entries = wanted(&captures, query)?;
    // Those of which more comes, or came last, are the newest.
    entries.sort_by_key(|(_, entry)| Reverse((entry.until_ns, entry.id)));
    let room = |entries: &[(&CaptureSummary, CatalogEntry)]| {
        let sizes: Vec<u64> = entries.iter().map(|(_, entry)| entry.n_bytes).collect();
        let (n_read, partial) = match budget {
            None => (sizes.len(), None),
            Some(budget) => PartialRead::of(&sizes, budget),
        };
        (sizes, n_read, partial)
    };
    let (mut sizes, mut n_read, mut partial) = room(&entries);
    if partial.is_some() {
        // What began later takes no room.
        entries.retain(|(capture, _)| may_begin_before(capture, query.to));
        (sizes, n_read, partial) = room(&entries);
    }
    let mut ids: Vec<CaptureId> = entries.iter().map(|(_, entry)| entry.id).collect();
    let n_chosen = ids.len();
    ids.truncate(n_read);
    // One capture alone may be more.
    let beginning = budget.and_then(|budget| PartialRead::beginning(&sizes, budget));
    if let (Some((n_bytes, partial)), Some(&id)) = (beginning, ids.first()) {
        return Ok(ChosenPath {
            path: path(data, &[beginning_name(id, n_bytes)]),
            ids: Some(vec![id]),
            n_bytes: sizes.first().copied().unwrap_or_default(),
            partial: Some(partial),
        });
    }
    // Of captures that are not there, whoever reads them says so.
    if ids.len() == captures.len() || (by_id && partial.is_none() && n_chosen == n_read) {
        return Ok(as_named(sizes.iter().sum()));
    }
    // The newest, where not all can be named.
    let mut length = 0;
    let named = ids.iter().take_while(|id| {
        length += id.to_string().len() + 1;
        length < LONGEST_ARGUMENT
    });
    let n_named = named.count();
    if n_named < ids.len() {
        let all = sizes.get(..n_named).unwrap_or_default();
        partial = Some(PartialRead {
            read_bytes: all.iter().sum(),
            of_bytes: sizes.iter().sum(),
            captures_read: n_named,
            captures: sizes.len(),
            budget: None,
            next_budget: None,
        });
        ids.truncate(n_named);
    }
    ids.sort_unstable();
    let read = sizes.get(..ids.len()).unwrap_or_default();
    Ok(ChosenPath {
        path: path(data, &ids),
        n_bytes: read.iter().sum(),
        ids: Some(ids),
        partial,
    })
}

/// Returns the captures that a query chooses, of which some may have something in its time.
fn wanted<'c>(
    captures: &'c [Arc<CaptureSummary>],
    query: &Query,
) -> io::Result<Vec<(&'c CaptureSummary, CatalogEntry)>> {
    let entries = catalog::entries(captures);
    let [versions, ids] = [&query.versions, &query.captures]
        .map(|texts| texts.iter().map(String::as_str).collect::<HashSet<_>>());
    let is_wanted = |capture: &CaptureSummary| {
        let is_of = |wanted: &HashSet<&str>, text: &str| wanted.is_empty() || wanted.contains(text);
        is_of_services(&query.services, &capture.identity)
            && is_of(&versions, &capture.identity.version)
            && is_of(&ids, &capture.id.to_string())
    };
    let from = query.from.unwrap_or(i64::MIN);
    let of_services = captures.iter().map(AsRef::as_ref).zip(entries);
    let mut received: Vec<_> = of_services.filter(|(one, _)| is_wanted(one)).collect();
    let nothing = |text: String| Err(io::Error::new(io::ErrorKind::NotFound, text));
    let by_id = query.services.is_empty() && versions.is_empty() && query.from.is_none();
    if received.is_empty() && !by_id {
        return match query.services.is_empty() && query.versions.is_empty() {
            true => nothing("there are no such captures".to_owned()),
            false => nothing(format!("no capture is of {}", named(query))),
        };
    }
    received.retain(|(_, entry)| entry.until_ns >= from);
    if received.is_empty() && query.from.is_some() {
        return nothing("nothing was received since then".to_owned());
    }
    Ok(received)
}

/// Returns true if a capture is of one of these services: its name, or `NAMESPACE/NAME`, where nothing before the `/` is no namespace and
/// nothing behind it no name.
fn is_of_services(wanted: &[String], identity: &Identity) -> bool {
    let is_it = |text: &String| {
        let rest = text.strip_prefix(identity.namespace.as_str());
        *text == identity.service
            || rest.and_then(|rest| rest.strip_prefix('/')) == Some(&identity.service)
    };
    wanted.is_empty() || wanted.iter().any(is_it)
}

/// Returns true if a capture may have something before a moment.
fn may_begin_before(capture: &CaptureSummary, to: Option<i64>) -> bool {
    let times = capture.whole_facts().and_then(|facts| facts.times);
    times
        .zip(to)
        .is_none_or(|((first_ns, _), to_ns)| first_ns < to_ns)
}

/// Says what a page was not made from.
fn left_out(partial: &PartialRead) -> String {
    format!(
        "made from {} of {}: the newest {} of {} captures",
        size(partial.read_bytes),
        size(partial.of_bytes),
        partial.captures_read,
        partial.captures
    )
}

/// Returns the services and versions of a query, for a sentence.
fn named(query: &Query) -> String {
    let services = query.services.join(", ");
    let versions = query.versions.join(", ");
    match (services.is_empty(), versions.is_empty()) {
        (_, true) => services,
        (true, false) => format!("version {versions}"),
        (false, false) => format!("{services}, version {versions}"),
    }
}

/// Returns the path of some captures.
fn path(data: &Path, ids: &[impl ToString]) -> OsString {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let mut path = data.as_os_str().to_owned();
    path.push("#");
    path.push(ids.join(","));
    path
}
