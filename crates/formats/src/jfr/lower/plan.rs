//! What each event type becomes, decided once a chunk.

use traceloom_model::{AttrKeyId, AttributeKey, EventTypeId, SeriesId, Tables, Unit};

use super::super::schema::{FieldEncoding, NumberMeaning, TypeSchemas};
use super::profiles::Rule;

/// What a field of an event is for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum FieldRole {
    Start,
    Duration(NumberMeaning),
    /// The thread it happened on: index of the thread type.
    Thread(usize),
    /// The thread that held the monitor.
    Owner(usize, AttrKeyId),
    Stack(usize),
    /// Kept as an attribute, and as a label of the sample unless it is the sample's amount.
    Attribute {
        key: AttrKeyId,
        label: Option<AttrKeyId>,
        counter: Option<CounterField>,
    },
    /// Not wanted by who takes the rows.
    Unused,
}

/// A field that is a point of a counter series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum CounterField {
    Process(SeriesId),
    /// A series for each thread; the index into [`Plan::series`].
    Thread(usize),
}

/// What an event type becomes.
pub(super) struct Plan {
    pub(super) event_type: EventTypeId,
    pub(super) roles: Vec<FieldRole>,
    pub(super) rule: Option<Rule>,
    /// Names and units of counters that each thread has.
    pub(super) series: Vec<(traceloom_model::StringId, Unit)>,
    /// Samples of threads in native code.
    pub(super) native: bool,
    /// Index of the field with the thread's state.
    pub(super) state: Option<usize>,
    /// Index of the field with what a sample stands for: its weight, its amount.
    pub(super) amount: Option<usize>,
    /// Index of the field with the size of one thing.
    pub(super) size: Option<usize>,
}

/// Event types by name and fields, over all chunks.
pub(super) type EventTypes =
    std::collections::HashMap<(traceloom_model::StringId, Vec<AttrKeyId>), EventTypeId>;

/// Fields that are counters: event type and field, and whether each thread has its own.
const COUNTERS: &[(&str, &str, bool)] = &[
    ("jdk.CPULoad", "jvmUser", false),
    ("jdk.CPULoad", "jvmSystem", false),
    ("jdk.CPULoad", "machineTotal", false),
    ("jdk.ThreadCPULoad", "user", true),
    ("jdk.ThreadCPULoad", "system", true),
    ("jdk.ThreadAllocationStatistics", "allocated", true),
    ("jdk.ThreadContextSwitchRate", "switchRate", false),
    ("jdk.JavaThreadStatistics", "activeCount", false),
    ("jdk.JavaThreadStatistics", "daemonCount", false),
    ("jdk.ClassLoadingStatistics", "loadedClassCount", false),
    ("jdk.ClassLoadingStatistics", "unloadedClassCount", false),
    ("jdk.ExceptionStatistics", "throwables", false),
    ("jdk.GCHeapSummary", "heapUsed", false),
    ("jdk.PhysicalMemory", "usedSize", false),
    ("jdk.SwapSpace", "freeSize", false),
    ("jdk.ResidentSetSize", "size", false),
    ("jdk.ResidentSetSize", "peak", false),
    ("jdk.DirectBufferStatistics", "memoryUsed", false),
    ("jdk.CompilerStatistics", "compileCount", false),
    ("datadog.HeapUsage", "size", false),
    ("datadog.DirectAllocationTotal", "allocated", false),
];

/// Fields of samples under the names that pprof gives them.
const LABELS: &[(&str, &str)] = &[
    ("spanId", "span id"),
    ("localRootSpanId", "local root span id"),
    ("_dd.trace.operation", "operation"),
    ("thrownClass", "exception type"),
    ("type", "exception type"),
    ("message", "exception message"),
];

impl Plan {
    pub(super) fn new(
        schema: &TypeSchemas,
        index: usize,
        tables: &mut Tables,
        event_types: &mut EventTypes,
        admits: &dyn Fn(Rule) -> bool,
    ) -> Self {
        let found = schema.get(index);
        let name = found.map_or("", |found| found.name.as_str());
        let label = found.and_then(|found| found.label.as_deref());
        let plain = name.strip_prefix("com.oracle.").unwrap_or(name);
        let rule = Rule::of(name).filter(|&rule| admits(rule));
        let mut roles = Vec::new();
        let mut keys = Vec::new();
        let mut series = Vec::new();
        for field in schema.fields(index) {
            let target = match field.kind {
                FieldEncoding::Ref(target) if !field.array => {
                    Some((target, schema.last_word(target)))
                }
                _ => None,
            };
            roles.push(match (field.name.as_str(), target, field.kind) {
                ("startTime", _, FieldEncoding::Long) => FieldRole::Start,
                ("duration", _, FieldEncoding::Long) => FieldRole::Duration(field.meaning),
                ("eventThread" | "sampledThread", Some((target, "Thread")), _) => {
                    FieldRole::Thread(target)
                }
                ("stackTrace", Some((target, "StackTrace")), _) => FieldRole::Stack(target),
                (field_name, target, _) => {
                    let unit = unit(field.meaning, tables);
                    let key = AttributeKey {
                        unit,
                        ..AttributeKey::named(tables.string(field_name))
                    };
                    let key = tables.attribute_key(key);
                    keys.push(key);
                    if let ("previousOwner", Some((target, "Thread"))) = (field_name, target) {
                        roles.push(FieldRole::Owner(target, key));
                        continue;
                    }
                    let taken = rule.is_none_or(|rule| rule.takes(field_name));
                    let label = (!taken).then(|| {
                        let known = LABELS.iter().find(|(from, _)| *from == field_name);
                        let of_exception = plain.contains("xception") || plain.contains("Error");
                        match known {
                            Some((from, to)) if *from != "type" || of_exception => {
                                tables.attribute_named(to)
                            }
                            _ => key,
                        }
                    });
                    let counter = COUNTERS
                        .iter()
                        .find(|(of, counted, _)| *of == plain && *counted == field_name)
                        .map(|&(of, counted, each)| {
                            let name = tables.string(&format!("{of}.{counted}"));
                            if each {
                                series.push((name, unit));
                                CounterField::Thread(series.len() - 1)
                            } else {
                                CounterField::Process(tables.series(traceloom_model::Series {
                                    name,
                                    unit,
                                    track: None,
                                }))
                            }
                        });
                    FieldRole::Attribute {
                        key,
                        label,
                        counter,
                    }
                }
            });
        }
        let of = |name: &str| {
            let mut fields = schema.fields(index).iter();
            fields.position(|field| field.name == name)
        };
        let name_id = tables.string(name);
        let label = label.map(|label| tables.string(label));
        let event_type = *event_types
            .entry((name_id, keys.clone()))
            .or_insert_with(|| {
                tables.event_type(traceloom_model::EventType {
                    name: name_id,
                    label,
                    fields: keys,
                })
            });
        Self {
            event_type,
            roles,
            rule,
            series,
            native: plain == "jdk.NativeMethodSample",
            state: of("state"),
            amount: rule.and_then(Rule::amount).and_then(of),
            size: of("size"),
        }
    }

    /// Keeps what the amounts of samples depend on: lengths, and the state of a thread.
    pub(super) fn of_amounts(mut self) -> Self {
        for (at, role) in self.roles.iter_mut().enumerate() {
            *role = match *role {
                FieldRole::Start | FieldRole::Duration(_) => *role,
                FieldRole::Attribute { key, .. } if self.state == Some(at) => {
                    FieldRole::Attribute {
                        key,
                        label: None,
                        counter: None,
                    }
                }
                _ => FieldRole::Unused,
            };
        }
        self
    }
}

/// Returns true if constants of a type, by the last word of its name, are parts of stacks and their names.
pub(super) fn is_of_stacks(word: &str) -> bool {
    matches!(
        word,
        "StackTrace" | "Method" | "Class" | "ClassLoader" | "Module" | "Package" | "Symbol"
    )
}

fn unit(meaning: NumberMeaning, tables: &mut Tables) -> Unit {
    match meaning {
        NumberMeaning::TicksTime
        | NumberMeaning::Time(_)
        | NumberMeaning::TicksSpan
        | NumberMeaning::Span(_) => Unit::Nanoseconds,
        NumberMeaning::Bytes => Unit::Bytes,
        NumberMeaning::Fraction => Unit::Percent,
        NumberMeaning::Bits => Unit::Other(tables.string("bits")),
        NumberMeaning::Hertz => Unit::Other(tables.string("Hz")),
        NumberMeaning::Address | NumberMeaning::Plain => Unit::Count,
    }
}
