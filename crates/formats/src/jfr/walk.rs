//! Walking over a chunk's events, and finding the next one behind damage.

use std::ops::ControlFlow;
use std::sync::Arc;

use traceloom_model::Limits;
use traceloom_model::bounds::subslice;

use super::event_head::{CHECKPOINT, EventHead, METADATA, after_alike, head};
use super::header::{HEADER, Header};
use super::metadata::MetadataEvent;
use super::pool::Checkpoint;
use super::scan::{Bad, Scan};
use super::schema::{KnownTypes, TypeSchemas};
use super::value::{DecodedValue, DecodingRules, SkippedValues};

/// Bytes that recovery may look at, for each byte of the chunk.
pub(super) const PATIENCE: usize = 32;

/// Returns true if events, taken by their sizes, end exactly where `chunk` does.
pub(super) fn lands_on(chunk: &[u8], header: &Header) -> bool {
    let mut at = HEADER;
    while let Some(head) = head(chunk, at, header.compressed()) {
        at = head.end;
    }
    at == chunk.len()
}

/// What a quick walk by sizes finds.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Metadata events.
    pub(super) metadata: Vec<usize>,
    /// Checkpoints.
    pub(super) checkpoints: Vec<usize>,
    /// Events of the types asked for.
    pub(super) early: Vec<usize>,
    /// Where sizes stop making sense; the chunk's end when all is well.
    pub(super) reached: usize,
}

impl Outline {
    /// Walks over `chunk` by sizes alone; notes the places of metadata, checkpoints and of the types
    /// that `early` says yes to, which is asked about each type that is met.
    pub(super) fn of(chunk: &[u8], compressed: bool, mut early: impl FnMut(u64) -> bool) -> Self {
        let mut outline = Self {
            reached: HEADER,
            ..Self::default()
        };
        // Of the events of a type that are one behind the other, the first is asked about.
        let mut asked = (METADATA, false);
        while let Some(head) = head(chunk, outline.reached, compressed) {
            outline.reached = head.end;
            match head.type_id {
                METADATA => outline.metadata.push(head.at),
                CHECKPOINT => outline.checkpoints.push(head.at),
                id if asked == (id, false) => {
                    outline.reached = after_alike(chunk, &head, compressed);
                }
                id => {
                    if asked.0 != id {
                        asked = (id, early(id));
                    }
                    if asked.1 {
                        outline.early.push(head.at);
                    }
                }
            }
        }
        outline
    }
}

/// Returns the body of the metadata event that the header of a finished chunk names.
pub(super) fn named_metadata<'c>(chunk: &'c [u8], header: &Header) -> Option<Scan<'c>> {
    let compressed = header.compressed();
    let named = usize::try_from(header.metadata_offset).ok()?;
    let head = head(chunk, named, compressed)?;
    let is_named = header.finished() && head.type_id == METADATA;
    is_named.then(|| Scan::new(subslice(chunk, head.body..head.end), compressed))
}

/// Finds the types of a chunk: in the metadata event its header names, which is the last one; in the last
/// one that can be read when the chunk was not finished or that event cannot.
pub(super) fn find_schema(chunk: &[u8], header: &Header, limits: &Limits) -> KnownTypes {
    let compressed = header.compressed();
    let read = |at: usize| {
        let head = head(chunk, at, compressed).filter(|head| head.type_id == METADATA)?;
        let mut scan = Scan::new(chunk.get(..head.end)?, compressed);
        scan.seek(head.body);
        let metadata = MetadataEvent::read(&mut scan, limits, &mut SkippedValues);
        Some((metadata.ok().filter(|_| scan.left() == 0), scan.at() - at))
    };
    if let Some(body) = named_metadata(chunk, header) {
        let mut found = None;
        TypeSchemas::settle(&mut found, body, limits);
        if found.is_some() {
            return found;
        }
    }
    let outline = Outline::of(chunk, compressed, |_| false);
    let mut places = outline.metadata;
    places.extend(usize::try_from(header.metadata_offset));
    places.sort_unstable();
    places.dedup();
    for &at in places.iter().rev() {
        if let Some((Some(metadata), _)) = read(at) {
            return Some(Arc::new(TypeSchemas::build(&metadata)));
        }
    }
    if outline.reached == chunk.len() {
        return None;
    }
    let mut work = PATIENCE * chunk.len();
    for at in outline.reached..chunk.len() {
        match read(at) {
            Some((Some(metadata), _)) => return Some(Arc::new(TypeSchemas::build(&metadata))),
            Some((None, spent)) => work = work.checked_sub(spent)?,
            None => {}
        }
    }
    None
}

/// One stretch of a chunk; they tile it.
#[derive(Debug)]
pub(super) enum ChunkStretch {
    /// Metadata, or constants and events that are stepped over.
    Metadata(EventHead),
    Checkpoint(EventHead, Box<Checkpoint>),
    /// An event of a known type; its fields end at `used`.
    Event {
        head: EventHead,
        type_index: usize,
        used: usize,
    },
    /// An event of a type the metadata does not name.
    Unknown(EventHead),
    /// An event whose size and type fit and whose fields do not.
    Bad(EventHead, Bad),
    /// Bytes that are no event, up to the next one.
    Lost(usize, usize),
}

/// What becomes of the fields of an event while they are checked.
pub(super) trait Take<'a> {
    /// Steps over the fields of an event of type `index`.
    fn fields(
        &mut self,
        rules: &DecodingRules<'_>,
        scan: &mut Scan<'a>,
        index: usize,
    ) -> Result<(), Bad>;
}

impl<'a> Take<'a> for SkippedValues {
    #[inline]
    fn fields(
        &mut self,
        rules: &DecodingRules<'_>,
        scan: &mut Scan<'a>,
        index: usize,
    ) -> Result<(), Bad> {
        rules.skip(scan, index)
    }
}

/// Holds the fields of the event the walk is at.
impl<'a> Take<'a> for Vec<DecodedValue<'a>> {
    #[inline]
    fn fields(
        &mut self,
        rules: &DecodingRules<'_>,
        scan: &mut Scan<'a>,
        index: usize,
    ) -> Result<(), Bad> {
        rules.cells(scan, index, self)
    }
}

/// A walk over a chunk's events that checks each one.
#[derive(Debug)]
pub(super) struct EventWalk<'a, 's> {
    chunk: &'a [u8],
    compressed: bool,
    schema: Option<&'s TypeSchemas>,
    rules: DecodingRules<'s>,
    at: usize,
    work: usize,
    limits: Limits,
    /// Where checkpoints begin that are taken by their size alone, in order.
    known_checkpoints: Vec<usize>,
    /// Types whose events are taken by their size alone.
    stepped_over: Vec<bool>,
    /// The chunk is a window of one in which sizes lead from event to event, and the checkpoints of which are sound.
    is_window: bool,
}

impl<'a, 's> EventWalk<'a, 's> {
    pub(super) fn new(
        chunk: &'a [u8],
        header: &Header,
        schema: Option<&'s TypeSchemas>,
        nothing: &'s TypeSchemas,
        limits: &Limits,
    ) -> Self {
        Self {
            chunk,
            compressed: header.compressed(),
            schema,
            rules: DecodingRules::new(schema.unwrap_or(nothing), limits),
            at: HEADER,
            work: PATIENCE * chunk.len(),
            limits: *limits,
            known_checkpoints: Vec::new(),
            stepped_over: Vec::new(),
            is_window: false,
        }
    }

    /// Walks over the whole events of a window that begins with one, of a chunk in which sizes lead from event to event, types
    /// are known and checkpoints are sound.
    pub(super) fn of_window(
        window: &'a [u8],
        header: &Header,
        schema: &'s TypeSchemas,
        limits: &Limits,
    ) -> Self {
        Self {
            at: 0,
            is_window: true,
            ..Self::new(window, header, Some(schema), schema, limits)
        }
    }

    /// Returns where the next event begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Takes events of types that are marked by their size alone, from here on; the sizes of the chunk's events must fit.
    pub(super) fn step_over(&mut self, types: Vec<bool>) {
        self.stepped_over = types;
    }

    /// Takes checkpoints by their size alone, from here on, which begin at these places, in order, and of which all is known.
    pub(super) fn step_over_checkpoints(&mut self, known: Vec<usize>) {
        self.known_checkpoints = known;
    }

    pub(super) fn rules(&self) -> DecodingRules<'s> {
        self.rules
    }

    /// Returns the fields of an event, as a scan that ends where the event does.
    #[inline]
    pub(super) fn body(&self, head: &EventHead) -> Scan<'a> {
        let bytes = subslice(self.chunk, head.body..head.end);
        Scan::new(bytes, self.compressed)
    }

    /// Returns the event at `at` when its size fits and its type is known.
    #[inline]
    fn fits(&self, at: usize) -> Option<EventHead> {
        let head = head(self.chunk, at, self.compressed)?;
        match self.schema {
            _ if head.type_id <= CHECKPOINT => Some(head),
            Some(schema) => schema.index(head.type_id).map(|_| head),
            None => Some(head),
        }
    }

    /// Returns true if an event may end at `at`.
    #[inline]
    fn is_border(&self, at: usize) -> bool {
        self.is_window || at == self.chunk.len() || self.fits(at).is_some()
    }

    /// Goes on over events that are taken by their size, and over those that `take` takes: it gets the chunk, and an event with the
    /// index of its type, and says where it got to, which is an event, and whether that one is left to others. Integers of the
    /// chunk are compressed.
    #[inline]
    pub(super) fn run(
        &mut self,
        mut take: impl FnMut(&'a [u8], &EventHead, usize) -> ControlFlow<usize, usize>,
    ) {
        while let Some(head) = head(self.chunk, self.at, self.compressed)
            && let Some(type_index) = self.event_type(head.type_id)
        {
            if self.stepped_over.get(type_index) == Some(&true) {
                self.at = head.end;
                continue;
            }
            match take(self.chunk, &head, type_index) {
                ControlFlow::Continue(at) => self.at = at,
                ControlFlow::Break(at) => {
                    self.at = at;
                    return;
                }
            }
        }
    }

    /// Returns the next stretch; when it is an event, `take` was given its fields.
    #[inline]
    pub(super) fn next(&mut self, take: &mut impl Take<'a>) -> Option<ChunkStretch> {
        if self.at >= self.chunk.len() {
            return None;
        }
        let Some(head) = head(self.chunk, self.at, self.compressed) else {
            // A window may end inside an event; the next one begins with it.
            return (!self.is_window).then(|| self.lost(self.at + 1));
        };
        let Some(type_index) = self.event_type(head.type_id) else {
            return Some(self.no_event(head));
        };
        if self.stepped_over.get(type_index) == Some(&true) {
            self.at = head.end;
            return Some(ChunkStretch::Metadata(head));
        }
        let mut scan = self.body(&head);
        let decoded = take.fields(&self.rules, &mut scan, type_index);
        let used = head.body + scan.at();
        if decoded.is_err() || used != head.end {
            return Some(self.misfit(head, type_index, decoded.map(|()| used)));
        }
        self.at = head.end;
        Some(ChunkStretch::Event {
            head,
            type_index,
            used,
        })
    }

    #[inline]
    fn event_type(&self, id: u64) -> Option<usize> {
        match id {
            METADATA | CHECKPOINT => None,
            id => self.schema?.index(id),
        }
    }

    /// Decides about an event whose fields, where they decode, do not end where it does.
    #[cold]
    fn misfit(
        &mut self,
        head: EventHead,
        type_index: usize,
        decoded: Result<usize, Bad>,
    ) -> ChunkStretch {
        let bounded = self.is_border(head.end);
        match decoded {
            Ok(used) if bounded => {
                self.at = head.end;
                ChunkStretch::Event {
                    head,
                    type_index,
                    used,
                }
            }
            // The fields end at the next event and the size does not: the size is wrong.
            Ok(used) if self.is_border(used) => {
                self.at = used;
                ChunkStretch::Lost(head.at, used)
            }
            Err(bad) if bounded => {
                self.at = head.end;
                ChunkStretch::Bad(head, bad)
            }
            _ => self.lost(self.at + 1),
        }
    }

    /// Takes metadata, constants, and what no metadata describes.
    #[inline(never)]
    fn no_event(&mut self, head: EventHead) -> ChunkStretch {
        let mut scan = self.body(&head);
        let bounded = self.is_border(head.end);
        let stretch = match head.type_id {
            METADATA if self.rules.schema.is_described_by(scan) => ChunkStretch::Metadata(head),
            METADATA => match MetadataEvent::read(&mut scan, &self.limits, &mut SkippedValues) {
                // What decodes to its last byte needs no neighbour to vouch for it.
                Ok(_) if bounded || scan.left() == 0 => ChunkStretch::Metadata(head),
                Err(bad) if bounded => ChunkStretch::Bad(head, bad),
                _ => return self.lost(self.at + 1),
            },
            CHECKPOINT if bounded && self.is_known_checkpoint(head.at) => {
                ChunkStretch::Metadata(head)
            }
            CHECKPOINT if bounded || self.is_checkpoint(&mut self.body(&head)) => {
                match Checkpoint::read(&self.rules, &mut scan, &mut self.work) {
                    Ok(checkpoint) => ChunkStretch::Checkpoint(head, Box::new(checkpoint)),
                    Err(bad) => ChunkStretch::Bad(head, bad),
                }
            }
            CHECKPOINT => return self.lost(self.at + 1),
            _ if bounded => ChunkStretch::Unknown(head),
            _ => return self.lost(self.at + 1),
        };
        self.at = head.end;
        stretch
    }

    /// Finds the next event behind damage: one whose size, type and fields all fit, and after which
    /// another one can begin.
    #[cold]
    fn lost(&mut self, from: usize) -> ChunkStretch {
        let begin = self.at;
        let end = self.found(from).unwrap_or(self.chunk.len());
        self.at = end;
        ChunkStretch::Lost(begin, end)
    }

    fn found(&mut self, from: usize) -> Option<usize> {
        for at in from..self.chunk.len() {
            let Some(head) = self.fits(at) else { continue };
            if self.schema.is_none() && at + 1 < self.chunk.len() && head.end == at {
                continue;
            }
            let mut scan = self.body(&head);
            let decoded = match head.type_id {
                METADATA => {
                    MetadataEvent::read(&mut scan, &self.limits, &mut SkippedValues).is_ok()
                }
                CHECKPOINT => self.is_checkpoint(&mut scan),
                id => match self.schema.and_then(|schema| schema.index(id)) {
                    Some(index) => self.rules.skip(&mut scan, index).is_ok(),
                    None => false,
                },
            };
            let spent = scan.at() + 1;
            if decoded && scan.left() == 0 && self.is_border(head.end) {
                return Some(at);
            }
            self.work = self.work.checked_sub(spent)?;
        }
        None
    }

    fn is_known_checkpoint(&self, at: usize) -> bool {
        self.is_window || self.known_checkpoints.binary_search(&at).is_ok()
    }

    fn is_checkpoint(&self, scan: &mut Scan<'_>) -> bool {
        let mut none = 0;
        Checkpoint::read(&self.rules, scan, &mut none)
            .is_ok_and(|checkpoint| checkpoint.damage().next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::put_integer;
    use super::*;
    use traceloom_samples::jfr::sample;

    fn stretches<'a>(chunk: &'a [u8], schema: &TypeSchemas, take: &mut impl Take<'a>) -> String {
        let header = Header::read(chunk).unwrap();
        let nothing = TypeSchemas::default();
        let limits = Limits::default();
        let mut walk = EventWalk::new(chunk, &header, Some(schema), &nothing, &limits);
        let found = std::iter::from_fn(|| walk.next(take));
        found.map(|stretch| format!("{stretch:?}\n")).collect()
    }

    /// Events of one type in a row are stepped over together, damaged or not, as far as one by one.
    #[test]
    fn steps_over_events_alike_as_one_by_one() {
        let mut whole = Vec::new();
        sample(3, 6_000, &mut |piece| whole.extend_from_slice(piece));
        let header = Header::read(&whole).unwrap();
        whole.truncate(usize::try_from(header.chunk_size).unwrap());
        // Events with sizes in one byte and in four, and types in one byte and in two.
        for (size, type_id) in [(5, &[9][..]), (9, &[9]), (9, &[0x91, 3]), (7, &[9, 9])] {
            for _ in 0..20 {
                let (from, head) = (whole.len(), if size < 8 { 1 } else { 4 });
                put_integer(&mut whole, true, size, head);
                whole.extend(type_id);
                whole.resize(from + usize::try_from(size).unwrap(), 7);
            }
        }
        let mut n_together = 0;
        for at in HEADER..whole.len() {
            let mut chunk = whole.clone();
            if let Some(byte) = chunk.get_mut(at) {
                *byte ^= 0x80 >> (at % 8);
            }
            let (mut heads, mut reached) = (Vec::new(), HEADER);
            while let Some(head) = head(&chunk, reached, true) {
                reached = head.end;
                heads.push(head);
            }
            assert_eq!(Outline::of(&chunk, true, |_| false).reached, reached);
            for (nth, head) in heads.iter().enumerate() {
                let alike = heads.iter().skip(nth + 1);
                let alike = alike.take_while(|next| next.type_id == head.type_id);
                let end = after_alike(&chunk, head, true);
                n_together += usize::from(end > head.end);
                let mut ends = std::iter::once(head).chain(alike).map(|event| event.end);
                assert!(ends.any(|known| known == end), "damage at {at:#x}");
            }
        }
        assert!(n_together > 1_000);
    }

    /// Reading steps over the fields that lowering takes apart: damaged or not, both find the same events.
    #[test]
    fn steps_over_what_it_takes_apart() {
        for seed in 0..4 {
            let mut whole = Vec::new();
            sample(seed, 6_000, &mut |piece| whole.extend_from_slice(piece));
            let header = Header::read(&whole).unwrap();
            let size = usize::try_from(header.chunk_size).unwrap();
            whole.truncate(size);
            let schema = find_schema(&whole, &header, &Limits::default()).unwrap();
            let clean = stretches(&whole, &schema, &mut SkippedValues);
            let mut differ = 0;
            for at in (HEADER..whole.len()).step_by(13) {
                let mut chunk = whole.clone();
                if let Some(byte) = chunk.get_mut(at) {
                    *byte ^= 0x80 >> (at % 8);
                }
                let over = stretches(&chunk, &schema, &mut SkippedValues);
                let apart = stretches(&chunk, &schema, &mut Vec::<DecodedValue<'_>>::new());
                assert_eq!(over, apart, "seed {seed}, damage at {at:#x}");
                differ += usize::from(over != clean);
            }
            assert!(differ > 0, "some damage shows");
        }
    }
}
