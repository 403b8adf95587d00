//! The text of `perf script`: events with their stacks, a line each (SPEC.md).

mod event;
mod lower;
mod read;

#[cfg(test)]
mod tests;

pub use lower::lower;
pub use read::{Reader, Record};

use traceloom_model::Capabilities;

use crate::pprof::sample::Dice;
use crate::{Confidence, Format, Probe};

/// Text of `perf script`.
pub static PERF_SCRIPT: Format = Format {
    name: "perf-script",
    title: "perf script text",
    extensions: &["perf", "perfscript"],
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    members: None,
    set: None,
    lower: Some(lower),
    split: None,
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample),
};

/// Events, each followed by frames or nothing, and hardly anything else.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let mut lines: Vec<&[u8]> = probe.head.split(|&byte| byte == b'\n').collect();
    if !probe.whole {
        lines.pop();
    }
    let (mut events, mut frames, mut others) = (0_usize, 0_usize, 0_usize);
    for line in lines {
        let line = line.trim_ascii_end();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        if events > 0 && event::Frame::parse(line).is_some() {
            frames += 1;
        } else if event::Event::parse(line).is_some() {
            events += 1;
        } else {
            others += 1;
        }
    }
    (events > 0 && others <= (events + frames) / 4).then_some(if frames > 0 {
        Confidence::Likely
    } else {
        Confidence::Possible
    })
}

/// Makes about `bytes` bytes of events.
fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut dice = Dice::new(seed);
    let mut done = 0;
    let mut micros = 0;
    while done < bytes {
        micros += dice.below(20_000);
        let thread = 40 + dice.below(8);
        let mut text = format!(
            "shop {}/{thread} [{:03}] {}.{:06}:     {} cycles:u: \n",
            40,
            dice.below(4),
            5_000 + micros / 1_000_000,
            micros % 1_000_000,
            250_000 + dice.below(9),
        );
        for _ in 0..dice.below(30) {
            let function = dice.below(300);
            text += &format!(
                "\t{:16x} shop::step{function}+{:#x} (/srv/shop/server)\n",
                0x40_0000 + function * 64,
                dice.below(64)
            );
        }
        text.push('\n');
        out(text.as_bytes());
        done += text.len() as u64;
    }
}
