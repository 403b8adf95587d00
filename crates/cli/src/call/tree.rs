//! The spans of a call as a tree.

use std::collections::{BTreeMap, HashMap, HashSet};

use traceloom_analysis::filter::Filter;
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::text::value_text;
use traceloom_analysis::{Pauses, shape};
use traceloom_model::{Attribute, AttributeKey, Recording, SpanId, SpanRow};

use super::find::FoundCall;

pub(super) struct PrintedTree<'r> {
    pub(super) found: &'r FoundCall,
    pub(super) recording: &'r Recording,
    /// Rows of the span batch by span.
    rows: HashMap<SpanId, usize>,
    /// The same by parent, in time order.
    children: BTreeMap<SpanId, Vec<usize>>,
    roots: Vec<usize>,
    pub(super) pauses: Pauses,
    /// Of all functions of the recording.
    names: ShortNames<'r>,
}

/// A span where it is printed.
#[derive(Clone, Copy)]
pub(super) struct PrintedSpan {
    pub(super) row: usize,
    pub(super) depth: usize,
    /// It hangs below a span of another process.
    pub(super) remote: bool,
}

impl<'r> PrintedTree<'r> {
    /// Builds it without the methods that are not admitted: what they called hangs below what called them.
    pub(super) fn of(found: &'r FoundCall, methods: &Filter, names: ShortNames<'r>) -> Self {
        let recording = &found.recording;
        let mut children: BTreeMap<SpanId, Vec<usize>> = BTreeMap::new();
        let mut rows = HashMap::new();
        // The calls themselves were asked for by id, so they stay whatever their methods.
        let hidden = |span: &SpanRow<'_>| {
            let function = span
                .function
                .filter(|_| !methods.is_empty() && !found.roots.contains(&span.id));
            function.is_some_and(|id| !methods.admits(&recording.function_name(id)))
        };
        let above = |span: &SpanRow<'_>| found.attached.get(&span.id).copied().or(span.parent);
        let gone: HashMap<SpanId, Option<SpanId>> = recording
            .spans
            .iter()
            .filter(hidden)
            .map(|span| (span.id, above(&span)))
            .collect();
        for (row, span) in recording.spans.iter().enumerate() {
            if gone.contains_key(&span.id) {
                continue;
            }
            rows.insert(span.id, row);
            let mut parent = above(&span);
            for _ in 0..=gone.len() {
                let next = parent.and_then(|parent| gone.get(&parent));
                let Some(&next) = next else { break };
                parent = next;
            }
            if let Some(parent) = parent {
                children.entry(parent).or_default().push(row);
            }
        }
        let roots = found.roots.iter().filter_map(|root| rows.get(root));
        let roots = roots.copied().collect();
        let start = |row: &usize| recording.spans.start.get(*row).copied();
        for rows in children.values_mut() {
            rows.sort_by_key(start);
        }
        let mut pauses = Pauses::default();
        pauses.add_events(recording, &recording.events);
        pauses.settle();
        Self {
            found,
            recording,
            rows,
            children,
            roots,
            pauses,
            names,
        }
    }

    pub(super) fn span(&self, row: usize) -> Option<SpanRow<'r>> {
        self.recording.spans.row(row)
    }

    /// The first of the calls that are shown.
    pub(super) fn root(&self) -> Option<SpanRow<'r>> {
        self.span(self.roots.first().copied()?)
    }

    fn is_remote(&self, id: SpanId) -> bool {
        self.found.attached.contains_key(&id)
    }

    /// Spans depth first, without recursion.
    pub(super) fn walk(&self) -> Vec<PrintedSpan> {
        let mut places = Vec::new();
        let mut seen = HashSet::new();
        let top = |&row: &usize| PrintedSpan {
            row,
            depth: 0,
            remote: false,
        };
        let mut pending: Vec<PrintedSpan> = self.roots.iter().rev().map(top).collect();
        while let Some(place) = pending.pop() {
            let Some(&id) = self.recording.spans.id.get(place.row) else {
                continue;
            };
            // A span has one place; a producer's ids are not believed to make a tree.
            if !seen.insert(id) {
                continue;
            }
            places.push(place);
            let below = self.children.get(&id).map_or(&[][..], Vec::as_slice);
            pending.extend(below.iter().rev().map(|&row| {
                let id = self.recording.spans.id.get(row);
                PrintedSpan {
                    row,
                    depth: place.depth + 1,
                    remote: id.is_some_and(|&id| self.is_remote(id)),
                }
            }));
        }
        places
    }

    /// Duration without what ran inside on the same track: another process's clock takes nothing away.
    pub(super) fn own(&self, row: usize) -> u64 {
        let Some(span) = self.span(row) else {
            return 0;
        };
        let below = self.children.get(&span.id).map_or(&[][..], Vec::as_slice);
        let mut covered = 0;
        let mut until = span.start;
        for child in below.iter().filter_map(|&child| self.span(child)) {
            if self.is_remote(child.id) {
                continue;
            }
            let (start, end) = (child.start.max(until), child.end.min(span.end));
            if end > start {
                covered += end.abs_diff(start);
                until = end;
            }
        }
        span.duration().saturating_sub(covered)
    }

    pub(super) fn name(&self, span: &SpanRow<'_>, wide: bool) -> String {
        let name = span
            .function
            .map_or("(unknown)".into(), |id| self.recording.function_name(id));
        if wide {
            name.into_owned()
        } else {
            self.names.show(&name).into_owned()
        }
    }

    /// Service or session, where the producer says so.
    pub(super) fn service(&self, span: &SpanRow<'_>) -> Option<String> {
        let resource = self.recording.track(span.track)?.resource?;
        let resource = self.recording.resource(resource)?;
        let name = resource.service.or(resource.instance)?;
        Some(self.recording.text(name).into_owned())
    }

    /// Name of the part that the span was read from.
    pub(super) fn file(&self, span: &SpanRow<'_>) -> Option<&'r str> {
        let part = span.origin?.part.0;
        let found = self.found.parts.get(usize::try_from(part).ok()?)?;
        Some(found.as_str())
    }

    pub(super) fn key(&self, attribute: &Attribute) -> (i32, String, Option<&AttributeKey>) {
        let key = self.recording.attribute_key(attribute.key);
        let name = key.map_or_else(
            || format!("#{}", attribute.key.raw()),
            |key| self.recording.text(key.name).into_owned(),
        );
        (key.map_or(i32::MAX, |key| key.order), name, key)
    }

    /// Name of the method that handed an attribute up to the span that has it.
    pub(super) fn giver(&self, attribute: &Attribute, wide: bool) -> Option<String> {
        let from = attribute.from?;
        let giver = self.span(self.rows.get(&from).copied()?)?;
        Some(self.name(&giver, wide))
    }

    pub(super) fn is_sql(&self, key: Option<&AttributeKey>) -> bool {
        let signature = key.and_then(|key| key.signature);
        signature.is_some_and(|signature| self.recording.text(signature) == "sql")
    }

    /// Statements by shape: how often, and the time of the spans that ran them.
    pub(super) fn sql(&self, places: &[PrintedSpan]) -> Vec<(String, (u64, u64))> {
        let mut shapes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for span in places.iter().filter_map(|place| self.span(place.row)) {
            for attribute in span.attributes {
                let (_, name, key) = self.key(attribute);
                if self.is_sql(key) && name == "sql" {
                    let text = value_text(self.recording, &attribute.value);
                    let entry = shapes.entry(shape::of_sql(&text)).or_default();
                    entry.0 += 1;
                    entry.1 += span.duration();
                }
            }
        }
        let mut shapes: Vec<_> = shapes.into_iter().collect();
        shapes.sort_by_key(|&(_, (times, time))| std::cmp::Reverse((time, times)));
        shapes
    }
}
