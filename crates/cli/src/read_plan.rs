//! Reading one recording: in the stretch of time, on the clock and without the methods that flags name.

use jiff::tz::TimeZone;
use traceloom_analysis::calls::Sender;
use traceloom_analysis::filter::{Filter, Hide, HideSurvey};
use traceloom_analysis::stage::{Choose, Extent, Range, Shift, Tee, Window};
use traceloom_formats::protocol::Identity;
use traceloom_formats::{LowerOptions, Source};
use traceloom_input::captures::profile_index::{DecodedProfiles, ProfileIndex};
use traceloom_input::{Document, Input, InputPart, piped};
use traceloom_model::{Clock, Limit, Notes, Sink};

use crate::args::Common;
use crate::lowered::{documents, lower, watched};
use crate::open::with_progress;
use crate::select::CallFlags;
use crate::streams::message;
use crate::style::{Style, zone};
use crate::timing::{Bound, TimeFlags};
use crate::usage::Usage;

/// A stretch of time in which nothing lies.
const NOTHING: Range = Range {
    since: Some(i64::MAX),
    until: Some(i64::MAX),
};

/// How the recordings of a command are read.
pub(crate) struct ReadPlan<'f> {
    time: &'f TimeFlags,
    /// The methods that are admitted.
    methods: Filter,
    common: &'f Common,
    zone: TimeZone,
    /// First and last time of all recordings on the Unix clock, when a border counts from them.
    extent: Option<(i64, i64)>,
}

impl<'f> ReadPlan<'f> {
    /// Makes a plan for inputs and their numbers; reads where they begin and end, when a border counts from there.
    pub(crate) fn new<'i>(
        time: &'f TimeFlags,
        methods: Filter,
        common: &'f Common,
        inputs: impl IntoIterator<Item = (usize, &'i Input)>,
    ) -> anyhow::Result<Self> {
        let mut plan = Self {
            time,
            methods,
            common,
            zone: zone(common)?,
            extent: None,
        };
        if !time.is_relative() {
            return Ok(plan);
        }
        for (number, input) in inputs {
            with_progress(input, "finding the start", || {
                for document in documents(input)? {
                    let recording = plan.recording(number, input, document);
                    let extent = recording.extent(Extent::default())?;
                    if let (Some(Clock::Unix), Some((start, end))) =
                        (extent.clock(), extent.times())
                    {
                        let (first, last) = plan.extent.unwrap_or((start, end));
                        plan.extent = Some((first.min(start), last.max(end)));
                    }
                }
                Ok(())
            })?;
        }
        Ok(plan)
    }

    /// Returns the reader of a recording of the input with this number.
    pub(crate) fn recording<'r>(
        &'r self,
        number: usize,
        input: &'r Input,
        document: Document<'r>,
    ) -> RecordingReader<'r> {
        RecordingReader {
            plan: self,
            number,
            input,
            document,
        }
    }
}

/// Returns what lists of calls show of a sender.
pub(crate) fn sender_of(identity: &Identity) -> Sender {
    Sender {
        service: identity.service.clone(),
        instance: identity.instance.clone(),
    }
}

/// A recording that can be read, any number of times.
pub(crate) struct RecordingReader<'r> {
    plan: &'r ReadPlan<'r>,
    /// Number of the input, counted from 1.
    pub(crate) number: usize,
    pub(crate) input: &'r Input,
    pub(crate) document: Document<'r>,
}

impl RecordingReader<'_> {
    /// Returns the name of the file that the recording begins with.
    pub(crate) fn file(&self) -> &str {
        let first = self.document.parts().first();
        first.map_or("", |part| part.name.as_str())
    }

    /// Returns who sent the recording to a collector; nobody where it is a file.
    pub(crate) fn sender(&self) -> Sender {
        let first = self.document.members().next();
        let part = first.and_then(|(part, _)| self.input.parts().get(part));
        part.and_then(InputPart::sender)
            .map_or_else(Sender::default, sender_of)
    }

    /// Returns what tells the recording from others, for programs: its file, and the capture and its sender where a collector received it.
    pub(crate) fn named(&self) -> serde_json::Value {
        let file = self.file();
        let is_captured = self.input.is_of_captures();
        let capture = file.split_once('/').filter(|_| is_captured);
        let sender = self.sender();
        let said = |text: String| (!text.is_empty()).then_some(text);
        serde_json::json!({
            "file": file,
            "capture": capture.map(|(id, _)| id),
            "service": said(sender.service),
            "instance": said(sender.instance),
        })
    }

    /// Returns the clock of the recording, after shifts.
    pub(crate) fn clock(&self) -> anyhow::Result<Clock> {
        Ok(self.extent(Extent::of_clock())?.clock().unwrap_or_default())
    }

    fn extent(&self, mut extent: Extent) -> anyhow::Result<Extent> {
        let options = LowerOptions {
            limits: self.plan.common.limits()?,
            ..LowerOptions::default()
        };
        let time = self.plan.time;
        let shifts = time.shifts(self.number, self.input.path(), &self.document);
        let mut shift = Shift::new(&mut extent, shifts);
        if let Some(lower) = self.document.format().and_then(|format| format.lower) {
            lower(&self.document, &options, &mut shift)?;
        }
        Ok(extent)
    }

    /// Lowers the recording, without the methods that are not admitted, into `sink`.
    pub(crate) fn lower(&self, sink: &mut dyn Sink) -> anyhow::Result<Notes> {
        let options = self.plan.common.lower_options()?;
        let methods = &self.plan.methods;
        if methods.is_empty() {
            return self.lower_every_method(&options, sink);
        }
        let mut survey = HideSurvey::new(methods);
        self.lower_every_method(&options, &mut survey)?;
        survey.settle();
        let mut hide = Hide::new(&mut survey, sink);
        self.lower_every_method(&options, &mut hide)
    }

    /// Lowers as [`Self::lower`] does into a sink on a thread of its own.
    pub(crate) fn lower_beside(&self, sink: &mut (dyn Sink + Send)) -> anyhow::Result<Notes> {
        piped(sink, |sink| self.lower(sink))
    }

    /// Lowers the calls that flags choose into a sink on a thread of its own.
    pub(crate) fn lower_chosen(
        &self,
        calls: &CallFlags,
        sink: &mut (dyn Sink + Send),
    ) -> anyhow::Result<Notes> {
        self.choosing(calls, sink, |choose| self.lower(choose))
    }

    /// Lowers as [`Self::lower_chosen`] does for a view of samples and calls alone: from the index of the capture where it can.
    pub(crate) fn lower_chosen_samples(
        &self,
        calls: &CallFlags,
        sink: &mut (dyn Sink + Send),
    ) -> anyhow::Result<Notes> {
        self.choosing(calls, sink, |choose| {
            self.lower_sampled(calls.is_empty(), choose)
        })
    }

    fn choosing(
        &self,
        calls: &CallFlags,
        sink: &mut (dyn Sink + Send),
        lower: impl FnOnce(&mut dyn Sink) -> anyhow::Result<Notes>,
    ) -> anyhow::Result<Notes> {
        let common = self.plan.common;
        let limit = common.limits()?.size(Limit::OpenSpans);
        piped(sink, |sink| {
            let mut choose = Choose::new(sink, calls.selection(common)?, None, limit);
            let notes = lower(&mut choose);
            let _ = choose.finish();
            notes
        })
    }

    /// Lowers the recording as [`Self::lower`] does for a view of its samples: from the index of its capture, where that has all that the
    /// view needs. A view is plain if it chooses and groups nothing.
    pub(crate) fn lower_sampled(
        &self,
        is_plain: bool,
        sink: &mut dyn Sink,
    ) -> anyhow::Result<Notes> {
        let found = match is_plain {
            true => self.indexed()?,
            false => None,
        };
        let Some((profiles, range)) = found else {
            return self.lower(sink);
        };
        let common = self.plan.common;
        let (clock, times) = (profiles.clock(), profiles.times());
        let push = |profiles: DecodedProfiles, sink: &mut dyn Sink| {
            watched(common, sink, |sink| {
                profiles.push(sink);
                Ok(())
            })
        };
        let Some(range) = range else {
            return push(profiles, sink);
        };
        let mut window = Window::new(sink, range);
        let mut notes = push(profiles, &mut window)?;
        if window.is_empty() {
            self.say_empty(range, clock == Clock::Unix, times)?;
        }
        self.say_timeless(window, &mut notes);
        Ok(notes)
    }

    /// Returns what the index of the capture has of the recording, and the stretch of time that is asked for; nothing where the recording
    /// itself has to be read.
    fn indexed(&self) -> anyhow::Result<Option<(DecodedProfiles, Option<Range>)>> {
        let ReadPlan {
            time,
            common,
            methods,
            ..
        } = self.plan;
        let is_usual = !common.strict && !common.as_recorded && common.limit.is_empty();
        if !is_usual || common.input_format.is_some() || !methods.is_empty() || !time.is_absolute()
        {
            return Ok(None);
        }
        let Some(sealed) = self.document.sealed_at() else {
            return Ok(None);
        };
        let schema = common.schema().map(std::fs::read).transpose()?;
        let of = sealed.read_with(schema.as_deref());
        let Some(index) = ProfileIndex::open(&sealed.folder, sealed.id, of) else {
            return Ok(None);
        };
        let parts = self.document.parts().iter().map(|part| part.name.as_str());
        let Some(recording) = index.recording(parts) else {
            return Ok(None);
        };
        let range = match time.is_bounded() {
            false => None,
            true if recording.clock != Clock::Unix => return Ok(None),
            true => Some(self.range_on(recording.clock)?),
        };
        let Some(profiles) = index.decode(recording) else {
            return Ok(None);
        };
        // What is not in the index may lie in a stretch in which no sample does.
        let is_told = range.is_none_or(|range| {
            let reaches = recording.times.is_some_and(|(first, last)| {
                range.since.is_none_or(|since| since <= last)
                    && range.until.is_none_or(|until| first < until)
            });
            !recording.has_more || !reaches || profiles.has_inside(|time| range.has(time))
        });
        Ok(is_told.then_some((profiles, range)))
    }

    /// Returns true of a recording of several captures.
    fn is_one_of_many(&self) -> bool {
        let path = self.input.path();
        let named = path.rsplit_once('#').map(|(_, ids)| ids);
        self.input.is_of_captures() && named.is_none_or(|ids| ids.contains(','))
    }

    /// Says how many samples lie in no stretch of time; of several captures, that there are some.
    fn say_timeless(&self, window: Window<'_>, notes: &mut Notes) {
        if let Some(note) = window.finish() {
            match self.is_one_of_many() {
                true => {
                    self.plan
                        .common
                        .asked
                        .say_once(format!("{}: {}", self.input.path(), note.text))
                }
                false => message!("{}: {} {}", self.input.path(), note.count, note.text),
            }
            notes.push_placed(note);
        }
    }

    /// Lowers as [`Self::lower_chosen`] does into `chosen`, and with the same reading every call into `every`; each is on a
    /// thread of its own.
    pub(crate) fn lower_both(
        &self,
        calls: &CallFlags,
        every: &mut (dyn Sink + Send),
        chosen: &mut (dyn Sink + Send),
    ) -> anyhow::Result<Notes> {
        let common = self.plan.common;
        let limit = common.limits()?.size(Limit::OpenSpans);
        let selection = calls.selection(common)?;
        piped(every, |every| {
            piped(chosen, |chosen| {
                let mut choose = Choose::new(chosen, selection, None, limit);
                let sinks = vec![every as &mut dyn Sink, &mut choose];
                let notes = self.lower(&mut Tee::new(sinks));
                let _ = choose.finish();
                notes
            })
        })
    }

    /// Returns true if some methods are not admitted.
    pub(crate) fn hides_methods(&self) -> bool {
        !self.plan.methods.is_empty()
    }

    /// Lowers the recording with all its methods.
    pub(crate) fn lower_every_method(
        &self,
        options: &LowerOptions,
        sink: &mut dyn Sink,
    ) -> anyhow::Result<Notes> {
        let ReadPlan { time, common, .. } = self.plan;
        if time.is_empty() {
            return lower(&self.document, options, common, sink);
        }
        let found = self.range()?;
        let range = found.unwrap_or(NOTHING);
        let shifts = time.shifts(self.number, self.input.path(), &self.document);
        let mut window = Window::new(sink, range);
        let mut shift = Shift::new(&mut window, shifts.clone());
        let mut notes = lower(&self.document, options, common, &mut shift)?;
        time.met_services(&shifts, &shift.finish());
        if found.is_none() {
            self.plan.common.asked.say_once(format!(
                "{}: recordings whose clock counts from a time nobody recorded lie between no dates, and were left out",
                self.input.path()
            ));
        } else if time.is_bounded() && window.is_empty() {
            let extent = self.extent(Extent::default())?;
            let unix = extent.clock().unwrap_or_default() == Clock::Unix;
            self.say_empty(range, unix, extent.times())?;
        }
        self.say_timeless(window, &mut notes);
        Ok(notes)
    }

    /// Says what was asked for and what there is.
    fn say_empty(&self, range: Range, unix: bool, times: Option<(i64, i64)>) -> anyhow::Result<()> {
        let style = Style::new(self.plan.common)?;
        let shown = |ns: i64| style.when(unix, ns);
        let border = |ns: Option<i64>, open: &str| ns.map_or(open.to_owned(), shown);
        if self.is_one_of_many() {
            // A line for each would be as many as the collector has captures.
            self.plan.common.asked.say_once(format!(
                "{}: some captures have nothing from {} to {}",
                self.input.path(),
                border(range.since, "the start"),
                border(range.until, "the end"),
            ));
            return Ok(());
        }
        let reach = times.map(|(start, end)| format!("{} to {}", shown(start), shown(end)));
        self.plan.common.asked.say_once(format!(
            "{}: nothing from {} to {}; it reaches from {}",
            self.input.path(),
            border(range.since, "the start"),
            border(range.until, "the end"),
            reach
                .as_deref()
                .unwrap_or("nowhere: nothing in it has a time"),
        ));
        Ok(())
    }

    /// Returns the stretch of time that is asked for. Between dates there is nothing of a capture whose clock has none: others of its
    /// collector have; a path that somebody names is refused, and told what to ask for.
    fn range(&self) -> anyhow::Result<Option<Range>> {
        let time = self.plan.time;
        if !time.is_bounded() {
            return Ok(Some(Range::default()));
        }
        let clock = self.clock()?;
        let is_left_out = clock != Clock::Unix && time.has_dates() && self.input.is_of_captures();
        match is_left_out {
            true => Ok(None),
            false => self.range_on(clock).map(Some),
        }
    }

    /// Returns the stretch of time that is asked for, on a clock.
    fn range_on(&self, clock: Clock) -> anyhow::Result<Range> {
        let time = self.plan.time;
        let unix = clock == Clock::Unix;
        let mut extent = self.plan.extent;
        let mut resolve = |flag: &str, bound: Option<Bound>| -> anyhow::Result<Option<i64>> {
            let Some(bound) = bound else {
                return Ok(None);
            };
            match bound {
                Bound::At(_) | Bound::Civil(_) if !unix => {
                    return Err(Usage(format!(
                        "{flag}: the clock of {} counts from a time nobody recorded; give {flag} as +DURATION \
                         from its start, or place the clock with --shift",
                        self.input.path()
                    ))
                    .into());
                }
                Bound::At(ns) => return Ok(Some(ns)),
                Bound::Civil(date) => {
                    let at = self.plan.zone.to_timestamp(date)?;
                    return Ok(i64::try_from(at.as_nanosecond()).ok());
                }
                Bound::FromStart(_) | Bound::FromEnd(_) => {}
            }
            if !unix || extent.is_none() {
                extent = self.extent(Extent::default())?.times();
            }
            // A recording without times has nothing on either side of a border.
            Ok(extent.map(|(start, end)| match bound {
                Bound::FromEnd(distance) => end.saturating_sub(distance),
                Bound::FromStart(distance) => start.saturating_add(distance),
                Bound::At(_) | Bound::Civil(_) => start,
            }))
        };
        let since = resolve("--since", time.since)?;
        let until = resolve("--until", time.until)?;
        if let (Some(since), Some(until)) = (since, until)
            && until <= since
        {
            return Err(Usage("--until is not after --since".to_owned()).into());
        }
        Ok(Range { since, until })
    }
}
