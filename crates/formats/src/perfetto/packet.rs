//! Packets and track events, decoded into borrowed fields (SPEC.md §1).

use traceloom_model::bounds::saturated_u32;

use crate::protobuf::{Fields, RawValue, fields, packed_fixed, packed_varints};

/// Returns the packets of a trace, up to the first byte that is no field.
pub fn packets(trace: &[u8]) -> impl Iterator<Item = Packet<'_>> {
    let packets = fields(trace).filter(|&(number, _)| number == 1);
    packets.map(|(_, packet)| Packet::read(packet.bytes()))
}

/// The fields of a `TracePacket` that lowering uses; payloads are bodies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet<'a> {
    /// When it was written, in the clock of [`Packet::clock`].
    pub timestamp: Option<u64>,
    /// The clock of the timestamp; `None` for the default of the sequence.
    pub clock: Option<u32>,
    /// The sequence of packets it belongs to: a writer of the trace.
    pub sequence: u32,
    /// What the sequence interned before is void.
    pub cleared: bool,
    /// Packets before this one are missing.
    pub dropped: bool,
    /// The body of its `InternedData`.
    pub interned: Option<&'a [u8]>,
    /// The body of its `TracePacketDefaults`.
    pub defaults: Option<&'a [u8]>,
    /// The body of its [`TrackEvent`].
    pub event: Option<&'a [u8]>,
    /// The body of its `TrackDescriptor`.
    pub descriptor: Option<&'a [u8]>,
    /// The body of its `ClockSnapshot`.
    pub snapshot: Option<&'a [u8]>,
    /// Thread descriptors of their own, as the first writers of track events had them.
    pub thread: Option<&'a [u8]>,
    /// It holds compressed packets.
    pub compressed: bool,
    /// The first payload that this reader does not know.
    pub other: Option<u32>,
}

pub(super) fn narrow(value: u64) -> u32 {
    saturated_u32(value)
}

impl<'a> Packet<'a> {
    /// Reads the body of one.
    #[must_use]
    pub fn read(body: &'a [u8]) -> Self {
        let mut packet = Self::default();
        for (number, value) in fields(body) {
            match number {
                8 => packet.timestamp = Some(value.number()),
                58 => packet.clock = Some(narrow(value.number())),
                10 => packet.sequence = narrow(value.number()),
                13 => packet.cleared |= value.number() & 1 != 0,
                41 => packet.cleared |= value.number() != 0,
                42 => packet.dropped = value.number() != 0,
                12 => packet.interned = Some(value.bytes()),
                59 => packet.defaults = Some(value.bytes()),
                11 => packet.event = Some(value.bytes()),
                60 => packet.descriptor = Some(value.bytes()),
                6 => packet.snapshot = Some(value.bytes()),
                44 => packet.thread = Some(value.bytes()),
                50 | 133 => packet.compressed = true,
                3 | 36 | 43 | 79 | 87 | 98 => {}
                other => {
                    if matches!(value, RawValue::Len(_)) {
                        packet.other = packet.other.or(Some(other));
                    }
                }
            }
        }
        packet
    }
}

/// A text, or the id of one that the sequence interned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InternedName<'a> {
    #[default]
    /// Neither was written.
    None,
    /// The id.
    Interned(u64),
    /// The text.
    Text(&'a [u8]),
}

/// What a track event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TrackEventType {
    #[default]
    /// Not written, as where a [`Legacy`] event says it.
    Unspecified,
    /// A slice begins.
    Begin,
    /// The last slice that began on the track ends.
    End,
    /// Something without a duration.
    Instant,
    /// A counter has a value.
    Counter,
    /// A type that this reader does not know.
    Other,
}

/// The fields of a `TrackEvent`.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TrackEvent<'a> {
    /// What happens.
    pub r#type: TrackEventType,
    /// The uuid of its track; `None` for the default of the sequence.
    pub track: Option<u64>,
    /// The name.
    pub name: InternedName<'a>,
    /// The categories.
    pub categories: Vec<InternedName<'a>>,
    /// The value of a counter that counts in integers.
    pub integer: Option<i64>,
    /// The value of a counter that counts in fractions.
    pub double: Option<f64>,
    /// Counter tracks of the values in `extra_values`.
    pub extra_tracks: Vec<u64>,
    /// Integers of further counters, as bits.
    pub extra_values: Vec<u64>,
    /// Counter tracks of the values in `extra_doubles`.
    pub extra_double_tracks: Vec<u64>,
    /// Fractions of further counters, as bits.
    pub extra_doubles: Vec<u64>,
    /// Flows that pass through it.
    pub flows: Vec<u64>,
    /// Flows that end in it.
    pub terminating_flows: Vec<u64>,
    /// The bodies of its `DebugAnnotation`s.
    pub annotations: Vec<&'a [u8]>,
    /// The body of its [`Legacy`] event.
    pub legacy: Option<&'a [u8]>,
    /// The body of its `LogMessage`.
    pub log: Option<&'a [u8]>,
    /// The body of its `SourceLocation`.
    pub source: Option<&'a [u8]>,
    /// The interned id of its `SourceLocation`.
    pub source_iid: Option<u64>,
    /// The body of its `Callstack`.
    pub stack: Option<&'a [u8]>,
    /// The interned id of its `Callstack`.
    pub stack_iid: Option<u64>,
    /// The interned id of what it belongs to.
    pub correlation_iid: Option<u64>,
    /// Microseconds since the event before, as the first writers had them.
    pub delta_us: Option<i64>,
    /// Microseconds of the clock, as the first writers had them.
    pub absolute_us: Option<i64>,
}

impl<'a> TrackEvent<'a> {
    /// Reads the body of one.
    #[must_use]
    pub fn read(body: &'a [u8]) -> Self {
        let event = EventFields::read(body);
        let (extra_values, extra_tracks) = event.extra_values();
        let (extra_doubles, extra_double_tracks) = event.extra_doubles();
        Self {
            r#type: event.r#type,
            track: event.track,
            name: event.name,
            categories: event.categories().collect(),
            integer: event.integer,
            double: event.double,
            extra_tracks,
            extra_values,
            extra_double_tracks,
            extra_doubles,
            flows: event.flows(),
            terminating_flows: event.terminating_flows(),
            annotations: event.annotations().collect(),
            legacy: event.legacy,
            log: event.log,
            source: event.source,
            source_iid: event.source_iid,
            stack: event.stack,
            stack_iid: event.stack_iid,
            correlation_iid: event.correlation_iid,
            delta_us: event.delta_us,
            absolute_us: event.absolute_us,
        }
    }
}

/// The fields of a `TrackEvent`, whose lists are read where they are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventFields<'a> {
    body: &'a [u8],
    /// Which of its lists are not empty.
    lists: EventLists,
    /// What happens.
    pub(super) r#type: TrackEventType,
    /// The uuid of its track; `None` for the default of the sequence.
    pub(super) track: Option<u64>,
    /// The name.
    pub(super) name: InternedName<'a>,
    /// The value of a counter that counts in integers.
    pub(super) integer: Option<i64>,
    /// The value of a counter that counts in fractions.
    pub(super) double: Option<f64>,
    /// The body of its [`Legacy`] event.
    pub(super) legacy: Option<&'a [u8]>,
    /// The body of its `LogMessage`.
    pub(super) log: Option<&'a [u8]>,
    /// The body of its `SourceLocation`.
    pub(super) source: Option<&'a [u8]>,
    /// The interned id of its `SourceLocation`.
    pub(super) source_iid: Option<u64>,
    /// The body of its `Callstack`.
    pub(super) stack: Option<&'a [u8]>,
    /// The interned id of its `Callstack`.
    pub(super) stack_iid: Option<u64>,
    pub(super) correlation: Option<RawValue<'a>>,
    /// The interned id of what it belongs to.
    pub(super) correlation_iid: Option<u64>,
    /// Microseconds since the event before, as the first writers had them.
    pub(super) delta_us: Option<i64>,
    /// Microseconds of the clock, as the first writers had them.
    pub(super) absolute_us: Option<i64>,
}

impl<'a> EventFields<'a> {
    /// Reads the body of one.
    pub(super) fn read(body: &'a [u8]) -> Self {
        let mut event = Self {
            body,
            ..Self::default()
        };
        for (number, value) in fields(body) {
            match number {
                1 => event.delta_us = Some(value.number().cast_signed()),
                16 => event.absolute_us = Some(value.number().cast_signed()),
                3 | 22 => event.lists.categories = true,
                10 => event.name = InternedName::Interned(value.number()),
                23 => event.name = InternedName::Text(value.bytes()),
                9 => {
                    event.r#type = match value.number() {
                        0 => TrackEventType::Unspecified,
                        1 => TrackEventType::Begin,
                        2 => TrackEventType::End,
                        3 => TrackEventType::Instant,
                        4 => TrackEventType::Counter,
                        _ => TrackEventType::Other,
                    }
                }
                11 => event.track = Some(value.number()),
                30 => event.integer = Some(value.number().cast_signed()),
                44 => event.double = Some(f64::from_bits(value.number())),
                12 | 31 | 45 | 46 => event.lists.extra_counts = true,
                36 | 47 | 42 | 48 => event.lists.flows = true,
                4 => event.lists.annotations = true,
                6 => event.legacy = Some(value.bytes()),
                21 => event.log = Some(value.bytes()),
                33 => event.source = Some(value.bytes()),
                34 => event.source_iid = Some(value.number()),
                55 => event.stack = Some(value.bytes()),
                56 => event.stack_iid = Some(value.number()),
                52 | 53 => event.correlation = Some(value),
                54 => event.correlation_iid = Some(value.number()),
                _ => {}
            }
        }
        event
    }

    /// Returns the categories.
    pub(super) fn categories(&self) -> impl Iterator<Item = InternedName<'a>> {
        let fields = self.list(self.lists.categories);
        fields.flat_map(|(number, value)| {
            let mut iids = Vec::new();
            if number == 3 {
                packed_varints(value, &mut iids);
            }
            let text = (number == 22).then(|| InternedName::Text(value.bytes()));
            iids.into_iter().map(InternedName::Interned).chain(text)
        })
    }

    /// Returns true if it has `DebugAnnotation`s.
    pub(super) fn has_annotations(&self) -> bool {
        self.lists.annotations
    }

    /// Returns the bodies of its `DebugAnnotation`s.
    pub(super) fn annotations(&self) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.list(self.lists.annotations);
        let bodies = fields.filter(|&(number, _)| number == 4);
        bodies.map(|(_, value)| value.bytes())
    }

    /// Returns true if flows pass through it or end in it.
    pub(super) fn has_flows(&self) -> bool {
        self.lists.flows
    }

    /// Returns the flows that pass through it.
    pub(super) fn flows(&self) -> Vec<u64> {
        self.numbers(self.lists.flows, 36, 47)
    }

    /// Returns the flows that end in it.
    pub(super) fn terminating_flows(&self) -> Vec<u64> {
        self.numbers(self.lists.flows, 42, 48)
    }

    /// Returns the integers of further counters, as bits, and the counter tracks that they are of.
    pub(super) fn extra_values(&self) -> (Vec<u64>, Vec<u64>) {
        let is_any = self.lists.extra_counts;
        (self.numbers(is_any, 12, 0), self.numbers(is_any, 31, 0))
    }

    /// Returns the fractions of further counters, as bits, and the counter tracks that they are of.
    pub(super) fn extra_doubles(&self) -> (Vec<u64>, Vec<u64>) {
        let is_any = self.lists.extra_counts;
        (self.numbers(is_any, 0, 46), self.numbers(is_any, 45, 0))
    }

    /// Returns the fields again where there is something of a list among them.
    fn list(&self, is_any: bool) -> Fields<'a> {
        fields(if is_any { self.body } else { &[] })
    }

    /// Returns the numbers of a list: those that are varints in one field, those of eight bytes in another.
    fn numbers(&self, is_any: bool, varints: u32, fixed: u32) -> Vec<u64> {
        let mut numbers = Vec::new();
        for (number, value) in self.list(is_any) {
            if number == varints {
                packed_varints(value, &mut numbers);
            } else if number == fixed {
                packed_fixed(value, &mut numbers);
            }
        }
        numbers
    }
}

/// Lists of an event that are not empty.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is of a list of its own"
)]
#[derive(Clone, Copy, Debug, Default)]
struct EventLists {
    categories: bool,
    annotations: bool,
    flows: bool,
    extra_counts: bool,
}

/// An event in the words of Chrome's JSON format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Legacy<'a> {
    /// The phase: a letter of the JSON format.
    pub phase: u8,
    /// The duration of a complete event.
    pub duration_us: i64,
    /// Which of the three kinds of id, and the id.
    pub id: Option<(u32, u64)>,
    /// The scope of the id.
    pub scope: &'a [u8],
    /// The interned id of the name.
    pub name_iid: Option<u64>,
}

impl<'a> Legacy<'a> {
    /// Reads the body of one.
    #[must_use]
    pub fn read(body: &'a [u8]) -> Self {
        let mut legacy = Self::default();
        for (number, value) in fields(body) {
            match number {
                1 => legacy.name_iid = Some(value.number()),
                2 => legacy.phase = u8::try_from(value.number()).unwrap_or(0),
                3 => legacy.duration_us = value.number().cast_signed(),
                6 | 10 | 11 => legacy.id = Some((number, value.number())),
                7 => legacy.scope = value.bytes(),
                _ => {}
            }
        }
        legacy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protobuf::{put_bytes, put_fixed64, put_number, put_packed};

    #[test]
    fn lists_are_read_packed_or_not() {
        let mut body = Vec::new();
        put_packed(&mut body, 3, [1, 300].into_iter());
        put_bytes(&mut body, 22, b"net");
        put_number(&mut body, 3, 2);
        put_number(&mut body, 36, 5);
        put_fixed64(&mut body, 47, 6);
        put_fixed64(&mut body, 48, 7);
        put_packed(&mut body, 31, [8, 9].into_iter());
        put_packed(&mut body, 12, [10].into_iter());
        put_bytes(&mut body, 4, b"one");
        put_bytes(&mut body, 4, b"two");
        let event = TrackEvent::read(&body);
        let interned = [1, 300].map(InternedName::Interned);
        let rest = [InternedName::Text(b"net"), InternedName::Interned(2)];
        assert_eq!(event.categories, [interned, rest].concat());
        assert_eq!(
            (event.flows, event.terminating_flows),
            (vec![5, 6], vec![7])
        );
        assert_eq!(
            (event.extra_tracks, event.extra_values),
            (vec![8, 9], vec![10])
        );
        assert_eq!(event.annotations, [b"one", b"two"]);
        assert!(!EventFields::read(&[]).has_flows());
    }
}
