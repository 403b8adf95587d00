//! `--dimension`: what rows and frames stand for.

use clap::Args;
use clap::builder::PossibleValuesParser;
use traceloom_analysis::{CallTree, Dimension, GroupBy, TreeSource};

use crate::groups::GroupFlags;
use crate::streams::message;
use crate::trees::TreeFlags;
use crate::usage::Usage;

/// What frames stand for.
#[derive(Args, Clone, Default)]
pub(crate) struct DimensionFlags {
    /// What rows and frames stand for: functions, their lines, what they belong to; `thread` is `--by thread`.
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(
        ["method", "line", "package", "class", "thread", "library"]))]
    dimension: Option<String>,
}

impl DimensionFlags {
    /// Returns what was asked for, where that is not functions.
    pub(crate) fn of(&self) -> Option<Dimension> {
        let word = self.dimension.as_deref()?;
        Dimension::of_word(word).filter(|&one| one != Dimension::Method)
    }

    /// Returns what was asked for of the groups, of which threads are one way.
    pub(crate) fn groups(&self, groups: &GroupFlags) -> anyhow::Result<GroupFlags> {
        by_thread(self.dimension.as_deref(), groups)
    }

    /// Returns what is asked of the reading.
    pub(crate) fn reading(&self, flags: TreeFlags) -> TreeFlags {
        let lines = self.of() == Some(Dimension::Line);
        TreeFlags { lines, ..flags }
    }

    /// Returns the trees of what was asked for; `lines` are those by lines.
    pub(crate) fn trees(&self, [trees, lines]: [Vec<CallTree>; 2]) -> Vec<CallTree> {
        match self.of() {
            Some(Dimension::Line) => with_lines(trees, &lines),
            Some(dimension) => trees.iter().map(|tree| tree.by(dimension)).collect(),
            None => trees,
        }
    }
}

/// Returns the groups that `--by` asks for, or `--dimension thread`.
pub(crate) fn by_thread(
    dimension: Option<&str>,
    groups: &GroupFlags,
) -> anyhow::Result<GroupFlags> {
    match (dimension, &groups.by) {
        (Some("thread"), None | Some(GroupBy::Thread)) => Ok(GroupFlags {
            by: Some(GroupBy::Thread),
        }),
        (Some("thread"), Some(by)) => {
            let reason = format!("--dimension thread is --by thread, and --by {by} is given");
            Err(Usage(reason).into())
        }
        _ => Ok(groups.clone()),
    }
}

/// Returns the trees, those of which there are lines by lines, and names the others.
pub(crate) fn with_lines(trees: Vec<CallTree>, lines: &[CallTree]) -> Vec<CallTree> {
    let by_line = |tree: CallTree| {
        let is_of = |one: &&CallTree| one.measure == tree.measure && one.has_lines();
        let found = lines.iter().find(is_of);
        if found.is_none() && !tree.is_empty() {
            let what = match tree.measure.source {
                TreeSource::Spans => "calls have no lines".to_owned(),
                TreeSource::Samples => format!("no line is recorded of {}", tree.measure.title()),
            };
            message!("--dimension line: {what}; functions are shown");
        }
        found.cloned().unwrap_or(tree)
    };
    trees.into_iter().map(by_line).collect()
}
