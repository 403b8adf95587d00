//! The messages of `profile.proto`: names, numbers and types, as one table that the reader, the writer
//! and the dump share (SPEC.md §1).

use crate::protobuf::{Field, Kind, Schema};

const STRING: Kind = Kind::Id("string");

static VALUE_TYPE: [Field; 2] = [Field::one(1, "type", STRING), Field::one(2, "unit", STRING)];

static LABEL: [Field; 4] = [
    Field::one(1, "key", STRING),
    Field::one(2, "str", STRING),
    Field::one(3, "num", Kind::Signed),
    Field::one(4, "num_unit", STRING),
];

static SAMPLE: [Field; 3] = [
    Field::many(1, "location_id", Kind::Id("location")),
    Field::many(2, "value", Kind::Signed),
    Field::many(3, "label", Kind::Message(&LABEL)),
];

static MAPPING: [Field; 10] = [
    Field::one(1, "id", Kind::Unsigned),
    Field::one(2, "memory_start", Kind::Unsigned),
    Field::one(3, "memory_limit", Kind::Unsigned),
    Field::one(4, "file_offset", Kind::Unsigned),
    Field::one(5, "filename", STRING),
    Field::one(6, "build_id", STRING),
    Field::one(7, "has_functions", Kind::Flag),
    Field::one(8, "has_filenames", Kind::Flag),
    Field::one(9, "has_line_numbers", Kind::Flag),
    Field::one(10, "has_inline_frames", Kind::Flag),
];

static LINE: [Field; 3] = [
    Field::one(1, "function_id", Kind::Id("function")),
    Field::one(2, "line", Kind::Signed),
    Field::one(3, "column", Kind::Signed),
];

static LOCATION: [Field; 5] = [
    Field::one(1, "id", Kind::Unsigned),
    Field::one(2, "mapping_id", Kind::Id("mapping")),
    Field::one(3, "address", Kind::Unsigned),
    Field::many(4, "line", Kind::Message(&LINE)),
    Field::one(5, "is_folded", Kind::Flag),
];

static FUNCTION: [Field; 5] = [
    Field::one(1, "id", Kind::Unsigned),
    Field::one(2, "name", STRING),
    Field::one(3, "system_name", STRING),
    Field::one(4, "filename", STRING),
    Field::one(5, "start_line", Kind::Signed),
];

/// The message `Profile`; the names are those of the records, which are the field names but for the
/// string table, whose entries are records of their own.
pub(super) static PROFILE: [Field; 15] = [
    Field::many(1, "sample_type", Kind::Message(&VALUE_TYPE)),
    Field::many(2, "sample", Kind::Message(&SAMPLE)),
    Field::many(3, "mapping", Kind::Message(&MAPPING)),
    Field::many(4, "location", Kind::Message(&LOCATION)),
    Field::many(5, "function", Kind::Message(&FUNCTION)),
    Field::many(6, "string", Kind::Text),
    Field::one(7, "drop_frames", STRING),
    Field::one(8, "keep_frames", STRING),
    Field::one(9, "time_nanos", Kind::Signed),
    Field::one(10, "duration_nanos", Kind::Signed),
    Field::one(11, "period_type", Kind::Message(&VALUE_TYPE)),
    Field::one(12, "period", Kind::Signed),
    Field::many(13, "comment", STRING),
    Field::one(14, "default_sample_type", STRING),
    Field::one(15, "doc_url", STRING),
];

/// The whole of it: no writer of profiles writes other fields.
pub(super) const SCHEMA: Schema = Schema {
    fields: &PROFILE,
    closed: true,
};
