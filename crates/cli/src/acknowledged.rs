//! What a collector acknowledged of what was sent: the ledger, and how soon the answers came.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use traceloom_formats::Output as _;
use traceloom_input::save::Save;
use traceloom_server::{Latencies, Ledger};

use crate::numbers::things;

/// Returns a line on the times from a request to its answer.
pub(crate) fn answer_times(what: &str, answers: &Latencies) -> Option<String> {
    let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let many = match what.split_once(' ') {
        Some((first, rest)) => format!("{first}s {rest}"),
        None => format!("{what}s"),
    };
    (answers.count() > 0).then(|| {
        format!(
            "{} answered: half within {}, 99 % within {}, all within {}",
            things(answers.count(), what, &many),
            milliseconds(answers.quantile(0.5)),
            milliseconds(answers.quantile(0.99)),
            milliseconds(answers.longest()),
        )
    })
}

/// Writes what was acknowledged, a JSON object a line.
pub(crate) fn save_ledger(path: &Path, ledger: &[Ledger], force: bool) -> anyhow::Result<()> {
    let mut text = String::new();
    for row in ledger {
        let row = json!({
            "instance": row.instance,
            "part": row.part,
            "acknowledged": row.acknowledged,
            "sent": row.sent,
        });
        writeln!(text, "{row}")?;
    }
    let mut save = Save::start(path, false, force)?;
    save.write("", text.as_bytes())?;
    Ok(save.commit()?)
}
