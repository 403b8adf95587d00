//! Frames of stack traces.

use traceloom_model::{Frame, FrameId, FrameKind, Tables};

use super::super::schema::{FieldEncoding, FieldSchema};
use super::super::value::DecodedValue;
use super::constants::Constants;

impl<'c> Constants<'c> {
    /// Returns the frames of a stack trace, innermost first as the recording has them; those before the
    /// damage when the array is broken.
    pub(super) fn frames(
        &mut self,
        field: &'c FieldSchema,
        cell: DecodedValue<'c>,
        tables: &mut Tables,
    ) -> Vec<FrameId> {
        let (
            DecodedValue::Array(mut scan),
            FieldEncoding::Struct(inner) | FieldEncoding::Ref(inner),
        ) = (cell, field.kind)
        else {
            return Vec::new();
        };
        let rules = self.rules;
        let parts: Vec<FrameField> = self
            .schema()
            .fields(inner)
            .iter()
            .map(FrameField::of)
            .collect();
        let mut frames = Vec::new();
        let mut cells = Vec::new();
        for _ in 0..rules.length(&mut scan, field.kind).unwrap_or(0) {
            if let FieldEncoding::Ref(_) = field.kind {
                let Ok(key) = scan.long() else { break };
                let Some(mut at) = self.find(inner, key) else {
                    continue;
                };
                if rules.cells(&mut at, inner, &mut cells).is_err() {
                    continue;
                }
            } else if rules.cells(&mut scan, inner, &mut cells).is_err() {
                break;
            }
            frames.push(self.frame(&parts, &cells, tables));
        }
        frames
    }

    fn frame(
        &mut self,
        parts: &[FrameField],
        cells: &[DecodedValue<'c>],
        tables: &mut Tables,
    ) -> FrameId {
        let mut raw = RawFrame::default();
        let mut kind = None;
        for (&part, &cell) in parts.iter().zip(cells) {
            match (part, cell) {
                (FrameField::Method(index), DecodedValue::Ref(key)) => {
                    raw.method = Some((index, key))
                }
                (FrameField::Line, DecodedValue::Int(line)) => raw.line = line,
                (FrameField::Code, DecodedValue::Int(index)) => raw.code = Some(index),
                (FrameField::KindOf(index), DecodedValue::Ref(key)) => {
                    raw.kind = Some((index, key))
                }
                (FrameField::Kind, DecodedValue::Str(string)) => {
                    kind = self.bytes(string).map(|kind| frame_kind(&kind));
                }
                _ => {}
            }
        }
        if let Some(kind) = kind {
            return self.build_frame(&raw, kind, tables);
        }
        if let Some(&known) = self.known_frames.get(&raw) {
            return known;
        }
        let kind = raw.kind.map_or(FrameKind::Unknown, |(index, key)| {
            let name = self.text(index, key, tables);
            name.map_or(FrameKind::Unknown, |name| {
                frame_kind(tables.string_bytes(name))
            })
        });
        let frame = self.build_frame(&raw, kind, tables);
        self.known_frames.insert(raw, frame);
        frame
    }

    fn build_frame(&mut self, raw: &RawFrame, kind: FrameKind, tables: &mut Tables) -> FrameId {
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

/// A frame as a recording has it: constants by the type and the key of their pool.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct RawFrame {
    method: Option<(usize, u64)>,
    line: i64,
    code: Option<i64>,
    kind: Option<(usize, u64)>,
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
