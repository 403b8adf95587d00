//! The rows: commands, inputs, peers, bounds.

use std::time::Duration;

use crate::cargo::{program, succeeds_within};

/// A command on inputs of one format.
pub struct Row {
    /// What is done, as the table names it.
    pub name: &'static str,
    /// Whose generator makes the inputs.
    pub format: &'static str,
    pub extension: &'static str,
    /// About the bytes of the smallest input; the largest has sixteen times as many.
    pub bytes: u64,
    /// Arguments in front of the input.
    pub ours: &'static [&'static str],
    pub peer: Option<&'static Peer>,
    /// The most memory it may take, in MiB.
    pub bound: u64,
}

/// A program of others that reads the same input.
pub struct Peer {
    pub name: &'static str,
    /// It is a tool of the JDK, which takes recordings that the JDK made.
    pub is_jdk: bool,
    /// Returns its words, with `INPUT` for the path; none where it is not installed.
    pub command: fn() -> Option<Vec<String>>,
}

const JFR_SUMMARY: Peer = Peer {
    name: "`jfr summary` of the JDK",
    is_jdk: true,
    command: || installed("jfr", &["version"], &["summary", "INPUT"]),
};

const JFR_PRINT: Peer = Peer {
    name: "`jfr print --json` of the JDK",
    is_jdk: true,
    command: || installed("jfr", &["version"], &["print", "--json", "INPUT"]),
};

const PPROF_TOP: Peer = Peer {
    name: "`go tool pprof -top`",
    is_jdk: false,
    command: || go(&["tool", "pprof", "-top", "INPUT"]),
};

const PPROF_RAW: Peer = Peer {
    name: "`go tool pprof -raw`",
    is_jdk: false,
    command: || go(&["tool", "pprof", "-raw", "INPUT"]),
};

const JQ: Peer = Peer {
    name: "`jq length`",
    is_jdk: false,
    command: || installed("jq", &["--version"], &["length", "INPUT"]),
};

const ORJSON: Peer = Peer {
    name: "`orjson.loads` in Python",
    is_jdk: false,
    command: || {
        python(
            "import orjson",
            "import orjson; orjson.loads(open('INPUT', 'rb').read())",
        )
    },
};

const DUCKDB: Peer = Peer {
    name: "DuckDB, `read_csv` and a sum by stack",
    is_jdk: false,
    command: || {
        python(
            "import duckdb",
            "import duckdb; duckdb.sql(\"select a, sum(b) from (select regexp_extract(l, '(.*) ([0-9]+)$', 1) a, \
             regexp_extract(l, ' ([0-9]+)$', 1)::bigint b from read_csv('INPUT', header=false, delim='\\x01', \
             quote='', columns={'l': 'varchar'})) group by a order by 2 desc limit 20\").fetchall()",
        )
    },
};

const INFERNO: Peer = Peer {
    name: "`inferno-flamegraph`",
    is_jdk: false,
    command: || installed("inferno-flamegraph", &["--version"], &["INPUT"]),
};

/// Returns true if the JDK can make recordings and read them.
pub fn has_jdk() -> bool {
    installed("jfr", &["version"], &[]).is_some() && installed("java", &["-version"], &[]).is_some()
}

fn installed(name: &str, asks: &[&str], args: &[&str]) -> Option<Vec<String>> {
    let is_there = succeeds_within(program(name).args(asks), Duration::from_secs(60));
    let words = [name].into_iter().chain(args.iter().copied());
    is_there.then(|| words.map(str::to_owned).collect())
}

/// Go is where the tests look for it too.
fn go(args: &[&str]) -> Option<Vec<String>> {
    let go = std::env::var("TRACELOOM_GO").unwrap_or_else(|_| "go".to_owned());
    installed(&go, &["version"], args)
}

/// Packages are where the tests look for them too.
fn python(import: &str, script: &str) -> Option<Vec<String>> {
    let packages = std::env::var("TRACELOOM_PYTHON_PACKAGES").unwrap_or_default();
    let path = format!("import sys; sys.path.insert(0, '{packages}'); ");
    let asks = format!("{path}{import}");
    installed(
        "python3",
        &["-c", &asks],
        &["-c", &format!("{path}{script}")],
    )
}

const MIB: u64 = 1 << 20;

pub const ROWS: &[Row] = &[
    Row {
        name: "JFR `info`",
        format: "jfr",
        extension: "jfr",
        bytes: 8 * MIB,
        ours: &["info"],
        peer: Some(&JFR_SUMMARY),
        bound: 100,
    },
    Row {
        name: "JFR `top`",
        format: "jfr",
        extension: "jfr",
        bytes: 2 * MIB,
        ours: &["top"],
        peer: None,
        bound: 300,
    },
    Row {
        name: "JFR `dump --json`",
        format: "jfr",
        extension: "jfr",
        bytes: MIB / 2,
        ours: &["dump", "--json"],
        peer: Some(&JFR_PRINT),
        bound: 100,
    },
    Row {
        name: "pprof `top`",
        format: "pprof",
        extension: "pb",
        bytes: MIB,
        ours: &["top"],
        peer: Some(&PPROF_TOP),
        bound: 100,
    },
    Row {
        name: "pprof `dump`",
        format: "pprof",
        extension: "pb",
        bytes: MIB,
        ours: &["dump"],
        peer: Some(&PPROF_RAW),
        bound: 100,
    },
    Row {
        name: "Chrome JSON `info`",
        format: "chrome",
        extension: "json",
        bytes: 2 * MIB,
        ours: &["info"],
        peer: Some(&ORJSON),
        bound: 100,
    },
    Row {
        name: "Chrome JSON `top`",
        format: "chrome",
        extension: "json",
        bytes: 2 * MIB,
        ours: &["top"],
        peer: Some(&JQ),
        bound: 200,
    },
    Row {
        name: "folded `top`",
        format: "folded",
        extension: "folded",
        bytes: 4 * MIB,
        ours: &["top"],
        peer: Some(&DUCKDB),
        bound: 300,
    },
    Row {
        name: "folded to SVG",
        format: "folded",
        extension: "folded",
        bytes: MIB,
        ours: &["flame", "--force", "-o", "out.svg"],
        peer: Some(&INFERNO),
        bound: 300,
    },
    Row {
        name: "line protocol `info`",
        format: "line-protocol",
        extension: "lp",
        bytes: 2 * MIB,
        ours: &["info"],
        peer: None,
        bound: 100,
    },
    Row {
        name: "Zorka C `top`",
        format: "zorka-c",
        extension: "zorka",
        bytes: 2 * MIB,
        ours: &["top"],
        peer: None,
        bound: 500,
    },
    Row {
        name: "Heph `info`",
        format: "heph",
        extension: "heph",
        bytes: 4 * MIB,
        ours: &["info"],
        peer: None,
        bound: 100,
    },
    Row {
        name: "TPTP binary `monitors`",
        format: "tptp-binary",
        extension: "trcbin",
        bytes: 4 * MIB,
        ours: &["monitors"],
        peer: None,
        bound: 120,
    },
    Row {
        name: "TPTP binary `timeline`",
        format: "tptp-binary",
        extension: "trcbin",
        bytes: MIB,
        ours: &["timeline", "--force", "-o", "out.html"],
        peer: None,
        bound: 500,
    },
];
