//! `cargo xtask page`: the page that reads a dropped file by itself, one HTML file with the module in it.

use std::fs;
use std::path::PathBuf;

use crate::cargo::{cargo, output, program, root, succeed, target};

/// The compiler's target of the module.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Returns `true` if the compiler's target is installed.
pub fn is_possible() -> bool {
    let Some(sysroot) = output(program("rustc").args(["--print", "sysroot"])) else {
        return false;
    };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot).trim());
    sysroot.join("lib/rustlib").join(TARGET).is_dir()
}

/// Builds the module and writes the page; returns where it is.
///
/// # Errors
/// When the module does not build or the page cannot be written.
pub fn run() -> Result<PathBuf, String> {
    let mut build = cargo(["build", "--profile", "page", "--target", TARGET]);
    succeed(build.args(["--package", "traceloom-page"]))?;
    let said = |error: std::io::Error| error.to_string();
    let target = target();
    let module = target.join(TARGET).join("page/traceloom_page.wasm");
    let module = fs::read(module).map_err(said)?;
    let frame = fs::read_to_string(root().join("crates/page/page.html")).map_err(said)?;
    let page = frame.replace("{module}", &base64(&module));
    let folder = target.join("page");
    fs::create_dir_all(&folder).map_err(said)?;
    let path = folder.join("traceloom.html");
    fs::write(&path, &page).map_err(said)?;
    let (module, page) = (module.len() / 1024, page.len() / 1024);
    println!("{}: {page} KiB, the module {module}", path.display());
    Ok(path)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_of_three_bytes_are_padded() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
