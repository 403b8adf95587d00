//! Lowering, raising, damage, the sample generator, and the contradictions of the specification.

#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod calls;
mod contradictions;
mod conversion;
mod events;
mod reading;

use traceloom_model::{Recording, SpanStatus};

use super::binary::{Shape, Writer};
use super::message::Draft;
use super::table::by_element;
use crate::{Format, LowerOptions, RaiseOptions, Records, SliceSource, read_slice};
use traceloom_model::Limits;

const EPOCH: u64 = 1_204_279_200_000_000_000;

const T0: i64 = 1_204_279_200_000_000_000;

fn draft(element: &str) -> Draft<'static> {
    Draft::new(by_element(element.as_bytes()).unwrap())
}

fn trace(frequency: u64, drafts: &[Draft<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Shape::default(), true);
    let mut out = Vec::new();
    writer.descriptor(0, 1, &mut out);
    writer.frequency(frequency, &mut out);
    for draft in drafts {
        writer.message(&draft.message(), &mut out);
    }
    out
}

fn lower(format: &'static Format, bytes: &[u8]) -> Recording {
    lower_named("trace", format, bytes, &LowerOptions::default())
}

fn lower_named(
    name: &str,
    format: &'static Format,
    bytes: &[u8],
    options: &LowerOptions,
) -> Recording {
    let source = SliceSource::default().with(name, format, bytes);
    let mut recording = Recording::default();
    (format.lower.unwrap())(&source, options, &mut recording).unwrap();
    recording
}

fn raise(format: &'static Format, from: &'static Format, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    {
        let mut target = (format.raise.unwrap())(&RaiseOptions::default(), &mut out).unwrap();
        let source = SliceSource::default().with("trace", from, bytes);
        (from.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
        target.finish().unwrap();
    }
    out
}

/// Method, status, start, end, depth and thread of every span.
fn spans(recording: &Recording) -> Vec<(String, SpanStatus, i64, i64, u32, String)> {
    let rows = recording.spans.iter();
    rows.map(|row| {
        let track = recording.track(row.track).unwrap();
        let thread = track.name.map_or_else(
            || format!("#{}", track.id.unwrap()),
            |name| recording.text(name).into(),
        );
        let name = recording.function_name(row.function.unwrap()).into_owned();
        (
            name,
            row.status,
            row.start - T0,
            row.end - T0,
            row.depth,
            thread,
        )
    })
    .collect()
}

fn entry(thread: u64, method: u64, ticket: u64, time: u64) -> Draft<'static> {
    let draft = draft("methodEntry")
        .number("threadIdRef", thread)
        .number("methodIdRef", method);
    draft
        .number("ticket", ticket)
        .number("time", EPOCH + time)
        .number("classIdRef", 7)
}

fn exit(thread: u64, method: u64, ticket: u64, time: u64) -> Draft<'static> {
    let draft = draft("methodExit")
        .number("threadIdRef", thread)
        .number("methodIdRef", method);
    draft.number("ticket", ticket).number("time", EPOCH + time)
}

fn definitions() -> Vec<Draft<'static>> {
    vec![
        draft("threadStart")
            .number("threadId", 1)
            .number("time", EPOCH)
            .text("threadName", "main"),
        draft("classDef")
            .number("classId", 7)
            .text("name", "com/acme/Shop")
            .text("sourceName", "Shop.java"),
        draft("methodDef")
            .number("methodId", 70)
            .number("classIdRef", 7)
            .text("name", "-init-"),
        draft("methodDef")
            .number("methodId", 71)
            .number("classIdRef", 7)
            .text("name", "buy")
            .text("signature", "(I)V")
            .number("startLineNumber", 12)
            .number("isStatic", 1),
    ]
}

fn records(format: &Format, bytes: &[u8]) -> Records {
    let mut records = Records::default();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        bytes,
        &mut records,
    );
    records
}

fn sample(format: &Format, bytes: u64) -> Vec<u8> {
    let mut all = Vec::new();
    (traceloom_samples::by_name(format.name).unwrap())(7, bytes, &mut |piece| {
        all.extend_from_slice(piece)
    });
    all
}
