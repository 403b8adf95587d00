//! Metrics of Java, from the events of a JFR recording.

use super::{Derive, Metrics, float};

/// Intervals that are absent or not positive mean this (`datakit/SPEC.md` §3.11).
const INTERVAL: i64 = 10_000_000;

/// JVM starts before 2020 are clocks that were never set.
const OLDEST_START: i64 = 1_577_836_800_000_000_000;

impl Derive<'_> {
    pub(crate) fn jvm(&self, metrics: &mut Metrics) {
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
        // Without these events nobody counted what was thrown.
        if events.has("datadog.ExceptionSample") {
            let throws = events.count("datadog.ExceptionSample");
            metrics.int("prof_jvm_throws_total", throws);
            self.rate(metrics, "prof_jvm_throws_per_sec", float(throws));
        }
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
        if let Some(live) = self.live_samples() {
            metrics.int("prof_jvm_lifetime_heap_objects", live);
        }
        let usage = events.each("datadog.HeapUsage").next();
        if let Some(bytes) = usage.and_then(|row| events.integer(&row, "size")) {
            metrics.int("prof_jvm_lifetime_heap_bytes", bytes);
        }
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
        let bytes = self.values.total(&[
            "alloc-space",
            "alloc_space",
            "alloc",
            "alloc-size",
            "alloc_tlab",
            "alloc_sample",
        ])?;
        let count = self.values.total(&[
            "alloc-samples",
            "alloc_objects",
            "alloc-count",
            "alloc_tlab_events",
            "alloc_sample_events",
        ]);
        Some((float(bytes), float(count.unwrap_or(0))))
    }

    fn live_samples(&self) -> Option<i64> {
        const SAMPLE: &str = "datadog.HeapLiveObject";
        if self.events.has(SAMPLE) {
            return Some(self.events.count(SAMPLE));
        }
        let live = [
            "heap-live-objects",
            "heap-live-samples",
            "live-samples",
            "live_objects",
        ];
        self.values.total(&live)
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
}
