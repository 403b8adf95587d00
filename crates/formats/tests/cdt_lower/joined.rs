//! Calls and trees agree, however much is asked for.

use super::*;
use traceloom_model::Asks;

#[test]
fn every_call_agrees_with_its_tree() {
    let Some(source) = test_service() else { return };
    let recording = source.lower();
    assert_eq!(worse_than_info(&recording), Vec::<&Note>::new());
    assert_eq!(recording.spans.len(), 1456);
    let rows: Vec<_> = recording
        .spans
        .iter()
        .filter(|span| !span.counters.is_empty())
        .collect();
    assert_eq!(rows.len(), 45);
    let mut spans_below = BTreeMap::new();
    let parents: BTreeMap<_, _> = recording
        .spans
        .iter()
        .map(|span| (span.id, span.parent))
        .collect();
    for span in recording.spans.iter() {
        let mut root = span.id;
        while let Some(parent) = parents[&root] {
            root = parent;
        }
        *spans_below.entry(root).or_insert(0) += 1;
    }
    for row in &rows {
        assert!(row.entry && row.parent.is_none());
        assert_eq!(row.counters[0].1, spans_below[&row.id]);
        let named = recording.track(row.track).and_then(|track| track.name);
        assert!(named.is_some());
    }
    assert_eq!(recording.events.len(), 504);
    let stopped: i64 = recording
        .events
        .iter()
        .map(|pause| pause.end.expect("an end") - pause.time)
        .sum();
    assert_eq!(stopped, 38_546_000_000);
}

#[test]
fn big_values_are_resolved() {
    let Some(source) = test_service() else { return };
    let recording = source.lower();
    let mut statements = 0;
    let mut binds = 0;
    for span in recording.spans.iter() {
        for attribute in span.attributes {
            let key = recording.attribute_key(attribute.key).expect("a key");
            let Value::Text(value) = attribute.value else {
                continue;
            };
            match recording.text(key.name).as_ref() {
                "sql" => {
                    statements += 1;
                    let text = recording.text(value).to_lowercase();
                    assert!(
                        text.starts_with("select") || text.starts_with("create"),
                        "{text}"
                    );
                    assert!(key.signature.is_some());
                    assert!(attribute.at.is_some());
                }
                "binds" => {
                    binds += 1;
                    assert!(recording.text(value).contains(": "));
                }
                _ => {}
            }
        }
    }
    assert!(statements > 9 && binds == 36, "{statements} {binds}");
}

#[test]
fn a_conversation_tells_the_same() {
    let Some(source) = test_service() else { return };
    let bytes = corpus::file("cdt/tcp/test-service.tcpdump").expect("beside the streams");
    let members = cdt::TCP.members.expect("members");
    let mut pull = SlicePull::new(&bytes, 0);
    let members = members(&mut pull, &Default::default()).expect("members");
    let mut again = Owned::default();
    for member in members {
        let mut joined = Vec::new();
        for (offset, length) in member.pieces {
            let start = usize::try_from(offset).expect("in memory");
            joined.extend_from_slice(&bytes[start..start + length as usize]);
        }
        let format = format_of(&member.name);
        if format != &cdt::GC {
            again.add(&member.name, format, joined);
        }
    }
    let set = cdt::STREAMS.set.expect("a set")(&again.parts);
    assert_eq!(set.len(), 1);
    let (separate, together) = (source.lower(), again.lower());
    assert_eq!(told(&separate), told(&together));
    assert_eq!(separate.events.time, together.events.time);
}

/// Wants less than every span.
struct Less {
    wants: Wants,
    recording: Recording,
    steps: Vec<StepBatch>,
    named: usize,
}

impl Sink for Less {
    fn asks(&self) -> Asks {
        Asks {
            wants: self.wants,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.recording.define(definitions)
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.named += batch.calls.len() + batch.open.len();
        self.steps.push(batch);
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.recording.spans(batch)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.recording.note(note)
    }
}

fn less(source: &Owned, wants: Wants) -> Less {
    let mut sink = Less {
        wants,
        recording: Recording::default(),
        steps: Vec::new(),
        named: 0,
    };
    source.lower_into(&LowerOptions::default(), &mut sink);
    sink
}

#[test]
fn less_is_a_part_of_more() {
    let mut running = 0;
    let samples = [sample(3, 800_000), sample(11, 1_500_000)];
    for source in test_service().into_iter().chain(samples) {
        let all = source.lower();
        let steps = less(&source, Wants::Steps { calls: true });
        let enters: usize = steps
            .steps
            .iter()
            .map(|batch| batch.function.iter().flatten().count())
            .sum();
        assert_eq!(enters, all.spans.len());
        let rows = all.spans.iter().filter(|span| span.parent.is_none());
        let rows = rows.count();
        assert_eq!((steps.named, steps.recording.spans.len()), (rows, rows));
        let both = less(&source, Wants::SpansAndSteps);
        assert_eq!(super::told(&both.recording), super::told(&all));
        let inner = both.steps.iter().map(|batch| batch.inner.len());
        assert_eq!(both.named + inner.sum::<usize>(), all.spans.len());
        let told = |less: &Less| {
            let steps = less.steps.iter().flat_map(|batch| {
                let steps = batch.time.iter().zip(&batch.function);
                steps.map(|(&time, &function)| (time, function.is_some()))
            });
            steps.collect::<Vec<_>>()
        };
        assert_eq!(told(&both), told(&steps));
        let calls = less(&source, Wants::Calls);
        assert_eq!(calls.recording.spans.len(), rows);
        assert!(calls.steps.is_empty());
        let key = |recording: &Recording| {
            let calls = recording.spans.iter().filter(|span| span.parent.is_none());
            let mut keys: Vec<_> = calls
                .map(|span| {
                    let counters: Vec<i64> = span.counters.iter().map(|pair| pair.1).collect();
                    let attributes = span.attributes.iter().map(|one| {
                        let key = recording.attribute_key(one.key).expect("a key");
                        let value = match &one.value {
                            Value::Text(text) => recording.text(*text).into_owned(),
                            other => format!("{} values", matches!(other, Value::List(..))),
                        };
                        (recording.text(key.name).into_owned(), value)
                    });
                    let mut attributes: Vec<_> = attributes.collect();
                    attributes.sort();
                    let origin = span.origin.expect("an origin");
                    let place = (origin.offset, origin.index);
                    let status = format!("{:?}", span.status);
                    (span.start, span.end, status, counters, attributes, place)
                })
                .collect();
            keys.sort();
            keys
        };
        let every = key(&all);
        running += every.iter().filter(|call| call.2 == "PartialEnd").count();
        assert_eq!(every, key(&steps.recording));
        assert_eq!(every, key(&calls.recording));
    }
    assert!(running > 0);
}

#[test]
fn a_sample_is_consistent() {
    let source = sample(11, 1_500_000);
    let recording = source.lower();
    assert_eq!(worse_than_info(&recording), Vec::<&Note>::new());
    let status = |wanted| {
        recording
            .spans
            .status
            .iter()
            .filter(|&&s| s == wanted)
            .count()
    };
    assert!(status(SpanStatus::Error) > 0);
    assert!(status(SpanStatus::PartialEnd) > 0);
    let resource = recording.resources[0].as_ref().expect("a process");
    assert_eq!(recording.text(resource.service.expect("a service")), "shop");
}

#[test]
fn one_call_is_found_by_its_origin() {
    let source = sample(5, 400_000);
    let all = source.lower();
    let roots: Vec<_> = all.spans.iter().filter(|span| span.entry).collect();
    for root in roots.iter().step_by(17) {
        let one = source.lower_only(root.origin);
        let found: Vec<_> = one.spans.iter().filter(|span| span.entry).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].start, found[0].end), (root.start, root.end));
        assert_eq!(found[0].counters.len(), root.counters.len());
        assert_eq!(found[0].attributes.len(), root.attributes.len());
    }
}

#[test]
fn params_of_another_restart() {
    let Some(files) = corpus::files("cdt/dump/server1") else {
        return;
    };
    let parts: Vec<Part> = files
        .iter()
        .map(|file| file.trim_start_matches("cdt/dump/").trim_end_matches(".gz"))
        .filter(|name| !name.ends_with(".blst") && !name.contains("1643822510743/params"))
        .map(|name| Part {
            name: name.to_owned(),
            format: Some(format_of(name)),
            size: None,
        })
        .collect();
    let groups = cdt::DUMP.set.expect("a set")(&parts);
    assert_eq!(groups.len(), 2);
    assert_eq!(
        cdt::STREAMS.set.expect("a set")(&parts),
        Vec::<Vec<usize>>::new()
    );
    for group in &groups {
        let params = group
            .iter()
            .filter(|&&at| parts[at].format == Some(&cdt::PARAMS));
        assert_eq!(params.count(), 1);
    }
}

#[test]
fn damage_costs_one_block() {
    let source = sample(9, 500_000);
    let whole = source.lower();
    let trace = source
        .parts
        .iter()
        .position(|part| part.format == Some(&cdt::TRACE));
    let trace = trace.expect("a trace");
    let mut torn = Owned::default();
    for (part, bytes) in source.parts.iter().zip(&source.bytes) {
        torn.add(&part.name, part.format.expect("a format"), bytes.clone());
    }
    // A tag of a type that nobody knows, in the middle of the file.
    let bytes = &mut torn.bytes[trace];
    let at = bytes.len() / 2;
    let found = bytes[at..]
        .windows(4)
        .position(|w| w == [0x02, 0x0b, 0x00, 0x0d]);
    let at = at + found.expect("a tag of the kind that begins a call's tail");
    bytes[at + 2] = 0x77;
    let recording = torn.lower();
    let kinds: Vec<_> = recording.notes.counts().collect();
    assert!(
        kinds
            .iter()
            .any(|&(level, kind, _)| (level, kind) == (Level::Damage, "unknown_tag_type")),
        "{kinds:?}"
    );
    let lost = whole.spans.len().abs_diff(recording.spans.len());
    assert!(lost < 600, "{lost} spans lost: more than a block holds");
}
