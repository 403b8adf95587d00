//! Tables to rows.

use super::cell::{Cell, OptionalText, bits, id, number, some, some_id, text};
use super::flatten::{FlatRows, Flatten};
use super::schema::Table;
use crate::{Clock, Flow, FrameKind, Merge, Recording, Scope, TrackKind};

impl<R: FlatRows> Flatten<R> {
    /// Makes the rows of the tables, which are complete once everything has been pushed.
    pub fn complete(&mut self) -> Flow {
        let mut tables = std::mem::take(&mut self.tables);
        // Attributes of resources and profiles are rows too, and need names.
        let resources = std::mem::take(&mut tables.resources);
        let profiles = std::mem::take(&mut tables.profiles);
        self.tables = tables;
        for (at, row) in (0_i64..).zip(&resources) {
            if let Some(row) = row {
                self.attributes("resources", at, &row.attributes)?;
            }
        }
        for (at, row) in (0_i64..).zip(&profiles) {
            if let Some(row) = row {
                self.attributes("profiles", at, &row.settings)?;
            }
        }
        let mut tables = std::mem::take(&mut self.tables);
        tables.resources = resources;
        tables.profiles = profiles;
        self.define_all(&tables)?;
        self.to.batch()
    }

    fn define_all(&mut self, tables: &Recording) -> Flow {
        let words = OptionalText(tables);
        self.producers(tables, &words)?;
        self.code(tables, &words)?;
        self.kinds(tables, &words)?;
        let (origin, name) = match tables.clock {
            Clock::Unix => ("unix", None),
            Clock::Unknown(name) => ("unknown", words.some(name)),
        };
        self.row(Table::Clock, &[Cell::Text(origin), text(&name)])
    }

    fn producers(&mut self, tables: &Recording, words: &OptionalText<'_>) -> Flow {
        for (at, row) in (0_i64..).zip(&tables.resources) {
            let Some(row) = row else { continue };
            let [service, instance, host, namespace] =
                [row.service, row.instance, row.host, row.namespace].map(|id| words.some(id));
            let [language, runtime, os] =
                [row.language, row.runtime, row.os].map(|id| words.some(id));
            let [arch, version, env] = [row.arch, row.version, row.env].map(|id| words.some(id));
            self.row(
                Table::Resources,
                &[
                    Cell::I64(at),
                    some_id!(row.parent),
                    text(&service),
                    text(&instance),
                    text(&host),
                    text(&namespace),
                    some(row.pid, bits),
                    text(&language),
                    text(&runtime),
                    text(&os),
                    text(&arch),
                    text(&version),
                    text(&env),
                ],
            )?;
        }
        for (at, row) in (0_i64..).zip(&tables.tracks) {
            let Some(row) = row else { continue };
            let kind = match row.kind {
                TrackKind::Thread => "thread",
                TrackKind::Stream => "stream",
                TrackKind::Async => "async",
                TrackKind::Lane => "lane",
            };
            let name = words.some(row.name);
            self.row(
                Table::Tracks,
                &[
                    Cell::I64(at),
                    Cell::Text(kind),
                    some_id!(row.resource),
                    some_id!(row.parent),
                    number(row.lane),
                    text(&name),
                    some(row.os_id, bits),
                    some(row.id, bits),
                ],
            )?;
        }
        Flow::Continue(())
    }

    fn code(&mut self, tables: &Recording, words: &OptionalText<'_>) -> Flow {
        for (at, row) in (0_i64..).zip(&tables.classes) {
            let Some(row) = row else { continue };
            let [name, loader, file] =
                [Some(row.name), row.loader, row.file].map(|id| words.some(id));
            let superclass = some_id!(row.superclass);
            let cells = [
                Cell::I64(at),
                text(&name),
                superclass,
                text(&loader),
                text(&file),
            ];
            self.row(Table::Classes, &cells)?;
        }
        for (at, row) in (0_i64..).zip(&tables.functions) {
            let Some(row) = row else { continue };
            let [name, system_name, package] =
                [Some(row.name), row.system_name, row.package].map(|id| words.some(id));
            let [library, file, signature] =
                [row.library, row.file, row.signature].map(|id| words.some(id));
            self.row(
                Table::Functions,
                &[
                    Cell::I64(at),
                    text(&name),
                    text(&system_name),
                    some_id!(row.class),
                    text(&package),
                    text(&library),
                    text(&file),
                    number(row.line),
                    text(&signature),
                    number(row.modifiers),
                ],
            )?;
        }
        for (at, row) in (0_i64..).zip(&tables.mappings) {
            let Some(row) = row else { continue };
            let [start, limit, offset] =
                [row.start, row.limit, row.offset].map(|address| format!("{address:#x}"));
            let [file, build_id] = [row.file, row.build_id].map(|id| words.some(id));
            self.row(
                Table::Mappings,
                &[
                    Cell::I64(at),
                    Cell::Text(&start),
                    Cell::Text(&limit),
                    Cell::Text(&offset),
                    text(&file),
                    text(&build_id),
                ],
            )?;
        }
        for (at, row) in (0_i64..).zip(&tables.frames) {
            let Some(row) = row else { continue };
            let address = row.address.map(|address| format!("{address:#x}"));
            self.row(
                Table::Frames,
                &[
                    Cell::I64(at),
                    some_id!(row.function),
                    number(row.line),
                    number(row.column),
                    address.as_deref().map_or(Cell::Null, Cell::Text),
                    some_id!(row.mapping),
                    Cell::Bool(row.inlined),
                    Cell::Text(kind_name(row.kind)),
                ],
            )?;
        }
        for (at, row) in (0_i64..).zip(&tables.stacks) {
            let Some(row) = row else { continue };
            let (parent, frame) = (some_id!(row.parent), id!(row.frame));
            let cells = [Cell::I64(at), parent, frame, Cell::Bool(row.truncated)];
            self.row(Table::Stacks, &cells)?;
        }
        Flow::Continue(())
    }

    fn kinds(&mut self, tables: &Recording, words: &OptionalText<'_>) -> Flow {
        for (at, row) in (0_i64..).zip(&tables.value_types) {
            let Some(row) = row else { continue };
            let merge = match row.merge {
                Merge::Sum => "sum",
                Merge::Min => "min",
                Merge::Max => "max",
            };
            let scope = match row.scope {
                Scope::Own => "own",
                Scope::Inclusive => "inclusive",
            };
            let (name, unit) = (tables.text(row.name), words.unit(row.unit));
            let (merge, scope) = (Cell::Text(merge), Cell::Text(scope));
            let cells = [
                Cell::I64(at),
                Cell::Text(&name),
                Cell::Text(&unit),
                merge,
                scope,
            ];
            self.row(Table::ValueTypes, &cells)?;
        }
        for (at, row) in (0_i64..).zip(&tables.profiles) {
            let Some(row) = row else { continue };
            let [drop, keep, url] =
                [row.drop_frames, row.keep_frames, row.doc_url].map(|id| words.some(id));
            let time = some(row.time, |time| match tables.clock {
                Clock::Unix => Cell::Time(time.div_euclid(1_000)),
                Clock::Unknown(_) => Cell::Null,
            });
            self.row(
                Table::Profiles,
                &[
                    Cell::I64(at),
                    some_id!(row.default),
                    some_id!(row.period.map(|(id, _)| id)),
                    some(row.period, |(_, period)| Cell::I64(period)),
                    some(row.time, Cell::I64),
                    time,
                    some(row.duration, Cell::I64),
                    text(&drop),
                    text(&keep),
                    text(&url),
                ],
            )?;
            for (position, &id) in (0_i64..).zip(&row.value_types) {
                let cells = [Cell::I64(at), Cell::I64(position), id!(id), Cell::Null];
                self.row(Table::ProfileColumns, &cells)?;
            }
            for (position, &id) in (0_i64..).zip(&row.comments) {
                let comment = tables.text(id);
                let place = [Cell::I64(at), Cell::I64(position)];
                let cells = [place[0], place[1], Cell::Null, Cell::Text(&comment)];
                self.row(Table::ProfileColumns, &cells)?;
            }
        }
        for (at, row) in (0_i64..).zip(&tables.event_types) {
            let Some(row) = row else { continue };
            let (name, label) = (tables.text(row.name), words.some(row.label));
            self.row(
                Table::EventTypes,
                &[Cell::I64(at), Cell::Text(&name), text(&label)],
            )?;
        }
        for (at, row) in (0_i64..).zip(&tables.series) {
            let Some(row) = row else { continue };
            let (name, unit) = (tables.text(row.name), words.unit(row.unit));
            let cells = [Cell::Text(&name), Cell::Text(&unit), some_id!(row.track)];
            self.row(
                Table::Series,
                &[Cell::I64(at), cells[0], cells[1], cells[2]],
            )?;
        }
        for (at, row) in (0_i64..).zip(&tables.exceptions) {
            let Some(row) = row else { continue };
            let [class, message] = [row.class, row.message].map(|id| words.some(id));
            let (stack, cause) = (some_id!(row.stack), some_id!(row.cause));
            let cells = [Cell::I64(at), text(&class), text(&message), stack, cause];
            self.row(Table::Exceptions, &cells)?;
        }
        for (at, row) in (0_i64..).zip(&tables.attribute_keys) {
            let Some(row) = row else { continue };
            let (name, unit) = (tables.text(row.name), words.unit(row.unit));
            let signature = words.some(row.signature);
            self.row(
                Table::AttributeKeys,
                &[
                    Cell::I64(at),
                    Cell::Text(&name),
                    Cell::Text(&unit),
                    number(row.order),
                    Cell::Bool(row.list),
                    Cell::Bool(row.index),
                    text(&signature),
                ],
            )?;
        }
        Flow::Continue(())
    }
}

fn kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Unknown => "unknown",
        FrameKind::Interpreted => "interpreted",
        FrameKind::JitTier1 => "jit_tier1",
        FrameKind::Jit => "jit",
        FrameKind::Inlined => "inlined",
        FrameKind::Native => "native",
        FrameKind::Cpp => "cpp",
        FrameKind::Kernel => "kernel",
    }
}
