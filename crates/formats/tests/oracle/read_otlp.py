# Says what OpenTelemetry's own classes find in a file of profiles: a line for each profile.
import json
import sys

from opentelemetry.proto.profiles.v1development import profiles_pb2

data = profiles_pb2.ProfilesData()
data.ParseFromString(open(sys.argv[1], "rb").read())
tables = data.dictionary
strings = tables.string_table


def name(stack):
    indices = tables.stack_table[stack].location_indices
    if not indices:
        return ""
    lines = tables.location_table[indices[0]].lines
    return strings[tables.function_table[lines[0].function_index].name_strindex] if lines else ""


for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table,
              tables.attribute_table, tables.stack_table):
    assert table[0] == type(table[0])(), "the first row of a table is not empty"
assert strings[0] == ""
for resource in data.resource_profiles:
    for scope in resource.scope_profiles:
        for profile in scope.profiles:
            leaves, frames, times = {}, 0, 0
            for sample in profile.samples:
                leaf = name(sample.stack_index)
                leaves[leaf] = leaves.get(leaf, 0) + sum(sample.values)
                for index in tables.stack_table[sample.stack_index].location_indices:
                    frames += max(1, len(tables.location_table[index].lines))
                times += len(sample.timestamps_unix_nano)
                for index in sample.attribute_indices:
                    assert strings[tables.attribute_table[index].key_strindex]
            print(json.dumps({
                "type": strings[profile.sample_type.type_strindex],
                "unit": strings[profile.sample_type.unit_strindex],
                "samples": len(profile.samples),
                "total": sum(leaves.values()),
                "frames": frames,
                "times": times,
                "leaves": sorted([key, value] for key, value in leaves.items() if value),
            }))
