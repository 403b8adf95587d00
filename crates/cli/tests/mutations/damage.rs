//! What is done to an input, told by a seed.

use super::inputs::Source;

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    /// Begins a stream of numbers for one thing in one pass.
    pub(crate) fn of(seed: u64, pass: u64, name: &str) -> Self {
        let mut random = Self(seed);
        for part in std::iter::once(pass).chain(name.bytes().map(u64::from)) {
            random.0 ^= part;
            random.0 = random.next();
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`; 0 where there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            end => (self.next() % end as u64) as usize,
        }
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// A damaged input.
pub(crate) struct Damaged {
    pub(crate) source: usize,
    pub(crate) bytes: Vec<u8>,
    /// What was done, for a file name.
    pub(crate) how: String,
    /// Where the input ends, if that is all that was done.
    pub(crate) cut: Option<usize>,
}

/// Damages a source in one to three ways.
pub(crate) fn damaged(sources: &[Source], source: usize, random: &mut Random) -> Damaged {
    let mut bytes = sources[source].bytes.clone();
    // A third of all is cut and nothing else: only of these is it known what must be said.
    if random.below(3) == 0 {
        let cut = random.below(bytes.len());
        bytes.truncate(cut);
        return Damaged {
            source,
            bytes,
            how: format!("cut-{cut}"),
            cut: Some(cut),
        };
    }
    let mut how = Vec::new();
    for _ in 0..=random.below(3) {
        how.push(damage(&mut bytes, sources, random));
    }
    Damaged {
        source,
        bytes,
        how: how.join("_"),
        cut: None,
    }
}

fn damage(bytes: &mut Vec<u8>, sources: &[Source], random: &mut Random) -> String {
    // Heads decide what is read how: they are met more often than their size has it.
    let reach = match random.below(2) {
        0 => bytes.len().min(256),
        _ => bytes.len(),
    };
    let at = random.below(reach);
    let longest = (bytes.len() - at).min(64);
    let size = 1 + random.below(longest.max(1));
    let end = (at + size).min(bytes.len());
    match random.below(9) {
        0 => {
            bytes.truncate(at);
            format!("cut-{at}")
        }
        1 => {
            let bit = random.below(8);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            format!("flip-{at}.{bit}")
        }
        2 => {
            let new: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, new);
            format!("insert-{at}+{size}")
        }
        3 => {
            bytes.drain(at..end);
            format!("delete-{at}+{size}")
        }
        4 => {
            let other = random.below(sources.len());
            let from = random.below(sources[other].bytes.len());
            let piece = sources[other].bytes.iter().skip(from).take(512);
            bytes.splice(at..at, piece.copied().collect::<Vec<_>>());
            format!("splice-{at}-{other}.{from}")
        }
        5 => {
            let run = random.below(4096.min(bytes.len() - at + 1));
            bytes[at..at + run].fill(0);
            format!("zeros-{at}+{run}")
        }
        6 => {
            let run = random.below(8192.min(bytes.len() - at + 1));
            let piece = bytes[at..at + run].to_vec();
            bytes.splice(at..at, piece);
            format!("twice-{at}+{run}")
        }
        _ => {
            let lies: [&[u8]; 7] = [
                &[0xff; 4],
                &[0x7f, 0xff, 0xff, 0xff],
                &[0xff, 0xff, 0xff, 0x7f],
                &[0xff; 8],
                &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                &[0x3f, 0xff, 0xff, 0xf0],
                // As a varint and as CBOR.
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ];
            let lie = *random.pick(&lies);
            for (byte, new) in bytes.iter_mut().skip(at).zip(lie) {
                *byte = *new;
            }
            format!("lie-{at}.{:02x}{:02x}x{}", lie[0], lie[1], lie.len())
        }
    }
}
