//! Chunks in which nothing is out of order, lowered window by window.
//!
//! A chunk is read twice: for its constants and what events say about others, and for its events. Memory is a window, and what
//! is kept of the chunk. A chunk that something has to be recovered in is lowered from memory.

use std::ops::ControlFlow;
use std::slice;

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Flow, Limits};

use super::super::event_head::CHECKPOINT;
use super::super::frame::ExtentSource;
use super::super::header::{HEADER, Header, begins_chunk, is_cut_magic};
use super::super::record::ChunkContext;
use super::super::scan::Scan;
use super::super::schema::{KnownTypes, TypeSchemas};
use super::super::split::PartView;
use super::super::value::DecodingRules;
use super::super::walk::EventWalk;
use super::constants::Constants;
use super::kept::KeptBytes;
use super::places::{ChunkPlaces, SurveyedChunks, early_types};
use super::sound::{each_event, each_window_of, each_window_within, sound_header};
use super::survey::{add_met, met_sources};
use super::{ChunkEvents, Lowering, wants_constants};
use crate::{Chunk, Error, Part, Pull, Source};

/// Where the chunks of a part are looked over before their events are lowered.
pub(super) struct LookOver<'s> {
    source: &'s dyn Source,
    part: usize,
    view: PartView<'s>,
    /// Offset in the part at which the source begins.
    first: u64,
    surveyed: &'s SurveyedChunks,
    /// Chunks of more bytes are lowered in windows.
    whole: u64,
    /// The last chunk that has to be lowered from memory.
    refused: Option<u64>,
}

/// What a look over a chunk finds.
struct ChunkLook {
    places: ChunkPlaces,
    /// Whether events of a type say something about others, by its index.
    is_early: Vec<bool>,
    kept: KeptBytes,
}

impl Lowering<'_> {
    /// Lowers the chunks that begin `consumed` bytes behind where the pull is, and leaves the pull at the first one that has to be
    /// lowered from memory, or where a chunk has changed since it was looked over. Returns true if there were any.
    ///
    /// # Errors
    /// What the source fails with.
    pub(super) fn windows(
        &mut self,
        look_over: &mut LookOver<'_>,
        pull: &mut dyn Pull,
        mut consumed: usize,
    ) -> Result<ControlFlow<(), bool>, Error> {
        let mut any = false;
        let (limits, amounts_only) = (self.limits, self.amounts_only);
        loop {
            let window = pull.pull(consumed, HEADER)?;
            let Some(header) = look_over.takes(window, &limits) else {
                return Ok(ControlFlow::Continue(any));
            };
            let offset = window.offset;
            let mut known = self.schema.take();
            let look = look_over.chunk(offset, &header, &limits, &mut known, amounts_only)?;
            let lowered = match (look, &known) {
                (Some(look), Some(schema)) => {
                    any = true;
                    self.window_events(pull, offset, &header, schema, look)?
                }
                _ => {
                    look_over.refused = Some(offset);
                    ControlFlow::Continue(None)
                }
            };
            self.schema = known;
            match lowered {
                ControlFlow::Continue(Some(taken)) => consumed = taken,
                ControlFlow::Continue(None) => return Ok(ControlFlow::Continue(any)),
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            }
        }
    }

    /// Lowers the events of the chunk that the pull is at; returns the bytes of the last window that are its, none where the chunk
    /// has changed since it was looked over.
    fn window_events(
        &mut self,
        pull: &mut dyn Pull,
        offset: u64,
        header: &Header,
        schema: &TypeSchemas,
        mut look: ChunkLook,
    ) -> Result<ControlFlow<(), Option<usize>>, Error> {
        let limits = self.limits;
        let rules = DecodingRules::new(schema, &limits);
        let pools = std::mem::take(&mut look.kept.pools);
        let compressed = header.compressed();
        let mut constants =
            Constants::new(rules, header.clock(), &look.kept.bytes, compressed, pools);
        let mut events = ChunkEvents::default();
        let mut flow = self.begin_window_events(offset, header, &look, &mut constants);
        let stepped_over = self.stepped_over(schema);
        let taken = each_window_of(pull, header, |bytes, offset| {
            let mut walk = EventWalk::of_window(bytes, header, schema, &limits);
            walk.step_over(stepped_over.clone());
            let place = ChunkContext::new((bytes, offset), header, rules, &limits);
            let end = ExtentSource::Declared;
            if flow.is_continue() {
                flow = self.events(&mut walk, &place, end, &mut events, &mut constants);
            }
            flow.is_continue().then(|| walk.at())
        })?;
        if flow.is_continue() {
            flow = self.end_chunk(offset, events, &constants);
        }
        Ok(flow.map_continue(|()| taken))
    }

    /// Takes what a look over the chunk at `offset` found.
    fn begin_window_events(
        &mut self,
        offset: u64,
        header: &Header,
        look: &ChunkLook,
        constants: &mut Constants<'_>,
    ) -> Flow {
        self.begin_chunk(header);
        let schema = constants.rules.schema;
        let alloc = self.allocations(&met_sources(schema, &look.places.met), offset)?;
        add_met(&mut self.met, schema, &look.places.met);
        let early = look.kept.events(header.compressed());
        self.look_ahead(early, alloc, constants);
        ControlFlow::Continue(())
    }
}

impl<'s> LookOver<'s> {
    /// Looks over the chunks of a part that `pull` is at the beginning of; none where bytes have to be decompressed from the part's
    /// beginning.
    ///
    /// # Errors
    /// What the pull fails with.
    pub(super) fn new(
        source: &'s dyn Source,
        part: usize,
        pull: &mut dyn Pull,
        surveyed: &'s SurveyedChunks,
        whole: u64,
    ) -> Result<Option<Self>, Error> {
        let is_seekable = |part: &Part| part.size.is_some();
        if !source.parts().get(part).is_some_and(is_seekable) {
            return Ok(None);
        }
        Ok(Some(Self {
            source,
            part,
            view: PartView::new(source, part),
            first: pull.pull(0, HEADER)?.offset,
            surveyed,
            whole,
            refused: None,
        }))
    }

    /// Returns the header of the chunk that a window begins with, if it may be lowered in windows and is not in memory.
    fn takes(&self, window: Chunk<'_>, limits: &Limits) -> Option<Header> {
        let header = sound_header(window.bytes, limits)?;
        let held = window.bytes.len() as u64;
        let is_long = header.chunk_size > self.whole.max(held);
        (is_long && self.refused != Some(window.offset)).then_some(header)
    }

    /// Looks over the chunk that begins at `offset` of the part, and whose types are known then; none where anything is out of order.
    fn chunk(
        &mut self,
        offset: u64,
        header: &Header,
        limits: &Limits,
        known: &mut KnownTypes,
        amounts_only: bool,
    ) -> Result<Option<ChunkLook>, Error> {
        let begin = offset.saturating_sub(self.first);
        let body = self.view.metadata(begin, header)?;
        let Some(schema) = body.and_then(|body| TypeSchemas::settle(known, body, limits)) else {
            return Ok(None);
        };
        let mut look = ChunkLook {
            places: ChunkPlaces::new(offset, schema.types.len()),
            is_early: early_types(schema),
            kept: KeptBytes::default(),
        };
        let surveyed = self.surveyed.at(offset);
        let all = offset + HEADER as u64..offset + header.chunk_size;
        let stretches = match surveyed {
            Some(places) => places.stretches.as_slice(),
            None => slice::from_ref(&all),
        };
        let rules = DecodingRules::new(schema, limits);
        let wanted = |index| wants_constants(schema, index, amounts_only);
        for stretch in stretches {
            let from = begin.saturating_add(stretch.start.saturating_sub(offset));
            let mut pull = self.source.open(self.part, from)?;
            let length = in_memory(stretch.end - stretch.start);
            let compressed = header.compressed();
            let taken = each_window_within(pull.as_mut(), 0, length, compressed, |bytes, at| {
                look.events(bytes, at, compressed, &rules, limits, &wanted)
            })?;
            let Some(taken) = taken.filter(|_| look.places.is_described) else {
                return Ok(None);
            };
            if surveyed.is_none() {
                let window = pull.pull(taken, HEADER)?;
                if !may_follow(window) {
                    return Ok(None);
                }
            }
        }
        if let Some(places) = surveyed {
            look.places.met.clone_from(&places.met);
        }
        Ok(Some(look))
    }
}

/// Returns true if bytes may follow a whole chunk: another one, its beginning, or none.
fn may_follow(window: Chunk<'_>) -> bool {
    let bytes = window.bytes;
    bytes.is_empty() || begins_chunk(bytes) || (window.eof && is_cut_magic(bytes))
}

impl ChunkLook {
    /// Takes the whole events of a window, which begins at `window` of the part; returns their length. None where constants are
    /// damaged.
    fn events(
        &mut self,
        bytes: &[u8],
        window: u64,
        compressed: bool,
        rules: &DecodingRules<'_>,
        limits: &Limits,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let (mut is_sound, mut known) = (true, None);
        let taken = each_event(bytes, compressed, &mut known, |head| {
            if self
                .places
                .meet(window, head, (rules.schema, &self.is_early))
            {
                return true;
            }
            let body = Scan::new(subslice(bytes, head.body..head.end), compressed);
            let kept = match head.type_id {
                CHECKPOINT => self.kept.checkpoint(rules, body, limits, wanted),
                id => {
                    (rules.schema.index(id)).and_then(|index| self.kept.event(index, body, limits))
                }
            };
            is_sound &= kept.is_some();
            false
        });
        is_sound.then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lower_windows;
    use super::super::narrow::Narrow;
    use super::super::sound::WHOLE;
    use super::*;
    use crate::jfr::split::split;
    use crate::{LowerOptions, Piece};
    use std::collections::BTreeMap;
    use traceloom_model::{Asks, Batch, ProfileId, StackId, Stage};
    use traceloom_samples::jfr::{ChunkBuilder, DescribedField, DescribedType, How, TYPES, sample};

    /// What a sink is told; of samples that may be added up, their sums.
    #[derive(Default, PartialEq)]
    struct Told {
        asks: Asks,
        batches: Vec<String>,
        sums: BTreeMap<(ProfileId, usize, Option<StackId>), i64>,
    }

    impl Stage for Told {
        fn asks(&self) -> Asks {
            self.asks
        }

        fn pass(&mut self, batch: Batch) -> Flow {
            match &batch {
                Batch::Samples(samples) if self.asks.sums => {
                    for (row, stack) in samples.stack.iter().enumerate() {
                        for (column, value) in samples.values(row).iter().enumerate() {
                            let key = (samples.profile, column, *stack);
                            *self.sums.entry(key).or_default() += value;
                        }
                    }
                }
                _ => self.batches.push(format!("{batch:?}")),
            }
            Flow::Continue(())
        }
    }

    /// Sinks of events, of functions, of sums and of notes.
    fn all_asks() -> [Asks; 4] {
        let amounts = Asks {
            sampled_events: false,
            amounts_only: true,
            events: false,
            labels: false,
            ..Asks::default()
        };
        [
            Asks::default(),
            amounts,
            Asks {
                sums: true,
                amounts_only: false,
                ..amounts
            },
            Asks {
                notes_only: true,
                ..Asks::default()
            },
        ]
    }

    fn told(
        source: &dyn Source,
        options: &LowerOptions,
        asks: Asks,
        whole: u64,
    ) -> Result<Told, String> {
        let mut told = Told {
            asks,
            ..Told::default()
        };
        let lowered = lower_windows(source, options, &mut told, whole);
        lowered.map_err(|error| error.to_string())?;
        Ok(told)
    }

    fn made(seed: u64, bytes: u64) -> Vec<u8> {
        let mut made = Vec::new();
        sample(seed, bytes, &mut |piece| made.extend_from_slice(piece));
        made
    }

    #[test]
    fn windows_tell_what_chunks_do_and_hold_none() {
        for seed in 0..2 {
            let bytes = made(seed, 200_000);
            for (asks, spare) in all_asks().into_iter().zip([0, 40, 1_000, 90_000]) {
                let narrow = Narrow::new(&bytes, spare);
                let options = LowerOptions::default();
                let in_windows = told(&narrow, &options, asks, 0);
                let most = narrow.most.take();
                let whole = told(&narrow, &options, asks, u64::MAX);
                assert!(in_windows == whole, "seed {seed}, {spare} bytes to spare");
                let n_told = whole.map_or(0, |told| told.batches.len() + told.sums.len());
                assert!(n_told > 1 || asks.notes_only);
                assert!(most * 10 < narrow.most.get(), "{most} bytes of a chunk");
            }
        }
    }

    const SETTINGS: &[DescribedType] = &[DescribedType(
        120,
        "jdk.ActiveSetting",
        &[
            DescribedField("id", 11, How::Here, None),
            DescribedField("name", 20, How::Here, None),
            DescribedField("value", 20, How::Here, None),
        ],
    )];

    /// A chunk of about so many bytes: settings and constants before, between and behind samples.
    fn long(bytes: usize, start: i64) -> Vec<u8> {
        let mut chunk = ChunkBuilder::new(2, true, start, 1_000_000_000);
        let states = ["STATE_RUNNABLE", "STATE_SLEEPING", "STATE_IN_OBJECT_WAIT"];
        for (at, state) in (1..).zip(states) {
            let setting = chunk.bytes().long(101).text("period");
            chunk.event(120, &setting.text(&format!("{}0 ms", at * 2)));
            let constants = vec![(at, chunk.bytes().text(state))];
            chunk.checkpoint(&[(25, constants)]);
            let most = chunk.out.len() + bytes / states.len();
            for time in 0.. {
                let sample = chunk.bytes().long(time).long(1).long(7);
                chunk.event(101, &sample.long(time % 4));
                if chunk.out.len() > most {
                    break;
                }
            }
        }
        chunk.metadata(&[TYPES, SETTINGS]);
        chunk.finish()
    }

    /// Long chunks among short ones and damaged ones, as a whole and in pieces that a survey met.
    #[test]
    fn long_chunks_pass_in_windows_wherever_they_are() {
        let whole = usize::try_from(WHOLE).unwrap();
        let (short, big) = (long(whole / 8, 7), long(whole + whole / 8, 9));
        let mut damaged = big.clone();
        let last = damaged.len() - 900;
        damaged.get_mut(last..last + 9).unwrap().fill(0xff);
        let sound = [&big[..], &short, &big, &big].concat();
        let mixed = [&big[..], &short, &big, &damaged, b"stray", &big].concat();
        for (bytes, most) in [(&sound, whole), (&mixed, damaged.len() + HEADER)] {
            for asks in all_asks() {
                let narrow = Narrow::new(bytes, 1_000);
                let options = LowerOptions::default();
                let in_windows = told(&narrow, &options, asks, WHOLE).unwrap();
                let held = narrow.most.take();
                assert!(held <= most, "{held} bytes, {most} are enough");
                assert!(in_windows == told(&narrow, &options, asks, u64::MAX).unwrap());
            }
        }
        let narrow = Narrow::new(&sound, 1_000);
        let pieces = split(&narrow, 0, &Limits::default()).unwrap().unwrap();
        let options = LowerOptions {
            whole: Some(pieces.whole),
            surveyed: pieces.surveyed,
            ..LowerOptions::default()
        };
        let surveyed = SurveyedChunks::of(options.surveyed.as_ref()).unwrap();
        assert_eq!(pieces.ranges.len(), 4);
        for range in pieces.ranges {
            let places = surveyed.at(range.start);
            let is_long = places.is_some();
            assert!(places.is_none_or(|places| places.stretches.len() == 3));
            let piece = Piece::new(&narrow, 0, range.clone());
            assert_eq!(is_long, range.start != big.len() as u64);
            for asks in all_asks() {
                let in_windows = told(&piece, &options, asks, WHOLE).unwrap();
                let as_chunks = told(&piece, &options, asks, u64::MAX).unwrap();
                assert!(in_windows == as_chunks, "piece at {}", range.start);
            }
        }
    }

    #[test]
    fn damage_is_told_as_of_chunks_in_memory() {
        let (mut n_windows, mut n_whole) = (0, 0);
        for seed in 0..2 {
            // Two chunks, so that there is a survey, and one.
            let one = made(seed, 3_000);
            let two = [&one[..], &made(seed + 7, 3_000)].concat();
            for (n_chunks, whole) in [(1, one), (2, two)] {
                for at in (0..whole.len()).step_by(23) {
                    let mut bytes = whole.clone();
                    *bytes.get_mut(at).unwrap() ^= 0x80 >> (at % 8);
                    let narrow = Narrow::new(&bytes, at % 300);
                    let [events, _, sums, notes] = all_asks();
                    for asks in [events, sums, notes] {
                        let options = LowerOptions::default();
                        let in_windows = told(&narrow, &options, asks, 0);
                        // Nothing else asks for bytes behind a chunk.
                        match narrow.most.take() <= whole.len() / n_chunks {
                            true => n_windows += 1,
                            false => n_whole += 1,
                        }
                        let as_chunks = told(&narrow, &options, asks, u64::MAX);
                        assert!(in_windows == as_chunks, "seed {seed}, a bit of {at:#x}");
                    }
                }
            }
        }
        assert!(n_windows > 100 && n_whole > 100, "{n_windows}, {n_whole}");
    }
}
