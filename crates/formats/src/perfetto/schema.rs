//! The messages of a Perfetto trace that this reader knows, as tables (SPEC.md §1).
//!
//! A packet can carry any of some hundred payloads; the ones here are those that describe tracks, clocks
//! and what happens on tracks. Others are kept as bytes.

use crate::protobuf::{Field, Kind, Layout, Schema, Siblings, Token, Value};

/// The message `Trace`.
pub(super) static TRACE: [Field; 1] = [Field::many(1, "packet", Kind::Message(&PACKET))];

pub(super) static LAYOUT: Layout = Layout {
    schema: SCHEMA,
    kind,
};

pub(super) const SCHEMA: Schema = Schema {
    fields: &TRACE,
    closed: false,
};

/// A packet is called after what it carries.
fn kind(tokens: &[Token]) -> Option<&'static str> {
    let (packet, content) = tokens.split_first()?;
    packet.field.filter(|field| field.name == "packet")?;
    let payload = Siblings(content).find_map(|(token, _)| {
        let field = token.field?;
        let carried = matches!(token.value, Value::Message(_) | Value::Bytes(..));
        let beside = matches!(field.name, "interned_data" | "trace_packet_defaults");
        (carried && !beside).then_some(field.name)
    });
    Some(payload.unwrap_or("packet"))
}

static PACKET: [Field; 18] = [
    Field::one(8, "timestamp", Kind::Unsigned),
    Field::one(58, "timestamp_clock_id", Kind::Unsigned),
    Field::one(10, "trusted_packet_sequence_id", Kind::Unsigned),
    Field::one(13, "sequence_flags", Kind::Unsigned),
    Field::one(41, "incremental_state_cleared", Kind::Flag),
    Field::one(42, "previous_packet_dropped", Kind::Unsigned),
    Field::one(87, "first_packet_on_sequence", Kind::Flag),
    Field::one(79, "trusted_pid", Kind::Signed),
    Field::one(98, "machine_id", Kind::Unsigned),
    Field::one(12, "interned_data", Kind::Message(&INTERNED)),
    Field::one(59, "trace_packet_defaults", Kind::Message(&DEFAULTS)),
    Field::one(11, "track_event", Kind::Message(&TRACK_EVENT)),
    Field::one(60, "track_descriptor", Kind::Message(&TRACK_DESCRIPTOR)),
    Field::one(6, "clock_snapshot", Kind::Message(&CLOCK_SNAPSHOT)),
    Field::one(43, "process_descriptor", Kind::Message(&PROCESS)),
    Field::one(44, "thread_descriptor", Kind::Message(&THREAD)),
    Field::one(50, "compressed_packets", Kind::Bytes),
    Field::one(36, "synchronization_marker", Kind::Bytes),
];

static DEFAULTS: [Field; 2] = [
    Field::one(58, "timestamp_clock_id", Kind::Unsigned),
    Field::one(11, "track_event_defaults", Kind::Message(&EVENT_DEFAULTS)),
];

static EVENT_DEFAULTS: [Field; 3] = [
    Field::one(11, "track_uuid", Kind::Unsigned),
    Field::many(31, "extra_counter_track_uuids", Kind::Unsigned),
    Field::many(45, "extra_double_counter_track_uuids", Kind::Unsigned),
];

static TRACK_EVENT: [Field; 33] = [
    Field::one(1, "timestamp_delta_us", Kind::Signed),
    Field::one(16, "timestamp_absolute_us", Kind::Signed),
    Field::many(3, "category_iids", Kind::Id("event_category")),
    Field::many(22, "categories", Kind::Text),
    Field::one(10, "name_iid", Kind::Id("event_name")),
    Field::one(23, "name", Kind::Text),
    Field::one(9, "type", Kind::Unsigned),
    Field::one(11, "track_uuid", Kind::Unsigned),
    Field::one(30, "counter_value", Kind::Signed),
    Field::one(44, "double_counter_value", Kind::Double),
    Field::many(31, "extra_counter_track_uuids", Kind::Unsigned),
    Field::many(12, "extra_counter_values", Kind::Signed),
    Field::many(45, "extra_double_counter_track_uuids", Kind::Unsigned),
    Field::many(46, "extra_double_counter_values", Kind::Double),
    Field::many(36, "flow_ids_old", Kind::Unsigned),
    Field::many(47, "flow_ids", Kind::Fixed64),
    Field::many(42, "terminating_flow_ids_old", Kind::Unsigned),
    Field::many(48, "terminating_flow_ids", Kind::Fixed64),
    Field::one(52, "correlation_id", Kind::Unsigned),
    Field::one(53, "correlation_id_str", Kind::Text),
    Field::one(54, "correlation_id_str_iid", Kind::Id("correlation_id_str")),
    Field::one(55, "callstack", Kind::Message(&INLINE_STACK)),
    Field::one(56, "callstack_iid", Kind::Id("callstack")),
    Field::one(57, "callstack_weight", Kind::Double),
    Field::many(4, "debug_annotations", Kind::Message(&ANNOTATION)),
    Field::one(6, "legacy_event", Kind::Message(&LEGACY)),
    Field::one(21, "log_message", Kind::Message(&LOG_MESSAGE)),
    Field::one(33, "source_location", Kind::Message(&SOURCE_LOCATION)),
    Field::one(34, "source_location_iid", Kind::Id("source_location")),
    Field::one(2, "thread_time_delta_us", Kind::Signed),
    Field::one(17, "thread_time_absolute_us", Kind::Signed),
    Field::one(8, "thread_instruction_count_delta", Kind::Signed),
    Field::one(20, "thread_instruction_count_absolute", Kind::Signed),
];

static INLINE_STACK: [Field; 1] = [Field::many(1, "frames", Kind::Message(&INLINE_FRAME))];

static INLINE_FRAME: [Field; 3] = [
    Field::one(1, "function_name", Kind::Text),
    Field::one(2, "source_file", Kind::Text),
    Field::one(3, "line_number", Kind::Unsigned),
];

static LOG_MESSAGE: [Field; 3] = [
    Field::one(1, "source_location_iid", Kind::Id("source_location")),
    Field::one(2, "body_iid", Kind::Id("log_message_body")),
    Field::one(3, "prio", Kind::Unsigned),
];

static LEGACY: [Field; 17] = [
    Field::one(1, "name_iid", Kind::Id("event_name")),
    Field::one(2, "phase", Kind::Signed),
    Field::one(3, "duration_us", Kind::Signed),
    Field::one(4, "thread_duration_us", Kind::Signed),
    Field::one(6, "unscoped_id", Kind::Unsigned),
    Field::one(10, "local_id", Kind::Unsigned),
    Field::one(11, "global_id", Kind::Unsigned),
    Field::one(7, "id_scope", Kind::Text),
    Field::one(9, "use_async_tts", Kind::Flag),
    Field::one(8, "bind_id", Kind::Unsigned),
    Field::one(12, "bind_to_enclosing", Kind::Flag),
    Field::one(13, "flow_direction", Kind::Unsigned),
    Field::one(14, "instant_event_scope", Kind::Unsigned),
    Field::one(15, "thread_instruction_delta", Kind::Signed),
    Field::one(18, "pid_override", Kind::Signed),
    Field::one(19, "tid_override", Kind::Signed),
    Field::one(5, "thread_instruction_count", Kind::Signed),
];

static ANNOTATION: [Field; 16] = [
    Field::one(1, "name_iid", Kind::Id("debug_annotation_name")),
    Field::one(10, "name", Kind::Text),
    Field::one(2, "bool_value", Kind::Flag),
    Field::one(3, "uint_value", Kind::Unsigned),
    Field::one(4, "int_value", Kind::Signed),
    Field::one(5, "double_value", Kind::Double),
    Field::one(7, "pointer_value", Kind::Unsigned),
    Field::one(8, "nested_value", Kind::Message(&NESTED)),
    Field::one(9, "legacy_json_value", Kind::Text),
    Field::one(6, "string_value", Kind::Text),
    Field::one(
        17,
        "string_value_iid",
        Kind::Id("debug_annotation_string_value"),
    ),
    Field::one(16, "proto_type_name", Kind::Text),
    Field::one(
        13,
        "proto_type_name_iid",
        Kind::Id("debug_annotation_value_type_name"),
    ),
    Field::one(14, "proto_value", Kind::Bytes),
    Field::many(11, "dict_entries", Kind::Message(&ANNOTATION)),
    Field::many(12, "array_values", Kind::Message(&ANNOTATION)),
];

static NESTED: [Field; 8] = [
    Field::one(1, "nested_type", Kind::Unsigned),
    Field::many(2, "dict_keys", Kind::Text),
    Field::many(3, "dict_values", Kind::Message(&NESTED)),
    Field::many(4, "array_values", Kind::Message(&NESTED)),
    Field::one(5, "int_value", Kind::Signed),
    Field::one(6, "double_value", Kind::Double),
    Field::one(7, "bool_value", Kind::Flag),
    Field::one(8, "string_value", Kind::Text),
];

static INTERNED: [Field; 13] = [
    Field::many(1, "event_categories", Kind::Message(&NAME)),
    Field::many(2, "event_names", Kind::Message(&NAME)),
    Field::many(3, "debug_annotation_names", Kind::Message(&NAME)),
    Field::many(4, "source_locations", Kind::Message(&SOURCE_LOCATION)),
    Field::many(5, "function_names", Kind::Message(&BYTES)),
    Field::many(6, "frames", Kind::Message(&FRAME)),
    Field::many(7, "callstacks", Kind::Message(&CALLSTACK)),
    Field::many(16, "build_ids", Kind::Message(&BYTES)),
    Field::many(17, "mapping_paths", Kind::Message(&BYTES)),
    Field::many(19, "mappings", Kind::Message(&MAPPING)),
    Field::many(20, "log_message_body", Kind::Message(&NAME)),
    Field::many(29, "debug_annotation_string_values", Kind::Message(&BYTES)),
    Field::many(43, "correlation_id_str", Kind::Message(&BYTES)),
];

static NAME: [Field; 2] = [
    Field::one(1, "iid", Kind::Unsigned),
    Field::one(2, "name", Kind::Text),
];

static BYTES: [Field; 2] = [
    Field::one(1, "iid", Kind::Unsigned),
    Field::one(2, "str", Kind::Bytes),
];

static SOURCE_LOCATION: [Field; 4] = [
    Field::one(1, "iid", Kind::Unsigned),
    Field::one(2, "file_name", Kind::Text),
    Field::one(3, "function_name", Kind::Text),
    Field::one(4, "line_number", Kind::Unsigned),
];

static FRAME: [Field; 6] = [
    Field::one(1, "iid", Kind::Unsigned),
    Field::one(2, "function_name_id", Kind::Id("function_name")),
    Field::one(3, "mapping_id", Kind::Id("mapping")),
    Field::one(4, "rel_pc", Kind::Unsigned),
    Field::one(5, "source_path_iid", Kind::Unsigned),
    Field::one(6, "line_number", Kind::Unsigned),
];

static CALLSTACK: [Field; 2] = [
    Field::one(1, "iid", Kind::Unsigned),
    Field::many(2, "frame_ids", Kind::Id("frame")),
];

static MAPPING: [Field; 8] = [
    Field::one(1, "iid", Kind::Unsigned),
    Field::one(2, "build_id", Kind::Id("build_id")),
    Field::one(3, "start_offset", Kind::Unsigned),
    Field::one(4, "start", Kind::Unsigned),
    Field::one(5, "end", Kind::Unsigned),
    Field::one(6, "load_bias", Kind::Unsigned),
    Field::many(7, "path_string_ids", Kind::Id("mapping_path")),
    Field::one(8, "exact_offset", Kind::Unsigned),
];

static TRACK_DESCRIPTOR: [Field; 14] = [
    Field::one(1, "uuid", Kind::Unsigned),
    Field::one(2, "name", Kind::Text),
    Field::one(3, "process", Kind::Message(&PROCESS)),
    Field::one(4, "thread", Kind::Message(&THREAD)),
    Field::one(5, "parent_uuid", Kind::Unsigned),
    Field::one(6, "chrome_process", Kind::Bytes),
    Field::one(7, "chrome_thread", Kind::Bytes),
    Field::one(8, "counter", Kind::Message(&COUNTER)),
    Field::one(9, "disallow_merging_with_system_tracks", Kind::Flag),
    Field::one(10, "static_name", Kind::Text),
    Field::one(13, "atrace_name", Kind::Text),
    Field::one(14, "description", Kind::Text),
    Field::one(11, "child_ordering", Kind::Unsigned),
    Field::one(12, "sibling_order_rank", Kind::Signed),
];

static PROCESS: [Field; 8] = [
    Field::one(1, "pid", Kind::Signed),
    Field::many(2, "cmdline", Kind::Text),
    Field::one(3, "legacy_sort_index", Kind::Signed),
    Field::one(4, "chrome_process_type", Kind::Unsigned),
    Field::one(5, "process_priority", Kind::Signed),
    Field::one(6, "process_name", Kind::Text),
    Field::one(7, "start_timestamp_ns", Kind::Signed),
    Field::many(8, "process_labels", Kind::Text),
];

static THREAD: [Field; 8] = [
    Field::one(1, "pid", Kind::Signed),
    Field::one(2, "tid", Kind::Signed),
    Field::one(3, "legacy_sort_index", Kind::Signed),
    Field::one(4, "chrome_thread_type", Kind::Unsigned),
    Field::one(5, "thread_name", Kind::Text),
    Field::one(6, "reference_timestamp_us", Kind::Signed),
    Field::one(7, "reference_thread_time_us", Kind::Signed),
    Field::one(8, "reference_thread_instruction_count", Kind::Signed),
];

static COUNTER: [Field; 7] = [
    Field::one(1, "type", Kind::Unsigned),
    Field::many(2, "categories", Kind::Text),
    Field::one(3, "unit", Kind::Unsigned),
    Field::one(4, "unit_multiplier", Kind::Signed),
    Field::one(5, "is_incremental", Kind::Flag),
    Field::one(6, "unit_name", Kind::Text),
    Field::one(7, "y_axis_share_key", Kind::Text),
];

static CLOCK_SNAPSHOT: [Field; 2] = [
    Field::many(1, "clocks", Kind::Message(&CLOCK)),
    Field::one(2, "primary_trace_clock", Kind::Unsigned),
];

static CLOCK: [Field; 4] = [
    Field::one(1, "clock_id", Kind::Unsigned),
    Field::one(2, "timestamp", Kind::Unsigned),
    Field::one(3, "is_incremental", Kind::Flag),
    Field::one(4, "unit_multiplier_ns", Kind::Unsigned),
];
