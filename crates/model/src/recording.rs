//! A recording in memory: every table and batch, for views that need all of it.

use crate::{
    AttrKeyId, AttributeKey, Class, ClassId, Clock, CounterBatch, Definitions, EdgeBatch,
    EventBatch, EventType, EventTypeId, Exception, ExceptionId, Flow, Frame, FrameId, Function,
    FunctionId, Link, LinkBatch, Mapping, MappingId, Note, Notes, ObjectBatch, ObjectRow, Order,
    Profile, ProfileId, Resource, ResourceId, RootBatch, SampleBatch, Series, SeriesId, Sink,
    SpanBatch, Stack, StackId, StringId, Strings, Text, Track, TrackId, ValueType, ValueTypeId,
};

/// A sink that keeps everything.
///
/// A table row that was never defined reads as `None`; views print `#id` for it.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct Recording {
    pub order: Order,
    pub clock: Clock,
    pub strings: Strings,
    pub resources: Vec<Option<Resource>>,
    pub tracks: Vec<Option<Track>>,
    pub classes: Vec<Option<Class>>,
    pub functions: Vec<Option<Function>>,
    pub mappings: Vec<Option<Mapping>>,
    pub frames: Vec<Option<Frame>>,
    pub stacks: Vec<Option<Stack>>,
    pub value_types: Vec<Option<ValueType>>,
    pub profiles: Vec<Option<Profile>>,
    pub event_types: Vec<Option<EventType>>,
    pub series: Vec<Option<Series>>,
    pub exceptions: Vec<Option<Exception>>,
    pub attribute_keys: Vec<Option<AttributeKey>>,
    pub spans: SpanBatch,
    pub samples: Vec<SampleBatch>,
    pub events: EventBatch,
    pub counters: CounterBatch,
    pub links: Vec<Link>,
    pub objects: Vec<ObjectRow>,
    pub edges: EdgeBatch,
    pub roots: RootBatch,
    pub notes: Notes,
}

#[inline]
fn place<T>(table: &mut Vec<Option<T>>, index: usize, row: T) {
    // Most rows come one after the other.
    if table.len() == index {
        return table.push(Some(row));
    }
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    if let Some(slot) = table.get_mut(index) {
        *slot = Some(row);
    }
}

/// Returns the rows of a table that are defined, with their ids.
fn defined<'r, I, R: Clone + 'r>(
    table: impl IntoIterator<Item = &'r Option<R>>,
    id: fn(u32) -> I,
) -> Vec<(I, R)> {
    let rows = (0..).zip(table);
    rows.filter_map(|(at, row)| Some((id(at), row.clone()?)))
        .collect()
}

macro_rules! lookups {
    ($($name:ident $table:ident $id:ident $row:ident)*) => {$(
        /// Returns the row of this id, none when it was never defined.
        #[must_use]
        pub fn $name(&self, id: $id) -> Option<&$row> {
            self.$table.get(id.index())?.as_ref()
        }
    )*};
}

impl Recording {
    lookups! {
        resource resources ResourceId Resource
        track tracks TrackId Track
        class classes ClassId Class
        function functions FunctionId Function
        mapping mappings MappingId Mapping
        frame frames FrameId Frame
        stack stacks StackId Stack
        value_type value_types ValueTypeId ValueType
        profile profiles ProfileId Profile
        event_type event_types EventTypeId EventType
        series_row series SeriesId Series
        exception exceptions ExceptionId Exception
        attribute_key attribute_keys AttrKeyId AttributeKey
    }

    /// Returns which column of a profile to show: of the names `wanted` the first that it has, where nobody
    /// wants one its default, else its last as pprof does.
    #[must_use]
    pub fn shown_column(&self, profile: &Profile, wanted: &[String]) -> Option<usize> {
        let types = &profile.value_types;
        let named = |wanted: &String| {
            types.iter().position(|&id| {
                let row = self.value_type(id);
                row.is_some_and(|row| self.text(row.name) == *wanted)
            })
        };
        if !wanted.is_empty() {
            return wanted.iter().find_map(named);
        }
        let default = profile.default;
        let default = default.and_then(|id| types.iter().position(|&own| own == id));
        default.or(types.len().checked_sub(1))
    }

    /// Returns `true` if the column to show of a profile is CPU time, which comes before all others where a recording
    /// has several profiles.
    #[must_use]
    pub fn shows_cpu(&self, profile: &Profile) -> bool {
        let shown = self.shown_column(profile, &[]);
        let column = shown.and_then(|at| self.value_type(*profile.value_types.get(at)?));
        column.is_some_and(|row| {
            matches!(
                self.text(row.name).as_ref(),
                "cpu" | "cpu-time" | "cpu_time"
            )
        })
    }

    /// Returns the string of this id, none when it was never defined.
    #[must_use]
    pub fn string(&self, id: StringId) -> Option<&Text> {
        self.strings.get(id.index())
    }

    /// Drops strings, in a sink that keeps tables and none of the rows that tell of these.
    pub fn drop_strings(&mut self, strings: &[StringId]) {
        strings
            .iter()
            .for_each(|id| self.strings.drop_row(id.index()));
    }

    /// Returns every row that is defined, for a sink that knows none.
    #[must_use]
    pub fn definitions(&self) -> Definitions {
        Definitions {
            strings: defined(self.strings.iter(), StringId::new),
            resources: defined(&self.resources, ResourceId::new),
            tracks: defined(&self.tracks, TrackId::new),
            classes: defined(&self.classes, ClassId::new),
            functions: defined(&self.functions, FunctionId::new),
            mappings: defined(&self.mappings, MappingId::new),
            frames: defined(&self.frames, FrameId::new),
            stacks: defined(&self.stacks, StackId::new),
            value_types: defined(&self.value_types, ValueTypeId::new),
            profiles: defined(&self.profiles, ProfileId::new),
            event_types: defined(&self.event_types, EventTypeId::new),
            series: defined(&self.series, SeriesId::new),
            exceptions: defined(&self.exceptions, ExceptionId::new),
            attribute_keys: defined(&self.attribute_keys, AttrKeyId::new),
        }
    }

    /// Returns a string for people: lossy, and `#id` when it was never defined.
    #[inline]
    #[must_use]
    pub fn text(&self, id: StringId) -> std::borrow::Cow<'_, str> {
        match self.string(id) {
            Some(text) => text.to_lossy(),
            None => format!("#{}", id.raw()).into(),
        }
    }

    /// Returns a function's name for people, `#id` when it was never defined.
    #[must_use]
    pub fn function_name(&self, id: FunctionId) -> std::borrow::Cow<'_, str> {
        match self.function(id) {
            Some(function) => self.text(function.name),
            None => format!("#{}", id.raw()).into(),
        }
    }

    /// Iterates over the names of all functions, in the order of their ids.
    pub fn function_names(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let functions = self.functions.iter().flatten();
        functions.map(|function| self.text(function.name))
    }
}

impl Sink for Recording {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.order = order;
        self.clock = clock;
    }

    fn define(&mut self, new: Definitions) -> Flow {
        new.strings
            .into_iter()
            .for_each(|(id, row)| self.strings.put(id.index(), row));
        new.resources
            .into_iter()
            .for_each(|(id, row)| place(&mut self.resources, id.index(), row));
        new.tracks
            .into_iter()
            .for_each(|(id, row)| place(&mut self.tracks, id.index(), row));
        new.classes
            .into_iter()
            .for_each(|(id, row)| place(&mut self.classes, id.index(), row));
        // Few kinds of rows come by the ten thousand: growing step by step copies them twice.
        self.functions.reserve(new.functions.len());
        new.functions
            .into_iter()
            .for_each(|(id, row)| place(&mut self.functions, id.index(), row));
        new.mappings
            .into_iter()
            .for_each(|(id, row)| place(&mut self.mappings, id.index(), row));
        new.frames
            .into_iter()
            .for_each(|(id, row)| place(&mut self.frames, id.index(), row));
        new.stacks
            .into_iter()
            .for_each(|(id, row)| place(&mut self.stacks, id.index(), row));
        for (id, row) in new.value_types {
            place(&mut self.value_types, id.index(), row);
        }
        new.profiles
            .into_iter()
            .for_each(|(id, row)| place(&mut self.profiles, id.index(), row));
        for (id, row) in new.event_types {
            place(&mut self.event_types, id.index(), row);
        }
        new.series
            .into_iter()
            .for_each(|(id, row)| place(&mut self.series, id.index(), row));
        for (id, row) in new.exceptions {
            place(&mut self.exceptions, id.index(), row);
        }
        for (id, row) in new.attribute_keys {
            place(&mut self.attribute_keys, id.index(), row);
        }
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.spans.append(batch);
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.samples.push(batch);
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.events.append(batch);
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.counters.series.extend(batch.series);
        self.counters.time.extend(batch.time);
        self.counters.value.extend(batch.value);
        Flow::Continue(())
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        self.links.extend(batch.links);
        Flow::Continue(())
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        self.objects.extend(batch.rows);
        Flow::Continue(())
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        self.edges.dump.extend(batch.dump);
        self.edges.from.extend(batch.from);
        self.edges.to.extend(batch.to);
        Flow::Continue(())
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        self.roots.dump.extend(batch.dump);
        self.roots.object.extend(batch.object);
        self.roots.kind.extend(batch.kind);
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push_placed(note);
        Flow::Continue(())
    }
}
