//! The version of the workspace, and what it promises.

use std::fmt;
use std::fs;

use crate::cargo::root;

/// Three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    numbers: [u32; 3],
}

impl Version {
    /// Reads a version as manifests have it, without anything behind its numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let version = [numbers.next()??, numbers.next()??, numbers.next()??];
        numbers
            .next()
            .is_none()
            .then_some(Self { numbers: version })
    }

    /// Returns true if a program made for the other version may get this one: the first number that is not 0 is the same.
    pub fn is_compatible(self, other: Self) -> bool {
        let n_fixed = match self.numbers[0] {
            0 => 2,
            _ => 1,
        };
        self.numbers[..n_fixed] == other.numbers[..n_fixed]
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third] = self.numbers;
        write!(f, "{first}.{second}.{third}")
    }
}

/// Returns the version that Cargo.toml declares.
///
/// # Errors
/// When it declares none.
pub fn declared() -> Result<Version, String> {
    let manifest = root().join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).map_err(|error| error.to_string())?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version
        .and_then(Version::parse)
        .ok_or_else(|| "Cargo.toml declares no version".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_version_promises_depends_on_its_first_number() {
        let is_compatible = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| Version::parse(text).expect("a version"));
            one.is_compatible(other)
        };
        assert!(is_compatible("0.2.7", "0.2.0"));
        assert!(!is_compatible("0.3.0", "0.2.9"));
        assert!(!is_compatible("1.0.0", "0.2.0"));
        assert!(is_compatible("1.4.0", "1.0.2"));
        assert!(!is_compatible("2.0.0", "1.0.0"));
        assert_eq!(Version::parse("0.2"), None);
        assert_eq!(Version::parse("0.2.0.1"), None);
        assert_eq!(
            declared().map(|version| Version::parse(&version.to_string()) == Some(version)),
            Ok(true)
        );
    }
}
