//! What producers put into the text of a frame (SPEC.md §2).

use traceloom_model::FrameKind;

/// The text of a frame, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameParts<'a> {
    /// The function with the mark of its kind.
    pub(super) name: &'a [u8],
    pub(super) file: Option<&'a [u8]>,
    pub(super) line: u32,
    pub(super) kind: FrameKind,
    pub(super) inlined: bool,
}

/// Takes a frame apart: `func (file:line)` as py-spy writes it, marks as async-profiler and perf's
/// stack collapsers write them.
pub(super) fn parts(text: &[u8]) -> FrameParts<'_> {
    let (name, file, line) = match place(text) {
        Some((name, file, line)) => (name, Some(file), line),
        None => (text, None, 0),
    };
    let kind = match name.last_chunk::<4>() {
        Some(b"_[k]") => FrameKind::Kernel,
        Some(b"_[j]") => FrameKind::Jit,
        Some(b"_[i]") => FrameKind::Inlined,
        Some(b"_[0]") => FrameKind::Interpreted,
        Some(b"_[1]") => FrameKind::JitTier1,
        _ => FrameKind::Unknown,
    };
    FrameParts {
        name,
        file,
        line,
        kind,
        inlined: kind == FrameKind::Inlined,
    }
}

/// Splits the last ` (file:line)` or ` (file)` off; the latter only where the file is one of Python's,
/// because C++ names end in brackets too.
fn place(text: &[u8]) -> Option<(&[u8], &[u8], u32)> {
    let inner = text.strip_suffix(b")")?;
    let at = inner.windows(2).rposition(|pair| pair == b" (")?;
    let (name, place) = (inner.get(..at)?, inner.get(at + 2..)?);
    if name.is_empty() || place.is_empty() {
        return None;
    }
    if let Some(colon) = place.iter().rposition(|&byte| byte == b':') {
        let (file, line) = (place.get(..colon)?, place.get(colon + 1..)?);
        let line = std::str::from_utf8(line).ok()?;
        if !file.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some((name, file, line.parse().ok()?));
        }
    }
    let python = [&b".py"[..], b".pyx", b".pyc", b".so"];
    let python = python.iter().any(|suffix| place.ends_with(suffix))
        || place.windows(4).any(|part| part == b".so.");
    python.then_some((name, place, 0))
}

/// A leading frame that is no function: it names the process or thread the stack is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner<'a> {
    /// py-spy: `process 12:"python app.py"`.
    Process { pid: u64, command: &'a [u8] },
    /// py-spy: `thread (0x7F12)`, `thread (12): name`; async-profiler: `[name tid=12]`.
    Thread {
        name: Option<&'a [u8]>,
        os_id: Option<u64>,
        id: Option<u64>,
    },
}

/// Returns the owner that a leading frame names, if it names one.
pub(super) fn owner(text: &[u8]) -> Option<Owner<'_>> {
    if let Some(rest) = text.strip_prefix(b"process ") {
        let colon = rest.iter().position(|&byte| byte == b':')?;
        let pid = decimal(rest.get(..colon)?)?;
        let command = rest.get(colon + 1..)?;
        let command = command.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        return Some(Owner::Process { pid, command });
    }
    if let Some(rest) = text.strip_prefix(b"thread (") {
        let close = rest.iter().position(|&byte| byte == b')')?;
        let (number, tail) = (rest.get(..close)?, rest.get(close + 1..)?);
        let (os_id, id) = match number.strip_prefix(b"0x") {
            Some(hex) => (None, Some(hexadecimal(hex)?)),
            None => (Some(decimal(number)?), None),
        };
        let name = match tail {
            b"" => None,
            tail => Some(tail.strip_prefix(b": ")?),
        };
        return Some(Owner::Thread { name, os_id, id });
    }
    let inner = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let at = inner.windows(4).rposition(|part| part == b"tid=")?;
    let os_id = Some(decimal(inner.get(at + 4..)?)?);
    let name = match inner.get(..at)? {
        b"" => None,
        before => Some(before.strip_suffix(b" ")?),
    };
    Some(Owner::Thread {
        name,
        os_id,
        id: None,
    })
}

fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}
