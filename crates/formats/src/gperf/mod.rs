//! The profiles of gperftools before `profile.proto`: the binary CPU profile and the text heap profile,
//! both followed by the memory map of the process (SPEC.md).
//!
//! Addresses are not turned into names here: there is nothing in the files to do it with.

mod cpu;
mod heap;
mod lower;
mod maps;

#[cfg(test)]
mod tests;

pub use cpu::{CpuReader, CpuRecord};
pub use heap::{HeapReader, HeapRecord};
pub use lower::{lower_cpu, lower_heap};

use traceloom_model::Capabilities;

use crate::pprof::sample::Dice;
use crate::{Confidence, Format, Probe};

/// The binary CPU profile.
pub static CPU: Format = Format {
    name: "gperf-cpu",
    title: "gperftools CPU profile",
    extensions: &["prof", "cpu"],
    probe: probe_cpu,
    reader: Some(|limits| Box::new(CpuReader::new(limits))),
    members: None,
    set: None,
    lower: Some(lower_cpu),
    split: None,
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample_cpu),
};

/// The text heap profile.
pub static HEAP: Format = Format {
    name: "gperf-heap",
    title: "gperftools heap profile",
    extensions: &["heap"],
    probe: probe_heap,
    reader: Some(|limits| Box::new(HeapReader::new(limits))),
    members: None,
    set: None,
    lower: Some(lower_heap),
    split: None,
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample_heap),
};

fn probe_cpu(probe: &Probe<'_>) -> Option<Confidence> {
    cpu::Words::detect(probe.head).map(|_| Confidence::Certain)
}

fn probe_heap(probe: &Probe<'_>) -> Option<Confidence> {
    let line = probe.head.split(|&byte| byte == b'\n').next()?;
    heap::Header::parse(line).map(|_| Confidence::Certain)
}

const MAP: &str = "00400000-00fcb000 r-xp 00000000 00:00 21306940    /srv/shop/server\n\
    7f5e54010000-7f5e541b0000 r-xp 00000000 00:00 1461        /lib/libc-2.15.so\n\
    7ffffb56b000-7ffffb56d000 r-xp 00000000 00:00 0           [vdso]\n";

fn sample_cpu(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut dice = Dice::new(seed);
    let mut words: Vec<u64> = vec![0, 3, 0, 10_000, 0];
    let mut done = 0;
    let mut put = |words: &[u64]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        out(&bytes);
        bytes.len() as u64
    };
    while done < bytes {
        done += put(&words);
        let depth = 1 + dice.below(30);
        words = vec![1 + dice.below(9), depth];
        words.extend((0..depth).map(|_| 0x40_0000 + dice.below(0xbc_0000)));
    }
    put(&[0, 1, 0]);
    out(MAP.as_bytes());
}

fn sample_heap(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut dice = Dice::new(seed);
    out(b"heap profile:    144:  8498176 [   144:  8498176] @ heapz_v2/524288\n");
    let mut done = 0;
    while done < bytes {
        let count = 1 + dice.below(40);
        let size = count * (16 << dice.below(12));
        let mut line = format!("{count:6}: {size:8} [{count:6}: {size:8}] @");
        for _ in 0..1 + dice.below(30) {
            line += &format!(" {:#x}", 0x40_0000 + dice.below(0xbc_0000));
        }
        line.push('\n');
        out(line.as_bytes());
        done += line.len() as u64;
    }
    out(b"\nMAPPED_LIBRARIES:\n");
    out(MAP.as_bytes());
}
