//! Packets and track events, decoded into borrowed fields (SPEC.md §1).

use crate::protobuf::{RawValue, fields, packed_fixed, packed_varints};

/// The fields of a `TracePacket` that lowering uses; payloads are bodies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'a> {
    pub(super) timestamp: Option<u64>,
    pub(super) clock: Option<u32>,
    pub(super) sequence: u32,
    /// What the sequence interned before is void.
    pub(super) cleared: bool,
    /// Packets before this one are missing.
    pub(super) dropped: bool,
    pub(super) interned: Option<&'a [u8]>,
    pub(super) defaults: Option<&'a [u8]>,
    pub(super) event: Option<&'a [u8]>,
    pub(super) descriptor: Option<&'a [u8]>,
    pub(super) snapshot: Option<&'a [u8]>,
    /// Thread descriptors of their own, as the first writers of track events had them.
    pub(super) thread: Option<&'a [u8]>,
    pub(super) compressed: bool,
    /// The first payload that this reader does not know.
    pub(super) other: Option<u32>,
}

pub(super) fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl<'a> Packet<'a> {
    pub(super) fn read(body: &'a [u8]) -> Self {
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
pub(super) enum InternedName<'a> {
    #[default]
    None,
    Interned(u64),
    Text(&'a [u8]),
}

/// What a track event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum TrackEventType {
    #[default]
    Unspecified,
    Begin,
    End,
    Instant,
    Counter,
    Other,
}

/// The fields of a `TrackEvent`; the lists serve event after event.
#[derive(Debug, Default)]
pub(super) struct TrackEvent<'a> {
    pub(super) r#type: TrackEventType,
    pub(super) track: Option<u64>,
    pub(super) name: InternedName<'a>,
    pub(super) categories: Vec<InternedName<'a>>,
    pub(super) integer: Option<i64>,
    pub(super) double: Option<f64>,
    pub(super) extra_tracks: Vec<u64>,
    pub(super) extra_values: Vec<u64>,
    pub(super) extra_double_tracks: Vec<u64>,
    pub(super) extra_doubles: Vec<u64>,
    pub(super) flows: Vec<u64>,
    pub(super) terminating_flows: Vec<u64>,
    pub(super) annotations: Vec<&'a [u8]>,
    pub(super) legacy: Option<&'a [u8]>,
    pub(super) log: Option<&'a [u8]>,
    pub(super) source: Option<&'a [u8]>,
    pub(super) source_iid: Option<u64>,
    pub(super) stack: Option<&'a [u8]>,
    pub(super) stack_iid: Option<u64>,
    pub(super) correlation: Option<RawValue<'a>>,
    pub(super) correlation_iid: Option<u64>,
    pub(super) delta_us: Option<i64>,
    pub(super) absolute_us: Option<i64>,
}

impl<'a> TrackEvent<'a> {
    pub(super) fn read(body: &'a [u8]) -> Self {
        let mut event = Self::default();
        let mut iids = Vec::new();
        for (number, value) in fields(body) {
            match number {
                1 => event.delta_us = Some(value.number().cast_signed()),
                16 => event.absolute_us = Some(value.number().cast_signed()),
                3 => {
                    iids.clear();
                    packed_varints(value, &mut iids);
                    event
                        .categories
                        .extend(iids.iter().copied().map(InternedName::Interned));
                }
                22 => event.categories.push(InternedName::Text(value.bytes())),
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
                31 => packed_varints(value, &mut event.extra_tracks),
                12 => packed_varints(value, &mut event.extra_values),
                45 => packed_varints(value, &mut event.extra_double_tracks),
                46 => packed_fixed(value, &mut event.extra_doubles),
                36 => packed_varints(value, &mut event.flows),
                47 => packed_fixed(value, &mut event.flows),
                42 => packed_varints(value, &mut event.terminating_flows),
                48 => packed_fixed(value, &mut event.terminating_flows),
                4 => event.annotations.push(value.bytes()),
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
}

/// An event in the words of Chrome's JSON format.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Legacy<'a> {
    pub(super) phase: u8,
    pub(super) duration_us: i64,
    /// Which of the three kinds of id, and the id.
    pub(super) id: Option<(u32, u64)>,
    pub(super) scope: &'a [u8],
    pub(super) name_iid: Option<u64>,
}

impl<'a> Legacy<'a> {
    pub(super) fn read(body: &'a [u8]) -> Self {
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
