//! The lines of `perf script`: an event, a frame, the source line of a frame (SPEC.md §1).

/// A line that begins an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct EventLineFields<'a> {
    pub(super) command: &'a [u8],
    pub(super) pid: Option<u64>,
    pub(super) tid: Option<u64>,
    pub(super) cpu: Option<u64>,
    pub(super) time_ns: Option<i64>,
    pub(super) period: Option<i64>,
    pub(super) event: &'a [u8],
    /// What follows: fields of a tracepoint, or the only frame.
    pub(super) rest: &'a [u8],
}

/// Words of a line looked at for the end of the command's name.
const WORDS: usize = 32;

impl<'a> EventLineFields<'a> {
    /// Takes a line apart; none when it begins no event.
    ///
    /// A command's name may hold blanks and numbers, so its end is found from what follows: ids,
    /// optionally a processor and a time, then a period and the event's name with a colon.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let mut words = [(0, 0); WORDS];
        let mut n_words = 0;
        let mut at = 0;
        while n_words < WORDS {
            let rest = line.get(at..)?;
            let Some(start) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) else {
                break;
            };
            let start = at + start;
            let rest = line.get(start..)?;
            let len = rest.iter().position(u8::is_ascii_whitespace);
            at = start + len.unwrap_or(rest.len());
            *words.get_mut(n_words)? = (start, at);
            n_words += 1;
        }
        let words = words.get(..n_words)?;
        (1..n_words).find_map(|ids| Self::with_ids(line, words, ids))
    }

    /// Takes a line apart whose ids are word number `ids`.
    fn with_ids(line: &'a [u8], words: &[(usize, usize)], ids: usize) -> Option<Self> {
        let word = |nth: usize| {
            let &(from, to) = words.get(nth)?;
            line.get(from..to)
        };
        let (pid, tid) = pair(word(ids)?)?;
        let command = line.get(..words.get(ids)?.0)?.trim_ascii();
        let mut event = Self {
            command,
            pid,
            tid: Some(tid),
            ..Self::default()
        };
        let mut next = ids + 1;
        if let Some(cpu) = word(next).and_then(processor) {
            event.cpu = Some(cpu);
            next += 1;
        }
        if let Some(time) = word(next).and_then(seconds) {
            event.time_ns = Some(time);
            next += 1;
        }
        if let Some(period) = word(next).and_then(number) {
            event.period = Some(i64::try_from(period).ok()?);
            next += 1;
        }
        let name = word(next)?.strip_suffix(b":")?;
        let named = name.first().is_some_and(|byte| !byte.is_ascii_digit());
        if !named || (event.time_ns.is_none() && event.cpu.is_none() && event.period.is_none()) {
            return None;
        }
        // `cycles:u:` has its modifiers in the name; the name itself is what comes before.
        event.event = name;
        event.rest = line.get(words.get(next)?.1..)?.trim_ascii();
        Some(event)
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()
        .filter(|_| digits)?
        .parse()
        .ok()
}

/// `tid` or `pid/tid`; −1 stands for a thread that is gone.
fn pair(text: &[u8]) -> Option<(Option<u64>, u64)> {
    let one = |text: &[u8]| match text {
        b"-1" => Some(u64::from(u32::MAX)),
        text => number(text),
    };
    match text.iter().position(|&byte| byte == b'/') {
        Some(at) => Some((Some(one(text.get(..at)?)?), one(text.get(at + 1..)?)?)),
        None => Some((None, one(text)?)),
    }
}

fn processor(text: &[u8]) -> Option<u64> {
    number(text.strip_prefix(b"[")?.strip_suffix(b"]")?)
}

/// `12.345678:` in nanoseconds.
fn seconds(text: &[u8]) -> Option<i64> {
    let text = text.strip_suffix(b":")?;
    let dot = text.iter().position(|&byte| byte == b'.')?;
    let whole = i64::try_from(number(text.get(..dot)?)?).ok()?;
    let fraction = text.get(dot + 1..)?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let scale = 10_i64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let fraction = i64::try_from(number(fraction)?).ok()?;
    whole
        .checked_mul(1_000_000_000)?
        .checked_add(fraction * scale)
}

/// A line of a stack: `address symbol+0xoffset (object)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StackLine<'a> {
    pub(super) address: u64,
    /// None for `[unknown]`.
    pub(super) symbol: Option<&'a [u8]>,
    pub(super) symbol_offset: Option<u64>,
    /// The binary; none for inlined frames and `[unknown]`.
    pub(super) object: Option<&'a [u8]>,
    pub(super) inlined: bool,
}

impl<'a> StackLine<'a> {
    /// Takes a line apart; none when it is no frame.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        if !line.first()?.is_ascii_whitespace() {
            return None;
        }
        Self::parse_words(line.trim_ascii())
    }

    /// The same without the blanks in front.
    pub(super) fn parse_words(text: &'a [u8]) -> Option<Self> {
        let end = text.iter().position(u8::is_ascii_whitespace);
        let (address, rest) = text.split_at(end.unwrap_or(text.len()));
        let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
        let rest = rest.trim_ascii();
        let inlined = rest.ends_with(b" (inlined)");
        let (symbol, object) = match object_at(rest) {
            Some(at) => {
                let object = rest.get(at + 1..rest.len() - 1)?;
                (rest.get(..at)?.trim_ascii_end(), Some(object))
            }
            None => (rest, None),
        };
        let object = object.filter(|&object| !inlined && object != b"[unknown]");
        let (symbol, symbol_offset) = match symbol.windows(3).rposition(|part| part == b"+0x") {
            Some(at) => {
                let digits = std::str::from_utf8(symbol.get(at + 3..)?).ok();
                match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
                    Some(offset) => (symbol.get(..at)?, Some(offset)),
                    None => (symbol, None),
                }
            }
            None => (symbol, None),
        };
        Some(Self {
            address,
            symbol: Some(symbol).filter(|&symbol| !symbol.is_empty() && symbol != b"[unknown]"),
            symbol_offset,
            object,
            inlined,
        })
    }
}

/// Finds the bracket that opens the object: the one that the last closes, because objects such as
/// `/tmp/x (deleted)` have some of their own.
fn object_at(text: &[u8]) -> Option<usize> {
    if !text.ends_with(b")") {
        return None;
    }
    let mut depth = 0_usize;
    for (at, &byte) in text.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let before = at.checked_sub(1).and_then(|at| text.get(at));
                    return before.is_none_or(u8::is_ascii_whitespace).then_some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The source line of the frame above: `file.c:12`.
pub(super) fn source(line: &[u8]) -> Option<(&[u8], u32)> {
    if !line.first()?.is_ascii_whitespace() {
        return None;
    }
    let text = line.trim_ascii();
    let colon = text.iter().rposition(|&byte| byte == b':')?;
    let number = number(text.get(colon + 1..)?)?;
    let file = text.get(..colon)?;
    (!file.is_empty()).then_some((file, u32::try_from(number).ok()?))
}
