//! Rows of a file's tables in the numbers of the bundle.

use traceloom_model::{
    AttrKeyId, AttributeKey, Class, ClassId, EventType, EventTypeId, Exception, ExceptionId, Frame,
    FrameId, Function, FunctionId, Profile, ProfileId, Recording, Resource, ResourceId, Series,
    SeriesId, Stack, StackId, StringId, Track, Unit, ValueType, ValueTypeId,
};

use super::{FileMerge, MergedIds, known};

impl FileMerge<'_> {
    pub(super) fn attribute_key(&mut self, row: Option<&AttributeKey>) -> AttrKeyId {
        let Some(&row) = row else {
            return self.tables.attribute_named("");
        };
        let row = AttributeKey {
            name: self.string(row.name),
            unit: self.unit(row.unit),
            signature: self.some(row.signature),
            ..row
        };
        self.tables.attribute_key(row)
    }

    pub(super) fn class(&mut self, row: Option<&Class>) -> ClassId {
        let row = match row {
            Some(row) => Class {
                name: self.string(row.name),
                superclass: row
                    .superclass
                    .and_then(|id| known(&self.ids.classes, id.index())),
                loader: self.some(row.loader),
                file: self.some(row.file),
            },
            None => Class {
                name: self.tables.string(""),
                superclass: None,
                loader: None,
                file: None,
            },
        };
        self.tables.class(row)
    }

    pub(super) fn function(&mut self, row: Option<&Function>) -> FunctionId {
        let row = match row {
            Some(row) => Function {
                name: self.string(row.name),
                system_name: self.some(row.system_name),
                class: row
                    .class
                    .and_then(|id| known(&self.ids.classes, id.index())),
                package: self.some(row.package),
                library: self.some(row.library),
                file: self.some(row.file),
                signature: self.some(row.signature),
                ..*row
            },
            None => Function::named(self.tables.string("")),
        };
        self.tables.function(row)
    }

    pub(super) fn frame(&mut self, row: Option<&Frame>) -> FrameId {
        let row = row.cloned().unwrap_or_default();
        let row = Frame {
            function: row
                .function
                .and_then(|id| known(&self.ids.functions, id.index())),
            mapping: row
                .mapping
                .and_then(|id| known(&self.ids.mappings, id.index())),
            ..row
        };
        self.tables.frame(row)
    }

    pub(super) fn stack(&mut self, row: &Stack) -> Option<StackId> {
        let frame = known(&self.ids.frames, row.frame.index())?;
        let parent = row
            .parent
            .and_then(|id| known(&self.ids.stacks, id.index()).flatten());
        Some(self.tables.stack(Stack {
            parent,
            frame,
            truncated: row.truncated || row.parent.is_some() && parent.is_none(),
        }))
    }

    pub(super) fn exception(&mut self, row: Option<&Exception>) -> ExceptionId {
        let row = Exception {
            class: row.and_then(|row| row.class).map(|id| self.string(id)),
            message: row.and_then(|row| row.message).map(|id| self.string(id)),
            stack: row.and_then(|row| self.stack_id(row.stack)),
            cause: row
                .and_then(|row| row.cause)
                .and_then(|id| known(&self.ids.exceptions, id.index())),
        };
        self.tables.exception(row)
    }

    pub(super) fn resource(&mut self, row: Option<&Resource>) -> ResourceId {
        let row = row.cloned().unwrap_or_default();
        let parent = row
            .parent
            .and_then(|id| known(&self.ids.resources, id.index()));
        let row = Resource {
            parent: Some(parent.unwrap_or(self.change.resource)),
            service: self.some(row.service),
            instance: self.some(row.instance),
            host: self.some(row.host),
            namespace: self.some(row.namespace),
            pid: row.pid,
            language: self.some(row.language),
            runtime: self.some(row.runtime),
            os: self.some(row.os),
            arch: self.some(row.arch),
            version: self.some(row.version),
            env: self.some(row.env),
            attributes: self.attributes(&row.attributes),
        };
        self.tables.resource(row)
    }

    pub(super) fn track(&mut self, row: Option<&Track>) -> Track {
        let row = row.cloned().unwrap_or_default();
        let resource = row
            .resource
            .and_then(|id| known(&self.ids.resources, id.index()));
        Track {
            resource: Some(resource.unwrap_or(self.change.resource)),
            parent: row
                .parent
                .and_then(|id| known(&self.ids.tracks, id.index())),
            name: self.some(row.name),
            ..row
        }
    }

    pub(super) fn value_type(&mut self, from: &Recording, row: Option<&ValueType>) -> ValueTypeId {
        let Some(&row) = row else {
            let name = self.tables.string("");
            return self.tables.value_type(ValueType::sum(name, Unit::Count));
        };
        let count = !matches!(row.unit, Unit::Nanoseconds | Unit::Bytes);
        let renamed = (self.change.rename)(&from.text(row.name), count);
        let renamed = renamed.map(|name| self.tables.string(&name));
        // A name is given once: the second column that Datakit would call the same keeps its own.
        let own = |(name, from): &(StringId, StringId)| Some(*name) == renamed && *from != row.name;
        let renamed = renamed.filter(|_| !self.ids.renamed.iter().any(own));
        let name = match renamed {
            Some(name) => {
                if !self.ids.renamed.contains(&(name, row.name)) {
                    self.ids.renamed.push((name, row.name));
                }
                name
            }
            None => self.string(row.name),
        };
        let unit = self.unit(row.unit);
        self.tables.value_type(ValueType { name, unit, ..row })
    }

    pub(super) fn profile(&mut self, row: Option<&Profile>) -> ProfileId {
        let row = row.cloned().unwrap_or_default();
        let value = |ids: &MergedIds, id: ValueTypeId| known(&ids.value_types, id.index());
        let mut row = Profile {
            value_types: row
                .value_types
                .iter()
                .filter_map(|&id| value(&self.ids, id))
                .collect(),
            default: row.default.and_then(|id| value(&self.ids, id)),
            period: row
                .period
                .and_then(|(id, period)| Some((value(&self.ids, id)?, period))),
            comments: row.comments.iter().map(|&id| self.string(id)).collect(),
            drop_frames: self.some(row.drop_frames),
            keep_frames: self.some(row.keep_frames),
            doc_url: self.some(row.doc_url),
            settings: self.attributes(&row.settings),
            ..row
        };
        (self.change.complete)(&mut row, self.tables);
        self.tables.profile(row)
    }

    pub(super) fn event_type(&mut self, row: Option<&EventType>) -> EventTypeId {
        let row = match row {
            Some(row) => EventType {
                name: self.string(row.name),
                label: self.some(row.label),
                fields: row
                    .fields
                    .iter()
                    .filter_map(|id| known(&self.ids.attribute_keys, id.index()))
                    .collect(),
            },
            None => EventType {
                name: self.tables.string(""),
                label: None,
                fields: Vec::new(),
            },
        };
        self.tables.event_type(row)
    }

    pub(super) fn series(&mut self, row: Option<&Series>) -> SeriesId {
        let row = match row {
            Some(row) => Series {
                name: self.string(row.name),
                unit: self.unit(row.unit),
                track: self.track_id(row.track),
            },
            None => Series {
                name: self.tables.string(""),
                unit: Unit::Count,
                track: None,
            },
        };
        self.tables.series(row)
    }
}
