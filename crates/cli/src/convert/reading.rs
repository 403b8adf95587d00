//! One recording on its way to the target.

use traceloom_analysis::loss::{Loss, Losses, Lost};
use traceloom_analysis::stage::{AsSamples, AsSpans, PassedRows, Redact, Redaction, WithheldSpans};
use traceloom_formats::Format;
use traceloom_input::piped;
use traceloom_model::{Capabilities, Feature, Limit, Notes, Sink};

use super::Job;
use crate::only::Only;
use crate::pick::{Pick, Tell};
use crate::read_plan::RecordingReader;
use crate::values::WantedValues;

/// A recording on its way to the target.
pub(super) struct RecordingFeed<'r> {
    pub(super) job: &'r Job<'r>,
    pub(super) redaction: &'r Redaction,
    pub(super) target: &'static Format,
    /// What the target holds in the variant that is written.
    pub(super) holds: Capabilities,
    pub(super) recording: RecordingReader<'r>,
}

/// What of a span a sample does not have.
const OF_SPANS: [Feature; 10] = [
    Feature::SpanCounters,
    Feature::SpanAttributes,
    Feature::ErrorStatus,
    Feature::TraceIds,
    Feature::SpanContexts,
    Feature::SpanKinds,
    Feature::InnerMarks,
    Feature::AttributeTimes,
    Feature::UpwardAttributes,
    Feature::PartialSpans,
];

/// What of a sample a span does not have.
const OF_SAMPLES: [Feature; 4] = [
    Feature::SampleLabels,
    Feature::SampleSpans,
    Feature::ManyValues,
    Feature::InclusiveValues,
];

impl RecordingFeed<'_> {
    /// Reads it into `to`, told as the job asks, and adds what was lost.
    pub(super) fn pass(
        &self,
        to: &mut (dyn Sink + Send),
        losses: &mut Losses,
        told: &mut RowCounts,
    ) -> anyhow::Result<Notes> {
        let source = self.recording.document.format();
        let holds = match source {
            Some(source) if source == self.target => self.holds.of_the_same_format(),
            _ => self.holds,
        };
        match self.job.pick.tell() {
            Tell::Plain => {
                let mut held = WithheldSpans::new(to, holds);
                let notes = self.read(&mut held, holds, losses, &mut told.values)?;
                told.add(held.passed());
                Ok(notes)
            }
            tell @ (Tell::Samples | Tell::SamplesOrCalls) => {
                let mut samples = match tell {
                    Tell::SamplesOrCalls => AsSamples::where_none_are(to),
                    _ => AsSamples::new(to, self.job.pick.lanes),
                };
                // Times of spans are gone, which is what was asked for.
                let holds = holds.without(&OF_SPANS).with(&[
                    Feature::Spans,
                    Feature::AsyncTracks,
                    Feature::SubMillisecond,
                    Feature::SubMicrosecond,
                ]);
                let notes = self.read(&mut samples, holds, losses, &mut told.values)?;
                told.samples += samples.n_samples();
                let beside = match (tell, samples.n_samples()) {
                    (Tell::Samples, _) => "of async tracks, which --async counts",
                    (_, 0) => "of async tracks",
                    _ => "",
                };
                let spans = samples.finish();
                told.spans += spans.told;
                losses.merge(changed("spans", "as samples", spans.told));
                losses.merge(lost("spans", beside, spans.left));
                Ok(notes)
            }
            Tell::Spans => {
                let mut spans = AsSpans::new(to, self.job.pick.value.clone());
                let holds = holds.without(&OF_SAMPLES).with(&[
                    Feature::Samples,
                    Feature::SampleTimes,
                    Feature::SampleTracks,
                ]);
                let notes = self.read(&mut spans, holds, losses, &mut told.values)?;
                let samples = spans.finish();
                told.samples += samples.told;
                losses.merge(changed("samples", "as spans", samples.told));
                if !self.target.holds.holds(Feature::Samples) {
                    let left = "without a time, or of another value";
                    losses.merge(lost("samples", left, samples.left));
                }
                Ok(notes)
            }
        }
    }

    fn read(
        &self,
        to: &mut (dyn Sink + Send),
        holds: Capabilities,
        losses: &mut Losses,
        values: &mut WantedValues,
    ) -> anyhow::Result<Notes> {
        let limits = self.job.common.limits()?;
        let pick = self.job.pick;
        let mut loss = Loss::new(to, holds);
        let mut redact = Redact::new(&mut loss, self.redaction);
        let mut met = None;
        let notes = piped(&mut redact, |sink| {
            let mut choose = pick.choose(sink, limits.size(Limit::OpenSpans), self.job.common)?;
            let notes = match pick.only() {
                Some(value) => {
                    let mut only = Only::new(&mut choose, value, self.recording.file());
                    let notes = self.recording.lower(&mut only)?;
                    met = Some(only.finish());
                    notes
                }
                None => self.recording.lower(&mut choose)?,
            };
            // A sink that breaks has its reason; the target tells it when it is finished.
            let _ = choose.finish();
            anyhow::Ok(notes)
        })?;
        if let Some(met) = met {
            values.add(met);
        }
        losses.merge(loss.finish());
        Ok(notes)
    }
}

fn changed(kind: &'static str, field: &str, count: u64) -> Losses {
    let entry = Lost {
        kind,
        field: field.to_owned(),
        count,
        example: String::new(),
    };
    Losses {
        lost: Vec::new(),
        changed: if count > 0 { vec![entry] } else { Vec::new() },
    }
}

fn lost(kind: &'static str, field: &str, count: u64) -> Losses {
    let Losses { lost, changed } = changed(kind, field, count);
    Losses {
        lost: changed,
        changed: lost,
    }
}

/// How many spans and samples there were, to say why nothing came of them.
#[derive(Clone, Default)]
pub(super) struct RowCounts {
    spans: u64,
    samples: u64,
    /// Spans came as steps, which are not counted.
    steps: bool,
    values: WantedValues,
}

impl RowCounts {
    fn add(&mut self, other: PassedRows) {
        self.spans += other.spans;
        self.samples += other.samples;
        self.steps |= other.steps;
    }

    /// Returns `true` if neither calls nor samples came.
    pub(super) fn is_empty(&self) -> bool {
        self.spans == 0 && self.samples == 0 && !self.steps
    }

    /// Fails when nothing had the value asked for, or all there was is of the kind that the target does not hold.
    pub(super) fn check(
        &self,
        pick: &Pick,
        target: &Format,
        inputs: &[String],
    ) -> anyhow::Result<()> {
        let tell = pick.tell();
        if let Some(value) = pick.only() {
            let instead = match tell {
                Tell::Plain if self.spans > 0 => {
                    "; --as-samples writes the wall time of calls by stack"
                }
                _ => "",
            };
            let mut values = self.values.clone();
            if matches!(tell, Tell::Samples | Tell::SamplesOrCalls) && self.spans > 0 {
                values.take_spans(value);
            }
            values.check_with(value, instead)?;
        }
        let inputs = inputs.join(", ");
        let (spans, samples) = (
            target.holds.holds(Feature::Spans),
            target.holds.holds(Feature::Samples),
        );
        match tell {
            Tell::Plain if self.spans > 0 && self.samples == 0 && !spans && samples => {
                anyhow::bail!(
                    "{inputs}: calls, and {} holds samples; --as-samples writes their own time by stack",
                    target.name
                )
            }
            Tell::Plain if self.samples > 0 && self.spans == 0 && !samples && spans => {
                anyhow::bail!(
                    "{inputs}: samples, and {} holds spans; --as-spans draws what was on the stack from one sample to \
                 the next",
                    target.name
                )
            }
            Tell::Spans if self.samples == 0 => anyhow::bail!(
                "{inputs}: no sample has a time, so nothing says from when to when anything ran"
            ),
            Tell::Samples if self.spans == 0 => {
                anyhow::bail!("{inputs}: there are no spans to tell as samples")
            }
            Tell::Plain | Tell::Spans | Tell::Samples | Tell::SamplesOrCalls => Ok(()),
        }
    }
}
