"""Messages as an XML trace (`.trcxml`): a document, or the bare fragments of a live stream."""

import xml.etree.ElementTree as ElementTree

from binary import record
from messages import Encoding, Frequency, Message, fields_of

NANOS = 10**9

# The order in which real traces print these elements; the attributes not named here follow in wire order.
PRINTED_ORDER = {
    1009: "threadId time objIdRef threadName groupName parentName",
    1011: "name sourceName classId time",
    1012: "name signature startLineNumber endLineNumber methodId classIdRef",
    1015: "threadIdRef time methodIdRef classIdRef ticket stackDepth",
    1016: "threadIdRef methodIdRef classIdRef ticket time",
}
PRINTED_WHEN_EMPTY = {(1009, "parentName")}
MONITORS = (1032, 1033, 1034, 1035)

ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
NEEDS_ESCAPE = set(ESCAPES)


def escape(text):
    if NEEDS_ESCAPE.isdisjoint(text):
        return text
    return "".join(ESCAPES.get(c, c) for c in text)


def seconds(ticks, ticks_per_second):
    """Decimal seconds with nine digits, to the nearest nanosecond, halves up; integers throughout."""
    nanos = ticks if ticks_per_second == NANOS else (2 * ticks * NANOS + ticks_per_second) // (2 * ticks_per_second)
    return "%d.%09d" % divmod(nanos, NANOS)


def _attributes(number, layout):
    fields = [(i, f.name, f.type) for i, f in enumerate(fields_of(number, layout)) if not f.type.endswith("*")]
    if number in MONITORS:
        fields = [f for f in fields if f[1] != "stackDepth"]
    printed = PRINTED_ORDER.get(number, "").split()
    return sorted(fields, key=lambda f: printed.index(f[1]) if f[1] in printed else len(printed))


_ATTRIBUTES = {}


def element(message, ticks_per_second=NANOS):
    """One message as one element. Zero and null attributes are left out, `parentName` is not."""
    number, values, layout = message.id, message.values, message.layout
    if number == 1041:
        return custom(values[0])
    key = number, layout
    if key not in _ATTRIBUTES:
        _ATTRIBUTES[key] = _attributes(number, layout)
    parts = ["<" + message.name]
    for at, name, kind in _ATTRIBUTES[key]:
        value = values[at]
        if value or (number, name) in PRINTED_WHEN_EMPTY:
            if kind == "T":
                value = seconds(value, ticks_per_second)
            elif kind == "S":
                value = escape(value)
            parts.append('%s="%s"' % (name, value))
    start = " ".join(parts)
    frames = annotations(message) if number in MONITORS and layout != "broken" else ""
    return "%s>%s</%s>" % (start, frames, message.name) if frames else start + "/>"


def annotations(message):
    methods, lines = message.values[-2:]
    frame = '<annotation name="stack" method="%s" line="%d"/>'
    return "".join(frame % (escape(method), line) for method, line in zip(methods, lines))


def custom(body):
    """The body itself where it is elements and nothing else, else its text inside an element of ours."""
    return body if is_fragment(body) else "<custom>%s</custom>" % escape(body)


def is_fragment(body):
    try:
        root = ElementTree.fromstring("<x>%s</x>" % body)
    except ElementTree.ParseError:
        return False
    texts = [root.text] + [child.tail for child in root]
    return len(root) > 0 and not any(text and text.strip() for text in texts)


def declared_frequency(items):
    """The first frequency of the stream, None without one."""
    return next((int(i.ticks_per_second) for i in items if isinstance(i, Frequency)), None)


def instruction(items, stream):
    words = ["version=%d.%d" % (stream.major, stream.minor)]
    words.append("platform=%d" % (64 if stream.platform else 32))
    words.append("endian=" + ("big" if stream.big else "little"))
    declared = declared_frequency(items)
    if declared is not None:
        words.append("frequency=%d" % declared)
    words.append("encoding=" + next((i.charset for i in items if isinstance(i, Encoding)), "UTF-8"))
    return "<?traceloom tptp %s?>" % " ".join(words)


def elements(items):
    """(message, element) for each item that XML can carry."""
    ticks_per_second = declared_frequency(items) or NANOS
    return [(i, element(i, ticks_per_second)) for i in items if isinstance(i, Message)]


def prolog(charset="UTF-8"):
    return '<?xml version="1.0" encoding="%s"?>' % charset


def document(items, stream, end_tag=True):
    """A whole document and its records. Messages without an XML form are left out."""
    items = list(stream.gap) + list(items)
    parts = [prolog() + "\n", instruction(items, stream) + "\n", "<TRACE>\n"]
    for pair in elements(items):
        parts += [pair, "\n"]
    return assemble(parts + (["</TRACE>\n"] if end_tag else []))


def fragments(items, separator="\n"):
    """The elements alone, as a live stream sends them."""
    parts = []
    for pair in elements(list(items)):
        parts += [pair, separator]
    return assemble(parts)


def assemble(parts, charset="UTF-8"):
    """Bytes and records of a document given as texts and (message, text) pairs."""
    chunks, records, offset = [], [], 0
    for part in parts:
        item, text = (None, part) if isinstance(part, str) else part
        data = text.encode(charset)
        if item is not None:
            records.append(record(item, offset, len(data)))
        chunks.append(data)
        offset += len(data)
    return b"".join(chunks), records
