"""The catalogue of vectors: what each file holds, in code."""

import io
import zipfile
from collections import namedtuple

import binary
import xmltrace
from binary import Stream
from messages import HOLES, IDS, SCHEMAS, Raw, Unknown, encoding, fields_of, frequency, message

# outcome: ok, warn (read to the end, something to tell), truncated, error. The last three may come with an offset.
Vector = namedtuple("Vector", "name suffix about data records twin outcome at stream exclusive")

NANOS = 10**9
LE = Stream()
BE = Stream(big=True)
EPOCH = 1204279200 * NANOS
UTF8_1GHZ = [encoding("UTF-8"), frequency(NANOS)]

CATALOGUE = []


def add(name, about, items, stream=LE, outcome="ok", at=None, twin=True, cut=None):
    """A binary vector; `cut` takes that many bytes off its end, and the last message with them."""
    data, records = binary.emit(items, stream)
    if cut:
        data, records, twin, outcome = data[:-cut], records[:-1], False, "truncated"
        at = records[-1]["offset"] + records[-1]["bytes"] if records else binary.DESCRIPTOR_SIZE
    xml = xmltrace.document(items, stream)[0] if twin else None
    CATALOGUE.append(Vector(name, ".trcbin", about, data, records, xml, outcome, at, stream, not stream.inclusive))


def add_xml(name, about, made, suffix=".trcxml", outcome="ok", at=None):
    data, records = made
    CATALOGUE.append(Vector(name, suffix, about, data, records, None, outcome, at, None, None))


def orders(name, about, items_of, **options):
    """The same vector in both byte orders."""
    add(name + "_le", about + ", little-endian", items_of(), LE, **options)
    add(name + "_be", about + ", big-endian", items_of(), BE, **options)


def full(number, layout="table"):
    """A message in which no field has its default and no two fields look alike."""
    values = {}
    for at, field in enumerate(fields_of(number, layout), 1):
        code = int("%d%02d" % (number, at), 16)
        values[field.name] = {
            "S": "%s-%d" % (field.name, number),
            "B": 1,
            "I": 0x01000000 + code,
            "i": -480,
            "L": (code << 40) + 0xA1B2C3D4E5,
            "T": EPOCH + number * 1000000 + at,
            "S*": ("pkg/Top.run(I)V", "pkg/Middle.call()Z", "pkg/Bottom.main"),
            "L*": (0x11, 0x2233, 0x44556677),
        }[field.type]
    if "stackMethods" in values:
        values["stackDepth"] = 3
    return message(SCHEMAS[number].name, layout, **values)


def sample():
    """One thread, one class, one method, one call, one wait."""
    return [
        message("node", nodeId="n-7", hostname="ws.example.org", ipaddress="192.0.2.7", timezone=-480, time=EPOCH),
        message("threadStart", threadId=3, time=EPOCH + 10, groupName="main", objIdRef=9, threadName="worker <1>"),
        message("classDef", time=EPOCH + 20, classId=21, sourceName="Shop.java", name="shop/Till"),
        message(
            "methodDef",
            name="-clinit-",
            signature="()V",
            startLineNumber=30,
            endLineNumber=44,
            classIdRef=21,
            methodId=301,
        ),
        message(
            "methodEntry", threadIdRef=3, time=EPOCH + 1000, methodIdRef=301, ticket=1, classIdRef=21, stackDepth=1
        ),
        message(
            "monWait",
            threadIdRef=3,
            time=EPOCH + 2000,
            objIdRef=9,
            timeout=250,
            stackMethods=("shop/Till.-clinit-", "shop/Main.main"),
            stackLines=(31, 7),
        ),
        message(
            "methodExit",
            threadIdRef=3,
            time=EPOCH + 5000500,
            ticket=1,
            threadCpuTime=4000,
            methodIdRef=301,
            classIdRef=21,
        ),
        message("threadEnd", threadIdRef=3, time=EPOCH + 6000000),
    ]


def pair():
    """Two small events for vectors whose property lies elsewhere."""
    return [
        message("runtimeInitDone", threadIdRef=1, time=EPOCH + 5),
        message("gcStart", time=EPOCH + 7),
    ]


def session():
    """All kinds of session messages in the order in which a trace carries them."""
    return [
        message(
            "node", nodeId="6e0d", hostname="build.example.org", ipaddress="198.51.100.4", timezone=300, time=EPOCH
        ),
        message("processCreate", processId="70aa", pid=4242, nodeIdRef="6e0d", time=EPOCH + 1),
        message(
            "agentCreate",
            agentId="a9e7",
            processIdRef="70aa",
            agentName="org.eclipse.tptp.jvmti",
            agentType="Profiler",
            time=EPOCH + 2,
            agentParameters="server=controlled,format=binary",
            version="2.000",
        ),
        message("traceStart", traceId="7ace", agentIdRef="a9e7", time=EPOCH + 3),
        message(
            "filter",
            traceIdRef="7ace",
            pattern="shop",
            genericPattern="PREFIX",
            mode="INCLUDE",
            methodPattern="*",
            methodMode="INCLUDE",
        ),
        message("filter", traceIdRef="7ace", pattern="*", mode="EXCLUDE", methodPattern="*", methodMode="EXCLUDE"),
        message("option", key="TICKET", value="true"),
        message("runtimeInitDone", threadIdRef=1, time=EPOCH + 40),
        message("runtimeShutdown", time=EPOCH + 50),
        message("traceEnd", traceIdRef="7ace", time=EPOCH + 51),
        message("agentDestroy", agentIdRef="a9e7", time=EPOCH + 52),
    ]


def sizes_and_systems():
    for big in (False, True):
        for inclusive in (True, False):
            for sized in (True, False):
                words = (
                    "be" if big else "le",
                    "inclusive" if inclusive else "exclusive",
                    "sized" if sized else "unsized",
                )
                add(
                    "sample_" + "_".join(words),
                    "%s, size %s of the header, system messages %s" % words,
                    UTF8_1GHZ + sample(),
                    Stream(big=big, inclusive=inclusive, sized=sized),
                )


def every_message():
    orders("all_full", "every message, no field at its default", lambda: UTF8_1GHZ + [full(n) for n in SCHEMAS])
    orders(
        "all_default",
        "every message, every field at its default",
        lambda: UTF8_1GHZ + [message(s.name) for s in SCHEMAS.values()],
    )
    add("session_order", "the usual order of a trace without events", UTF8_1GHZ + session())


def values():
    high = [
        message("threadStart", threadId=2**64 - 1, time=EPOCH, objIdRef=2**63, threadName="t"),
        message(
            "objAlloc", threadIdRef=2**64 - 1, time=EPOCH + 1, objId=2**63 + 1, size=2**32 + 1, classIdRef=2**63 - 1
        ),
        message("methodEntry", threadIdRef=2**64 - 1, time=EPOCH + 2, methodIdRef=5, ticket=2**32 - 1, stackDepth=1),
    ]
    orders("high_bits", "ids and a ticket with the top bit set", lambda: UTF8_1GHZ + high)
    add(
        "bytes_above_one",
        "booleans that are neither 0 nor 1",
        UTF8_1GHZ
        + [message("methodDef", name="m", isNative=255, isAbstract=2, isStatic=128, isSynchronized=1, methodId=1)],
    )
    add(
        "timezones",
        "minutes west of UTC, both signs",
        UTF8_1GHZ
        + [message("node", nodeId="n%d" % i, timezone=t) for i, t in enumerate((-840, -480, -1, 0, 300, 720))],
    )
    add(
        "unused_fields_set",
        "fields that the profiler leaves unset have values",
        UTF8_1GHZ
        + [
            message(
                "methodExit",
                transientThreadIdRef=77,
                threadIdRef=3,
                time=EPOCH,
                ticket=4,
                methodIdRef=5,
                transientObjIdRef=78,
                objIdRef=6,
                transientClassIdRef=79,
                classIdRef=7,
                sequenceCounter="12",
                collationValue="c",
                traceIdRef="t",
            ),
            message(
                "gcFinish",
                transientThreadIdRef=80,
                threadIdRef=3,
                time=EPOCH,
                totalObjSpace=4096,
                usedObjSpace=1024,
                usedObjs=17,
                collationValue="c",
                traceIdRef="t",
            ),
        ],
    )
    add(
        "id_reuse",
        "a thread id used again after its end, and by an object",
        UTF8_1GHZ
        + [
            message("threadStart", threadId=5, time=EPOCH, threadName="first"),
            message("threadEnd", threadIdRef=5, time=EPOCH + 10),
            message("threadStart", threadId=5, time=EPOCH + 20, threadName="second"),
            message("objAlloc", threadIdRef=5, time=EPOCH + 30, objId=5, size=16),
            message("threadEnd", threadIdRef=5, time=EPOCH + 40),
        ],
    )
    add(
        "dangling_references",
        "calls of a method and a thread that nothing defines",
        UTF8_1GHZ
        + [
            message("methodEntry", threadIdRef=91, time=EPOCH, methodIdRef=92, ticket=1, classIdRef=93, stackDepth=1),
            message("methodExit", threadIdRef=91, time=EPOCH + 10, ticket=1, methodIdRef=92, classIdRef=93),
        ],
    )
    add(
        "aggregated_calls",
        "a tree of aggregated calls",
        UTF8_1GHZ
        + [
            message("threadStart", threadId=1, time=EPOCH, threadName="main"),
            message(
                "agMethodEntry",
                threadIdRef=1,
                methodIdRef=10,
                baseTime=500,
                minTime=500,
                maxTime=500,
                baseCPUTime=400,
                numCalls=1,
            ),
            message(
                "agMethodEntry",
                threadIdRef=1,
                methodIdRef=11,
                baseTime=90,
                minTime=20,
                maxTime=40,
                baseCPUTime=80,
                numCalls=3,
            ),
            message("agMethodExit", threadIdRef=1, methodIdRef=11),
            message(
                "agMethodEntry",
                threadIdRef=1,
                methodIdRef=12,
                baseTime=7,
                minTime=7,
                maxTime=7,
                baseCPUTime=7,
                numCalls=1,
            ),
            message("agMethodExit", threadIdRef=1, methodIdRef=12),
            message("agMethodExit", threadIdRef=1, methodIdRef=10),
        ],
    )
    add(
        "heap_snapshot",
        "a heap dump, its root and references",
        UTF8_1GHZ
        + [
            message("heapDumpDef", heapDumpId=1, time=EPOCH + 9, name="HeapDump1", basetime=EPOCH),
            message("gcRoot", classIdRef=21, objIdRef=900, type="JNI_GLOBAL"),
            message("objReference", srcIdRef=900, targetIdRef=901, heapDumpIdRef=1),
            message("objReference", srcIdRef=901, targetIdRef=900, heapDumpIdRef=1),
        ],
    )
    add(
        "garbage_collection",
        "objects that live and die, and the collections around them",
        UTF8_1GHZ
        + [
            message(
                "objAlloc",
                threadIdRef=1,
                time=EPOCH,
                isArray=1,
                objId=40,
                size=24,
                lineNumber=12,
                methodIdRef=2,
                classIdRef=3,
            ),
            message("gcStart", time=EPOCH + 100),
            message("gcFinish", time=EPOCH + 200),
            message("gcStart", time=EPOCH + 300),
            message("objFree", time=EPOCH + 310, objIdRef=40, objAge=1),
            message("gcFinish", time=EPOCH + 400),
        ],
    )
    add(
        "custom_bodies",
        "custom messages: elements, text, broken markup, nothing",
        UTF8_1GHZ
        + [
            message("custom", body=body)
            for body in ('<probe n="1"><v>2 &lt; 3</v></probe>', "plain text", "<open>", "a & b", "")
        ],
    )


def ticks_in_seconds(hz, start=5 * 10**12):
    return [message("runtimeInitDone", threadIdRef=1, time=start)] + [
        message("gcStart", time=start + step) for step in (1, 2, 3, hz // 2, hz, hz + 1)
    ]


def frequencies():
    for hz in (1, 1000000, 3579545, 2666666667):
        start = 5 * 10**12 if hz > 1000 else 3600
        add(
            "frequency_%d" % hz,
            "%d ticks a second since an unknown origin" % hz,
            [frequency(hz)] + ticks_in_seconds(hz, start),
        )
    add(
        "frequency_2666666667_be",
        "2666666667 ticks a second, big-endian",
        [frequency(2666666667)] + ticks_in_seconds(2666666667),
        BE,
    )
    add(
        "frequency_10000000_epoch",
        "ticks of 100 ns since the epoch",
        [frequency(10**7)]
        + [message("gcStart", time=1204279200 * 10**7 + 3), message("gcFinish", time=1204279200 * 10**7 + 12345678)],
    )
    add("frequency_missing", "no frequency: nanoseconds are assumed", pair(), outcome="warn")
    add("frequency_zero", "a frequency of 0: nanoseconds are assumed", [frequency(0)] + pair(), outcome="warn")
    orders(
        "frequency_double",
        "the frequency 2.4e9 as an IEEE double",
        lambda: [frequency(2.4e9, as_double=True)] + ticks_in_seconds(2400000000),
        outcome="warn",
    )
    add(
        "frequency_double_unsized",
        "the frequency 2.4e9 as an IEEE double, without a size",
        [frequency(2.4e9, as_double=True)] + ticks_in_seconds(2400000000),
        Stream(sized=False),
        outcome="warn",
    )
    add("frequency_repeated", "the same frequency twice", [frequency(NANOS)] + pair() + [frequency(NANOS)] + pair())
    add(
        "frequency_second_differs",
        "a second frequency: the first one holds",
        [frequency(NANOS)] + pair() + [frequency(10**6)] + pair(),
        outcome="warn",
    )
    add("frequency_after_events", "the only frequency comes after events", pair() + [frequency(10**6)] + pair())


TEXTS = [
    ("UTF8", "utf8", "Zo\u00eb \u041a\u043e\u0434 \u4e2d\u6587 \U0001f600"),
    ("UTF-8", "utf_8", "Zo\u00eb \u041a\u043e\u0434 \u4e2d\u6587 \U0001f600"),
    ("US-ASCII", "us_ascii", "Zoe ~"),
    ("ISO-8859-1", "iso_8859_1", "caf\u00e9 \u00a3 \u00ff"),
    ("ISO-8859-15", "iso_8859_15", "\u20ac \u0153uvre"),
    ("windows-1252", "windows_1252", "\u201cn\u00e9\u201d \u20ac"),
    ("windows-1251", "windows_1251", "\u041f\u043e\u0442\u043e\u043a"),
    ("KOI8-R", "koi8_r", "\u041f\u043e\u0442\u043e\u043a \u044f"),
    ("KOI8-U", "koi8_u", "\u041f\u043e\u0442\u0456\u043a \u0457"),
    ("IBM866", "ibm866", "\u041f\u043e\u0442\u043e\u043a"),
    ("Shift_JIS", "shift_jis", "\u30b9\u30ec\u30c3\u30c9 \u8868"),
    ("EUC-JP", "euc_jp", "\u30b9\u30ec\u30c3\u30c9"),
    ("EUC-KR", "euc_kr", "\uc2a4\ub808\ub4dc"),
    ("Big5", "big5", "\u57f7\u884c\u7dd2"),
    ("GB18030", "gb18030", "\u7ebf\u7a0b \u20ac \U0001f600"),
]


def encodings():
    def items(charset, text):
        return [
            encoding(charset),
            frequency(NANOS),
            message("threadStart", threadId=1, time=EPOCH, groupName=text, threadName=text + "!"),
        ]

    for charset, name, text in TEXTS:
        add("encoding_" + name, "strings in " + charset, items(charset, text))
    add(
        "encoding_iso_8859_1_c1",
        "bytes 80 to 9f in ISO-8859-1 are control characters",
        items("ISO-8859-1", "\u0085\u0092"),
    )
    add("encoding_none", "no encoding message: UTF-8", [frequency(NANOS)] + items("UTF-8", "Zo\u00eb \u4e2d")[2:])
    add(
        "encoding_change",
        "UTF-8, then KOI8-R, then ISO-8859-1",
        items("UTF-8", "\u041f\u043e\u0442\u043e\u043a")
        + [encoding("KOI8-R")]
        + items("KOI8-R", "\u041f\u043e\u0442\u043e\u043a")[2:]
        + [encoding("ISO-8859-1")]
        + items("ISO-8859-1", "caf\u00e9")[2:],
    )
    add(
        "encoding_invalid_bytes",
        "strings that are not UTF-8",
        [
            encoding("UTF-8"),
            frequency(NANOS),
            message("threadStart", threadId=1, time=EPOCH, groupName=b"ok\xff\xfe", threadName=b"\xc3"),
        ],
        outcome="warn",
        twin=False,
    )
    add(
        "encoding_control_characters",
        "strings with characters that XML 1.0 cannot carry",
        [
            encoding("UTF-8"),
            frequency(NANOS),
            message("threadStart", threadId=1, time=EPOCH, groupName="a\x01b", threadName="\x1b[0m"),
        ],
        twin=False,
    )
    add(
        "encoding_markup",
        "strings with quotes, markup, tabs and line ends",
        [encoding("UTF-8"), frequency(NANOS), message("option", key="a<b>&\"c\"'d'", value="tab\there\nnext\r\nlast")],
    )
    wide = "UTF-16LE".encode("ascii") + b"\0"
    add(
        "encoding_utf16_refused",
        "UTF-16 puts zero bytes into strings",
        [frequency(NANOS), Raw(b"\x01\0" + (6 + len(wide)).to_bytes(4, "little") + wide)],
        outcome="error",
        at=26,
        twin=False,
    )


def layouts():
    exits = dict(threadIdRef=3, time=EPOCH + 50, ticket=9, threadCpuTime=40, methodIdRef=301, classIdRef=21)
    entry = dict(threadIdRef=3, time=EPOCH, methodIdRef=301, ticket=9, classIdRef=21, stackDepth=1)
    for big in (False, True):
        end, stream = ("be" if big else "le"), Stream(big=big)
        add(
            "entry_wide_" + end,
            "methodEntry with two more ids, 100 bytes",
            UTF8_1GHZ
            + [
                message("methodEntry", "wide", objIdRef=66, transientClassIdRef=67, **entry),
                message("methodExit", **exits),
            ],
            stream,
        )
        add(
            "exit_wide_" + end,
            "methodExit with a numeric sequenceCounter, 92 bytes",
            UTF8_1GHZ + [message("methodEntry", **entry), message("methodExit", "wide", sequenceCounter=5, **exits)],
            stream,
        )
    # The counters are small on purpose: two longs without a zero byte would read as a string of the printed layout.
    add(
        "both_wide_strings",
        "both layouts, strings at the tail set",
        UTF8_1GHZ
        + [
            message(
                "methodEntry",
                "wide",
                objIdRef=66,
                transientClassIdRef=67,
                sequenceCounter=8,
                collationValue="c",
                traceIdRef="t",
                **entry
            ),
            message("methodExit", "wide", sequenceCounter=9, collationValue="c", traceIdRef="t", **exits),
        ],
    )
    add(
        "both_wide_exclusive",
        "both layouts, size without the header",
        UTF8_1GHZ
        + [
            message("methodEntry", "wide", objIdRef=66, transientClassIdRef=67, **entry),
            message("methodExit", "wide", sequenceCounter=5, **exits),
        ],
        Stream(inclusive=False),
    )
    add(
        "exit_wide_zero_counter",
        "methodExit of 92 bytes whose counter is 0",
        UTF8_1GHZ + [message("methodExit", "wide", **exits)],
    )


MONITORS = ("monWait", "monWaited", "monContendedEnter", "monContendedEntered")


def monitor_events(depth, layout="table"):
    methods = tuple("shop/Till.step%d" % i for i in range(depth))
    lines = tuple(100 + 7 * i for i in range(depth))
    return [
        message(name, layout, threadIdRef=3, time=EPOCH + i, objIdRef=9, stackMethods=methods, stackLines=lines)
        for i, name in enumerate(MONITORS)
    ]


def monitors():
    for depth in (0, 1, 4):
        add(
            "monitors_depth_%d" % depth,
            "every monitor message with %d frames" % depth,
            UTF8_1GHZ + monitor_events(depth),
        )
    add("monitors_depth_4_be", "every monitor message with 4 frames, big-endian", UTF8_1GHZ + monitor_events(4), BE)
    add("monitors_depth_60", "a stack of 60 frames", UTF8_1GHZ + monitor_events(60)[:1])
    add(
        "monitors_empty_names",
        "frames without a name or a line",
        UTF8_1GHZ
        + [message("monWait", threadIdRef=3, time=EPOCH, objIdRef=9, stackMethods=("", "a", ""), stackLines=(0, 0, 5))],
    )
    for depth in (0, 2):
        add(
            "monitors_counted_depth_%d" % depth,
            "arrays with a count of their own, %d frames" % depth,
            UTF8_1GHZ + monitor_events(depth, "counted"),
            outcome="warn",
        )
    add(
        "monitors_counted_be",
        "arrays with a count of their own, big-endian",
        UTF8_1GHZ + monitor_events(2, "counted"),
        BE,
        outcome="warn",
    )
    add(
        "monitors_broken_arrays",
        "arrays that fit neither reading: the bytes are kept",
        UTF8_1GHZ
        + [message("monWait", "broken", trailing=b"one\0\x01\0\0", threadIdRef=3, time=EPOCH, objIdRef=9, stackDepth=2)]
        + pair(),
        outcome="warn",
        twin=False,
    )
    add(
        "monitors_timed_out",
        "timeout as asked for, then as a flag",
        UTF8_1GHZ
        + [
            message("monWait", threadIdRef=3, time=EPOCH, objIdRef=9, timeout=250),
            message("monWaited", threadIdRef=3, time=EPOCH + 250 * 10**6, objIdRef=9, timeout=1),
        ],
    )
    add(
        "monitors_wait_and_reenter",
        "a wait in which the monitor is entered again",
        UTF8_1GHZ
        + [
            message("monWait", threadIdRef=3, time=EPOCH, objIdRef=9),
            message("monContendedEnter", threadIdRef=3, time=EPOCH + 10, objIdRef=9, threadOwner=4),
            message("monContendedEntered", threadIdRef=3, time=EPOCH + 20, objIdRef=9),
            message("monWaited", threadIdRef=3, time=EPOCH + 30, objIdRef=9),
        ],
    )


def unknown_ids():
    payload = b"\x01\x02future\0"
    add(
        "unknown_holes",
        "the ids that no table fills",
        UTF8_1GHZ + [Unknown(n, payload) for n in HOLES] + pair(),
        outcome="warn",
    )
    add(
        "unknown_above_tables",
        "ids above the tables",
        UTF8_1GHZ + [Unknown(n, payload) for n in (1042, 1045, 1500, 32000, 32767)] + pair(),
        outcome="warn",
    )
    add(
        "unknown_system",
        "system ids without a meaning",
        UTF8_1GHZ + [Unknown(n, payload) for n in (0, 3, 32, 1000)] + pair(),
        outcome="warn",
    )
    add(
        "unknown_negative",
        "ids above 32767, which no list assigns",
        UTF8_1GHZ + [Unknown(n, payload) for n in (32768, 65535)] + pair(),
        outcome="warn",
    )
    add(
        "unknown_empty",
        "an unknown message without a payload",
        UTF8_1GHZ + [Unknown(1500, b"")] + pair(),
        outcome="warn",
    )
    add(
        "unknown_exclusive_be",
        "unknown messages, big-endian, size without the header",
        UTF8_1GHZ + [Unknown(1500, payload)] + pair(),
        Stream(big=True, inclusive=False),
        outcome="warn",
    )
    for inclusive in (True, False):
        add(
            "unknown_first_" + ("inclusive" if inclusive else "exclusive"),
            "an unknown message before the first one that tells what size means",
            [Unknown(1500, payload)] + pair(),
            Stream(inclusive=inclusive),
            outcome="warn",
        )


def descriptors():
    items = UTF8_1GHZ + pair()
    add("descriptor_only", "a trace without messages", [])
    add("system_only", "a trace with system messages alone", UTF8_1GHZ)
    add("no_system_exclusive", "data alone, size without the header", pair(), Stream(inclusive=False), outcome="warn")
    add(
        "system_mixed",
        "one system message without a size, one with",
        [encoding("UTF-8", sized=False), frequency(NANOS, sized=True)] + pair(),
    )
    add("magic_nul", "the magic starts with NUL", items, Stream(magic=b"\0TBF"))
    add("platform_32", "a 32-bit process: no width changes", items, Stream(platform=0))
    add("platform_7", "a platform nobody defined", items, Stream(platform=7), outcome="warn")
    add("gap_opaque", "16 bytes of something before the data", items, Stream(gap=(Raw(b"room for later.."),)))
    add(
        "gap_system",
        "the system messages stand before the data",
        pair(),
        Stream(gap=(encoding("KOI8-R"), frequency(10**7))),
    )
    add(
        "gap_system_be",
        "the system messages stand before the data, big-endian",
        pair(),
        Stream(big=True, gap=(encoding("KOI8-R"), frequency(10**7))),
    )
    add(
        "minor_1_unknown_ids",
        "a later minor version with messages of its own",
        items + [Unknown(1046, b"new")] + pair(),
        Stream(minor=1),
        outcome="warn",
    )
    add(
        "minor_1_longer_messages",
        "a later minor version with more fields at the end",
        UTF8_1GHZ
        + [
            message("runtimeInitDone", trailing=b"\x2a\0\0\0", threadIdRef=1, time=EPOCH),
            message("threadStart", trailing=b"prio\0\x05", threadId=1, time=EPOCH + 1, threadName="main"),
        ]
        + pair(),
        Stream(minor=1),
        outcome="warn",
    )
    for name, about, stream, at in (
        ("major_2", "another major version", Stream(major=2), 4),
        ("endianness_2", "a byte order nobody defined", Stream(endianness=2), 7),
        ("offset_11", "data inside the descriptor", Stream(offset_to_data=11), 8),
        ("magic_wrong", "not this format", Stream(magic=b"1TBF"), 0),
    ):
        data, _ = binary.emit(items, stream)
        CATALOGUE.append(Vector("refused_" + name, ".trcbin", about, data, [], None, "error", at, stream, False))


def damaged():
    items = UTF8_1GHZ + pair()
    add("truncated_in_header", "cut inside the header of the last message", items, cut=28)
    add("truncated_in_id", "cut inside the id of the last message", items, cut=31)
    add("truncated_in_number", "cut inside a number", items, cut=12)
    add("truncated_in_string", "cut inside a string", UTF8_1GHZ + [message("custom", body="cut here")], cut=4)
    add("truncated_by_one", "the last byte is missing", items, cut=1)
    add(
        "truncated_be_exclusive",
        "cut inside a number, big-endian, size without the header",
        items,
        Stream(big=True, inclusive=False),
        cut=12,
    )
    add(
        "truncated_in_unsized_frequency",
        "cut inside a frequency without a size",
        [encoding("UTF-8"), frequency(NANOS)],
        Stream(sized=False),
        cut=3,
    )
    data, _ = binary.emit([])
    CATALOGUE.append(
        Vector(
            "truncated_in_descriptor",
            ".trcbin",
            "the file ends inside the descriptor",
            data[:7],
            [],
            None,
            "error",
            7,
            LE,
            False,
        )
    )
    end = len(binary.emit(items)[0])
    add(
        "size_below_header",
        "a message shorter than its header",
        items + [Raw(b"\xf7\x03\x05\0\0\0"), Raw(bytes(60))],
        outcome="error",
        at=end,
        twin=False,
    )
    add(
        "size_huge",
        "a message of 2 GiB",
        items + [Raw(b"\xf7\x03\xff\xff\xff\x7f"), Raw(bytes(60))],
        outcome="error",
        at=end,
        twin=False,
    )
    add(
        "size_too_small_for_fields",
        "a methodEntry without its last 8 bytes, 76 in all",
        items + [Unknown(1015, bytes(70))],
        outcome="error",
        at=end,
        twin=False,
    )
    CATALOGUE[-1] = CATALOGUE[-1]._replace(records=CATALOGUE[-1].records[:-1])
    add(
        "string_without_end",
        "the last string lacks its NUL",
        items + [Unknown(1041, b"no end")],
        outcome="error",
        at=end,
        twin=False,
    )
    CATALOGUE[-1] = CATALOGUE[-1]._replace(records=CATALOGUE[-1].records[:-1])


def xml_vectors():
    items = UTF8_1GHZ + sample()
    pairs = xmltrace.elements(items)
    lines = [part for pair in pairs for part in (pair, "\n")]
    plain, tail = [xmltrace.prolog() + "\n", "<TRACE>\n"], ["</TRACE>\n"]

    add_xml("xml_fragments", "elements of a live stream, one a line", xmltrace.fragments(items))
    add_xml(
        "xml_fragments_one_line",
        "elements of a live stream without anything between them",
        xmltrace.assemble(pairs + ["\n"]),
    )
    add_xml("xml_no_end_tag", "the end tag of the root is missing", xmltrace.document(items, LE, end_tag=False))
    add_xml(
        "xml_no_instruction",
        "as another tool writes it, without our processing instruction",
        xmltrace.assemble(plain + lines + tail),
    )
    add_xml("xml_no_prolog", "a root without a prolog", xmltrace.assemble(["<TRACE>\n"] + lines + tail))
    add_xml("xml_empty_root", "a trace without events", xmltrace.assemble(plain + tail))
    add_xml("xml_byte_order_mark", "UTF-8 with a byte order mark", xmltrace.assemble(["\ufeff"] + plain + lines + tail))
    add_xml(
        "xml_crlf",
        "lines end with CR LF",
        xmltrace.assemble([p.replace("\n", "\r\n") if isinstance(p, str) else p for p in plain + lines + tail]),
    )

    whole, records = xmltrace.fragments(items)
    last = records[-1]
    CATALOGUE.append(
        Vector(
            "xml_cut_in_tag",
            ".trcxml",
            "the input ends inside an attribute",
            whole[: last["offset"] + 40],
            records[:-1],
            None,
            "truncated",
            last["offset"],
            None,
            None,
        )
    )
    wait = next(r for r in records if r["name"] == "monWait")
    CATALOGUE.append(
        Vector(
            "xml_cut_in_children",
            ".trcxml",
            "the input ends between an element's children",
            whole[: whole.index(b"/>", wait["offset"]) + 2],
            records[: records.index(wait)],
            None,
            "truncated",
            wait["offset"],
            None,
            None,
        )
    )

    entry = message("methodEntry", threadIdRef=3, time=EPOCH, methodIdRef=301, ticket=1, classIdRef=21, stackDepth=1)
    leave = message("methodExit", threadIdRef=3, time=EPOCH + 9, methodIdRef=301, ticket=1, classIdRef=21)
    around = lambda *parts: xmltrace.assemble(plain + list(parts) + tail)

    add_xml(
        "xml_unknown_elements",
        "elements of the older vocabulary, one with children",
        around(
            '<methodCount methodIdRef="301" count="5"/>\n',
            (entry, xmltrace.element(entry)),
            "\n",
            '<throw threadIdRef="3" time="1.000000000"><value><code type="Java" value="x"/></value><methodEntry threadIdRef="99"/></throw>\n',
            (leave, xmltrace.element(leave)),
            "\n",
        ),
    )
    add_xml(
        "xml_unknown_attributes",
        "an exit with the overhead of the older agent",
        around(
            (entry, xmltrace.element(entry)),
            "\n",
            (leave, xmltrace.element(leave).replace("/>", ' overhead="0.000000123"/>')),
            "\n",
        ),
    )
    add_xml(
        "xml_any_attribute_order",
        "attributes in another order than usual",
        around(
            (
                entry,
                '<methodEntry stackDepth="1" ticket="1" classIdRef="21" methodIdRef="301" time="1204279200.000000000" threadIdRef="3"/>',
            ),
            "\n",
        ),
    )
    add_xml(
        "xml_single_quotes",
        "attributes in single quotes",
        around((message("option", key='say "hi"', value="a"), "<option key='say \"hi\"' value='a'/>"), "\n"),
    )
    add_xml(
        "xml_spaces",
        "spaces and line ends inside a tag",
        around((entry, xmltrace.element(entry).replace(" ", "\n\t ").replace("=", " = ").replace("/>", " \n/>")), "\n"),
    )
    add_xml(
        "xml_open_and_close",
        "an element with an end tag of its own",
        around((entry, xmltrace.element(entry).replace("/>", "></methodEntry>")), "\n"),
    )
    add_xml(
        "xml_comments",
        "comments, a CDATA section and an instruction between the elements",
        around(
            '<!-- <methodEntry threadIdRef="1"/> -->\n',
            (entry, xmltrace.element(entry)),
            "<![CDATA[<gcStart/>]]><?other x?>\n",
            (leave, xmltrace.element(leave)),
            "\n",
        ),
    )
    add_xml(
        "xml_references",
        "character and entity references",
        around(
            (
                message("option", key="<&>'\"", value="A\u00e9\n"),
                '<option key="&lt;&amp;&gt;&apos;&quot;" value="&#65;&#xE9;&#10;"/>',
            ),
            "\n",
        ),
    )
    add_xml(
        "xml_zeros_printed",
        "attributes that are 0 or empty are printed",
        around(
            (
                entry,
                xmltrace.element(entry).replace(
                    "<methodEntry", '<methodEntry transientThreadIdRef="0" threadCpuTime="0.000000000" traceIdRef=""'
                ),
            ),
            "\n",
        ),
    )
    add_xml(
        "xml_stack_depth_printed",
        "a monitor element with its frames and their count",
        around(
            (
                monitor_events(2)[0],
                xmltrace.element(monitor_events(2)[0]).replace('objIdRef="9"', 'objIdRef="9" stackDepth="2"'),
            ),
            "\n",
        ),
    )
    add_xml(
        "xml_other_annotations",
        "annotations that are not frames",
        around(
            (
                monitor_events(1)[0],
                xmltrace.element(monitor_events(1)[0])
                .replace("></", '><annotation name="note" value="x"/></')
                .replace("<annotation", '<annotation name="other"/><annotation', 1),
            ),
            "\n",
        ),
    )

    times = [
        ("12", 12 * NANOS),
        ("12.5", 12500000000),
        ("12.000000001", 12000000001),
        (".25", 250000000),
        ("1204279200.304424453", 1204279200304424453),
        ("0.0", 0),
        ("12.1234567899", 12123456789),
    ]
    add_xml(
        "xml_time_digits",
        "times with none, some and more than nine fraction digits",
        around(
            *[
                part
                for text, ticks in times
                for part in ((message("gcStart", time=ticks), '<gcStart time="%s"/>' % text), "\n")
            ]
        ),
    )

    latin = [
        message("threadStart", threadId=1, time=EPOCH, threadName="caf\u00e9"),
        message("threadEnd", threadIdRef=1, time=EPOCH + 1),
    ]
    for charset, name in (("ISO-8859-1", "iso_8859_1"), ("windows-1252", "windows_1252"), ("UTF-16", "utf_16")):
        parts = (
            [xmltrace.prolog(charset) + "\n", "<TRACE>\n"]
            + [p for m in latin for p in ((m, xmltrace.element(m)), "\n")]
            + tail
        )
        if charset == "UTF-16":
            parts, charset = ["\ufeff"] + parts, "UTF-16LE"
        add_xml("xml_declared_" + name, "a document in " + charset, xmltrace.assemble(parts, charset))

    document, records = xmltrace.document(items, LE)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        entry_info = zipfile.ZipInfo("trace.trcxml", (2008, 2, 29, 0, 0, 0))
        entry_info.create_system = 3
        archive.writestr(entry_info, document)
    add_xml(
        "xml_zipped",
        "a document in a ZIP archive, stored; offsets count from the start of the document",
        (packed.getvalue(), records),
        ".zip",
    )


def catalogue():
    """Every vector, in a fixed order."""
    if not CATALOGUE:
        for part in (
            sizes_and_systems,
            every_message,
            values,
            frequencies,
            encodings,
            layouts,
            monitors,
            unknown_ids,
            descriptors,
            damaged,
            xml_vectors,
        ):
            part()
        names = [v.name for v in CATALOGUE]
        assert len(set(names)) == len(names), "two vectors have one name"
        assert set(IDS.values()) == set(SCHEMAS)
    return CATALOGUE
