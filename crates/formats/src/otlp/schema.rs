//! The messages of OTLP profiles as tables (SPEC.md §1).

use crate::protobuf::{Field, Kind, Layout, Schema};

pub(super) static PROFILES: Layout = Layout {
    schema: PROFILES_SCHEMA,
    kind: |_| None,
};

pub(super) const PROFILES_SCHEMA: Schema = Schema {
    fields: &PROFILES_DATA,
    closed: false,
};

/// The message `ProfilesData`.
pub(super) static PROFILES_DATA: [Field; 2] = [
    Field::many(1, "resource_profiles", Kind::Container(&RESOURCE_PROFILES)),
    Field::one(2, "dictionary", Kind::Container(&DICTIONARY)),
];

pub(super) static RESOURCE_PROFILES: [Field; 3] = [
    Field::one(1, "resource", Kind::Message(&RESOURCE)),
    Field::many(2, "scope_profiles", Kind::Container(&SCOPE_PROFILES)),
    Field::one(3, "schema_url", Kind::Text),
];

pub(super) static SCOPE_PROFILES: [Field; 3] = [
    Field::one(1, "scope", Kind::Message(&SCOPE)),
    Field::many(2, "profile", Kind::Container(&PROFILE)),
    Field::one(3, "schema_url", Kind::Text),
];

/// The message `Profile`.
pub(super) static PROFILE: [Field; 11] = [
    Field::one(1, "sample_type", Kind::Message(&VALUE_TYPE)),
    Field::many(2, "sample", Kind::Message(&SAMPLE)),
    Field::one(3, "time_unix_nano", Kind::Fixed64),
    Field::one(4, "duration_nano", Kind::Unsigned),
    Field::one(5, "period_type", Kind::Message(&VALUE_TYPE)),
    Field::one(6, "period", Kind::Signed),
    Field::one(7, "profile_id", Kind::Bytes),
    Field::one(8, "dropped_attributes_count", Kind::Unsigned),
    Field::one(9, "original_payload_format", Kind::Text),
    Field::one(10, "original_payload", Kind::Bytes),
    Field::many(11, "attribute_indices", Kind::Id("attribute")),
];

static VALUE_TYPE: [Field; 2] = [
    Field::one(1, "type_strindex", Kind::Id("string")),
    Field::one(2, "unit_strindex", Kind::Id("string")),
];

/// Names as versions 1.10 and 1.11 have them; 1.9 has values, attributes and link in fields 2 to 4.
static SAMPLE: [Field; 5] = [
    Field::one(1, "stack_index", Kind::Id("stack")),
    Field::many(2, "attribute_indices", Kind::Signed),
    Field::many(3, "link_index", Kind::Signed),
    Field::many(4, "values", Kind::Signed),
    Field::many(5, "timestamps_unix_nano", Kind::Fixed64),
];

/// The message `ProfilesDictionary`.
pub(super) static DICTIONARY: [Field; 7] = [
    Field::many(1, "mapping", Kind::Message(&MAPPING)),
    Field::many(2, "location", Kind::Message(&LOCATION)),
    Field::many(3, "function", Kind::Message(&FUNCTION)),
    Field::many(4, "link", Kind::Message(&PROFILE_LINK)),
    Field::many(5, "string", Kind::Text),
    Field::many(6, "attribute", Kind::Message(&KEY_VALUE_UNIT)),
    Field::many(7, "stack", Kind::Message(&STACK)),
];

static MAPPING: [Field; 5] = [
    Field::one(1, "memory_start", Kind::Unsigned),
    Field::one(2, "memory_limit", Kind::Unsigned),
    Field::one(3, "file_offset", Kind::Unsigned),
    Field::one(4, "filename_strindex", Kind::Id("string")),
    Field::many(5, "attribute_indices", Kind::Id("attribute")),
];

static LOCATION: [Field; 4] = [
    Field::one(1, "mapping_index", Kind::Id("mapping")),
    Field::one(2, "address", Kind::Unsigned),
    Field::many(3, "lines", Kind::Message(&LINE)),
    Field::many(4, "attribute_indices", Kind::Id("attribute")),
];

static LINE: [Field; 3] = [
    Field::one(1, "function_index", Kind::Id("function")),
    Field::one(2, "line", Kind::Signed),
    Field::one(3, "column", Kind::Signed),
];

static FUNCTION: [Field; 4] = [
    Field::one(1, "name_strindex", Kind::Id("string")),
    Field::one(2, "system_name_strindex", Kind::Id("string")),
    Field::one(3, "filename_strindex", Kind::Id("string")),
    Field::one(4, "start_line", Kind::Signed),
];

static PROFILE_LINK: [Field; 2] = [
    Field::one(1, "trace_id", Kind::Bytes),
    Field::one(2, "span_id", Kind::Bytes),
];

static KEY_VALUE_UNIT: [Field; 3] = [
    Field::one(1, "key_strindex", Kind::Id("string")),
    Field::one(2, "value", Kind::Message(&ANY_VALUE)),
    Field::one(3, "unit_strindex", Kind::Id("string")),
];

static STACK: [Field; 1] = [Field::many(1, "location_indices", Kind::Id("location"))];

static RESOURCE: [Field; 3] = [
    Field::many(1, "attributes", Kind::Message(&KEY_VALUE)),
    Field::one(2, "dropped_attributes_count", Kind::Unsigned),
    Field::many(3, "entity_refs", Kind::Bytes),
];

static SCOPE: [Field; 4] = [
    Field::one(1, "name", Kind::Text),
    Field::one(2, "version", Kind::Text),
    Field::many(3, "attributes", Kind::Message(&KEY_VALUE)),
    Field::one(4, "dropped_attributes_count", Kind::Unsigned),
];

static KEY_VALUE: [Field; 3] = [
    Field::one(1, "key", Kind::Text),
    Field::one(2, "value", Kind::Message(&ANY_VALUE)),
    Field::one(3, "key_strindex", Kind::Id("string")),
];

static ANY_VALUE: [Field; 8] = [
    Field::one(1, "string_value", Kind::Text),
    Field::one(2, "bool_value", Kind::Flag),
    Field::one(3, "int_value", Kind::Signed),
    Field::one(4, "double_value", Kind::Double),
    Field::one(5, "array_value", Kind::Message(&ARRAY_VALUE)),
    Field::one(6, "kvlist_value", Kind::Message(&KEY_VALUE_LIST)),
    Field::one(7, "bytes_value", Kind::Bytes),
    Field::one(8, "string_value_strindex", Kind::Id("string")),
];

static ARRAY_VALUE: [Field; 1] = [Field::many(1, "values", Kind::Message(&ANY_VALUE))];

static KEY_VALUE_LIST: [Field; 1] = [Field::many(1, "values", Kind::Message(&KEY_VALUE))];
