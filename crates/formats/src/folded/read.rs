//! Lines to records.

use traceloom_model::Limits;

use crate::text::lines::{self, Line, LineSplitter, canonical};
use crate::{Chunk, Field, Reader as Native, Record as NativeRecord, RecordSink, Step, damage};

/// Splits a line into the stack and the count after its last space; none without a count.
///
/// Counts are whole numbers. A fraction, as some scripts write them, is cut off by the caller.
pub(super) fn split_count(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_end();
    let at = line.iter().rposition(|&byte| byte == b' ' || byte == b'\t');
    let (stack, count) = match at {
        Some(at) => (line.get(..at)?, line.get(at + 1..)?),
        None => (&[][..], line),
    };
    let digits = count.strip_prefix(b"-").unwrap_or(count);
    let mut dots = 0;
    let number = digits.iter().all(|&byte| {
        dots += usize::from(byte == b'.');
        byte.is_ascii_digit() || byte == b'.'
    });
    (number && dots <= 1 && digits.first().is_some_and(u8::is_ascii_digit))
        .then_some((stack, count))
}

/// Returns `true` if what is before the count ends in a number of its own, and something is before that.
pub(super) fn compares(stack: &[u8]) -> bool {
    split_count(stack).is_some_and(|(stack, _)| !stack.is_empty())
}

/// One line of a folded file (SPEC.md §1).
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    offset: u64,
    content: LineContent<'a>,
    end: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
enum LineContent<'a> {
    Stack {
        stack: &'a [u8],
        count: i64,
    },
    /// A line of a comparison.
    Pair {
        stack: &'a [u8],
        before: &'a [u8],
        after: &'a [u8],
        line: &'a [u8],
    },
    /// The count is spelled in a way that its number does not tell.
    Spelled {
        stack: &'a [u8],
        count: &'a [u8],
        line: &'a [u8],
    },
    Comment(&'a [u8]),
    Blank(&'a [u8]),
}

impl<'a> Record<'a> {
    /// Takes a line apart, of a comparison with `pairs`; `None` when it has no count.
    fn new(line: &Line<'a>, pairs: bool) -> Option<Self> {
        let content = if line.text.trim_ascii().is_empty() {
            LineContent::Blank(line.text)
        } else if let Some((stack, after)) = split_count(line.text)
            && let Some((stack, before)) = split_count(stack).filter(|_| pairs)
        {
            LineContent::Pair {
                stack,
                before,
                after,
                line: line.text,
            }
        } else if let Some((stack, count)) = split_count(line.text) {
            let plain = stack.len() + count.len() + 1 == line.text.len()
                && line.text.get(stack.len()) == Some(&b' ');
            match canonical(count).filter(|_| plain) {
                Some(count) => LineContent::Stack { stack, count },
                None => LineContent::Spelled {
                    stack,
                    count,
                    line: line.text,
                },
            }
        } else if line.text.starts_with(b"#") {
            LineContent::Comment(line.text)
        } else {
            return None;
        };
        Some(Self {
            offset: line.offset,
            content,
            end: line.end,
        })
    }
}

impl NativeRecord for Record<'_> {
    fn kind(&self) -> &'static str {
        match self.content {
            LineContent::Stack { .. } | LineContent::Pair { .. } | LineContent::Spelled { .. } => {
                "stack"
            }
            LineContent::Comment(_) => "comment",
            LineContent::Blank(_) => "blank",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        let text = match self.content {
            LineContent::Stack { stack, count } => stack.len() + 1 + count.to_string().len(),
            LineContent::Pair { line, .. } | LineContent::Spelled { line, .. } => line.len(),
            LineContent::Comment(text) | LineContent::Blank(text) => text.len(),
        };
        (text + self.end.len()) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let frames = |stack: &[u8], show: &mut dyn FnMut(&str, Field<'_>)| {
            let frames: Vec<Field<'_>> = match stack {
                b"" => Vec::new(),
                stack => stack.split(|&byte| byte == b';').map(Field::Text).collect(),
            };
            show("frames", Field::List(&frames));
        };
        match self.content {
            LineContent::Stack { stack, count } => {
                frames(stack, show);
                show("count", Field::I64(count));
            }
            LineContent::Pair {
                stack,
                before,
                after,
                ..
            } => {
                frames(stack, show);
                for (name, count) in [("before", before), ("after", after)] {
                    let number = canonical(count).map_or(Field::Text(count), Field::I64);
                    show(name, number);
                }
            }
            LineContent::Spelled { stack, count, .. } => {
                frames(stack, show);
                show("count", Field::Text(count));
            }
            LineContent::Comment(text) => show("text", Field::Text(text)),
            LineContent::Blank(_) => {}
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self.content {
            LineContent::Stack { stack, count } => {
                out.extend_from_slice(stack);
                out.push(b' ');
                out.extend(count.to_string().bytes());
            }
            LineContent::Pair { line, .. } | LineContent::Spelled { line, .. } => {
                out.extend_from_slice(line);
            }
            LineContent::Comment(text) | LineContent::Blank(text) => out.extend_from_slice(text),
        }
        out.extend_from_slice(self.end);
    }
}

/// Reads folded stacks.
#[derive(Clone, Debug)]
pub struct Reader {
    lines: LineSplitter,
    /// Whether lines end in two numbers, as the first with a stack does.
    pairs: Option<bool>,
}

impl Reader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            lines: LineSplitter::new(limits),
            pairs: None,
        }
    }
}

/// The note about a line without a count.
pub(super) fn no_count(line: &Line<'_>) -> traceloom_model::Note {
    damage("no_count", line.offset, "a line does not end in a count").counting(line.len() as u64)
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let pairs = &mut self.pairs;
        lines::read(&mut self.lines, chunk, out, |line, out| {
            let known = pairs.or_else(|| split_count(line.text).map(|(stack, _)| compares(stack)));
            *pairs = known;
            match Record::new(line, known == Some(true)) {
                Some(record) => out.record(&record),
                None => lines::unread(line, no_count(line), out),
            }
        })
    }
}
