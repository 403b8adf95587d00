//! What pages and programs ask of the captures, and who answers.

use std::fmt;
use std::path::Path;
use std::process::Command;

use traceloom_analysis::query::Query;
use traceloom_input::captures::CaptureId;

/// A question about the captures of a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which captures there are: a JSON object a line.
    Captures,
    /// What is in a capture, part by part: one JSON object.
    Contents(CaptureId),
    /// What is wrong with a capture: a JSON object a line.
    Notes(CaptureId),
    /// The calls that a query chooses: a JSON object a line.
    Calls(Query),
    /// One call with everything in it: one JSON object.
    Call {
        /// Where it is; a trace across several is looked for in all.
        query: Query,
        /// Its id, or that of its trace.
        id: String,
    },
    /// The functions that took most of what a query chooses: a JSON object a measure.
    Functions(Query),
    /// A page that draws what a query chooses.
    Page(Page, Query),
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
}

impl Page {
    /// All pages.
    pub const ALL: [Self; 3] = [Self::Flame, Self::Report, Self::Timeline];

    /// Returns the word for it in addresses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flame => "flame",
            Self::Report => "report",
            Self::Timeline => "timeline",
        }
    }
}

/// Who answers: makes the command whose standard output is the answer, and whose standard error says what is wrong.
///
/// A question is answered by a process of its own, so that data which nobody has looked at yet can take neither the
/// memory nor the life of the process that receives, and a reader who goes away takes the work along.
#[derive(Clone, Copy)]
pub struct Answers(pub fn(&Path, &Question) -> std::io::Result<Command>);

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answers")
    }
}
