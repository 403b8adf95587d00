//! The 30 data messages as one table: reader, writer, dump, XML mapping and documentation follow it.

use super::registered::registered;

/// How a field is written on the wire and what its number means (SPEC.md §1.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One byte, mostly a boolean.
    Byte,
    /// Four bytes, unsigned.
    Int,
    /// Four bytes, signed: the minutes west of UTC of a node.
    Signed,
    /// Eight bytes, unsigned: ids, sizes, line numbers.
    Long,
    /// Eight bytes, unsigned: a count of ticks; decimal seconds in XML.
    Ticks,
    /// Bytes up to a NUL, in the charset of the stream.
    Text,
    /// As many texts as `stackDepth` says: the methods of a stack, innermost first.
    Methods,
    /// As many longs as `stackDepth` says: the lines of the same stack.
    Lines,
}

impl Kind {
    /// Returns the word used in documentation.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Int => "int",
            Self::Signed => "signed int",
            Self::Long => "long",
            Self::Ticks => "ticks",
            Self::Text => "text",
            Self::Methods => "text[]",
            Self::Lines => "long[]",
        }
    }

    /// Returns the bytes a default value takes.
    #[must_use]
    pub const fn least(self) -> usize {
        match self {
            Self::Byte | Self::Text => 1,
            Self::Int | Self::Signed => 4,
            Self::Long | Self::Ticks => 8,
            Self::Methods | Self::Lines => 0,
        }
    }

    /// Returns true if it is one of the stack arrays.
    #[must_use]
    pub const fn is_array(self) -> bool {
        matches!(self, Self::Methods | Self::Lines)
    }
}

/// One field of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldDef {
    /// Its XML attribute name, such as `threadIdRef`.
    pub attribute: &'static str,
    /// The same in `snake_case`, as `dump` prints it.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
}

/// Which of a message's layouts its bytes follow (SPEC.md §2.4, §1.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// As the table has it.
    #[default]
    Table,
    /// `methodEntry` with two more ids, `methodExit` with a numeric `sequenceCounter`.
    Wide,
    /// Stack arrays that carry a count of their own.
    Counted,
    /// Stack arrays that fit neither reading; their bytes are kept behind the last field.
    Broken,
}

/// One message of the table.
#[derive(Debug)]
pub struct Schema {
    /// Its id on the wire.
    pub id: u16,
    /// Its XML element name, such as `threadStart`.
    pub element: &'static str,
    /// The same in `snake_case`: the kind of its records.
    pub kind: &'static str,
    fields: &'static [FieldDef],
    wide: &'static [FieldDef],
    broken: &'static [FieldDef],
    /// Positions of the fields in the order in which XML prints them, arrays left out.
    pub printed: &'static [u8],
}

/// Most fields of a message in any layout.
pub const MOST_FIELDS: usize = 19;

impl Schema {
    /// A message of an agent's author: one layout, and the fields of a broken stack, if it has one.
    pub(super) fn new(
        id: u16,
        element: &'static str,
        fields: &'static [FieldDef],
        broken: &'static [FieldDef],
        printed: &'static [u8],
    ) -> Self {
        Self {
            id,
            element,
            kind: snake_case(element).leak(),
            fields,
            wide: &[],
            broken,
            printed,
        }
    }

    /// Returns the fields in wire order.
    #[must_use]
    pub const fn fields(&self, layout: Layout) -> &'static [FieldDef] {
        match layout {
            Layout::Table | Layout::Counted => self.fields,
            Layout::Wide => self.wide,
            Layout::Broken => self.broken,
        }
    }

    /// Returns the layouts to try, the likeliest first.
    #[must_use]
    pub const fn layouts(&self) -> &'static [Layout] {
        if self.has_stack() {
            &[Layout::Table, Layout::Counted]
        } else if self.wide.is_empty() {
            &[Layout::Table]
        } else {
            &[Layout::Table, Layout::Wide]
        }
    }

    /// Returns true if the message carries the arrays of a stack.
    #[must_use]
    pub const fn has_stack(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Returns the least size of the whole message, header included.
    #[must_use]
    pub fn least(&self) -> usize {
        6 + self
            .fields
            .iter()
            .map(|field| field.kind.least())
            .sum::<usize>()
    }

    /// Finds the position of a field by its XML attribute name.
    #[must_use]
    pub fn position(&self, layout: Layout, attribute: &str) -> Option<usize> {
        self.fields(layout)
            .iter()
            .position(|field| field.attribute == attribute)
    }
}

const fn snake_len(camel: &str) -> usize {
    let bytes = camel.as_bytes();
    let (mut at, mut len) = (0, bytes.len());
    while at < bytes.len() {
        if starts_word(bytes, at) {
            len += 1;
        }
        at += 1;
    }
    len
}

/// A capital starts a word unless it continues a run of capitals (`baseCPUTime`).
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn starts_word(bytes: &[u8], at: usize) -> bool {
    at > 0
        && bytes[at].is_ascii_uppercase()
        && (!bytes[at - 1].is_ascii_uppercase()
            || at + 1 < bytes.len() && bytes[at + 1].is_ascii_lowercase())
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn snake<const N: usize>(camel: &str) -> [u8; N] {
    let bytes = camel.as_bytes();
    let mut out = [0; N];
    let (mut at, mut to) = (0, 0);
    while at < bytes.len() {
        if starts_word(bytes, at) {
            out[to] = b'_';
            to += 1;
        }
        out[to] = bytes[at].to_ascii_lowercase();
        to += 1;
        at += 1;
    }
    out
}

/// Returns a name of XML as `dump` prints it.
pub(super) fn snake_case(camel: &str) -> String {
    let bytes = camel.as_bytes();
    let mut out = String::with_capacity(snake_len(camel));
    for (at, byte) in bytes.iter().enumerate() {
        if starts_word(bytes, at) {
            out.push('_');
        }
        out.push(byte.to_ascii_lowercase().into());
    }
    out
}

macro_rules! snake {
    ($camel:expr) => {{
        const BYTES: [u8; snake_len($camel)] = snake($camel);
        match std::str::from_utf8(&BYTES) {
            Ok(name) => name,
            Err(_) => panic!("field names are ASCII"),
        }
    }};
}

macro_rules! fields {
    ($($name:ident: $kind:ident),* $(,)?) => {
        &[$(FieldDef {
            attribute: stringify!($name),
            name: snake!(stringify!($name)),
            kind: Kind::$kind,
        }),*]
    };
}

macro_rules! messages {
    ($($id:literal $element:ident
        $fields:tt
        $(wide $wide:tt)?
        $(broken $broken:tt)?
        $(printed $printed:tt)?;
    )*) => {
        /// Every data message, ids ascending.
        pub static MESSAGES: &[Schema] = &[$(Schema {
            id: $id,
            element: stringify!($element),
            kind: snake!(stringify!($element)),
            fields: messages!(@fields $fields),
            wide: messages!(@fields $($wide)?),
            broken: messages!(@fields $($broken)?),
            printed: messages!(@printed $($printed)?),
        }),*];
    };
    (@fields) => { &[] };
    (@fields { $($all:tt)* }) => { fields!($($all)*) };
    (@printed) => { &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18] };
    (@printed [$($at:literal)*]) => { &[$($at),*] };
}

messages! {
    1001 node { nodeId: Text, hostname: Text, ipaddress: Text, timezone: Signed, time: Ticks };
    1002 processCreate {
        processId: Text, name: Text, pid: Int, nodeIdRef: Text, time: Ticks,
        application_executable: Text,
    };
    1003 agentCreate {
        agentId: Text, processIdRef: Text, agentName: Text, agentType: Text, time: Ticks,
        agentParameters: Text, version: Text,
    };
    1004 agentDestroy { agentIdRef: Text, time: Ticks };
    1005 traceStart { traceId: Text, agentIdRef: Text, time: Ticks, collationValue: Text };
    1006 traceEnd { traceIdRef: Text, time: Ticks, collationValue: Text };
    1007 filter {
        traceIdRef: Text, pattern: Text, genericPattern: Text, mode: Text, methodPattern: Text,
        methodGenericPattern: Text, methodMode: Text,
    };
    1008 option { traceIdRef: Text, key: Text, value: Text };
    1009 threadStart {
        transientThreadId: Long, threadId: Long, time: Ticks, groupName: Text, parentName: Text,
        transientObjIdRef: Long, objIdRef: Long, threadName: Text, collationValue: Text,
        traceIdRef: Text,
    } printed [1 2 6 7 3 4 0 5 8 9];
    1010 threadEnd {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, collationValue: Text,
        traceIdRef: Text,
    };
    1011 classDef {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, numInterfaces: Int,
        interfaceNames: Text, transientClassId: Long, classId: Long, sourceName: Text,
        classLoader: Text, superclass: Text, transientObjIdRef: Long, objIdRef: Long, name: Text,
        access: Text, numStaticFields: Int, numMethods: Int, numInstanceFields: Int,
        collationValue: Text, traceIdRef: Text,
    } printed [12 7 6 2 0 1 3 4 5 8 9 10 11 13 14 15 16 17 18];
    1012 methodDef {
        name: Text, signature: Text, isNative: Byte, isAbstract: Byte, isStatic: Byte,
        isSynchronized: Byte, exceptions: Text, startLineNumber: Long, endLineNumber: Long,
        signatureNotation: Text, transientClassIdRef: Long, classIdRef: Long, methodId: Long,
        collationValue: Text, traceIdRef: Text,
    } printed [0 1 7 8 12 11 2 3 4 5 6 9 10 13 14];
    1014 objAlloc {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, isArray: Byte,
        transientObjId: Long, objId: Long, size: Long, lineNumber: Long, methodIdRef: Long,
        transientClassIdRef: Long, classIdRef: Long, contextData: Text, collationValue: Text,
        traceIdRef: Text,
    };
    1015 methodEntry {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, methodIdRef: Long,
        ticket: Int, transientObjIdRef: Long, classIdRef: Long, threadCpuTime: Ticks,
        sequenceCounter: Long, stackDepth: Long, collationValue: Text, traceIdRef: Text,
    } wide {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, methodIdRef: Long,
        ticket: Int, transientObjIdRef: Long, objIdRef: Long, transientClassIdRef: Long,
        classIdRef: Long, threadCpuTime: Ticks, sequenceCounter: Long, stackDepth: Long,
        collationValue: Text, traceIdRef: Text,
    } printed [1 2 3 6 4 9 0 5 7 8 10 11];
    1016 methodExit {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, ticket: Int,
        threadCpuTime: Ticks, methodIdRef: Long, transientObjIdRef: Long, objIdRef: Long,
        transientClassIdRef: Long, classIdRef: Long, sequenceCounter: Text,
        collationValue: Text, traceIdRef: Text,
    } wide {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, ticket: Int,
        threadCpuTime: Ticks, methodIdRef: Long, transientObjIdRef: Long, objIdRef: Long,
        transientClassIdRef: Long, classIdRef: Long, sequenceCounter: Long,
        collationValue: Text, traceIdRef: Text,
    } printed [1 5 9 3 2 0 4 6 7 8 10 11 12];
    1023 gcStart {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, collationValue: Text,
        traceIdRef: Text,
    };
    1024 objFree {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, transientObjIdRef: Long,
        objIdRef: Long, objAge: Long, sequenceCounter: Long, stackDepth: Long,
        collationValue: Text, traceIdRef: Text,
    };
    1027 gcFinish {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, totalObjSpace: Long,
        usedObjSpace: Long, usedObjs: Long, collationValue: Text, traceIdRef: Text,
    };
    1030 runtimeInitDone {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, collationValue: Text,
        traceIdRef: Text,
    };
    1031 runtimeShutdown {
        transientThreadIdRef: Long, threadIdRef: Long, time: Ticks, collationValue: Text,
        traceIdRef: Text,
    };
    1032 monWait {
        threadIdRef: Long, time: Ticks, objIdRef: Long, timeout: Long, stackDepth: Int,
        stackMethods: Methods, stackLines: Lines,
    } broken {
        threadIdRef: Long, time: Ticks, objIdRef: Long, timeout: Long, stackDepth: Int,
    } printed [0 1 2 3];
    1033 monWaited {
        threadIdRef: Long, time: Ticks, objIdRef: Long, timeout: Long, stackDepth: Int,
        stackMethods: Methods, stackLines: Lines,
    } broken {
        threadIdRef: Long, time: Ticks, objIdRef: Long, timeout: Long, stackDepth: Int,
    } printed [0 1 2 3];
    1034 monContendedEnter {
        threadIdRef: Long, time: Ticks, objIdRef: Long, threadOwner: Long, stackDepth: Int,
        stackMethods: Methods, stackLines: Lines,
    } broken {
        threadIdRef: Long, time: Ticks, objIdRef: Long, threadOwner: Long, stackDepth: Int,
    } printed [0 1 2 3];
    1035 monContendedEntered {
        threadIdRef: Long, time: Ticks, objIdRef: Long, stackDepth: Int, stackMethods: Methods,
        stackLines: Lines,
    } broken {
        threadIdRef: Long, time: Ticks, objIdRef: Long, stackDepth: Int,
    } printed [0 1 2];
    1036 agMethodEntry {
        threadIdRef: Long, methodIdRef: Long, baseTime: Ticks, minTime: Ticks, maxTime: Ticks,
        baseCPUTime: Ticks, numCalls: Long,
    };
    1037 agMethodExit { threadIdRef: Long, methodIdRef: Long };
    1038 heapDumpDef { heapDumpId: Long, time: Ticks, name: Text, basetime: Ticks };
    1039 gcRoot { classIdRef: Long, objIdRef: Long, type: Text };
    1040 objReference { srcIdRef: Long, targetIdRef: Long, heapDumpIdRef: Long };
    1041 custom { body: Text };
}

const FIRST: u16 = 1001;

/// Row of the table for each id from 1001 on, 255 for the ids that no message has.
const ROWS: [u8; 41] = {
    const GAPS: [u16; 11] = [
        1013, 1017, 1018, 1019, 1020, 1021, 1022, 1025, 1026, 1028, 1029,
    ];
    let mut rows = [255; 41];
    let (mut id, mut row) = (0, 0);
    while id < rows.len() {
        let mut gap = 0;
        let mut assigned = true;
        while gap < GAPS.len() {
            #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
            #[expect(clippy::cast_possible_truncation, reason = "evaluated at compile time")]
            if GAPS[gap] == FIRST + id as u16 {
                assigned = false;
            }
            gap += 1;
        }
        if assigned {
            #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
            {
                rows[id] = row;
            }
            row += 1;
        }
        id += 1;
    }
    rows
};

/// Finds a message by its id.
#[inline]
#[must_use]
pub fn by_id(id: u16) -> Option<&'static Schema> {
    let row = ROWS.get(usize::from(id.wrapping_sub(FIRST)));
    match row.and_then(|row| MESSAGES.get(usize::from(*row))) {
        None => described(|schema| schema.id == id),
        found => found,
    }
}

/// Finds a message that an agent's author described.
#[cold]
fn described(is_it: impl Fn(&Schema) -> bool) -> Option<&'static Schema> {
    registered().iter().find(|schema| is_it(schema))
}

/// Finds a message by the kind of its records.
pub(super) fn by_kind(kind: &str) -> Option<&'static Schema> {
    let mut messages = MESSAGES.iter().chain(registered());
    messages.find(|schema| schema.kind == kind)
}

/// Finds a message by its XML element name.
#[must_use]
pub fn by_element(name: &[u8]) -> Option<&'static Schema> {
    // The two that make up nearly all of a trace.
    match name {
        b"methodEntry" => return by_id(1015),
        b"methodExit" => return by_id(1016),
        _ => {}
    }
    let mut messages = MESSAGES.iter().chain(registered());
    messages.find(|schema| schema.element.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;

    /// SPEC.md §2 gives these independently of the fields.
    const LEAST: [(u16, usize); 30] = [
        (1001, 21),
        (1002, 22),
        (1003, 20),
        (1004, 15),
        (1005, 17),
        (1006, 16),
        (1007, 13),
        (1008, 9),
        (1009, 51),
        (1010, 32),
        (1011, 86),
        (1012, 56),
        (1014, 90),
        (1015, 84),
        (1016, 85),
        (1023, 32),
        (1024, 72),
        (1027, 56),
        (1030, 32),
        (1031, 32),
        (1032, 42),
        (1033, 42),
        (1034, 42),
        (1035, 34),
        (1036, 62),
        (1037, 22),
        (1038, 31),
        (1039, 23),
        (1040, 30),
        (1041, 7),
    ];

    #[test]
    fn least_sizes_are_the_specification_s() {
        let sizes: Vec<_> = MESSAGES.iter().map(|m| (m.id, m.least())).collect();
        assert_eq!(sizes, LEAST);
        let wide = |id| {
            let fields = by_id(id).unwrap().fields(Layout::Wide);
            6 + fields.iter().map(|field| field.kind.least()).sum::<usize>()
        };
        assert_eq!((wide(1015), wide(1016)), (100, 92));
    }

    #[test]
    fn every_id_finds_its_row() {
        let found: Vec<u16> = (0..=u16::MAX).filter(|&id| by_id(id).is_some()).collect();
        let ids: Vec<u16> = MESSAGES.iter().map(|message| message.id).collect();
        assert_eq!(found, ids);
        assert!(ids.iter().all(|&id| by_id(id).unwrap().id == id));
        for message in MESSAGES {
            assert_eq!(
                by_element(message.element.as_bytes()).unwrap().id,
                message.id
            );
            assert!(message.fields(Layout::Table).len() <= MOST_FIELDS);
        }
    }

    #[test]
    fn printed_orders_name_every_attribute_once() {
        for message in MESSAGES {
            let fields = message.fields(Layout::Table);
            let mut printed: Vec<usize> = message.printed.iter().map(|&at| at.into()).collect();
            printed.retain(|&at| at < fields.len());
            printed.sort_unstable();
            let expected: Vec<usize> = (0..fields.len())
                .filter(|&at| {
                    let depth = message.has_stack() && fields[at].attribute == "stackDepth";
                    !depth && !fields[at].kind.is_array()
                })
                .collect();
            assert_eq!(printed, expected, "{}", message.element);
        }
    }

    /// The table of SPEC.md §2 is this table.
    #[test]
    fn the_document_follows_the_table() {
        let rows: Vec<String> = include_str!("SPEC.md")
            .lines()
            .filter(|line| line.starts_with("| 1"))
            .map(str::to_owned)
            .collect();
        let row = |message: &Schema| {
            let fields: Vec<String> = message
                .fields(Layout::Table)
                .iter()
                .map(|field| format!("`{}` {}", field.attribute, field.kind.word()))
                .collect();
            let (id, element, least) = (message.id, message.element, message.least());
            format!("| {id} | `{element}` | {least} | {} |", fields.join(" · "))
        };
        assert_eq!(rows, MESSAGES.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn names_become_snake_case() {
        let ag = by_id(1036).unwrap();
        assert_eq!(ag.kind, "ag_method_entry");
        let names: Vec<_> = ag.fields(Layout::Table).iter().map(|f| f.name).collect();
        assert_eq!(names[5], "base_cpu_time");
        let create = by_id(1002).unwrap().fields(Layout::Table);
        assert_eq!(create[5].name, "application_executable");
    }
}
