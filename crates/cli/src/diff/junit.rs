//! A report that build servers show: a test case for each budget.

use std::fmt::Write as _;

use traceloom_analysis::escaped;

use super::Checked;

/// Writes the report.
pub(super) fn report(checked: &[Checked<'_>]) -> String {
    let failures = checked.iter().filter(|one| one.broken).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\"",
        checked.len()
    );
    // Writing to a string does not fail.
    let _ = writeln!(out, "<testsuites {counts}>");
    let _ = writeln!(out, "  <testsuite name=\"traceloom diff\" {counts}>");
    for one in checked {
        let (name, text) = (escaped(one.budget.text()), escaped(&one.text));
        let _ = write!(
            out,
            "    <testcase classname=\"traceloom.diff\" name=\"not {name}\">"
        );
        if one.broken {
            let _ = write!(out, "<failure message=\"{name}\">{text}</failure>");
        } else {
            let _ = write!(out, "<system-out>{text}</system-out>");
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}
