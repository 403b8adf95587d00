//! What an event says of its slice: names, places, categories, annotations, stacks.

use traceloom_model::{Function, FunctionId, Level, StackId, StringId, Timestamp, Value};

use super::interned::{
    CATEGORIES, CORRELATIONS, EVENT_NAMES, LOG_BODIES, correlation, inline_stack, place,
};
use super::lower::Lowering;
use super::packet::{EventFields, InternedName, Packet};
use crate::protobuf::fields;
use crate::spans::slices::{Annotated, OpenSlice, SliceArgs};

impl Lowering<'_> {
    pub(super) fn open(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        legacy: Option<u64>,
        time: Timestamp,
        until: Option<Timestamp>,
        offset: u64,
    ) -> OpenSlice {
        let has_name = event.name != InternedName::None || legacy.is_some();
        let name = self.name(packet, event, legacy);
        if has_name && name.is_none() {
            self.tally.add(Level::Warn, "unknown_name", offset, || {
                "a name was not interned on its sequence".to_owned()
            });
        }
        let function = name.map(|name| self.function(packet, event, name));
        OpenSlice {
            name,
            function,
            kind: match self.wanted.details {
                true => self.kind(packet, event),
                false => None,
            },
            start: time,
            args: self.args(packet, event),
            until,
        }
    }

    pub(super) fn name(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        legacy: Option<u64>,
    ) -> Option<StringId> {
        let interned = self.interned.get(&packet.sequence)?;
        let name = match (event.name, legacy) {
            (InternedName::None, Some(iid)) => InternedName::Interned(iid),
            (name, _) => name,
        };
        interned.text(EVENT_NAMES, name, self.tables)
    }

    fn function(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        name: StringId,
    ) -> FunctionId {
        let interned = self.interned.get(&packet.sequence);
        let place = match (event.source, event.source_iid) {
            (Some(body), _) => Some(place(body, self.tables)),
            (None, Some(iid)) => interned.and_then(|interned| interned.place(iid)),
            (None, None) => None,
        };
        let place = place.unwrap_or_default();
        self.tables.function(Function {
            file: place.file,
            line: place.line,
            ..Function::named(name)
        })
    }

    /// The categories of an event as one word.
    pub(super) fn kind(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
    ) -> Option<StringId> {
        let interned = self.interned.get(&packet.sequence)?;
        let tables = &mut *self.tables;
        let mut names = event
            .categories()
            .filter_map(|category| interned.text(CATEGORIES, category, tables));
        let first = names.next()?;
        let Some(second) = names.next() else {
            return Some(first);
        };
        let names: Vec<StringId> = [first, second].into_iter().chain(names).collect();
        if let Some(&known) = self.kinds.get(&names) {
            return Some(known);
        }
        let texts: Vec<&[u8]> = names
            .iter()
            .map(|&name| self.tables.string_bytes(name))
            .collect();
        let joined = texts.join(&b',');
        let joined = self.tables.bytes(&joined);
        self.kinds.insert(names, joined);
        Some(joined)
    }

    /// What annotations and the rest say of a slice.
    pub(super) fn args(&mut self, packet: &Packet<'_>, event: &EventFields<'_>) -> SliceArgs {
        match self.wanted.details || event.has_annotations() {
            true => self.annotated(packet, event).into(),
            false => SliceArgs::default(),
        }
    }

    pub(super) fn annotated(&mut self, packet: &Packet<'_>, event: &EventFields<'_>) -> Annotated {
        let mut annotated = Annotated::default();
        let Some(interned) = self.interned.get(&packet.sequence) else {
            return annotated;
        };
        let details = self.wanted.details;
        for body in event.annotations() {
            self.keys
                .take(body, details, interned, self.tables, &mut annotated);
        }
        if !details {
            return annotated;
        }
        if let Some(raw) = event.correlation {
            let value = correlation(raw, self.tables);
            let attribute = self.keys.named("correlation_id", value, self.tables);
            annotated.attributes.push(attribute);
        }
        if let Some(iid) = event.correlation_iid
            && let Some(text) =
                interned.text(CORRELATIONS, InternedName::Interned(iid), self.tables)
        {
            let value = Value::Text(text);
            let attribute = self.keys.named("correlation_id", value, self.tables);
            annotated.attributes.push(attribute);
        }
        if let Some(log) = event.log {
            let iid = fields(log).find(|&(number, _)| number == 2);
            let text = iid.and_then(|(_, iid)| {
                interned.text(
                    LOG_BODIES,
                    InternedName::Interned(iid.number()),
                    self.tables,
                )
            });
            if let Some(text) = text {
                let attribute = self.keys.named("message", Value::Text(text), self.tables);
                annotated.attributes.push(attribute);
            }
        }
        annotated
    }

    pub(super) fn stack(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
    ) -> Option<StackId> {
        match (event.stack, event.stack_iid) {
            (Some(body), _) => inline_stack(body, self.tables),
            (None, Some(iid)) => self.interned.get(&packet.sequence)?.callstack(iid),
            (None, None) => None,
        }
    }
}
