# Says what OpenTelemetry's own classes find in a file of traces, protobuf or JSON lines: a line for each span.
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.trace.v1 import trace_pb2

IDS = ("traceId", "spanId", "parentSpanId")


def with_base64_ids(value):
    if isinstance(value, list):
        return [with_base64_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(one)).decode() if key in IDS else with_base64_ids(one)
        for key, one in value.items()
    }


def number_of(value):
    return value.int_value if value.WhichOneof("value") == "int_value" else 0


def event_of(span):
    """The form of a span that is an event, as traceloom writes those that are in no span."""
    forms = [pair.value.string_value for pair in span.attributes if pair.key == "span.event"]
    return {"event": forms[0]} if forms else {}


content = open(sys.argv[1], "rb").read()
data = trace_pb2.TracesData()
if content.startswith(b"{"):
    for line in content.splitlines():
        data.MergeFrom(json_format.ParseDict(with_base64_ids(json.loads(line)), trace_pb2.TracesData()))
else:
    data.ParseFromString(content)
spans = [
    (resource, span)
    for resource in data.resource_spans
    for scope in resource.scope_spans
    for span in scope.spans
]
def service_of(resource):
    names = [pair.value.string_value for pair in resource.resource.attributes if pair.key == "service.name"]
    return names[0] if names else ""


names = {(span.trace_id, span.span_id): span.name for _, span in spans}
services = {(span.trace_id, span.span_id): service_of(resource) for resource, span in spans}
assert len(names) == len(spans), "two spans have the same ids"
for resource, span in spans:
    assert len(span.trace_id) == 16 and len(span.span_id) == 8
    print(json.dumps({
        "service": service_of(resource),
        "caller": services.get((span.trace_id, span.parent_span_id), ""),
        "name": span.name,
        "parent": names.get((span.trace_id, span.parent_span_id), ""),
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "failed": span.status.code == 2,
        "integers": sum(number_of(pair.value) for pair in span.attributes if pair.key != "thread.id"),
        "events": sorted(event.name for event in span.events),
        "links": len(span.links),
        **event_of(span),
    }))
