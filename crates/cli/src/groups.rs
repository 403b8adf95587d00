//! `--by`: calls and samples in groups.

use clap::Args;
use traceloom_analysis::{CallTree, GroupBy};

use crate::streams::message;

/// Groups.
#[derive(Args, Clone, Default)]
pub(crate) struct GroupFlags {
    /// Group by `thread`, `service`, `host`, `title`, `title-shape` (without numbers and ids), `kind`, `sql-shape`
    /// or the name of a parameter or label, such as `web.url`; `$NAME` is always a parameter.
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<GroupBy>,
}

impl GroupFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.by.is_none()
    }

    /// Returns what is grouped by, as a heading.
    pub(crate) fn word(&self) -> String {
        self.by
            .as_ref()
            .map_or_else(String::new, ToString::to_string)
    }
}

/// Says so when nothing has what is grouped by: a name may be mistyped.
pub(crate) fn mention(by: &GroupBy, trees: &[CallTree]) {
    let none = by.none();
    let is_none = |tree: &CallTree| {
        tree.roots().all(|root| {
            let node = tree.nodes.get(root as usize);
            node.is_none_or(|node| tree.symbol(node.symbol).name == none)
        })
    };
    if trees.iter().all(is_none) {
        message!("--by {by}: nothing here has that");
    }
}
