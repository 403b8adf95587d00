//! The model to packets: one event a span, in the order the spans come.
//!
//! Threads and streams become streams, async tracks substreams of theirs; lanes go back to the track they
//! were split from, with a [`EventPosition`], as have events that containment would nest otherwise. The epoch is a midnight, the second last before the first span starts: whatever
//! began at most a day before it still counts from there. A span that began earlier yet begins another
//! run with an epoch of its own. Without a known origin there is no epoch, and times before the origin
//! are held as 0, as are those before 1970. Texts and lists beyond 65,535 go on in further attributes
//! of the same name, descriptions beyond that are cut.
//!
//! What came as Heph keeps its options, and its runs apart: other readers know no option but the epoch.

use std::borrow::Cow;
use std::collections::HashSet;

use traceloom_model::bounds::{saturated_u16, subslice};
use traceloom_model::{
    Attribute, Clock, Definitions, ElementType, Flow, Note, Order, Recording, ResourceId, Sink,
    SpanBatch, SpanRow, StringId, Timestamp, TrackId, TrackKind, Value,
};

use super::forest::Forests;
use super::lower::Map;
use super::mark::EventPosition;
use super::names::UNDECODED;
use super::record::{self, Attributes, Event, Layout, Metadata};
use super::registered::{self, DescribedValue, Encoding};
use super::write;
use crate::codec::Buffered;
use crate::codec::ById;
use crate::{Error, Output, RaiseOptions, Target};

/// Most bytes of a text, and most elements of a list.
const MOST: usize = 65_535;
/// Nanoseconds.
const DAY: u64 = 86_400_000_000_000;

/// Opens a target.
pub(super) fn open<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        return Err(Error::usage(format!("heph has no variant `{variant}`")));
    }
    Ok(Box::new(Writer {
        out: Buffered::new(output, ""),
        words: Recording::default(),
        addresses: ById::default(),
        addressed: 0,
        taken: HashSet::default(),
        named: HashSet::default(),
        counters: Map::default(),
        lanes: Map::default(),
        forests: Forests::default(),
        dated: false,
        epoch: None,
        came_as_heph: options.sources.contains(&super::FORMAT.name),
        run: None,
    }))
}

/// Stream, substream and lane of a track.
type Address = (u32, u64, u32);

struct Writer<'o> {
    out: Buffered<'o>,
    words: Recording,
    addresses: ById<Address>,
    /// How many tracks have an address.
    addressed: u32,
    taken: HashSet<(u32, u64)>,
    /// Ids that tracks have: a substream of another number is not one of theirs.
    named: HashSet<u64>,
    counters: Map<u32, u32>,
    /// Lanes of streams and substreams.
    lanes: Map<(u32, u64), u32>,
    /// What is written of each track.
    forests: Forests,
    /// Times count from 1970.
    dated: bool,
    /// The epoch in force, once one is written.
    epoch: Option<u64>,
    /// The recordings are Heph, with options and runs.
    came_as_heph: bool,
    /// The resource of the run that is being written.
    run: Option<Option<ResourceId>>,
}

impl Writer<'_> {
    /// Returns the resource whose run a track belongs to, where runs are kept apart.
    fn run_of(&self, track: TrackId) -> Option<ResourceId> {
        if !self.came_as_heph {
            return None;
        }
        self.words.track(track)?.resource
    }

    /// Begins a run, unless `resource` is that of the one being written.
    fn enter_run(&mut self, resource: Option<ResourceId>, first: u64) {
        if !self.came_as_heph || self.run == Some(resource) {
            return self.date(first);
        }
        if self.run.is_some() && self.dated {
            // A reader sees another run where another epoch comes and streams count from 0 again.
            let before = self.epoch.take();
            self.taken.clear();
            self.addresses = ById::default();
            self.addressed = 0;
            self.date_apart(first, before);
        } else {
            self.date(first);
        }
        self.run = Some(resource);
        self.options(resource);
    }

    /// Writes what a run says of itself besides its epoch.
    fn options(&mut self, resource: Option<ResourceId>) {
        let row = resource.and_then(|id| self.words.resource(id));
        for option in row.map_or(&[][..], |row| &row.attributes) {
            let name = self.words.attribute_key(option.key).map(|row| row.name);
            let name = text(&self.words, name, option.key.raw());
            let value = option_value(&self.words, &name, &option.value);
            let packet = Metadata {
                offset: 0,
                name: cut(&name),
                value: &value,
            };
            write::metadata(&packet, &mut self.out.bytes);
        }
    }

    /// Sees to an epoch that is not after `first`.
    fn date(&mut self, first: u64) {
        self.date_apart(first, None);
    }

    /// Sees to an epoch that is not after `first`, and not the one `before`.
    fn date_apart(&mut self, first: u64, before: Option<u64>) {
        if !self.dated || self.epoch.is_some_and(|epoch| epoch <= first) {
            return;
        }
        let mut epoch = (first / DAY * DAY).saturating_sub(DAY);
        if before == Some(epoch) {
            epoch += 1;
        }
        let packet = Metadata {
            offset: 0,
            name: b"epoch",
            value: &epoch.to_be_bytes(),
        };
        write::metadata(&packet, &mut self.out.bytes);
        self.epoch = Some(epoch);
        // Counters that begin again tell a reader that the epoch is not a correction of the last one.
        self.counters.clear();
        // What is enclosed in the run before, no event of this one can enclose.
        self.forests = Forests::default();
    }

    fn span(&mut self, span: &SpanRow<'_>) {
        let is_known = self.addresses.get(span.track.index()).is_some();
        let (stream, substream, lane) = self.address(span.track);
        let counter = self.counters.entry(stream).or_default();
        let number = *counter;
        *counter = counter.wrapping_add(1);
        let epoch = self.epoch.unwrap_or(0);
        let since = |time: Timestamp| u64::try_from(time).unwrap_or(0).saturating_sub(epoch);
        let (start, end) = (since(span.start), since(span.end));
        let forest = self.forests.of(span.track, is_known);
        let mark = EventPosition {
            encloses: forest.add(span.id, span.parent, start, end),
            lane,
            is_other_entry: span.entry != span.parent.is_none(),
        };
        let function = span.function.map(|id| {
            let name = self.words.function(id).map(|row| row.name);
            text(&self.words, name, id.raw())
        });
        let description = cut(function.as_deref().unwrap_or_default());
        let out = &mut self.out.bytes;
        let begin = out.len();
        write::head(
            &Event {
                offset: 0,
                layout: Layout::Substream,
                stream,
                counter: number,
                substream,
                start,
                end,
                description_length: saturated_u16(description.len()),
                description,
                attributes: Attributes::default(),
                undecoded: &[],
                valid_text: true,
                complete: true,
            },
            out,
        );
        // The mark is the last attribute that can be decoded.
        let mut mark = Some(mark);
        for one in span.attributes {
            let name = self.words.attribute_key(one.key).map(|row| row.name);
            let name = text(&self.words, name, one.key.raw());
            if matches!(one.value, Value::Bytes(_)) && *name == *UNDECODED.as_bytes() {
                mark.take().unwrap_or_default().write(out);
            }
            attribute(&self.words, &name, one, out);
        }
        mark.unwrap_or_default().write(out);
        if u32::try_from(out.len() - begin).is_err() {
            out.truncate(begin);
            self.out
                .fail(Error::usage("a span with more than 4 GiB of attributes"));
            return;
        }
        write::patch_size(begin, out);
    }

    /// Returns the address of a track.
    ///
    /// Walks up without recursion: tracks may hang under each other as deeply as a producer likes. Ids of
    /// parents are smaller than those of their children in every lowering, so that a loop ends.
    fn address(&mut self, id: TrackId) -> Address {
        let mut chain = Vec::new();
        let mut next = Some(id);
        let mut address = None;
        while let Some(id) = next {
            address = self.addresses.get(id.index()).copied();
            if address.is_some() {
                break;
            }
            chain.push(id);
            next = self.words.track(id).and_then(|track| track.parent);
            next = next.filter(|&parent| parent < id && self.words.track(parent).is_some());
        }
        while let Some(id) = chain.pop() {
            let track = self.words.track(id);
            let (kind, wanted) =
                track.map_or_else(Default::default, |track| (track.kind, track.id));
            let place = match (address, kind) {
                (Some((stream, substream, _)), TrackKind::Lane) => {
                    let lane = self.lanes.entry((stream, substream)).or_default();
                    *lane = lane.saturating_add(1);
                    (stream, substream, *lane)
                }
                (Some((stream, ..)), _) => (stream, self.free(stream, wanted), 0),
                (None, TrackKind::Async) => (0, self.free(0, wanted), 0),
                (None, _) => (self.free_stream(wanted), 0, 0),
            };
            self.addresses.put(id.index(), place);
            self.addressed += 1;
            address = Some(place);
        }
        address.unwrap_or_default()
    }

    fn free_stream(&mut self, wanted: Option<u64>) -> u32 {
        let wanted = wanted.and_then(|id| u32::try_from(id).ok());
        if let Some(id) = wanted.filter(|&id| self.taken.insert((id, 0))) {
            return id;
        }
        let mut id = self.addressed;
        while !self.taken.insert((id, 0)) && id < u32::MAX {
            id += 1;
        }
        id
    }

    fn free(&mut self, stream: u32, wanted: Option<u64>) -> u64 {
        if let Some(id) = wanted.filter(|&id| id != 0 && self.taken.insert((stream, id))) {
            return id;
        }
        let mut id = u64::from(self.addressed) + 1;
        while self.named.contains(&id) || !self.taken.insert((stream, id)) {
            id += 1;
        }
        id
    }
}

/// Returns a text as it is written, its number where it was never defined.
fn text(words: &Recording, id: Option<StringId>, raw: u32) -> Cow<'_, [u8]> {
    match id.and_then(|id| words.string(id)) {
        Some(text) => text.as_bytes().into(),
        None => format!("#{raw}").into_bytes().into(),
    }
}

fn attribute(words: &Recording, name: &[u8], attribute: &Attribute, out: &mut Vec<u8>) {
    let name = cut(name);
    match &attribute.value {
        // Only lowering makes these, of bytes that follow everything else.
        Value::Bytes(bytes) if name == UNDECODED.as_bytes() => out.extend_from_slice(bytes),
        Value::Bool(value)
            if put_described(
                name,
                Encoding::Bool,
                &[DescribedValue::Bool(*value)],
                false,
                out,
            ) => {}
        Value::Bytes(bytes)
            if put_described(
                name,
                Encoding::Bytes,
                &[DescribedValue::Bytes(bytes)],
                false,
                out,
            ) => {}
        Value::List(kind, values) if !values.is_empty() && *kind != ElementType::Any => {
            for values in values.chunks(MOST) {
                list(words, name, *kind, values, out);
            }
        }
        Value::List(kind, values) if values.is_empty() => list(words, name, *kind, values, out),
        Value::U64(value) => put(name, record::Value::U64(*value), out),
        Value::I64(value) => put(name, record::Value::I64(*value), out),
        Value::F64(value) => put(name, record::Value::F64(*value), out),
        Value::Bool(value) => put(name, record::Value::U64(u64::from(*value)), out),
        other => {
            let text = plain(words, other);
            let mut rest = &*text;
            loop {
                let part = cut(rest);
                put(name, record::Value::Text(part), out);
                rest = subslice(rest, part.len()..);
                if rest.is_empty() {
                    break;
                }
            }
        }
    }
}

/// Writes values that the specification has no type for in one that is described; false if none is, or they are of several types.
fn put_described(
    name: &[u8],
    encoding: Encoding,
    values: &[DescribedValue<'_>],
    is_list: bool,
    out: &mut Vec<u8>,
) -> bool {
    let Some((type_byte, bytes)) = registered::written(encoding, values, is_list) else {
        return false;
    };
    write::put_text(name, out);
    out.push(type_byte);
    out.extend_from_slice(&bytes);
    true
}

/// Writes a list of booleans or bytes as [`put_described`] does.
fn is_list_put(name: &[u8], kind: ElementType, values: &[Value], out: &mut Vec<u8>) -> bool {
    let encoding = match kind {
        ElementType::Bool => Encoding::Bool,
        ElementType::Bytes => Encoding::Bytes,
        _ => return false,
    };
    let values = values.iter().map(described);
    let values: Option<Vec<DescribedValue<'_>>> = values.collect();
    values.is_some_and(|values| put_described(name, encoding, &values, true, out))
}

fn described(value: &Value) -> Option<DescribedValue<'_>> {
    match value {
        Value::Bool(value) => Some(DescribedValue::Bool(*value)),
        Value::U64(value) => Some(DescribedValue::U64(*value)),
        Value::I64(value) => Some(DescribedValue::I64(*value)),
        Value::F64(value) => Some(DescribedValue::F64(*value)),
        Value::Bytes(bytes) => Some(DescribedValue::Bytes(bytes)),
        _ => None,
    }
}

/// Returns the value of an option as it is described, else as text.
fn option_value<'w>(words: &'w Recording, name: &[u8], value: &'w Value) -> Cow<'w, [u8]> {
    let mut bytes = Vec::new();
    let described = described(value);
    match described.is_some_and(|value| registered::put_option(name, value, &mut bytes)) {
        true => bytes.into(),
        false => plain(words, value),
    }
}

fn list(words: &Recording, name: &[u8], kind: ElementType, values: &[Value], out: &mut Vec<u8>) {
    if is_list_put(name, kind, values, out) {
        return;
    }
    let numbers: Option<Vec<[u8; 8]>> = values.iter().map(|value| raw(kind, value)).collect();
    match (kind, numbers) {
        (ElementType::I64, Some(raw)) => put(name, record::Value::I64s(&raw), out),
        (ElementType::F64, Some(raw)) => put(name, record::Value::F64s(&raw), out),
        (ElementType::U64 | ElementType::Bool, Some(raw)) => {
            put(name, record::Value::U64s(&raw), out)
        }
        _ => {
            let mut bytes = Vec::new();
            for value in values {
                write::put_text(cut(&plain(words, value)), &mut bytes);
            }
            let count = saturated_u16(values.len());
            put(name, record::Value::Texts(count, &bytes), out);
        }
    }
}

/// Returns a value as text: the text itself, or how Rust prints the value.
fn plain<'w>(words: &'w Recording, value: &Value) -> Cow<'w, [u8]> {
    let shown = match value {
        Value::Null => String::new(),
        Value::Text(id) => return text(words, Some(*id), id.raw()),
        Value::Bytes(bytes) => return bytes.to_vec().into(),
        Value::U64(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::List(..) | Value::Map(_) | Value::Exception(_) => format!("{value:?}"),
    };
    shown.into_bytes().into()
}

fn raw(kind: ElementType, value: &Value) -> Option<[u8; 8]> {
    match (kind, value) {
        (ElementType::U64, Value::U64(value)) => Some(value.to_be_bytes()),
        (ElementType::I64, Value::I64(value)) => Some(value.to_be_bytes()),
        (ElementType::F64, Value::F64(value)) => Some(value.to_be_bytes()),
        (ElementType::Bool, Value::Bool(value)) => Some(u64::from(*value).to_be_bytes()),
        _ => None,
    }
}

fn put(name: &[u8], value: record::Value<'_>, out: &mut Vec<u8>) {
    write::put_attribute(&record::Attribute { name, value }, out);
}

/// Cuts a text to what a length field can say, not inside a character.
fn cut(text: &[u8]) -> &[u8] {
    if text.len() <= MOST {
        return text;
    }
    let ends = (MOST - 3..=MOST).rev();
    let mut ends = ends.filter(|&end| text.get(end).is_some_and(|byte| byte & 0xc0 != 0x80));
    text.get(..ends.next().unwrap_or(MOST)).unwrap_or(text)
}

impl Sink for Writer<'_> {
    fn begin(&mut self, _order: Order, clock: Clock) {
        self.dated = clock == Clock::Unix;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        let tracks = definitions.tracks.iter();
        self.named.extend(tracks.filter_map(|(_, track)| track.id));
        self.words.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for (at, span) in batch.iter().enumerate() {
            if at == 0 || self.run_of(span.track) != self.run.flatten() {
                let run = self.run_of(span.track);
                let own = batch.track.iter().zip(&batch.start).skip(at);
                let own = own.take_while(|&(&track, _)| self.run_of(track) == run);
                let first = own.map(|(_, &start)| start).min().unwrap_or_default();
                self.enter_run(run, u64::try_from(first).unwrap_or(0));
            }
            self.span(&span);
            self.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.words.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        if self.epoch.is_none() {
            // A trace of nothing is a packet too, by which it is known for what it is.
            self.dated |= self.addressed == 0;
            self.date(0);
        }
        if self.run.is_none() && self.came_as_heph {
            let resources = 0..self.words.resources.len();
            for at in resources.filter_map(|at| u32::try_from(at).ok()) {
                self.options(Some(ResourceId::new(at)));
            }
        }
        self.out.finish()
    }
}
