//! The tables and their columns.

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// Signed integers of 64 bits.
    I64,
    /// Floats.
    F64,
    /// True or false.
    Bool,
    /// Text.
    Text,
    /// Microseconds since 1970 in UTC, for people; the exact time stands beside it in a column `ts_ns`.
    Time,
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds; every column may be empty.
    pub kind: ColumnType,
}

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlatTable {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident $name:literal { $($column:ident $kind:ident),* $(,)? })*) => {
        /// A table by its place in [`TABLES`].
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Table { $($(#[$doc])* $table),* }

        /// Every table: rows of batches first, then what they refer to.
        pub const TABLES: &[FlatTable] = &[$(FlatTable {
            name: $name,
            columns: &[$(Column { name: stringify!($column), kind: ColumnType::$kind }),*],
        }),*];
    };
}

tables! {
    /// Spans.
    Spans "spans" {
        span_id I64, parent_id I64, depth I64, track_id I64, function_id I64, name Text, kind Text,
        ts_ns I64, ts Time, end_ns I64, duration_ns I64, status Text, entry Bool, exception_id I64,
        trace_id Text, context_span_id Text, context_parent_id Text, part I64, byte_offset I64, record I64,
    }
    /// Counters of spans.
    SpanCounters "span_counters" { span_id I64, value_type_id I64, value I64 }
    /// Samples, numbered in their order.
    Samples "samples" {
        sample_id I64, profile_id I64, stack_id I64, ts_ns I64, ts Time, track_id I64, span_id I64,
    }
    /// Values of samples, one a column of their profile.
    SampleValues "sample_values" { sample_id I64, value_type_id I64, value I64 }
    /// Events, numbered in their order.
    Events "events" {
        event_id I64, event_type_id I64, name Text, track_id I64, ts_ns I64, ts Time, end_ns I64,
        duration_ns I64, object_id I64, owner_id I64, stack_id I64,
    }
    /// Points of counter series.
    Counters "counters" { series_id I64, ts_ns I64, ts Time, value F64 }
    /// Attributes of everything: `owner` names the table of `owner_id`.
    Attributes "attributes" {
        owner Text, owner_id I64, position I64, key_id I64, key Text, type Text, value Text,
        at_ns I64, from_span_id I64,
    }
    /// Flows between spans.
    Links "links" { from_span_id I64, to_span_id I64, kind Text }
    /// Heap objects.
    Objects "objects" {
        object_id I64, generation I64, class_id I64, size I64, is_array Bool, ts_ns I64, ts Time,
        stack_id I64, track_id I64,
    }
    /// References between heap objects.
    Edges "edges" { dump I64, from_object_id I64, to_object_id I64 }
    /// Roots of the heap.
    Roots "roots" { dump I64, object_id I64, kind I64 }
    /// What reading remarked.
    Notes "notes" { part I64, byte_offset I64, level Text, kind Text, count I64, text Text }
    /// Nodes, processes, agents, traces.
    Resources "resources" {
        resource_id I64, parent_id I64, service Text, instance Text, host Text, namespace Text, pid I64,
        language Text, runtime Text, os Text, arch Text, version Text, env Text,
    }
    /// Threads, streams, lanes.
    Tracks "tracks" {
        track_id I64, kind Text, resource_id I64, parent_id I64, lane I64, name Text, os_id I64, id I64,
    }
    /// Classes.
    Classes "classes" { class_id I64, name Text, superclass_id I64, loader Text, file Text }
    /// Functions.
    Functions "functions" {
        function_id I64, name Text, system_name Text, class_id I64, package Text, library Text,
        file Text, line I64, signature Text, modifiers I64,
    }
    /// Mapped binaries.
    Mappings "mappings" {
        mapping_id I64, start_address Text, end_address Text, file_offset Text, file Text,
        build_id Text,
    }
    /// Functions at places.
    Frames "frames" {
        frame_id I64, function_id I64, line I64, column I64, address Text, mapping_id I64,
        inlined Bool, kind Text,
    }
    /// Frames and their callers.
    Stacks "stacks" { stack_id I64, parent_id I64, frame_id I64, truncated Bool }
    /// Value columns.
    ValueTypes "value_types" { value_type_id I64, name Text, unit Text, merge Text, scope Text }
    /// Profiles.
    Profiles "profiles" {
        profile_id I64, default_value_type_id I64, period_value_type_id I64, period I64, ts_ns I64,
        ts Time, duration_ns I64, drop_frames Text, keep_frames Text, doc_url Text,
    }
    /// Which columns a profile has, and its comments, by position.
    ProfileColumns "profile_columns" { profile_id I64, position I64, value_type_id I64, comment Text }
    /// Kinds of events.
    EventTypes "event_types" { event_type_id I64, name Text, label Text }
    /// Counter series.
    Series "series" { series_id I64, name Text, unit Text, track_id I64 }
    /// Exceptions.
    Exceptions "exceptions" { exception_id I64, class Text, message Text, stack_id I64, cause_id I64 }
    /// Names of attributes and what is known of them.
    AttributeKeys "attribute_keys" {
        key_id I64, name Text, unit Text, display_order I64, list Bool, indexed Bool, signature Text,
    }
    /// What the times count from, one row.
    Clock "clock" { origin Text, name Text }
}
