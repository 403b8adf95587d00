//! What others read the same inputs with, where it is installed.

use std::time::Duration;

use crate::cargo::{cargo, program, succeed, succeeds_within, target};

/// A program of others that reads the same input.
pub struct Peer {
    pub name: &'static str,
    /// Returns its words, with `INPUT` for the path; none where it is not installed.
    pub command: fn() -> Option<Vec<String>>,
}

pub const JFR_SUMMARY: Peer = Peer {
    name: "`jfr summary` of the JDK",
    command: || installed("jfr", &["version"], &["summary", "INPUT"]),
};

pub const JFR_PRINT: Peer = Peer {
    name: "`jfr print --json` of the JDK",
    command: || installed("jfr", &["version"], &["print", "--json", "INPUT"]),
};

pub const JFRCONV_COLLAPSED: Peer = Peer {
    name: "`jfrconv --alloc -o collapsed` of async-profiler",
    command: || jfrconv(&["--alloc", "-o", "collapsed", "INPUT", "out.peer"]),
};

pub const JFRCONV_PPROF: Peer = Peer {
    name: "`jfrconv --alloc -o pprof` of async-profiler",
    command: || jfrconv(&["--alloc", "-o", "pprof", "INPUT", "out.peer"]),
};

pub const PPROF_TOP: Peer = Peer {
    name: "`go tool pprof -top`",
    command: || go(&["tool", "pprof", "-top", "INPUT"]),
};

pub const PPROF_RAW: Peer = Peer {
    name: "`go tool pprof -raw`",
    command: || go(&["tool", "pprof", "-raw", "INPUT"]),
};

pub const JQ: Peer = Peer {
    name: "`jq length`",
    command: || installed("jq", &["--version"], &["length", "INPUT"]),
};

pub const ORJSON: Peer = Peer {
    name: "`orjson.loads` in Python",
    command: || {
        python(
            "import orjson",
            "import orjson; orjson.loads(open('INPUT', 'rb').read())",
        )
    },
};

pub const DUCKDB: Peer = Peer {
    name: "DuckDB, `read_csv` and a sum by stack",
    command: || {
        python(
            "import duckdb",
            "import duckdb; duckdb.sql(\"select a, sum(b) from (select regexp_extract(l, '(.*) ([0-9]+)$', 1) a, \
             regexp_extract(l, ' ([0-9]+)$', 1)::bigint b from read_csv('INPUT', header=false, delim='\\x01', \
             quote='', columns={'l': 'varchar'})) group by a order by 2 desc limit 20\").fetchall()",
        )
    },
};

pub const INFERNO: Peer = Peer {
    name: "`inferno-flamegraph`",
    command: || installed("inferno-flamegraph", &["--help"], &["INPUT"]),
};

pub const LINE_PROTOCOL_CRATE: Peer = Peer {
    name: "crate `influxdb-line-protocol`, parsed alone",
    command: || example("traceloom-formats", "parse_line_protocol", &["INPUT"]),
};

pub const ZORKA_READER: Peer = Peer {
    name: "Zorka's own reader in Java, which counts",
    command: || original("TRACELOOM_ZORKA_READER", &["--count", "INPUT"]),
};

pub const CDT_READER: Peer = Peer {
    name: "CDT's own reader of calls in Java",
    command: || original("TRACELOOM_CDT_READER", &["INPUT"]),
};

pub const TRUE: Peer = Peer {
    name: "`true`",
    command: || installed("true", &[], &[]),
};

/// Returns true if the JDK can make recordings.
pub fn has_jdk() -> bool {
    installed("jfr", &["version"], &[]).is_some() && installed("java", &["-version"], &[]).is_some()
}

fn installed(name: &str, asks: &[&str], args: &[&str]) -> Option<Vec<String>> {
    let is_there = succeeds_within(program(name).args(asks), Duration::from_secs(60));
    is_there.then(|| words(name, args))
}

fn words(name: &str, args: &[&str]) -> Vec<String> {
    let words = [name].into_iter().chain(args.iter().copied());
    words.map(str::to_owned).collect()
}

/// Go is where the tests look for it too.
fn go(args: &[&str]) -> Option<Vec<String>> {
    let go = std::env::var("TRACELOOM_GO").unwrap_or_else(|_| "go".to_owned());
    installed(&go, &["version"], args)
}

/// The converter is a script of its project; `TRACELOOM_JFRCONV` names another.
fn jfrconv(args: &[&str]) -> Option<Vec<String>> {
    let jfrconv = std::env::var("TRACELOOM_JFRCONV").unwrap_or_else(|_| "jfrconv".to_owned());
    installed(&jfrconv, &["--help"], args)
}

/// Readers of the projects that a format comes from: docs/emit.md says how they are built.
fn original(variable: &str, args: &[&str]) -> Option<Vec<String>> {
    let name = std::env::var(variable).ok()?;
    Some(words(&name, args))
}

/// An example of ours that has a crate of others do all the work.
fn example(package: &str, name: &str, args: &[&str]) -> Option<Vec<String>> {
    let build = [
        "build",
        "--release",
        "--package",
        package,
        "--example",
        name,
    ];
    succeed(&mut cargo(build)).ok()?;
    let built = target().join("release/examples").join(name);
    Some(words(&built.to_string_lossy(), args))
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
