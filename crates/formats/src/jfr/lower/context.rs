//! What a chunk says about itself in events: settings, intervals, the process, endpoints of spans.

use std::collections::HashMap;

use traceloom_model::{Attribute, AttributeKey, Resource, StringId, Tables, Value};

use super::super::scan::Scan;
use super::super::schema::FieldSchema;
use super::super::value::DecodedValue;
use super::constants::Constants;
use super::profiles::{AllocSource, Rule, Subject};

/// Nanoseconds between two samples where nobody says (`datakit/SPEC.md` §3.11).
pub(super) const INTERVAL: i64 = 10_000_000;

/// One `jdk.ActiveSetting`.
pub(super) struct Setting {
    /// Name of the event type it is about.
    pub(super) of: String,
    pub(super) name: String,
    pub(super) value: StringId,
}

/// What is known before a chunk's events are lowered.
#[derive(Default)]
pub(super) struct ChunkLookahead {
    pub(super) settings: Vec<Setting>,
    /// Nanoseconds a CPU sample stands for.
    pub(super) cpu: i64,
    /// Nanoseconds a native sample of the JDK stands for.
    pub(super) native: i64,
    /// Nanoseconds a wall clock sample stands for.
    pub(super) wall: i64,
    /// async-profiler samples the wall clock: only its default state means CPU.
    pub(super) has_wall: bool,
    /// async-profiler counts this instead of time.
    pub(super) counted: Option<StringId>,
    /// The events of the recording that say what was allocated; others stay typed events.
    pub(super) alloc: AllocSource,
    /// Endpoints by local root span id.
    pub(super) endpoints: HashMap<u64, StringId>,
    /// Facts about the process, until a resource is made of them.
    pub(super) resource: Resource,
    properties: HashMap<String, StringId>,
}

impl ChunkLookahead {
    /// Forgets what only holds for one chunk, and looks at the events of the next one that say how to take the others: the index of
    /// the type of each, and its fields.
    pub(super) fn next_chunk<'c>(
        &mut self,
        events: impl Iterator<Item = (usize, Scan<'c>)>,
        constants: &mut Constants<'_>,
        tables: &mut Tables,
    ) {
        self.forget_chunk();
        let rules = constants.rules;
        let mut cells = Vec::new();
        for (index, mut fields) in events {
            let Some(found) = rules.schema.get(index) else {
                continue;
            };
            if rules.cells(&mut fields, index, &mut cells).is_ok() {
                self.take(&found.name, &found.fields, &cells, constants, tables);
            }
        }
    }

    fn forget_chunk(&mut self) {
        self.settings.clear();
        self.cpu = 0;
        self.native = 0;
        self.wall = 0;
        self.has_wall = false;
        self.counted = None;
        self.alloc = AllocSource::default();
    }

    /// Returns true if events of this type are looked at before the others.
    pub(super) fn reads(name: &str) -> bool {
        matches!(
            name.strip_prefix("com.oracle.").unwrap_or(name),
            "jdk.ActiveSetting"
                | "jdk.JVMInformation"
                | "jdk.OSInformation"
                | "jdk.InitialSystemProperty"
                | "datadog.DatadogProfilerConfig"
                | "datadog.Endpoint"
        )
    }

    /// Takes an event of a type that [`ChunkLookahead::reads`].
    fn take(
        &mut self,
        type_name: &str,
        fields: &[FieldSchema],
        cells: &[DecodedValue<'_>],
        constants: &mut Constants<'_>,
        tables: &mut Tables,
    ) {
        let mut values = HashMap::new();
        for (field, &cell) in fields.iter().zip(cells) {
            let value = constants.value(field, &cell, tables);
            values.insert(field.name.as_str(), value);
        }
        let text = |name: &str| match values.get(name) {
            Some(&Value::Text(text)) => Some(text),
            _ => None,
        };
        let number = |name: &str| match values.get(name) {
            Some(&Value::I64(number)) => Some(number),
            Some(&Value::U64(number)) => i64::try_from(number).ok(),
            _ => None,
        };
        match type_name.strip_prefix("com.oracle.").unwrap_or(type_name) {
            "jdk.ActiveSetting" => {
                let (Some(name), Some(value)) = (text("name"), text("value")) else {
                    return;
                };
                let schema = constants.rules.schema;
                let id = number("id").map(i64::cast_unsigned);
                let of = id
                    .and_then(|id| schema.index(id))
                    .and_then(|index| schema.get(index));
                self.settings.push(Setting {
                    of: of.map_or_else(String::new, |of| of.name.clone()),
                    name: String::from_utf8_lossy(tables.string_bytes(name)).into_owned(),
                    value,
                });
            }
            "jdk.JVMInformation" => {
                self.resource.language = Some(tables.string("java"));
                self.resource.runtime = text("jvmVersion").or(self.resource.runtime);
                let pid = number("pid").and_then(|pid| u64::try_from(pid).ok());
                self.resource.pid = pid.or(self.resource.pid);
                for name in ["jvmName", "jvmArguments", "javaArguments", "jvmFlags"] {
                    if let Some(value) = text(name) {
                        self.fact(name, Value::Text(value), tables);
                    }
                }
                if let Some(&Value::I64(start)) = values.get("jvmStartTime") {
                    self.fact("jvmStartTime", Value::I64(start), tables);
                }
            }
            "jdk.OSInformation" => self.resource.os = text("osVersion").or(self.resource.os),
            "jdk.InitialSystemProperty" => {
                if let (Some(key), Some(value)) = (text("key"), text("value")) {
                    let key = String::from_utf8_lossy(tables.string_bytes(key)).into_owned();
                    self.properties.insert(key, value);
                }
            }
            "datadog.DatadogProfilerConfig" => {
                let positive = |name: &str| number(name).filter(|&ns| ns > 0);
                self.cpu = positive("cpuInterval").unwrap_or(self.cpu);
                self.wall = positive("wallInterval").unwrap_or(self.wall);
            }
            "datadog.Endpoint" => {
                let root = number("localRootSpanId").map(i64::cast_unsigned);
                let root = root.or(match values.get("localRootSpanId") {
                    Some(&Value::U64(root)) => Some(root),
                    _ => None,
                });
                if let (Some(root), Some(endpoint)) = (root, text("endpoint")) {
                    self.endpoints.insert(root, endpoint);
                }
            }
            _ => {}
        }
    }

    fn fact(&mut self, name: &str, value: Value, tables: &mut Tables) {
        let name = tables.string(name);
        let key = tables.attribute_key(AttributeKey::named(name));
        let fact = Attribute::new(key, value);
        if !self.resource.attributes.contains(&fact) {
            self.resource.attributes.push(fact);
        }
    }

    /// Returns whether events of a rule are samples in this chunk.
    pub(super) fn admits(&self, rule: Rule) -> bool {
        rule.alloc_source()
            .is_none_or(|source| self.adds_up(source))
    }

    /// Returns whether allocations of a source are added up.
    pub(super) fn adds_up(&self, source: AllocSource) -> bool {
        source == self.alloc
    }

    /// Returns the nanoseconds that a sample of a clock stands for.
    pub(super) fn interval(&self, subject: Subject) -> i64 {
        match subject {
            Subject::Wall => self.wall,
            _ => self.cpu,
        }
    }

    /// Returns what an execution sample is of, and the nanoseconds it stands for; `on_cpu` is what the thread's
    /// state says.
    pub(super) fn execution(&self, native: bool, on_cpu: Option<bool>) -> (Subject, i64) {
        if native {
            return (Subject::Native, self.native);
        }
        let on_cpu = on_cpu.unwrap_or(!self.has_wall);
        match (on_cpu, self.counted) {
            (true, Some(name)) => (Subject::Counted(name), self.cpu),
            (true, None) => (Subject::Cpu, self.cpu),
            (false, _) => (Subject::Wall, self.wall),
        }
    }

    /// Draws conclusions from the settings, once all of a chunk's are known.
    pub(super) fn settle(&mut self, alloc: AllocSource, tables: &mut Tables) {
        self.alloc = alloc;
        let text = |id: StringId| String::from_utf8_lossy(tables.string_bytes(id)).into_owned();
        let mut event = None;
        let mut interval = None;
        let mut wall = None;
        for setting in &self.settings {
            let value = text(setting.value);
            let of = setting.of.rsplit('.').next().unwrap_or_default();
            match (of, setting.name.as_str()) {
                ("ExecutionSample" | "CPUTimeSample", "period" | "throttle") => {
                    self.cpu = duration(&value).unwrap_or(self.cpu);
                }
                ("NativeMethodSample", "period") => {
                    self.native = duration(&value).unwrap_or(self.native);
                }
                (_, "event") => event = Some(setting.value),
                (_, "interval") => interval = value.parse::<i64>().ok().filter(|&ns| ns > 0),
                (_, "wall") => wall = value.parse::<i64>().ok().filter(|&ns| ns >= 0),
                _ => {}
            }
        }
        match event.map(|event| (event, text(event))) {
            Some((_, word)) if word == "wall" => {
                self.has_wall = true;
                self.wall = interval.unwrap_or(self.wall);
            }
            Some((event, word)) => {
                self.cpu = interval.unwrap_or(self.cpu);
                let of_time = ["cpu", "itimer", "ctimer", "cpu-clock", "task-clock"];
                let other = ["alloc", "lock", "nativemem", "noop", ""];
                if !of_time.contains(&word.as_str()) && !other.contains(&word.as_str()) {
                    self.counted = Some(event);
                }
            }
            None => {}
        }
        if let Some(wall) = wall {
            self.has_wall = true;
            self.wall = if wall > 0 { wall } else { self.wall };
        }
        for ns in [&mut self.cpu, &mut self.native, &mut self.wall] {
            if *ns <= 0 {
                *ns = INTERVAL;
            }
        }
    }

    /// Returns the process, once something is known of it.
    pub(super) fn process(&mut self) -> Option<Resource> {
        let resource = &mut self.resource;
        for (place, key) in [
            (&mut resource.arch, "os.arch"),
            (&mut resource.runtime, "java.vm.version"),
            (&mut resource.os, "os.name"),
        ] {
            *place = place.or(self.properties.get(key).copied());
        }
        (*resource != Resource::default()).then(|| resource.clone())
    }
}

/// Reads a length of time as settings write it: `20 ms`, `1 s`.
fn duration(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.get(digits.len()..)?.trim() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    #[test]
    fn periods_of_settings() {
        assert_eq!(super::duration("20 ms"), Some(20_000_000));
        assert_eq!(super::duration("1 s"), Some(1_000_000_000));
        assert_eq!(super::duration("10ms"), Some(10_000_000));
        assert_eq!(super::duration("everyChunk"), None);
        assert_eq!(super::duration("150/s"), None);
    }
}
