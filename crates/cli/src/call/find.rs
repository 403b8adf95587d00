//! From an id to the call and everything that belongs to it, in one recording.

use std::collections::{HashMap, HashSet};

use traceloom_analysis::distributed::{ChosenTrees, Contexts, TreeKey, attach, related};
use traceloom_formats::{LowerOptions, Source};
use traceloom_input::Document;
use traceloom_model::{Concat, Origin, PartId, Recording, SpanContext, SpanId};

use super::AskedCall;
use crate::args::Common;
use crate::inputs::OpenInput;
use crate::lowered::mention;
use crate::read_plan::RecordingReader;

/// What is shown.
pub(super) struct FoundCall {
    pub(super) recording: Recording,
    /// The call, or the calls that a trace begins with.
    pub(super) roots: Vec<SpanId>,
    /// Spans that hang below a span of another process.
    pub(super) attached: HashMap<SpanId, SpanId>,
    /// Names of the recording's parts.
    pub(super) parts: Vec<String>,
    /// The whole trace was asked for.
    pub(super) trace: Option<u128>,
}

/// Finds a call, and the rest of its trace below it; none when there is no such call.
pub(super) fn find(
    inputs: &[OpenInput<'_>],
    wanted: &AskedCall,
    common: &Common,
) -> anyhow::Result<Option<FoundCall>> {
    let mut all = Vec::new();
    for input in inputs {
        all.extend(input.recordings()?);
    }
    if let &AskedCall::Trace(trace) = wanted {
        let found = joined(&all, trace, &[], common)?;
        return Ok(Some(found).filter(|found| !found.roots.is_empty()));
    }
    for (at, place) in all.iter().enumerate() {
        let Some((recording, root)) = alone(place, wanted, common)? else {
            continue;
        };
        let contexts = recording.spans.context.values();
        if !contexts.is_empty() {
            let own = recording.spans.iter().find(|span| span.id == root);
            let key = own.map(|span| TreeKey::of(&span));
            let trace = contexts.iter().find(|context| context.trace != 0);
            let trace = trace.map_or(0, |context| context.trace);
            let mut found = joined(&all, trace, contexts, common)?;
            let before = all.iter().take(at);
            let offset: usize = before.map(|place| place.document.parts().len()).sum();
            let place = |origin: Origin| Origin {
                part: PartId(
                    origin
                        .part
                        .0
                        .saturating_add(u32::try_from(offset).unwrap_or(0)),
                ),
                ..origin
            };
            let moved = found.recording.spans.iter().find(|span| match key {
                Some(TreeKey::Origin(origin)) => span.origin == Some(place(origin)),
                _ => false,
            });
            let below = |found: &FoundCall| !found.attached.is_empty();
            if let Some(root) = moved.map(|span| span.id).filter(|_| below(&found)) {
                found.roots = vec![root];
                found.trace = None;
                return Ok(Some(found));
            }
        }
        let parts = names(&all[at..=at], inputs.len() > 1);
        return Ok(Some(FoundCall {
            recording,
            roots: vec![root],
            attached: HashMap::new(),
            parts,
            trace: None,
        }));
    }
    Ok(None)
}

/// Lowers the call alone, where it is in this document.
fn alone(
    place: &RecordingReader<'_>,
    wanted: &AskedCall,
    common: &Common,
) -> anyhow::Result<Option<(Recording, SpanId)>> {
    let only = match wanted {
        AskedCall::Origin {
            part,
            offset,
            index,
        } => {
            let Some(part) = local(&place.document, *part) else {
                return Ok(None);
            };
            Some(Origin {
                part,
                offset: *offset,
                index: *index,
            })
        }
        AskedCall::Span(_) | AskedCall::Trace(_) => None,
    };
    let mut recording = Recording::default();
    let options = LowerOptions {
        only,
        ..common.lower_options()?
    };
    let notes = place.lower_every_method(&options, &mut recording)?;
    let root = recording.spans.iter().find(|span| match wanted {
        AskedCall::Span(id) => span.id == *id,
        _ => span.origin.is_some() && span.origin == only,
    });
    let root = root.map(|span| span.id);
    if root.is_some() {
        mention(place.input, &[notes]);
    }
    Ok(root.map(|root| (recording, root)))
}

/// The document's own number of a part of the input.
fn local(document: &Document<'_>, part: usize) -> Option<PartId> {
    let at = document.members().position(|(number, _)| number == part)?;
    debug_assert!(at < document.parts().len());
    u32::try_from(at).ok().map(PartId)
}

/// Lowers the trees of a trace from every document into one recording.
fn joined(
    all: &[RecordingReader<'_>],
    trace: u128,
    from: &[SpanContext],
    common: &Common,
) -> anyhow::Result<FoundCall> {
    let options = common.lower_options()?;
    let mut trees = Vec::new();
    for place in all {
        let mut contexts = Contexts::default();
        place.lower_every_method(&options, &mut contexts)?;
        trees.push(contexts.finish());
    }
    let chosen = related(&trees, trace, from);
    let mut recording = Recording::default();
    let mut many = Concat::new(&mut recording).of_many();
    for (place, chosen) in all.iter().zip(&chosen) {
        if !chosen.is_empty() {
            let mut trees = ChosenTrees::new(&mut many, chosen);
            let notes = place.lower_every_method(&options, &mut trees)?;
            let _ = trees.finish();
            mention(place.input, &[notes]);
        }
        many.next_recording(place.document.parts().len());
    }
    let attached = attach(&recording);
    let roots = roots(&recording, trace, &attached);
    let several = all
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.number != b.number));
    Ok(FoundCall {
        recording,
        roots,
        attached,
        parts: names(all, several),
        trace: Some(trace),
    })
}

/// The calls of a trace that nothing of the trace is around, in time order.
fn roots(recording: &Recording, trace: u128, attached: &HashMap<SpanId, SpanId>) -> Vec<SpanId> {
    let of_trace = |context: &Option<SpanContext>| context.is_some_and(|it| it.trace == trace);
    let spans = &recording.spans;
    let parents: HashMap<SpanId, Option<SpanId>> =
        spans.iter().map(|span| (span.id, span.parent)).collect();
    let own: HashSet<SpanId> = spans
        .iter()
        .filter(|span| of_trace(&span.context))
        .map(|span| span.id)
        .collect();
    let outermost = |id: SpanId| {
        let mut around = parents.get(&id).copied().flatten();
        while let Some(id) = around.filter(|id| !own.contains(id)) {
            around = parents.get(&id).copied().flatten();
        }
        around.is_none()
    };
    let mut roots: Vec<_> = spans
        .iter()
        .filter(|span| own.contains(&span.id) && !attached.contains_key(&span.id))
        .filter(|span| outermost(span.id))
        .map(|span| (span.start, span.id))
        .collect();
    roots.sort_unstable();
    roots.into_iter().map(|(_, id)| id).collect()
}

/// Names the parts of all documents in their order; of several inputs with their path.
fn names(all: &[RecordingReader<'_>], several: bool) -> Vec<String> {
    let mut names = Vec::new();
    for RecordingReader {
        input, document, ..
    } in all
    {
        for part in document.parts() {
            names.push(match (several, input.is_folder()) {
                (true, true) => format!("{}/{}", input.path().trim_end_matches('/'), part.name),
                (true, false) => input.path().to_owned(),
                (false, _) => part.name.clone(),
            });
        }
    }
    names
}
