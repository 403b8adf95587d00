//! Base64 with padding, as the byte fields of the `guance` dialect carry it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Decodes text whose padding may be missing; none when it is no base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let plain = match text {
        [plain @ .., b'=', b'='] | [plain @ .., b'='] if text.len().is_multiple_of(4) => plain,
        plain => plain,
    };
    let mut out = Vec::with_capacity(plain.len() / 4 * 3 + 2);
    for group in plain.chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            bits = bits << 6 | group.get(at).map_or(Some(0), |&byte| digit(byte))?;
        }
        let [_, a, b, c] = bits.to_be_bytes();
        match group.len() {
            4 => out.extend([a, b, c]),
            3 => out.extend([a, b]),
            2 => out.push(a),
            _ => return None,
        }
    }
    Some(out)
}

/// Appends `bytes` as base64.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let at = |index: usize| group.get(index).copied().unwrap_or(0);
        let bits = u32::from_be_bytes([0, at(0), at(1), at(2)]);
        for place in 0..4 {
            let six = usize::try_from(bits >> (18 - 6 * place) & 0x3f).unwrap_or(0);
            let digit = ALPHABET.get(six).copied().unwrap_or(b'A');
            out.push(if place > group.len() { b'=' } else { digit });
        }
    }
}
