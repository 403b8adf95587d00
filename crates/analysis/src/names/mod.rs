//! Names for people: short Java names, demangled symbols, addresses without symbol.

mod alike;
mod fit;
mod java;
mod pattern;
mod short;

use std::borrow::Cow;

pub use alike::alike;
pub(crate) use fit::{fit, levels};
pub use java::{package, shorten};
pub(crate) use pattern::find_alike;
pub use pattern::{FunctionMatch, FunctionPattern, PatternError};
pub use short::{ShortNames, short_frame, without_line};

/// Demangles a Rust or C++ symbol; other names come back as they are.
///
/// The hash at the end of a Rust symbol is left out: it changes with every build.
#[must_use]
pub fn demangle(name: &str) -> Cow<'_, str> {
    let Some(symbol) = mangled(name) else {
        return name.into();
    };
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return format!("{rust:#}").into();
    }
    let parsed = cpp_demangle::Symbol::new(symbol).ok();
    let plain = parsed.and_then(|symbol| symbol.demangle().ok());
    plain.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Returns the mangled symbol that a name seems to be.
pub(crate) fn mangled(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('_')?;
    // Mach-O puts one more underscore before each symbol.
    if inner.starts_with("_Z") || inner.starts_with("_R") {
        return Some(inner);
    }
    inner.starts_with(['Z', 'R']).then_some(name)
}

/// Names an address that has no symbol: `module+0xaddr`.
#[must_use]
pub fn unsymbolised(module: &str, address: u64) -> String {
    let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
    format!("{file}+{address:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demangles_both_languages() {
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangle("__ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangle("_ZNbroken"), "_ZNbroken");
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("_start"), "_start");
    }

    #[test]
    fn addresses_name_the_file() {
        assert_eq!(
            unsymbolised("/usr/lib/libc.so.6", 0x1f30),
            "libc.so.6+0x1f30"
        );
        assert_eq!(unsymbolised("C:\\app\\x.dll", 1), "x.dll+0x1");
    }
}
