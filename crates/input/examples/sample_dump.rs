//! Writes the dump directory of an invented service: `sample_dump OUT TRACE_BYTES SEED [--gzip]`.
//!
//! `sample_dump testdata/shop --story` wrote the sample that is shipped; docs/performance.md measures larger dumps.

use std::path::Path;

use traceloom_formats::{Error, Output};
use traceloom_input::save::Save;

/// Names every file as an agent does, with `.gz`.
struct Gzip<'o>(&'o mut dyn Output);

impl Output for Gzip<'_> {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.0.write(&format!("{name}.gz"), bytes)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [out, story] = args.as_slice()
        && story == "--story"
    {
        let mut save = Save::start(Path::new(out), true, false)?;
        traceloom_samples::cdt::shop("shop-backend", &mut Gzip(&mut save))?;
        save.commit()?;
        return Ok(());
    }
    let [out, bytes, seed, rest @ ..] = args.as_slice() else {
        return Err("usage: sample_dump OUT TRACE_BYTES SEED [--gzip], or OUT --story".into());
    };
    let mut save = Save::start(Path::new(out), true, false)?;
    let (bytes, seed) = (bytes.parse()?, seed.parse()?);
    if rest.iter().any(|flag| flag == "--gzip") {
        traceloom_samples::cdt::dump(seed, bytes, "shop-backend", &mut Gzip(&mut save))?;
    } else {
        traceloom_samples::cdt::dump(seed, bytes, "shop-backend", &mut save)?;
    }
    save.commit()?;
    Ok(())
}
