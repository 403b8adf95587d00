//! Code: classes, functions, mapped binaries, frames and stacks.

use crate::{ClassId, FrameId, FunctionId, MappingId, StackId, StringId};

/// A class of the traced program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Class {
    /// Qualified name with dots.
    pub name: StringId,
    /// Its superclass.
    pub superclass: Option<ClassId>,
    /// Its class loader, as the producer names it.
    pub loader: Option<StringId>,
    /// Source file.
    pub file: Option<StringId>,
}

/// A function or method. Everything but the name is what the producer happened to know.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Function {
    /// The name to show: for Java `package.Class.method`.
    pub name: StringId,
    /// The name as the producer wrote it, when it differs: mangled, or with types, file and jar.
    pub system_name: Option<StringId>,
    /// The class it belongs to.
    pub class: Option<ClassId>,
    /// Package, module or namespace.
    pub package: Option<StringId>,
    /// Jar, crate or shared object.
    pub library: Option<StringId>,
    /// Source file.
    pub file: Option<StringId>,
    /// First line, 0 when unknown.
    pub line: u32,
    /// Argument and return types, as the producer writes them.
    pub signature: Option<StringId>,
    /// Modifiers, JVM bits.
    pub modifiers: u32,
}

impl Function {
    /// A function of which only the name is known.
    #[must_use]
    pub const fn named(name: StringId) -> Self {
        Self {
            name,
            system_name: None,
            class: None,
            package: None,
            library: None,
            file: None,
            line: 0,
            signature: None,
            modifiers: 0,
        }
    }
}

/// A mapped binary.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub limit: u64,
    /// Offset of `start` in the file.
    pub offset: u64,
    /// File it was mapped from.
    pub file: Option<StringId>,
    /// Build id, as the producer writes it.
    pub build_id: Option<StringId>,
}

/// How a frame was executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum FrameKind {
    /// The producer does not say.
    #[default]
    Unknown,
    /// Interpreted byte code.
    Interpreted,
    /// Compiled by a first-tier just-in-time compiler.
    JitTier1,
    /// Compiled by the optimising just-in-time compiler.
    Jit,
    /// Inlined by a just-in-time compiler.
    Inlined,
    /// Native code.
    Native,
    /// C++ of a runtime.
    Cpp,
    /// Kernel.
    Kernel,
}

/// A function at a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Frame {
    /// The function, when it is known.
    pub function: Option<FunctionId>,
    /// Line, 0 when unknown.
    pub line: u32,
    /// Column, 0 when unknown.
    pub column: u32,
    /// Address, or byte code index where the producer has no addresses.
    pub address: Option<u64>,
    /// The binary that `address` lies in.
    pub mapping: Option<MappingId>,
    /// The caller's frame holds this one inline.
    pub inlined: bool,
    /// How it was executed.
    pub kind: FrameKind,
}

impl Frame {
    /// A frame of which only the function is known.
    #[must_use]
    pub fn of(function: FunctionId) -> Self {
        Self {
            function: Some(function),
            ..Self::default()
        }
    }
}

/// A frame and the stack that called it, as one row: stacks share their callers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stack {
    /// The calling stack; none for a root.
    pub parent: Option<StackId>,
    /// The innermost frame.
    pub frame: FrameId,
    /// The producer cut callers off this stack.
    pub truncated: bool,
}

impl Stack {
    /// A stack of which no callers were cut off.
    #[must_use]
    pub const fn under(parent: Option<StackId>, frame: FrameId) -> Self {
        Self {
            parent,
            frame,
            truncated: false,
        }
    }
}
