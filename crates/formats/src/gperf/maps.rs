//! The memory map at the end of a profile: `/proc/self/maps`, or the shorter form of other tools
//! (SPEC.md §3).

use traceloom_model::bounds::subslice;
use traceloom_model::{Mapping, MappingId, Tables};

/// One mapped stretch of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct MappedRange {
    pub(super) start: u64,
    pub(super) limit: u64,
    pub(super) offset: u64,
    pub(super) permissions: Vec<u8>,
    pub(super) file: Vec<u8>,
    pub(super) build_id: Vec<u8>,
}

/// Splits the next word off.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace);
    text.split_at(end.unwrap_or(text.len()))
}

fn hex(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    if text.first() == Some(&b'+') {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

impl MappedRange {
    /// Takes a line apart; none when it is no mapping.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let (range, rest) = word(line);
        let (start, limit, rest) = match range.iter().position(|&byte| byte == b'-') {
            Some(at) => (hex(range.get(..at)?)?, range.get(at + 1..)?, rest),
            None => {
                let (limit, rest) = word(rest);
                (hex(range)?, limit, rest)
            }
        };
        let limit = hex(limit.strip_suffix(b":").unwrap_or(limit))?;
        let mut entry = Self {
            start,
            limit,
            ..Self::default()
        };
        let (first, after) = word(rest);
        let mut rest = rest;
        if !first.is_empty() && first.iter().all(|byte| b"-rwxps".contains(byte)) {
            entry.permissions = first.to_vec();
            rest = after;
        }
        if let Some(file) = entry.kernel_form(rest) {
            entry.file = file;
            return Some(entry);
        }
        let (file, rest) = word(rest);
        entry.file = file.to_vec();
        let (at, after) = word(rest);
        let mut rest = rest;
        if let Some(offset) = at.strip_prefix(b"(@").and_then(|at| at.strip_suffix(b")")) {
            entry.offset = hex(offset)?;
            rest = after;
        }
        let (build_id, _) = word(rest);
        if hex_digits(build_id) {
            entry.build_id = build_id.to_vec();
        }
        Some(entry)
    }

    /// Reads offset, device, inode and file, as the kernel writes them.
    fn kernel_form(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let (offset, rest) = word(text);
        let (device, rest) = word(rest);
        let (inode, rest) = word(rest);
        let colon = device.iter().position(|&byte| byte == b':')?;
        let fits = hex_digits(device.get(..colon)?)
            && hex_digits(device.get(colon + 1..)?)
            && !inode.is_empty()
            && inode.iter().all(u8::is_ascii_digit);
        self.offset = hex(offset).filter(|_| fits)?;
        let file = rest.trim_ascii();
        let file = file.strip_suffix(b"(deleted)").unwrap_or(file);
        Some(file.trim_ascii().to_vec())
    }

    fn executable(&self) -> bool {
        self.permissions.is_empty() || self.permissions.contains(&b'x')
    }

    /// Returns true if `next` goes on where this one ends, as two halves of one mapping do.
    fn goes_on(&self, next: &Self) -> bool {
        let same = |a: &[u8], b: &[u8]| a.is_empty() || b.is_empty() || a == b;
        let follows = self.offset == 0
            || next.offset == 0
            || self
                .offset
                .wrapping_add(self.limit.wrapping_sub(self.start))
                == next.offset;
        same(&self.file, &next.file)
            && same(&self.build_id, &next.build_id)
            && self.limit == next.start
            && follows
    }

    /// Returns true if this is the program and not a library or something of the kernel's.
    fn is_main(&self) -> bool {
        let library = self.file.ends_with(b".so")
            || self
                .file
                .windows(5)
                .any(|part| matches!(part, [b'.', b's', b'o', b'.' | b'_', b'0'..=b'9']));
        !self.file.is_empty() && !self.file.starts_with(b"[") && !library
    }
}

fn hex_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit)
}

/// The mappings of a profile, and which of them an address lies in.
#[derive(Debug, Default)]
pub(super) struct Maps {
    entries: Vec<MappedRange>,
    /// `$name` and what it stands for.
    names: Vec<(Vec<u8>, Vec<u8>)>,
    order: Vec<usize>,
    ids: Vec<MappingId>,
}

impl Maps {
    /// Takes a line of the map; others are passed over.
    pub(super) fn line(&mut self, line: &[u8]) {
        let mut text = line.to_vec();
        for (name, value) in &self.names {
            text = replaced(&text, name, value);
        }
        if let Some(entry) = MappedRange::parse(&text) {
            if entry.executable() {
                self.push(entry);
            }
        } else if let Some(at) = text.iter().position(|&byte| byte == b'=') {
            let (name, value) = text.split_at(at);
            let mut key = b"$".to_vec();
            key.extend_from_slice(name.trim_ascii());
            let value = subslice(value, 1..).trim_ascii();
            if key.len() > 1 && self.names.len() < 64 {
                self.names.push((key, value.to_vec()));
            }
        }
    }

    pub(super) fn push(&mut self, entry: MappedRange) {
        match self.entries.last_mut() {
            Some(last) if last.goes_on(&entry) => {
                last.limit = entry.limit;
                if !entry.file.is_empty() {
                    last.file = entry.file;
                }
                if !entry.build_id.is_empty() {
                    last.build_id = entry.build_id;
                }
            }
            _ => self.entries.push(entry),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts the program first, as readers of profiles expect it, and gives every mapping an id.
    pub(super) fn define(&mut self, model: &mut Tables) {
        if let Some(main) = self.entries.iter().position(MappedRange::is_main) {
            self.entries.swap(0, main);
        }
        // Huge pages laid over the beginning of the program hide it.
        if let [first, second, ..] = self.entries.as_slice()
            && first.file.starts_with(b"/anon_hugepage")
            && first.limit == second.start
        {
            self.entries.remove(0);
        }
        if let Some(first) = self.entries.first_mut()
            && first.start.wrapping_sub(first.offset) == 0x40_0000
        {
            first.start = 0x40_0000;
            first.offset = 0;
        }
        self.order = (0..self.entries.len()).collect();
        self.order
            .sort_by_key(|&at| self.entries.get(at).map_or(0, |entry| entry.start));
        for entry in &self.entries {
            let text =
                |text: &[u8], model: &mut Tables| (!text.is_empty()).then(|| model.bytes(text));
            let file = text(&entry.file, model);
            let build_id = text(&entry.build_id, model);
            self.ids.push(model.mapping(Mapping {
                start: entry.start,
                limit: entry.limit,
                offset: entry.offset,
                file,
                build_id,
            }));
        }
    }

    /// Returns the mapping an address lies in.
    pub(super) fn find(&self, address: u64) -> Option<MappingId> {
        let entry = |at: &usize| self.entries.get(*at);
        let after = self
            .order
            .partition_point(|at| entry(at).is_some_and(|entry| entry.start <= address));
        let at = *self.order.get(after.checked_sub(1)?)?;
        let inside = entry(&at).is_some_and(|entry| address < entry.limit);
        self.ids.get(at).copied().filter(|_| inside)
    }
}

fn replaced(text: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(name.len()).position(|part| part == name) {
        let (before, after) = rest.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(value);
        rest = subslice(after, name.len()..);
    }
    out.extend_from_slice(rest);
    out
}
