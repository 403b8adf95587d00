//! The messages of a Perfetto trace that this reader knows, as tables (SPEC.md §1).
//!
//! A packet can carry any of some hundred payloads; the ones here are those that describe tracks, clocks
//! and what happens on tracks. Others are kept as bytes.

use crate::protobuf::{
    FieldSpec, FieldType, MessageSchema, RecordLayout, Token, TokenIter, TokenValue,
};

/// The message `Trace`.
pub(super) static TRACE: [FieldSpec; 1] =
    [FieldSpec::many(1, "packet", FieldType::Message(&PACKET))];

pub(super) static LAYOUT: RecordLayout = RecordLayout {
    schema: SCHEMA,
    kind,
};

pub(super) const SCHEMA: MessageSchema = MessageSchema {
    fields: &TRACE,
    closed: false,
};

/// A packet is called after what it carries.
fn kind(tokens: &[Token]) -> Option<&'static str> {
    let (packet, content) = tokens.split_first()?;
    packet.field.filter(|field| field.name == "packet")?;
    let payload = TokenIter(content).find_map(|(token, _)| {
        let field = token.field?;
        let carried = matches!(token.value, TokenValue::Message(_) | TokenValue::Bytes(..));
        let beside = matches!(field.name, "interned_data" | "trace_packet_defaults");
        (carried && !beside).then_some(field.name)
    });
    Some(payload.unwrap_or("packet"))
}

static PACKET: [FieldSpec; 18] = [
    FieldSpec::one(8, "timestamp", FieldType::Unsigned),
    FieldSpec::one(58, "timestamp_clock_id", FieldType::Unsigned),
    FieldSpec::one(10, "trusted_packet_sequence_id", FieldType::Unsigned),
    FieldSpec::one(13, "sequence_flags", FieldType::Unsigned),
    FieldSpec::one(41, "incremental_state_cleared", FieldType::Flag),
    FieldSpec::one(42, "previous_packet_dropped", FieldType::Unsigned),
    FieldSpec::one(87, "first_packet_on_sequence", FieldType::Flag),
    FieldSpec::one(79, "trusted_pid", FieldType::Signed),
    FieldSpec::one(98, "machine_id", FieldType::Unsigned),
    FieldSpec::one(12, "interned_data", FieldType::Message(&INTERNED)),
    FieldSpec::one(59, "trace_packet_defaults", FieldType::Message(&DEFAULTS)),
    FieldSpec::one(11, "track_event", FieldType::Message(&TRACK_EVENT)),
    FieldSpec::one(
        60,
        "track_descriptor",
        FieldType::Message(&TRACK_DESCRIPTOR),
    ),
    FieldSpec::one(6, "clock_snapshot", FieldType::Message(&CLOCK_SNAPSHOT)),
    FieldSpec::one(43, "process_descriptor", FieldType::Message(&PROCESS)),
    FieldSpec::one(44, "thread_descriptor", FieldType::Message(&THREAD)),
    FieldSpec::one(50, "compressed_packets", FieldType::Bytes),
    FieldSpec::one(36, "synchronization_marker", FieldType::Bytes),
];

static DEFAULTS: [FieldSpec; 2] = [
    FieldSpec::one(58, "timestamp_clock_id", FieldType::Unsigned),
    FieldSpec::one(
        11,
        "track_event_defaults",
        FieldType::Message(&EVENT_DEFAULTS),
    ),
];

static EVENT_DEFAULTS: [FieldSpec; 3] = [
    FieldSpec::one(11, "track_uuid", FieldType::Unsigned),
    FieldSpec::many(31, "extra_counter_track_uuids", FieldType::Unsigned),
    FieldSpec::many(45, "extra_double_counter_track_uuids", FieldType::Unsigned),
];

static TRACK_EVENT: [FieldSpec; 33] = [
    FieldSpec::one(1, "timestamp_delta_us", FieldType::Signed),
    FieldSpec::one(16, "timestamp_absolute_us", FieldType::Signed),
    FieldSpec::many(3, "category_iids", FieldType::Id("event_category")),
    FieldSpec::many(22, "categories", FieldType::Text),
    FieldSpec::one(10, "name_iid", FieldType::Id("event_name")),
    FieldSpec::one(23, "name", FieldType::Text),
    FieldSpec::one(9, "type", FieldType::Unsigned),
    FieldSpec::one(11, "track_uuid", FieldType::Unsigned),
    FieldSpec::one(30, "counter_value", FieldType::Signed),
    FieldSpec::one(44, "double_counter_value", FieldType::Double),
    FieldSpec::many(31, "extra_counter_track_uuids", FieldType::Unsigned),
    FieldSpec::many(12, "extra_counter_values", FieldType::Signed),
    FieldSpec::many(45, "extra_double_counter_track_uuids", FieldType::Unsigned),
    FieldSpec::many(46, "extra_double_counter_values", FieldType::Double),
    FieldSpec::many(36, "flow_ids_old", FieldType::Unsigned),
    FieldSpec::many(47, "flow_ids", FieldType::Fixed64),
    FieldSpec::many(42, "terminating_flow_ids_old", FieldType::Unsigned),
    FieldSpec::many(48, "terminating_flow_ids", FieldType::Fixed64),
    FieldSpec::one(52, "correlation_id", FieldType::Unsigned),
    FieldSpec::one(53, "correlation_id_str", FieldType::Text),
    FieldSpec::one(
        54,
        "correlation_id_str_iid",
        FieldType::Id("correlation_id_str"),
    ),
    FieldSpec::one(55, "callstack", FieldType::Message(&INLINE_STACK)),
    FieldSpec::one(56, "callstack_iid", FieldType::Id("callstack")),
    FieldSpec::one(57, "callstack_weight", FieldType::Double),
    FieldSpec::many(4, "debug_annotations", FieldType::Message(&ANNOTATION)),
    FieldSpec::one(6, "legacy_event", FieldType::Message(&LEGACY)),
    FieldSpec::one(21, "log_message", FieldType::Message(&LOG_MESSAGE)),
    FieldSpec::one(33, "source_location", FieldType::Message(&SOURCE_LOCATION)),
    FieldSpec::one(34, "source_location_iid", FieldType::Id("source_location")),
    FieldSpec::one(2, "thread_time_delta_us", FieldType::Signed),
    FieldSpec::one(17, "thread_time_absolute_us", FieldType::Signed),
    FieldSpec::one(8, "thread_instruction_count_delta", FieldType::Signed),
    FieldSpec::one(20, "thread_instruction_count_absolute", FieldType::Signed),
];

static INLINE_STACK: [FieldSpec; 1] = [FieldSpec::many(
    1,
    "frames",
    FieldType::Message(&INLINE_FRAME),
)];

static INLINE_FRAME: [FieldSpec; 3] = [
    FieldSpec::one(1, "function_name", FieldType::Text),
    FieldSpec::one(2, "source_file", FieldType::Text),
    FieldSpec::one(3, "line_number", FieldType::Unsigned),
];

static LOG_MESSAGE: [FieldSpec; 3] = [
    FieldSpec::one(1, "source_location_iid", FieldType::Id("source_location")),
    FieldSpec::one(2, "body_iid", FieldType::Id("log_message_body")),
    FieldSpec::one(3, "prio", FieldType::Unsigned),
];

static LEGACY: [FieldSpec; 17] = [
    FieldSpec::one(1, "name_iid", FieldType::Id("event_name")),
    FieldSpec::one(2, "phase", FieldType::Signed),
    FieldSpec::one(3, "duration_us", FieldType::Signed),
    FieldSpec::one(4, "thread_duration_us", FieldType::Signed),
    FieldSpec::one(6, "unscoped_id", FieldType::Unsigned),
    FieldSpec::one(10, "local_id", FieldType::Unsigned),
    FieldSpec::one(11, "global_id", FieldType::Unsigned),
    FieldSpec::one(7, "id_scope", FieldType::Text),
    FieldSpec::one(9, "use_async_tts", FieldType::Flag),
    FieldSpec::one(8, "bind_id", FieldType::Unsigned),
    FieldSpec::one(12, "bind_to_enclosing", FieldType::Flag),
    FieldSpec::one(13, "flow_direction", FieldType::Unsigned),
    FieldSpec::one(14, "instant_event_scope", FieldType::Unsigned),
    FieldSpec::one(15, "thread_instruction_delta", FieldType::Signed),
    FieldSpec::one(18, "pid_override", FieldType::Signed),
    FieldSpec::one(19, "tid_override", FieldType::Signed),
    FieldSpec::one(5, "thread_instruction_count", FieldType::Signed),
];

static ANNOTATION: [FieldSpec; 16] = [
    FieldSpec::one(1, "name_iid", FieldType::Id("debug_annotation_name")),
    FieldSpec::one(10, "name", FieldType::Text),
    FieldSpec::one(2, "bool_value", FieldType::Flag),
    FieldSpec::one(3, "uint_value", FieldType::Unsigned),
    FieldSpec::one(4, "int_value", FieldType::Signed),
    FieldSpec::one(5, "double_value", FieldType::Double),
    FieldSpec::one(7, "pointer_value", FieldType::Unsigned),
    FieldSpec::one(8, "nested_value", FieldType::Message(&NESTED)),
    FieldSpec::one(9, "legacy_json_value", FieldType::Text),
    FieldSpec::one(6, "string_value", FieldType::Text),
    FieldSpec::one(
        17,
        "string_value_iid",
        FieldType::Id("debug_annotation_string_value"),
    ),
    FieldSpec::one(16, "proto_type_name", FieldType::Text),
    FieldSpec::one(
        13,
        "proto_type_name_iid",
        FieldType::Id("debug_annotation_value_type_name"),
    ),
    FieldSpec::one(14, "proto_value", FieldType::Bytes),
    FieldSpec::many(11, "dict_entries", FieldType::Message(&ANNOTATION)),
    FieldSpec::many(12, "array_values", FieldType::Message(&ANNOTATION)),
];

static NESTED: [FieldSpec; 8] = [
    FieldSpec::one(1, "nested_type", FieldType::Unsigned),
    FieldSpec::many(2, "dict_keys", FieldType::Text),
    FieldSpec::many(3, "dict_values", FieldType::Message(&NESTED)),
    FieldSpec::many(4, "array_values", FieldType::Message(&NESTED)),
    FieldSpec::one(5, "int_value", FieldType::Signed),
    FieldSpec::one(6, "double_value", FieldType::Double),
    FieldSpec::one(7, "bool_value", FieldType::Flag),
    FieldSpec::one(8, "string_value", FieldType::Text),
];

static INTERNED: [FieldSpec; 13] = [
    FieldSpec::many(1, "event_categories", FieldType::Message(&NAME)),
    FieldSpec::many(2, "event_names", FieldType::Message(&NAME)),
    FieldSpec::many(3, "debug_annotation_names", FieldType::Message(&NAME)),
    FieldSpec::many(4, "source_locations", FieldType::Message(&SOURCE_LOCATION)),
    FieldSpec::many(5, "function_names", FieldType::Message(&BYTES)),
    FieldSpec::many(6, "frames", FieldType::Message(&FRAME)),
    FieldSpec::many(7, "callstacks", FieldType::Message(&CALLSTACK)),
    FieldSpec::many(16, "build_ids", FieldType::Message(&BYTES)),
    FieldSpec::many(17, "mapping_paths", FieldType::Message(&BYTES)),
    FieldSpec::many(19, "mappings", FieldType::Message(&MAPPING)),
    FieldSpec::many(20, "log_message_body", FieldType::Message(&NAME)),
    FieldSpec::many(
        29,
        "debug_annotation_string_values",
        FieldType::Message(&BYTES),
    ),
    FieldSpec::many(43, "correlation_id_str", FieldType::Message(&BYTES)),
];

static NAME: [FieldSpec; 2] = [
    FieldSpec::one(1, "iid", FieldType::Unsigned),
    FieldSpec::one(2, "name", FieldType::Text),
];

static BYTES: [FieldSpec; 2] = [
    FieldSpec::one(1, "iid", FieldType::Unsigned),
    FieldSpec::one(2, "str", FieldType::Bytes),
];

static SOURCE_LOCATION: [FieldSpec; 4] = [
    FieldSpec::one(1, "iid", FieldType::Unsigned),
    FieldSpec::one(2, "file_name", FieldType::Text),
    FieldSpec::one(3, "function_name", FieldType::Text),
    FieldSpec::one(4, "line_number", FieldType::Unsigned),
];

static FRAME: [FieldSpec; 6] = [
    FieldSpec::one(1, "iid", FieldType::Unsigned),
    FieldSpec::one(2, "function_name_id", FieldType::Id("function_name")),
    FieldSpec::one(3, "mapping_id", FieldType::Id("mapping")),
    FieldSpec::one(4, "rel_pc", FieldType::Unsigned),
    FieldSpec::one(5, "source_path_iid", FieldType::Unsigned),
    FieldSpec::one(6, "line_number", FieldType::Unsigned),
];

static CALLSTACK: [FieldSpec; 2] = [
    FieldSpec::one(1, "iid", FieldType::Unsigned),
    FieldSpec::many(2, "frame_ids", FieldType::Id("frame")),
];

static MAPPING: [FieldSpec; 8] = [
    FieldSpec::one(1, "iid", FieldType::Unsigned),
    FieldSpec::one(2, "build_id", FieldType::Id("build_id")),
    FieldSpec::one(3, "start_offset", FieldType::Unsigned),
    FieldSpec::one(4, "start", FieldType::Unsigned),
    FieldSpec::one(5, "end", FieldType::Unsigned),
    FieldSpec::one(6, "load_bias", FieldType::Unsigned),
    FieldSpec::many(7, "path_string_ids", FieldType::Id("mapping_path")),
    FieldSpec::one(8, "exact_offset", FieldType::Unsigned),
];

static TRACK_DESCRIPTOR: [FieldSpec; 14] = [
    FieldSpec::one(1, "uuid", FieldType::Unsigned),
    FieldSpec::one(2, "name", FieldType::Text),
    FieldSpec::one(3, "process", FieldType::Message(&PROCESS)),
    FieldSpec::one(4, "thread", FieldType::Message(&THREAD)),
    FieldSpec::one(5, "parent_uuid", FieldType::Unsigned),
    FieldSpec::one(6, "chrome_process", FieldType::Bytes),
    FieldSpec::one(7, "chrome_thread", FieldType::Bytes),
    FieldSpec::one(8, "counter", FieldType::Message(&COUNTER)),
    FieldSpec::one(9, "disallow_merging_with_system_tracks", FieldType::Flag),
    FieldSpec::one(10, "static_name", FieldType::Text),
    FieldSpec::one(13, "atrace_name", FieldType::Text),
    FieldSpec::one(14, "description", FieldType::Text),
    FieldSpec::one(11, "child_ordering", FieldType::Unsigned),
    FieldSpec::one(12, "sibling_order_rank", FieldType::Signed),
];

static PROCESS: [FieldSpec; 8] = [
    FieldSpec::one(1, "pid", FieldType::Signed),
    FieldSpec::many(2, "cmdline", FieldType::Text),
    FieldSpec::one(3, "legacy_sort_index", FieldType::Signed),
    FieldSpec::one(4, "chrome_process_type", FieldType::Unsigned),
    FieldSpec::one(5, "process_priority", FieldType::Signed),
    FieldSpec::one(6, "process_name", FieldType::Text),
    FieldSpec::one(7, "start_timestamp_ns", FieldType::Signed),
    FieldSpec::many(8, "process_labels", FieldType::Text),
];

static THREAD: [FieldSpec; 8] = [
    FieldSpec::one(1, "pid", FieldType::Signed),
    FieldSpec::one(2, "tid", FieldType::Signed),
    FieldSpec::one(3, "legacy_sort_index", FieldType::Signed),
    FieldSpec::one(4, "chrome_thread_type", FieldType::Unsigned),
    FieldSpec::one(5, "thread_name", FieldType::Text),
    FieldSpec::one(6, "reference_timestamp_us", FieldType::Signed),
    FieldSpec::one(7, "reference_thread_time_us", FieldType::Signed),
    FieldSpec::one(8, "reference_thread_instruction_count", FieldType::Signed),
];

static COUNTER: [FieldSpec; 7] = [
    FieldSpec::one(1, "type", FieldType::Unsigned),
    FieldSpec::many(2, "categories", FieldType::Text),
    FieldSpec::one(3, "unit", FieldType::Unsigned),
    FieldSpec::one(4, "unit_multiplier", FieldType::Signed),
    FieldSpec::one(5, "is_incremental", FieldType::Flag),
    FieldSpec::one(6, "unit_name", FieldType::Text),
    FieldSpec::one(7, "y_axis_share_key", FieldType::Text),
];

static CLOCK_SNAPSHOT: [FieldSpec; 2] = [
    FieldSpec::many(1, "clocks", FieldType::Message(&CLOCK)),
    FieldSpec::one(2, "primary_trace_clock", FieldType::Unsigned),
];

static CLOCK: [FieldSpec; 4] = [
    FieldSpec::one(1, "clock_id", FieldType::Unsigned),
    FieldSpec::one(2, "timestamp", FieldType::Unsigned),
    FieldSpec::one(3, "is_incremental", FieldType::Flag),
    FieldSpec::one(4, "unit_multiplier_ns", FieldType::Unsigned),
];
