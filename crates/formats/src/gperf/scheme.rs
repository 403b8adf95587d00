//! What the numbers of a profile mean (SPEC.md §4).

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{Note, Profile, Tables, Unit, ValueType, ValueTypeId};

use super::heap::{AllocationCounts, HeapHeader};
use crate::profile::unit;
use crate::{info, warn};

/// The rate at which the heap of Java is sampled, in bytes: its profiles do not say it.
const JAVA_RATE: i64 = 524_288;

#[derive(Clone, Debug, Default)]
enum SampleKind {
    /// No line said it.
    #[default]
    Unknown,
    Cpu,
    Heap {
        /// Samples are one in `period` bytes and stand for more than they are.
        sampled: bool,
        allocations: bool,
    },
    JavaHeap,
    Contention,
    Counts(Vec<u8>),
}

/// How the numbers of a profile are meant.
#[derive(Clone, Debug, Default)]
pub(super) struct Scheme {
    kind: SampleKind,
    /// Nanoseconds, bytes or contentions that one sample stands for; 0 when unknown.
    period: i64,
    /// Names, files and lines stand for addresses, which are only numbers of frames.
    pub(super) java: bool,
    resolution: Option<Vec<u8>>,
    cycles_per_second: i64,
    /// Go's mutex profile, of which newer versions multiply the counts and delays before they write them.
    go_mutex: bool,
    duration: Option<i64>,
    /// What the first line says the samples add up to, and where.
    total: Option<(i64, u64)>,
}

/// The values of a sample, and the bytes of one of its objects.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct SampleValues {
    pub(super) row: Vec<i64>,
    pub(super) size: Option<i64>,
    pub(super) note: Option<Note>,
}

fn kind_of_marker(marker: &[u8]) -> SampleKind {
    if marker.starts_with(b"heapz") {
        SampleKind::JavaHeap
    } else {
        SampleKind::Contention
    }
}

impl Scheme {
    pub(super) fn words(&mut self, words: &[u64]) {
        let micros = words.get(3).copied().unwrap_or(0);
        self.period = i64::try_from(micros).unwrap_or(0).saturating_mul(1000);
        self.java = words.get(2) == Some(&1);
        self.kind = SampleKind::Cpu;
    }

    pub(super) fn heap(&mut self, header: &HeapHeader<'_>) {
        let rate = header.rate.unwrap_or(0);
        let (sampled, period) = match header.kind {
            b"heapz_v2" | b"heap_v2" => (true, rate),
            // These write twice the rate.
            b"heap" | b"heapz" => (true, rate / 2),
            _ => (false, 1),
        };
        self.period = period;
        self.kind = SampleKind::Heap {
            sampled,
            allocations: header.kind.starts_with(b"heap") && differ(&header.counts),
        };
    }

    pub(super) fn jemalloc(&mut self, rate: i64) {
        self.period = rate;
        self.kind = SampleKind::Heap {
            sampled: true,
            allocations: false,
        };
    }

    /// Takes the totals of jemalloc: allocations are counted only when it was told to.
    pub(super) fn totals(&mut self, counts: &AllocationCounts) {
        if let SampleKind::Heap { allocations, .. } = &mut self.kind {
            *allocations = differ(counts);
        }
    }

    pub(super) fn marker(&mut self, marker: &[u8]) {
        let first = matches!(self.kind, SampleKind::Unknown);
        if first && super::text::shape_of(marker).is_some() {
            self.period = 1;
            self.kind = kind_of_marker(marker);
            self.java = matches!(self.kind, SampleKind::JavaHeap);
            self.go_mutex = marker == b"mutex:";
        }
    }

    pub(super) fn counts(&mut self, kind: &[u8], total: i64, offset: u64) {
        self.period = 1;
        self.total = Some((total, offset));
        self.kind = SampleKind::Counts(kind.to_vec());
    }

    /// Takes an attribute; returns a note about a number that is none.
    pub(super) fn attribute(&mut self, name: &[u8], value: &[u8], offset: u64) -> Option<Note> {
        let number = std::str::from_utf8(value).ok().and_then(|text| {
            let number: i64 = text.parse().ok()?;
            (number >= 0).then_some(number)
        });
        match name {
            b"format" => {
                self.java = value == b"java";
                return None;
            }
            b"resolution" => {
                self.resolution = Some(value.to_vec());
                return None;
            }
            b"cycles/second" => self.cycles_per_second = number.unwrap_or(0),
            b"sampling period" => self.period = number.unwrap_or(1),
            b"ms since reset" => self.duration = number.map(|ms| ms.saturating_mul(1_000_000)),
            _ => return None,
        }
        let text = format!("{} is no number", String::from_utf8_lossy(name));
        number.is_none().then(|| warn("no_number", offset, text))
    }

    /// Returns `true` if the innermost frames are those of the allocator.
    pub(super) fn is_heap(&self) -> bool {
        matches!(self.kind, SampleKind::Heap { .. })
    }

    pub(super) fn of_words(&self, count: u64) -> SampleValues {
        let count = saturated_i64(count);
        SampleValues {
            row: vec![count, count.saturating_mul(self.period)],
            ..SampleValues::default()
        }
    }

    pub(super) fn of_heap(&mut self, counts: &AllocationCounts, offset: u64) -> SampleValues {
        if matches!(self.kind, SampleKind::Unknown) {
            self.kind = SampleKind::Heap {
                sampled: false,
                allocations: false,
            };
        }
        let SampleKind::Heap {
            sampled,
            allocations,
        } = self.kind
        else {
            return SampleValues::default();
        };
        let mut values = SampleValues::default();
        let allocated = allocations.then_some((counts.alloc_objects, counts.alloc_bytes));
        let in_use = (counts.in_use_objects, counts.in_use_bytes);
        for (objects, bytes) in allocated.into_iter().chain([in_use]) {
            if objects == 0 && bytes != 0 {
                let text = format!("no objects have {bytes} bytes");
                values.note = Some(warn("bytes_of_nothing", offset, text));
            }
            let size = bytes.checked_div(objects);
            values.size = size.or(values.size).or(Some(0));
            let (objects, bytes) = if sampled {
                unsampled(objects, bytes, self.period)
            } else {
                (objects, bytes)
            };
            values.row.extend([objects, bytes]);
        }
        values
    }

    pub(super) fn of_pair(&mut self, value: i64, count: i64, offset: u64) -> SampleValues {
        if matches!(self.kind, SampleKind::Unknown) {
            self.kind = SampleKind::Contention;
            self.period = 1;
        }
        let mut values = SampleValues::default();
        if let SampleKind::JavaHeap = self.kind {
            if count == 0 && value != 0 {
                let text = format!("no objects have {value} bytes");
                values.note = Some(warn("bytes_of_nothing", offset, text));
            }
            values.size = Some(value.checked_div(count).unwrap_or(0));
            let (objects, bytes) = unsampled(count, value, JAVA_RATE);
            values.row = vec![objects, bytes];
            return values;
        }
        values.row = vec![count, value];
        values
    }

    pub(super) fn of_count(&mut self, count: i64) -> SampleValues {
        if matches!(self.kind, SampleKind::Unknown) {
            self.kind = SampleKind::Counts(b"count".to_vec());
        }
        SampleValues {
            row: vec![count],
            ..SampleValues::default()
        }
    }

    /// Returns the profile, and the factor of its last column.
    pub(super) fn profile(&self, model: &mut Tables) -> (Profile, i64) {
        let mut factor = 1;
        let columns: Vec<(Vec<u8>, Unit)> = match &self.kind {
            SampleKind::Cpu => columns(&[("samples", Unit::Count), ("cpu", Unit::Nanoseconds)]),
            SampleKind::Unknown | SampleKind::Heap { .. } if !self.allocations() => {
                columns(&[("objects", Unit::Count), ("space", Unit::Bytes)])
            }
            SampleKind::Unknown | SampleKind::Heap { .. } => columns(&[
                ("alloc_objects", Unit::Count),
                ("alloc_space", Unit::Bytes),
                ("inuse_objects", Unit::Count),
                ("inuse_space", Unit::Bytes),
            ]),
            SampleKind::JavaHeap => {
                let unit = self.resolved(Unit::Bytes, &mut factor, model);
                columns(&[("inuse_objects", Unit::Count), ("inuse_space", unit)])
            }
            SampleKind::Contention => {
                let plain = if self.cycles_per_second > 0 {
                    Unit::Nanoseconds
                } else {
                    Unit::Other(model.string("cycles"))
                };
                let unit = self.resolved(plain, &mut factor, model);
                columns(&[("contentions", Unit::Count), ("delay", unit)])
            }
            SampleKind::Counts(kind) => vec![(kind.clone(), Unit::Count)],
        };
        let value_types: Vec<ValueTypeId> = columns
            .iter()
            .map(|(name, unit)| {
                let name = model.bytes(name);
                model.value_type(ValueType::sum(name, *unit))
            })
            .collect();
        let period_type = match self.kind {
            SampleKind::Contention | SampleKind::Counts(_) => value_types.first().copied(),
            SampleKind::Cpu => value_types.last().copied(),
            SampleKind::JavaHeap => None,
            SampleKind::Unknown | SampleKind::Heap { .. } => {
                let name = model.string("space");
                Some(model.value_type(ValueType::sum(name, Unit::Bytes)))
            }
        };
        let profile = Profile {
            value_types,
            period: period_type.map(|period_type| (period_type, self.period)),
            duration: self.duration,
            ..Profile::default()
        };
        (profile, factor)
    }

    fn allocations(&self) -> bool {
        matches!(
            self.kind,
            SampleKind::Heap {
                allocations: true,
                ..
            }
        )
    }

    fn resolved(&self, plain: Unit, factor: &mut i64, model: &mut Tables) -> Unit {
        let Some(resolution) = &self.resolution else {
            return plain;
        };
        let (unit, times) = unit::parse(resolution, model);
        *factor = times;
        unit
    }

    /// Converts what was kept as written, when the last line was read; returns a note about how.
    pub(super) fn finish(&self, values: &mut [i64]) -> Option<Note> {
        if !matches!(self.kind, SampleKind::Contention) {
            return self.missing(values);
        }
        // A period of 0 is that of a profile which says none.
        let mut period = self.period.max(1);
        let mut counts = values.iter().step_by(2);
        let mut note = None;
        if self.go_mutex && period > 1 && counts.all(|count| count % period == 0) {
            let text = format!(
                "all counts are multiples of the sampling period {period}, as newer versions of Go write \
                 them: they are not multiplied again"
            );
            note = Some(info("already_scaled", 0, text));
            period = 1;
        }
        for row in values.chunks_exact_mut(2) {
            if let [count, delay] = row {
                *count = count.saturating_mul(period);
                *delay = if self.cycles_per_second > 0 {
                    nanoseconds(*delay, period, self.cycles_per_second)
                } else {
                    delay.saturating_mul(period)
                };
            }
        }
        note
    }

    /// Compares what the first line says with the samples.
    fn missing(&self, values: &[i64]) -> Option<Note> {
        let (total, offset) = self.total?;
        let sum = values
            .iter()
            .fold(0_i64, |sum, value| sum.saturating_add(*value));
        let text = format!("the first line says {total}, the samples add up to {sum}");
        (sum != total).then(|| warn("other_total", offset, text))
    }
}

fn columns(columns: &[(&str, Unit)]) -> Vec<(Vec<u8>, Unit)> {
    let bytes = |&(name, unit): &(&str, Unit)| (name.as_bytes().to_vec(), unit);
    columns.iter().map(bytes).collect()
}

/// Returns `true` if what was allocated is told apart from what is in use.
fn differ(counts: &AllocationCounts) -> bool {
    let differs = |alloc: i64, in_use: i64| alloc != in_use && alloc != 0;
    differs(counts.alloc_objects, counts.in_use_objects)
        || differs(counts.alloc_bytes, counts.in_use_bytes)
}

/// Returns the nanoseconds of a delay in cycles.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "computed and cut to whole numbers as other readers do"
)]
fn nanoseconds(cycles: i64, period: i64, cycles_per_second: i64) -> i64 {
    (cycles as f64 * period as f64 / (cycles_per_second as f64 / 1e9)) as i64
}

/// Estimates what a sample stands for: it was taken with the probability 1 − e^(−size/rate).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an estimate, cut to whole numbers as other readers do"
)]
fn unsampled(objects: i64, bytes: i64, rate: i64) -> (i64, i64) {
    if objects == 0 || bytes == 0 {
        return (0, 0);
    }
    if rate <= 1 {
        return (objects, bytes);
    }
    let size = bytes as f64 / objects as f64;
    let scale = 1.0 / (1.0 - (-size / rate as f64).exp());
    (
        (objects as f64 * scale) as i64,
        (bytes as f64 * scale) as i64,
    )
}
