//! What each event type becomes, decided once a chunk.

use traceloom_model::{
    AttrKeyId, AttributeKey, EventType, EventTypeId, Series, SeriesId, StringId, Tables, Unit,
};

use super::super::schema::{FieldEncoding, FieldSchema, NumberMeaning, TypeSchemas};
use super::amounts::AmountFields;
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
    pub(super) series: Vec<(StringId, Unit)>,
    /// Where the amounts of its samples are.
    pub(super) amounts: AmountFields,
}

/// Event types by name and fields, over all chunks.
pub(super) type EventTypes = std::collections::HashMap<(StringId, Vec<AttrKeyId>), EventTypeId>;

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
        let mut fields = FieldRoles {
            schema,
            plain,
            rule,
            tables,
            roles: Vec::new(),
            keys: Vec::new(),
            series: Vec::new(),
        };
        for field in schema.fields(index) {
            fields.add(field);
        }
        let FieldRoles {
            roles,
            keys,
            series,
            ..
        } = fields;
        let name_id = tables.string(name);
        let label = label.map(|label| tables.string(label));
        let event_type = *event_types
            .entry((name_id, keys.clone()))
            .or_insert_with(|| {
                tables.event_type(EventType {
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
            amounts: AmountFields::new(name, rule, schema.fields(index)),
        }
    }

    /// Keeps what the amounts of samples depend on: lengths, and the state of a thread; and their stacks if they are
    /// wanted.
    pub(super) fn of_amounts(mut self, stacks: bool) -> Self {
        for (at, role) in self.roles.iter_mut().enumerate() {
            *role = match *role {
                FieldRole::Start | FieldRole::Duration(_) => *role,
                FieldRole::Stack(_) if stacks => *role,
                FieldRole::Attribute { key, .. } if self.amounts.state == Some(at) => {
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

/// Plans of the types met in a chunk.
#[derive(Default)]
pub(super) struct Plans {
    by_type: Vec<Option<Plan>>,
}

impl Plans {
    pub(super) fn get(&mut self, index: usize, plan: impl FnOnce() -> Plan) -> &Plan {
        if self.by_type.len() <= index {
            self.by_type.resize_with(index + 1, || None);
        }
        #[expect(
            clippy::indexing_slicing,
            reason = "the table was made long enough above"
        )]
        self.by_type[index].get_or_insert_with(plan)
    }
}

/// The roles of an event type's fields, one after the other.
struct FieldRoles<'s> {
    schema: &'s TypeSchemas,
    /// The name of the type, without the prefix of old recordings.
    plain: &'s str,
    rule: Option<Rule>,
    tables: &'s mut Tables,
    roles: Vec<FieldRole>,
    keys: Vec<AttrKeyId>,
    series: Vec<(StringId, Unit)>,
}

impl FieldRoles<'_> {
    fn add(&mut self, field: &FieldSchema) {
        let target = match field.kind {
            FieldEncoding::Ref(target) if !field.array => {
                Some((target, self.schema.last_word(target)))
            }
            _ => None,
        };
        let role = match (field.name.as_str(), target, field.kind) {
            ("startTime", _, FieldEncoding::Long) => FieldRole::Start,
            ("duration", _, FieldEncoding::Long) => FieldRole::Duration(field.meaning),
            ("eventThread" | "sampledThread", Some((target, "Thread")), _) => {
                FieldRole::Thread(target)
            }
            ("stackTrace", Some((target, "StackTrace")), _) => FieldRole::Stack(target),
            (name, target, _) => {
                let unit = unit(field.meaning, self.tables);
                let key = AttributeKey {
                    unit,
                    ..AttributeKey::named(self.tables.string(name))
                };
                let key = self.tables.attribute_key(key);
                self.keys.push(key);
                match (name, target) {
                    ("previousOwner", Some((target, "Thread"))) => FieldRole::Owner(target, key),
                    _ => FieldRole::Attribute {
                        key,
                        label: self.label(name, key),
                        counter: self.counter(name, unit),
                    },
                }
            }
        };
        self.roles.push(role);
    }

    /// Returns the label of samples that a field becomes; none for the field with their amount.
    fn label(&mut self, field: &str, key: AttrKeyId) -> Option<AttrKeyId> {
        if self.rule.is_none_or(|rule| rule.takes(field)) {
            return None;
        }
        let of_exception = self.plain.contains("xception") || self.plain.contains("Error");
        let known = LABELS.iter().find(|(from, _)| *from == field);
        Some(match known {
            Some((from, to)) if *from != "type" || of_exception => self.tables.attribute_named(to),
            _ => key,
        })
    }

    /// Returns the counter that a field is a point of.
    fn counter(&mut self, field: &str, unit: Unit) -> Option<CounterField> {
        let (of, counted, each) = *COUNTERS
            .iter()
            .find(|(of, counted, _)| *of == self.plain && *counted == field)?;
        let name = self.tables.string(&format!("{of}.{counted}"));
        Some(if each {
            self.series.push((name, unit));
            CounterField::Thread(self.series.len() - 1)
        } else {
            let series = Series {
                name,
                unit,
                track: None,
            };
            CounterField::Process(self.tables.series(series))
        })
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
