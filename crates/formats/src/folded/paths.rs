//! The paths that are written, each once: stacks that differ in lines or addresses are one.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{FrameId, Recording, StackId};

use crate::text::label;

/// The numbers of a line; most files have one, comparisons two.
pub(super) type Sum = [i64; 2];

/// Children of a path that are looked through; further ones are hashed.
const FEW: usize = 8;

/// Paths by the text of their frames, in the order of their first use. Numbers count from 1, and 0 is none.
pub(super) struct Paths<'r> {
    tables: &'r Recording,
    /// Whether the texts of frames have their file and line.
    lines: bool,
    nodes: Vec<StackPath>,
    /// Nodes by the one above and the text, those of no caller and those of callers that have many.
    known: HashMap<(u32, u32), u32, RandomState>,
    texts: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, u32, RandomState>,
    /// Texts, by frame.
    of_frame: Vec<u32>,
    /// Nodes, by stack.
    of_stack: Vec<u32>,
    missing: Vec<StackId>,
    sums: Vec<Option<Sum>>,
}

/// A path. Where stacks are all different there is one for each of their frames, so that it is small.
struct StackPath {
    above: u32,
    /// Frames above it.
    depth: u32,
    text: u32,
    /// The last of its first few children, and the child of the one above that came before it.
    below: u32,
    before: u32,
    /// Its place among the sums.
    sum: u32,
}

/// Returns the row of a number.
#[inline]
fn row<T>(rows: &[T], number: u32) -> Option<&T> {
    rows.get((number as usize).checked_sub(1)?)
}

/// Returns a place of a table, which there is from then on.
fn slot(table: &mut Vec<u32>, at: usize) -> Option<&mut u32> {
    if table.len() <= at {
        table.resize(at + 1, 0);
    }
    table.get_mut(at)
}

impl<'r> Paths<'r> {
    pub fn new(tables: &'r Recording, lines: bool) -> Self {
        Self {
            tables,
            lines,
            nodes: Vec::with_capacity(tables.stacks.len()),
            known: HashMap::default(),
            texts: Vec::new(),
            numbers: HashMap::default(),
            of_frame: vec![0; tables.frames.len()],
            of_stack: vec![0; tables.stacks.len()],
            missing: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Returns the sum of the path of a stack. Callers have smaller ids, so that a loop ends.
    pub fn of_stack(&mut self, stack: StackId) -> Option<&mut Option<Sum>> {
        let mut above = 0;
        let mut next = Some(stack);
        while let Some(id) = next {
            if let Some(&known @ 1..) = self.of_stack.get(id.index()) {
                above = known;
                break;
            }
            self.missing.push(id);
            let parent = self.tables.stack(id).and_then(|row| row.parent);
            next = parent.filter(|&parent| parent < id);
        }
        while let Some(id) = self.missing.pop() {
            let text = match self.tables.stack(id) {
                Some(row) => self.frame(row.frame),
                None => self.text(format!("#{}", id.raw()).as_bytes()),
            };
            above = self.node(above, text);
            if let Some(slot) = slot(&mut self.of_stack, id.index()) {
                *slot = above;
            }
        }
        let node = self.nodes.get_mut((above as usize).checked_sub(1)?)?;
        if node.sum == 0 {
            self.sums.push(None);
            node.sum = row_number(self.sums.len());
        }
        self.sums.get_mut((node.sum as usize).checked_sub(1)?)
    }

    fn node(&mut self, above: u32, text: u32) -> u32 {
        let next = row_number(self.nodes.len() + 1);
        let caller = row(&self.nodes, above);
        let (depth, last) = caller.map_or((0, 0), |row| (row.depth.saturating_add(1), row.below));
        let mut before = last;
        let mut few = 0;
        while let Some(node) = row(&self.nodes, before) {
            if node.text == text {
                return before;
            }
            before = node.before;
            few += 1;
        }
        let listed = above > 0 && few < FEW;
        if !listed {
            let known = *self.known.entry((above, text)).or_insert(next);
            if known != next {
                return known;
            }
        }
        self.nodes.push(StackPath {
            above,
            depth,
            text,
            below: 0,
            before: if listed { last } else { 0 },
            sum: 0,
        });
        let caller = (above as usize).checked_sub(1);
        if let Some(caller) = caller
            .filter(|_| listed)
            .and_then(|at| self.nodes.get_mut(at))
        {
            caller.below = next;
        }
        next
    }

    fn text(&mut self, text: &[u8]) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        self.texts.push(text.into());
        let number = row_number(self.texts.len());
        self.numbers.insert(text.into(), number);
        number
    }

    fn frame(&mut self, id: FrameId) -> u32 {
        if let Some(&known @ 1..) = self.of_frame.get(id.index()) {
            return known;
        }
        let text = frame_text(self.tables, id, self.lines);
        let number = self.text(&text);
        if let Some(slot) = slot(&mut self.of_frame, id.index()) {
            *slot = number;
        }
        number
    }

    /// Shows the line and the sum of every path that has one.
    ///
    /// Paths follow those that they share their beginning with, so that a line is made of the one before.
    pub fn each(&self, mut show: impl FnMut(&[u8], Sum)) {
        let mut line = Vec::new();
        // The nodes of the line, outermost first, and where the text of each ends.
        let mut open: Vec<(u32, usize)> = Vec::new();
        let mut missing: Vec<(u32, u32)> = Vec::new();
        for (number, node) in (1..).zip(&self.nodes) {
            let Some(&Some(value)) = row(&self.sums, node.sum) else {
                continue;
            };
            let mut shared = 0;
            let mut next = number;
            while let Some(node) = row(&self.nodes, next) {
                let depth = node.depth as usize;
                if open.get(depth).is_some_and(|&(known, _)| known == next) {
                    shared = depth + 1;
                    break;
                }
                missing.push((next, node.text));
                next = node.above;
            }
            open.truncate(shared);
            line.truncate(open.last().map_or(0, |&(_, end)| end));
            while let Some((number, text)) = missing.pop() {
                if !line.is_empty() {
                    line.push(b';');
                }
                line.extend_from_slice(row(&self.texts, text).map_or(&[], |text| text));
                open.push((number, line.len()));
            }
            show(&line, value);
        }
    }
}

fn frame_text(tables: &Recording, id: FrameId, lines: bool) -> Vec<u8> {
    let Some(frame) = tables.frame(id) else {
        return format!("#{}", id.raw()).into_bytes();
    };
    let Some(function) = frame.function else {
        return clean(label::frame(tables, id));
    };
    let mut text = clean(label::function(tables, Some(function)));
    let file = tables.function(function).and_then(|row| row.file);
    if let (true, Some(file)) = (lines, file) {
        text.extend(b" (");
        text.extend(clean(label::text(tables, file)));
        if frame.line != 0 {
            text.extend(format!(":{}", frame.line).bytes());
        }
        text.push(b')');
    }
    text
}

/// What separates frames and lines becomes something that does not, and other control characters their escapes: they
/// would act on a terminal, and readers take a file with them for binary.
fn clean(text: Vec<u8>) -> Vec<u8> {
    if !text
        .iter()
        .any(|byte| *byte == b';' || byte.is_ascii_control())
    {
        return text;
    }
    let mut cleaned = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b';' => cleaned.push(b':'),
            b'\n' | b'\r' | b'\t' => cleaned.push(b' '),
            byte if byte.is_ascii_control() => {
                cleaned.extend(format!("\\u{{{byte:x}}}").bytes());
            }
            byte => cleaned.push(byte),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{Frame, Function, Sink, Stack, Tables};

    #[test]
    fn stacks_that_say_the_same_are_one_path_below_callers_of_few_and_of_many() {
        let mut tables = Tables::new();
        let frame = |tables: &mut Tables, name: &str, line| {
            let name = tables.string(name);
            let function = tables.function(Function::named(name));
            tables.frame(Frame {
                line,
                ..Frame::of(function)
            })
        };
        let mut stacks = Vec::new();
        for line in [1, 2] {
            let root = frame(&mut tables, "main", line);
            let root = tables.stack(Stack::under(None, root));
            for at in 0..20 {
                let work = frame(&mut tables, &format!("work{at}"), line);
                let work = tables.stack(Stack::under(Some(root), work));
                let leaf = frame(&mut tables, "leaf", line);
                stacks.push(tables.stack(Stack::under(Some(work), leaf)));
                stacks.push(work);
            }
        }
        let mut recording = Recording::default();
        assert!(recording.define(tables.take_definitions()).is_continue());
        let mut paths = Paths::new(&recording, false);
        for (value, &stack) in (1..).zip(&stacks) {
            let sum = paths.of_stack(stack).unwrap();
            *sum = Some([sum.unwrap_or_default()[0] + value, 0]);
        }
        let mut lines = Vec::new();
        paths.each(|line, [value, _]| {
            lines.push((String::from_utf8(line.to_vec()).unwrap(), value));
        });
        let expected = (0..20).flat_map(|at| {
            let (leaf, work) = (2 * at + 1, 2 * at + 2);
            [
                (format!("main;work{at}"), work + work + 40),
                (format!("main;work{at};leaf"), leaf + leaf + 40),
            ]
        });
        assert_eq!(lines, expected.collect::<Vec<_>>());
    }
}
