//! The rows: commands, inputs, peers, bounds.

use super::inputs::{ALLOCATIONS, InputKind, STEPS};
use super::tools::{self, Peer};

/// A command on inputs of one kind.
pub struct Row {
    /// What is done, as the table names it.
    pub name: &'static str,
    pub input: InputKind,
    /// About the bytes of the smallest input; the largest has sixteen times as many.
    pub bytes: u64,
    /// Its arguments, with `INPUT` for the input and `OTHER` for one that another seed made.
    pub ours: &'static [&'static str],
    pub peer: Option<&'static Peer>,
    /// The most memory it may take, in MiB.
    pub bound: u64,
}

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

const CHROME: InputKind = InputKind::Sample("chrome", "json");
const FOLDED: InputKind = InputKind::Sample("folded", "folded");
const JFR: InputKind = InputKind::Sample("jfr", "jfr");
const HEPH: InputKind = InputKind::Sample("heph", "heph");
const LINE_PROTOCOL: InputKind = InputKind::Sample("line-protocol", "lp");
const PPROF: InputKind = InputKind::Sample("pprof", "pb");
const TPTP: InputKind = InputKind::Sample("tptp-binary", "trcbin");
const ZORKA: InputKind = InputKind::Sample("zorka-c", "zorka");
const RECORDED_STEPS: InputKind = InputKind::Recording(&STEPS);
const RECORDED_ALLOCATIONS: InputKind = InputKind::Recording(&ALLOCATIONS);

const fn row(
    name: &'static str,
    input: InputKind,
    bytes: u64,
    ours: &'static [&'static str],
    peer: Option<&'static Peer>,
    bound: u64,
) -> Row {
    Row {
        name,
        input,
        bytes,
        ours,
        peer,
        bound,
    }
}

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("start-up", InputKind::None, 0, &["--version"], Some(&tools::TRUE), 20),
    row("JFR `info`", RECORDED_STEPS, 8 * MIB, &["info", "INPUT"], Some(&tools::JFR_SUMMARY), 100),
    row("JFR `top`", RECORDED_ALLOCATIONS, 2 * MIB, &["top", "INPUT"], Some(&tools::JFRCONV_COLLAPSED), 300),
    row("JFR to folded", RECORDED_ALLOCATIONS, 2 * MIB, &["convert", "INPUT", "out.folded", "--force", "--value", "alloc_tlab"], Some(&tools::JFRCONV_COLLAPSED), 300),
    row("JFR to pprof", RECORDED_ALLOCATIONS, 2 * MIB, &["convert", "INPUT", "out.pb", "--force"], Some(&tools::JFRCONV_PPROF), 300),
    row("JFR to pprof, added up", RECORDED_ALLOCATIONS, 2 * MIB, &["convert", "INPUT", "out.pb", "--force", "--to", "pprof:sums"], Some(&tools::JFRCONV_PPROF), 300),
    row("JFR `dump --json`", RECORDED_STEPS, MIB / 2, &["dump", "--json", "INPUT"], Some(&tools::JFR_PRINT), 100),
    row("pprof `top`", PPROF, MIB, &["top", "INPUT"], Some(&tools::PPROF_TOP), 100),
    row("pprof `dump`", PPROF, MIB, &["dump", "INPUT"], Some(&tools::PPROF_RAW), 100),
    row("pprof `flame`", PPROF, 2 * MIB, &["flame", "INPUT", "--force", "-o", "out.html"], None, 120),
    row("pprof `report`", PPROF, 2 * MIB, &["report", "INPUT", "--force", "-o", "out.html"], None, 150),
    row("Chrome JSON `info`", CHROME, 2 * MIB, &["info", "INPUT"], Some(&tools::ORJSON), 100),
    row("Chrome JSON `top`", CHROME, 2 * MIB, &["top", "INPUT"], Some(&tools::JQ), 200),
    row("folded `top`", FOLDED, 4 * MIB, &["top", "INPUT"], Some(&tools::DUCKDB), 300),
    row("folded to SVG", FOLDED, MIB, &["flame", "INPUT", "--force", "-o", "out.svg"], Some(&tools::INFERNO), 300),
    row("folded to SVG, small", FOLDED, 17 * KIB, &["flame", "INPUT", "--force", "-o", "out.svg"], Some(&tools::INFERNO), 100),
    row("line protocol `info`", LINE_PROTOCOL, 2 * MIB, &["info", "INPUT"], Some(&tools::LINE_PROTOCOL_CRATE), 100),
    row("line protocol `check`", LINE_PROTOCOL, 2 * MIB, &["check", "INPUT"], Some(&tools::LINE_PROTOCOL_CRATE), 100),
    row("Zorka C `top`", ZORKA, 8 * MIB, &["top", "INPUT"], Some(&tools::ZORKA_READER), 500),
    row("Zorka C `check`", ZORKA, 8 * MIB, &["check", "INPUT"], Some(&tools::ZORKA_READER), 100),
    row("Zorka C `report`", ZORKA, 4 * MIB, &["report", "INPUT", "--force", "-o", "out.html"], None, 300),
    row("Zorka C `diff`", ZORKA, 4 * MIB, &["diff", "INPUT", "OTHER"], None, 600),
    row("CDT `calls`, rows alone", InputKind::Dump, 24 * MIB, &["calls", "INPUT/calls", "-n", "20"], Some(&tools::CDT_READER), 100),
    row("CDT `calls`", InputKind::Dump, 2 * MIB, &["calls", "INPUT", "-n", "20"], Some(&tools::CDT_READER), 100),
    row("CDT `info`", InputKind::Dump, 2 * MIB, &["info", "INPUT"], None, 100),
    row("CDT `flame`", InputKind::Dump, 2 * MIB, &["flame", "INPUT", "--force", "-o", "out.html"], None, 300),
    row("CDT `report`", InputKind::Dump, 2 * MIB, &["report", "INPUT", "--force", "-o", "out.html"], None, 300),
    row("CDT `check`", InputKind::Dump, 2 * MIB, &["check", "INPUT"], None, 100),
    row("CDT `timeline`", InputKind::Dump, 2 * MIB, &["timeline", "INPUT", "--force", "-o", "out.html"], None, 500),
    row("Heph `info`", HEPH, 4 * MIB, &["info", "INPUT"], None, 100),
    row("TPTP binary `monitors`", TPTP, 4 * MIB, &["monitors", "INPUT"], None, 120),
    row("TPTP binary `objects`", TPTP, 4 * MIB, &["objects", "INPUT"], None, 120),
    row("JFR `timeline`", JFR, 4 * MIB, &["timeline", "INPUT", "--force", "-o", "out.html"], None, 500),
    row("TPTP binary `timeline`", TPTP, MIB, &["timeline", "INPUT", "--force", "-o", "out.html"], None, 500),
];
