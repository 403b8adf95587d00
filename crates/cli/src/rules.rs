//! Files of rules that somebody wrote.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

use crate::usage::Usage;

/// Reads a file that a flag names: at most 64 MiB of UTF-8.
pub(crate) fn rules_file(flag: &str, path: impl AsRef<Path>) -> anyhow::Result<String> {
    const MOST: u64 = 64 << 20;
    let (mut text, file) = (Vec::new(), path.as_ref());
    let path = file.display();
    let file = File::open(file).with_context(|| format!("{flag}: {path}"))?;
    let read = file.take(MOST + 1).read_to_end(&mut text);
    if read.with_context(|| format!("{flag}: {path}"))? as u64 > MOST {
        return Err(Usage(format!("{flag}: {path} is larger than {MOST} bytes")).into());
    }
    let text = String::from_utf8(text);
    Ok(text.map_err(|_| Usage(format!("{flag}: {path} is not UTF-8")))?)
}
