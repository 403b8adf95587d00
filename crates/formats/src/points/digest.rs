//! What metrics are derived from, kept without the samples: a recording of any length in little memory.

use std::collections::HashSet;

use traceloom_model::{
    Asks, Clock, CounterBatch, Definitions, EventBatch, EventTypeId, Flow, Note, Order, Recording,
    SampleBatch, SampleRow, Sink, Wants,
};

/// Types of events that [`super::metrics`] looks at.
const READ: &[&str] = &[
    super::GO_METRICS,
    "datadog.DatadogProfilerConfig",
    "datadog.DeadlockedThread",
    "datadog.DirectAllocation",
    "datadog.DirectAllocationTotal",
    "datadog.ExceptionSample",
    "datadog.ExecutionSample",
    "datadog.HeapLiveObject",
    "datadog.HeapUsage",
    "datadog.ObjectSample",
    "jdk.ClassLoaderStatistics",
    "jdk.Compilation",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.GCPhasePause",
    "jdk.GarbageCollection",
    "jdk.InitialEnvironmentVariable",
    "jdk.JVMInformation",
    "jdk.JavaMonitorEnter",
    "jdk.SocketRead",
    "jdk.SocketWrite",
    "jdk.ThreadContextSwitchRate",
    "jdk.ThreadStart",
];

/// A sink that keeps the sums of samples, the events that metrics need, and the first event of every other
/// type: by those the language of a recording is known.
#[derive(Debug, Default)]
pub struct Digest {
    recording: Recording,
    met: HashSet<EventTypeId>,
}

impl Digest {
    /// Returns the recording: one sample a batch, and the events that were kept.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    fn reads(&mut self, id: EventTypeId) -> bool {
        if self.met.insert(id) {
            return true;
        }
        let name = self.recording.event_type(id).map(|row| row.name);
        // What is not defined yet is kept.
        name.is_none_or(|name| READ.contains(&self.recording.text(name).as_ref()))
    }
}

impl Sink for Digest {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::NoSpans,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.recording.begin(order, clock);
    }

    fn define(&mut self, mut new: Definitions) -> Flow {
        // Sums have no stacks.
        new.stacks.clear();
        new.frames.clear();
        self.recording.define(new)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let mut sums = vec![0_i64; batch.width()];
        for row in 0..batch.len() {
            for (sum, value) in sums.iter_mut().zip(batch.values(row)) {
                *sum = sum.saturating_add(*value);
            }
        }
        let mut summed = SampleBatch::new(batch.profile, batch.width());
        summed.push(&SampleRow {
            stack: None,
            values: &sums,
            time: None,
            track: None,
            span: None,
            labels: &[],
        });
        self.recording.samples(summed)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        let mut kept = EventBatch::default();
        for event in batch.iter() {
            if self.reads(event.event_type) {
                kept.push(&event);
            }
        }
        self.recording.events(kept)
    }

    fn counters(&mut self, _batch: CounterBatch) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
