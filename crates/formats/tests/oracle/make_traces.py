# Writes traces with OpenTelemetry's own classes to the file it is given: two services, every type of value.
import json
import sys

from opentelemetry.proto.trace.v1 import trace_pb2

START = 1_700_000_000_000_000_000
data = trace_pb2.TracesData()


def of_service(name):
    resource = data.resource_spans.add(schema_url="https://example.invalid/1")
    resource.resource.attributes.add(key="service.name").value.string_value = name
    scope = resource.scope_spans.add()
    scope.scope.name, scope.scope.version = "made", "1.2"
    return scope


def span(scope, trace, number, parent, name, kind, start, end):
    made = scope.spans.add(
        trace_id=trace.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=name, kind=kind, flags=0x101,
        start_time_unix_nano=START + start, end_time_unix_nano=START + end)
    if parent:
        made.parent_span_id = parent.to_bytes(8, "big")
    return made


stock = of_service("stock")
shop = of_service("shop")
for trace in range(1, 40):
    at = trace * 1000
    serve = span(stock, trace, 2, 1, "serve", 2, at + 100, at + 700)
    serve.links.add(trace_id=(99).to_bytes(16, "big"), span_id=(7).to_bytes(8, "big"))
    load = span(shop, trace, 3, 1, "load", 1, at + 50, at + 90)
    load.attributes.add(key="n").value.int_value = -trace
    values = load.attributes.add(key="list").value.array_value.values
    values.add().string_value = "a"
    values.add().array_value.values.add().int_value = 2
    load.attributes.add(key="map").value.kvlist_value.values.add(key="k").value.double_value = 0.5
    load.attributes.add(key="bytes").value.bytes_value = b"\0\1\xff"
    load.attributes.add(key="flag").value.bool_value = False
    load.attributes.add(key="nothing")
    buy = span(shop, trace, 1, 0, "buy", 3, at, at + 900)
    buy.events.add(name="retry", time_unix_nano=START + at + 60).attributes.add(key="n").value.int_value = 1
    buy.status.code = trace % 3
    span(shop, trace, 4, 1, "beside", 1, at + 80, at + 950)
open(sys.argv[1], "wb").write(data.SerializeToString())
print(json.dumps({"spans": 4 * 39}))
