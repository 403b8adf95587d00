//! The numbers of a heap profile: its first line and the start of its samples (SPEC.md §2).

/// The four numbers that header and samples have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct AllocationCounts {
    pub(super) in_use_objects: i64,
    pub(super) in_use_bytes: i64,
    pub(super) alloc_objects: i64,
    pub(super) alloc_bytes: i64,
}

impl AllocationCounts {
    /// Reads `N: N [N: N]` and returns what follows.
    pub(super) fn parse(text: &[u8]) -> Option<(Self, &[u8])> {
        let (in_use_objects, rest) = number(text)?;
        let (in_use_bytes, rest) = number(mark(rest, b':')?)?;
        let (alloc_objects, rest) = number(mark(rest, b'[')?)?;
        let (alloc_bytes, rest) = number(mark(rest, b':')?)?;
        let counts = Self {
            in_use_objects,
            in_use_bytes,
            alloc_objects,
            alloc_bytes,
        };
        Some((counts, mark(rest, b']')?))
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let Self {
            in_use_objects,
            in_use_bytes,
            alloc_objects,
            alloc_bytes,
        } = self;
        let text =
            format!("{in_use_objects:6}: {in_use_bytes:8} [{alloc_objects:6}: {alloc_bytes:8}]");
        out.extend(text.bytes());
    }
}

/// Reads a decimal number after blanks and returns what follows.
pub(super) fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let text = text.trim_ascii_start();
    let digit = |&(at, byte): &(usize, &u8)| byte.is_ascii_digit() || (at == 0 && *byte == b'-');
    let len = text.iter().enumerate().take_while(digit).count();
    let (digits, rest) = text.split_at(len);
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// Takes a character off the front, after blanks.
pub(super) fn mark(text: &[u8], mark: u8) -> Option<&[u8]> {
    text.trim_ascii_start().strip_prefix(&[mark])
}

/// The first line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HeapHeader<'a> {
    pub(super) counts: AllocationCounts,
    /// One of `KINDS`.
    pub(super) kind: &'a [u8],
    pub(super) rate: Option<i64>,
}

const TITLE: &[u8] = b"heap profile:";
const KINDS: [&[u8]; 9] = [
    b"heapz_v2",
    b"heap_v2",
    b"heapprofile",
    b"heapz",
    b"heap",
    b"growth",
    b"growthz",
    b"fragmentation",
    b"fragmentationz",
];

impl<'a> HeapHeader<'a> {
    /// Takes the first line apart; none when it is that of another format.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let (counts, rest) = AllocationCounts::parse(line.strip_prefix(TITLE)?)?;
        let rest = mark(rest, b'@')?.trim_ascii();
        let (kind, rate) = match rest.iter().position(|&byte| byte == b'/') {
            Some(at) => (rest.get(..at)?, Some(number(rest.get(at + 1..)?)?.0)),
            None => (rest, None),
        };
        KINDS.contains(&kind).then_some(Self { counts, kind, rate })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(TITLE);
        out.push(b' ');
        self.counts.put(out);
        out.extend_from_slice(b" @ ");
        out.extend_from_slice(self.kind);
        if let Some(rate) = self.rate {
            out.extend(format!("/{rate}").bytes());
        }
    }
}
