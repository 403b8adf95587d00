"""Messages as a binary trace (`.trcbin`)."""

import codecs
import struct
from collections import namedtuple

from messages import Encoding, Frequency, Message, Raw, Unknown, fields_of

CODES = {"B": "B", "I": "I", "i": "i", "L": "Q", "T": "Q"}
HEADER_SIZE = 6
DESCRIPTOR_SIZE = 12

Stream = namedtuple(
    "Stream",
    "big inclusive sized major minor platform magic endianness offset_to_data gap",
    defaults=(False, True, True, 1, 0, 1, b"0TBF", None, None, ()),
)
Stream.__doc__ = """How a stream is written.

`gap` are messages between the descriptor and the data; `endianness` and `offset_to_data` replace the right values.
"""


class Charset:
    """Encodes strings and refuses the charsets whose characters may hold a zero byte."""

    def __init__(self, name):
        self.codec = codecs.lookup(name)
        if b"\0" in self.codec.encode("A")[0]:
            raise ValueError("%s puts zero bytes into characters" % name)

    def string(self, text):
        data = text if isinstance(text, bytes) else self.codec.encode(text)[0]
        if b"\0" in data:
            raise ValueError("a string holds a zero byte: %r" % (text,))
        return data + b"\0"


class Payload:
    """Packs the values of one layout; a message whose strings are all null takes a single `struct` call."""

    def __init__(self, number, layout, order):
        self.order = order
        self.types = [f.type for f in fields_of(number, layout)]
        self.counted = layout == "counted"
        self.arrays = any(t.endswith("*") for t in self.types)
        self.number_at = [i for i, t in enumerate(self.types) if t in CODES]
        self.string_at = [i for i, t in enumerate(self.types) if t == "S"]
        self.null = struct.Struct(order + "".join(CODES.get(t, "x") for t in self.types))

    def pack(self, values, charset):
        if self.arrays or any([values[i] for i in self.string_at]):
            return b"".join(self._pack_field(t, v, charset) for t, v in zip(self.types, values))
        return self.null.pack(*[values[i] for i in self.number_at])

    def _pack_field(self, kind, value, charset):
        if kind == "S":
            return charset.string(value)
        if kind in CODES:
            return struct.pack(self.order + CODES[kind], value)
        count = struct.pack(self.order + "I", len(value)) if self.counted else b""
        if kind == "S*":
            return count + b"".join(charset.string(v) for v in value)
        return count + struct.pack("%s%dQ" % (self.order, len(value)), *value)


class Writer:
    """Turns messages into bytes, one after the other; an Encoding changes the strings of what follows it."""

    def __init__(self, stream=Stream()):
        self.stream = stream
        self.order = ">" if stream.big else "<"
        self.header = struct.Struct(self.order + "HI")
        self.charset = Charset("UTF-8")
        self.payloads = {}

    def descriptor(self, gap_size=0):
        s = self.stream
        endianness = (0 if s.big else 1) if s.endianness is None else s.endianness
        offset = DESCRIPTOR_SIZE + gap_size if s.offset_to_data is None else s.offset_to_data
        return s.magic + bytes((s.major, s.minor, s.platform, endianness)) + struct.pack(self.order + "I", offset)

    def sized(self, number, payload):
        size = len(payload) + (HEADER_SIZE if self.stream.inclusive else 0)
        return self.header.pack(number, size) + payload

    def data(self, number, values, layout="table", trailing=b""):
        key = number, layout
        if key not in self.payloads:
            self.payloads[key] = Payload(number, layout, self.order)
        return self.sized(number, self.payloads[key].pack(values, self.charset) + trailing)

    def system(self, number, payload, sized):
        if self.stream.sized if sized is None else sized:
            return self.sized(number, payload)
        return struct.pack(self.order + "H", number) + payload

    def write(self, item):
        if isinstance(item, Message):
            return self.data(item.id, item.values, item.layout, item.trailing)
        if isinstance(item, Encoding):
            data = self.system(1, item.charset.encode("ascii") + b"\0", item.sized)
            self.charset = Charset(item.charset)
            return data
        if isinstance(item, Frequency):
            code = "d" if item.as_double else "Q"
            return self.system(2, struct.pack(self.order + code, item.ticks_per_second), item.sized)
        if isinstance(item, Unknown):
            return self.sized(item.id, item.payload)
        return item.data


def emit(items, stream=Stream()):
    """The bytes of a whole trace and one record a message, offsets counted from the first byte of the descriptor."""
    writer = Writer(stream)
    gap = [(item, writer.write(item)) for item in stream.gap]
    body = [(item, writer.write(item)) for item in items]
    head = writer.descriptor(sum(len(data) for _, data in gap))
    records, offset = [], len(head)
    for item, data in gap + body:
        if not isinstance(item, Raw):
            records.append(record(item, offset, len(data)))
        offset += len(data)
    return head + b"".join(data for _, data in gap + body), records


def bare(item, stream=Stream()):
    """The bytes of one message without a descriptor."""
    return Writer(stream).write(item)


def record(item, offset, size):
    """What a reader should see of a message, ready for JSON."""
    if isinstance(item, Encoding):
        name, number, fields = "encoding", 1, {"charset": item.charset}
    elif isinstance(item, Frequency):
        name, number, fields = "frequency", 2, {"ticksPerSecond": int(item.ticks_per_second)}
    elif isinstance(item, Unknown):
        name, number, fields = None, item.id, {"payload": {"hex": item.payload.hex()}}
    else:
        name, number = item.name, item.id
        fields = {key: plain(value) for key, value in item.fields.items()}
    seen = {"name": name, "id": number, "offset": offset, "bytes": size, "fields": fields}
    if isinstance(item, Message) and item.trailing:
        seen["trailing"] = {"hex": item.trailing.hex()}
    return seen


def plain(value):
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return [plain(v) for v in value] if isinstance(value, tuple) else value
