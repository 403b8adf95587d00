//! Frames of stack traces.

use traceloom_model::bounds::in_memory;
use traceloom_model::{Frame, FrameId, FrameKind, Tables};

use super::super::scan::Scan;
use super::super::schema::{FieldEncoding, FieldSchema, TypeSchemas};
use super::super::value::DecodedValue;
use super::super::words::short_integers;
use super::constants::Constants;
use super::kinds::KindTable;

/// How frames are read, and those that were met: most are in many stacks.
pub(super) struct FrameReading {
    /// The type of frames.
    type_index: usize,
    parts: Vec<FrameField>,
    /// How many compressed integers a frame consists of, if of nothing else.
    n_integers: Option<u32>,
    /// By their bytes.
    met: KindTable<FrameId>,
}

impl FrameReading {
    fn of(type_index: usize, schema: &TypeSchemas, is_compressed: bool) -> Self {
        let n_integers = schema.integers(FieldEncoding::Struct(type_index));
        let n_integers = n_integers.filter(|_| is_compressed);
        Self {
            type_index,
            parts: schema
                .fields(type_index)
                .iter()
                .map(FrameField::of)
                .collect(),
            n_integers: n_integers.and_then(|count| u32::try_from(count).ok()),
            met: KindTable::default(),
        }
    }

    /// Returns the frame at `at` of the chunk if it was met before, and where it ends.
    #[inline]
    fn known(&mut self, chunk: &[u8], at: usize) -> Option<(FrameId, usize)> {
        let (key, end) = short_integers(chunk, at, self.n_integers?)?;
        let known = self.met.find(&key)?;
        Some((*known, end))
    }

    /// Remembers the frame between two places of the chunk.
    fn meet(&mut self, chunk: &[u8], (from, end): (usize, usize), frame: FrameId) {
        if let Some(count) = self.n_integers
            && let Some((key, found)) = short_integers(chunk, from, count)
            && found == end
        {
            self.met.insert(&key, frame);
        }
    }
}

impl<'c> Constants<'c> {
    /// Returns the frames of a stack trace, whose elements are `field`'s, innermost first as the recording has them; those before
    /// the damage when the array is broken.
    pub(super) fn frames(
        &mut self,
        field: &'c FieldSchema,
        mut scan: Scan<'c>,
        tables: &mut Tables,
    ) -> Vec<FrameId> {
        let (FieldEncoding::Struct(inner) | FieldEncoding::Ref(inner)) = field.kind else {
            return Vec::new();
        };
        let rules = self.rules;
        let reading = self.frame_reading.take();
        let mut reading = reading
            .filter(|reading| reading.type_index == inner)
            .unwrap_or_else(|| Box::new(FrameReading::of(inner, rules.schema, scan.compressed)));
        let count = rules.length(&mut scan, field.kind).unwrap_or(0);
        let mut frames = Vec::with_capacity(in_memory(count).min(64));
        let mut cells = Vec::new();
        for _ in 0..count {
            let from = scan.at();
            if let FieldEncoding::Ref(_) = field.kind {
                let Ok(key) = scan.long() else { break };
                let Some(mut at) = self.find(inner, key) else {
                    continue;
                };
                if rules.cells(&mut at, inner, &mut cells).is_err() {
                    continue;
                }
            } else if let Some((known, end)) = reading.known(self.chunk, from) {
                frames.push(known);
                scan.seek(end);
                continue;
            } else if rules.cells(&mut scan, inner, &mut cells).is_err() {
                break;
            }
            let frame = self.frame(&reading.parts, &cells, tables);
            if let FieldEncoding::Struct(_) = field.kind {
                reading.meet(self.chunk, (from, scan.at()), frame);
            }
            frames.push(frame);
        }
        self.frame_reading = Some(reading);
        frames
    }

    fn frame(
        &mut self,
        parts: &[FrameField],
        cells: &[DecodedValue<'c>],
        tables: &mut Tables,
    ) -> FrameId {
        let mut raw = RawFrame::default();
        for (&part, &cell) in parts.iter().zip(cells) {
            match (part, cell) {
                (FrameField::Method(index), DecodedValue::Ref(key)) => {
                    raw.method = Some((index, key));
                }
                (FrameField::Line, DecodedValue::Int(line)) => raw.line = line,
                (FrameField::Code, DecodedValue::Int(index)) => raw.code = Some(index),
                (FrameField::KindOf(index), DecodedValue::Ref(key)) => {
                    raw.kind = self
                        .text(index, key, tables)
                        .map_or(FrameKind::Unknown, |name| {
                            frame_kind(tables.string_bytes(name))
                        });
                }
                (FrameField::Kind, DecodedValue::Str(string)) => {
                    let kind = self.bytes(string);
                    raw.kind = kind.map_or(FrameKind::Unknown, |kind| frame_kind(&kind));
                }
                _ => {}
            }
        }
        self.build_frame(&raw, tables)
    }

    fn build_frame(&mut self, raw: &RawFrame, tables: &mut Tables) -> FrameId {
        let kind = raw.kind;
        // In the JDK's recordings Native is a Java method without byte code: it has a class, not a library.
        let outside = match kind {
            FrameKind::Cpp | FrameKind::Kernel => true,
            FrameKind::Native => {
                let method = raw.method;
                method.is_some_and(|(index, key)| self.is_symbol(index, key, tables))
            }
            _ => false,
        };
        let code_index = raw.code.and_then(|index| u64::try_from(index).ok());
        let method = raw.method;
        let function = method.and_then(|(index, key)| self.function(index, key, outside, tables));
        tables.frame(Frame {
            function,
            line: u32::try_from(raw.line).unwrap_or(0),
            address: code_index.filter(|_| !outside),
            kind,
            inlined: kind == FrameKind::Inlined,
            ..Frame::default()
        })
    }

    /// Returns true if a method is a symbol of a library: such ones have no descriptor of Java's.
    fn is_symbol(&mut self, type_index: usize, key: u64, tables: &mut Tables) -> bool {
        if let Some(&known) = self.symbols.get(&key) {
            return known;
        }
        let descriptor = self.constant(type_index, key).and_then(|constant| {
            let (field, cell) = constant.get("descriptor")?;
            self.cell_text(field, cell, tables)
        });
        let text = descriptor.map_or(&[][..], |text| tables.string_bytes(text));
        // async-profiler writes the descriptor `()L;` for symbols, or none.
        let is_symbol = text.is_empty() || text == b"()L;";
        self.symbols.insert(key, is_symbol);
        is_symbol
    }
}

/// A frame as a recording has it, its method by the type and the key of its pool.
#[derive(Default)]
struct RawFrame {
    method: Option<(usize, u64)>,
    line: i64,
    code: Option<i64>,
    kind: FrameKind,
}

/// What a field of a frame says.
#[derive(Clone, Copy)]
enum FrameField {
    /// Its method, in the pool of this type.
    Method(usize),
    Line,
    /// The index into the method's byte code.
    Code,
    /// How it ran, in the pool of this type.
    KindOf(usize),
    /// How it ran.
    Kind,
    Other,
}

impl FrameField {
    fn of(field: &FieldSchema) -> Self {
        match (field.name.as_str(), field.kind) {
            ("method", FieldEncoding::Ref(index)) => Self::Method(index),
            ("lineNumber", _) => Self::Line,
            ("bytecodeIndex", _) => Self::Code,
            ("type", FieldEncoding::Ref(index)) => Self::KindOf(index),
            ("type", _) => Self::Kind,
            _ => Self::Other,
        }
    }
}

fn frame_kind(description: &[u8]) -> FrameKind {
    match description {
        b"Interpreted" => FrameKind::Interpreted,
        b"JIT compiled" => FrameKind::Jit,
        b"C1 compiled" => FrameKind::JitTier1,
        b"Inlined" => FrameKind::Inlined,
        b"Native" => FrameKind::Native,
        b"C++" => FrameKind::Cpp,
        b"Kernel" => FrameKind::Kernel,
        _ => FrameKind::Unknown,
    }
}
