//! What pages and programs ask of the captures, and who answers.

use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use traceloom_analysis::query::{PartialRead, Query};
use traceloom_input::captures::CaptureId;
use traceloom_input::captures::posts::PostId;

use crate::catalog::Catalog;

/// A question about the captures of a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which captures there are: a JSON object a line.
    Captures,
    /// What is in a capture, part by part: one JSON object.
    Contents(CaptureId),
    /// What is wrong with a capture: a JSON object a line.
    Notes(CaptureId),
    /// Decoded bytes of the parts of a capture whose name contains a text: a JSON object a part.
    Bytes(PartOf),
    /// The records from an offset on: a JSON object a line.
    Records(PartOf),
    /// A capture as its sender sent it: an archive, or the bytes of one part.
    Original {
        /// The capture.
        id: CaptureId,
        /// The name of the part.
        part: Option<String>,
    },
    /// What decoding sealed captures shows: a row of the catalog a line.
    Facts(Vec<CaptureId>),
    /// The points of profiles: line protocol.
    Points(Vec<PostId>),
    /// Traces of Zorka's agents: a JSON object a marked span.
    Processed {
        /// The trace; all without it.
        trace: Option<u128>,
        /// The span; all without it.
        span: Option<u64>,
        /// What is told of each.
        content: ProcessedContent,
    },
    /// A capture in another format.
    Converted {
        /// The capture.
        id: CaptureId,
        /// The format, by the name that `--to` takes.
        to: String,
    },
    /// What a capture would lose in another format: one JSON object.
    Losses {
        /// The capture.
        id: CaptureId,
        /// The format, by the name that `--to` takes.
        to: String,
    },
    /// The calls that a query chooses: a JSON object a line, then one that says how to go on.
    Calls(Query),
    /// The calls that a query chooses, as CSV.
    CallsCsv(Query),
    /// How many calls took how long, and when: one JSON object.
    CallsOverview(Query),
    /// Calls in groups: a JSON object a group.
    CallGroups {
        /// Which calls.
        query: Query,
        /// What they have in common, by the name that `--by` takes.
        by: String,
    },
    /// One call with everything in it: one JSON object.
    Call {
        /// Where it is; a trace across several is looked for in all.
        query: Query,
        /// Its id, or that of its trace.
        id: String,
        /// The span, by its place in the call, from which on spans are told; the first without it.
        below: Option<usize>,
        /// Levels below that span.
        depth: Option<usize>,
        /// Most spans.
        spans: Option<usize>,
    },
    /// The functions that took most of what a query chooses: a JSON object a measure.
    Functions(Query),
    /// What functions came to by the kind of work: a JSON object a measure.
    Hotspots(Query),
    /// The call tree of what a query chooses: a JSON object a measure.
    Tree {
        /// Which calls and samples, in which shape.
        query: Query,
        /// Nodes that have less of the whole, in hundredths of a percent, are left out.
        least: u32,
    },
    /// A flame graph as a picture.
    Picture(Query),
    /// A flame graph as JSON, with the method, line, package, class and thread of every frame.
    FlameJson(Query),
    /// What functions came to before and after: one JSON object.
    Difference(Query),
    /// Tracks in equal stretches of time: one JSON object.
    Tracks {
        /// Which calls and samples, and from when to when.
        query: Query,
        /// How many stretches.
        columns: u16,
    },
    /// A part of a timeline: a page, of which the part is taken.
    Tile {
        /// Which calls and samples, and from when to when.
        query: Query,
        /// Most items that are told one by one.
        items: u32,
    },
    /// Metrics of profiles: a JSON object a profile.
    Metrics(Query),
    /// What threads waited for: a JSON object a monitor.
    Monitors(Query),
    /// Heap objects by class, and collections: a JSON object a recording.
    Objects(Query),
    /// A page that draws what a query chooses.
    Page(Page, Query),
}

/// What is told of a marked span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessedContent {
    /// What is said of it.
    Metadata,
    /// The calls in it.
    Tree,
    /// What each method came to in it.
    Statistics,
}

/// A place in the parts of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOf {
    /// The capture.
    pub id: CaptureId,
    /// What the names of the parts contain.
    pub part: String,
    /// Offset in the decoded bytes of a part.
    pub at: u64,
    /// How many bytes or records.
    pub n: usize,
}

/// A page that draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// A flame graph.
    Flame,
    /// A report.
    Report,
    /// A timeline.
    Timeline,
    /// A flame graph of what changed.
    Diff,
}

impl Page {
    /// All pages.
    pub const ALL: [Self; 4] = [Self::Flame, Self::Report, Self::Timeline, Self::Diff];

    /// Returns the word for it in addresses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flame => "flame",
            Self::Report => "report",
            Self::Timeline => "timeline",
            Self::Diff => "diff",
        }
    }
}

/// A command that answers.
#[derive(Debug)]
pub struct AnsweringCommand {
    /// The command.
    pub command: Command,
    /// What it reads, where a query chooses more than its budget has room for.
    pub partial: Option<PartialRead>,
    /// What its standard input is.
    pub input: Vec<u8>,
}

impl From<Command> for AnsweringCommand {
    fn from(command: Command) -> Self {
        Self {
            command,
            partial: None,
            input: Vec::new(),
        }
    }
}

/// Returns who makes the command that answers a question about a data folder.
type MakeAnswer = dyn Fn(&Catalog, &Question) -> std::io::Result<AnsweringCommand> + Send + Sync;

/// Who answers: makes the command whose standard output is the answer, and whose standard error says what is wrong.
///
/// A question is answered by a process of its own, so that data which nobody has looked at yet can take neither the
/// memory nor the life of the process that receives, and a reader who goes away takes the work along.
#[derive(Clone)]
pub struct Answers(pub Arc<MakeAnswer>);

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answers")
    }
}

/// Bytes that a process which answers may hold.
const MEMORY: u64 = 4 << 30;
/// Time for an answer, with the wait for a turn.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);

/// Bounds what a process that answers takes: it goes before the one that receives, whatever it meets.
pub(crate) fn bound(id: u32) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Ok(id) = i32::try_from(id) else { return };
    for (resource, most) in [
        (Resource::Data, MEMORY),
        (Resource::Cpu, LONGEST.as_secs() * 2),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        // A system that refuses answers all the same.
        let _ = prlimit(Pid::from_raw(id), resource, limit);
    }
    let _ = std::fs::write(format!("/proc/{id}/oom_score_adj"), "1000");
}

/// Has a process wait for all others: nobody waits for it.
pub(crate) fn yield_to_others(id: u32) {
    /// The niceness next to the greatest.
    const LAST: i32 = 18;
    if let Ok(id) = i32::try_from(id) {
        // It may have ended.
        let _ = rustix::process::setpriority_process(rustix::process::Pid::from_raw(id), LAST);
    }
}
