//! Output of `perf script`.

use crate::random::Random;

/// Makes about `bytes` bytes of events.
pub(crate) fn events(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let mut done = 0;
    let mut micros = 0;
    while done < bytes {
        micros += random.number(20_000);
        let thread = 40 + random.number(8);
        let mut text = format!(
            "shop {}/{thread} [{:03}] {}.{:06}:     {} cycles:u: \n",
            40,
            random.number(4),
            5_000 + micros / 1_000_000,
            micros % 1_000_000,
            250_000 + random.number(9),
        );
        for _ in 0..random.number(30) {
            let function = random.number(300);
            text += &format!(
                "\t{:16x} shop::step{function}+{:#x} (/srv/shop/server)\n",
                0x40_0000 + function * 64,
                random.number(64)
            );
        }
        text.push('\n');
        out(text.as_bytes());
        done += text.len() as u64;
    }
}
