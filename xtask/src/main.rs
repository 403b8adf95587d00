//! The chores of this repository, run as `cargo xtask COMMAND`.
//!
//! It depends on nothing but the standard library, so that the first
//! `cargo xtask check` of a fresh checkout starts within seconds.

mod bless;
mod book;
mod callgrind;
mod cargo;
mod check;
mod clients;
mod collect;
mod diff;
mod growth;
mod house;
mod instructions;
mod laws;
mod memory;
mod msrv;
mod names;
mod outputs;
mod page;
mod pages;
mod peers;
mod python;
mod sbom;
mod semver;
mod tidy;
mod version;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check       everything CI runs, stopping at the first failure
  tidy        the rules of this repository that no compiler knows
  book        the documents as a site, in target/book/html; needs mdbook
  page        the page that reads a dropped file by itself, in target/page/traceloom.html; needs the target wasm32-unknown-unknown
  python      the wheel of crates/python, and what it reads beside what the program prints; needs maturin, and python3 with pyarrow
  sbom FILE [TARGET]
              the crates that the program is made of, with licences and checksums, as CycloneDX
  names [--renew]
              the public names of the published crates, beside those that docs/names.txt promises; --renew writes those that
              are there
  bless       rewrite golden files, snapshots and generated documents
  laws --all  the long run of the laws every format obeys
  clients     installs the agents and exporters that tests of the collector use, and runs those tests
  memory SMALL LARGE [TARGET…]
              the peak memory of conversions of two sizes, such as 512M 2G
  diff        the processor time of a comparison of two profiles of a million samples
  growth [CASE…]
              whether processor time follows the size of inputs of many things: n, 2n, 4n
  collect [--seconds N] [--rounds N] [--agents N] [--serve PROGRAM]
              what `traceloom serve` takes under load, beside its disk; the long run is --seconds 600 --rounds 1
  collect --posts [--seconds N] [--serve PROGRAM]
              what it takes over HTTP: 20 MB/s of Zorka's traces, then 200 uploads of profiles a second
  instructions [--renew]
              instructions of commands of the debug build, beside xtask/instructions.txt; --renew writes those of this build
  peers [--traceloom PROGRAM --sample PROGRAM] [ROW…]
              whole commands beside what else reads the same input, into docs/performance.md; python3 waits for them,
              valgrind counts instructions
  pages [PAGE…]
              how fast pages draw and answer in Chromium
  house       lines, names of types, phrases in comments, the largest functions and files
  outputs OLD NEW [INPUT…]
              whether two builds of the program print and write the same over the corpus";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["check"] => check::run(),
        ["tidy"] => tidy::run(),
        ["book"] => {
            cargo::release_program().and_then(|target| book::run(&target.join("release/traceloom")))
        }
        ["python"] => python::run(),
        ["page"] => page::run().map(drop),
        ["sbom", file] => sbom::run(file, None),
        ["sbom", file, target] => sbom::run(file, Some(target)),
        ["clients"] => clients::run(),
        ["names"] => names::run(false),
        ["names", "--renew"] => names::run(true),
        ["bless"] => bless::run(),
        ["laws", "--all"] => laws::run(),
        ["memory", small, large, targets @ ..] => memory::run([small, large], targets),
        ["diff"] => diff::run(),
        ["growth", names @ ..] => growth::run(names),
        ["collect", "--posts", options @ ..] => collect::posts(options),
        ["collect", options @ ..] => collect::run(options),
        ["instructions"] => instructions::run(false),
        ["instructions", "--renew"] => instructions::run(true),
        ["peers", arguments @ ..] => peers::run(arguments),
        ["pages", names @ ..] => pages::run(names),
        ["house"] => house::run(),
        ["outputs", old, new, inputs @ ..] => outputs::run([old, new], inputs),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}
