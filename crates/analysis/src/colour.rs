//! Colours: one hue for each package, so that a layer of the program is a patch of one colour.

use crate::names::package;
use crate::symbol::{Symbol, is_synthetic};
use traceloom_model::FrameKind;

const N_HUES: u32 = 14;

/// Hues in degrees and saturation in percent. The first ones have a meaning, the others are for packages.
const HUES: [(u16, u8); N_HUES as usize] = [
    // Platform: java., jdk., sun., std::, runtime.
    (40, 22),
    // Native code and the C++ of a runtime.
    (48, 70),
    // Kernel.
    (22, 75),
    // Nothing the program did: no stack, unknown.
    (0, 0),
    (205, 62),
    (150, 45),
    (275, 45),
    (345, 60),
    (180, 50),
    (95, 45),
    (235, 55),
    (315, 45),
    (10, 62),
    (65, 50),
];

const MEANT: u32 = 4;

/// Shades of each hue, so that neighbours can be told apart.
pub(crate) const SHADES: u32 = 3;

/// Number of colours.
pub(crate) const COLOURS: u32 = N_HUES * SHADES;

/// Packages that a platform brings.
const PLATFORM: [&str; 12] = [
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "java/", "javax/", "jdk/", "sun/", "std::",
    "core::", "runtime.",
];

/// FNV-1a: the same name has the same colour in every picture.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// What is one patch: `com.acme`, `org.hibernate`, a crate, a Go module, a library.
fn layer(symbol: &Symbol) -> Option<&str> {
    let name = symbol.function();
    if let Some(package) = package(name).or(symbol.package.as_deref()) {
        let mut dots = package.match_indices(['.', '/']);
        let second = dots.nth(1).map_or(package.len(), |(at, _)| at);
        return package.get(..second);
    }
    if let Some((krate, _)) = name.trim_start_matches(['<', '&']).split_once("::") {
        return Some(krate);
    }
    if let Some((module, _)) = name.rsplit_once('/') {
        return Some(module);
    }
    match (&symbol.library, name.split_once('.')) {
        (Some(library), _) => Some(library),
        (None, Some((module, _))) => Some(module),
        (None, None) => symbol.file.as_deref(),
    }
}

/// Returns the package of a symbol; none for what a platform brings, native code and what belongs nowhere.
pub(crate) fn package_of(symbol: &Symbol) -> Option<&str> {
    (colour(symbol) / SHADES >= MEANT)
        .then(|| layer(symbol))
        .flatten()
}

/// Returns the number of a symbol's colour, below [`COLOURS`].
pub(crate) fn colour(symbol: &Symbol) -> u32 {
    let name = symbol.function();
    let hue = if is_synthetic(symbol) {
        3
    } else if symbol.kind == FrameKind::Kernel || name.ends_with("_[k]") {
        2
    } else if matches!(symbol.kind, FrameKind::Native | FrameKind::Cpp) || name.contains("+0x") {
        1
    } else if PLATFORM.iter().any(|start| name.starts_with(start)) {
        0
    } else {
        // A bare word is a C function: nothing says where it belongs.
        layer(symbol).map_or(1, |layer| MEANT + hash(layer) % (N_HUES - MEANT))
    };
    let owner = name
        .rsplit_once(['.', ':'])
        .map_or(name, |(owner, _)| owner);
    hue * SHADES + hash(owner) / 7 % SHADES
}

/// Returns the number of a name's colour where one program is looked at closely: a hue for each class.
pub(crate) fn colour_of_class(name: &str) -> u32 {
    let meant = colour(&Symbol::named(name));
    // A bare word is the name of a span or event there.
    if meant < MEANT * SHADES && (meant / SHADES != 1 || name.contains("+0x")) {
        return meant;
    }
    let owner = name
        .rsplit_once(['.', ':'])
        .map_or(name, |(owner, _)| owner);
    let hue = MEANT + hash(owner) % (N_HUES - MEANT);
    hue * SHADES + hash(name) / 7 % SHADES
}

/// Returns hue, saturation and lightness of a colour.
pub(crate) fn hsl(colour: u32, dark: bool) -> (u16, u8, u8) {
    let (hue, saturation) = HUES
        .get((colour / SHADES) as usize)
        .copied()
        .unwrap_or((0, 0));
    let shade = u8::try_from(colour % SHADES).unwrap_or(0);
    // Text on it has a contrast of 4.5 at least.
    let lightness = if dark { 22 + 4 * shade } else { 72 + 5 * shade };
    (
        hue,
        if dark { saturation / 4 * 3 } else { saturation },
        lightness,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_one_hue() {
        let hue = |name: &str| colour(&Symbol::named(name)) / SHADES;
        assert_eq!(
            hue("com.acme.shop.Order.buy"),
            hue("com.acme.stock.Item.take")
        );
        assert_ne!(
            hue("com.acme.shop.Order.buy"),
            hue("org.hibernate.Session.get")
        );
        assert_eq!(hue("java.util.HashMap.get"), 0);
        assert_eq!(hue("libz.so+0x12"), 1);
        assert_eq!(hue("do_syscall_64_[k]"), 2);
        assert_eq!(hue("(no stack)"), 3);
        assert_eq!(hue("mycrate::a::b"), hue("mycrate::c"));
        assert!(colour(&Symbol::named("x")) < COLOURS);
    }
}
