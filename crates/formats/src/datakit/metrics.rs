//! Metrics derived from a profile (SPEC.md §9): the few numbers a dashboard wants of each upload.

use std::collections::{HashMap, HashSet};

use traceloom_model::{EventRow, Recording, Unit, Value};

use super::{Language, Profile};
use crate::lineproto::{FieldValue, OwnedPoint};

/// The measurement of metric points.
pub const METRICS: &str = "profiling_metrics";

/// Derived values by name, in the order they were derived.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Metrics {
    /// Names and values.
    pub values: Vec<(String, FieldValue)>,
    language: Option<Language>,
}

impl Metrics {
    /// Builds the point: at the profile's end, with its language, host, service, env, version and tags.
    #[must_use]
    pub fn to_point(&self, profile: &Profile) -> OwnedPoint {
        let mut point = OwnedPoint::new(METRICS);
        match self.language {
            Some(language) => point.tag("language", language.name()),
            None => point.tag("language", &profile.language),
        }
        point.tag("host", &profile.host);
        point.tag("service", &profile.service);
        point.tag("env", &profile.env);
        point.tag("version", &profile.version);
        for (key, value) in &profile.tags {
            point.tag(key, value);
        }
        point.tags.sort();
        point.tags.dedup_by(|again, first| again.0 == first.0);
        point.time = (profile.end != 0).then_some(profile.end);
        for (name, value) in &self.values {
            point.field(name, value.clone());
        }
        point
    }

    /// Returns a value by name, for tests and views.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        let found = self.values.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    fn int(&mut self, name: &str, value: i64) {
        self.values.push((name.to_owned(), FieldValue::I64(value)));
    }

    fn float(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.values.push((name.to_owned(), FieldValue::F64(value)));
        }
    }
}

/// Returns the unit a metric is in, by its name: nanoseconds for times, bytes, cores, or a count; a rate is
/// of so much a second.
#[must_use]
pub fn metric_unit(name: &str) -> &'static str {
    // Go's own figure of pauses is passed on as the program reported it.
    if name == "prof_go_gc_pause_time" {
        return "";
    }
    let rate = name.ends_with("_per_sec");
    match name {
        _ if name.contains("_bytes") && rate => "bytes/s",
        _ if name.contains("_bytes") => "bytes",
        _ if name.ends_with("_time") || name.ends_with("_nanoseconds") => "ns",
        _ if name.ends_with("cpu_cores") => "cores",
        _ if rate => "1/s",
        _ => "",
    }
}

/// Derives the metrics of every profile of a recording; of the recording as a whole when it has events
/// and no profile. Profiles of which nothing can be derived are left out.
#[must_use]
pub fn all_metrics(recording: &Recording) -> Vec<(Profile, Metrics)> {
    let mut profiles = super::profiles(recording, false);
    if profiles.is_empty() && !recording.events.is_empty() {
        let ends = recording.events.end.iter().zip(&recording.events.time);
        let start = recording.events.time.iter().min().copied().unwrap_or(0);
        let end = ends.map(|(end, &time)| end.unwrap_or(time)).max();
        let end = end.unwrap_or(start);
        profiles.push(Profile {
            start,
            end,
            duration: end.saturating_sub(start),
            ..Profile::default()
        });
    }
    let keys = recording.attribute_keys.iter().flatten();
    let tags: HashSet<_> = keys
        .filter(|key| key.index)
        .map(|key| recording.text(key.name))
        .collect();
    let derived = profiles.into_iter().map(|mut profile| {
        // What a recording knows of its process, such as its arguments, is no tag: only what a bundle or
        // a point had as one.
        profile.tags.retain(|key, _| tags.contains(key.as_str()));
        let metrics = metrics(recording, &profile);
        (profile, metrics)
    });
    derived
        .filter(|(_, metrics)| !metrics.values.is_empty())
        .collect()
}

/// Derives the metrics of a recording that `profile` describes; none for languages without a rule.
///
/// Rates need a duration: without one they are left out, so nothing divides by zero.
#[must_use]
pub fn metrics(recording: &Recording, profile: &Profile) -> Metrics {
    let events = Events::of(recording);
    let named = Language::first([profile.language.as_str(), &profile.runtime]);
    let language = named.or_else(|| events.language());
    let mut metrics = Metrics {
        language,
        ..Metrics::default()
    };
    let duration = profile.end.saturating_sub(profile.start);
    let source = Derive {
        values: Values::of(recording),
        events,
        recording,
        profile,
        seconds: (duration > 0).then(|| seconds(duration)),
    };
    match language {
        Some(Language::Java) => source.jvm(&mut metrics),
        Some(Language::Golang) => source.go(&mut metrics),
        Some(Language::Python) => source.python(&mut metrics),
        _ => {}
    }
    metrics
}

#[expect(
    clippy::cast_precision_loss,
    reason = "rates are floats; 2^53 ns are a hundred days"
)]
fn float(value: i64) -> f64 {
    value as f64
}

fn seconds(ns: i64) -> f64 {
    float(ns) / 1e9
}

/// Totals of the value columns by name.
struct Values(HashMap<String, Total>);

#[derive(Clone, Copy, Default)]
struct Total {
    sum: i64,
    unit: Unit,
}

impl Values {
    fn of(recording: &Recording) -> Self {
        let mut totals: HashMap<String, Total> = HashMap::new();
        for batch in &recording.samples {
            let Some(profile) = recording.profile(batch.profile) else {
                continue;
            };
            for (column, &id) in profile.value_types.iter().enumerate() {
                let Some(kind) = recording.value_type(id) else {
                    continue;
                };
                let total = totals
                    .entry(recording.text(kind.name).into_owned())
                    .or_default();
                total.unit = kind.unit;
                for row in 0..batch.len() {
                    let value = batch.values(row).get(column).copied().unwrap_or(0);
                    total.sum = total.sum.saturating_add(value);
                }
            }
        }
        Self(totals)
    }

    /// Returns the total of the first of `names` that a profile has.
    fn total(&self, names: &[&str]) -> Option<i64> {
        names
            .iter()
            .find_map(|name| self.0.get(*name))
            .map(|total| total.sum)
    }

    /// Returns such a total when it is a time.
    fn time(&self, names: &[&str]) -> Option<i64> {
        let mut totals = names.iter().filter_map(|name| self.0.get(*name));
        totals
            .find(|total| total.unit == Unit::Nanoseconds)
            .map(|total| total.sum)
    }
}

/// Events by the name of their type.
struct Events<'r> {
    recording: &'r Recording,
    rows: HashMap<String, Vec<usize>>,
}

#[derive(Clone, Copy, Default)]
struct Times {
    max: i64,
    total: i64,
    count: i64,
}

impl<'r> Events<'r> {
    fn of(recording: &'r Recording) -> Self {
        let mut names: Vec<Option<String>> = Vec::new();
        for row in &recording.event_types {
            names.push(
                row.as_ref()
                    .map(|row| recording.text(row.name).into_owned()),
            );
        }
        let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
        for (row, id) in recording.events.event_type.iter().enumerate() {
            if let Some(Some(name)) = names.get(id.index()) {
                match rows.get_mut(name) {
                    Some(list) => list.push(row),
                    None => {
                        rows.insert(name.clone(), vec![row]);
                    }
                }
            }
        }
        Self { recording, rows }
    }

    fn language(&self) -> Option<Language> {
        if self.rows.contains_key(crate::gometrics::EVENT) {
            return Some(Language::Golang);
        }
        let java = |name: &String| name.starts_with("jdk.") || name.starts_with("datadog.");
        self.rows.keys().any(java).then_some(Language::Java)
    }

    fn each(&self, name: &str) -> impl Iterator<Item = EventRow<'r>> {
        let rows = self.rows.get(name).map_or(&[][..], Vec::as_slice);
        rows.iter()
            .filter_map(|&row| self.recording.events.row(row))
    }

    fn count(&self, name: &str) -> i64 {
        let count = self.rows.get(name).map_or(0, Vec::len);
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    fn has(&self, name: &str) -> bool {
        self.rows.contains_key(name)
    }

    fn value(&self, row: &EventRow<'r>, key: &str) -> Option<&'r Value> {
        let found = row.attributes.iter().find(|attribute| {
            let name = self.recording.attribute_key(attribute.key);
            name.is_some_and(|name| self.recording.text(name.name) == key)
        });
        found.map(|attribute| &attribute.value)
    }

    fn number(&self, row: &EventRow<'r>, key: &str) -> Option<f64> {
        match self.value(row, key)? {
            Value::I64(value) => Some(float(*value)),
            Value::U64(value) => Some(float(i64::try_from(*value).unwrap_or(i64::MAX))),
            Value::F64(value) => Some(*value),
            _ => None,
        }
    }

    fn integer(&self, row: &EventRow<'r>, key: &str) -> Option<i64> {
        match self.value(row, key)? {
            Value::I64(value) => Some(*value),
            Value::U64(value) => i64::try_from(*value).ok(),
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            Value::F64(value) => Some(*value as i64),
            _ => None,
        }
    }

    fn times(&self, name: &str) -> Times {
        let mut times = Times::default();
        for row in self.each(name) {
            let length = row.end.map_or(0, |end| end.saturating_sub(row.time));
            times.max = times.max.max(length);
            times.total = times.total.saturating_add(length);
            times.count += 1;
        }
        times
    }

    /// Returns the largest value of a field and the sum of all.
    fn amounts(&self, name: &str, key: &str) -> (i64, i64) {
        let values = self.each(name).filter_map(|row| self.integer(&row, key));
        values.fold((0, 0), |(max, total), value| {
            (value.max(max), value.saturating_add(total))
        })
    }
}

struct Derive<'r> {
    recording: &'r Recording,
    profile: &'r Profile,
    values: Values,
    events: Events<'r>,
    seconds: Option<f64>,
}

/// Intervals that are absent or not positive mean this (SPEC.md §3.11).
const INTERVAL: i64 = 10_000_000;

/// JVM starts before 2020 are clocks that were never set.
const OLDEST_START: i64 = 1_577_836_800_000_000_000;

impl Derive<'_> {
    fn rate(&self, metrics: &mut Metrics, name: &str, amount: f64) {
        if let Some(seconds) = self.seconds {
            metrics.float(name, amount / seconds);
        }
    }

    fn cores(&self, metrics: &mut Metrics, name: &str, cpu_ns: i64) {
        self.rate(metrics, name, seconds(cpu_ns));
    }

    fn jvm(&self, metrics: &mut Metrics) {
        let events = &self.events;
        if let Some(start) = self.jvm_start() {
            metrics.int(
                "prof_jvm_uptime_nanoseconds",
                self.profile.end.saturating_sub(start),
            );
        }
        if let Some(cpu) = self.jvm_cpu() {
            self.cores(metrics, "prof_jvm_cpu_cores", cpu);
        }
        if let Some((bytes, count)) = self.jvm_allocations() {
            metrics.float("prof_jvm_alloc_bytes_total", bytes);
            self.rate(metrics, "prof_jvm_alloc_bytes_per_sec", bytes);
            self.rate(metrics, "prof_jvm_allocs_per_sec", count);
        }
        let direct = ["datadog.DirectAllocationTotal", "datadog.DirectAllocation"];
        let direct = direct
            .iter()
            .find(|name| events.has(name))
            .map_or(0, |name| events.amounts(name, "allocated").1);
        self.rate(
            metrics,
            "prof_jvm_direct_alloc_bytes_per_sec",
            float(direct),
        );
        let classes = events.count("jdk.ClassLoaderStatistics");
        self.rate(metrics, "prof_jvm_class_loads_per_sec", float(classes));
        metrics.int(
            "prof_jvm_compilation_time",
            events.times("jdk.Compilation").total,
        );
        metrics.float("prof_jvm_context_switches_per_sec", self.switch_rate());
        let throws = events.count("datadog.ExceptionSample");
        metrics.int("prof_jvm_throws_total", throws);
        self.rate(metrics, "prof_jvm_throws_per_sec", float(throws));
        let read = self.io(metrics, "file_io", "read", "jdk.FileRead", "bytesRead");
        let written = self.io(metrics, "file_io", "write", "jdk.FileWrite", "bytesWritten");
        metrics.int("prof_jvm_file_io_time", read.saturating_add(written));
        self.io(metrics, "socket_io", "read", "jdk.SocketRead", "bytesRead");
        self.io(
            metrics,
            "socket_io",
            "write",
            "jdk.SocketWrite",
            "bytesWritten",
        );
        let collections = events.times("jdk.GarbageCollection");
        let mean = if collections.count > 0 {
            float(collections.total) / float(collections.count)
        } else {
            0.0
        };
        metrics.float("prof_jvm_avg_gc_pause_time", mean);
        let pauses = events.times("jdk.GCPhasePause");
        metrics.int("prof_jvm_max_gc_pause_time", pauses.max);
        metrics.int("prof_jvm_gc_pause_time", pauses.total);
        self.rate(metrics, "prof_jvm_gc_pauses_per_sec", float(pauses.count));
        metrics.int("prof_jvm_lifetime_heap_objects", self.live_samples());
        let usage = events.each("datadog.HeapUsage").next();
        let usage = usage.and_then(|row| events.integer(&row, "size"));
        metrics.int("prof_jvm_lifetime_heap_bytes", usage.unwrap_or(0));
        let locks = events.times("jdk.JavaMonitorEnter");
        metrics.int("prof_jvm_locks_max_wait_time", locks.max);
        self.rate(metrics, "prof_jvm_locks_per_sec", float(locks.count));
        let threads = events.count("jdk.ThreadStart");
        self.rate(metrics, "prof_jvm_threads_created_per_sec", float(threads));
        metrics.int(
            "prof_jvm_threads_deadlocked",
            events.count("datadog.DeadlockedThread"),
        );
    }

    fn jvm_start(&self) -> Option<i64> {
        let row = self.events.each("jdk.JVMInformation").next()?;
        let start = self.events.integer(&row, "jvmStartTime")?;
        // The field is in milliseconds; a lowering that knows so has made nanoseconds of it.
        let start = if start < 100_000_000_000_000 {
            start.saturating_mul(1_000_000)
        } else {
            start
        };
        (start >= OLDEST_START).then_some(start)
    }

    /// CPU time: of the profiler's samples as events, else of the profile they were lowered to.
    fn jvm_cpu(&self) -> Option<i64> {
        const SAMPLE: &str = "datadog.ExecutionSample";
        if !self.events.has(SAMPLE) {
            return self.values.time(&["cpu-time", "cpu"]);
        }
        let interval = self
            .events
            .each("datadog.DatadogProfilerConfig")
            .find_map(|row| self.events.integer(&row, "cpuInterval"))
            .filter(|&interval| interval > 0)
            .map_or(INTERVAL, |interval| {
                // Settings count milliseconds, times nanoseconds.
                if interval < 100_000 {
                    interval.saturating_mul(1_000_000)
                } else {
                    interval
                }
            });
        let weight = |row| self.events.integer(&row, "weight").unwrap_or(1);
        let samples = self.events.each(SAMPLE).map(weight);
        Some(
            samples
                .fold(0, i64::saturating_add)
                .saturating_mul(interval),
        )
    }

    /// Bytes and objects allocated; each sample stands for `weight` of its kind.
    fn jvm_allocations(&self) -> Option<(f64, f64)> {
        const SAMPLE: &str = "datadog.ObjectSample";
        if self.events.has(SAMPLE) {
            let mut sums = (0.0, 0.0);
            for row in self.events.each(SAMPLE) {
                let weight = self.events.number(&row, "weight").unwrap_or(1.0);
                let size = self.events.number(&row, "size");
                let size = size.or_else(|| self.events.number(&row, "allocationSize"));
                sums.0 += size.unwrap_or(0.0) * weight;
                sums.1 += weight;
            }
            return Some(sums);
        }
        let bytes = self
            .values
            .total(&["alloc-space", "alloc_space", "alloc", "alloc-size"])?;
        let count = self
            .values
            .total(&["alloc-samples", "alloc_objects", "alloc-count"]);
        Some((float(bytes), float(count.unwrap_or(0))))
    }

    fn live_samples(&self) -> i64 {
        const SAMPLE: &str = "datadog.HeapLiveObject";
        if self.events.has(SAMPLE) {
            return self.events.count(SAMPLE);
        }
        let live = [
            "heap-live-objects",
            "heap-live-samples",
            "live-samples",
            "live",
        ];
        self.values.total(&live).unwrap_or(0)
    }

    fn switch_rate(&self) -> f64 {
        let rates = self.events.each("jdk.ThreadContextSwitchRate");
        let rates = rates.filter_map(|row| self.events.number(&row, "switchRate"));
        let (sum, count) = rates.fold((0.0, 0.0), |(sum, count), rate| (sum + rate, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// Adds the four metrics of one kind of input or output; returns its total time.
    fn io(&self, metrics: &mut Metrics, place: &str, way: &str, event: &str, bytes: &str) -> i64 {
        let times = self.events.times(event);
        let (most, total) = self.events.amounts(event, bytes);
        metrics.int(&format!("prof_jvm_{place}_max_{way}_time"), times.max);
        metrics.int(&format!("prof_jvm_{place}_max_{way}_bytes"), most);
        metrics.int(&format!("prof_jvm_{place}_{way}_time"), times.total);
        metrics.int(&format!("prof_jvm_{place}_{way}_bytes"), total);
        times.total
    }

    fn go(&self, metrics: &mut Metrics) {
        let reported = self.go_reported();
        let number = |name: &str| match reported.get(name) {
            Some(FieldValue::I64(value)) => Some(float(*value)),
            Some(FieldValue::F64(value)) => Some(*value),
            _ => None,
        };
        for name in GO_NAMES {
            let told = format!("prof_go_{name}");
            if let Some(value) = reported.get(&format!("go_{name}")) {
                metrics.values.push((told, value.clone()));
                continue;
            }
            match name {
                "alloc_bytes_total" => {
                    if let (Some(rate), Some(seconds)) =
                        (number("go_alloc_bytes_per_sec"), self.seconds)
                    {
                        metrics.float(&told, rate * seconds);
                    }
                }
                "cpu_cores_gc_overhead" => {
                    if let (Some(pause), Some(seconds)) = (number("go_gc_pause_time"), self.seconds)
                    {
                        metrics.float(&told, pause / seconds);
                    }
                }
                "cpu_cores" => {
                    if let Some(cpu) = self.values.time(&["cpu-time", "cpu"]) {
                        self.cores(metrics, &told, cpu);
                    }
                }
                _ => {
                    let total = match name {
                        "blocked_time" => self.values.total(&["block"]),
                        "mutex_delay_time" => self.values.total(&["mutex"]),
                        // Files say `goroutine` where the producer's code looks for `goroutines`.
                        "num_goroutine" => self.values.total(&["goroutines", "goroutine"]),
                        "lifetime_heap_bytes" => self.values.total(&["heap-space", "inuse_space"]),
                        "lifetime_heap_objects" => {
                            self.values.total(&["heap-live-objects", "inuse_objects"])
                        }
                        _ => None,
                    };
                    if let Some(total) = total {
                        metrics.int(&told, total);
                    }
                }
            }
        }
    }

    /// What the program reported of itself in `metrics.json`.
    fn go_reported(&self) -> HashMap<String, FieldValue> {
        let mut reported = HashMap::new();
        for row in self.events.each(crate::gometrics::EVENT) {
            for attribute in row.attributes {
                let Some(key) = self.recording.attribute_key(attribute.key) else {
                    continue;
                };
                let value = match attribute.value {
                    Value::I64(value) => FieldValue::I64(value),
                    Value::F64(value) => FieldValue::F64(value),
                    _ => continue,
                };
                reported.insert(self.recording.text(key.name).into_owned(), value);
            }
        }
        reported
    }

    fn python(&self, metrics: &mut Metrics) {
        let total = |name: &str| self.values.total(&[name]);
        if let Some(cpu) = total("cpu-time") {
            self.cores(metrics, "prof_python_cpu_cores", cpu);
        }
        if let Some(bytes) = total("alloc-space") {
            metrics.int("prof_python_alloc_bytes_total", bytes);
            self.rate(metrics, "prof_python_alloc_bytes_per_sec", float(bytes));
        }
        if let Some(count) = total("alloc-samples") {
            self.rate(metrics, "prof_python_allocs_per_sec", float(count));
        }
        if let Some(count) = total("lock-acquire") {
            self.rate(
                metrics,
                "prof_python_lock_acquisitions_per_sec",
                float(count),
            );
        }
        if let Some(time) = total("lock-acquire-wait") {
            metrics.int("prof_python_lock_acquisition_time", time);
        }
        if let Some(time) = total("lock-release-hold") {
            metrics.int("prof_python_lock_hold_time", time);
        }
        if let Some(count) = total("exception-samples") {
            metrics.int("prof_python_exceptions_total", count);
            self.rate(metrics, "prof_python_exceptions_per_sec", float(count));
        }
        if let Some(time) = total("wall-time") {
            metrics.int("prof_python_wall_time", time);
        }
        if let Some(bytes) = total("heap-space") {
            metrics.int("prof_python_lifetime_heap_bytes", bytes);
        }
    }
}

const GO_NAMES: [&str; 15] = [
    "cpu_cores",
    "cpu_cores_gc_overhead",
    "alloc_bytes_per_sec",
    "alloc_bytes_total",
    "allocs_per_sec",
    "frees_per_sec",
    "heap_growth_bytes_per_sec",
    "gcs_per_sec",
    "gc_pause_time",
    "max_gc_pause_time",
    "num_goroutine",
    "blocked_time",
    "mutex_delay_time",
    "lifetime_heap_bytes",
    "lifetime_heap_objects",
];
