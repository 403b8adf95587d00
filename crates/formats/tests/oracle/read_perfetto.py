# Says what Perfetto's own classes find in a trace: packets by time, begins and ends matched track by track.
import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

trace = protos.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
names, event, events = {}, protos.TrackEvent, []
descriptors = {}
for packet in trace.packet:
    for row in packet.interned_data.event_names:
        names[row.iid] = row.name
    if packet.HasField("track_descriptor"):
        descriptors[packet.track_descriptor.uuid] = packet.track_descriptor
    if packet.HasField("track_event"):
        one = packet.track_event
        label = names[one.name_iid] if one.HasField("name_iid") else one.name
        events.append((packet.timestamp, len(events), one, label))
events.sort(key=lambda row: row[:2])
open_slices, slices, unmatched, instants, counters, flows = {}, {}, 0, 0, [0, 0.0], {}
nested = {}
for time, _, one, label in events:
    track = one.track_uuid
    assert track == 0 or track in descriptors, "a track that nothing describes"
    stack = open_slices.setdefault(track, [])
    for flow in one.flow_ids:
        flows[flow] = flows.get(flow, 0) + 1
    if one.type == event.TYPE_SLICE_BEGIN:
        stack.append((time, label))
    elif one.type == event.TYPE_SLICE_END:
        if not stack:
            unmatched += 1
            continue
        start, label = stack.pop()
        row = slices.setdefault(label, [0, 0])
        row[0] += 1
        row[1] += time - start
        above = stack[-1][1] if stack else ""
        nested[(above, label)] = nested.get((above, label), 0) + 1
    elif one.type == event.TYPE_INSTANT:
        instants += 1
    elif one.type == event.TYPE_COUNTER:
        counters[0] += 1
        counters[1] += one.double_counter_value
print(json.dumps({
    "slices": sorted([key] + value for key, value in slices.items()),
    "nested": sorted(list(key) + [value] for key, value in nested.items()),
    "open": sum(map(len, open_slices.values())) + unmatched,
    "instants": instants,
    "counters": [counters[0], repr(counters[1])],
    "links": sum(count - 1 for count in flows.values()),
}))
