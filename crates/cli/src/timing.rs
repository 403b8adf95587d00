//! `--since`, `--until` and `--shift`: which stretch of time is read, on which clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use traceloom_analysis::filter::{Filter, Hide, HideSurvey, is_timestamp};
use traceloom_analysis::stage::{Choose, Extent, Range, Shift, Shifts, Window};
use traceloom_formats::{LowerOptions, Source};
use traceloom_input::{Document, Input, piped};
use traceloom_model::{Clock, Limit, Notes, Sink};

use crate::args::{Common, Usage};
use crate::lowered::{documents, lower};
use crate::open::with_progress;
use crate::select::{CallFlags, duration};
use crate::streams::message;
use crate::style::{Style, zone};

/// When.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Time")]
pub(crate) struct TimeFlags {
    /// Only what happened from TIME on: `2026-03-01T12:00:00Z`, a date without zone (in that of --tz),
    /// nanoseconds since 1970, `+10s` from the start of the recording or `-10s` from its end.
    ///
    /// A span across the border counts with the part inside and is marked as partial. A recording whose clock has no known origin takes `+` and `-` only.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound)]
    since: Option<Bound>,
    /// Only what happened before TIME.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound)]
    until: Option<Bound>,
    /// Move times: NAME is a path, a file name, the number of an input counted from 1, or a service.
    ///
    /// A clock of unknown origin counts as placed by it, `b.trcbin=+0s` included. May be repeated.
    #[arg(long, value_name = "NAME=±DURATION", value_parser = shift)]
    shift: Vec<Moved>,
}

/// A border as it was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    At(i64),
    /// A date and time in the zone of `--tz`.
    Civil(DateTime),
    FromStart(i64),
    FromEnd(i64),
}

/// A shift as it was typed, and whether anything has that name.
#[derive(Clone, Debug)]
struct Moved {
    name: String,
    by: i64,
    met: Arc<AtomicBool>,
}

fn bound(text: &str) -> Result<Bound, String> {
    let distance = |text: &str| {
        let ns = duration(text)?;
        i64::try_from(ns).map_err(|_| format!("`{text}` is too long"))
    };
    if let Some(text) = text.strip_prefix('+') {
        return distance(text).map(Bound::FromStart);
    }
    let number = text.parse::<i64>();
    if let Ok(ns) = number
        && is_timestamp(ns)
    {
        return Ok(Bound::At(ns));
    }
    if let Some(text) = text.strip_prefix('-') {
        return distance(text).map(Bound::FromEnd);
    }
    if number.is_ok() {
        return Err(format!(
            "`{text}` has no unit; write +{text}s from the start, -{text}s from the end, or nanoseconds since 1970, \
             which have 18 digits or more"
        ));
    }
    let outside = || format!("`{text}` is outside the years 1677 to 2262");
    if let Ok(at) = text.parse::<Timestamp>() {
        let ns = i64::try_from(at.as_nanosecond());
        return ns.map(Bound::At).map_err(|_| outside());
    }
    text.parse().map(Bound::Civil).map_err(|_| {
        format!("`{text}` is no time; write 2026-03-01T12:00:00Z, nanoseconds since 1970, +10s from the start or -10s from the end")
    })
}

fn shift(text: &str) -> Result<Moved, String> {
    let help = || format!("`{text}` is no shift; write NAME=+1.5s or NAME=-200ms");
    let (name, by) = text.rsplit_once('=').ok_or_else(help)?;
    let (sign, by) = match (by.strip_prefix('+'), by.strip_prefix('-')) {
        (Some(by), _) => (1, by),
        (_, Some(by)) => (-1, by),
        _ => return Err(help()),
    };
    let by = i64::try_from(duration(by)?).map_err(|_| help())?;
    Ok(Moved {
        name: name.to_owned(),
        by: sign * by,
        met: Arc::default(),
    })
}

impl TimeFlags {
    /// Returns true if everything is read as it is.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_bounded() && self.shift.is_empty()
    }

    /// Returns true if a stretch of time is asked for.
    pub(crate) fn is_bounded(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Fails for a shift of something that was in none of the inputs, and for names of other flags that nothing has.
    pub(crate) fn check_names(&self, common: &Common) -> anyhow::Result<()> {
        common.asked.check()?;
        let unmet = self
            .shift
            .iter()
            .find(|moved| !moved.met.load(Ordering::Relaxed));
        match unmet {
            None => Ok(()),
            Some(moved) => Err(Usage(format!(
                "--shift: nothing here is called `{}`: no input, no file in one, no service",
                moved.name
            ))
            .into()),
        }
    }

    /// What moves a recording of input `number` by its name; what is left over may name services.
    fn shifts(&self, number: usize, path: &str, document: &Document<'_>) -> Shifts {
        let file = |path: &str| {
            path.trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(path)
                .to_owned()
        };
        let mut shifts = Shifts::default();
        for moved in &self.shift {
            let part = |name: &str| name == moved.name || file(name) == moved.name;
            let named = number.to_string() == moved.name
                || part(path)
                || document.parts().iter().any(|one| part(&one.name));
            if named {
                moved.met.store(true, Ordering::Relaxed);
                shifts.all = Some(shifts.all.unwrap_or(0).saturating_add(moved.by));
            } else {
                shifts.services.push((moved.name.clone(), moved.by));
            }
        }
        shifts
    }

    fn met_services(&self, shifts: &Shifts, met: &[bool]) {
        for ((name, _), _) in shifts.services.iter().zip(met).filter(|(_, met)| **met) {
            for moved in self.shift.iter().filter(|moved| moved.name == *name) {
                moved.met.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Reads recordings in the stretch of time and on the clocks that were asked for.
pub(crate) struct Timing<'f> {
    flags: &'f TimeFlags,
    common: &'f Common,
    zone: TimeZone,
    /// Number of the first input, counted from 1.
    first: usize,
    /// First and last time of all recordings on the Unix clock, when a border counts from them.
    extent: Option<(i64, i64)>,
}

impl<'f> Timing<'f> {
    /// Looks at the inputs, of which the first is number `first`: where they begin and end, when that is needed.
    pub(crate) fn of(
        flags: &'f TimeFlags,
        common: &'f Common,
        first: usize,
        inputs: &[Input],
    ) -> anyhow::Result<Self> {
        let zone = zone(common)?;
        let mut timing = Self {
            flags,
            common,
            zone,
            first,
            extent: None,
        };
        let relative = |bound| matches!(bound, Some(Bound::FromStart(_) | Bound::FromEnd(_)));
        if !(relative(flags.since) || relative(flags.until)) {
            return Ok(timing);
        }
        for (at, input) in inputs.iter().enumerate() {
            with_progress(input, "finding the start", || {
                for document in documents(input)? {
                    let extent = timing.extent(at, input, &document, Extent::default())?;
                    if let (Some(Clock::Unix), Some((start, end))) =
                        (extent.clock(), extent.times())
                    {
                        let (first, last) = timing.extent.unwrap_or((start, end));
                        timing.extent = Some((first.min(start), last.max(end)));
                    }
                }
                Ok(())
            })?;
        }
        Ok(timing)
    }

    /// Returns the clock of a recording, after shifts.
    pub(crate) fn clock(
        &self,
        at: usize,
        input: &Input,
        document: &Document<'_>,
    ) -> anyhow::Result<Clock> {
        let extent = self.extent(at, input, document, Extent::of_clock())?;
        Ok(extent.clock().unwrap_or_default())
    }

    fn extent(
        &self,
        at: usize,
        input: &Input,
        document: &Document<'_>,
        mut extent: Extent,
    ) -> anyhow::Result<Extent> {
        let options = LowerOptions {
            limits: self.common.limits()?,
            ..LowerOptions::default()
        };
        let shifts = self.flags.shifts(self.first + at, input.path(), document);
        let mut shift = Shift::new(&mut extent, shifts);
        if let Some(lower) = document.format().and_then(|format| format.lower) {
            lower(document, &options, &mut shift)?;
        }
        Ok(extent)
    }

    /// Lowers a recording of the input at `at` into `sink`.
    pub(crate) fn lower(
        &self,
        at: usize,
        input: &Input,
        document: &Document<'_>,
        options: &LowerOptions,
        sink: &mut dyn Sink,
    ) -> anyhow::Result<Notes> {
        if self.flags.is_empty() {
            return lower(document, options, self.common, sink);
        }
        let range = self.range(at, input, document)?;
        let shifts = self.flags.shifts(self.first + at, input.path(), document);
        let mut window = Window::new(sink, range);
        let mut shift = Shift::new(&mut window, shifts.clone());
        let mut notes = lower(document, options, self.common, &mut shift)?;
        self.flags.met_services(&shifts, &shift.finish());
        if self.flags.is_bounded() && window.is_empty() {
            self.say_empty(at, input, document, range)?;
        }
        if let Some(note) = window.finish() {
            message!("{}: {} {}", input.path(), note.count, note.text);
            notes.push_placed(note);
        }
        Ok(notes)
    }

    /// Lowers a recording of an input, given with its number, without the methods that `methods` refuses.
    pub(crate) fn lower_admitted(
        &self,
        (at, input): (usize, &Input),
        document: &Document<'_>,
        options: &LowerOptions,
        methods: &Filter,
        sink: &mut dyn Sink,
    ) -> anyhow::Result<Notes> {
        if methods.is_empty() {
            return self.lower(at, input, document, options, sink);
        }
        let mut survey = HideSurvey::new(methods);
        self.lower(at, input, document, options, &mut survey)?;
        survey.settle();
        let mut hide = Hide::new(&mut survey, sink);
        self.lower(at, input, document, options, &mut hide)
    }

    /// Lowers the calls that flags choose, without the methods that `methods` refuses, into a sink that runs
    /// beside the reading.
    pub(crate) fn lower_chosen(
        &self,
        calls: &CallFlags,
        (at, input): (usize, &Input),
        document: &Document<'_>,
        methods: &Filter,
        sink: &mut (dyn Sink + Send),
    ) -> anyhow::Result<Notes> {
        let options = self.common.lower_options()?;
        let limit = options.limits.size(Limit::OpenSpans);
        piped(sink, |sink| {
            let mut choose = Choose::new(sink, calls.selection(self.common)?, None, limit);
            let notes = self.lower_admitted((at, input), document, &options, methods, &mut choose);
            let _ = choose.finish();
            notes
        })
    }

    /// Says what was asked for and what there is.
    fn say_empty(
        &self,
        at: usize,
        input: &Input,
        document: &Document<'_>,
        range: Range,
    ) -> anyhow::Result<()> {
        let style = Style::new(self.common)?;
        let extent = self.extent(at, input, document, Extent::default())?;
        let unix = extent.clock().unwrap_or_default() == Clock::Unix;
        let shown = |ns: i64| style.when(unix, ns);
        let border = |ns: Option<i64>, open: &str| ns.map_or(open.to_owned(), shown);
        let reach = extent
            .times()
            .map(|(start, end)| format!("{} to {}", shown(start), shown(end)));
        self.common.asked.say_once(format!(
            "{}: nothing from {} to {}; it reaches from {}",
            input.path(),
            border(range.since, "the start"),
            border(range.until, "the end"),
            reach
                .as_deref()
                .unwrap_or("nowhere: nothing in it has a time"),
        ));
        Ok(())
    }

    fn range(&self, at: usize, input: &Input, document: &Document<'_>) -> anyhow::Result<Range> {
        if !self.flags.is_bounded() {
            return Ok(Range::default());
        }
        let unix = self.clock(at, input, document)? == Clock::Unix;
        let mut extent = self.extent;
        let mut resolve = |flag: &str, bound: Option<Bound>| -> anyhow::Result<Option<i64>> {
            let Some(bound) = bound else {
                return Ok(None);
            };
            match bound {
                Bound::At(_) | Bound::Civil(_) if !unix => {
                    return Err(Usage(format!(
                        "{flag}: the clock of {} counts from a time nobody recorded; give {flag} as +DURATION \
                         from its start, or place the clock with --shift",
                        input.path()
                    ))
                    .into());
                }
                Bound::At(ns) => return Ok(Some(ns)),
                Bound::Civil(date) => {
                    let at = self.zone.to_timestamp(date)?;
                    return Ok(i64::try_from(at.as_nanosecond()).ok());
                }
                Bound::FromStart(_) | Bound::FromEnd(_) => {}
            }
            if !unix || extent.is_none() {
                extent = self.extent(at, input, document, Extent::default())?.times();
            }
            // A recording without times has nothing on either side of a border.
            Ok(extent.map(|(start, end)| match bound {
                Bound::FromEnd(distance) => end.saturating_sub(distance),
                Bound::FromStart(distance) => start.saturating_add(distance),
                Bound::At(_) | Bound::Civil(_) => start,
            }))
        };
        let since = resolve("--since", self.flags.since)?;
        let until = resolve("--until", self.flags.until)?;
        if let (Some(since), Some(until)) = (since, until)
            && until <= since
        {
            return Err(Usage("--until is not after --since".to_owned()).into());
        }
        Ok(Range { since, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_read() {
        assert_eq!(bound("+10s"), Ok(Bound::FromStart(10_000_000_000)));
        assert_eq!(bound("-1.5ms"), Ok(Bound::FromEnd(1_500_000)));
        assert_eq!(
            bound("1772366400000000000"),
            Ok(Bound::At(1_772_366_400_000_000_000))
        );
        for bare in ["5", "+5", "-5", "1772366400"] {
            assert!(bound(bare).unwrap_err().contains("has no unit"), "{bare}");
        }
        assert_eq!(bound("1970-01-01T00:00:01Z"), Ok(Bound::At(1_000_000_000)));
        assert_eq!(bound("1970-01-01T01:00:00+01:00"), Ok(Bound::At(0)));
        assert!(matches!(bound("2026-03-01 12:00"), Ok(Bound::Civil(_))));
        assert!(matches!(bound("2026-03-01"), Ok(Bound::Civil(_))));
        assert!(bound("yesterday").unwrap_err().contains("is no time"));
    }

    #[test]
    fn shifts_name_what_they_move() {
        let moved = shift("a=b.trcbin=-200ms").unwrap();
        assert_eq!(
            (moved.name.as_str(), moved.by),
            ("a=b.trcbin", -200_000_000)
        );
        assert!(shift("a=1s").is_err());
        assert!(shift("+1s").is_err());
    }
}
