//! CPU time of a closure: load on the machine moves wall-clock time, not this.

/// Runs `work` so many times and returns the least CPU seconds a run took.
pub fn best(rounds: usize, mut work: impl FnMut()) -> f64 {
    work();
    (0..rounds)
        .map(|_| {
            let start = cpu_time::ThreadTime::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}
