//! Files of indexes, damaged.

use std::fs;
use std::path::PathBuf;

/// Damages every file: a piece, the hash of what it is of, the directory, or all but the beginning.
pub fn damage(paths: &[PathBuf]) {
    for (at, path) in paths.iter().enumerate() {
        let bytes = fs::read(path).expect("an index");
        let mut damaged = bytes.clone();
        match at % 4 {
            0 => damaged[60] ^= 1,
            1 => damaged[20] ^= 1,
            2 => damaged[bytes.len() - 60] ^= 1,
            _ => damaged.truncate(bytes.len() / 2),
        }
        fs::write(path, &damaged).expect("an index");
    }
}
