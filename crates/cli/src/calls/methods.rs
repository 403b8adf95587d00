//! Which functions `--with-method` means.

use std::collections::BTreeSet;

use traceloom_analysis::names::{FunctionMatch, FunctionPattern};
use traceloom_analysis::{CallTree, TreeBuilder, TreeOptions};

use crate::inputs::OpenInput;
use crate::usage::Usage;

/// Finds what a pattern means among the functions of all inputs.
pub(super) fn find(
    pattern: &FunctionPattern,
    inputs: &[OpenInput<'_>],
) -> anyhow::Result<FunctionMatch> {
    let mut names = BTreeSet::new();
    for input in inputs {
        input.read(|recording| {
            let mut builder = TreeBuilder::new(TreeOptions {
                lanes: true,
                ..TreeOptions::default()
            });
            let notes = recording.lower(&mut builder)?;
            let trees: Vec<CallTree> = builder.finish().into_trees().collect();
            let found = trees.iter().flat_map(CallTree::function_names);
            names.extend(found.map(str::to_owned));
            Ok(notes)
        })?;
    }
    let found = pattern.find(names.iter().map(String::as_str));
    Ok(found.map_err(|error| Usage(format!("--with-method: {error}")))?)
}
