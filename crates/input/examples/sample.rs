//! Writes a made-up file of any format that has a generator: `sample FORMAT BYTES SEED > FILE`.
//!
//! The streams of gigabytes that docs/performance.md measures memory with are made by this.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, bytes, seed] = args.as_slice() else {
        return Err("usage: sample FORMAT BYTES SEED > FILE".into());
    };
    let format = traceloom_formats::by_name(name).ok_or("there is no such format")?;
    let sample = traceloom_samples::by_name(format.name).ok_or("this format has no generator")?;
    let mut out = std::io::stdout().lock();
    let mut result = Ok(());
    sample(seed.parse()?, bytes.parse()?, &mut |piece| {
        if result.is_ok() {
            result = out.write_all(piece);
        }
    });
    Ok(result?)
}
