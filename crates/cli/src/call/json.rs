//! A call as one JSON object (docs/json.md).

use serde_json::{Map, Value, json};
use traceloom_analysis::text::title;
use traceloom_model::{SpanRow, SpanStatus};

use super::exceptions;
use super::tree::{PrintedSpan, PrintedTree};
use crate::attribute_json;

impl PrintedTree<'_> {
    pub(super) fn json(&self) -> Value {
        let places = self.walk();
        let spans: Vec<_> = places
            .iter()
            .filter_map(|place| self.span_json(*place))
            .collect();
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
        })
    }

    fn span_json(&self, place: PrintedSpan) -> Option<Value> {
        let span = self.span(place.row)?;
        let attributes: Vec<_> = span
            .attributes
            .iter()
            .map(|attribute| {
                let (order, name, _) = self.key(attribute);
                let value = attribute_json::as_json(self.recording, &attribute.value);
                let mut shown =
                    json!({"name": name, "value": value, "at_ns": attribute.at, "order": order});
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
            "self_ns": self.own(place.row),
            "failed": span.status == SpanStatus::Error,
            "attributes": attributes,
        });
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
