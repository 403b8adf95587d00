//! What a file is, and what ran.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use traceloom::analysis::{CallTree, TreeOptions, top};
use traceloom::formats::{Record, RecordSink, drive};
use traceloom::model::{Flow, Level, Limits, Note, Notes};
use traceloom::{Error, TraceSource, from_bytes};

/// Functions of a measure in an answer.
const FUNCTIONS: usize = 200;

/// Reads a file: an answer for the page, and the trees that are drawn.
pub(crate) fn read(name: &str, bytes: &[u8]) -> (Value, Vec<CallTree>) {
    let trace = match from_bytes(name, bytes) {
        Ok(trace) => trace,
        Err(unknown) => return (json!({ "error": unknown.sentence() }), Vec::new()),
    };
    let (mut seen, mut trees) = (SeenRecords::default(), Vec::new());
    let read = records(&trace, &mut seen).and_then(|()| {
        if trace.format().lower.is_some() {
            let read = trace.trees(TreeOptions::default())?;
            trees = read.into_trees().collect();
            // A measure that comes to something is first, as in `top`.
            trees.sort_by_key(|tree: &CallTree| tree.total == 0);
        }
        Ok(())
    });
    let answer = json!({
        "format": trace.format().name,
        "title": trace.format().title,
        "bytes": bytes.len(),
        "records": seen.counts,
        "notes": notes(&seen.notes),
        "measures": trees.iter().map(measure).collect::<Vec<_>>(),
        "error": read.err().map(|error| error.to_string()),
    });
    (answer, trees)
}

/// The native records of a file, counted, and what is wrong with them.
#[derive(Default)]
struct SeenRecords {
    counts: BTreeMap<String, u64>,
    notes: Notes,
}

impl RecordSink for SeenRecords {
    fn record(&mut self, record: &dyn Record) -> Flow {
        match self.counts.get_mut(record.kind()) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(record.kind().to_owned(), 1)),
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn records(trace: &TraceSource<'_>, seen: &mut SeenRecords) -> Result<(), Error> {
    if let Some(reader) = trace.format().reader {
        let mut pull = trace.source().open(0, 0)?;
        drive(pull.as_mut(), reader(&Limits::default()).as_mut(), seen)?;
    }
    Ok(())
}

fn notes(notes: &Notes) -> Vec<Value> {
    let word = |level| match level {
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Damage => "damage",
    };
    let counts = notes.counts();
    counts
        .map(|(level, kind, count)| json!({ "level": word(level), "kind": kind, "count": count }))
        .collect()
}

fn measure(tree: &CallTree) -> Value {
    let rows = top(tree);
    let functions = rows.iter().take(FUNCTIONS).map(|row| {
        json!({
            "function": tree.symbol(row.symbol).name,
            "self": row.own,
            "total": row.total,
            "count": row.count,
        })
    });
    json!({
        "measure": tree.measure.name,
        "unit": tree.measure.unit.word(),
        "total": tree.total,
        "n_functions": rows.len(),
        "functions": functions.collect::<Vec<_>>(),
    })
}
