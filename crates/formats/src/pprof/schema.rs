//! The messages of `profile.proto`: names, numbers and types, as one table that the reader, the writer
//! and the dump share (SPEC.md §1).

use crate::protobuf::{FieldSpec, FieldType, MessageSchema};

const STRING: FieldType = FieldType::Id("string");

static VALUE_TYPE: [FieldSpec; 2] = [
    FieldSpec::one(1, "type", STRING),
    FieldSpec::one(2, "unit", STRING),
];

static LABEL: [FieldSpec; 4] = [
    FieldSpec::one(1, "key", STRING),
    FieldSpec::one(2, "str", STRING),
    FieldSpec::one(3, "num", FieldType::Signed),
    FieldSpec::one(4, "num_unit", STRING),
];

static SAMPLE: [FieldSpec; 3] = [
    FieldSpec::many(1, "location_id", FieldType::Id("location")),
    FieldSpec::many(2, "value", FieldType::Signed),
    FieldSpec::many(3, "label", FieldType::Message(&LABEL)),
];

static MAPPING: [FieldSpec; 10] = [
    FieldSpec::one(1, "id", FieldType::Unsigned),
    FieldSpec::one(2, "memory_start", FieldType::Unsigned),
    FieldSpec::one(3, "memory_limit", FieldType::Unsigned),
    FieldSpec::one(4, "file_offset", FieldType::Unsigned),
    FieldSpec::one(5, "filename", STRING),
    FieldSpec::one(6, "build_id", STRING),
    FieldSpec::one(7, "has_functions", FieldType::Flag),
    FieldSpec::one(8, "has_filenames", FieldType::Flag),
    FieldSpec::one(9, "has_line_numbers", FieldType::Flag),
    FieldSpec::one(10, "has_inline_frames", FieldType::Flag),
];

static LINE: [FieldSpec; 3] = [
    FieldSpec::one(1, "function_id", FieldType::Id("function")),
    FieldSpec::one(2, "line", FieldType::Signed),
    FieldSpec::one(3, "column", FieldType::Signed),
];

static LOCATION: [FieldSpec; 5] = [
    FieldSpec::one(1, "id", FieldType::Unsigned),
    FieldSpec::one(2, "mapping_id", FieldType::Id("mapping")),
    FieldSpec::one(3, "address", FieldType::Unsigned),
    FieldSpec::many(4, "line", FieldType::Message(&LINE)),
    FieldSpec::one(5, "is_folded", FieldType::Flag),
];

static FUNCTION: [FieldSpec; 5] = [
    FieldSpec::one(1, "id", FieldType::Unsigned),
    FieldSpec::one(2, "name", STRING),
    FieldSpec::one(3, "system_name", STRING),
    FieldSpec::one(4, "filename", STRING),
    FieldSpec::one(5, "start_line", FieldType::Signed),
];

/// The message `Profile`; the names are those of the records, which are the field names but for the
/// string table, whose entries are records of their own.
pub(super) static PROFILE: [FieldSpec; 15] = [
    FieldSpec::many(1, "sample_type", FieldType::Message(&VALUE_TYPE)),
    FieldSpec::many(2, "sample", FieldType::Message(&SAMPLE)),
    FieldSpec::many(3, "mapping", FieldType::Message(&MAPPING)),
    FieldSpec::many(4, "location", FieldType::Message(&LOCATION)),
    FieldSpec::many(5, "function", FieldType::Message(&FUNCTION)),
    FieldSpec::many(6, "string", FieldType::Text),
    FieldSpec::one(7, "drop_frames", STRING),
    FieldSpec::one(8, "keep_frames", STRING),
    FieldSpec::one(9, "time_nanos", FieldType::Signed),
    FieldSpec::one(10, "duration_nanos", FieldType::Signed),
    FieldSpec::one(11, "period_type", FieldType::Message(&VALUE_TYPE)),
    FieldSpec::one(12, "period", FieldType::Signed),
    FieldSpec::many(13, "comment", STRING),
    FieldSpec::one(14, "default_sample_type", STRING),
    FieldSpec::one(15, "doc_url", STRING),
];

/// The whole of it: no writer of profiles writes other fields.
pub(super) const SCHEMA: MessageSchema = MessageSchema {
    fields: &PROFILE,
    closed: true,
};
