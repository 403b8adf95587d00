//! Names that stand for values: the same one for the same value under the same key.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

/// The key of a run's pseudonyms, and what they look like.
///
/// They are made by SipHash-2-4: without the key nobody can compute the pseudonym of a guessed value. They keep
/// the form of what they stand for, where programs read it, and come from ranges that nobody uses.
#[derive(Clone, Copy)]
pub(super) struct Key(u64, u64);

impl Key {
    pub(super) const fn new(key: (u64, u64)) -> Self {
        Self(key.0, key.1)
    }

    /// Hashes a value; `kind` keeps equal texts of different meaning apart.
    pub(super) fn hash(self, kind: &str, value: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.0, self.1);
        hasher.write(kind.as_bytes());
        hasher.write_u8(0);
        hasher.write(value);
        hasher.finish()
    }

    /// A word such as `host-3f2a9c01b7d4`, of 48 bits.
    pub(super) fn word(self, kind: &str, value: &str) -> String {
        format!("{kind}-{:012x}", self.hash(kind, value.as_bytes()) >> 16)
    }

    /// A host keeps its pseudonym in any case of its letters.
    pub(super) fn host(self, host: &str) -> String {
        self.word("host", &host.to_ascii_lowercase())
    }

    /// An address in the class nobody may use, 240.0.0.0/4.
    pub(super) fn ipv4(self, address: &str) -> String {
        let [a, b, c, d, ..] = self.hash("ipv4", address.as_bytes()).to_le_bytes();
        format!("{}.{b}.{c}.{d}", 240 | a & 15)
    }

    /// An address in the local range, fd00::/8.
    pub(super) fn ipv6(self, address: &str) -> String {
        let hash = self.hash("ipv6", address.as_bytes());
        let group = |at: u32| (hash >> (16 * at)) & 0xffff;
        format!(
            "fd00::{:x}:{:x}:{:x}:{:x}",
            group(3),
            group(2),
            group(1),
            group(0)
        )
    }

    /// A locally administered address.
    pub(super) fn mac(self, address: &str) -> String {
        let [a, b, c, d, e, ..] = self
            .hash("mac", address.to_ascii_lowercase().as_bytes())
            .to_le_bytes();
        format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}")
    }

    /// A whole number of ten digits.
    pub(super) fn number(self, number: &str) -> String {
        let hash = self.hash("number", number.as_bytes());
        (1_000_000_000 + hash % 9_000_000_000).to_string()
    }

    /// A segment of a path, with its extension.
    pub(super) fn segment(self, segment: &str) -> String {
        let extension = segment.rsplit_once('.').map(|(_, extension)| extension);
        let known = extension.filter(|extension| {
            (1..=5).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphabetic())
        });
        let name = format!("p-{:08x}", self.hash("segment", segment.as_bytes()) >> 32);
        known.map_or(name.clone(), |extension| format!("{name}.{extension}"))
    }
}
