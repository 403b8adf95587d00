//! Walking over a chunk's events, and finding the next one behind damage.

use traceloom_model::{Limit, Limits};

use super::header::{HEADER, Header};
use super::metadata::Metadata;
use super::pool::Checkpoint;
use super::scan::{Bad, Scan};
use super::schema::Schema;
use super::value::{Rules, Skip};

/// Type id of the metadata event.
pub(super) const METADATA: u64 = 0;
/// Type id of checkpoint events.
pub(super) const CHECKPOINT: u64 = 1;

/// Bytes that recovery may look at, for each byte of the chunk.
pub(super) const PATIENCE: usize = 32;

/// The first two fields of every event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// Where the event begins in the chunk.
    pub(super) at: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// Where its fields begin.
    pub(super) body: usize,
    pub(super) type_id: u64,
}

/// Reads an event's size and type; none when they do not fit the chunk.
#[inline]
pub(super) fn head(chunk: &[u8], at: usize, compressed: bool) -> Option<Head> {
    let mut scan = Scan::new(chunk, compressed);
    scan.seek(at);
    // All bits count: a size above 32 bits is damage, not a smaller size.
    let (size, _) = scan.integer(4).ok()?;
    let size = usize::try_from(size).ok()?;
    let type_id = scan.long().ok()?;
    let end = at.checked_add(size)?;
    if end > chunk.len() || end < scan.at() {
        return None;
    }
    Some(Head {
        at,
        end,
        body: scan.at(),
        type_id,
    })
}

/// Tells whether events, taken by their sizes, end exactly where `chunk` does.
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
    /// that `early` says yes to.
    pub(super) fn of(chunk: &[u8], compressed: bool, early: &dyn Fn(u64) -> bool) -> Self {
        let mut outline = Self {
            reached: HEADER,
            ..Self::default()
        };
        while let Some(head) = head(chunk, outline.reached, compressed) {
            match head.type_id {
                METADATA => outline.metadata.push(head.at),
                CHECKPOINT => outline.checkpoints.push(head.at),
                id if early(id) => outline.early.push(head.at),
                _ => {}
            }
            outline.reached = head.end;
        }
        outline
    }
}

/// Finds the types of a chunk: in the metadata event its header names, which is the last one; in the last
/// one that can be read when the chunk was not finished or that event cannot.
pub(super) fn find_schema(chunk: &[u8], header: &Header, limits: &Limits) -> Option<Schema> {
    let compressed = header.compressed();
    let read = |at: usize| {
        let head = head(chunk, at, compressed).filter(|head| head.type_id == METADATA)?;
        let mut scan = Scan::new(chunk.get(..head.end)?, compressed);
        scan.seek(head.body);
        let metadata = Metadata::read(&mut scan, limits, &mut Skip);
        Some((metadata.ok().filter(|_| scan.left() == 0), scan.at() - at))
    };
    let named = usize::try_from(header.metadata_offset).ok();
    if header.finished()
        && let Some((Some(metadata), _)) = named.and_then(read)
    {
        return Some(Schema::build(&metadata));
    }
    let outline = Outline::of(chunk, compressed, &|_| false);
    let mut places = outline.metadata;
    places.extend(named);
    places.sort_unstable();
    places.dedup();
    for &at in places.iter().rev() {
        if let Some((Some(metadata), _)) = read(at) {
            return Some(Schema::build(&metadata));
        }
    }
    if outline.reached == chunk.len() {
        return None;
    }
    let mut work = PATIENCE * chunk.len();
    for at in outline.reached..chunk.len() {
        match read(at) {
            Some((Some(metadata), _)) => return Some(Schema::build(&metadata)),
            Some((None, spent)) => work = work.checked_sub(spent)?,
            None => {}
        }
    }
    None
}

/// One stretch of a chunk; they tile it.
#[derive(Debug)]
pub(super) enum Stretch {
    Metadata(Head),
    Checkpoint(Head, Box<Checkpoint>),
    /// An event of a known type; its fields end at `used`.
    Event {
        head: Head,
        type_index: usize,
        used: usize,
    },
    /// An event of a type the metadata does not name.
    Unknown(Head),
    /// An event whose size and type fit and whose fields do not.
    Bad(Head, Bad),
    /// Bytes that are no event, up to the next one.
    Lost(usize, usize),
}

/// A walk over a chunk's events that checks each one.
#[derive(Debug)]
pub(super) struct Walk<'a, 's> {
    chunk: &'a [u8],
    compressed: bool,
    schema: Option<&'s Schema>,
    rules: Rules<'s>,
    at: usize,
    work: usize,
    limits: Limits,
}

impl<'a, 's> Walk<'a, 's> {
    pub(super) fn new(
        chunk: &'a [u8],
        header: &Header,
        schema: Option<&'s Schema>,
        nothing: &'s Schema,
        limits: &Limits,
    ) -> Self {
        Self {
            chunk,
            compressed: header.compressed(),
            schema,
            rules: Rules {
                schema: schema.unwrap_or(nothing),
                longest: limits.size(Limit::String),
                most: limits.of(Limit::Values),
            },
            at: HEADER,
            work: PATIENCE * chunk.len(),
            limits: *limits,
        }
    }

    pub(super) fn compressed(&self) -> bool {
        self.compressed
    }

    pub(super) fn rules(&self) -> Rules<'s> {
        self.rules
    }

    /// Returns the fields of an event, as a scan that ends where the event does.
    #[inline]
    pub(super) fn body(&self, head: &Head) -> Scan<'a> {
        let bytes = self.chunk.get(head.body..head.end).unwrap_or(&[]);
        Scan::new(bytes, self.compressed)
    }

    /// Returns the event at `at` when its size fits and its type is known.
    #[inline]
    fn fits(&self, at: usize) -> Option<Head> {
        let head = head(self.chunk, at, self.compressed)?;
        match self.schema {
            _ if head.type_id <= CHECKPOINT => Some(head),
            Some(schema) => schema.index(head.type_id).map(|_| head),
            None => Some(head),
        }
    }

    /// Tells whether an event may end at `at`.
    #[inline]
    fn is_border(&self, at: usize) -> bool {
        at == self.chunk.len() || self.fits(at).is_some()
    }

    /// Returns the next stretch.
    pub(super) fn next(&mut self) -> Option<Stretch> {
        if self.at >= self.chunk.len() {
            return None;
        }
        let stretch = self.stretch();
        self.at = match &stretch {
            Stretch::Lost(_, to) => *to,
            Stretch::Metadata(head)
            | Stretch::Checkpoint(head, _)
            | Stretch::Event { head, .. }
            | Stretch::Unknown(head)
            | Stretch::Bad(head, _) => head.end,
        };
        Some(stretch)
    }

    #[inline]
    fn stretch(&mut self) -> Stretch {
        let Some(head) = head(self.chunk, self.at, self.compressed) else {
            return self.lost(self.at + 1);
        };
        let mut scan = self.body(&head);
        let type_index = match head.type_id {
            METADATA | CHECKPOINT => None,
            id => match self.schema.and_then(|schema| schema.index(id)) {
                Some(index) => Some(index),
                None if self.is_border(head.end) => return Stretch::Unknown(head),
                None => return self.lost(self.at + 1),
            },
        };
        let decoded = match type_index {
            Some(index) => self.rules.skip(&mut scan, index),
            None => self.decode_special(&head, &mut scan),
        };
        let used = head.body + scan.at();
        match (decoded, type_index) {
            (Ok(()), Some(type_index)) if used == head.end || self.is_border(head.end) => {
                Stretch::Event {
                    head,
                    type_index,
                    used,
                }
            }
            // The fields end at the next event and the size does not: the size is wrong.
            (Ok(()), Some(_)) if self.is_border(used) => Stretch::Lost(head.at, used),
            // What decodes to its last byte needs no neighbour to vouch for it.
            (Ok(()), None)
                if head.type_id == METADATA && (used == head.end || self.is_border(head.end)) =>
            {
                Stretch::Metadata(head)
            }
            (_, None) if head.type_id == CHECKPOINT => {
                let sure = self.is_border(head.end) || self.is_checkpoint(&mut self.body(&head));
                if !sure {
                    return self.lost(self.at + 1);
                }
                let mut scan = self.body(&head);
                match Checkpoint::read(&self.rules, &mut scan, &mut self.work) {
                    Ok(checkpoint) => Stretch::Checkpoint(head, Box::new(checkpoint)),
                    Err(bad) => Stretch::Bad(head, bad),
                }
            }
            (Err(bad), _) if self.is_border(head.end) => Stretch::Bad(head, bad),
            _ => self.lost(self.at + 1),
        }
    }

    /// Steps over a metadata event or the head of a checkpoint.
    fn decode_special(&self, head: &Head, scan: &mut Scan<'_>) -> Result<(), Bad> {
        if head.type_id == METADATA {
            return Metadata::read(scan, &self.limits, &mut Skip).map(drop);
        }
        Ok(())
    }

    /// Finds the next event behind damage: one whose size, type and fields all fit, and after which
    /// another one can begin.
    fn lost(&mut self, from: usize) -> Stretch {
        let begin = self.at;
        for at in from..self.chunk.len() {
            let Some(head) = self.fits(at) else { continue };
            if self.schema.is_none() && at + 1 < self.chunk.len() && head.end == at {
                continue;
            }
            let mut scan = self.body(&head);
            let decoded = match head.type_id {
                METADATA => Metadata::read(&mut scan, &self.limits, &mut Skip).is_ok(),
                CHECKPOINT => self.is_checkpoint(&mut scan),
                id => match self.schema.and_then(|schema| schema.index(id)) {
                    Some(index) => self.rules.skip(&mut scan, index).is_ok(),
                    None => false,
                },
            };
            let spent = scan.at() + 1;
            if decoded && scan.left() == 0 && self.is_border(head.end) {
                return Stretch::Lost(begin, at);
            }
            match self.work.checked_sub(spent) {
                Some(work) => self.work = work,
                None => break,
            }
        }
        Stretch::Lost(begin, self.chunk.len())
    }

    fn is_checkpoint(&self, scan: &mut Scan<'_>) -> bool {
        let mut none = 0;
        Checkpoint::read(&self.rules, scan, &mut none)
            .is_ok_and(|checkpoint| checkpoint.damage().next().is_none())
    }
}
