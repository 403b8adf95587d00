//! Folded stacks.

use crate::random::Random;

/// Makes about `bytes` bytes of folded stacks.
pub(crate) fn stacks(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut done = 0;
    while done < bytes {
        let mut line = String::from("java;start_thread");
        for level in 0..random.number(40) {
            let width = 1 + level.min(6) * 3;
            line += &format!(";shop/Cart{level}.step{}", random.number(width));
            line += match random.number(16) {
                0 => "_[i]",
                1 => "_[0]",
                2 => "_[k]",
                _ => "_[j]",
            };
        }
        line += &format!(" {}\n", 1 + random.number(40));
        out(line.as_bytes());
        done += line.len() as u64;
    }
}
