//! Parses a file with the crate `influxdb-line-protocol` and prints how many points and fields it holds: what `cargo xtask peers` measures
//! `info` and `check` beside.
//!
//! `cargo run --release -p traceloom-formats --example parse_line_protocol -- FILE`

#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own, not the library"
)]

use influxdb_line_protocol::parse_lines;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: parse_line_protocol FILE")?;
    let text = std::fs::read_to_string(path)?;
    let (mut n_points, mut n_fields) = (0_u64, 0_u64);
    for point in parse_lines(&text) {
        n_points += 1;
        n_fields += u64::try_from(point?.field_set.len())?;
    }
    println!("{n_points} points, {n_fields} fields");
    Ok(())
}
