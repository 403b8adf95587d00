"""A second reading of both formats, to check the vectors with. It shares no table and no code with the emitters."""

import struct
import xml.parsers.expat
from collections import namedtuple

# B byte, I and i 32 bits, L 64 bits, S string, A both arrays (as many elements as the integer before them says).
LETTERS = {
    1001: "SSSiL",
    1002: "SSISLS",
    1003: "SSSSLSS",
    1004: "SL",
    1005: "SSLS",
    1006: "SLS",
    1007: "SSSSSSS",
    1008: "SSS",
    1009: "LLLSSLLSSS",
    1010: "LLLSS",
    1011: "LLLISLLSSSLLSSIIISS",
    1012: "SSBBBBSLLSLLLSS",
    1014: "LLLBLLLLLLLSSS",
    1015: "LLLLILLLLLSS",
    1016: "LLLILLLLLLSSS",
    1023: "LLLSS",
    1024: "LLLLLLLLSS",
    1027: "LLLLLLSS",
    1030: "LLLSS",
    1031: "LLLSS",
    1032: "LLLLIA",
    1033: "LLLLIA",
    1034: "LLLLIA",
    1035: "LLLIA",
    1036: "LLLLLLL",
    1037: "LL",
    1038: "LLSL",
    1039: "LLS",
    1040: "LLL",
    1041: "S",
}
VARIANTS = {
    1015: [("wide", "LLLLILLLLLLLSS")],
    1016: [("wide", "LLLILLLLLLLSS")],
    1032: [("counted", "LLLLIC")],
    1033: [("counted", "LLLLIC")],
    1034: [("counted", "LLLLIC")],
    1035: [("counted", "LLLIC")],
}
WIDTHS = {"B": 1, "I": 4, "i": 4, "L": 8}
MAX_MESSAGE = 64 << 20

# expat's words for an input that ends inside a tag or a character, and for a root that is not closed.
ERRORS = xml.parsers.expat.errors
CUT = (ERRORS.codes[ERRORS.XML_ERROR_UNCLOSED_TOKEN], ERRORS.codes[ERRORS.XML_ERROR_PARTIAL_CHAR])
OPEN_ROOT = ERRORS.codes[ERRORS.XML_ERROR_NO_ELEMENTS]

Seen = namedtuple("Seen", "id offset bytes values layout trailing sized")
Decoded = namedtuple("Decoded", "descriptor exclusive seen stop stop_offset")


class Short(Exception):
    """The bytes of the message end inside a field."""


class Refused(Exception):
    """The descriptor is not one this reader takes."""


def text(raw, charset):
    try:
        return raw.decode(charset)
    except UnicodeDecodeError:
        return raw


def values_of(data, letters, order, charset):
    """The values and how many bytes they took."""
    at, values = 0, []

    def number(width, signed=False):
        nonlocal at
        if at + width > len(data):
            raise Short
        at += width
        return int.from_bytes(data[at - width : at], order, signed=signed)

    def string():
        nonlocal at
        end = data.find(b"\0", at)
        if end < 0:
            raise Short
        raw, at = data[at:end], end + 1
        return text(raw, charset)

    for letter in letters:
        if letter == "S":
            values.append(string())
        elif letter in "AC":
            for read in (string, lambda: number(8)):
                depth = values[letters.index("I")]
                if letter == "C" and number(4) != depth:
                    raise Short
                if depth > len(data):
                    raise Short
                values.append(tuple(read() for _ in range(depth)))
        else:
            values.append(number(WIDTHS[letter], letter == "i"))
    return values, at


def frequency_of(raw, order):
    value = int.from_bytes(raw, order)
    if value > 10**12:
        (as_double,) = struct.unpack((">" if order == "big" else "<") + "d", raw)
        if 1e6 <= as_double <= 1e11:
            return int(as_double)
    return value


def walk(data, at, end, order, exclusive, minor):
    """Reads messages with one meaning of `size`. Returns what was read, why it stopped, and how many bytes made sense."""
    seen, sense, charset = [], 0, "utf-8"

    def done(stop):
        return seen, stop, at, sense

    while at < end:
        if at + 2 > end:
            return done("truncated")
        number = int.from_bytes(data[at : at + 2], order)
        head = data[at : at + 6]
        size = int.from_bytes(head[2:6], order) if len(head) == 6 else None
        unsized = None
        if number == 1 and len(head) >= 4 and all(0x20 <= c < 0x7F for c in head[2:4]):
            stop = data.find(b"\0", at + 2)
            if stop < 0:
                return done("truncated")
            unsized = stop + 1 - at
        elif number == 2 and size is not None and size not in (8, 14):
            unsized = 10
        if unsized is None and size is None:
            return done("truncated")
        total = unsized or size + (6 if exclusive else 0)
        if total < (2 if unsized else 6) or total > MAX_MESSAGE:
            return done("error")
        if at + total > end:
            return done("truncated")
        payload = data[at + (2 if unsized else 6) : at + total]
        layout, trailing = "table", b""
        if number == 1:
            if payload.find(b"\0") != len(payload) - 1:
                return done("error")
            try:
                charset = payload[:-1].decode("ascii")
                if b"\0" in "A".encode(charset):
                    return done("error")
            except (UnicodeError, LookupError):
                return done("error")
            values, sense = [charset], sense + total
        elif number == 2:
            if len(payload) != 8:
                return done("error")
            values, sense = [frequency_of(payload, order)], sense + total
        elif number in LETTERS:
            found = match(number, payload, order, charset, minor)
            if found is None:
                return done("error")
            values, layout, trailing = found
            sense += 0 if layout == "broken" else total
        else:
            values, layout = [payload], "unknown"
        seen.append(Seen(number, at, total, tuple(values), layout, trailing, not unsized))
        at += total
    return done("end")


def match(number, payload, order, charset, minor):
    slack = None
    for layout, letters in [("table", LETTERS[number])] + VARIANTS.get(number, []):
        try:
            values, used = values_of(payload, letters, order, charset)
        except Short:
            continue
        if used == len(payload):
            return values, layout, b""
        if minor > 0 and layout == "table":
            slack = values, layout, payload[used:]
    if slack is None and LETTERS[number].endswith("A"):
        values, used = values_of(payload, LETTERS[number][:-1], order, charset)
        return values, "broken", payload[used:]
    return slack


def decode_binary(data):
    """Reads a whole trace. The meaning of `size` is the one under which more bytes make sense."""
    if len(data) < 12 or data[:4] not in (b"0TBF", b"\0TBF"):
        raise Refused("no descriptor")
    major, minor, platform, endianness = data[4:8]
    if endianness > 1:
        raise Refused("endianness %d" % endianness)
    order = "little" if endianness else "big"
    offset = int.from_bytes(data[8:12], order)
    if major != 1:
        raise Refused("major version %d" % major)
    if offset < 12:
        raise Refused("offset to data %d" % offset)
    start = offset
    if offset > 12:
        for exclusive in (False, True):
            gap, stop, _, _ = walk(data, 12, min(offset, len(data)), order, exclusive, minor)
            if stop == "end" and all(s.id <= 1000 for s in gap):
                start = 12
    readings = [(walk(data, start, len(data), order, e, minor), e) for e in (False, True)]
    (seen, stop, at, _), exclusive = max(readings, key=lambda r: r[0][3])
    return Decoded((major, minor, platform, endianness, offset), exclusive, seen, stop, at)


def decode_bare(data, order="little"):
    """Reads messages that have no descriptor, sizes inclusive."""
    return walk(data, 0, len(data), order, False, 0)


class XmlReader:
    """Elements of the root, or of no root at all, in order: (name, attributes, stack frames, text, byte offset)."""

    def __init__(self, data):
        self.elements, self.instruction, self.depth, self.shift = [], None, 0, 0
        body = data
        rooted = b"<TRACE" in data[:4096].replace(b"\0", b"")
        if not rooted:
            body, self.shift = b"<TRACE>" + data, len(b"<TRACE>")
        self.parser = xml.parsers.expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.ProcessingInstructionHandler = self.processing
        self.stop = "end"
        try:
            self.parser.Parse(body, False)
            if self.depth > 1:
                self.elements.pop()
                self.stop = "truncated"
            self.parser.Parse(b"", True)
        except xml.parsers.expat.ExpatError as error:
            if error.code in CUT:
                self.stop = "truncated"
            elif error.code != OPEN_ROOT:
                self.stop = "error"

    def processing(self, target, words):
        if target == "traceloom":
            self.instruction = dict(w.split("=", 1) for w in words.split()[1:])

    def start(self, name, attributes):
        self.depth += 1
        if self.depth == 2:
            self.elements.append([name, attributes, [], "", self.parser.CurrentByteIndex - self.shift])
        elif self.depth == 3 and name == "annotation" and attributes.get("name") == "stack":
            self.elements[-1][2].append((attributes.get("method", ""), int(attributes.get("line", 0))))

    def end(self, _name):
        self.depth -= 1

    def characters(self, data):
        if self.depth == 2:
            self.elements[-1][3] += data


def ticks_of(decimal, ticks_per_second):
    """Ticks from decimal seconds, to the nearest; digits after the ninth are dropped."""
    whole, _, fraction = decimal.partition(".")
    nanos = int(whole or 0) * 10**9 + int((fraction + "000000000")[:9])
    return (nanos * ticks_per_second * 2 + 10**9) // (2 * 10**9)


def stands_as_elements(body):
    """Whether a custom body is made of elements alone, and so goes into a document as it is."""
    parser, depth, count, bare = xml.parsers.expat.ParserCreate(), 0, 0, False

    def start(_name, _attributes):
        nonlocal depth, count
        depth, count = depth + 1, count + 1

    def end(_name):
        nonlocal depth
        depth -= 1

    def characters(data):
        nonlocal bare
        bare = bare or (depth == 1 and bool(data.strip()))

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    try:
        parser.Parse("<x>%s</x>" % body, True)
    except xml.parsers.expat.ExpatError:
        return False
    return count > 1 and not bare
