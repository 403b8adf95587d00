//! Metrics of Go: what the program reported of itself, and what its profiles tell where it did not.

use std::collections::HashMap;

use traceloom_model::Value;

use super::{Derive, Metrics, float};
use crate::points::FieldValue;

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

impl Derive<'_> {
    pub(crate) fn go(&self, metrics: &mut Metrics) {
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
        for row in self.events.each(crate::points::GO_METRICS) {
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
}
