//! Names that profiles carry: symbol sections, the comments of Go, the locations of Java (SPEC.md §5).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

/// A function at an address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct AddressSymbol {
    pub(super) function: Vec<u8>,
    pub(super) file: Vec<u8>,
    /// 0 when unknown.
    pub(super) line: u32,
}

/// Reads `0x1f` or `0x0000001f`.
pub(super) fn address(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x")?;
    if digits.first() == Some(&b'+') {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Reads addresses that blanks part; none when a word is something else.
pub(super) fn addresses(text: &[u8]) -> Option<Vec<u64>> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(address)
        .collect()
}

fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace);
    text.split_at(end.unwrap_or(text.len()))
}

/// Parts `file:12`; the line is 0 when it is no number.
fn file_line(place: &[u8]) -> (&[u8], u32) {
    let split = place.iter().rposition(|&byte| byte == b':').and_then(|at| {
        let digits = std::str::from_utf8(place.get(at + 1..)?).ok()?;
        // An unknown line is written as -1.
        let line: i64 = digits.parse().ok()?;
        Some((place.get(..at)?, u32::try_from(line).unwrap_or(0)))
    });
    split.unwrap_or((place, 0))
}

/// Reads a line of a symbol section, `0x401000 outer--inlined`. The names come outermost first.
pub(super) fn section_line(text: &[u8]) -> Option<(u64, &[u8])> {
    let (word, names) = split_word(text);
    let names = names.trim_ascii();
    (!names.is_empty()).then_some((address(word)?, names))
}

/// Parts the names of a line of a symbol section, innermost first.
pub(super) fn section_names(names: &[u8]) -> Vec<AddressSymbol> {
    let mut all = Vec::new();
    let mut rest = names;
    loop {
        let at = rest.windows(2).position(|pair| pair == b"--");
        let (name, after) = rest.split_at(at.unwrap_or(rest.len()));
        if !name.is_empty() {
            all.push(AddressSymbol {
                function: name.to_vec(),
                ..AddressSymbol::default()
            });
        }
        match after.get(2..) {
            Some(after) => rest = after,
            None => break,
        }
    }
    all.reverse();
    all
}

/// Reads a comment of Go, `#\t0x401000\tmain.work+0x1f\t/src/main.go:12`.
pub(super) fn comment(text: &[u8]) -> Option<(u64, Option<AddressSymbol>)> {
    let mut columns = text
        .strip_prefix(b"#\t")?
        .split(|&byte| byte == b'\t')
        .filter(|column| !column.is_empty());
    let address = address(columns.next()?.trim_ascii())?;
    let Some(name) = columns.next() else {
        return Some((address, None));
    };
    let plus = name.windows(3).rposition(|part| part == b"+0x");
    let function = name.get(..plus.unwrap_or(name.len()))?.trim_ascii();
    let (file, line) = file_line(columns.next().unwrap_or(b"").trim_ascii());
    let symbol = AddressSymbol {
        function: function.to_vec(),
        file: file.to_vec(),
        line,
    };
    Some((address, (!function.is_empty()).then_some(symbol)))
}

/// Reads a location of Java: `0x1f com.acme.Shop.buy (Shop.java:12)`, `0x1f name (/lib/jvm.so)`, or `0x1f GC`.
pub(super) fn location(text: &[u8]) -> Option<(u64, AddressSymbol)> {
    let (word, rest) = split_word(text.trim_ascii());
    let address = address(word)?;
    let rest = rest.trim_ascii();
    if rest.is_empty() {
        return None;
    }
    let place = rest.strip_suffix(b")").and_then(|rest| {
        let at = rest.windows(2).rposition(|pair| pair == b" (")?;
        Some((rest.get(..at)?.trim_ascii(), rest.get(at + 2..)?))
    });
    let symbol = match place {
        Some((function, place)) => {
            let (file, line) = file_line(place);
            AddressSymbol {
                function: function.to_vec(),
                file: file.to_vec(),
                line,
            }
        }
        None => AddressSymbol {
            function: rest.to_vec(),
            ..AddressSymbol::default()
        },
    };
    Some((address, symbol))
}

/// Reads the labels of goroutines, `{"key":"value", "other":"x"}`; none when they are written otherwise.
pub(super) fn labels(text: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut rest = text.trim_ascii().strip_prefix(b"{")?;
    let mut all = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b"}") {
            return after.is_empty().then_some(all);
        }
        if !all.is_empty() {
            rest = rest.strip_prefix(b",")?.trim_ascii_start();
        }
        let (key, after) = quoted(rest)?;
        let (value, after) = quoted(after.strip_prefix(b":")?)?;
        all.push((key, value));
        rest = after;
    }
}

/// Reads a text that is quoted as Go does and returns what follows.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        if byte == b'"' {
            return Some((out, rest));
        }
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (&escape, after) = rest.split_first()?;
        rest = after;
        let n_digits = match escape {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        if n_digits > 0 {
            let digits = std::str::from_utf8(rest.get(..n_digits)?).ok()?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            rest = rest.get(n_digits..)?;
            match (escape, u8::try_from(code)) {
                (b'x', Ok(byte)) => out.push(byte),
                _ => out.extend(char::from_u32(code)?.to_string().bytes()),
            }
            continue;
        }
        out.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' | b'"' | b'\'' => escape,
            _ => return None,
        });
    }
}

/// The names of a profile by address.
#[derive(Debug, Default)]
pub(super) struct AddressSymbols {
    /// Functions at an address, innermost first.
    by_address: HashMap<u64, Vec<AddressSymbol>, RandomState>,
    /// The addresses of samples are those of symbols: nothing is taken off.
    pub(super) exact: bool,
    /// Comments since the last sample.
    comments: Vec<(u64, Option<AddressSymbol>)>,
}

impl AddressSymbols {
    /// Adds the functions of an address. The first line about an address counts.
    pub(super) fn add(&mut self, address: u64, functions: Vec<AddressSymbol>) {
        self.by_address.entry(address).or_insert(functions);
    }

    /// Adds a comment of Go, in its order below a sample. Code of other languages has no name.
    pub(super) fn comment(&mut self, address: u64, symbol: Option<AddressSymbol>) {
        self.comments.push((address, symbol));
    }

    /// Ends the comments below a sample and returns the addresses of the first and the last.
    /// Neighbours of one address are functions inlined into each other.
    pub(super) fn end_comments(&mut self) -> Option<(u64, u64)> {
        let comments = std::mem::take(&mut self.comments);
        let ends = (comments.first()?.0, comments.last()?.0);
        let named = comments.into_iter();
        let mut named = named
            .filter_map(|(address, symbol)| Some((address, symbol?)))
            .peekable();
        while let Some((address, symbol)) = named.next() {
            let mut functions = vec![symbol];
            while let Some((_, symbol)) = named.next_if(|next| next.0 == address) {
                functions.push(symbol);
            }
            if let Entry::Vacant(entry) = self.by_address.entry(address) {
                functions.truncate(period(&functions));
                entry.insert(functions);
            }
        }
        Some(ends)
    }

    /// Finds the functions of an address that a sample has, innermost first, and the address of the symbol.
    pub(super) fn find(&self, address: u64) -> Option<(u64, &[AddressSymbol])> {
        let before = address.wrapping_sub(1);
        let order = if self.exact {
            [address, before]
        } else {
            [before, address]
        };
        order.into_iter().find_map(|address| {
            let functions = self.by_address.get(&address)?;
            Some((address, functions.as_slice()))
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }
}

/// Returns the length of the part that `functions` repeats. A function that calls itself has its address, and with it
/// its comments, several times.
fn period(functions: &[AddressSymbol]) -> usize {
    // The border table of Knuth, Morris and Pratt: linear in the number of functions.
    let mut borders = vec![0_usize; functions.len()];
    let mut border = 0;
    for at in 1..functions.len() {
        while border > 0 && functions.get(border) != functions.get(at) {
            border = borders.get(border - 1).copied().unwrap_or(0);
        }
        if functions.get(border) == functions.get(at) {
            border += 1;
        }
        if let Some(slot) = borders.get_mut(at) {
            *slot = border;
        }
    }
    let period = functions.len() - borders.last().copied().unwrap_or(0);
    if functions.len().is_multiple_of(period.max(1)) {
        period
    } else {
        functions.len()
    }
}
