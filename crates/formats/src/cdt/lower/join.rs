//! Roots and rows: what a call's row adds to its tree, and what each of them is alone (§5, §6.5).

use std::collections::BTreeMap;

use traceloom_model::bounds::row_number;
use traceloom_model::{
    Attribute, Note, Origin, PartId, SpanId, SpanRow, SpanStatus, Tables, Track, TrackId,
};

use super::calls::{CounterTypes, TextLimits, params};
use super::output::{Broken, Output};
use super::part_id;
use super::rows::{BufferedRow, CallPosition};
use super::walk::{Depth, Halt, Root, Scratch, TraceThread, TracksByThread, Walk};
use super::words::Dictionary;
use crate::cdt::calls::Row;
use crate::cdt::text::ns;
use crate::wire::Utf16;

impl Walk<'_, '_, '_> {
    /// Ends a root call: joins it with its row.
    pub(super) fn end(&mut self, at: usize, end: i64, status: SpanStatus) -> Result<(), Halt> {
        let Some(root) = self
            .threads
            .get_mut(at)
            .and_then(|thread| thread.root.take())
        else {
            return Ok(());
        };
        let expected = status == SpanStatus::Complete && (root.enters > 1 || end - root.start > 20);
        let now = (self.file, self.here);
        let threads = &self.threads;
        let is_past = |key: CallPosition| {
            let open =
                |thread: &TraceThread| thread.root.as_ref().is_some_and(|root| root.key == key);
            (key.file, key.block) < now && !threads.iter().any(open)
        };
        let held = self
            .rows
            .take(root.key, expected && self.has_rows, &is_past)?;
        if held.is_none() && expected && self.has_rows && self.bare.len() < 1 << 20 {
            self.bare.insert(root.key);
        }
        let mut status = status;
        self.scratch.attributes.clear();
        self.scratch.numbers.clear();
        if let Some(held) = &held {
            self.name(at, held);
            self.agree(held, &root, end, status)?;
        }
        let wanted = self.depth.keeps_tags();
        let details = self.out.sink.wants_details(ns(root.start), Some(ns(end)));
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        let frame = thread.frames.pop();
        thread.frames.clear();
        let first = frame.as_ref().map_or(0, |frame| frame.tags);
        if !details && self.depth == Depth::Roots {
            thread.tags.clear();
            thread.texts.clear();
        }
        thread.texts.put(&mut thread.tags, &mut self.out.tables);
        let own: Vec<Attribute> = thread.tags.drain(..).skip(first).collect();
        let (track, is_open) = (thread.track, thread.depth > 0);
        let limits = self.rows.limits();
        let row = held
            .as_ref()
            .filter(|_| wanted)
            .and_then(|held| held.row(&limits).map(|row| (held, row)));
        if let Some((held, row)) = row {
            if details {
                self.counters
                    .of(&row, held.version(), &mut self.scratch.numbers);
            }
            let texts = match self.depth {
                Depth::Roots | Depth::Steps { .. } if own.is_empty() => TextLimits::Passing,
                _ => TextLimits::Shared,
            };
            let is_red = params(
                &row,
                (held.part, held.offset),
                self.words,
                &mut self.out.tables,
                details.then_some(texts),
                &mut self.scratch.attributes,
            );
            if is_red && status == SpanStatus::Complete {
                status = SpanStatus::Error;
            }
        }
        if root.red && status == SpanStatus::Complete {
            status = SpanStatus::Error;
        }
        // Values that the agent copied to the row are in the tree already.
        self.scratch.attributes.retain(|param| {
            let same = |tag: &Attribute| tag.key == param.key && tag.value == param.value;
            !own.iter().any(same)
        });
        self.scratch.attributes.extend(own);
        if wanted {
            let id = frame.map_or_else(|| self.out.tables.reserve_span(), |frame| frame.id);
            if self.depth.has_steps() {
                let row = row_number(self.out.spans.len());
                let steps = &mut self.out.steps;
                if is_open {
                    steps.open.push((track, row));
                } else {
                    let exit = steps.len().saturating_sub(1);
                    steps.calls.push((row_number(exit), row));
                }
            }
            self.root(at, id, &root, end, status)?;
        }
        if let Some(only) = self.only {
            self.done = root.key == only;
        }
        Ok(())
    }

    pub(super) fn root(
        &mut self,
        at: usize,
        id: SpanId,
        root: &Root,
        end: i64,
        status: SpanStatus,
    ) -> Result<(), Halt> {
        let Some(thread) = self.threads.get(at) else {
            return Ok(());
        };
        let function = self.words.function(root.method, &mut self.out.tables);
        let row = SpanRow {
            attributes: &self.scratch.attributes,
            counters: &self.scratch.numbers,
            status,
            origin: Some(Origin {
                part: PartId(root.part),
                offset: u64::from(root.key.block),
                index: root.key.index,
            }),
            ..SpanRow::call(id, thread.track, function, ns(root.start), ns(end))
        };
        Ok(self.out.span(&row)?)
    }

    /// Compares a row with its tree.
    pub(super) fn agree(
        &mut self,
        held: &BufferedRow,
        root: &Root,
        end: i64,
        status: SpanStatus,
    ) -> Result<(), Halt> {
        let mut differs = Vec::new();
        if held.method != root.method {
            differs.push("method");
        }
        if held.dated && held.time != root.start {
            differs.push("time");
        }
        if status == SpanStatus::Complete {
            if held.calls != root.enters {
                differs.push("calls");
            }
            if i64::from(held.duration) != end - root.start {
                differs.push("duration");
            }
        }
        if differs.is_empty() {
            return Ok(());
        }
        let text = format!(
            "the row of a call and its tree at {:#x} disagree about {}",
            root.key.block,
            differs.join(", ")
        );
        Ok(self.out.note(Note {
            part: PartId(held.part),
            ..crate::warn("row_disagrees", held.offset, text)
        })?)
    }

    /// Names a thread by a row that points into it.
    pub(super) fn name(&mut self, at: usize, held: &BufferedRow) {
        let Some(thread) = self.threads.get_mut(at) else {
            return;
        };
        if thread.named {
            return;
        }
        if let Some((number, text)) = held.thread.and_then(|n| Some((n, self.rows.thread(n)?))) {
            let name = text.to_wtf8();
            thread.named = true;
            self.tracks.by_name.insert(Some(number), thread.track);
            self.rename(at, &name);
        }
    }

    pub(super) fn rename(&mut self, at: usize, name: &[u8]) {
        let Some(thread) = self.threads.get(at) else {
            return;
        };
        let row = Track {
            resource: self.tracks.resource,
            name: Some(self.out.tables.bytes(name)),
            id: u64::try_from(thread.id).ok(),
            ..Track::default()
        };
        self.out.tables.redefine_track(thread.track, row);
    }

    /// Emits what is still open, and the rows that no tree asked for.
    pub(super) fn finish(&mut self, files: &[u32]) -> Result<(), Halt> {
        for at in 0..self.threads.len() {
            // Trees of steps are left open: their sink ends them.
            match self.depth.has_steps() {
                true => self.leave_open(at)?,
                false => self.abandon(at)?,
            }
        }
        if self.only.is_some() {
            return Ok(());
        }
        let mut absent: Vec<u32> = Vec::new();
        loop {
            let rows = self.rows.leftover()?;
            self.repeated(!files.is_empty())?;
            let mut notes = std::mem::take(&mut self.rows.notes);
            self.out.notes(&mut notes)?;
            if rows.is_empty() {
                return Ok(());
            }
            for held in rows {
                self.treeless(&held, files, &mut absent)?;
            }
        }
    }

    /// Pushes the row of a call whose steps stay open, behind those of the spans inside it.
    fn leave_open(&mut self, at: usize) -> Result<(), Halt> {
        let Some(thread) = self.threads.get(at).filter(|thread| thread.depth > 0) else {
            return Ok(());
        };
        let (last, depth) = (thread.last, thread.depth);
        for _ in 1..depth {
            self.close(at, last, SpanStatus::PartialEnd)?;
        }
        self.end(at, last, SpanStatus::PartialEnd)
    }

    pub(super) fn treeless(
        &mut self,
        held: &BufferedRow,
        files: &[u32],
        absent: &mut Vec<u32>,
    ) -> Result<(), Halt> {
        let key = held.key;
        let place = |note: Note| Note {
            part: PartId(held.part),
            ..note
        };
        if self.bare.remove(&key) {
            let text = "a row comes far from its tree; the tree was read without it";
            self.out
                .note(place(crate::warn("late_row", held.offset, text)))?;
            return Ok(());
        }
        if !files.contains(&key.file) {
            if !files.is_empty() && !absent.contains(&key.file) && absent.len() < 1000 {
                absent.push(key.file);
                let text = format!(
                    "trace file {} is missing: its calls have no trees",
                    key.file
                );
                self.out
                    .note(place(crate::warn("missing_trace", held.offset, text)))?;
            }
        } else {
            let text = format!(
                "no tree begins at event {} of block {:#x} in trace file {}",
                key.index, key.block, key.file
            );
            self.out
                .note(place(crate::warn("row_without_tree", held.offset, text)))?;
        }
        self.row(held)
    }

    /// Emits the calls whose rows name the same event as a row before them; one of both is damaged.
    pub(super) fn repeated(&mut self, noted: bool) -> Result<(), Halt> {
        if self.only.is_some() {
            return Ok(());
        }
        for held in std::mem::take(&mut self.rows.repeated) {
            if noted {
                let text =
                    "a row names the event of a row before it; the call is told without a tree";
                let note = crate::warn("repeated_row", held.offset, text);
                self.out.note(Note {
                    part: PartId(held.part),
                    ..note
                })?;
            }
            self.row(&held)?;
        }
        Ok(())
    }

    /// Emits a call of which only the row is there.
    fn row(&mut self, held: &BufferedRow) -> Result<(), Halt> {
        let limits = self.rows.limits();
        let Some(row) = held.row(&limits) else {
            return Ok(());
        };
        let name = held.thread.and_then(|number| self.rows.thread(number));
        let track = self.tracks.named(held.thread, name, &mut self.out.tables);
        let call = Alone {
            row: &row,
            place: (held.part, held.offset),
            version: held.version(),
            time: held.time,
            track,
            origin: None,
        };
        Ok(call.push(self.out, self.words, self.counters, &mut self.scratch)?)
    }

    /// Emits the calls of all rows without looking at their trees; `parts` says where those are.
    pub(super) fn rows_alone(&mut self, parts: &BTreeMap<u32, usize>) -> Result<(), Halt> {
        loop {
            let (out, words, scratch) = (&mut *self.out, &mut *self.words, &mut self.scratch);
            let (counters, tracks) = (self.counters, &mut self.tracks);
            let mut broken = false;
            let shown = self.rows.pass(&mut |seen| {
                if broken {
                    return;
                }
                let part = parts.get(&seen.key.file).copied();
                let call = Alone {
                    row: &seen.row,
                    place: (seen.part, seen.offset),
                    version: seen.version,
                    time: seen.time,
                    track: tracks.named(seen.thread, seen.name, &mut out.tables),
                    origin: part.map(|part| Origin {
                        part: part_id(part),
                        offset: u64::from(seen.key.block),
                        index: seen.key.index,
                    }),
                };
                broken = call.push(out, words, counters, scratch).is_err();
            })?;
            let mut notes = std::mem::take(&mut self.rows.notes);
            self.out.notes(&mut notes)?;
            if shown == 0 {
                return Ok(());
            }
        }
    }
}

/// A call of which only the row is looked at.
struct Alone<'a> {
    row: &'a Row<'a>,
    /// Part and offset of the row.
    place: (u32, u64),
    version: u8,
    time: i64,
    track: TrackId,
    origin: Option<Origin>,
}

impl Alone<'_> {
    fn push(
        &self,
        out: &mut Output<'_>,
        words: &mut Dictionary,
        counters: &CounterTypes,
        scratch: &mut Scratch,
    ) -> Result<(), Broken> {
        let Scratch {
            numbers,
            attributes,
        } = scratch;
        let start = ns(self.time);
        let end = ns(self.time.saturating_add(i64::from(self.row.duration)));
        let details = out.sink.wants_details(start, Some(end));
        attributes.clear();
        numbers.clear();
        if details {
            counters.of(self.row, self.version, numbers);
        }
        let is_red = params(
            self.row,
            self.place,
            words,
            &mut out.tables,
            details.then_some(TextLimits::Passing),
            attributes,
        );
        words.used(self.row.method, self.place.0, self.place.1);
        let function = words.function(self.row.method, &mut out.tables);
        let id = out.tables.reserve_span();
        out.span(&SpanRow {
            attributes,
            counters: numbers,
            status: match is_red {
                true => SpanStatus::Error,
                false => SpanStatus::Complete,
            },
            origin: self.origin,
            ..SpanRow::call(id, self.track, function, start, end)
        })
    }
}

impl TracksByThread {
    /// Returns the track of a thread known by name.
    fn named(
        &mut self,
        number: Option<u32>,
        name: Option<Utf16<'_>>,
        tables: &mut Tables,
    ) -> TrackId {
        if let Some(&track) = self.by_name.get(&number) {
            return track;
        }
        let name = name.map_or_else(|| b"unknown".to_vec(), Utf16::to_wtf8);
        let name = Some(tables.bytes(&name));
        let track = tables.new_track(Track {
            resource: self.resource,
            name,
            ..Track::default()
        });
        self.by_name.insert(number, track);
        track
    }
}
