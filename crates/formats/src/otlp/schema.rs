//! The messages of profiles (SPEC.md §1) and traces (SPEC.md §5) as tables.

use crate::protobuf::{FieldSpec, FieldType, MessageSchema, RecordLayout};

pub(super) static PROFILES: RecordLayout = RecordLayout {
    schema: PROFILES_SCHEMA,
    kind: |_| None,
};

pub(super) const PROFILES_SCHEMA: MessageSchema = MessageSchema {
    fields: &PROFILES_DATA,
    closed: false,
};

/// The message `ProfilesData`.
pub(super) static PROFILES_DATA: [FieldSpec; 2] = [
    FieldSpec::many(
        1,
        "resource_profiles",
        FieldType::Container(&RESOURCE_PROFILES),
    ),
    FieldSpec::one(2, "dictionary", FieldType::Container(&DICTIONARY)),
];

pub(super) static TRACES: RecordLayout = RecordLayout {
    schema: TRACES_SCHEMA,
    kind: |_| None,
};

pub(super) const TRACES_SCHEMA: MessageSchema = MessageSchema {
    fields: &TRACES_DATA,
    closed: false,
};

/// The messages `TracesData` and `ExportTraceServiceRequest`, which are the same bytes.
pub(super) static TRACES_DATA: [FieldSpec; 1] = [FieldSpec::many(
    1,
    "resource_spans",
    FieldType::Container(&RESOURCE_SPANS),
)];

pub(super) static RESOURCE_SPANS: [FieldSpec; 3] = [
    FieldSpec::one(1, "resource", FieldType::Message(&RESOURCE)),
    FieldSpec::many(2, "scope_spans", FieldType::Container(&SCOPE_SPANS)),
    FieldSpec::one(3, "schema_url", FieldType::Text),
];

pub(super) static SCOPE_SPANS: [FieldSpec; 3] = [
    FieldSpec::one(1, "scope", FieldType::Message(&SCOPE)),
    FieldSpec::many(2, "spans", FieldType::Message(&SPAN)),
    FieldSpec::one(3, "schema_url", FieldType::Text),
];

/// The message `Span`.
pub(super) static SPAN: [FieldSpec; 16] = [
    FieldSpec::one(1, "trace_id", FieldType::Bytes),
    FieldSpec::one(2, "span_id", FieldType::Bytes),
    FieldSpec::one(3, "trace_state", FieldType::Text),
    FieldSpec::one(4, "parent_span_id", FieldType::Bytes),
    FieldSpec::one(5, "name", FieldType::Text),
    FieldSpec::one(6, "kind", FieldType::Unsigned),
    FieldSpec::one(7, "start_time_unix_nano", FieldType::Fixed64),
    FieldSpec::one(8, "end_time_unix_nano", FieldType::Fixed64),
    FieldSpec::many(9, "attributes", FieldType::Message(&KEY_VALUE)),
    FieldSpec::one(10, "dropped_attributes_count", FieldType::Unsigned),
    FieldSpec::many(11, "events", FieldType::Message(&SPAN_EVENT)),
    FieldSpec::one(12, "dropped_events_count", FieldType::Unsigned),
    FieldSpec::many(13, "links", FieldType::Message(&SPAN_LINK)),
    FieldSpec::one(14, "dropped_links_count", FieldType::Unsigned),
    FieldSpec::one(15, "status", FieldType::Message(&STATUS)),
    FieldSpec::one(16, "flags", FieldType::Fixed32),
];

static SPAN_EVENT: [FieldSpec; 4] = [
    FieldSpec::one(1, "time_unix_nano", FieldType::Fixed64),
    FieldSpec::one(2, "name", FieldType::Text),
    FieldSpec::many(3, "attributes", FieldType::Message(&KEY_VALUE)),
    FieldSpec::one(4, "dropped_attributes_count", FieldType::Unsigned),
];

static SPAN_LINK: [FieldSpec; 6] = [
    FieldSpec::one(1, "trace_id", FieldType::Bytes),
    FieldSpec::one(2, "span_id", FieldType::Bytes),
    FieldSpec::one(3, "trace_state", FieldType::Text),
    FieldSpec::many(4, "attributes", FieldType::Message(&KEY_VALUE)),
    FieldSpec::one(5, "dropped_attributes_count", FieldType::Unsigned),
    FieldSpec::one(6, "flags", FieldType::Fixed32),
];

static STATUS: [FieldSpec; 2] = [
    FieldSpec::one(2, "message", FieldType::Text),
    FieldSpec::one(3, "code", FieldType::Unsigned),
];

pub(super) static RESOURCE_PROFILES: [FieldSpec; 3] = [
    FieldSpec::one(1, "resource", FieldType::Message(&RESOURCE)),
    FieldSpec::many(2, "scope_profiles", FieldType::Container(&SCOPE_PROFILES)),
    FieldSpec::one(3, "schema_url", FieldType::Text),
];

pub(super) static SCOPE_PROFILES: [FieldSpec; 3] = [
    FieldSpec::one(1, "scope", FieldType::Message(&SCOPE)),
    FieldSpec::many(2, "profile", FieldType::Container(&PROFILE)),
    FieldSpec::one(3, "schema_url", FieldType::Text),
];

/// The message `Profile`.
pub(super) static PROFILE: [FieldSpec; 11] = [
    FieldSpec::one(1, "sample_type", FieldType::Message(&VALUE_TYPE)),
    FieldSpec::many(2, "sample", FieldType::Message(&SAMPLE)),
    FieldSpec::one(3, "time_unix_nano", FieldType::Fixed64),
    FieldSpec::one(4, "duration_nano", FieldType::Unsigned),
    FieldSpec::one(5, "period_type", FieldType::Message(&VALUE_TYPE)),
    FieldSpec::one(6, "period", FieldType::Signed),
    FieldSpec::one(7, "profile_id", FieldType::Bytes),
    FieldSpec::one(8, "dropped_attributes_count", FieldType::Unsigned),
    FieldSpec::one(9, "original_payload_format", FieldType::Text),
    FieldSpec::one(10, "original_payload", FieldType::Bytes),
    FieldSpec::many(11, "attribute_indices", FieldType::Id("attribute")),
];

static VALUE_TYPE: [FieldSpec; 2] = [
    FieldSpec::one(1, "type_strindex", FieldType::Id("string")),
    FieldSpec::one(2, "unit_strindex", FieldType::Id("string")),
];

/// Names as versions 1.10 and 1.11 have them; 1.9 has values, attributes and link in fields 2 to 4.
static SAMPLE: [FieldSpec; 5] = [
    FieldSpec::one(1, "stack_index", FieldType::Id("stack")),
    FieldSpec::many(2, "attribute_indices", FieldType::Signed),
    FieldSpec::many(3, "link_index", FieldType::Signed),
    FieldSpec::many(4, "values", FieldType::Signed),
    FieldSpec::many(5, "timestamps_unix_nano", FieldType::Fixed64),
];

/// The message `ProfilesDictionary`.
pub(super) static DICTIONARY: [FieldSpec; 7] = [
    FieldSpec::many(1, "mapping", FieldType::Message(&MAPPING)),
    FieldSpec::many(2, "location", FieldType::Message(&LOCATION)),
    FieldSpec::many(3, "function", FieldType::Message(&FUNCTION)),
    FieldSpec::many(4, "link", FieldType::Message(&PROFILE_LINK)),
    FieldSpec::many(5, "string", FieldType::Text),
    FieldSpec::many(6, "attribute", FieldType::Message(&KEY_VALUE_UNIT)),
    FieldSpec::many(7, "stack", FieldType::Message(&STACK)),
];

static MAPPING: [FieldSpec; 5] = [
    FieldSpec::one(1, "memory_start", FieldType::Unsigned),
    FieldSpec::one(2, "memory_limit", FieldType::Unsigned),
    FieldSpec::one(3, "file_offset", FieldType::Unsigned),
    FieldSpec::one(4, "filename_strindex", FieldType::Id("string")),
    FieldSpec::many(5, "attribute_indices", FieldType::Id("attribute")),
];

static LOCATION: [FieldSpec; 4] = [
    FieldSpec::one(1, "mapping_index", FieldType::Id("mapping")),
    FieldSpec::one(2, "address", FieldType::Unsigned),
    FieldSpec::many(3, "lines", FieldType::Message(&LINE)),
    FieldSpec::many(4, "attribute_indices", FieldType::Id("attribute")),
];

static LINE: [FieldSpec; 3] = [
    FieldSpec::one(1, "function_index", FieldType::Id("function")),
    FieldSpec::one(2, "line", FieldType::Signed),
    FieldSpec::one(3, "column", FieldType::Signed),
];

static FUNCTION: [FieldSpec; 4] = [
    FieldSpec::one(1, "name_strindex", FieldType::Id("string")),
    FieldSpec::one(2, "system_name_strindex", FieldType::Id("string")),
    FieldSpec::one(3, "filename_strindex", FieldType::Id("string")),
    FieldSpec::one(4, "start_line", FieldType::Signed),
];

static PROFILE_LINK: [FieldSpec; 2] = [
    FieldSpec::one(1, "trace_id", FieldType::Bytes),
    FieldSpec::one(2, "span_id", FieldType::Bytes),
];

static KEY_VALUE_UNIT: [FieldSpec; 3] = [
    FieldSpec::one(1, "key_strindex", FieldType::Id("string")),
    FieldSpec::one(2, "value", FieldType::Message(&ANY_VALUE)),
    FieldSpec::one(3, "unit_strindex", FieldType::Id("string")),
];

static STACK: [FieldSpec; 1] = [FieldSpec::many(
    1,
    "location_indices",
    FieldType::Id("location"),
)];

static RESOURCE: [FieldSpec; 3] = [
    FieldSpec::many(1, "attributes", FieldType::Message(&KEY_VALUE)),
    FieldSpec::one(2, "dropped_attributes_count", FieldType::Unsigned),
    FieldSpec::many(3, "entity_refs", FieldType::Bytes),
];

static SCOPE: [FieldSpec; 4] = [
    FieldSpec::one(1, "name", FieldType::Text),
    FieldSpec::one(2, "version", FieldType::Text),
    FieldSpec::many(3, "attributes", FieldType::Message(&KEY_VALUE)),
    FieldSpec::one(4, "dropped_attributes_count", FieldType::Unsigned),
];

static KEY_VALUE: [FieldSpec; 3] = [
    FieldSpec::one(1, "key", FieldType::Text),
    FieldSpec::one(2, "value", FieldType::Message(&ANY_VALUE)),
    FieldSpec::one(3, "key_strindex", FieldType::Id("string")),
];

static ANY_VALUE: [FieldSpec; 8] = [
    FieldSpec::one(1, "string_value", FieldType::Text),
    FieldSpec::one(2, "bool_value", FieldType::Flag),
    FieldSpec::one(3, "int_value", FieldType::Signed),
    FieldSpec::one(4, "double_value", FieldType::Double),
    FieldSpec::one(5, "array_value", FieldType::Message(&ARRAY_VALUE)),
    FieldSpec::one(6, "kvlist_value", FieldType::Message(&KEY_VALUE_LIST)),
    FieldSpec::one(7, "bytes_value", FieldType::Bytes),
    FieldSpec::one(8, "string_value_strindex", FieldType::Id("string")),
];

static ARRAY_VALUE: [FieldSpec; 1] = [FieldSpec::many(1, "values", FieldType::Message(&ANY_VALUE))];

static KEY_VALUE_LIST: [FieldSpec; 1] =
    [FieldSpec::many(1, "values", FieldType::Message(&KEY_VALUE))];
