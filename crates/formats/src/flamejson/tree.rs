//! The tree of one value along one dimension.

use traceloom_model::{Recording, SampleBatch, Scope, TrackId, Unit};

use super::facts::FrameProperties;
use crate::points::{EventKind, Language};

/// What the nodes of a graph stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dimension {
    /// Methods.
    #[default]
    Method,
    /// Methods at a line.
    Line,
    /// Packages.
    Package,
    /// Classes.
    Class,
    /// Threads.
    Thread,
    /// Libraries.
    Library,
}

impl Dimension {
    /// Every dimension, in the order documents list them.
    pub const ALL: [Self; 6] = [
        Self::Method,
        Self::Package,
        Self::Line,
        Self::Thread,
        Self::Class,
        Self::Library,
    ];

    /// Returns its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Line => "line",
            Self::Package => "package",
            Self::Class => "class",
            Self::Thread => "thread",
            Self::Library => "library",
        }
    }

    /// Equal neighbours on a path are one node, except where they are calls of their own.
    pub(super) const fn collapses(self) -> bool {
        !matches!(self, Self::Method | Self::Line)
    }
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphNode {
    pub(super) facts: FrameProperties,
    pub(super) thread: String,
    pub(super) track: Option<TrackId>,
    /// Inclusive value.
    pub(super) value: i64,
    pub(super) own: i64,
    /// Its frames stand at different lines.
    pub(super) lines_differ: bool,
    /// Rows of its children, largest value first.
    pub(super) children: Vec<usize>,
}

/// What samples of one innermost frame and thread have together.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) facts: FrameProperties,
    pub(super) track: Option<TrackId>,
    pub(super) value: i64,
}

/// A finished tree; row 0 is the root.
#[derive(Debug)]
pub(super) struct GraphTree {
    pub(super) nodes: Vec<GraphNode>,
    /// What is a frame's own, where samples say it and it was asked for.
    pub(super) leaves: Vec<Leaf>,
    pub(super) unit: Unit,
    pub(super) available: Vec<Dimension>,
}

impl GraphTree {
    /// Makes the one frame that everything is in the root: graphs that are read have a root among their frames.
    pub(super) fn with_its_own_root(mut self) -> Self {
        let only = match self.nodes.first().map(|root| root.children.as_slice()) {
            Some(&[only]) if self.own(0) == 0 && only < self.nodes.len() => only,
            _ => return self,
        };
        self.nodes.swap(0, only);
        self
    }

    /// Returns what a node has for itself.
    pub(super) fn own(&self, row: usize) -> i64 {
        let Some(node) = self.nodes.get(row) else {
            return 0;
        };
        let children = node
            .children
            .iter()
            .filter_map(|&child| self.nodes.get(child));
        let children = children.fold(0_i64, |sum, child| sum.saturating_add(child.value));
        node.value.saturating_sub(children)
    }
}

/// What a graph is of: columns of the same name, unit and scope are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GraphColumn {
    pub(super) name: String,
    /// What Datakit calls it.
    pub(super) event: Option<&'static str>,
    pub(super) unit: Unit,
    pub(super) scope: Scope,
}

impl GraphColumn {
    /// Finds the column that a batch has to show, as every view does ([`Recording::shown_column`]).
    pub(super) fn of(
        recording: &Recording,
        batch: &SampleBatch,
        wanted: &[String],
        language: Option<Language>,
    ) -> Option<(usize, Self)> {
        let profile = recording.profile(batch.profile)?;
        let at = recording.shown_column(profile, wanted)?;
        let row = recording.value_type(*profile.value_types.get(at)?)?;
        let event = EventKind::of_column(recording, language, "", row);
        let shown = Self {
            name: recording.text(row.name).into_owned(),
            event: event.map(|event| event.name),
            unit: row.unit,
            scope: row.scope,
        };
        Some((at, shown))
    }
}
