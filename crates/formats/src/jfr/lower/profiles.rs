//! The profiles of a recording: which events are samples, of what, and how much each one stands for (SPEC.md §7).

use traceloom_model::{
    Attribute, AttributeKey, Profile, ProfileId, SampleBatch, SampleRow, StringId, Tables,
    Timestamp, Unit, Value, ValueType,
};

use crate::Whole;

/// Rows of a batch: few enough that its columns stay in the cache, and that the largest, which holds a label
/// a row, is below the 128 KiB from which on allocators ask the system for each. Batches of the size the
/// sink allows spend more time on fresh pages than on samples.
pub(super) const ROWS: usize = 2_000;

/// Rows that samples are added up to, at most: more say that samples are not alike.
const MOST_ROWS: usize = 1 << 14;

const _: () = assert!(ROWS <= traceloom_model::BATCH_ROWS, "what the sink allows");

/// Which events say what was allocated. A recording has one source: added up, two would count every byte twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub(in crate::jfr) enum AllocSource {
    /// A new thread-local buffer, or an allocation outside of them.
    #[default]
    Tlab,
    /// The JDK's throttled samples, each with the bytes since the one before.
    Sample,
    /// Datadog's samples, each with the number of objects that it stands for.
    Object,
}

impl AllocSource {
    /// Returns the number that stands for it, where 0 is none.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Tlab => 1,
            Self::Sample => 2,
            Self::Object => 3,
        }
    }

    pub(super) fn of_code(code: u32) -> Option<Self> {
        let all = [Self::Tlab, Self::Sample, Self::Object];
        all.into_iter().find(|source| source.code() == code)
    }

    /// Returns the names of its events.
    pub(super) fn events(self) -> &'static str {
        match self {
            Self::Tlab => "jdk.ObjectAllocationInNewTLAB and jdk.ObjectAllocationOutsideTLAB",
            Self::Sample => "jdk.ObjectAllocationSample",
            Self::Object => "datadog.ObjectSample",
        }
    }
}

/// What a sample is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) enum Subject {
    Cpu,
    /// Threads in native code, which may wait there: the recording does not say.
    Native,
    Wall,
    /// A hardware or software event that async-profiler counts; the text is its name.
    Counted(StringId),
    Alloc(AllocSource),
    Lock,
    Live,
    /// Objects that survived, sampled to find leaks: not what the heap holds.
    Old,
    NativeMemory,
    Exceptions,
}

impl Subject {
    /// Returns the names and units of its value columns; the second is the one to show.
    pub(super) fn columns(self, tables: &mut Tables) -> [(StringId, Unit); 2] {
        let (count, amount, unit) = match self {
            Self::Cpu => ("cpu_samples", "cpu", Unit::Nanoseconds),
            Self::Native => ("native_samples", "native", Unit::Nanoseconds),
            Self::Wall => ("wall_samples", "wall", Unit::Nanoseconds),
            Self::Counted(name) => {
                let samples = [tables.string_bytes(name), b"_samples"].concat();
                return [(tables.bytes(&samples), Unit::Count), (name, Unit::Count)];
            }
            Self::Alloc(AllocSource::Tlab) => ("alloc_tlab_events", "alloc_tlab", Unit::Bytes),
            Self::Alloc(AllocSource::Sample) => {
                ("alloc_sample_events", "alloc_sample", Unit::Bytes)
            }
            Self::Alloc(AllocSource::Object) => ("alloc_objects", "alloc", Unit::Bytes),
            Self::Lock => ("lock_count", "lock", Unit::Nanoseconds),
            Self::Live => ("live_objects", "live", Unit::Bytes),
            Self::Old => ("old_objects", "old_object_size", Unit::Bytes),
            Self::NativeMemory => ("nativemem_objects", "nativemem", Unit::Bytes),
            Self::Exceptions => ("exception_samples", "exceptions", Unit::Count),
        };
        [
            (tables.string(count), Unit::Count),
            (tables.string(amount), unit),
        ]
    }
}

/// How an event type becomes samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Rule {
    /// The JDK's and async-profiler's execution samples: CPU or wall clock by thread state.
    Execution,
    /// Execution samples that carry how many they stand for.
    Weighted(Subject),
    /// async-profiler's run-length encoded wall clock samples.
    WallRun,
    /// The JDK's CPU time samples, each with its period.
    CpuTime,
    /// One thing of so many bytes, or one wait of so many nanoseconds: the field of this name.
    Amount(Subject, &'static str),
    /// Things of `size` bytes each, `weight` of them.
    Scaled(Subject),
}

impl Rule {
    /// Returns the rule for events of this type.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.strip_prefix("com.oracle.").unwrap_or(name);
        Some(match name {
            "jdk.ExecutionSample" | "jdk.NativeMethodSample" => Self::Execution,
            "jdk.CPUTimeSample" => Self::CpuTime,
            "profiler.WallClockSample" => Self::WallRun,
            "datadog.ExecutionSample" => Self::Weighted(Subject::Cpu),
            "datadog.MethodSample" => Self::Weighted(Subject::Wall),
            "jdk.ObjectAllocationInNewTLAB" => {
                Self::Amount(Subject::Alloc(AllocSource::Tlab), "tlabSize")
            }
            "jdk.ObjectAllocationOutsideTLAB" => {
                Self::Amount(Subject::Alloc(AllocSource::Tlab), "allocationSize")
            }
            "jdk.ObjectAllocationSample" => {
                Self::Amount(Subject::Alloc(AllocSource::Sample), "weight")
            }
            "datadog.ObjectSample" => Self::Scaled(Subject::Alloc(AllocSource::Object)),
            "jdk.JavaMonitorEnter" | "jdk.ThreadPark" | "profiler.NativeLock" => {
                Self::Amount(Subject::Lock, "duration")
            }
            "profiler.LiveObject" => Self::Amount(Subject::Live, "allocationSize"),
            "jdk.OldObjectSample" => Self::Amount(Subject::Old, "objectSize"),
            "datadog.HeapLiveObject" => Self::Scaled(Subject::Live),
            "profiler.Malloc" => Self::Amount(Subject::NativeMemory, "size"),
            "jdk.JavaExceptionThrow" | "jdk.JavaErrorThrow" | "datadog.ExceptionSample" => {
                Self::Amount(Subject::Exceptions, "")
            }
            _ => return None,
        })
    }

    /// Returns the source of allocations that the events are.
    pub(super) fn alloc_source(self) -> Option<AllocSource> {
        match self {
            Self::Amount(Subject::Alloc(source), _) | Self::Scaled(Subject::Alloc(source)) => {
                Some(source)
            }
            _ => None,
        }
    }

    /// Returns true if the sample says all that the event does.
    pub(super) fn is_whole(self) -> bool {
        !matches!(self, Self::Amount(Subject::Lock | Subject::Exceptions, _))
    }

    /// Returns the field with what a sample stands for.
    pub(super) fn amount(self) -> Option<&'static str> {
        match self {
            Self::Execution => None,
            Self::Weighted(_) | Self::Scaled(_) => Some("weight"),
            Self::WallRun => Some("samples"),
            Self::CpuTime => Some("samplingPeriod"),
            Self::Amount(_, amount) => Some(amount),
        }
    }

    /// Returns true if a field is an amount, not a label.
    pub(super) fn takes(self, field: &str) -> bool {
        self.amount() == Some(field) || (matches!(self, Self::Scaled(_)) && field == "size")
    }
}

/// One profile of the recording, filling up.
struct ProfileSlot {
    id: ProfileId,
    row: Profile,
    batch: SampleBatch,
    /// The chunk at hand has samples of it.
    touched: bool,
    /// How many samples the rows of the batch stand for.
    n_samples: usize,
    /// Samples are added to rows of the batch, which has to stay until the sums end.
    is_summed: bool,
}

impl ProfileSlot {
    fn take(&mut self) -> SampleBatch {
        self.n_samples = 0;
        self.is_summed = false;
        self.batch.take()
    }
}

/// Where samples are added up: a profile, and a row of its batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumPlace {
    slot: usize,
    row: usize,
}

/// The profiles of a recording, one a subject.
#[derive(Default)]
pub(super) struct Profiles {
    slots: Vec<(Subject, ProfileSlot)>,
    /// The slots with [`ROWS`] samples and more that were added up, in the order in which they came to have so many.
    full: Vec<usize>,
    /// Rows that came since sums were handed on.
    n_rows: usize,
    /// When the first chunk began.
    pub(super) time: Option<Timestamp>,
}

impl Profiles {
    /// Adds a sample; returns the batch when it is full.
    pub(super) fn push(
        &mut self,
        subject: Subject,
        row: &SampleRow<'_>,
        labels: &mut Vec<Attribute>,
        tables: &mut Tables,
    ) -> Option<SampleBatch> {
        let at = self.position(subject, tables);
        let (_, slot) = self.slots.get_mut(at)?;
        slot.touched = true;
        slot.batch.push_with(row, labels);
        if slot.is_summed {
            self.n_rows += 1;
            let row = slot.batch.len() - 1;
            self.count(SumPlace { slot: at, row });
            return None;
        }
        (slot.batch.len() >= ROWS).then(|| slot.take())
    }

    /// Adds a sample to which others are added up; returns where.
    pub(super) fn push_sum(
        &mut self,
        subject: Subject,
        row: &SampleRow<'_>,
        labels: &mut Vec<Attribute>,
        tables: &mut Tables,
    ) -> Option<SumPlace> {
        let at = self.position(subject, tables);
        let (_, slot) = self.slots.get_mut(at)?;
        slot.touched = true;
        slot.is_summed = true;
        slot.batch.push_with(row, labels);
        self.n_rows += 1;
        let place = SumPlace {
            slot: at,
            row: slot.batch.len() - 1,
        };
        self.count(place);
        Some(place)
    }

    /// Adds so many samples, and what they come to, to those of a row; `times` are those of the first and the last.
    pub(super) fn add_up(
        &mut self,
        place: SumPlace,
        values: [i64; 2],
        n_samples: u64,
        times: (Timestamp, Timestamp),
    ) {
        if let Some((_, slot)) = self.slots.get_mut(place.slot) {
            slot.batch.add_up(place.row, &values, n_samples, times);
        }
    }

    /// Counts a sample that is added up to those of a row.
    #[inline]
    pub(super) fn count(&mut self, place: SumPlace) {
        if let Some((_, slot)) = self.slots.get_mut(place.slot) {
            slot.n_samples += 1;
            if slot.n_samples == ROWS {
                self.full.push(place.slot);
            }
        }
    }

    /// Returns true if there are so many rows that the sums have to be handed on.
    pub(super) fn has_many_rows(&self) -> bool {
        self.n_rows >= MOST_ROWS
    }

    /// Returns the sums of profiles that have many samples; nothing more is added to rows so far.
    pub(super) fn sums(&mut self) -> Vec<SampleBatch> {
        self.n_rows = 0;
        for (_, slot) in &mut self.slots {
            slot.is_summed = false;
        }
        let full = std::mem::take(&mut self.full);
        let slots = full.into_iter().filter_map(|at| {
            let (_, slot) = self.slots.get_mut(at)?;
            Some(slot.take()).filter(|batch| !batch.is_empty())
        });
        slots.collect()
    }

    fn position(&mut self, subject: Subject, tables: &mut Tables) -> usize {
        let known = self.slots.iter().position(|(known, _)| *known == subject);
        known.unwrap_or_else(|| self.add(subject, tables))
    }

    /// Makes the profile of what will be sampled.
    pub(super) fn announce(&mut self, subject: Subject, tables: &mut Tables) {
        if self.slot(subject).is_none() {
            self.add(subject, tables);
        }
    }

    fn add(&mut self, subject: Subject, tables: &mut Tables) -> usize {
        let [count, amount] = subject
            .columns(tables)
            .map(|(name, unit)| tables.value_type(ValueType::sum(name, unit)));
        let row = Profile {
            value_types: vec![count, amount],
            default: Some(amount),
            time: self.time,
            ..Profile::default()
        };
        let id = tables.profile(row.clone());
        let batch = SampleBatch::new(id, 2);
        self.slots.push((
            subject,
            ProfileSlot {
                id,
                row,
                batch,
                touched: false,
                n_samples: 0,
                is_summed: false,
            },
        ));
        self.slots.len() - 1
    }

    fn slot(&mut self, subject: Subject) -> Option<&mut ProfileSlot> {
        let found = self.slots.iter_mut().find(|(known, _)| *known == subject);
        found.map(|(_, slot)| slot)
    }

    /// Tells the profile what one of its samples stands for.
    pub(super) fn period(&mut self, subject: Subject, period: i64) {
        let Some(slot) = self.slot(subject) else {
            return;
        };
        if slot.row.period.is_none()
            && let Some(&amount) = slot.row.value_types.get(1)
        {
            slot.row.period = Some((amount, period));
        }
    }

    /// Gives the profile a setting of its producer, once.
    pub(super) fn set(&mut self, subject: Subject, setting: &Attribute) {
        if let Some(slot) = self.slot(subject)
            && !slot.row.settings.contains(setting)
        {
            slot.row.settings.push(setting.clone());
        }
    }

    /// Returns the subjects of which the chunk had samples, and begins the next chunk: a chunk's settings
    /// are those its samples were taken with.
    pub(super) fn next_chunk(&mut self) -> Vec<Subject> {
        let slots = self.slots.iter_mut();
        slots
            .filter_map(|(subject, slot)| std::mem::take(&mut slot.touched).then_some(*subject))
            .collect()
    }

    /// Returns what is left, after telling the tables what is known of each profile at the end.
    pub(super) fn finish(&mut self, whole: Option<Whole>, tables: &mut Tables) -> Vec<SampleBatch> {
        let mut left = Vec::new();
        for (_, slot) in std::mem::take(&mut self.slots) {
            let row = Profile {
                time: whole.map(|whole| whole.time).or(slot.row.time),
                duration: whole.map(|whole| whole.duration),
                ..slot.row
            };
            tables.redefine_profile(slot.id, row);
            if !slot.batch.is_empty() {
                left.push(slot.batch);
            }
        }
        left
    }
}

/// Builds a setting of a profile.
pub(super) fn setting(name: &str, value: Value, tables: &mut Tables) -> Attribute {
    let name = tables.string(name);
    let key = tables.attribute_key(AttributeKey::named(name));
    Attribute::new(key, value)
}
