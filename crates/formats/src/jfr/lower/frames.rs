//! Frames of stack traces.

use traceloom_model::{Frame, FrameId, FrameKind, Tables};

use super::super::schema::{Field, Kind};
use super::super::value::Cell;
use super::constants::Constants;

impl<'c> Constants<'c> {
    /// Returns the frames of a stack trace, innermost first as the recording has them; those before the
    /// damage when the array is broken.
    pub(super) fn frames(
        &mut self,
        field: &'c Field,
        cell: Cell<'c>,
        tables: &mut Tables,
    ) -> Vec<FrameId> {
        let (Cell::Array(mut scan), Kind::Struct(inner) | Kind::Ref(inner)) = (cell, field.kind)
        else {
            return Vec::new();
        };
        let rules = self.rules;
        let parts: Vec<Part> = self.schema().fields(inner).iter().map(Part::of).collect();
        let mut frames = Vec::new();
        let mut cells = Vec::new();
        for _ in 0..rules.length(&mut scan, field.kind).unwrap_or(0) {
            if let Kind::Ref(_) = field.kind {
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

    fn frame(&mut self, parts: &[Part], cells: &[Cell<'c>], tables: &mut Tables) -> FrameId {
        let mut frame = Frame::default();
        let mut method = None;
        let mut code_index = None;
        for (&part, &cell) in parts.iter().zip(cells) {
            match (part, cell) {
                (Part::Method(index), Cell::Ref(key)) => method = Some((index, key)),
                (Part::Line, Cell::Int(line)) => frame.line = u32::try_from(line).unwrap_or(0),
                (Part::Code, Cell::Int(index)) => code_index = u64::try_from(index).ok(),
                (Part::KindOf(index), Cell::Ref(key)) => {
                    frame.kind = self.frame_kind(index, key, tables);
                }
                (Part::Kind, Cell::Str(string)) => {
                    let kind = self.bytes(string);
                    frame.kind = kind.map_or(FrameKind::Unknown, |kind| frame_kind(&kind));
                }
                _ => {}
            }
        }
        // In the JDK's recordings Native is a Java method without byte code: it has a class, not a library.
        let outside = match frame.kind {
            FrameKind::Cpp | FrameKind::Kernel => true,
            FrameKind::Native => {
                method.is_some_and(|(index, key)| self.is_symbol(index, key, tables))
            }
            _ => false,
        };
        frame.inlined = frame.kind == FrameKind::Inlined;
        if !outside {
            frame.address = code_index;
        }
        frame.function = method.and_then(|(index, key)| self.function(index, key, outside, tables));
        tables.frame(frame)
    }

    /// Tells whether a method is a symbol of a library: such ones have no descriptor of Java's.
    fn frame_kind(&mut self, index: usize, key: u64, tables: &mut Tables) -> FrameKind {
        if let Some(known) = self.kinds.get(index, key) {
            return known;
        }
        let name = self.text(index, key, tables);
        let kind = name.map_or(FrameKind::Unknown, |name| {
            frame_kind(tables.string_bytes(name))
        });
        self.kinds.insert(index, key, kind);
        kind
    }

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

/// What a field of a frame says.
#[derive(Clone, Copy)]
enum Part {
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

impl Part {
    fn of(field: &Field) -> Self {
        match (field.name.as_str(), field.kind) {
            ("method", Kind::Ref(index)) => Self::Method(index),
            ("lineNumber", _) => Self::Line,
            ("bytecodeIndex", _) => Self::Code,
            ("type", Kind::Ref(index)) => Self::KindOf(index),
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
