//! Mappings, functions, locations and stacks of a profile, in the model's tables.

use traceloom_model::bounds::{in_memory, row_number, subslice};
use traceloom_model::{
    Frame, FrameId, Function, FunctionId, Level, Limit, Limits, Mapping, MappingId, PathBatch,
    Spot, Stack, StackId, Tables,
};

use super::calltree::LocationTree;
use super::columns::{Line, Tables as Columns};
use super::ids::RowsById;
use super::lower::ProfileStrings;
use crate::codec::CountedNotes;

/// Turns location ids into stacks.
///
/// A location becomes the frames of its lines when a sample first uses it. Stacks are found by the
/// calling stack and the location, so that a location met again below the same caller costs one look-up,
/// however many lines it has.
pub(super) struct Code<'a> {
    columns: &'a Columns,
    function_ids: RowsById,
    location_ids: RowsById,
    mapping_ids: RowsById,
    functions: Vec<Option<Option<FunctionId>>>,
    mappings: Vec<MappingId>,
    frames: Vec<FrameId>,
    /// Where the frames of each location begin and how many there are, 0 until it is used.
    locations: Vec<(u32, u32)>,
    /// Sites that were told with a path.
    told: Vec<bool>,
    /// What runs at the site at hand, the outermost first.
    spots: Vec<Spot>,
    /// Functions and their names are this reader's alone: nobody compares them by their ids.
    own: bool,
    tree: LocationTree,
    most_lines: usize,
    depth: usize,
    room: usize,
}

/// Stands for the row of a location that does not exist.
const UNKNOWN: u32 = u32::MAX - 1;

impl<'a> Code<'a> {
    pub(super) fn new(
        columns: &'a Columns,
        limits: &Limits,
        own: bool,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Self {
        let mappings = columns
            .mapping
            .iter()
            .map(|mapping| model_mapping(mapping, strings, model, tally));
        let mappings = mappings.collect();
        let n_locations = columns.location.len();
        let ids = Self {
            columns,
            function_ids: RowsById::new(columns.function.iter().map(|row| row.id)),
            location_ids: RowsById::new(columns.location.iter().map(|row| row.id)),
            mapping_ids: RowsById::new(columns.mapping.iter().map(|row| row.id)),
            functions: vec![None; columns.function.len()],
            mappings,
            frames: Vec::new(),
            locations: vec![(0, 0); if own { 0 } else { n_locations }],
            told: vec![
                false;
                if own {
                    small_ids(n_locations) + n_locations + 1
                } else {
                    0
                }
            ],
            spots: Vec::new(),
            own,
            tree: LocationTree::default(),
            most_lines: columns
                .location
                .iter()
                .map(|row| row.line.len())
                .max()
                .unwrap_or(0)
                .max(1),
            depth: limits.size(Limit::Depth),
            room: limits.size(Limit::Table),
        };
        ids.check(tally);
        ids
    }

    fn check(&self, tally: &mut CountedNotes) {
        for (name, ids) in [
            ("function", &self.function_ids),
            ("location", &self.location_ids),
            ("mapping", &self.mapping_ids),
        ] {
            for _ in 0..ids.duplicates {
                tally.add(Level::Warn, "duplicate_id", 0, || {
                    format!("two rows of the {name} table have the same id, the later one is used")
                });
            }
            if ids.row(0).is_some() {
                tally.add(Level::Warn, "id_zero", 0, || {
                    format!("a {name} has the id 0, which stands for none")
                });
            }
        }
        if self.columns.location.iter().any(|row| row.is_folded) {
            tally.add(Level::Info, "is_folded", 0, || {
                "locations are marked as folded, which the model has no place for".to_owned()
            });
        }
    }

    /// Returns the stack of a sample, none when it has no locations.
    pub(super) fn stack(
        &mut self,
        location_ids: &[u64],
        offset: u64,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Option<StackId> {
        let (location_ids, cut) = self.within_depth(location_ids, offset, tally);
        let mut place = None;
        let mut rest = location_ids;
        // A stack whose callers were cut off is like no other.
        while !cut && let Some((&id, inner)) = rest.split_last() {
            let location = self.location(id);
            let Some(next) = self.tree.follow(place, location) else {
                break;
            };
            if location == UNKNOWN {
                unknown_location(id, offset, tally);
            }
            place = Some(next);
            rest = inner;
        }
        let mut stack = self.tree.stack(place);
        let mut first = true;
        for &id in rest.iter().rev() {
            let location = self.location(id);
            if location == UNKNOWN {
                unknown_location(id, offset, tally);
            }
            if self.tree.len() >= self.room {
                tally.add(Level::Damage, "limit_table", offset, || {
                    format!("more than {} different stacks", self.room)
                });
                return stack;
            }
            for &frame in self.frames_of(location, strings, model, tally) {
                stack = Some(model.new_stack(Stack {
                    parent: stack,
                    frame,
                    truncated: cut && stack.is_none(),
                }));
            }
            if !cut {
                if std::mem::take(&mut first) {
                    self.tree.branch(place, location);
                }
                self.tree.add(location, stack);
            }
        }
        stack
    }

    /// Notes what is wrong with the locations of a sample.
    pub(super) fn check_path(
        &mut self,
        location_ids: &[u64],
        offset: u64,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) {
        let (location_ids, _) = self.within_depth(location_ids, offset, tally);
        for &id in location_ids.iter().rev() {
            match self.location(id) {
                UNKNOWN => unknown_location(id, offset, tally),
                location => {
                    self.frames_of(location, strings, model, tally);
                }
            }
        }
    }

    /// Adds the locations of a sample to `path`, the innermost first; what runs there when they come for the first time.
    pub(super) fn path(
        &mut self,
        location_ids: &[u64],
        offset: u64,
        (strings, model): (&mut ProfileStrings<'a>, &mut Tables),
        tally: &mut CountedNotes,
        path: &mut PathBatch,
    ) {
        let (location_ids, _) = self.within_depth(location_ids, offset, tally);
        let told = |&id: &u64| self.is_told(in_memory(id));
        if location_ids.iter().all(told) {
            let sites = location_ids.iter();
            path.extend_sites(sites.map(|&id| u32::try_from(id).unwrap_or(UNKNOWN)));
            return;
        }
        for &id in location_ids {
            let location = self.location(id);
            if location == UNKNOWN {
                unknown_location(id, offset, tally);
            }
            let site = self.site(id, location);
            if !self.is_told(site) {
                let mut spots = std::mem::take(&mut self.spots);
                spots.clear();
                self.lower_location(location, strings, model, tally, |model, frame| {
                    spots.push(match frame.function {
                        Some(function) => Spot::Function(function),
                        None => Spot::Frame(model.frame(frame)),
                    });
                });
                let number = u32::try_from(site).unwrap_or(UNKNOWN);
                path.tell(number, spots.iter().rev().copied());
                self.spots = spots;
                if let Some(told) = self.told.get_mut(site) {
                    *told = true;
                }
            }
            path.push_site(u32::try_from(site).unwrap_or(UNKNOWN));
        }
    }

    #[inline]
    fn is_told(&self, site: usize) -> bool {
        self.told.get(site) == Some(&true)
    }

    /// Numbers a location: by its id while that is small, behind those by its row, and last the one that does not exist.
    fn site(&self, id: u64, location: u32) -> usize {
        let rows = self.columns.location.len();
        let small = small_ids(rows);
        let slot = in_memory(id);
        match location {
            UNKNOWN => small + rows,
            _ if slot < small => slot,
            row => small + row as usize,
        }
    }

    /// Returns the row of a location, [`UNKNOWN`] when there is none.
    #[inline]
    fn location(&self, id: u64) -> u32 {
        let row = self.location_ids.row(id);
        row.map_or(UNKNOWN, |row| u32::try_from(row).unwrap_or(UNKNOWN))
    }

    /// Cuts callers off a stack that is deeper than the limit.
    fn within_depth<'i>(
        &self,
        location_ids: &'i [u64],
        offset: u64,
        tally: &mut CountedNotes,
    ) -> (&'i [u64], bool) {
        if location_ids.len().saturating_mul(self.most_lines) <= self.depth {
            return (location_ids, false);
        }
        let mut frames = 0_usize;
        let fits = location_ids.iter().take_while(|&&id| {
            let row = self.location_ids.row(id);
            let location = row.and_then(|row| self.columns.location.get(row));
            frames += location.map_or(1, |location| location.line.len().max(1));
            frames <= self.depth
        });
        let kept = fits.count();
        if kept < location_ids.len() {
            tally.add(Level::Damage, "limit_depth", offset, || {
                format!(
                    "a stack has more than {} frames, the outermost are cut off",
                    self.depth
                )
            });
        }
        let cut = kept < location_ids.len();
        (location_ids.get(..kept).unwrap_or(location_ids), cut)
    }

    /// Returns the frames of a location, the outermost first; there is at least one.
    #[inline]
    fn frames_of(
        &mut self,
        location: u32,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> &[FrameId] {
        let row = location as usize;
        let (mut from, mut count) = self.locations.get(row).copied().unwrap_or((0, 0));
        if count == 0 {
            from = row_number(self.frames.len());
            let mut frames = std::mem::take(&mut self.frames);
            self.lower_location(location, strings, model, tally, |model, frame| {
                frames.push(model.frame(frame));
            });
            self.frames = frames;
            count = row_number(self.frames.len() - from as usize);
            if let Some(entry) = self.locations.get_mut(row) {
                *entry = (from, count);
            }
        }
        let from = from as usize;
        subslice(&self.frames, from..from + count as usize)
    }

    /// Shows the frames of the location in a row to `see`, the outermost first; there is at least one.
    fn lower_location(
        &mut self,
        row: u32,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
        mut see: impl FnMut(&mut Tables, Frame),
    ) {
        let Some(location) = self.columns.location.get(row as usize) else {
            return see(model, Frame::default());
        };
        let mapping = match self.mapping_ids.row(location.mapping_id) {
            Some(row) => self.mappings.get(row).copied(),
            None => {
                if location.mapping_id != 0 {
                    tally.add(Level::Damage, "mapping_id", 0, || {
                        format!(
                            "mapping {} is referred to and does not exist",
                            location.mapping_id
                        )
                    });
                }
                None
            }
        };
        let address = Some(location.address).filter(|&address| address != 0);
        let lines = subslice(&self.columns.lines, location.line.clone());
        if lines.is_empty() {
            if address.is_none() {
                tally.add(Level::Warn, "empty_location", 0, || {
                    format!("location {} has neither address nor line", location.id)
                });
            }
            let frame = Frame {
                address,
                mapping,
                ..Frame::default()
            };
            see(model, frame);
        }
        for (inner, line) in lines.iter().enumerate().rev() {
            let function = self.function(line, strings, model, tally);
            let frame = Frame {
                function,
                line: line_number(line.line, tally),
                column: line_number(line.column, tally),
                address,
                mapping,
                inlined: inner + 1 < lines.len(),
                ..Frame::default()
            };
            see(model, frame);
        }
    }

    fn function(
        &mut self,
        line: &Line,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Option<FunctionId> {
        let Some(row) = self.function_ids.row(line.function_id) else {
            let id = line.function_id;
            if id == 0 {
                tally.add(Level::Warn, "no_function", 0, || {
                    "a line has no function".to_owned()
                });
            } else {
                tally.add(Level::Damage, "function_id", 0, || {
                    format!("function {id} is referred to and does not exist")
                });
            }
            return None;
        };
        if let Some(&Some(known)) = self.functions.get(row) {
            return known;
        }
        let function = self.columns.function.get(row)?;
        let name = strings.some(function.name, 0, model, tally);
        let system_name = strings.some(function.system_name, 0, model, tally);
        let file = strings.some(function.filename, 0, model, tally);
        let first_line = line_number(function.start_line, tally);
        let known = name.or(system_name).is_some() || file.is_some() || first_line != 0;
        let id = known.then(|| {
            let shown = name.or(system_name).unwrap_or_else(|| model.string(""));
            let function = Function {
                system_name: system_name.filter(|&system_name| system_name != shown),
                file,
                line: first_line,
                ..Function::named(shown)
            };
            match self.own {
                true => model.new_function(function),
                false => model.function(function),
            }
        });
        if let Some(entry) = self.functions.get_mut(row) {
            *entry = Some(id);
        }
        id
    }
}

/// Returns up to which id locations are numbered by their ids, of so many.
const fn small_ids(locations: usize) -> usize {
    locations.saturating_mul(2).saturating_add(16)
}

fn unknown_location(id: u64, offset: u64, tally: &mut CountedNotes) {
    tally.add(Level::Damage, "location_id", offset, || {
        format!("location {id} is referred to and does not exist")
    });
}

fn model_mapping(
    mapping: &super::columns::Mapping,
    strings: &mut ProfileStrings<'_>,
    model: &mut Tables,
    tally: &mut CountedNotes,
) -> MappingId {
    let file = strings.some(mapping.filename, 0, model, tally);
    let build_id = strings.some(mapping.build_id, 0, model, tally);
    model.mapping(Mapping {
        start: mapping.memory_start,
        limit: mapping.memory_limit,
        offset: mapping.file_offset,
        file,
        build_id,
    })
}

/// Brings a line or column into the model's range: 0 for negative ones, the largest for larger ones.
fn line_number(line: i64, tally: &mut CountedNotes) -> u32 {
    u32::try_from(line).unwrap_or_else(|_| {
        tally.add(Level::Warn, "line_out_of_range", 0, || {
            format!("line or column {line} is outside 32 bits")
        });
        if line < 0 { 0 } else { u32::MAX }
    })
}

#[cfg(test)]
mod tests {
    use traceloom_model::{Definitions, Flow, FrameId, FunctionId, Note, Recording, Sink};

    use super::*;
    use crate::pprof::{FORMAT, lower};
    use crate::protobuf::{put_bytes, put_number, put_packed};
    use crate::{LowerOptions, SliceSource};

    /// Keeps what is told of sites.
    #[derive(Default)]
    struct Told {
        tables: Recording,
        spots: Vec<(u32, Vec<Spot>)>,
    }

    impl Sink for Told {
        fn asks(&self) -> traceloom_model::Asks {
            traceloom_model::Asks {
                stacks: false,
                ..traceloom_model::Asks::default()
            }
        }

        fn define(&mut self, new: Definitions) -> Flow {
            self.tables.define(new)
        }

        fn paths(&mut self, batch: PathBatch) -> Flow {
            let told = batch.told().map(|(site, spots)| (site, spots.to_vec()));
            self.spots.extend(told);
            Flow::Continue(())
        }

        fn note(&mut self, note: Note) -> Flow {
            self.tables.note(note)
        }
    }

    #[test]
    fn sites_tell_functions_and_frames_only_where_there_is_none() {
        let numbers = |fields: &[(u32, u64)]| {
            let mut body = Vec::new();
            for &(number, value) in fields {
                put_number(&mut body, number, value);
            }
            body
        };
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, 1, &numbers(&[(1, 1), (2, 1)]));
        for text in ["", "cpu", "inner", "outer", "outer"] {
            put_bytes(&mut bytes, 6, text.as_bytes());
        }
        for (id, name) in [(1, 2), (2, 3), (3, 4)] {
            put_bytes(&mut bytes, 5, &numbers(&[(1, id), (2, name)]));
        }
        let lines: [&[u64]; 3] = [&[1, 2], &[], &[3]];
        for (id, functions) in (1..).zip(lines) {
            let mut location = numbers(&[(1, id), (3, 0x10 * id)]);
            for &function in functions {
                put_bytes(&mut location, 4, &numbers(&[(1, function), (2, 7)]));
            }
            put_bytes(&mut bytes, 4, &location);
        }
        let mut sample = Vec::new();
        put_packed(&mut sample, 1, [1, 2, 3, 9].into_iter());
        put_packed(&mut sample, 2, [1].into_iter());
        put_bytes(&mut bytes, 2, &sample);
        let source = SliceSource::default().with("x.pprof", &FORMAT, &bytes);
        let mut told = Told::default();
        lower::lower(&source, &LowerOptions::default(), &mut told).unwrap();
        let function = |row| Spot::Function(FunctionId::new(row));
        let frame = |row| Spot::Frame(FrameId::new(row));
        let unknown = 2 * 3 + 16 + 3;
        assert_eq!(
            told.spots,
            [
                (1, vec![function(1), function(0)]),
                (2, vec![frame(0)]),
                (3, vec![function(2)]),
                (unknown, vec![frame(1)]),
            ]
        );
        let names = (0..3).map(|row| told.tables.function_name(FunctionId::new(row)));
        assert_eq!(names.collect::<Vec<_>>(), ["outer", "inner", "outer"]);
        assert_eq!((told.tables.frames.len(), told.tables.stacks.len()), (2, 0));
        let notes = told.tables.notes.counts().map(|(_, kind, _)| kind);
        assert_eq!(notes.collect::<Vec<_>>(), ["location_id"]);
    }
}
