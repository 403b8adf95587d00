//! Base64 of the byte fields of the `guance` dialect: written with padding, read with and without.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes a text; none when it is not base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    ENGINE.decode(text).ok()
}

/// Appends `bytes` as base64.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(ENGINE.encode(bytes).as_bytes());
}
