//! The span a sample was taken in, under every spelling of its labels.

use traceloom_model::{Attribute, Recording, Value};

/// Which span a sample belongs to; empty texts where it does not say (`datakit/SPEC.md` §8).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpanLink {
    /// Id of the span, unsigned decimal.
    pub span_id: String,
    /// Id of the root span of its process.
    pub root_span_id: String,
    /// Resource of the trace.
    pub trace_endpoint: String,
}

const SPAN: [&str; 3] = ["span id", "spanId", "span_id"];
const ROOT: [&str; 3] = ["local root span id", "localRootSpanId", "root_span_id"];
const ENDPOINT: [&str; 3] = ["trace endpoint", "traceEndpoint", "trace_endpoint"];

impl SpanLink {
    /// Reads the link from a sample's labels: the first value of each that is not empty or zero.
    #[must_use]
    pub fn of(recording: &Recording, labels: &[Attribute]) -> Self {
        let find = |names: &[&str]| {
            let mut values = labels.iter().filter_map(|label| {
                let key = recording.attribute_key(label.key)?;
                let name = recording.text(key.name);
                names
                    .contains(&&*name)
                    .then(|| id_text(recording, &label.value))?
            });
            values.next().unwrap_or_default()
        };
        Self {
            span_id: find(&SPAN),
            root_span_id: find(&ROOT),
            trace_endpoint: find(&ENDPOINT),
        }
    }

    /// Returns true if a label of this name is part of a link.
    #[must_use]
    pub fn is_key(name: &str) -> bool {
        [SPAN, ROOT, ENDPOINT]
            .iter()
            .any(|names| names.contains(&name))
    }
}

/// An id as text: span ids are 64 unsigned bits, whatever the sign of the number that carries them.
fn id_text(recording: &Recording, value: &Value) -> Option<String> {
    let text = match value {
        Value::I64(0) | Value::U64(0) => return None,
        Value::I64(id) => id.cast_unsigned().to_string(),
        Value::U64(id) => id.to_string(),
        Value::Text(id) => recording.text(*id).into_owned(),
        _ => return None,
    };
    (!text.is_empty() && text != "0").then_some(text)
}
