//! What a scout, which reads a trace ahead of its lowering, says of the steps inside calls.

/// Neighbouring steps inside a call, and tags that say nothing about it, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainSteps {
    /// Where they begin.
    pub(crate) offset: u64,
    /// The bytes that they take.
    pub(crate) len: usize,
    /// Steps and tags.
    pub(crate) events: u32,
    pub(crate) enters: u32,
    /// Methods that are open before them and behind them.
    pub(crate) depth_before: u32,
    pub(crate) depth: u32,
    /// Times of the event before them and of the last of them.
    pub(crate) elapsed_before: i32,
    pub(crate) elapsed: i32,
    /// The latest time of a step, if there is any.
    pub(crate) latest: Option<i32>,
}

/// Runs of steps in the order of their offsets: all that are long, up to an offset of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlainRuns {
    /// The number of the file; files are read in the order of their numbers.
    pub(crate) file: u32,
    pub(crate) until: u64,
    pub(crate) runs: Vec<PlainSteps>,
}
