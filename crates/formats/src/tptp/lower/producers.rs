//! Nodes, processes, agents and traces: who produced the data.

use std::collections::HashMap;

use traceloom_model::{Attribute, Resource, ResourceId, Tables, Value};

use super::Lowering;
use crate::tptp::message::{Message, Slot, signed};
use crate::tptp::table::Kind;

#[derive(Debug, Default)]
pub(super) struct Producers {
    by_name: HashMap<(u16, String), ResourceId>,
    /// The innermost one so far: what threads belong to.
    pub current: Option<ResourceId>,
    known: usize,
}

impl Lowering<'_> {
    pub(super) fn producer(&mut self, message: &Message<'_>) {
        let id = message.schema.id;
        let (own, parent) = match id {
            1001 => ("nodeId", None),
            1002 => ("processId", Some((1001, "nodeIdRef"))),
            1003 => ("agentId", Some((1002, "processIdRef"))),
            _ => ("traceId", Some((1003, "agentIdRef"))),
        };
        let producers = &self.producers;
        let parent = parent.and_then(|(kind, attribute)| {
            let name = message.text(attribute).into_owned();
            producers
                .by_name
                .get(&(kind, name))
                .copied()
                .or(producers.current)
        });
        let tables = &mut self.tables;
        let text = |attribute: &str, tables: &mut Tables| {
            let text = message.text(attribute);
            (!text.is_empty()).then(|| tables.string(&text))
        };
        let mut resource = Resource {
            parent,
            ..Resource::default()
        };
        match id {
            1001 => resource.host = text("hostname", tables),
            1002 => {
                resource.service =
                    text("name", tables).or_else(|| text("application_executable", tables));
                resource.instance = text("processId", tables);
                resource.pid = Some(message.number("pid")).filter(|&pid| pid != 0);
            }
            _ => {}
        }
        resource.attributes = self.attributes(message, &["hostname", "pid"], 0);
        let resource = self.tables.resource(resource);
        let name = message.text(own).into_owned();
        if self.producers.known < self.limit_table {
            self.producers.known += 1;
            self.producers.by_name.insert((id, name), resource);
        }
        self.producers.current = Some(resource);
    }

    /// The fields that are set, as attributes; `without` are told in other ways.
    pub(super) fn attributes(
        &mut self,
        message: &Message<'_>,
        without: &[&str],
        offset: u64,
    ) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        for (field, slot) in message.fields().iter().zip(message.values) {
            if without.contains(&field.attribute) {
                continue;
            }
            let value = match (*slot, field.kind) {
                (Slot::Number(0), _) => continue,
                (Slot::Text([]), _) => continue,
                (Slot::Number(number), Kind::Signed) => Value::I64(signed(number)),
                (Slot::Number(ticks), Kind::Ticks)
                    if matches!(field.attribute, "time" | "basetime") =>
                {
                    Value::I64(self.ticks.time(ticks, offset))
                }
                (Slot::Number(ticks), Kind::Ticks) => Value::I64(self.ticks.amount(ticks, offset)),
                (Slot::Number(number), Kind::Byte) => Value::Bool(number != 0),
                (Slot::Number(number), _) => Value::U64(number),
                (Slot::Text(raw), _) => Value::Text(match message.texts.decode(raw) {
                    Ok(text) => self.tables.string(&text),
                    Err(_) => self.tables.bytes(raw),
                }),
            };
            attributes.push(Attribute::new(
                self.field_key(field.name, field.kind),
                value,
            ));
        }
        attributes
    }

    fn field_key(&mut self, name: &str, kind: Kind) -> traceloom_model::AttrKeyId {
        if kind != Kind::Ticks {
            return self.tables.attribute_named(name);
        }
        let name = self.tables.string(name);
        self.tables.attribute_key(traceloom_model::AttributeKey {
            unit: traceloom_model::Unit::Nanoseconds,
            ..traceloom_model::AttributeKey::named(name)
        })
    }
}
