//! A call as one JSON object (docs/json.md).

use serde_json::{Map, Value, json};
use traceloom_analysis::hotspots::{Categories, SpanWork};
use traceloom_analysis::text::title;
use traceloom_model::{SpanRow, SpanStatus};

use super::exceptions;
use super::tree::{PrintedSpan, PrintedTree};
use crate::attribute_json;

/// Which spans of a call are told.
pub(super) struct SpansWanted {
    /// The span that is told with what is below it, by its place in the call.
    pub(super) below: usize,
    /// Levels below it.
    pub(super) depth: Option<usize>,
    /// Most spans.
    pub(super) most: Option<usize>,
}

impl SpansWanted {
    /// Returns the places of the spans, and how many more would be told without the last limit.
    fn of(&self, places: &[PrintedSpan], n_below: &[usize]) -> (Vec<usize>, usize) {
        let Some(first) = places.get(self.below) else {
            return (Vec::new(), 0);
        };
        let end = match self.below {
            // A trace has several spans without one around them.
            0 => places.len(),
            below => below + 1 + n_below.get(below).copied().unwrap_or_default(),
        };
        let deepest = self.depth.map_or(usize::MAX, |levels| first.depth + levels);
        let is_told = |at: &usize| places.get(*at).is_some_and(|place| place.depth <= deepest);
        let all: Vec<usize> = (self.below..end).filter(is_told).collect();
        let most = self.most.map_or(all.len(), |most| most.min(all.len()));
        let left_out = all.len() - most;
        (all.into_iter().take(most).collect(), left_out)
    }
}

/// Returns how many spans are below each.
fn n_below(places: &[PrintedSpan]) -> Vec<usize> {
    let mut below = vec![0; places.len()];
    // Spans that the next one may be below.
    let mut open: Vec<usize> = Vec::new();
    for at in 0..=places.len() {
        let depth = places.get(at).map_or(0, |place| place.depth);
        while open.len() > depth
            && let Some(ended) = open.pop()
            && let Some(below) = below.get_mut(ended)
        {
            *below = at - ended - 1;
        }
        open.push(at);
    }
    below
}

impl PrintedTree<'_> {
    pub(super) fn json(&self, wanted: &SpansWanted, categories: &Categories) -> Value {
        let places = self.walk();
        let shapes = places.iter().map(|place| {
            let span = self.span(place.row);
            let name = span.as_ref().map(|span| self.name(span, true));
            let duration = span.as_ref().map_or(0, SpanRow::duration);
            (place.depth, name.unwrap_or_default(), duration)
        });
        let shapes: Vec<_> = shapes.collect();
        let shapes = shapes
            .iter()
            .map(|(depth, name, duration)| (*depth, &**name, *duration));
        let work = categories.of_spans(&shapes.collect::<Vec<_>>());
        let n_below = n_below(&places);
        let (told, left_out) = wanted.of(&places, &n_below);
        let spans = told.into_iter().filter_map(|at| {
            let mut span = self.span_json(*places.get(at)?, *work.get(at)?)?;
            span["index"] = json!(at);
            span["below"] = json!(n_below.get(at));
            Some(span)
        });
        let spans: Vec<_> = spans.collect();
        let root = self.root();
        let counters: Map<_, _> = root
            .iter()
            .flat_map(|root| root.counters)
            .filter_map(|&(id, value)| {
                let name = self.recording.value_type(id)?.name;
                Some((self.recording.text(name).into_owned(), json!(value)))
            })
            .collect();
        let track = root
            .as_ref()
            .and_then(|root| self.recording.track(root.track));
        let thread = track
            .and_then(|track| track.name)
            .map(|name| self.recording.text(name));
        let statements: Vec<_> = self
            .sql(&places)
            .into_iter()
            .map(|(text, (times, time))| json!({"sql": text, "times": times, "time_ns": time}))
            .collect();
        json!({
            "title": root.as_ref().and_then(|root| title(self.recording, root.attributes)),
            "thread": thread,
            "start_ns": root.as_ref().map(|root| root.start),
            "duration_ns": root.as_ref().map(SpanRow::duration),
            "suspended_ns": root.as_ref().map(|root| self.pauses.suspended(root.start, root.end)),
            "counters": counters,
            "sql": statements,
            "spans": spans,
            "all_spans": places.len(),
            "left_out": left_out,
        })
    }

    fn span_json(&self, place: PrintedSpan, work: SpanWork<'_>) -> Option<Value> {
        let span = self.span(place.row)?;
        // Readers with numbers of 53 bits know how long something took, but not when it began to the nanosecond.
        let begin = self.root().map_or(span.start, |root| root.start);
        let attributes: Vec<_> = span
            .attributes
            .iter()
            .map(|attribute| {
                let (order, name, _) = self.key(attribute);
                let value = attribute_json::as_json(self.recording, &attribute.value);
                let mut shown =
                    json!({"name": name, "value": value, "at_ns": attribute.at, "order": order});
                if let Some(at) = attribute.at {
                    shown["offset_ns"] = json!(at.saturating_sub(begin));
                }
                if let Some(giver) = self.giver(attribute, true) {
                    shown["from"] = json!(giver);
                }
                shown
            })
            .collect();
        let mut shown = json!({
            "depth": place.depth,
            "function": self.name(&span, true),
            "start_ns": span.start,
            "end_ns": span.end,
            "offset_ns": span.start.saturating_sub(begin),
            "duration_ns": span.duration(),
            "self_ns": self.own(place.row),
            "failed": span.status == SpanStatus::Error,
            "attributes": attributes,
        });
        match work {
            SpanWork::Category(category) => shown["category"] = json!(category),
            SpanWork::Own => shown["own_code"] = json!(true),
            SpanWork::Other => {}
        }
        if let Some(kind) = span.kind {
            shown["kind"] = json!(self.recording.text(kind));
        }
        if let Some(id) = span.exception {
            shown["exceptions"] = exceptions::as_json(self.recording, id);
        }
        if let Some(context) = span.context {
            shown["trace_id"] = json!(format!("{:032x}", context.trace));
            shown["span_id"] = json!(format!("{:016x}", context.span));
            shown["parent_span_id"] = json!(format!("{:016x}", context.parent));
        }
        if place.remote || place.depth == 0 && span.context.is_some() {
            shown["remote"] = json!(place.remote);
            shown["service"] = json!(self.service(&span));
            shown["file"] = json!(self.file(&span));
        }
        Some(shown)
    }
}
