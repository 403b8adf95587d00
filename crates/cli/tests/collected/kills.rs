//! When collectors are killed, and how often.

/// Numbers that a seed makes.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Returns the number of kills: as many as are usual, or `TRACELOOM_KILL_ROUNDS`.
pub fn kill_rounds(usual: u64) -> u64 {
    set("TRACELOOM_KILL_ROUNDS").unwrap_or(usual)
}

/// Returns a seed of its own for each run, or `TRACELOOM_KILL_SEED`, and prints it: a failure can be played again.
pub fn kill_seed() -> u64 {
    let seed = set("TRACELOOM_KILL_SEED").unwrap_or(u64::from(std::process::id()) + 1);
    println!("TRACELOOM_KILL_SEED={seed}");
    seed
}

fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
