//! One page about recordings that a person can mail: what they are, what was slow, hot, paused and wrong in them.
//!
//! A [`Collector`] looks at everything of a recording once; its [`Findings`] are plain rows, so that those of several
//! recordings add up. [`html`] puts them on a page with the flame graphs of the trees and the timeline.

mod attribute_keys;
mod calls;
mod collect;
mod course;
mod errors;
mod findings;
mod html;
mod markup;
mod sections;
mod statements;
mod story;
mod when;

pub use calls::CallCollector;
pub use collect::Collector;
pub use errors::Error;
pub use findings::{ErrorGroup, Findings, Pause, STEPS, SlowCall, StatementGroup, Thread};
pub use html::{Report, Source, html};

#[cfg(test)]
mod tests;
