//! Which kinds of samples a recording has, known before they are lowered.

use super::profiles::{AllocSource, Rule, Subject};

/// Samples after which the profiles of all others are made, so that a target with one list of columns knows them: events
/// of a rare kind may lie behind a million of another.
pub(super) const SAMPLES: u64 = 1 << 14;

/// What the events of a recording are of, where that is known from their type alone.
const SUBJECTS: [Subject; 11] = [
    Subject::Cpu,
    Subject::Native,
    Subject::Wall,
    Subject::Alloc(AllocSource::Tlab),
    Subject::Alloc(AllocSource::Sample),
    Subject::Alloc(AllocSource::Object),
    Subject::Lock,
    Subject::Live,
    Subject::Old,
    Subject::NativeMemory,
    Subject::Exceptions,
];

/// Execution samples, of which settings say whether they are of a processor or of the clock.
const EXECUTION: u32 = 1 << 15;

/// Kinds of samples that are met, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct MetSamples(u32);

impl MetSamples {
    /// Adds what events of a type are.
    pub(super) fn add(&mut self, name: &str) {
        let subject = match Rule::of(name) {
            None => return,
            Some(Rule::Execution) if name.ends_with("NativeMethodSample") => Subject::Native,
            Some(Rule::Execution) => {
                self.0 |= EXECUTION;
                return;
            }
            Some(Rule::CpuTime) => Subject::Cpu,
            Some(Rule::WallRun) => Subject::Wall,
            Some(Rule::Weighted(of) | Rule::Scaled(of) | Rule::Amount(of, _)) => of,
        };
        for (at, _) in (0..).zip(&SUBJECTS).filter(|&(_, known)| *known == subject) {
            self.0 |= 1 << at;
        }
    }

    pub(super) fn has_execution(self) -> bool {
        self.0 & EXECUTION != 0
    }

    pub(super) fn subjects(self) -> impl Iterator<Item = Subject> {
        let known = (0..).zip(SUBJECTS);
        let met = known.filter(move |(at, _): &(u32, _)| self.0 & 1 << at != 0);
        met.map(|(_, subject)| subject)
    }
}

/// What is decided from all chunks of a recording, for those that lower some of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::jfr) struct RecordingChoice {
    pub(super) alloc: AllocSource,
    pub(super) met: MetSamples,
}

impl RecordingChoice {
    /// Returns the number that stands for it in [`crate::Whole::choice`], where 0 is none.
    pub(in crate::jfr) fn code(self) -> u32 {
        self.alloc.code() | self.met.0 << 2
    }

    pub(super) fn of_code(code: u32) -> Option<Self> {
        Some(Self {
            alloc: AllocSource::of_code(code & 3)?,
            met: MetSamples(code >> 2),
        })
    }
}
