"""The messages of the TPTP trace formats, as a table.

One line a message: id, smallest size on the wire (header included, every string null), name, fields in wire order.
Types: B byte, I unsigned 32 bits, i signed 32 bits, L unsigned 64 bits, T a 64-bit count of ticks (decimal seconds in XML),
S string ended by NUL, S* and L* arrays of as many elements as `stackDepth` says.
"""

from collections import namedtuple

TABLE = """
1001 21 node nodeId:S hostname:S ipaddress:S timezone:i time:T
1002 22 processCreate processId:S name:S pid:I nodeIdRef:S time:T application_executable:S
1003 20 agentCreate agentId:S processIdRef:S agentName:S agentType:S time:T agentParameters:S version:S
1004 15 agentDestroy agentIdRef:S time:T
1005 17 traceStart traceId:S agentIdRef:S time:T collationValue:S
1006 16 traceEnd traceIdRef:S time:T collationValue:S
1007 13 filter traceIdRef:S pattern:S genericPattern:S mode:S methodPattern:S methodGenericPattern:S methodMode:S
1008  9 option traceIdRef:S key:S value:S
1009 51 threadStart transientThreadId:L threadId:L time:T groupName:S parentName:S transientObjIdRef:L objIdRef:L threadName:S collationValue:S traceIdRef:S
1010 32 threadEnd transientThreadIdRef:L threadIdRef:L time:T collationValue:S traceIdRef:S
1011 86 classDef transientThreadIdRef:L threadIdRef:L time:T numInterfaces:I interfaceNames:S transientClassId:L classId:L sourceName:S classLoader:S superclass:S transientObjIdRef:L objIdRef:L name:S access:S numStaticFields:I numMethods:I numInstanceFields:I collationValue:S traceIdRef:S
1012 56 methodDef name:S signature:S isNative:B isAbstract:B isStatic:B isSynchronized:B exceptions:S startLineNumber:L endLineNumber:L signatureNotation:S transientClassIdRef:L classIdRef:L methodId:L collationValue:S traceIdRef:S
1014 90 objAlloc transientThreadIdRef:L threadIdRef:L time:T isArray:B transientObjId:L objId:L size:L lineNumber:L methodIdRef:L transientClassIdRef:L classIdRef:L contextData:S collationValue:S traceIdRef:S
1015 84 methodEntry transientThreadIdRef:L threadIdRef:L time:T methodIdRef:L ticket:I transientObjIdRef:L classIdRef:L threadCpuTime:T sequenceCounter:L stackDepth:L collationValue:S traceIdRef:S
1016 85 methodExit transientThreadIdRef:L threadIdRef:L time:T ticket:I threadCpuTime:T methodIdRef:L transientObjIdRef:L objIdRef:L transientClassIdRef:L classIdRef:L sequenceCounter:S collationValue:S traceIdRef:S
1023 32 gcStart transientThreadIdRef:L threadIdRef:L time:T collationValue:S traceIdRef:S
1024 72 objFree transientThreadIdRef:L threadIdRef:L time:T transientObjIdRef:L objIdRef:L objAge:L sequenceCounter:L stackDepth:L collationValue:S traceIdRef:S
1027 56 gcFinish transientThreadIdRef:L threadIdRef:L time:T totalObjSpace:L usedObjSpace:L usedObjs:L collationValue:S traceIdRef:S
1030 32 runtimeInitDone transientThreadIdRef:L threadIdRef:L time:T collationValue:S traceIdRef:S
1031 32 runtimeShutdown transientThreadIdRef:L threadIdRef:L time:T collationValue:S traceIdRef:S
1032 42 monWait threadIdRef:L time:T objIdRef:L timeout:L stackDepth:I stackMethods:S* stackLines:L*
1033 42 monWaited threadIdRef:L time:T objIdRef:L timeout:L stackDepth:I stackMethods:S* stackLines:L*
1034 42 monContendedEnter threadIdRef:L time:T objIdRef:L threadOwner:L stackDepth:I stackMethods:S* stackLines:L*
1035 34 monContendedEntered threadIdRef:L time:T objIdRef:L stackDepth:I stackMethods:S* stackLines:L*
1036 62 agMethodEntry threadIdRef:L methodIdRef:L baseTime:T minTime:T maxTime:T baseCPUTime:T numCalls:L
1037 22 agMethodExit threadIdRef:L methodIdRef:L
1038 31 heapDumpDef heapDumpId:L time:T name:S basetime:T
1039 23 gcRoot classIdRef:L objIdRef:L type:S
1040 30 objReference srcIdRef:L targetIdRef:L heapDumpIdRef:L
1041  7 custom body:S
"""

HOLES = (1013, 1017, 1018, 1019, 1020, 1021, 1022, 1025, 1026, 1028, 1029)

Field = namedtuple("Field", "name type")
Schema = namedtuple("Schema", "id min_size name fields")


def _parse_table():
    schemas = {}
    for line in TABLE.split("\n"):
        if line:
            number, min_size, name, *fields = line.split()
            schemas[int(number)] = Schema(int(number), int(min_size), name, tuple(Field(*f.split(":")) for f in fields))
    return schemas


SCHEMAS = _parse_table()
IDS = {schema.name: schema.id for schema in SCHEMAS.values()}


def _wide_entry(fields):
    at = [f.name for f in fields].index("transientObjIdRef") + 1
    return fields[:at] + (Field("objIdRef", "L"), Field("transientClassIdRef", "L")) + fields[at:]


def _wide_exit(fields):
    return tuple(Field(f.name, "L") if f.name == "sequenceCounter" else f for f in fields)


def fields_of(number, layout="table"):
    """The fields of a message in wire order.

    Layouts other than `table`: `wide` for methodEntry with two more ids and for methodExit with a numeric
    sequenceCounter; `counted` for monitor messages whose arrays carry a count of their own; `broken` for monitor messages
    without readable arrays.
    """
    fields = SCHEMAS[number].fields
    if layout == "wide":
        return {1015: _wide_entry, 1016: _wide_exit}[number](fields)
    if layout == "broken":
        return tuple(f for f in fields if not f.type.endswith("*"))
    if layout == "counted" and number not in (1032, 1033, 1034, 1035):
        raise KeyError((number, layout))
    return fields


def default_of(kind):
    return {"S": "", "S*": (), "L*": ()}.get(kind, 0)


class Message(namedtuple("Message", "id values layout trailing")):
    """A data message: values in wire order. `trailing` are bytes after the last field. A string may be given as bytes."""

    @property
    def name(self):
        return SCHEMAS[self.id].name

    @property
    def fields(self):
        return dict(zip((f.name for f in fields_of(self.id, self.layout)), self.values))


def message(name, /, layout="table", trailing=b"", **given):
    """A message by name; fields that are not given have their default, `stackDepth` follows the arrays."""
    number = IDS[name]
    fields = fields_of(number, layout)
    unknown = set(given) - {f.name for f in fields}
    if unknown:
        raise KeyError("%s has no field %s" % (name, ", ".join(sorted(unknown))))
    if "stackMethods" in given:
        given.setdefault("stackDepth", len(given["stackMethods"]))
    return Message(number, tuple(given.get(f.name, default_of(f.type)) for f in fields), layout, trailing)


class Encoding(namedtuple("Encoding", "charset sized")):
    """System message 1. `sized` None follows the stream."""


class Frequency(namedtuple("Frequency", "ticks_per_second sized as_double")):
    """System message 2. `as_double` writes an IEEE double instead of an integer."""


class Unknown(namedtuple("Unknown", "id payload")):
    """A message that no table describes."""


class Raw(namedtuple("Raw", "data")):
    """Bytes that are no message."""


def encoding(charset, sized=None):
    return Encoding(charset, sized)


def frequency(ticks_per_second, sized=None, as_double=False):
    return Frequency(ticks_per_second, sized, as_double)
