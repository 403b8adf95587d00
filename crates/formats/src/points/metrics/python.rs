//! Metrics of Python, from the values of its profiles.

use super::{Derive, Metrics, float};

impl Derive<'_> {
    pub(crate) fn python(&self, metrics: &mut Metrics) {
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
