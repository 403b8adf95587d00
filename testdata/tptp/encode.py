#!/usr/bin/env python3
"""Writes TPTP traces, binary and XML, from lists of messages. Python 3.8 or later, nothing else.

    encode.py generate DIR        write the vectors
    encode.py check [DIR]         derive the vectors again, compare them with the files and decode them
    encode.py big FILE N SEED     write a trace of N data messages; a FILE that ends in .trcxml becomes XML
    encode.py decode FILE         print a binary trace, one JSON object a message
    encode.py compare [--bare] FILE...   decode binary traces, encode them again, compare the bytes

As a library: `message`, `encoding`, `frequency`, `Unknown` and `Raw` make items, `emit` writes them as binary,
`document` and `fragments` as XML; `Stream` says how.
"""

import argparse
import json
import os
import sys

sys.dont_write_bytecode = True

import decode
from big import MIN_MESSAGES, Trace
from binary import Stream, Writer, bare, emit, plain, record
from messages import (
    SCHEMAS,
    Message,
    Raw,
    Unknown,
    default_of,
    encoding,
    fields_of,
    frequency,
    message,
)
from vectors import catalogue
from xmltrace import NANOS, document, element, fragments

__all__ = [
    "Raw",
    "Stream",
    "Unknown",
    "Writer",
    "bare",
    "document",
    "element",
    "emit",
    "encoding",
    "fragments",
    "frequency",
    "message",
]

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_VECTOR = 8 * 1024
MAX_ALL = 300 * 1024


def json_line(value):
    return json.dumps(value, separators=(",", ":")) + "\n"


def files_of(vector):
    """The files of one vector, by name."""
    files = {vector.name + vector.suffix: vector.data}
    if vector.twin is not None:
        files[vector.name + ".trcxml"] = vector.twin
    if vector.records:
        files[vector.name + ".expected.jsonl"] = "".join(map(json_line, vector.records)).encode("ascii")
    return files


def index_entry(vector):
    entry = {"file": vector.name + vector.suffix, "about": vector.about, "outcome": vector.outcome}
    entry["messages"] = len(vector.records)
    if vector.at is not None:
        entry["at"] = vector.at
    if vector.twin is not None:
        entry["twin"] = vector.name + ".trcxml"
    s = vector.stream
    if s is not None:
        entry.update(
            endian="big" if s.big else "little",
            size="inclusive" if s.inclusive else "exclusive",
            system="sized" if s.sized else "unsized",
            version="%d.%d" % (s.major, s.minor),
            platform=s.platform,
        )
    return entry


def all_files():
    files = {"index.jsonl": "".join(json_line(index_entry(v)) for v in catalogue()).encode("ascii")}
    for vector in catalogue():
        files.update(files_of(vector))
    return files


def generate(directory):
    os.makedirs(directory, exist_ok=True)
    for name, data in all_files().items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


def big(path, count, seed):
    items = [encoding("UTF-8"), frequency(NANOS)]
    with open(path, "wb", buffering=1 << 20) as out:
        if path.endswith(".trcxml"):
            head, _ = document(items, Stream(), end_tag=False)
            out.write(head)
            for number, values in Trace(count, seed):
                out.write((element(Message(number, values, "table", b"")) + "\n").encode("utf-8"))
            out.write(b"</TRACE>\n")
        else:
            writer = Writer()
            out.write(writer.descriptor() + b"".join(map(writer.write, items)))
            for number, values in Trace(count, seed):
                out.write(writer.data(number, values))


def item_of(seen):
    """An item that encodes to what the decoder has seen."""
    if seen.id == 1:
        return encoding(seen.values[0], seen.sized)
    if seen.id == 2:
        return frequency(seen.values[0], seen.sized)
    if seen.layout == "unknown":
        return Unknown(seen.id, seen.values[0])
    return Message(seen.id, seen.values, seen.layout, seen.trailing)


def records_of(decoded):
    return [record(item_of(seen), seen.offset, seen.bytes) for seen in decoded.seen]


def reencode(data, is_bare):
    if is_bare:
        seen, stop, _, _ = decode.decode_bare(data)
        return b"".join(bare(item_of(s)) for s in seen) if stop == "end" else None
    read = decode.decode_binary(data)
    major, minor, platform, endianness, offset = read.descriptor
    if offset != 12:
        return None
    stream = Stream(
        big=not endianness, inclusive=not read.exclusive, major=major, minor=minor, platform=platform, magic=data[:4]
    )
    again, _ = emit([item_of(s) for s in read.seen], stream)
    # A trace that was cut keeps the bytes of the message it was cut in.
    return again + data[read.stop_offset :] if read.stop == "truncated" else again


def compare(paths, is_bare):
    good = True
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        same = reencode(data, is_bare) == data
        good = good and same
        print("%s: %s" % (path, "same %d bytes" % len(data) if same else "DIFFERS"))
    return good


class Check:
    """Counts what was compared and tells what differs."""

    def __init__(self):
        self.checked, self.failures = 0, []

    def equal(self, what, left, right):
        self.checked += 1
        if left != right:
            self.failures.append("%s: %r is not %r" % (what, left, right))

    def table(self):
        """The table against the smallest sizes that stand in it, and against the decoder's own table."""
        self.equal("number of messages", len(SCHEMAS), 30)
        self.equal("ids", sorted(SCHEMAS), sorted(decode.LETTERS))
        for number, schema in SCHEMAS.items():
            self.equal("%s, smallest size" % schema.name, len(bare(message(schema.name))), schema.min_size)
            letters = "".join({"T": "L", "S*": "A", "L*": ""}.get(f.type, f.type) for f in schema.fields)
            self.equal("%s, letters" % schema.name, letters, decode.LETTERS[number])
        self.equal("wide entry", len(bare(message("methodEntry", "wide"))), 100)
        self.equal("wide exit", len(bare(message("methodExit", "wide"))), 92)

    def files(self, directory):
        files = all_files()
        present = set(os.listdir(directory))
        self.equal("files", sorted(present ^ set(files)), [])
        for name, data in files.items():
            if name in present:
                with open(os.path.join(directory, name), "rb") as file:
                    self.equal(name + " as derived", file.read() == data, True)
            if not name.endswith(".jsonl"):
                self.equal(name + " is small", len(data) < MAX_VECTOR, True)
        self.equal("all files together are small", sum(map(len, files.values())) < MAX_ALL, True)

    def binary(self, vector):
        if (
            vector.outcome == "error"
            and not vector.records
            and vector.name.startswith("refused_")
            or vector.name == "truncated_in_descriptor"
        ):
            try:
                decode.decode_binary(vector.data)
                self.equal(vector.name + " is refused", False, True)
            except decode.Refused:
                self.equal(vector.name + " is refused", True, True)
            return
        read = decode.decode_binary(vector.data)
        self.equal(vector.name, records_of(read), json.loads(json.dumps(vector.records)))
        self.equal(vector.name + ", meaning of size", read.exclusive, vector.exclusive if vector.records else False)
        stop = vector.outcome if vector.outcome in ("error", "truncated") else "end"
        self.equal(
            vector.name + ", end",
            (read.stop, read.stop_offset),
            (stop, len(vector.data) if vector.at is None else vector.at),
        )

    def twin(self, vector):
        read = decode.decode_binary(vector.data)
        expected = [s for s in map(item_of, read.seen) if isinstance(s, Message)]
        declared = next((s.values[0] for s in read.seen if s.id == 2), None)
        self.xml(vector.name + " twin", vector.twin, [(m.name, m.fields, None) for m in expected], declared or NANOS)

    def xml_vector(self, vector):
        data = vector.data
        if vector.suffix == ".zip":
            start = data.index(b"<?xml")
            data = data[start : data.index(b"</TRACE>") + len(b"</TRACE>\n")]
        expected = [(r["name"], r["fields"], r["offset"]) for r in vector.records]
        stop = "truncated" if vector.outcome == "truncated" else "end"
        self.xml(vector.name, data, expected, NANOS, stop)
        for r in vector.records:
            part = data[r["offset"] : r["offset"] + r["bytes"]].replace(b"\0", b"")
            self.equal(
                "%s, element at %d" % (vector.name, r["offset"]),
                (part.startswith(b"<" + r["name"].encode()), part.endswith((b"/>", b"</%s>" % r["name"].encode()))),
                (True, True),
            )

    def xml(self, what, data, expected, ticks_per_second, stop="end"):
        """Elements against (name, fields, offset). A custom message may stand there as elements of its own."""
        reader = decode.XmlReader(data)
        self.equal(what + ", end", reader.stop, stop)
        known = {schema.name for schema in SCHEMAS.values()}
        elements = [e for e in reader.elements if e[0] in known]
        expected = [e for e in expected if e[0] != "custom" or not decode.stands_as_elements(e[1]["body"])]
        self.equal(what + ", elements", [e[0] for e in elements], [e[0] for e in expected])
        for (name, attributes, frames, text, offset), (_, fields, at) in zip(elements, expected):
            if at is not None and not data.startswith((b"\xff\xfe", b"\xef\xbb\xbf")):
                self.equal(what + ", offset", offset, at)
            self.equal(
                "%s, %s" % (what, name),
                from_xml(name, attributes, frames, text, fields, ticks_per_second),
                {k: plain(v) for k, v in fields.items()},
            )


def from_xml(name, attributes, frames, text, like, ticks_per_second):
    """The fields of an element, in the layout of `like`."""
    number = next(s.id for s in SCHEMAS.values() if s.name == name)
    wide = (number == 1015 and "objIdRef" in like) or (number == 1016 and isinstance(like["sequenceCounter"], int))
    fields = {}
    for field in fields_of(number, "wide" if wide else "table"):
        given = attributes.get(field.name)
        if field.name == "body":
            value = text
        elif field.type == "S*":
            value = [method for method, _ in frames]
        elif field.type == "L*":
            value = [line for _, line in frames]
        elif field.name == "stackDepth" and "stackMethods" in like:
            value = len(frames)
        elif given is None:
            value = default_of(field.type)
        elif field.type == "T":
            value = decode.ticks_of(given, ticks_per_second)
            # A tick shorter than a nanosecond does not survive decimal seconds.
            if ticks_per_second > NANOS and abs(value - like[field.name]) <= ticks_per_second // (2 * NANOS) + 1:
                value = like[field.name]
        else:
            value = given if field.type == "S" else int(given)
        fields[field.name] = value
    return fields


def check(directory):
    run = Check()
    run.table()
    run.files(directory)
    for vector in catalogue():
        if vector.suffix != ".trcbin":
            run.xml_vector(vector)
            continue
        run.binary(vector)
        if vector.twin is not None:
            run.twin(vector)
    for failure in run.failures:
        print(failure[:2000], file=sys.stderr)
    print("%d vectors, %d comparisons, %d differences" % (len(catalogue()), run.checked, len(run.failures)))
    return not run.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("generate").add_argument("directory")
    commands.add_parser("check").add_argument("directory", nargs="?", default=os.path.join(HERE, "vectors"))
    command = commands.add_parser("big")
    command.add_argument("file")
    command.add_argument("count", type=int)
    command.add_argument("seed", type=int)
    commands.add_parser("decode").add_argument("file")
    command = commands.add_parser("compare")
    command.add_argument("--bare", action="store_true", help="messages without a descriptor")
    command.add_argument("files", nargs="+")
    args = parser.parse_args()

    if args.command == "generate":
        generate(args.directory)
    elif args.command == "big":
        if args.count < MIN_MESSAGES:
            parser.error("N is at least %d" % MIN_MESSAGES)
        big(args.file, args.count, args.seed)
    elif args.command == "check":
        return 0 if check(args.directory) else 1
    elif args.command == "compare":
        return 0 if compare(args.files, args.bare) else 1
    else:
        with open(args.file, "rb") as file:
            read = decode.decode_binary(file.read())
        for seen in records_of(read):
            sys.stdout.write(json_line(seen))
        if read.stop != "end":
            print("%s at 0x%x" % (read.stop, read.stop_offset), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
