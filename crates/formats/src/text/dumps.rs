//! Dumps of threads as text: lines to samples, one for each thread.

use traceloom_model::{
    Attribute, BATCH_ROWS, Clock, Flow, FrameId, Order, Profile, SampleBatch, SampleRow, Sink,
    Stack, StackId, Tables, TrackId, Unit, ValueType,
};

use super::line_records::each_line;
use crate::{Error, LowerOptions, Part, Source};

/// Calls read of one thread at most.
pub(crate) const DEEPEST: usize = 65_536;

/// The samples of dumps, of one profile that counts threads.
pub(crate) struct DumpSamples {
    pub(crate) tables: Tables,
    batch: SampleBatch,
}

/// Reads the lines of dumps.
pub(crate) trait TextDump {
    /// Begins a part.
    fn begin(&mut self, _part: &Part) {}

    /// Takes a line.
    fn line(&mut self, line: &str, to: &mut DumpSamples);

    /// Ends the thread that the last lines were of.
    fn end(&mut self, to: &mut DumpSamples);
}

impl DumpSamples {
    fn new(name: &str) -> Self {
        let mut tables = Tables::new();
        let name = tables.string(name);
        let value = tables.value_type(ValueType::sum(name, Unit::Count));
        let profile = tables.profile(Profile {
            value_types: vec![value],
            default: Some(value),
            ..Profile::default()
        });
        Self {
            tables,
            batch: SampleBatch::new(profile, 1),
        }
    }

    /// Interns calls that come innermost first; of a stack that is cut, the outermost one is marked.
    pub(crate) fn stack<C>(
        &mut self,
        calls: &[C],
        is_cut: bool,
        frame: impl Fn(&C, &mut Tables) -> FrameId,
    ) -> Option<StackId> {
        calls.iter().rev().fold(None, |parent, call| {
            let frame = frame(call, &mut self.tables);
            Some(self.tables.stack(Stack {
                parent,
                frame,
                truncated: is_cut && parent.is_none(),
            }))
        })
    }

    /// Adds the sample of a thread.
    pub(crate) fn push(
        &mut self,
        track: TrackId,
        stack: Option<StackId>,
        time: Option<i64>,
        labels: &[Attribute],
    ) {
        self.batch.push(&SampleRow {
            stack,
            values: &[1],
            time,
            track: Some(track),
            span: None,
            labels,
        });
    }

    /// Hands samples to the sink once there are `least` of them.
    fn flush(&mut self, least: usize, sink: &mut dyn Sink) -> Flow {
        if self.batch.len() < least {
            return Flow::Continue(());
        }
        self.tables.push_definitions(sink)?;
        let empty = SampleBatch::new(self.batch.profile, 1);
        sink.samples(std::mem::replace(&mut self.batch, empty))
    }
}

/// Lowers the dumps in every part to samples of a profile of this name.
///
/// # Errors
/// What the source fails with.
pub(crate) fn lower<D: TextDump>(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
    profile: &str,
    dump: impl FnOnce(&mut Tables) -> D,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let mut samples = DumpSamples::new(profile);
    let mut dump = dump(&mut samples.tables);
    for (at, part) in source.parts().iter().enumerate() {
        dump.begin(part);
        let mut notes = Vec::new();
        let whole = each_line(
            source,
            at,
            &options.limits,
            &mut |_, line| {
                dump.line(line, &mut samples);
                samples.flush(BATCH_ROWS, sink)
            },
            &mut |note| {
                notes.push(note);
                Flow::Continue(())
            },
        )?;
        if !whole || notes.into_iter().any(|note| sink.note(note).is_break()) {
            return Ok(());
        }
        dump.end(&mut samples);
    }
    let _ = samples.flush(0, sink);
    Ok(())
}
