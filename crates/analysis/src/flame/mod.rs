//! Flame graphs: where each node of a tree lies, and pictures of that.
//!
//! ```
//! use traceloom_analysis::{CallTree, Measure};
//! use traceloom_analysis::flame::{self, Picture};
//!
//! let tree = CallTree::empty(Measure::wall());
//! let svg = flame::svg(&tree, &Picture { title: "nothing ran", ..Picture::default() });
//! assert!(svg.starts_with("<?xml"));
//! ```

mod change;
mod data;
mod html;
mod layout;
mod svg;

pub use change::{Compared, SAME, step};
pub(crate) use html::part;
pub use html::{html, left_out};
pub use layout::{Layout, NodeBox};
pub use svg::svg;

/// What a picture says besides the tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Picture<'p> {
    /// Heading, such as the name of the input.
    pub title: &'p str,
    /// What is wrong with the data, in a sentence behind the numbers; empty where nothing is.
    pub doubt: &'p str,
    /// Callers below their callees, as flames; otherwise callers are on top, as icicles.
    pub upwards: bool,
    /// Java names with the initials of their packages.
    pub short_names: bool,
    /// What each node of the tree came to in another recording: the colours are then those of the change.
    pub changes: Option<&'p Compared<'p>>,
    /// The other recording of a difference, seen from its side; a page switches between both.
    pub other: Option<(&'p CallTree, &'p Compared<'p>)>,
    /// Kinds of work that a page can colour by; none for those that come with the program.
    pub categories: Option<&'p Categories>,
    /// What frames stand for where a page opens; an SVG draws the tree that it is given.
    pub dimension: Dimension,
    /// The trees of a page by lines, as far as there are lines.
    pub lines: &'p [CallTree],
    /// When the nodes of trees ran, as far as that is known; a page shows it as a strip of which a range can be chosen.
    pub over_time: &'p [OverTime],
}

use crate::hotspots::Categories;
use crate::{CallTree, Dimension, OverTime};

#[cfg(test)]
mod tests;
