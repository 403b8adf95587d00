//! Where events begin and where their members are, found on a thread ahead of the survey and ahead of the rows.
//!
//! What is in a text does not depend on what came before it: the walk takes an event where it comes to one at that offset, and
//! looks through it by itself elsewhere. So the scout may begin anywhere.

use std::collections::VecDeque;
use std::ops::Range;

use traceloom_model::bounds::row_number;
use traceloom_model::{Asks, Flow, Limits};

use super::event::{EventPlaces, TraceEvent};
use super::runs::{EventRun, EventRunReader, EventRunWriter};
use super::split::TraceSplitter;
use super::walk::TracePart;
use crate::codec::two_pass::Pass;
use crate::codec::{Ahead, Stretch, each_window};
use crate::{Error, Pull, Scouted, Source, Step};

/// Bytes of a trace for which a scout pays.
const LEAST_SIZE: u64 = 2 << 20;

/// Events told at once: about those of a window, because waking the other thread has a price.
const TOLD: usize = 4096;

/// Of so many windows the survey looks through one by itself: it has little else to do, and would wait.
const SURVEYED: u32 = 4;

/// Of so much of a part, what was found for the survey is kept for the rows; tests go beyond it.
const KEPT: u64 = if cfg!(test) { 1 << 20 } else { 512 << 20 };

/// What is kept takes one byte for so many of its text at most. Events of most programs take one for nine and more.
const KEPT_SHARE: u64 = 6;

/// Returns true if of the text up to an offset so much may be kept.
fn may_be_kept(offset: u64, size: u64) -> bool {
    // A short run has all its layouts, too.
    const ALWAYS: u64 = 1 << 17;
    offset < KEPT && size * KEPT_SHARE <= offset.max(ALWAYS)
}

/// The events of a pass that are known.
pub(super) struct EventsAhead<'s> {
    pass: u32,
    ahead: Ahead<'s, EventRun>,
    /// The run at hand, and those to come; what they do not have up to an offset is not known.
    reader: EventRunReader,
    runs: VecDeque<EventRun>,
    until: u64,
    /// Members of the event that was taken last.
    places: EventPlaces,
    /// What is kept for the next pass.
    kept: Option<KeptEvents>,
}

/// Events of a pass for the pass behind it, from the beginning on up to where they took too much.
#[derive(Debug, Default)]
pub(super) struct KeptEvents {
    runs: VecDeque<EventRun>,
    size: u64,
    is_full: bool,
    /// Of events that nobody knew.
    writer: EventRunWriter,
}

impl KeptEvents {
    fn keep(&mut self, run: EventRun) {
        if self.is_full || run.is_empty() {
            return;
        }
        self.size += run.size();
        self.is_full = !may_be_kept(run.extent().end, self.size);
        if !self.is_full {
            self.runs.push_back(run);
        }
    }

    /// Keeps the events so far that nobody knew.
    fn keep_own(&mut self) {
        let run = self.writer.take();
        self.keep(run);
    }
}

impl<'s> EventsAhead<'s> {
    pub(super) fn nothing() -> Self {
        Self {
            pass: 0,
            ahead: Ahead::nothing(),
            reader: EventRunReader::default(),
            runs: VecDeque::new(),
            until: 0,
            places: EventPlaces::default(),
            kept: None,
        }
    }

    /// Returns the bytes of a pass, and what is known of them; keeps it for another pass.
    pub(super) fn of<'p>(pass: &'p mut Pass<'s>) -> (&'p mut dyn Pull, Self) {
        let known = Self {
            pass: pass.number,
            ahead: Ahead::of(pass.source),
            kept: Some(KeptEvents::default()),
            ..Self::nothing()
        };
        (pass.pull.as_mut(), known)
    }

    /// Returns the bytes of a pass, and what is known of them, with what another pass kept.
    pub(super) fn with_kept<'p>(
        pass: &'p mut Pass<'s>,
        kept: KeptEvents,
    ) -> (&'p mut dyn Pull, Self) {
        let known = Self {
            pass: pass.number,
            ahead: Ahead::of(pass.source),
            until: kept.runs.back().map_or(0, |run| run.extent().end),
            runs: kept.runs,
            ..Self::nothing()
        };
        (pass.pull.as_mut(), known)
    }

    /// Returns what was kept of a pass that has ended.
    pub(super) fn into_kept(mut self) -> KeptEvents {
        self.end_run();
        let mut kept = self.kept.unwrap_or_default();
        kept.keep_own();
        kept
    }

    /// Returns the event that a window at an offset begins with, and its text, if it is known.
    #[inline]
    pub(super) fn event<'w>(
        &'w mut self,
        window: &'w [u8],
        offset: u64,
    ) -> Option<(&'w [u8], TraceEvent<'w>)> {
        let length = loop {
            match self.reader.event(offset, &mut self.places) {
                Some(length) => break length,
                None if self.may_be_in_next_run(offset) => self.next_run(offset)?,
                None => return None,
            }
        };
        let text = window.get(..length as usize)?;
        Some((text, TraceEvent::new(text, &self.places)))
    }

    #[inline]
    fn may_be_in_next_run(&self, offset: u64) -> bool {
        self.reader.is_at_end() && (offset >= self.until || !self.runs.is_empty())
    }

    /// Begins the next run if an offset may be in it.
    fn next_run(&mut self, offset: u64) -> Option<()> {
        if self.runs.is_empty() && offset >= self.until {
            let stretch = self.ahead.take(self.pass, offset)?;
            self.until = stretch.until;
            self.runs
                .extend(stretch.found.into_iter().map(|(_, run)| run));
        }
        if self.runs.front()?.extent().start > offset {
            return None;
        }
        let run = self.runs.pop_front()?;
        self.end_run();
        if let Some(kept) = &mut self.kept {
            kept.keep_own();
        }
        self.reader = EventRunReader::new(run);
        Some(())
    }

    /// Ends the run at hand, which was read: what nobody knew since lies behind it.
    fn end_run(&mut self) {
        let read = std::mem::take(&mut self.reader).into_run();
        if let Some(kept) = &mut self.kept {
            kept.keep(read);
        }
    }

    /// Takes an event that was not known, without damage, for the next pass.
    #[inline]
    pub(super) fn learn(&mut self, offset: u64, text: &[u8], places: &EventPlaces) {
        let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_full) else {
            return;
        };
        if !self.reader.is_at_end() || !self.runs.is_empty() {
            return;
        }
        let full = kept.writer.push(offset, text.len(), places);
        let long = (kept.writer.n_events() >= TOLD).then(|| kept.writer.take());
        for own in full.into_iter().chain(long) {
            // What was read lies before it.
            kept.keep(std::mem::take(&mut self.reader).into_run());
            kept.keep(own);
        }
    }
}

/// Reads each part, and once more what is behind the events that are kept.
///
/// # Errors
/// What the source fails with.
pub(super) fn scout(
    source: &dyn Source,
    limits: &Limits,
    _asks: Asks,
    tell: &mut dyn FnMut(Scouted) -> Flow,
) -> Result<(), Error> {
    for (part, described) in source.parts().iter().enumerate() {
        // What has to be decompressed would be so twice as often.
        let Some(size) = described.size.filter(|size| *size >= LEAST_SIZE) else {
            continue;
        };
        let mut from = Some(0);
        for nth in 0..Pass::COUNT {
            let Some(begin) = from.filter(|from| *from < size) else {
                break;
            };
            let mut scout = TraceScout {
                limits,
                pass: row_number(part * Pass::COUNT + nth),
                leaves_windows: nth == 0,
                found: EventRunWriter::default(),
                full: Vec::new(),
                n_found: 0,
                size: 0,
                kept_until: None,
                tell,
            };
            if !scout.run(source.open(part, begin)?.as_mut(), begin)? {
                return Ok(());
            }
            from = scout.kept_until;
        }
    }
    Ok(())
}

struct TraceScout<'a> {
    limits: &'a Limits,
    pass: u32,
    leaves_windows: bool,
    found: EventRunWriter,
    full: Vec<EventRun>,
    /// Events since something was told.
    n_found: usize,
    /// How much all runs take, and from where on they are not kept.
    size: u64,
    kept_until: Option<u64>,
    tell: &'a mut dyn FnMut(Scouted) -> Flow,
}

impl TraceScout<'_> {
    /// Reads a part from an offset on; returns false when nobody listens any more.
    fn run(&mut self, pull: &mut dyn Pull, from: u64) -> Result<bool, Error> {
        let mut splitter = match from {
            0 => TraceSplitter::new(self.limits),
            _ => TraceSplitter::among_events(self.limits),
        };
        let mut n_windows = 0;
        let is_read = each_window(pull, 1, |chunk| {
            n_windows += 1;
            let (step, consumed) = if self.leaves_windows && n_windows % SURVEYED == 1 {
                splitter.go_among_events();
                let consumed = chunk.bytes.len();
                (Step::More { consumed, need: 1 }, consumed)
            } else {
                let nothing = &mut EventsAhead::nothing();
                let step = splitter.walk(chunk, nothing, &mut |part| self.take(&part));
                match step {
                    Step::More { consumed, .. } => (step, consumed),
                    Step::Stop => return step,
                }
            };
            match self.say(chunk.offset + consumed as u64) {
                Flow::Continue(()) => step,
                Flow::Break(()) => Step::Stop,
            }
        })?;
        Ok(is_read && self.say(u64::MAX).is_continue())
    }

    fn take(&mut self, part: &TracePart<'_>) -> Flow {
        let &TracePart::Event {
            offset,
            bytes,
            event,
            defects: [],
        } = part
        else {
            return Flow::Continue(());
        };
        let full = self.found.push(offset, bytes.len(), event.places());
        self.full.extend(full);
        self.n_found += 1;
        if self.n_found < TOLD {
            return Flow::Continue(());
        }
        self.say(offset + bytes.len() as u64)
    }

    /// Tells what was found up to an offset.
    fn say(&mut self, until: u64) -> Flow {
        self.n_found = 0;
        self.full.push(self.found.take());
        self.full.retain(|run| !run.is_empty());
        for run in &self.full {
            // The survey keeps its own, too.
            self.size += run.size() * u64::from(SURVEYED) / u64::from(SURVEYED - 1);
            let Range { start, end } = run.extent();
            if !may_be_kept(end, self.size) {
                self.kept_until.get_or_insert(start);
            }
        }
        let runs = self.full.drain(..);
        let stretch = Stretch {
            pass: self.pass,
            until,
            found: runs.map(|run| (run.extent().start, run)).collect(),
        };
        (self.tell)(stretch.say())
    }
}

#[cfg(test)]
mod tests {
    use traceloom_samples::Random;

    use std::sync::Mutex;

    use traceloom_model::bounds::subslice;

    use super::*;
    use crate::chrome::FORMAT;
    use crate::chrome::event::EventKey;
    use crate::chrome::walk::each;
    use crate::{Chunk, Part, SliceSource};

    /// Events of many looks: with spaces, other members, large values, escapes and damage, close together and far apart.
    fn text(random: &mut Random, n_events: u32) -> Vec<u8> {
        let mut text = b"[".to_vec();
        for nth in 0..n_events {
            if random.per_mille(2) {
                let far = random.index(3000);
                text.extend(std::iter::repeat_n(b' ', far));
            }
            text.extend_from_slice(random.pick(&["\n{", "{", "\n  { "]).as_bytes());
            let most_members = if random.per_mille(3) { 20 } else { 6 };
            for member in 0..random.below(most_members) {
                let separator = if member == 0 {
                    ""
                } else {
                    random.pick(&[",", ",", ", "])
                };
                let key = random.pick(&[
                    "ph",
                    "name",
                    "ts",
                    "dur",
                    "pid",
                    "tid",
                    "args",
                    "cat",
                    "tts",
                    "an_own_key",
                ]);
                let many = random.index(400);
                let value = match random.below(24) {
                    0 => format!("\"{}\"", "long".repeat(many)),
                    1 => r#""a \"b\"""#.to_owned(),
                    2 => format!("{{\"n\":[{nth},{{}}]}}"),
                    3 => "1e3".to_owned(),
                    4 => "true".to_owned(),
                    5..=8 => format!("{nth}.25"),
                    9..=14 => format!("-{nth}"),
                    _ => format!("\"{nth}\""),
                };
                text.extend_from_slice(format!("{separator}\"{key}\":{value}").as_bytes());
            }
            text.extend_from_slice(random.pick(&["},", "} ,", "},"]).as_bytes());
        }
        for _ in 0..random.below(5) {
            let at = random.index(text.len());
            if let Some(byte) = text.get_mut(at) {
                *byte = byte.wrapping_add(77);
            }
        }
        text
    }

    /// What a walk meets: where each event begins, its text, and its members.
    type Met = Vec<(u64, Vec<u8>, Vec<Option<Vec<u8>>>)>;

    fn walked(pull: &mut dyn Pull, known: &mut EventsAhead<'_>) -> Met {
        let mut met = Met::new();
        let all = each(pull, &Limits::default(), known, |part| {
            if let TracePart::Event {
                offset,
                bytes,
                event,
                ..
            } = part
            {
                let members = EventKey::all().map(|key| Some(event.get(key)?.raw().to_vec()));
                met.push((offset, bytes.to_vec(), members.to_vec()));
            }
            Flow::Continue(())
        });
        assert!(all.unwrap());
        met
    }

    #[test]
    fn what_is_kept_is_what_is_found_again() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let text = text(&mut random, 700);
            let source = SliceSource::default().with("a.json", &FORMAT, &text);
            let pass = |number| Pass {
                source: &source,
                number,
                pull: source.open(0, 0).unwrap(),
            };
            let alone = walked(pass(0).pull.as_mut(), &mut EventsAhead::nothing());
            assert!(alone.len() > 600, "seed {seed}");
            let mut first = pass(0);
            let (pull, mut known) = EventsAhead::of(&mut first);
            assert_eq!(walked(pull, &mut known), alone, "seed {seed}");
            let kept = known.into_kept();
            assert!(!kept.runs.is_empty());
            let mut second = pass(1);
            let (pull, mut known) = EventsAhead::with_kept(&mut second, kept);
            assert_eq!(walked(pull, &mut known), alone, "seed {seed}");
        }
    }

    #[test]
    fn kept_events_take_a_share_of_their_text() {
        let mut random = Random::new(1);
        let text = text(&mut random, 5000);
        let source = SliceSource::default().with("a.json", &FORMAT, &text);
        let mut pass = Pass {
            source: &source,
            number: 0,
            pull: source.open(0, 0).unwrap(),
        };
        let (pull, mut known) = EventsAhead::of(&mut pass);
        walked(pull, &mut known);
        let kept = known.into_kept();
        let size: u64 = kept.runs.iter().map(EventRun::size).sum();
        assert!(!kept.runs.is_empty() && may_be_kept(text.len() as u64, size));
    }

    /// A source in small windows, whose scout has said all that it says.
    struct Heard<'t>(SliceSource<'t>, &'t [u8], Mutex<VecDeque<Scouted>>);

    struct Windows<'t>(&'t [u8], usize);

    impl Pull for Windows<'_> {
        fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, Error> {
            self.1 += consumed;
            let end = self.0.len().min(self.1 + need.max(1 << 15));
            Ok(Chunk {
                bytes: subslice(self.0, self.1..end),
                offset: self.1 as u64,
                eof: end == self.0.len(),
            })
        }
    }

    impl Source for Heard<'_> {
        fn parts(&self) -> &[Part] {
            self.0.parts()
        }

        fn open(&self, _part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
            Ok(Box::new(Windows(self.1, usize::try_from(offset).unwrap())))
        }

        fn heard(&self) -> Option<Scouted> {
            self.2.lock().unwrap().pop_front()
        }
    }

    #[test]
    fn a_scout_goes_on_where_nothing_is_kept() {
        let mut random = Random::new(5);
        let alike =
            r#"{"ph":"X","name":"a name","ts":1.25,"dur":2,"pid":1,"tid":1},"#.repeat(50_000);
        for text in [text(&mut random, 25_000), alike.into_bytes()] {
            let text = [b"[", text.as_slice()].concat();
            assert!(text.len() as u64 > 2 * KEPT);
            let parts = SliceSource::default().with("a.json", &FORMAT, &text);
            let source = Heard(parts, &text, Mutex::default());
            let mut tell = |said| {
                source.2.lock().unwrap().push_back(said);
                Flow::Continue(())
            };
            scout(&source, &Limits::default(), Asks::default(), &mut tell).unwrap();
            let mut pull = source.open(0, 0).unwrap();
            let alone = walked(pull.as_mut(), &mut EventsAhead::nothing());
            let mut kept = KeptEvents::default();
            for number in [0, 1] {
                let mut pass = Pass {
                    source: &source,
                    number,
                    pull: source.open(0, 0).unwrap(),
                };
                let (pull, mut known) = match number {
                    0 => EventsAhead::of(&mut pass),
                    _ => EventsAhead::with_kept(&mut pass, std::mem::take(&mut kept)),
                };
                assert!(walked(pull, &mut known) == alone);
                assert!(known.until > 2 * KEPT, "the scout was heard to the end");
                kept = known.into_kept();
                assert_eq!(kept.is_full, number == 0);
            }
        }
    }
}
