//! Folded stacks: `frame;frame;frame count`, a line each, as flame graph tools read and write them
//! (SPEC.md).

mod frame;
mod lower;
mod paths;
mod raise;
mod read;

#[cfg(test)]
mod tests;

pub use lower::lower;
pub use raise::raise;
pub use read::{Reader, Record};

use traceloom_model::{Capabilities, Feature};

use crate::pprof::sample::Dice;
use crate::{Confidence, Format, Probe};

/// Folded stacks.
pub static FOLDED: Format = Format {
    name: "folded",
    title: "folded stacks",
    extensions: &["folded", "collapsed"],
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    members: None,
    set: None,
    lower: Some(lower),
    split: None,
    raise: Some(raise),
    holds: Capabilities::of(&[
        Feature::Samples,
        Feature::NegativeValues,
        Feature::InvalidText,
    ]),
    sample: Some(sample),
};

/// Text of which every line ends in a count; likely where the lines have frames.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let text = |byte: &u8| *byte >= 0x20 || matches!(byte, b'\t' | b'\r' | b'\n');
    if !probe.head.iter().all(text) {
        return None;
    }
    let mut lines: Vec<&[u8]> = probe.head.split(|&byte| byte == b'\n').collect();
    if !probe.whole {
        // The head may cut the last line.
        lines.pop();
    }
    let mut counted = 0_usize;
    let mut stacks = 0_usize;
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let (stack, _) = read::split_count(line)?;
        counted += 1;
        stacks += usize::from(stack.contains(&b';'));
    }
    let named = [".folded", ".collapsed", ".collapsed.txt", ".folded.txt"]
        .iter()
        .any(|suffix| probe.file_name().ends_with(suffix));
    match (counted, stacks) {
        // A first line longer than the head.
        (0, _) if named && !probe.head.is_empty() => Some(Confidence::Possible),
        (0, _) => None,
        _ if named || stacks * 2 >= counted => Some(Confidence::Likely),
        _ => Some(Confidence::Possible),
    }
}

/// Makes about `bytes` bytes of folded stacks.
fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut dice = Dice::new(seed);
    let mut done = 0;
    while done < bytes {
        let mut line = String::from("java;start_thread");
        for level in 0..dice.below(40) {
            let width = 1 + level.min(6) * 3;
            line += &format!(";shop/Cart{level}.step{}", dice.below(width));
            line += match dice.below(16) {
                0 => "_[i]",
                1 => "_[0]",
                2 => "_[k]",
                _ => "_[j]",
            };
        }
        line += &format!(" {}\n", 1 + dice.below(40));
        out(line.as_bytes());
        done += line.len() as u64;
    }
}
