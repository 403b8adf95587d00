//! Prints hot functions with a column that `traceloom top` does not have, the longest call:
//! `cargo run --example top_column -- PATH`.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;

use traceloom::analysis::{TreeOptions, top};

#[expect(clippy::disallowed_methods, reason = "it is a program of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: top_column PATH")?;
    top_with_longest(&path, &mut std::io::stdout().lock())
}

/// Prints a line for each function: own time, total time, calls, longest call, name.
pub fn top_with_longest(path: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    for trace in traceloom::open(path)?.traces() {
        let trees = trace.trees(TreeOptions::default())?;
        // Samples have no calls.
        let Some(tree) = &trees.spans else { continue };
        let mut longest: HashMap<String, u64> = HashMap::new();
        trace.each_span(|span| {
            let known = longest.entry(span.name().into_owned()).or_default();
            *known = span.duration().max(*known);
            ControlFlow::Continue(())
        })?;
        for row in top(tree) {
            let name = &tree.symbol(row.symbol).name;
            let column = longest.get(name).map_or("-".into(), u64::to_string);
            let (own, total, calls) = (row.own, row.total, row.count);
            writeln!(out, "{own} {total} {calls} {column} {name}")?;
        }
    }
    Ok(())
}
